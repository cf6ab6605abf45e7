//! The machine that a run or a cell ran on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine a run ran on, without its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of cores available.
    pub cores: u32,
    /// Physical memory.
    pub memory_bytes: u64,
    /// The kernel's clock source, e.g. `tsc`.
    pub clocksource: String,
    /// The kernel's random id of this boot.
    pub boot: String,
    /// Whether the bench ran in a user namespace, without root.
    pub rootless: bool,
    /// Whether the link ran under SCHED_FIFO.
    pub realtime: bool,
    /// Git commit of commute; absent when unknown.
    pub git: Option<String>,
    /// Hypervisor; absent when the processor reports none.
    pub hypervisor: Option<String>,
    /// Versions of stacks by name; always empty so far.
    pub stacks: BTreeMap<String, String>,
}

impl Host {
    /// Returns the machine as cells name it; `None` if nothing is known of it, as where calls were imported.
    pub fn machine(&self) -> Option<Machine> {
        (!self.boot.is_empty()).then(|| Machine {
            boot: self.boot.clone(),
            kernel: self.kernel.clone(),
            cpu: self.cpu.clone(),
            cores: self.cores,
        })
    }
}

/// The machine that measured a cell, from one boot to the next.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Machine {
    /// The kernel's random id of this boot, which containers on one machine share.
    pub boot: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of cores available.
    pub cores: u32,
}
