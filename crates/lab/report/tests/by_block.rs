//! The values by block give the report's verdicts again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::collections::BTreeMap;

use invented::{data, quickstart};
use report::{
    ArmSummary, ByBlock, Kind, Role, Unit, Values, decide, html, human, median, phone_of, summarise,
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

/// A radio as a run's record has it.
const RADIO: &str = r#"
[up.radio]
begins = "idle"
technology = "TECHNOLOGY"

[[up.radio.states]]
name = "connected"
after_ns = 0

[[up.radio.states]]
name = "idle"
after_ns = 1000000000
promotion_ns = 260100000
"#;

/// Returns a run whose radio wakes up once in each cell, for a second or more.
fn with_radio(technology: &str) -> record::RunData {
    let unsplit = data(&quickstart(), &["mobile"], 8, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in &mut cells {
        let change = |at_ms: u64, state: &str| record::RadioChange {
            at_ns: at_ms * 1_000_000,
            state: state.to_owned(),
        };
        let longer_ms = u64::from(cell.block) + if cell.arm == "quinn h3" { 1_000 } else { 0 };
        cell.radio = vec![
            change(0, "idle"),
            change(0, "promoting"),
            change(260, "connected"),
            change(1_260 + longer_ms, "idle"),
        ];
    }
    let mut run = unsplit.run().clone();
    run.networks[0].toml = RADIO.replace("TECHNOLOGY", technology);
    record::RunData::new(run, cells).unwrap()
}

#[test]
fn energies_are_those_of_the_report_and_are_compared_by_phone() {
    let data = with_radio("lte");
    let (summary, by_block) = (summarise(&data), ByBlock::of(&data, &[]));
    let network = &summary.networks[0];
    assert_eq!(network.energy_unknown, None);
    let place = |phone: &str, arm: &str| report::Place {
        kind: Kind::Energy,
        network: "mobile".into(),
        measure: format!("energy, {phone}"),
        arm: arm.to_owned(),
    };
    let measured = |arm: &&ArmSummary| arm.role != Role::Repeat && arm.costs.memory.is_some();
    for arm in network.arms.iter().filter(measured) {
        assert_eq!(arm.costs.energy.len(), 2);
        for energy in &arm.costs.energy {
            let place = place(&energy.phone, &arm.name);
            assert_eq!(phone_of(&place.measure), Some(&*energy.phone));
            let blocks: Vec<Span> = by_block.medians[&place].values().copied().collect();
            assert_eq!(blocks.len(), 8);
            assert_eq!(
                median(&blocks, Unit::Joules).as_ref(),
                Some(&energy.per_request)
            );
        }
        // By hand, in the median block 3.5: 16 requests, 0.26 s at 1.2107 W and a second or two at 1.28804 W.
        let connected_s = 1.0035 + if arm.name == "quinn h3" { 1.0 } else { 0.0 };
        let joules = 0.26 * 1.2107 + connected_s * 1.28804;
        let energy = &arm.costs.energy[0];
        for (found, expected) in [
            (&energy.per_cell, joules),
            (&energy.per_request, joules / 16.0),
        ] {
            let found = found.value.unwrap();
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        let awake_ns = arm.costs.radio_awake.as_ref().unwrap().value.unwrap();
        assert!(
            (awake_ns - (0.26 + connected_s) * 1e9).abs() < 1.0,
            "{awake_ns}"
        );
    }
    let pair = (
        place("LTE phone of 2012", "quinn h3"),
        summary.baseline.clone(),
    );
    let verdict = &decide(
        &[vec![by_block.pairs[&pair].clone()]],
        Unit::Joules,
        Ranks::Fixed,
    )[0][0];
    assert_eq!(verdict.verdict, Verdict::Slower);
    for page in [human(&summary, 200, false), html(&summary, &data)] {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            page.contains("Phones: LTE phone of 2012, Video Optimizer's LTE"),
            "{page}"
        );
        assert!(page.contains("(model)"), "{page}");
    }
}

#[test]
fn a_radio_without_published_powers_has_no_energy_but_a_reason() {
    let data = with_radio("5g");
    let (summary, by_block) = (summarise(&data), ByBlock::of(&data, &[]));
    let network = &summary.networks[0];
    let reason = "commute knows no published power of the states of a radio of technology `5g`";
    assert_eq!(network.energy_unknown.as_deref(), Some(reason));
    assert!(network.arms.iter().all(|arm| arm.costs.energy.is_empty()));
    assert!(human(&summary, 200, false).contains(reason));
    assert!(
        !by_block
            .medians
            .keys()
            .any(|place| place.kind == Kind::Energy)
    );
    // Without a radio, only JSON says so.
    let wired = summarise(&invented::data(&quickstart(), &["lan"], 8, 1));
    let reason = wired.networks[0].energy_unknown.as_deref();
    assert_eq!(reason, Some("the network has no radio"));
    assert!(!human(&wired, 200, false).contains("nergy"));
}
