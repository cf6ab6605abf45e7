//! Chooses the remedies for a run: those that fit what its arms spend time on, with what each can gain.

use explain::Part;
use record::Arm;

use crate::remedy::Remedy;
use crate::summary::why::{ArmParts, Why, WhyMeasure};

/// A remedy is given if its parts are at least this share of an arm's time.
const LEAST_SHARE: f64 = 0.05;
/// A mean over fewer requests measures no gain. The middle half of six blocks' requests, the fewest blocks for a verdict,
/// is so many.
const LEAST_CALLS: usize = 4;

/// The remedies for a population of requests on a network, the largest gain first.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureRemedies {
    /// The network's name.
    pub network: String,
    /// The population's label.
    pub label: String,
    /// At least one remedy.
    pub remedies: Vec<ChosenRemedy>,
}

/// A remedy, and the arms that it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenRemedy {
    /// The remedy.
    pub remedy: Remedy,
    /// Those of its parts that the arms spend time on.
    pub parts: Vec<Part>,
    /// At least one arm, the largest gain first.
    pub gains: Vec<Gain>,
}

/// What a remedy can gain for an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The arm's name.
    pub arm: String,
    /// The mean time of the remedy's parts.
    pub at_most_ns: f64,
    /// The gain of an arm that differs in just the remedy.
    pub measured: Option<MeasuredGain>,
}

/// How much less time another arm took.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredGain {
    /// The other arm's name.
    pub arm: String,
    /// The difference of the means; negative if the other arm was slower.
    pub ns: f64,
    /// Number of requests in the smaller of the means.
    pub calls: usize,
}

/// Returns the remedies for the arms that `shown` has. Arms of `all` measure gains. Copies of the baseline get none.
pub fn choose_remedies(
    shown: &Why,
    all: &Why,
    arms: &[Arm],
    remedies: &[Remedy],
) -> Vec<MeasureRemedies> {
    let of_measure = |measure: &WhyMeasure| {
        let same =
            |of: &&WhyMeasure| (&of.network, &of.label) == (&measure.network, &measure.label);
        let others = all.measures.iter().find(same).unwrap_or(measure);
        let chosen = remedies.iter().filter_map(|remedy| {
            let gains = (measure.arms.iter()).filter_map(|parts| gain(parts, others, arms, remedy));
            let mut gains: Vec<Gain> = gains.collect();
            gains.sort_by(|a, b| b.at_most_ns.total_cmp(&a.at_most_ns));
            let is_for = |parts: &&ArmParts| gains.iter().any(|gain| gain.arm == parts.arm);
            let spent = |part: &Part| {
                let mut arms = measure.arms.iter().filter(is_for);
                arms.any(|parts| parts.part_ns(*part) > 0.0)
            };
            let parts = remedy.parts.iter().copied().filter(spent).collect();
            let remedy = remedy.clone();
            (!gains.is_empty()).then_some(ChosenRemedy {
                remedy,
                parts,
                gains,
            })
        });
        let mut chosen: Vec<ChosenRemedy> = chosen.collect();
        chosen.sort_by(|a, b| b.gains[0].at_most_ns.total_cmp(&a.gains[0].at_most_ns));
        (!chosen.is_empty()).then(|| MeasureRemedies {
            network: measure.network.clone(),
            label: measure.label.clone(),
            remedies: chosen,
        })
    };
    shown.measures.iter().filter_map(of_measure).collect()
}

/// Returns what a remedy can gain for an arm, if it fits.
fn gain(parts: &ArmParts, others: &WhyMeasure, arms: &[Arm], remedy: &Remedy) -> Option<Gain> {
    let arm = arms.iter().find(|arm| arm.name == parts.arm)?;
    let at_most_ns: f64 = remedy.parts.iter().map(|&part| parts.part_ns(part)).sum();
    let is_large = at_most_ns > 0.0 && at_most_ns >= LEAST_SHARE * parts.time_ns;
    if arm.same_as_baseline || !is_large || !remedy.fits(arm) {
        return None;
    }
    let changed = (remedy.measured_by.as_ref()).map(|change| settings(change.applied(arm)));
    let measures =
        |other: &&Arm| !other.same_as_baseline && Some(settings((*other).clone())) == changed;
    let other = arms.iter().find(measures);
    let other = other.and_then(|other| others.arms.iter().find(|of| of.arm == other.name));
    let measured = other.map(|other| MeasuredGain {
        arm: other.arm.clone(),
        ns: parts.time_ns - other.time_ns,
        calls: parts.calls.min(other.calls),
    });
    Some(Gain {
        arm: parts.arm.clone(),
        at_most_ns,
        measured: measured.filter(|measured| measured.calls >= LEAST_CALLS),
    })
}

/// Returns an arm without its name and caveat, which are not settings.
fn settings(arm: Arm) -> Arm {
    Arm {
        name: String::new(),
        caveat: None,
        ..arm
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedy::{Change, Place};
    use crate::summary::coverage::Coverage;
    use crate::summary::why::PartTime;

    fn arm(name: &str, stack: &str) -> Arm {
        Arm {
            name: name.into(),
            stack: stack.into(),
            protocol: "h2".into(),
            caveat: Some(format!("of {stack}")),
            ..Arm::default()
        }
    }

    fn parts(arm: &str, nagle_ns: f64, time_ns: f64) -> ArmParts {
        ArmParts {
            arm: arm.into(),
            calls: 7,
            time_ns,
            parts: [
                (Part::Nagle, nagle_ns),
                (Part::Exchange, time_ns - nagle_ns),
            ]
            .map(|(part, ns)| PartTime {
                part,
                ns,
                round_trips: None,
            })
            .into(),
            comparison: None,
        }
    }

    fn why(arms: Vec<ArmParts>) -> Why {
        Why {
            format: 1,
            study: "invented".into(),
            against: "okhttp h2".into(),
            coverage: Coverage::default(),
            measures: vec![WhyMeasure {
                network: "lte".into(),
                rtt_ns: 50_000_000,
                label: "first request".into(),
                arms,
            }],
        }
    }

    fn nodelay() -> Remedy {
        Remedy {
            parts: vec![Part::Nagle, Part::DelayedAck],
            drivers: vec!["okhttp".into()],
            protocols: Vec::new(),
            place: Place::Client,
            advice: "Set it.".into(),
            source: "RFC 896".into(),
            measured_by: Some(Change {
                driver: Some("okhttp-nodelay".into()),
                ..Change::default()
            }),
        }
    }

    fn gains(shown: &Why, all: &Why, arms: &[Arm]) -> Vec<Gain> {
        let mut chosen = choose_remedies(shown, all, arms, &[nodelay()]);
        chosen.pop().map_or_else(Vec::new, |mut measure| {
            measure.remedies.pop().unwrap().gains
        })
    }

    /// Returns the only gain.
    fn only(shown: &Why, all: &Why, arms: &[Arm]) -> Gain {
        let mut gains = gains(shown, all, arms);
        assert_eq!(gains.len(), 1, "{gains:?}");
        gains.remove(0)
    }

    #[test]
    fn a_gain_is_measured_by_the_arm_that_differs_in_just_the_remedy() {
        let mut bbr = arm("okhttp-nodelay h2 bbr", "okhttp-nodelay");
        bbr.congestion = Some("bbr".into());
        let mut copy = arm("okhttp h2 again", "okhttp");
        copy.same_as_baseline = true;
        let arms = [
            arm("okhttp h2", "okhttp"),
            copy,
            bbr,
            arm("okhttp-nodelay h2", "okhttp-nodelay"),
            arm("libcurl h2", "libcurl"),
        ];
        let all = why(vec![
            parts("okhttp h2", 50e6, 250e6),
            parts("okhttp h2 again", 50e6, 250e6),
            parts("okhttp-nodelay h2 bbr", 0.0, 190e6),
            parts("okhttp-nodelay h2", 40e6, 201e6),
            parts("libcurl h2", 40e6, 200e6),
        ]);
        let expected = Gain {
            arm: "okhttp h2".into(),
            at_most_ns: 50e6,
            measured: Some(MeasuredGain {
                arm: "okhttp-nodelay h2".into(),
                ns: 49e6,
                calls: 7,
            }),
        };
        assert_eq!(only(&all, &all, &arms), expected);
        // The arm that measures it need not be shown.
        let shown = why(vec![parts("okhttp h2", 50e6, 250e6)]);
        assert_eq!(only(&shown, &all, &arms), expected);
        let unmeasured = Gain {
            measured: None,
            ..expected
        };
        assert_eq!(only(&shown, &shown, &arms), unmeasured);
        // Three requests measure nothing.
        let mut few = all.clone();
        few.measures[0].arms[3].calls = 4;
        assert!(only(&few, &few, &arms).measured.is_some());
        few.measures[0].arms[3].calls = 3;
        assert_eq!(only(&few, &few, &arms), unmeasured);
    }

    #[test]
    fn small_parts_get_no_remedy() {
        let arms = [arm("okhttp h2", "okhttp")];
        let small = why(vec![parts("okhttp h2", 9e6, 200e6)]);
        assert_eq!(gains(&small, &small, &arms), []);
        let large = why(vec![parts("okhttp h2", 10e6, 200e6)]);
        assert_eq!(gains(&large, &large, &arms).len(), 1);
    }

    #[test]
    fn the_largest_gain_comes_first() {
        let arms = [arm("okhttp h2", "okhttp"), arm("other", "okhttp")];
        let all = why(vec![
            parts("okhttp h2", 50e6, 250e6),
            parts("other", 60e6, 250e6),
        ]);
        let exchange = Remedy {
            parts: vec![Part::Exchange],
            ..nodelay()
        };
        let chosen = choose_remedies(&all, &all, &arms, &[nodelay(), exchange]);
        assert_eq!(chosen[0].remedies[0].parts, [Part::Exchange]);
        // No arm spends time on the delayed ACK.
        assert_eq!(chosen[0].remedies[1].parts, [Part::Nagle]);
        let names = |at: usize| -> Vec<&str> {
            let gains = chosen[0].remedies[at].gains.iter();
            gains.map(|gain| gain.arm.as_str()).collect()
        };
        assert_eq!(names(0), ["okhttp h2", "other"]);
        assert_eq!(names(1), ["other", "okhttp h2"]);
    }
}
