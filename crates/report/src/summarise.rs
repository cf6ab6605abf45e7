//! From records to the summary.

use std::collections::BTreeSet;

use record::{Arm, Network, Proof, Run, RunData};

use crate::cells::{Blocks, Table};
use crate::number::{count, percent};
use crate::population::{Population, populations};
use crate::summary::{AaCheck, ArmSummary, FORMAT, Family, NetworkSummary, Role, Summary};
use crate::{advice, compare, configuration, cost};

/// Sums a run up. Shards are put together by [`record::merge`] before.
pub fn summarise(data: &RunData) -> Summary {
    let run = data.run();
    let maker = Maker::new(data);
    let networks: Vec<NetworkSummary> = run.networks.iter().map(|n| maker.network(n)).collect();
    let cells = maker.table.counts(data, |_, _| true);
    Summary {
        format: FORMAT,
        commute: run.commute.clone(),
        study: run.study.clone(),
        question: run.question.clone(),
        seed: run.seed,
        blocks: run.blocks,
        baseline: run.baseline.clone(),
        measured_ns: data.cells().iter().fold(0, |sum, cell| {
            sum.saturating_add(cell.took_ns)
                .saturating_add(cell.cost.startup_ns)
        }),
        self_test: data
            .headers()
            .iter()
            .flat_map(|head| head.self_test.clone())
            .collect(),
        a_a: a_a(&networks, maker.repeats.together),
        notes: notes(data, &networks, &maker.arms),
        family: maker.arms,
        cells,
        networks,
    }
}

/// What the summaries of all networks have in common.
struct Maker<'a> {
    data: &'a RunData,
    run: &'a Run,
    table: Table<'a>,
    populations: Vec<Population>,
    /// Comparisons of arms, and those of A/A arms: a check of its own, with its own error.
    arms: Family,
    repeats: Family,
}

impl<'a> Maker<'a> {
    fn new(data: &'a RunData) -> Self {
        let (run, table) = (data.run(), Table::new(data));
        let populations = populations(run);
        let arms = compare::family(run, &table, &populations, Role::Arm);
        let repeats = compare::family(run, &table, &populations, Role::Repeat);
        Self {
            data,
            run,
            table,
            populations,
            arms,
            repeats,
        }
    }

    fn network(&self, network: &Network) -> NetworkSummary {
        let mut arms: Vec<ArmSummary> = self
            .run
            .arms
            .iter()
            .map(|arm| self.arm(network, arm))
            .collect();
        if let Some(baseline) = arms.iter().find(|arm| arm.role == Role::Baseline).cloned() {
            for arm in &mut arms {
                arm.differences =
                    configuration::differences(&arm.configuration, &baseline.configuration);
                let caveats = compare::caveats(arm, &baseline);
                for measure in &mut arm.measures {
                    if let Some(comparison) = &mut measure.comparison {
                        comparison.caveats.clone_from(&caveats);
                    }
                }
            }
        }
        let (advice, sentence) = advice::advise(&arms, &self.arms);
        let (name, numbers) = (network.name.clone(), network.numbers.clone());
        NetworkSummary {
            name,
            numbers,
            advice,
            sentence,
            arms,
        }
    }

    fn arm(&self, network: &Network, arm: &Arm) -> ArmSummary {
        let at = (network.name.as_str(), arm.name.as_str());
        let blocks = self.table.clean(at.0, at.1);
        let role = compare::role_of(self.run, &arm.name);
        let family = if role == Role::Repeat {
            &self.repeats
        } else {
            &self.arms
        };
        let measures = self.populations.iter().map(|population| {
            let mut measure = population.measure(&blocks, self.run);
            if role != Role::Baseline {
                let compared = compare::compare(population, self.run, &self.table, family, at);
                measure.comparison = compared.clean;
                measure.with_noisy = compared.with_noisy;
            }
            measure
        });
        let connections = || blocks.values().flat_map(|cell| &cell.connections);
        ArmSummary {
            name: arm.name.clone(),
            stack: arm.stack.clone(),
            protocol: arm.protocol.clone(),
            role,
            spoken: set(blocks
                .values()
                .flat_map(|c| c.calls.iter().map(|call| &call.protocol))),
            transports: set(connections().map(|p| &p.transport)),
            congestion: set(connections().filter_map(|p| p.congestion.as_ref())),
            caveat: arm.caveat.clone(),
            configuration: configuration::of(blocks.values().copied(), &arm.codec),
            differences: Vec::new(),
            proof: weakest_proof(&blocks),
            cells: self.table.counts(self.data, |n, a| (n, a) == at),
            reasons: self.table.reasons(at.0, at.1),
            measures: measures.collect(),
            costs: cost::costs(&blocks, self.run),
        }
    }
}

/// Distinct words, sorted; empty ones say nothing.
fn set<'a>(words: impl Iterator<Item = &'a String>) -> Vec<String> {
    let distinct: BTreeSet<&String> = words.filter(|word| !word.is_empty()).collect();
    distinct.into_iter().cloned().collect()
}

fn weakest_proof(blocks: &Blocks<'_>) -> Option<Proof> {
    blocks
        .values()
        .flat_map(|cell| cell.calls.iter().map(|call| call.proof))
        .min()
}

fn a_a(networks: &[NetworkSummary], together: f64) -> AaCheck {
    let (mut compared, mut objections) = (0, Vec::new());
    for network in networks {
        let Some(baseline) = network.arms.iter().find(|arm| arm.role == Role::Baseline) else {
            continue;
        };
        for repeat in network.arms.iter().filter(|arm| arm.role == Role::Repeat) {
            compared += repeat.comparisons().count();
            let found = advice::objections(repeat, baseline, together);
            objections.extend(found.iter().map(|o| format!("{}: {o}", network.name)));
        }
    }
    match (compared, objections.is_empty()) {
        (0, _) => AaCheck::Absent,
        (_, true) => AaCheck::Passed,
        (_, false) => AaCheck::Failed { objections },
    }
}

fn notes(data: &RunData, networks: &[NetworkSummary], family: &Family) -> Vec<String> {
    let mut notes = Vec::new();
    if family.comparisons > 0 {
        notes.push(format!(
            "Intervals of differences hold all together with {}: {}, each made to hold with {}.",
            percent(family.together),
            count(family.comparisons, "comparison"),
            percent(family.each)
        ));
    }
    let failed: Vec<&str> = data
        .headers()
        .iter()
        .flat_map(|head| {
            head.self_test
                .iter()
                .filter(|c| !c.pass)
                .map(|c| c.name.as_str())
        })
        .collect();
    if !failed.is_empty() {
        notes.push(format!(
            "The self-test failed: {}. The lab is not sound.",
            failed.join(", ")
        ));
    }
    let measured = |arm: &&ArmSummary| arm.costs.client_cpu.is_some();
    let mut arms = networks
        .iter()
        .flat_map(|n| &n.arms)
        .filter(measured)
        .peekable();
    if arms.peek().is_some() && !arms.all(|arm| arm.costs.kernel_thread_seen) {
        notes.push(
            "CPU leaves out the kernel's share in some cells: TCP looks cheaper than it is.".into(),
        );
    }
    let mut told = BTreeSet::new();
    for arm in networks.iter().flat_map(|n| &n.arms) {
        let spoke = arm.spoke_otherwise();
        notes.extend(spoke.filter(|note| told.insert(note.clone())));
    }
    notes
}
