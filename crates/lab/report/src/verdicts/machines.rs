//! Tests whether results depend on the machine, where several measured the blocks of one comparison.

use std::collections::{BTreeMap, BTreeSet};

use record::{Machine, Run};
use stats::{GroupTest, Span, Stratum, TwoRuns};

use crate::figures::cells::CellIndex;
use crate::figures::population::Population;
use crate::summary::arm::{Role, role_of};
use crate::summary::machines::{MachineBlocks, MachineDifference, MachineOutcome, MachineTest};
use crate::summary::quantity::{Quantity, Unit};
use crate::verdicts::compare;
use crate::verdicts::values::ERROR;
use crate::words::number::{count, duration, with_interval};

/// A comparison with the baseline: network, arm and measure, and its differences by block.
struct Compared<'a> {
    network: &'a str,
    arm: &'a str,
    measure: &'a str,
    differences: BTreeMap<u32, Span>,
}

/// Returns what the test says; `None` where fewer than two machines are known to have measured.
pub(crate) fn machines(
    run: &Run,
    cells: &CellIndex<'_>,
    populations: &[Population],
) -> Option<MachineTest> {
    let by_block: Vec<BTreeMap<u32, &Machine>> = (run.networks.iter())
        .map(|network| machine_of_blocks(run, cells, &network.name))
        .collect();
    let known: BTreeSet<&Machine> = by_block
        .iter()
        .flat_map(BTreeMap::values)
        .copied()
        .collect();
    let known: Vec<&Machine> = known.into_iter().collect();
    if known.len() < 2 {
        return None;
    }
    let number = |machine: &Machine| known.iter().position(|other| *other == machine);
    let mut compared: Vec<Vec<Compared<'_>>> = Vec::new();
    let mut strata: Vec<Stratum> = Vec::new();
    for (network, machines) in run.networks.iter().zip(&by_block) {
        let of_network = compared_on(run, cells, populations, &network.name);
        let groups = machines.iter().filter_map(|(b, m)| Some((*b, number(m)?)));
        strata.push(Stratum {
            groups: groups.collect(),
            comparisons: of_network.iter().map(Compared::positions).collect(),
        });
        compared.push(of_network);
    }
    let tests = stats::depends_on_group(&strata, ERROR, run.seed);
    let mut tested: Vec<(&Compared<'_>, &Stratum, GroupTest)> = Vec::new();
    for ((compared, stratum), tests) in compared.iter().zip(&strata).zip(&tests) {
        let of_network = compared.iter().zip(tests);
        tested.extend(of_network.map(|(compared, test)| (compared, stratum, *test)));
    }
    tested.retain(|(_, _, test)| test.groups > 1);
    let strongest = (tested.iter())
        .min_by(|a, b| {
            let (one, other) = (&a.2, &b.2);
            let by_p = one.p_value.total_cmp(&other.p_value);
            by_p.then(other.share.total_cmp(&one.share))
        })
        .copied();
    let mut detectable: Vec<f64> = (tested.iter())
        .map(|(_, _, test)| test.detectable.unwrap_or(f64::INFINITY))
        .collect();
    detectable.sort_by(f64::total_cmp);
    let median = detectable.get(detectable.len() / 2).copied();
    let depending = tested.iter().filter(|(_, _, t)| t.p_value <= ERROR).count();
    let blocks_of = |machine: &&Machine| {
        let blocks = by_block.iter().flat_map(BTreeMap::values);
        blocks.filter(|other| *other == machine).count()
    };
    let mut test = MachineTest {
        outcome: match detectable.first() {
            _ if depending > 0 => MachineOutcome::Depends,
            Some(least) if least.is_finite() => MachineOutcome::NotFound,
            _ => MachineOutcome::CannotTell,
        },
        words: String::new(),
        machines: (known.iter())
            .map(|machine| MachineBlocks {
                boot: machine.boot.clone(),
                cpu: machine.cpu.clone(),
                cores: machine.cores,
                kernel: machine.kernel.clone(),
                blocks: blocks_of(machine),
            })
            .collect(),
        comparisons: tested.len(),
        depending,
        p_value: strongest.map(|(_, _, test)| test.p_value),
        strongest: strongest.and_then(|(compared, stratum, _)| compared.difference(stratum)),
        detectable_ns: median.filter(|ns| ns.is_finite()),
    };
    test.words = words(&test);
    Some(test)
}

/// Returns the machine of each block on a network. A block whose cells name none, or several, is left out.
fn machine_of_blocks<'a>(
    run: &Run,
    cells: &CellIndex<'a>,
    network: &str,
) -> BTreeMap<u32, &'a Machine> {
    let mut found: BTreeMap<u32, BTreeSet<Option<&Machine>>> = BTreeMap::new();
    for arm in &run.arms {
        for (block, cell) in cells.first(network, &arm.name) {
            let machines = found.entry(block).or_default();
            machines.insert(cell.machine.as_ref());
        }
    }
    let only = |(block, machines): (u32, BTreeSet<Option<&'a Machine>>)| match machines.len() {
        1 => Some((block, machines.into_iter().next()??)),
        _ => None,
    };
    found.into_iter().filter_map(only).collect()
}

/// Returns the comparisons with the baseline that a report makes on a network.
fn compared_on<'a>(
    run: &'a Run,
    cells: &CellIndex<'_>,
    populations: &'a [Population],
    network: &'a str,
) -> Vec<Compared<'a>> {
    let is_given_up = |arm: &str| cells.is_given_up(network, arm);
    let arms = (run.arms.iter().map(|arm| arm.name.as_str()))
        .filter(|arm| role_of(run, arm) == Role::Arm)
        .filter(|arm| !is_given_up(arm) && !is_given_up(&run.baseline));
    let of_arm = |arm: &'a str| {
        populations.iter().map(move |population| {
            let arms = (arm, run.baseline.as_str());
            let values = compare::values(run, cells, population, network, arms);
            let differences = values.blocks.into_iter();
            Compared {
                network,
                arm,
                measure: &population.label,
                differences: differences
                    .map(|(b, value)| (b, value.difference))
                    .collect(),
            }
        })
    };
    arms.flat_map(of_arm).collect()
}

impl Compared<'_> {
    /// Returns where each block stands among all. A difference that is only known to be larger than another stands above.
    fn positions(&self) -> BTreeMap<u32, f64> {
        let position = |(block, difference): (&u32, &Span)| {
            let Span { lo, hi } = *difference;
            let position = match (lo.is_finite(), hi.is_finite()) {
                (true, true) => (lo + hi) / 2.0,
                (true, false) => f64::INFINITY,
                (false, true) => f64::NEG_INFINITY,
                (false, false) => return None,
            };
            Some((*block, position))
        };
        self.differences.iter().filter_map(position).collect()
    }

    /// Returns how the machine that differs most from the others does so.
    fn difference(&self, stratum: &Stratum) -> Option<MachineDifference> {
        let of = |machine: usize| {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for (block, difference) in &self.differences {
                match stratum.groups.get(block) {
                    Some(group) if *group == machine => own.push(*difference),
                    Some(_) => others.push(*difference),
                    None => {}
                }
            }
            let blocks = own.len() + others.len();
            let runs = TwoRuns {
                old: others,
                new: own,
                margin: 0.0,
            };
            let change = stats::decide_changes(&[vec![runs]], ERROR).pop()?.pop()?;
            let difference = Quantity::new(&change.difference, Unit::Ns);
            difference.value.map(|value| MachineDifference {
                network: self.network.to_owned(),
                arm: self.arm.to_owned(),
                measure: self.measure.to_owned(),
                machine: machine + 1,
                difference: Quantity {
                    value: Some(value),
                    ..difference
                },
                blocks,
            })
        };
        let machines: BTreeSet<usize> = stratum.groups.values().copied().collect();
        let size = |d: &MachineDifference| d.difference.value.unwrap_or(0.0).abs();
        let all = machines.into_iter().filter_map(of);
        all.max_by(|a, b| size(a).total_cmp(&size(b)))
    }
}

fn words(test: &MachineTest) -> String {
    let machines = count(test.machines.len(), "machine");
    let comparisons = count(test.comparisons, "comparison");
    let strongest = test.strongest.as_ref().map(|found| {
        let machine = &test.machines[found.machine - 1];
        format!(
            "{} on {}, {}: the difference from the baseline is {} larger on machine {} of {} ({}, {}) than on the others \
             (n = {})",
            found.arm,
            found.network,
            found.measure,
            with_interval(&found.difference),
            found.machine,
            test.machines.len(),
            machine.cpu,
            count(machine.cores as usize, "core"),
            count(found.blocks, "block"),
        )
    });
    let method = "Machines are permuted over the blocks of each network; at most 5 % of runs show a dependence by chance, in \
                  any comparison.";
    let detectable = match test.detectable_ns {
        Some(ns) => format!(
            "In half of them, a machine that differs by {} from the others would have been found.",
            duration(ns)
        ),
        None => "In half of them, no difference could have been found: there are too few blocks on each machine."
            .to_owned(),
    };
    let p = test.p_value.map_or_else(String::new, |p| match p < 0.0015 {
        true => "p = 0.001".to_owned(),
        false => format!("p = {p:.3}"),
    });
    match (test.outcome, strongest) {
        (MachineOutcome::Depends, strongest) => format!(
            "Results depend on the machine in {} of {comparisons} on {machines}, most in {} ({p}). {method} {detectable}",
            test.depending,
            strongest.unwrap_or_default(),
        ),
        (MachineOutcome::NotFound, strongest) => format!(
            "No result was found to depend on the machine, in {comparisons} on {machines}. Nearest: {} ({p}). {method} \
             {detectable}",
            strongest.unwrap_or_default(),
        ),
        (MachineOutcome::CannotTell, _) => format!(
            "Cannot tell whether results depend on the machine: {machines} measured too few blocks of the same comparisons."
        ),
    }
}
