//! Turns records into the summary.

use std::collections::{BTreeMap, BTreeSet};

use record::{Arm, CompactCall, CompactCell, CompactRun, Network, Outcome, Proof, Run};
use stats::Verdict;

use crate::answer::wording::protocol_mismatch;
use crate::answer::{advice, repeat, senders, sentence};
use crate::figures::cells::{Blocks, CellIndex};
use crate::figures::measure::measure;
use crate::figures::population::Population;
use crate::figures::{
    coding, configuration, cost, external, moves, repeated_packets, sending, setup,
};
use crate::records::Records;
use crate::summary::arm::{ArmSummary, Attempts, Role, Spread, role_of};
use crate::summary::measure::Comparison;
use crate::summary::{
    AaCheck, Advice, ArmNoise, ComparisonCounts, FORMAT, GroupSummary, NetworkSummary, Summary,
};
use crate::verdicts::apart::populations_apart;
use crate::verdicts::values::ERROR;
use crate::verdicts::{compare, machines, noise, overall, pairing, reason, sweep, unusable};
use crate::words::number::{count, percent};

/// Ends the answer on a network whose numbers nobody measured.
const ASSUMED: &str = " The network is assumed, not measured.";

/// Summarises a run. Shards must be merged first, by [`record::merge`].
pub fn summarise(data: &impl Records) -> Summary {
    let data = &*data.compact();
    let run = data.run();
    let summariser = Summariser::new(data);
    let networks: Vec<NetworkSummary> =
        run.networks.iter().map(|n| summariser.network(n)).collect();
    let comparisons = counts(&networks);
    let noise = noise::by_arm(run, &networks);
    let machines = machines::machines(run, &summariser.cells, &summariser.populations);
    let mut notes = notes(&summariser, &networks, &comparisons, &noise);
    notes.extend(machines.iter().map(|test| test.words.clone()));
    Summary {
        format: FORMAT,
        commute: run.commute.clone(),
        study: run.study.clone(),
        question: run.question.clone(),
        seed: run.seed,
        blocks: run.blocks,
        repeat: repeat::command(data, run.seed),
        replicate: repeat::replication(data).filter(|_| comparisons.all > 0),
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
        answer: overall::overall(&networks, &run.baseline),
        noise_warning: noise::warning(&noise, summariser.cells.reason_of_noise()),
        external: external::external(data),
        invalid: networks
            .iter()
            .flat_map(|network| unusable::invalid(&network.name, &network.arms))
            .collect(),
        a_a: a_a(&networks),
        notes,
        machines,
        comparisons,
        sweeps: sweep::sweeps(run, &networks),
        cells: summariser.cells.counts(data, |_, _| true),
        noise,
        groups: (run.groups.iter())
            .map(|group| GroupSummary {
                name: group.name.clone(),
                about: group.about.clone(),
            })
            .collect(),
        networks,
        thresholds: Vec::new(),
    }
}

/// Summarises one network after the other.
struct Summariser<'a> {
    data: &'a CompactRun,
    run: &'a Run,
    cells: CellIndex<'a>,
    populations: Vec<Population>,
    /// By arm, network and index of the population.
    comparisons: BTreeMap<(String, String, usize), Comparison>,
}

impl<'a> Summariser<'a> {
    fn new(data: &'a CompactRun) -> Self {
        let (run, cells) = (data.run(), CellIndex::new(data));
        let populations = populations_apart(run, &cells);
        let mut comparisons = compare::compare(run, &cells, &populations, Role::Arm);
        // The A/A check has an error probability of its own.
        comparisons.extend(compare::compare(run, &cells, &populations, Role::Repeat));
        Self {
            data,
            run,
            cells,
            populations,
            comparisons,
        }
    }

    fn network(&self, network: &Network) -> NetworkSummary {
        let mut arms: Vec<ArmSummary> = self
            .run
            .arms
            .iter()
            .map(|arm| self.arm(network, arm))
            .collect();
        self.compare_reliability(&network.name, &mut arms);
        self.compare_losses(network, &mut arms);
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
        let (advice, needs) = advice::recommend(
            self.run,
            &self.cells,
            &self.populations,
            &network.name,
            &arms,
        );
        let mut sentence = sentence::sentence(&arms, &advice, &needs);
        let by_server = match advice {
            Advice::Invalid => Vec::new(),
            _ => senders::ranges(self.run, &self.populations, &arms),
        };
        if !by_server.is_empty() {
            // First, as it limits what follows.
            sentence = format!("{} {sentence}", by_server.join(" "));
        }
        if network.basis.as_deref() == Some("assumed") {
            sentence += ASSUMED;
        }
        NetworkSummary {
            energy_unknown: cost::energy_unknown(network, &arms),
            name: network.name.clone(),
            numbers: network.numbers.clone(),
            sentence,
            advice,
            needs,
            by_server,
            arms,
        }
    }

    fn arm(&self, network: &Network, arm: &Arm) -> ArmSummary {
        let key = (network.name.as_str(), arm.name.as_str());
        let all = self.cells.first(key.0, key.1);
        let baseline = self.cells.first(key.0, &self.run.baseline);
        let measures = self
            .populations
            .iter()
            .enumerate()
            .map(|(index, population)| {
                let mut measure = measure(population, &all, self.run);
                let key = (arm.name.clone(), network.name.clone(), index);
                measure.comparison = self.comparisons.get(&key).cloned();
                if let Some(comparison) = &mut measure.comparison {
                    let pairs = || reason::pairs(population, &all, &baseline, self.run.timeout_ns);
                    comparison.reason = reason::reason(comparison, pairs, network.rtt_ns);
                }
                measure
            });
        let measures = measures.collect();
        let blocks: Blocks<'_> = all.into_iter().filter(|(_, c)| c.is_measured()).collect();
        let connections = || blocks.values().flat_map(|cell| &cell.connections);
        let connections_of_cells: Vec<usize> =
            blocks.values().map(|cell| cell.connections.len()).collect();
        ArmSummary {
            name: arm.name.clone(),
            stack: arm.stack.clone(),
            protocol: arm.protocol.clone(),
            role: role_of(self.run, &arm.name),
            negotiated_protocols: distinct(blocks.values().flat_map(|cell| {
                let of_loads = cell.loads.iter().flat_map(|load| &load.protocols);
                cell.calls.iter().map(CompactCall::protocol).chain(of_loads)
            })),
            transports: distinct(connections().map(|c| &c.transport)),
            connections: Spread::of(&connections_of_cells).filter(|n| n.most > 0),
            ip_versions: connections()
                .filter_map(|c| c.ip_version)
                .collect::<BTreeSet<u8>>()
                .into_iter()
                .collect(),
            congestion: distinct(connections().filter_map(|c| c.congestion.as_ref())),
            caveat: coding::caveat(arm, &blocks),
            configuration: configuration::of(blocks.values().copied(), arm),
            differences: Vec::new(),
            proof: weakest_proof(&blocks),
            cells: self.cells.counts(self.data, |n, a| (n, a) == key),
            first_attempts: Attempts {
                measured: blocks.len(),
                noisy: blocks.values().filter(|cell| is_noisy(cell)).count(),
            },
            reasons: self.cells.reasons(key.0, key.1),
            commonest_reason: self.cells.commonest_reason(key.0, key.1),
            measures,
            saturated: blocks.values().filter(|cell| cell.audit.saturated).count(),
            reliability: None,
            common_losses: None,
            costs: cost::costs(&blocks, network),
            setup: setup::setup(&blocks),
            sending: sending::sending(&blocks),
        }
    }

    /// Compares the failures of all arms of a network with the baseline's.
    fn compare_reliability(&self, network: &str, arms: &mut [ArmSummary]) {
        let baseline = self.cells.first(network, &self.run.baseline);
        let mut compared: Vec<&mut ArmSummary> = arms
            .iter_mut()
            .filter(|arm| arm.role == Role::Arm && arm.comparisons().next().is_some())
            .collect();
        let requests: Vec<_> = compared
            .iter()
            .map(|arm| {
                let cells = self.cells.first(network, &arm.name);
                compare::requests(self.run, &cells, &baseline)
            })
            .collect();
        let results = stats::compare_reliability(&requests, ERROR);
        for (arm, result) in compared.iter_mut().zip(results) {
            arm.reliability = Some(result);
        }
    }

    /// Compares the losses of A/A arms with the baseline's, and the times that they cost, and finds out what the check
    /// could have noticed.
    fn compare_losses(&self, network: &Network, arms: &mut [ArmSummary]) {
        let baseline = self.cells.first(&network.name, &self.run.baseline);
        for arm in arms.iter_mut().filter(|arm| arm.role == Role::Repeat) {
            let cells = self.cells.first(&network.name, &arm.name);
            let by_block = pairing::losses_by_block(network, &cells, &baseline);
            arm.common_losses = pairing::common_losses(network, &by_block);
            let same_losses = |block: &u32| by_block.get(block).is_none_or(|l| l.different == 0);
            for (population, measure) in self.populations.iter().zip(&mut arm.measures) {
                if let Some(comparison) = &mut measure.comparison {
                    comparison.noticeable_ns = pairing::noticeable_ns(comparison);
                    let times = |cells| {
                        let mut times = population.by_block(cells, self.run.timeout_ns);
                        times.retain(|block, _| same_losses(block));
                        times
                    };
                    comparison.loss_correlation = pairing::loss_correlation(
                        (&times(&cells), &times(&baseline)),
                        &baseline,
                        comparison.margin_ns,
                    );
                }
            }
        }
    }
}

fn is_noisy(cell: &CompactCell) -> bool {
    matches!(cell.outcome, Outcome::Noisy { .. })
}

/// Returns the distinct words, sorted and without empty ones.
fn distinct<'a>(words: impl Iterator<Item = &'a String>) -> Vec<String> {
    let distinct: BTreeSet<&String> = words.filter(|word| !word.is_empty()).collect();
    distinct.into_iter().cloned().collect()
}

fn weakest_proof(blocks: &Blocks<'_>) -> Option<Proof> {
    blocks
        .values()
        .flat_map(|cell| {
            let of_loads = cell.loads.iter().filter_map(|load| load.proof);
            cell.calls.iter().map(CompactCall::proof).chain(of_loads)
        })
        .min()
}

fn counts(networks: &[NetworkSummary]) -> ComparisonCounts {
    let arms = networks
        .iter()
        .flat_map(|n| &n.arms)
        .filter(|arm| arm.role == Role::Arm);
    let comparisons: Vec<&Comparison> = arms
        .flat_map(|arm| arm.comparisons().map(|(_, c)| c))
        .collect();
    ComparisonCounts {
        all: comparisons.len(),
        decided: comparisons
            .iter()
            .filter(|c| c.verdict.is_decided())
            .count(),
        error: ERROR,
    }
}

/// Judges the A/A arms. They pass only where a difference could have been found.
fn a_a(networks: &[NetworkSummary]) -> AaCheck {
    let (mut compared, mut undecided) = (0, Vec::new());
    // Other losses explain other times, so they come first.
    let (mut objections, mut differences) = (Vec::new(), Vec::new());
    for network in networks {
        let is_usable =
            |arm: &&ArmSummary| unusable::fault(arm).is_none() && unusable::given_up(arm).is_none();
        let mut baselines = network.arms.iter().filter(|arm| arm.role == Role::Baseline);
        let Some(baseline) = baselines.next().filter(is_usable) else {
            continue;
        };
        let on_network = |found: Vec<String>| {
            let name = &network.name;
            found.into_iter().map(move |o| format!("{name}: {o}"))
        };
        for repeat in network.arms.iter().filter(|arm| arm.role == Role::Repeat) {
            compared += repeat.comparisons().count();
            objections.extend(on_network(pairing::objections(repeat)));
            differences.extend(on_network(sentence::differences(repeat, baseline)));
            let open = repeat
                .comparisons()
                .filter(|(_, c)| c.verdict != Verdict::NoDifference);
            undecided.extend(open.map(|(m, _)| format!("{}: {}", network.name, m.label)));
        }
    }
    objections.append(&mut differences);
    if !objections.is_empty() {
        AaCheck::Failed { objections }
    } else if compared == 0 {
        AaCheck::Absent
    } else if undecided.is_empty() {
        AaCheck::Passed
    } else {
        AaCheck::Inconclusive { undecided }
    }
}

fn notes(
    summariser: &Summariser<'_>,
    networks: &[NetworkSummary],
    comparisons: &ComparisonCounts,
    noise: &[ArmNoise],
) -> Vec<String> {
    let data = summariser.data;
    let mut notes = Vec::new();
    if comparisons.all > 0 {
        notes.push(format!(
            "{} of {} decided. Of the verdicts in a column, on average at most {} are wrong \
             (families after Benjamini and Bogomolov, 2014).",
            comparisons.decided,
            count(comparisons.all, "comparison"),
            percent(comparisons.error)
        ));
        let settings = &data.run().settings;
        if settings.until_decided || settings.extended {
            notes.push(
                "Blocks were added after results could be read; the intervals of comparisons are \
                 wider than usual, so that they hold however often one looks."
                    .into(),
            );
        }
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
    notes.extend(noise::note(noise));
    notes.extend(repeated_packets::note(summariser.run, &summariser.cells));
    notes.extend(moves::notes(summariser.run, &summariser.cells));
    let mut seen = BTreeSet::new();
    for arm in networks.iter().flat_map(|n| &n.arms) {
        let mismatch = protocol_mismatch(arm);
        notes.extend(mismatch.filter(|note| seen.insert(note.clone())));
    }
    // The command follows it.
    if comparisons.all > 0 && repeat::replication(summariser.data).is_some() {
        notes.push(repeat::SAME_LOSSES.into());
    }
    notes
}
