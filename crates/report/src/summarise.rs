//! Turns records into the summary.

use std::collections::BTreeSet;

use record::{Arm, Network, Proof, Run, RunData};

use crate::cells::{Blocks, CellIndex};
use crate::measure::measure;
use crate::number::{count, percent};
use crate::population::{Population, populations};
use crate::summary::{AaCheck, ArmSummary, FORMAT, Family, NetworkSummary, Role, Summary};
use crate::wording::protocol_mismatch;
use crate::{advice, compare, configuration, cost};

/// Summarises a run. Shards must be merged first, by [`record::merge`].
pub fn summarise(data: &RunData) -> Summary {
    let run = data.run();
    let summariser = Summariser::new(data);
    let networks: Vec<NetworkSummary> =
        run.networks.iter().map(|n| summariser.network(n)).collect();
    let cells = summariser.cells.counts(data, |_, _| true);
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
            .flat_map(|header| header.self_test.clone())
            .collect(),
        a_a: a_a(&networks, summariser.a_a_family.coverage),
        notes: notes(data, &networks, &summariser.family),
        family: summariser.family,
        cells,
        networks,
    }
}

/// Summarises one network after the other.
struct Summariser<'a> {
    data: &'a RunData,
    run: &'a Run,
    cells: CellIndex<'a>,
    populations: Vec<Population>,
    /// The comparisons of arms.
    family: Family,
    /// The comparisons of A/A arms, a check with an error probability of its own.
    a_a_family: Family,
}

impl<'a> Summariser<'a> {
    fn new(data: &'a RunData) -> Self {
        let (run, cells) = (data.run(), CellIndex::new(data));
        let populations = populations(run);
        let family = compare::family(run, &cells, &populations, Role::Arm);
        let a_a_family = compare::family(run, &cells, &populations, Role::Repeat);
        Self {
            data,
            run,
            cells,
            populations,
            family,
            a_a_family,
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
        let (advice, sentence) = advice::advise(&arms, &self.family);
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
        let key = (network.name.as_str(), arm.name.as_str());
        let blocks = self.cells.clean(key.0, key.1);
        let role = compare::role_of(self.run, &arm.name);
        let family = if role == Role::Repeat {
            &self.a_a_family
        } else {
            &self.family
        };
        let measures = self.populations.iter().map(|population| {
            let mut measure = measure(population, &blocks, self.run);
            if role != Role::Baseline {
                let compared = compare::compare(population, self.run, &self.cells, family, key);
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
            negotiated_protocols: distinct(
                blocks
                    .values()
                    .flat_map(|c| c.calls.iter().map(|call| &call.protocol)),
            ),
            transports: distinct(connections().map(|c| &c.transport)),
            congestion: distinct(connections().filter_map(|c| c.congestion.as_ref())),
            caveat: arm.caveat.clone(),
            configuration: configuration::of(blocks.values().copied(), &arm.codec),
            differences: Vec::new(),
            proof: weakest_proof(&blocks),
            cells: self.cells.counts(self.data, |n, a| (n, a) == key),
            reasons: self.cells.reasons(key.0, key.1),
            measures: measures.collect(),
            costs: cost::costs(&blocks),
        }
    }
}

/// Returns the distinct words, sorted and without empty ones.
fn distinct<'a>(words: impl Iterator<Item = &'a String>) -> Vec<String> {
    let distinct: BTreeSet<&String> = words.filter(|word| !word.is_empty()).collect();
    distinct.into_iter().cloned().collect()
}

fn weakest_proof(blocks: &Blocks<'_>) -> Option<Proof> {
    blocks
        .values()
        .flat_map(|cell| cell.calls.iter().map(|call| call.proof))
        .min()
}

fn a_a(networks: &[NetworkSummary], coverage: f64) -> AaCheck {
    let (mut compared, mut objections) = (0, Vec::new());
    for network in networks {
        let Some(baseline) = network.arms.iter().find(|arm| arm.role == Role::Baseline) else {
            continue;
        };
        for repeat in network.arms.iter().filter(|arm| arm.role == Role::Repeat) {
            compared += repeat.comparisons().count();
            let found = advice::objections(repeat, baseline, coverage);
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
            "Family-wise confidence {} over {} (Bonferroni, {} each).",
            percent(family.coverage),
            count(family.comparisons, "comparison"),
            percent(family.coverage_each)
        ));
    }
    let failed: Vec<&str> = data
        .headers()
        .iter()
        .flat_map(|header| {
            header
                .self_test
                .iter()
                .filter(|c| !c.pass)
                .map(|c| c.name.as_str())
        })
        .collect();
    if !failed.is_empty() {
        notes.push(format!(
            "The self-test failed: {}. The results are not trustworthy.",
            failed.join(", ")
        ));
    }
    let has_cpu = |arm: &&ArmSummary| arm.costs.client_cpu.is_some();
    let mut arms = networks
        .iter()
        .flat_map(|n| &n.arms)
        .filter(has_cpu)
        .peekable();
    if arms.peek().is_some() && !arms.all(|arm| arm.costs.kernel_thread_seen) {
        notes.push(
            "In some cells the CPU figures lack the kernel's share: TCP looks cheaper than it is."
                .into(),
        );
    }
    let mut seen = BTreeSet::new();
    for arm in networks.iter().flat_map(|n| &n.arms) {
        let mismatch = protocol_mismatch(arm);
        notes.extend(mismatch.filter(|note| seen.insert(note.clone())));
    }
    notes
}
