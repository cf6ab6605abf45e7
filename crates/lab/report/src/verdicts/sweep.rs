//! Follows each arm's time and verdict along the levels of a setting.

use record::{Level, Run};
use stats::Verdict;

use crate::summary::NetworkSummary;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Comparison, Measure};
use crate::summary::sweep::{Sweep, Trend};
use crate::words::number::with_interval;
use crate::words::verdict::{finding_words, verdict_words};

/// Returns what the sweeps of a run show: one entry per network, swept setting and decisive measure.
pub(crate) fn sweeps(run: &Run, networks: &[NetworkSummary]) -> Vec<Sweep> {
    let mut all: Vec<Sweep> = Vec::new();
    for axis in axes(run) {
        let members: Vec<&NetworkSummary> = (axis.networks.iter())
            .filter_map(|name| networks.iter().find(|n| n.name == *name))
            .collect();
        let (Some(first), true) = (members.first(), members.len() == axis.values.len()) else {
            continue;
        };
        let measures = first.arms.first().map_or(&[][..], |arm| &arm.measures);
        for (i, measure) in measures.iter().enumerate().filter(|(_, m)| m.decisive) {
            let arms = first.arms.iter().enumerate();
            all.push(Sweep {
                network: axis.network.clone(),
                setting: axis.setting.clone(),
                values: axis.values.clone(),
                measure: measure.label.clone(),
                arms: arms
                    .filter(|(_, arm)| arm.role != Role::Repeat)
                    .map(|(index, arm)| trend(index, arm, i, &members, &axis))
                    .collect(),
            });
        }
    }
    all
}

/// The networks that differ in one setting only.
struct Axis {
    network: String,
    setting: String,
    values: Vec<String>,
    networks: Vec<String>,
}

fn axes(run: &Run) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for network in &run.networks {
        let Some(base) = &network.base else {
            continue;
        };
        for level in &network.levels {
            let others = network.levels.iter().filter(|other| *other != level);
            let words: Vec<String> = others.map(words).collect();
            let name = [std::slice::from_ref(base), &words[..]].concat().join(", ");
            let known = (axes.iter())
                .position(|axis| axis.network == name && axis.setting == level.setting);
            let at = known.unwrap_or_else(|| {
                axes.push(Axis {
                    network: name,
                    setting: level.setting.clone(),
                    values: Vec::new(),
                    networks: Vec::new(),
                });
                axes.len() - 1
            });
            axes[at].values.push(level.value.clone());
            axes[at].networks.push(network.name.clone());
        }
    }
    axes.retain(|axis| axis.values.len() > 1);
    axes
}

fn words(level: &Level) -> String {
    format!("{}={}", level.setting, level.value)
}

fn trend(
    index: usize,
    arm: &ArmSummary,
    measure: usize,
    members: &[&NetworkSummary],
    axis: &Axis,
) -> Trend {
    let measures: Vec<Option<&Measure>> = (members.iter())
        .map(|network| network.arms.get(index)?.measures.get(measure))
        .collect();
    let comparisons: Vec<Option<&Comparison>> = (measures.iter())
        .map(|measure| (*measure)?.comparison.as_ref())
        .collect();
    let verdicts: Vec<Option<Verdict>> = (comparisons.iter())
        .map(|comparison| Some((*comparison)?.verdict))
        .collect();
    let words = match is_ordered(&axis.values) {
        true => from_where_on(&verdicts, &axis.values),
        false => with_which(&comparisons, axis),
    };
    Trend {
        arm: arm.name.clone(),
        index,
        times: (measures.iter())
            .map(|measure| (*measure)?.time.clone())
            .collect(),
        words: (arm.role == Role::Arm).then_some(words),
        verdicts,
    }
}

/// Reports whether levels are quantities. Names, e.g. of servers, have no order.
fn is_ordered(values: &[String]) -> bool {
    values
        .iter()
        .all(|value| value.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns in words what a comparison with the baseline hangs on: the same verdict with every value, or each.
fn with_which(comparisons: &[Option<&Comparison>], axis: &Axis) -> String {
    let verdicts = || {
        comparisons
            .iter()
            .map(|comparison| comparison.map(|c| c.verdict))
    };
    let setting = &axis.setting;
    match verdicts().next().flatten() {
        Some(first) if first.is_decided() && verdicts().all(|verdict| verdict == Some(first)) => {
            format!("{} with every {setting}", verdict_words(first))
        }
        _ => {
            let has = |wanted| verdicts().flatten().any(|verdict| verdict == wanted);
            let contradicts = |one, others: &[Verdict]| has(one) && others.iter().any(|&v| has(v));
            let depends = contradicts(Verdict::Faster, &[Verdict::Slower, Verdict::NoDifference])
                || contradicts(Verdict::Slower, &[Verdict::NoDifference]);
            let words = match depends {
                true => "depends on the",
                false => "not decided for every",
            };
            let of_value = |(comparison, value): (&Option<&Comparison>, &String)| {
                let words = comparison.map_or("not compared".to_owned(), finding_words);
                format!("{words} ({value})")
            };
            let all: Vec<String> = comparisons.iter().zip(&axis.values).map(of_value).collect();
            format!("{words} {setting}: {}", all.join(", "))
        }
    }
}

/// Returns in words from which level on a verdict holds: at that level and at every higher one. A claim about all of
/// several verdicts is wrong no more often than the least certain of them.
fn from_where_on(verdicts: &[Option<Verdict>], values: &[String]) -> String {
    let (Some(Some(highest)), Some(last)) = (verdicts.last(), values.last()) else {
        return "not compared at every level".to_owned();
    };
    if !highest.is_decided() {
        return format!("not decided at {last}");
    }
    let same = |verdict: &&Option<Verdict>| **verdict == Some(*highest);
    let from = verdicts.len() - verdicts.iter().rev().take_while(same).count();
    let word = verdict_words(*highest);
    match from {
        0 => format!("{word} at every level"),
        from if from + 1 == verdicts.len() => format!("{word} at {last} only"),
        from => format!("{word} from {} on", values[from]),
    }
}

impl Sweep {
    /// Returns the heading of the table.
    pub(crate) fn title(&self) -> String {
        format!("{}, {}, along {}", self.network, self.measure, self.setting)
    }
}

impl Trend {
    /// Returns the time at each level, with the verdict's word.
    pub(crate) fn cells(&self) -> Vec<String> {
        (self.times.iter().zip(&self.verdicts))
            .map(|(time, verdict)| match (time, verdict) {
                (None, _) => "-".to_owned(),
                (Some(time), None) => with_interval(time),
                (Some(time), Some(verdict)) => {
                    format!("{} {}", with_interval(time), verdict_words(*verdict))
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNDECIDED: Verdict = Verdict::CannotTell {
        blocks: 6,
        outlook: stats::Outlook::MayNotSettle,
    };

    fn words(verdicts: &[Verdict]) -> String {
        let verdicts: Vec<Option<Verdict>> = verdicts.iter().copied().map(Some).collect();
        from_where_on(&verdicts, &["0%", "5%", "15%"].map(str::to_owned))
    }

    #[test]
    fn a_verdict_holds_from_the_lowest_level_whose_higher_ones_share_it() {
        use Verdict::{Faster, NoDifference, Slower};
        for (verdicts, expected) in [
            ([NoDifference, Faster, Faster], "faster from 5% on"),
            ([Faster, NoDifference, Faster], "faster at 15% only"),
            ([Faster; 3], "faster at every level"),
            ([Faster, Faster, UNDECIDED], "not decided at 15%"),
            (
                [Slower, NoDifference, NoDifference],
                "no difference from 5% on",
            ),
            ([UNDECIDED, Slower, Slower], "slower from 5% on"),
        ] {
            assert_eq!(words(&verdicts), expected);
        }
    }
}
