//! Two runs of one study: what changed from the old one to the new one.
//!
//! Blocks of different runs have nothing in common that could cancel out, not even with the same seed:
//! runs are made at different times, and often on different machines. They are therefore not paired
//! ([`stats::decide_changes`]), and whatever else differs between the runs is part of the difference; what
//! of that is known comes as a warning.

mod layout;

use std::collections::BTreeSet;

use record::{CompactRun, Run};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Span, TwoRuns, Verdict};

use crate::answer::summarise::summarise;
use crate::figures::cells::CellIndex;
use crate::figures::estimate::{margin_ns, median};
use crate::figures::population::populations;
use crate::figures::position::Places;
use crate::records::Records;
use crate::summary::AaCheck;
use crate::summary::machines::MachineOutcome;
use crate::summary::quantity::{Quantity, Unit};
use crate::verdicts::apart::differing;
use crate::verdicts::by_block::{ByBlock, Kind, Place};
use crate::verdicts::values::ERROR;
use crate::words::number::count;

/// Version of the format; raised when a reader of the old format would misread the new one.
const FORMAT: u32 = 1;

/// What changed between two runs of a study.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunChanges {
    /// Version of the format of this comparison.
    pub format: u32,
    /// The study's name.
    pub study: String,
    /// The old run.
    pub old: RunFacts,
    /// The new run.
    pub new: RunFacts,
    /// What else differs between the runs, or makes one of them doubtful.
    pub warnings: Vec<String>,
    /// One entry per network, measure and arm that both runs have, in the new run's order.
    pub changes: Vec<ArmChange>,
}

/// Where and when a run was made.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunFacts {
    /// Version of commute.
    pub commute: String,
    /// Git commit of commute; absent when unknown.
    pub git: Option<String>,
    /// Kernel release; empty for imported calls.
    pub kernel: String,
    /// Processor model; empty for imported calls.
    pub cpu: String,
    /// Number of cores.
    pub cores: u32,
    /// The run's seed.
    pub seed: u64,
    /// Blocks planned on each network.
    pub blocks: u32,
    /// Start, ns since 1970; 0 for imported calls.
    pub started_unix_ns: u64,
}

/// One measure of one arm on one network, in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmChange {
    /// The network.
    pub network: String,
    /// Label of the measure.
    pub measure: String,
    /// The arm.
    pub arm: String,
    /// The old run's median over blocks.
    pub old: Quantity,
    /// The new run's median over blocks.
    pub new: Quantity,
    /// New minus old: negative is faster. The median over all pairs of an old and a new block.
    pub difference: Quantity,
    /// The largest difference that still counts as no difference.
    pub margin_ns: f64,
    /// The verdict on the difference.
    pub verdict: ChangeVerdict,
}

/// What two runs show of a measure of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeVerdict {
    /// The new run is faster.
    Faster,
    /// The new run is slower.
    Slower,
    /// The difference is within the margin.
    NoDifference,
    /// Faster or no difference.
    NotSlower,
    /// Slower or no difference.
    NotFaster,
    /// The blocks are too few or too scattered for any of these.
    CannotTell,
}

/// Compares two runs of a study. Fails if they have no measure of an arm in common.
pub fn compare_runs(old: &impl Records, new: &impl Records) -> Result<RunChanges, String> {
    let (old, new) = (&*old.compact(), &*new.compact());
    let (was, is) = (old.run(), new.run());
    if was.study != is.study {
        return Err(format!(
            "these are runs of different studies, {} and {}",
            was.study, is.study
        ));
    }
    let changes = changes(old, new);
    if changes.is_empty() {
        return Err("the runs have no arm, network and measure in common".to_owned());
    }
    Ok(RunChanges {
        format: FORMAT,
        study: is.study.clone(),
        old: RunFacts::of(was),
        new: RunFacts::of(is),
        warnings: warnings(old, new),
        changes,
    })
}

impl RunChanges {
    /// Returns how many measures of arms have this verdict.
    pub fn count(&self, verdict: ChangeVerdict) -> usize {
        self.changes.iter().filter(|c| c.verdict == verdict).count()
    }

    /// Returns the comparison as JSON, as specified by `docs/compare.schema.json`.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a comparison contains only strings, finite numbers and lists") + "\n"
    }

    /// Returns the JSON Schema of [`RunChanges::json`], as in `docs/compare.schema.json`.
    pub fn schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(RunChanges).to_value();
        // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
        schema.sort_all_objects();
        schema
    }
}

fn changes(old: &CompactRun, new: &CompactRun) -> Vec<ArmChange> {
    // What differs in either run is apart in both, so that the same requests are compared.
    let places_of = |data: &CompactRun| differing(data.run(), &CellIndex::new(data));
    let apart: Places = places_of(old).into_iter().chain(places_of(new)).collect();
    let medians = |data: &CompactRun| ByBlock::with_apart(data, &[], &apart).medians;
    let (olds, news) = (medians(old), medians(new));
    let run = new.run();
    let cells = old.cells().iter().chain(new.cells());
    let resolution_ns = cells.map(|cell| cell.stack.resolution_ns).max();
    let two_runs = |place: &Place| {
        let blocks = |medians: Option<&std::collections::BTreeMap<u32, Span>>| -> Vec<Span> {
            medians
                .into_iter()
                .flat_map(|m| m.values().copied())
                .collect()
        };
        let (old, new) = (blocks(olds.get(place)), blocks(news.get(place)));
        let margin = margin_ns(run, stats::median(&old));
        TwoRuns {
            old,
            new,
            margin: margin.max(resolution_ns.unwrap_or(0) as f64),
        }
    };
    let families: Vec<Vec<(Place, TwoRuns)>> = families(new, &apart)
        .into_iter()
        .map(|places| {
            places
                .into_iter()
                .map(|p| (two_runs(&p), p))
                .map(|(t, p)| (p, t))
                .collect()
        })
        .collect();
    let asked: Vec<Vec<TwoRuns>> = families
        .iter()
        .map(|family| family.iter().map(|(_, runs)| runs.clone()).collect())
        .collect();
    let decided = stats::decide_changes(&asked, ERROR).into_iter().flatten();
    let change = |((place, runs), change): ((Place, TwoRuns), stats::Change)| {
        Some(ArmChange {
            old: median(&runs.old, Unit::Ns)?,
            new: median(&runs.new, Unit::Ns)?,
            difference: Quantity::new(&change.difference, Unit::Ns),
            margin_ns: runs.margin,
            verdict: change.verdict.into(),
            network: place.network,
            measure: place.measure,
            arm: place.arm,
        })
    };
    families
        .into_iter()
        .flatten()
        .zip(decided)
        .filter_map(change)
        .collect()
}

/// Returns the places of a run's times, all arms of one measure on one network together, in the study's
/// order.
fn families(data: &CompactRun, apart: &Places) -> Vec<Vec<Place>> {
    let run = data.run();
    let populations = populations(run, apart);
    let copies = |arm: &&record::Arm| !arm.same_as_baseline || arm.name == run.baseline;
    let mut families = Vec::new();
    for network in &run.networks {
        for population in &populations {
            let place = |arm: &record::Arm| Place {
                kind: Kind::Time,
                network: network.name.clone(),
                measure: population.label.clone(),
                arm: arm.name.clone(),
            };
            families.push(run.arms.iter().filter(copies).map(place).collect());
        }
    }
    families
}

fn warnings(old: &CompactRun, new: &CompactRun) -> Vec<String> {
    let (was, is) = (old.run(), new.run());
    let mut warnings = Vec::new();
    for (name, data) in [("old", old), ("new", new)] {
        let summary = summarise(data);
        if matches!(summary.a_a, AaCheck::Failed { .. }) {
            warnings.push(format!("the {name} run's A/A check failed"));
        }
        let machines = summary
            .machines
            .filter(|m| m.outcome == MachineOutcome::Depends);
        warnings.extend(machines.map(|m| format!("the {name} run: {}", m.words)));
        warnings.extend(
            summary
                .invalid
                .iter()
                .map(|why| format!("the {name} run is invalid: {why}")),
        );
    }
    let mut differs = |what: &str, was: String, is: String| {
        if was != is {
            warnings.push(format!("{what} differs: {was} and {is}"));
        }
    };
    let version = |run: &Run| {
        let git = run
            .host
            .git
            .as_ref()
            .map(|commit| format!(" (commit {commit})"));
        format!("{}{}", run.commute, git.unwrap_or_default())
    };
    differs("commute's version", version(was), version(is));
    differs(
        "the kernel",
        was.host.kernel.clone(),
        is.host.kernel.clone(),
    );
    let processor = |run: &Run| {
        let cores = count(run.host.cores as usize, "core");
        format!("{} with {cores}", run.host.cpu)
    };
    differs("the processor", processor(was), processor(is));
    let priority = |run: &Run| {
        if run.host.realtime {
            "real-time"
        } else {
            "ordinary"
        }
        .to_owned()
    };
    differs("the link's priority", priority(was), priority(is));
    differs(
        "--jobs",
        was.settings.jobs.to_string(),
        is.settings.jobs.to_string(),
    );
    let timeout = |run: &Run| crate::words::number::duration(run.timeout_ns as f64);
    differs("the timeout", timeout(was), timeout(is));
    if was.calls != is.calls || was.groups != is.groups {
        warnings.push("the plan differs: the runs did not make the same requests".to_owned());
    }
    let names = |run: &Run| -> BTreeSet<String> {
        let arms = run.arms.iter().map(|arm| format!("arm {}", arm.name));
        arms.chain(run.networks.iter().map(|n| format!("network {}", n.name)))
            .collect()
    };
    let (of_old, of_new) = (names(was), names(is));
    let only = |name: &str, these: &BTreeSet<String>, others: &BTreeSet<String>| {
        let names: Vec<&str> = these.difference(others).map(String::as_str).collect();
        (!names.is_empty()).then(|| format!("only in the {name} run: {}", names.join(", ")))
    };
    warnings.extend(only("old", &of_old, &of_new));
    warnings.extend(only("new", &of_new, &of_old));
    for arm in &is.arms {
        let before = was.arms.iter().find(|a| a.name == arm.name);
        if before.is_some_and(|before| before != arm) {
            warnings.push(format!(
                "the plan differs: arm {} was set up otherwise",
                arm.name
            ));
        }
    }
    for network in &is.networks {
        let before = was.networks.iter().find(|n| n.name == network.name);
        if before.is_some_and(|before| before.toml != network.toml) {
            warnings.push(format!(
                "the plan differs: network {} had other numbers",
                network.name
            ));
        }
    }
    // Imports of one shape have the same head.
    if was == is && old.cells() == new.cells() {
        warnings.push("both folders hold the same run: nothing can have changed".to_owned());
    } else if was.seed == is.seed && was.started_unix_ns != is.started_unix_ns {
        warnings.push(format!(
            "both runs have seed {} and so the same losses: what they have in common may be theirs",
            is.seed
        ));
    }
    warnings
}

impl RunFacts {
    fn of(run: &Run) -> RunFacts {
        RunFacts {
            commute: run.commute.clone(),
            git: run.host.git.clone(),
            kernel: run.host.kernel.clone(),
            cpu: run.host.cpu.clone(),
            cores: run.host.cores,
            seed: run.seed,
            blocks: run.blocks,
            started_unix_ns: run.started_unix_ns,
        }
    }
}

impl From<Option<Verdict>> for ChangeVerdict {
    fn from(verdict: Option<Verdict>) -> ChangeVerdict {
        match verdict {
            Some(Verdict::Faster) => ChangeVerdict::Faster,
            Some(Verdict::Slower) => ChangeVerdict::Slower,
            Some(Verdict::NoDifference) => ChangeVerdict::NoDifference,
            Some(Verdict::NotSlower) => ChangeVerdict::NotSlower,
            Some(Verdict::NotFaster) => ChangeVerdict::NotFaster,
            Some(Verdict::CannotTell { .. }) | None => ChangeVerdict::CannotTell,
        }
    }
}

impl ChangeVerdict {
    /// Returns the words for it.
    pub fn words(self) -> &'static str {
        match self {
            ChangeVerdict::Faster => "faster",
            ChangeVerdict::Slower => "slower",
            ChangeVerdict::NoDifference => "no difference",
            ChangeVerdict::NotSlower => "not slower",
            ChangeVerdict::NotFaster => "not faster",
            ChangeVerdict::CannotTell => "cannot tell",
        }
    }
}
