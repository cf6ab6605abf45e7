//! The values by block give the report's verdicts again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::collections::BTreeMap;

use invented::{data, quickstart};
use report::{
    ArmSummary, ByBlock, Kind, Role, Unit, Values, decide, energy_labels, median, summarise,
};
use stats::{Ranks, Span, Verdict};

#[test]
fn values_by_block_give_the_verdicts_and_figures_of_the_report() {
    let mut arms = quickstart();
    arms[2].time_out_every = 7;
    let data = data(&arms, &["true-metro", "lan"], 10, 1);
    let (summary, by_block) = (summarise(&data), ByBlock::of(&data, &[]));
    let mut families: BTreeMap<(&str, &str), Vec<(&str, Values)>> = BTreeMap::new();
    for ((place, _), values) in &by_block.pairs {
        if place.kind == Kind::Time {
            let family = families
                .entry((&place.network, &place.measure))
                .or_default();
            family.push((&place.arm, values.clone()));
        }
    }
    let values: Vec<Vec<Values>> = families
        .values()
        .map(|family| family.iter().map(|(_, values)| values.clone()).collect())
        .collect();
    let decided = decide(&values, Unit::Ns, Ranks::Fixed);
    let mut compared = 0;
    for ((key, family), decided) in families.iter().zip(decided) {
        let network = summary.networks.iter().find(|n| n.name == key.0).unwrap();
        for ((arm, _), again) in family.iter().zip(decided) {
            let arm = network.arms.iter().find(|a| a.name == *arm).unwrap();
            let measure = arm.measures.iter().find(|m| m.label == key.1).unwrap();
            let Some(first) = &measure.comparison else {
                assert_eq!(again.difference.blocks, 0);
                continue;
            };
            assert_eq!(again.difference, first.difference);
            assert_eq!(again.speedup, first.speedup);
            assert_eq!(
                (again.verdict, again.margin_ns),
                (first.verdict, first.margin_ns)
            );
            compared += 1;
        }
    }
    assert_eq!(compared, summary.comparisons.all);
    let arms = summary
        .networks
        .iter()
        .flat_map(|n| n.arms.iter().map(move |a| (n, a)));
    for (network, arm) in arms.filter(|(_, arm)| arm.role != Role::Repeat) {
        for measure in &arm.measures {
            let place = report::Place {
                kind: Kind::Time,
                network: network.name.clone(),
                measure: measure.label.clone(),
                arm: arm.name.clone(),
            };
            let blocks: Vec<Span> = by_block.medians[&place].values().copied().collect();
            assert_eq!(median(&blocks, Unit::Ns), measure.time);
        }
    }
}

#[test]
fn any_two_arms_and_their_bytes_can_be_compared() {
    let mut data_of = quickstart();
    data_of.truncate(4);
    let unsplit = data(&data_of, &["lan"], 8, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in &mut cells {
        (cell.wire.up_bytes, cell.wire.down_bytes) = match cell.arm.as_str() {
            "quinn h3" => (1_000, 2_000),
            _ => (2_000, 4_000),
        };
    }
    let data = record::RunData::new(unsplit.run().clone(), cells).unwrap();
    let by_block = ByBlock::of(&data, &[("quinn h3", "libcurl h1")]);
    let values = |measure: &str| {
        let of = |((place, other), _): &(&(report::Place, String), &Values)| {
            (place.measure.as_str(), other.as_str()) == (measure, "libcurl h1")
        };
        by_block.pairs.iter().find(of).unwrap().1.clone()
    };
    let bytes = &decide(
        &[vec![values("bytes on the wire")]],
        Unit::Bytes,
        Ranks::Fixed,
    )[0][0];
    assert_eq!(bytes.difference.value, Some(-3_000.0));
    assert_eq!(bytes.speedup.as_ref().unwrap().value, Some(2.0));
    assert_eq!(bytes.verdict, Verdict::Faster);
    let first = &decide(&[vec![values("first request")]], Unit::Ns, Ranks::Fixed)[0][0];
    assert_eq!(first.verdict, Verdict::Faster);
}

#[test]
fn energies_are_those_of_the_report_and_are_not_compared() {
    let unsplit = data(&quickstart(), &["lan"], 8, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in &mut cells {
        let bin = |at_ms| record::Activity {
            at_ms,
            down_bytes: 1_000 * u64::from(cell.block + 1),
            ..record::Activity::default()
        };
        cell.wire.activity = vec![bin(0), bin(700)];
    }
    let data = record::RunData::new(unsplit.run().clone(), cells).unwrap();
    let (summary, by_block) = (summarise(&data), ByBlock::of(&data, &[]));
    let arms = summary.networks[0].arms.iter();
    let measured = |arm: &&ArmSummary| arm.role != Role::Repeat && arm.costs.memory.is_some();
    for arm in arms.filter(measured) {
        for ((radio, labels), energy) in energy_labels().iter().zip(&arm.costs.energy) {
            assert_eq!((*radio, labels.len()), (energy.radio.as_str(), 2));
            for label in labels {
                let place = report::Place {
                    kind: Kind::Energy,
                    network: "lan".into(),
                    measure: label.clone(),
                    arm: arm.name.clone(),
                };
                let blocks: Vec<Span> = by_block.medians[&place].values().copied().collect();
                assert_eq!(blocks.len(), 8);
                let found = median(&blocks, Unit::Joules).unwrap();
                assert!(found == energy.least || found == energy.most, "{found:?}");
            }
        }
        assert_eq!(arm.costs.energy.len(), 3);
    }
    let energies = (by_block.pairs.keys()).filter(|(place, _)| place.kind == Kind::Energy);
    assert_eq!(energies.count(), 0);
}
