//! Measures that a run does not have: times of requests that follow one another, added block by block.

use std::collections::BTreeMap;

use report::{ByBlock, Place};

use crate::claims::Sum;

/// Adds the sum's medians to those of a run, at every place that has all its parts.
pub(crate) fn add(all: &mut ByBlock, sum: &Sum) {
    let Some((first, rest)) = sum.of.split_first() else {
        return;
    };
    let of_first = |place: &&Place| place.measure == *first.as_ref();
    let starts: Vec<Place> = all.medians.keys().filter(of_first).cloned().collect();
    for start in starts {
        let mut blocks = all.medians[&start].clone();
        for measure in rest {
            let part = Place {
                measure: measure.as_ref().clone(),
                ..start.clone()
            };
            let part = all.medians.get(&part);
            let added = |(block, time)| Some((block, part?.get(&block)?.plus(time)));
            blocks = blocks
                .into_iter()
                .filter_map(added)
                .collect::<BTreeMap<_, _>>();
        }
        let measure = sum.measure.as_ref().clone();
        all.medians.insert(Place { measure, ..start }, blocks);
    }
}

#[cfg(test)]
mod tests {
    use report::Kind;
    use stats::Span;
    use toml::Spanned;

    use super::*;

    fn place(arm: &str, measure: &str) -> Place {
        Place {
            kind: Kind::Time,
            network: "lan".into(),
            measure: measure.into(),
            arm: arm.into(),
        }
    }

    fn named(name: &str) -> Spanned<String> {
        Spanned::new(0..0, name.to_owned())
    }

    #[test]
    fn blocks_that_lack_a_part_have_no_sum() {
        let mut all = ByBlock::default();
        let exact =
            |values: &[(u32, f64)]| values.iter().map(|(b, x)| (*b, Span::exact(*x))).collect();
        all.medians
            .insert(place("h2", "page"), exact(&[(0, 1.0), (1, 2.0), (2, 3.0)]));
        all.medians
            .insert(place("h2", "objects"), exact(&[(0, 10.0), (2, 30.0)]));
        all.medians.insert(place("h3", "page"), exact(&[(0, 1.0)]));
        let sum = Sum {
            run: None,
            measure: named("page and objects"),
            of: vec![named("page"), named("objects")],
        };
        add(&mut all, &sum);
        assert_eq!(
            all.medians[&place("h2", "page and objects")],
            exact(&[(0, 11.0), (2, 33.0)])
        );
        assert!(all.medians[&place("h3", "page and objects")].is_empty());
    }
}
