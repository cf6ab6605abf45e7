//! Everything a report says, before layout.

pub(crate) mod arm;
pub(crate) mod configuration;
pub(crate) mod coverage;
pub(crate) mod external;
pub(crate) mod machines;
pub(crate) mod measure;
pub(crate) mod quantity;
pub(crate) mod reason;
pub(crate) mod remedies;
pub(crate) mod sweep;
pub(crate) mod threshold;
pub(crate) mod why;

use record::Check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use arm::{ArmSummary, Attempts};
use external::External;
use machines::MachineTest;
use sweep::Sweep;
use threshold::ThresholdResult;

/// Version of this format; raised when a reader of the old format would misread the new one.
pub const FORMAT: u32 = 2;

/// The summary of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of the format of this summary.
    pub format: u32,
    /// Version of commute that measured.
    pub commute: String,
    /// The study's name.
    pub study: String,
    /// The question the study asks.
    pub question: String,
    /// The run's seed.
    pub seed: u64,
    /// Number of blocks planned on each network.
    pub blocks: u32,
    /// The command that repeats the run; absent where the study's file is unknown.
    pub repeat: Option<String>,
    /// The command that replicates the run with other losses; absent where the study's file is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicate: Option<String>,
    /// The arm that all others are compared with.
    pub baseline: String,
    /// Time all cells took, including repeated and superseded ones.
    pub measured_ns: u64,
    /// Checks against known answers, made before the run on every machine it ran on.
    pub self_test: Vec<Check>,
    /// The answer over all networks, as a sentence.
    pub answer: String,
    /// What to do about the machine, where most first attempts were noisy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_warning: Option<String>,
    /// The user's own server; absent where servers of the lab answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<External>,
    /// Why results must not be used, e.g. requests that failed; empty if nothing is wrong.
    pub invalid: Vec<String>,
    /// Result of the A/A check.
    pub a_a: AaCheck,
    /// The comparisons with the baseline, without those of A/A arms.
    pub comparisons: ComparisonCounts,
    /// How the cells ended.
    pub cells: CellCounts,
    /// The first attempts of each arm that was measured, on all networks, in the study's order.
    pub noise: Vec<ArmNoise>,
    /// Whether results depend on the machine; absent where one machine measured all blocks, or none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<MachineTest>,
    /// The groups of requests, in the study's order.
    pub groups: Vec<GroupSummary>,
    /// One entry per network, in the study's order.
    pub networks: Vec<NetworkSummary>,
    /// Each decisive measure along the levels of each swept setting; empty without a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// What the thresholds found that the report was asked to apply; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdResult>,
    /// What a reader must know to interpret the figures.
    pub notes: Vec<String>,
}

/// Result of the A/A check: comparing the baseline with its copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "a_a", rename_all = "snake_case")]
pub enum AaCheck {
    /// The study has no A/A arm, or it was not measured.
    Absent,
    /// Every comparison shows no difference.
    Passed,
    /// No comparison found a difference, but some do not exclude one: their intervals reach beyond the
    /// margin.
    Inconclusive {
        /// Network and measure of each.
        undecided: Vec<String>,
    },
    /// A copy was given up, did not meet the same losses, or differs where there is no difference:
    /// differences found elsewhere are not trustworthy.
    Failed {
        /// What was found, other times last.
        objections: Vec<String>,
    },
}

/// The comparisons of a report.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparisonCounts {
    /// All comparisons.
    pub all: usize,
    /// Of those, the ones with a verdict other than "cannot tell".
    pub decided: usize,
    /// The share of verdicts in a family (a measure on a network) that is expected to be wrong at
    /// most, averaged over the families with a verdict.
    pub error: f64,
}

/// Planned cells by the outcome of their last attempt in the last invocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellCounts {
    /// All cells of the plan; the sum of the counts up to `not_run`.
    pub planned: usize,
    /// Clean in the first attempt.
    pub clean: usize,
    /// Clean in a later attempt.
    pub clean_on_retry: usize,
    /// Noisy in every attempt. Verdicts use them; those from clean cells alone do not.
    pub noisy: usize,
    /// Not measured: driver or bench failed.
    pub failed: usize,
    /// Not measured: the stack lacks something that the arm needs.
    pub unsupported: usize,
    /// Not measured: all requests of the arm's first cells timed out.
    #[serde(default)]
    pub given_up: usize,
    /// Not in these records.
    pub not_run: usize,
    /// Records of earlier invocations; not part of `planned`.
    pub superseded: usize,
}

/// How often the first attempts of an arm were noisy, compared with all other arms.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmNoise {
    /// The arm's name.
    pub arm: String,
    /// Its first attempts on all networks.
    pub first_attempts: Attempts,
    /// The two-sided p-value of Fisher's exact test against all other arms together.
    pub p_value: f64,
    /// Whether the p-value is at most 5 % divided by the number of arms.
    pub depends_on_arm: bool,
}

/// A group of requests that are reported together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupSummary {
    /// The name in the study.
    pub name: String,
    /// What its requests do, e.g. `GET /v2/feed, answered with 2075 B`.
    pub about: String,
}

/// The results on one network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NetworkSummary {
    /// The network's name.
    pub name: String,
    /// Its parameters in one line.
    pub numbers: String,
    /// The recommendation.
    pub advice: Advice,
    /// The best arms for each decisive measure.
    pub needs: Vec<Need>,
    /// A sentence for each bulk measure in which servers or congestion controls give verdicts that contradict each
    /// other.
    pub by_server: Vec<String>,
    /// The recommendation as a sentence, with sizes and intervals.
    pub sentence: String,
    /// All arms, in the study's order.
    pub arms: Vec<ArmSummary>,
    /// Why no arm has an energy of the radio by a model; absent where one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_unknown: Option<String>,
}

/// A recommendation for one network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "advice", rename_all = "snake_case")]
pub enum Advice {
    /// Arms that are faster than the baseline in a decisive measure, equal in all others and no less
    /// reliable.
    Use {
        /// The recommended arms: the first gains most, and none of the others is decidedly worse.
        arms: Vec<String>,
    },
    /// The baseline: no arm is faster, and every arm was decided or given up.
    Stay,
    /// Different arms for different needs, or some needs undecided.
    ByNeed,
    /// Every arm was compared with the baseline, and none differs.
    NoDifference,
    /// Nothing is decided.
    CannotTell,
    /// The results of this network must not be used.
    Invalid,
}

/// The best arms for a need, i.e. in a decisive measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    /// Label of the measure.
    pub label: String,
    /// The best arm, and those that do not differ from it.
    pub best: Vec<String>,
    /// Arms that may be as good or better: more blocks would be needed.
    pub undecided: Vec<String>,
    /// Of those, where nothing is decidedly faster than the baseline, the ones that are faster so far by more than the
    /// margin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaning: Vec<Leaning>,
}

/// An arm whose estimate is below the baseline's by more than the margin, while the verdict is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leaning {
    /// The arm.
    pub arm: String,
    /// How much lower its time is, in percent of the baseline's.
    pub lower_percent: u8,
    /// Whether a few more blocks would probably decide it.
    pub a_few_more: bool,
}

impl AaCheck {
    /// Returns the name used in JSON and HTML.
    pub fn name(&self) -> &'static str {
        match self {
            AaCheck::Absent => "absent",
            AaCheck::Passed => "passed",
            AaCheck::Inconclusive { .. } => "inconclusive",
            AaCheck::Failed { .. } => "failed",
        }
    }
}

impl Advice {
    /// Returns the name used in JSON and HTML.
    pub fn name(&self) -> &'static str {
        match self {
            Advice::Use { .. } => "use",
            Advice::Stay => "stay",
            Advice::ByNeed => "by_need",
            Advice::NoDifference => "no_difference",
            Advice::CannotTell => "cannot_tell",
            Advice::Invalid => "invalid",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the published names.
    #[test]
    fn names_match_the_serialised_form() {
        let (arms, undecided, objections) = (Vec::new(), Vec::new(), Vec::new());
        for (advice, name) in [
            (Advice::Use { arms }, "use"),
            (Advice::Stay, "stay"),
            (Advice::ByNeed, "by_need"),
            (Advice::NoDifference, "no_difference"),
            (Advice::CannotTell, "cannot_tell"),
            (Advice::Invalid, "invalid"),
        ] {
            assert_eq!(advice.name(), name);
            assert_eq!(serde_json::to_value(&advice).unwrap()["advice"], name);
        }
        for (check, name) in [
            (AaCheck::Absent, "absent"),
            (AaCheck::Passed, "passed"),
            (AaCheck::Inconclusive { undecided }, "inconclusive"),
            (AaCheck::Failed { objections }, "failed"),
        ] {
            assert_eq!(check.name(), name);
            assert_eq!(serde_json::to_value(&check).unwrap()["a_a"], name);
        }
    }
}
