//! Verdicts from the values by block, made by the report's own code.

use std::collections::BTreeMap;

use report::{BlockValue, Bound, ByBlock, Comparison, Kind, Place, Quantity, Unit, Values};
use stats::{Ranks, Span, Verdict};

/// Every comparison of a run, decided, and every figure of an arm.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    comparisons: BTreeMap<(Place, String), Comparison>,
    /// Comparisons of different measures.
    across: BTreeMap<(Place, Place), Comparison>,
    medians: BTreeMap<Place, Quantity>,
}

/// A comparison that is not decided yet, by its arm's place and the other arm.
type Asked<'a> = (&'a (Place, String), &'a Values);

/// Comparisons that are read together, by network and measure.
type Columns<'a> = BTreeMap<(&'a str, &'a str), Vec<Asked<'a>>>;

impl Decided {
    /// Decides all comparisons. Those of times with the baseline are those of the run's report and
    /// get its verdicts. Pairs without the baseline are decided apart from them, and so are bytes and
    /// parts of requests, and `across`, the places whose measures differ. The run's margin is `margin_ns`,
    /// if its study set one.
    pub(crate) fn new(
        all: &ByBlock,
        baseline: &str,
        across: &[(Place, Place)],
        margin_ns: Option<u64>,
        ranks: Ranks,
    ) -> Decided {
        // What is decided together: with the baseline or not, and the kind of values.
        let mut reports: BTreeMap<(bool, Kind), Columns<'_>> = BTreeMap::new();
        for (key, values) in &all.pairs {
            let (place, other) = key;
            let report = reports.entry((other == baseline, place.kind)).or_default();
            let column = report.entry((&place.network, &place.measure)).or_default();
            column.push((key, values));
        }
        let mut decided = Decided::default();
        for ((_, kind), columns) in reports {
            let families: Vec<Vec<Values>> = columns
                .values()
                .map(|column| column.iter().map(|(_, values)| (*values).clone()).collect())
                .collect();
            let comparisons = report::decide(&families, kind.unit(), ranks);
            let keys = columns.values().flatten().map(|(key, _)| (*key).clone());
            decided
                .comparisons
                .extend(keys.zip(comparisons.into_iter().flatten()));
        }
        let values: Vec<Vec<Values>> = across
            .iter()
            .map(|(arm, other)| vec![unpaired(all, arm, other, margin_ns)])
            .collect();
        let comparisons = report::decide(&values, Unit::Ns, ranks);
        let keys = across.iter().cloned();
        decided.across = keys.zip(comparisons.into_iter().flatten()).collect();
        for (place, blocks) in &all.medians {
            let blocks: Vec<Span> = blocks.values().copied().collect();
            if let Some(median) = report::median(&blocks, place.kind.unit()) {
                decided.medians.insert(place.clone(), median);
            }
        }
        decided
    }

    /// Returns the comparison of an arm with another, whichever way round it was made. `None` if no
    /// block has both.
    pub(crate) fn comparison(&self, place: &Place, against: &str) -> Option<Comparison> {
        let key = (place.clone(), against.to_owned());
        let reverse = Place {
            arm: against.to_owned(),
            ..place.clone()
        };
        let found = match self.comparisons.get(&key) {
            Some(found) => found.clone(),
            None => reversed(self.comparisons.get(&(reverse, place.arm.clone()))?),
        };
        (found.difference.blocks > 0).then_some(found)
    }

    /// Returns the comparison of two places whose measures differ. `None` if no block has both.
    pub(crate) fn across(&self, arm: &Place, other: &Place) -> Option<Comparison> {
        let found = self.across.get(&(arm.clone(), other.clone()))?;
        (found.difference.blocks > 0).then(|| found.clone())
    }

    /// Returns the median over blocks of an arm.
    pub(crate) fn median(&self, place: &Place) -> Option<&Quantity> {
        self.medians.get(place)
    }

    /// Returns whether a pair was kept at all, even without a block.
    pub(crate) fn has(&self, arm: &str, against: &str) -> bool {
        let is = |one: &str, other: &str| (one, other) == (arm, against);
        self.comparisons
            .keys()
            .any(|(place, other)| is(&place.arm, other) || is(other, &place.arm))
    }

    /// Returns the kind of a measure.
    pub(crate) fn kind(&self, measure: &str) -> Option<Kind> {
        let place = self.medians.keys().find(|place| place.measure == measure)?;
        Some(place.kind)
    }

    /// Returns the labels of all measures.
    pub(crate) fn measures(&self) -> impl Iterator<Item = &str> {
        self.medians.keys().map(|place| place.measure.as_str())
    }
}

/// Returns the values of two places of different requests: block by block, because they share machine
/// and minute, but not request by request.
fn unpaired(all: &ByBlock, arm: &Place, other: &Place, margin_ns: Option<u64>) -> Values {
    let (Some(arm), Some(other)) = (all.medians.get(arm), all.medians.get(other)) else {
        return Values::default();
    };
    let value = |(block, time): (&u32, &Span)| {
        let other = other.get(block)?;
        let value = BlockValue {
            difference: time.minus(*other),
            speedup: (time.lo > 0.0 && other.lo > 0.0).then(|| other.over(*time)),
        };
        Some((*block, value))
    };
    let others: Vec<Span> = other.values().copied().collect();
    let median = stats::median(&others).map_or(0.0, |median| median.lo);
    Values {
        margin: margin_ns.map_or(stats::default_margin_ns(median), |ns| ns as f64),
        blocks: arm.iter().filter_map(value).collect(),
    }
}

/// Returns the comparison of the second arm with the first.
fn reversed(comparison: &Comparison) -> Comparison {
    Comparison {
        difference: inverted(&comparison.difference),
        speedup: comparison.speedup.as_ref().map(inverted),
        verdict: match comparison.verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::NotSlower => Verdict::NotFaster,
            Verdict::NotFaster => Verdict::NotSlower,
            same @ (Verdict::NoDifference | Verdict::CannotTell { .. }) => same,
        },
        ..comparison.clone()
    }
}

/// Negates a difference and takes the reciprocal of a factor.
fn inverted(q: &Quantity) -> Quantity {
    let invert = |x: f64| match q.unit {
        Unit::Factor => 1.0 / x,
        Unit::Ns
        | Unit::Bytes
        | Unit::BitsPerSecond
        | Unit::PerSecond
        | Unit::Joules
        | Unit::Percent => -x,
    };
    let finite = |x: Option<f64>| x.map(invert).filter(|x| x.is_finite());
    Quantity {
        value: finite(q.value),
        low: finite(q.high),
        high: finite(q.low),
        bound: match q.bound {
            Bound::AtLeast => Bound::AtMost,
            Bound::AtMost => Bound::AtLeast,
            same @ (Bound::Exact | Bound::Unknown) => same,
        },
        ..q.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(arm: &str) -> Place {
        Place {
            kind: Kind::Time,
            network: "lan".into(),
            measure: "image".into(),
            arm: arm.into(),
        }
    }

    #[test]
    fn comparisons_can_be_read_both_ways() {
        let value = |b: u32| BlockValue {
            difference: Span::exact(-10e6 - f64::from(b)),
            speedup: Some(Span::exact(2.0)),
        };
        let values = Values {
            margin: 2e6,
            blocks: (0..8).map(|b| (b, value(b))).collect(),
        };
        let mut all = ByBlock::default();
        all.pairs.insert((place("h3"), "h2".into()), values);
        let decided = Decided::new(&all, "h2", &[], None, Ranks::Fixed);
        let h3 = decided.comparison(&place("h3"), "h2").unwrap();
        let h2 = decided.comparison(&place("h2"), "h3").unwrap();
        assert_eq!((h3.verdict, h2.verdict), (Verdict::Faster, Verdict::Slower));
        assert_eq!(h2.difference.value, h3.difference.value.map(|x| -x));
        assert_eq!(h2.difference.low, h3.difference.high.map(|x| -x));
        assert_eq!(h2.speedup.and_then(|q| q.value), Some(0.5));
        assert_eq!(decided.comparison(&place("h1"), "h2"), None);
    }

    /// The other end of an interval that is open below, when negated, is open above.
    #[test]
    fn open_ends_change_sides() {
        let q = Quantity {
            low: None,
            ..report::median(&[Span::at_least(5.0)], Unit::Ns).unwrap()
        };
        let turned = inverted(&q);
        assert_eq!((turned.high, turned.bound), (None, Bound::AtMost));
        assert_eq!(turned.value, Some(-5.0));
    }

    /// First and warm requests of one arm, say.
    #[test]
    fn different_measures_are_compared_block_by_block() {
        let warm = Place {
            measure: "warm".into(),
            ..place("h2")
        };
        let times = |ms: f64| -> BTreeMap<u32, Span> {
            (0..8)
                .map(|b| (b, Span::exact((ms + f64::from(b)) * 1e6)))
                .collect()
        };
        let mut all = ByBlock::default();
        all.medians.insert(place("h2"), times(200.0));
        all.medians.insert(warm.clone(), times(100.0));
        let across = [(place("h2"), warm)];
        let decided = Decided::new(&all, "h2", &across, None, Ranks::Fixed);
        let found = decided.across(&across[0].0, &across[0].1).unwrap();
        assert_eq!(found.verdict, Verdict::Slower);
        assert_eq!(found.difference.value, Some(100e6));
        assert_eq!(found.margin_ns, 0.05 * 103.5e6);
        // A study on a fast network sets its own, as its report has it.
        let decided = Decided::new(&all, "h2", &across, Some(500_000), Ranks::Fixed);
        let found = decided.across(&across[0].0, &across[0].1).unwrap();
        assert_eq!(found.margin_ns, 500_000.0);
    }
}
