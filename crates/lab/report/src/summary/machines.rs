//! Whether results depend on the machine.

use schemars::JsonSchema;
use serde::Serialize;

use crate::summary::quantity::Quantity;

/// The test of whether results depend on the machine. Machines are those that measured blocks, from one boot to the next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineTest {
    /// What the test says.
    pub outcome: MachineOutcome,
    /// The same in words.
    pub words: String,
    /// The machines, sorted by boot.
    pub machines: Vec<MachineBlocks>,
    /// Number of comparisons with the baseline whose blocks several machines measured.
    pub comparisons: usize,
    /// Of those, the comparisons that depend on the machine.
    pub depending: usize,
    /// The smallest p-value, corrected for all comparisons; absent if there are none.
    pub p_value: Option<f64>,
    /// The comparison with that p-value.
    pub strongest: Option<MachineDifference>,
    /// The median over comparisons of the smallest difference between one machine and the others that the test would have
    /// found, ns; absent if it would have found none in half of them.
    pub detectable_ns: Option<f64>,
}

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MachineOutcome {
    /// Some results depend on the machine.
    Depends,
    /// None was found to.
    NotFound,
    /// There are too few blocks on each machine for any difference to be found.
    CannotTell,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineBlocks {
    /// The kernel's random id of the boot.
    pub boot: String,
    /// Processor model.
    pub cpu: String,
    /// Number of cores available.
    pub cores: u32,
    /// Kernel release.
    pub kernel: String,
    /// Number of blocks that it measured, on all networks.
    pub blocks: usize,
}

/// A comparison in which a machine differs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineDifference {
    /// The network.
    pub network: String,
    /// The arm.
    pub arm: String,
    /// Label of the measure.
    pub measure: String,
    /// Number of the machine that differs most, from 1.
    pub machine: usize,
    /// The arm's difference from the baseline in that machine's blocks, less that in all others'. The number of blocks is the
    /// smaller of both.
    pub difference: Quantity,
    /// Number of blocks of all machines.
    pub blocks: usize,
}
