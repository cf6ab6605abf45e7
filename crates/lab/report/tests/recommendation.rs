//! Tests of what a report recommends, and of other reasons that it gives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{Invented, arm, data, quickstart};
use record::RunData;
use report::{Advice, human, summarise};
use stats::Verdict;

#[test]
fn sentence_names_a_protocol_mismatch() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for call in cells
        .iter_mut()
        .filter(|c| c.arm == "quinn h3")
        .flat_map(|c| &mut c.calls)
    {
        call.protocol = "h2".into();
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let sentence = &summarise(&data).networks[0].sentence;
    assert!(
        sentence.contains("quinn h3 was configured for h3 and negotiated h2."),
        "{sentence}"
    );
}

#[test]
fn failed_a_a_check_comes_first_and_replaces_advice() {
    let mut arms = quickstart();
    arms[1].first_ms *= 1.5;
    let data = data(&arms, &["true-metro"], 10, 1);
    let text = human(&summarise(&data), 100, false);
    assert!(text.starts_with("THE A/A CHECK FAILED"), "{text}");
    assert!(
        text.contains("Do not use the results of this network"),
        "{text}"
    );
    assert!(
        text.contains("No answer: the results must not be used."),
        "{text}"
    );
    assert!(!text.contains("Use quinn"), "{text}");
}

#[test]
fn sentence_names_different_congestion_control() {
    let mut arms = quickstart();
    arms[2].congestion = "bbr";
    let summary = summarise(&data(&arms, &["true-metro"], 10, 1));
    let sentence = &summary.networks[0].sentence;
    assert!(
        sentence
            .contains("Note: congestion control differs: bbr over QUIC instead of cubic over TCP."),
        "{sentence}"
    );
}

/// A protocol that is ahead with one server and behind with another is not ahead.
#[test]
fn sentence_says_that_the_server_decides() {
    let mut arms = quickstart();
    arms[3] = Invented {
        name: "quinn h3 (go server)",
        ..arm("quinn h3", "h3", 265.0, 131.0, 2_600.0)
    };
    let one = data(&arms, &["true-metro"], 10, 1);
    let decides = "The server decides: ";
    let short = "the server decides (-v says how); ";
    let of = |data: &RunData| summarise(data).networks[0].sentence.clone();
    let brief = |data: &RunData| report::brief(&summarise(data), 200, false);
    assert!(!of(&one).contains(decides), "{}", of(&one));
    assert!(!brief(&one).contains(short), "{}", brief(&one));
    let mut run = one.run().clone();
    run.arms[3].server = Some("go".into());
    let two = RunData::new(run, one.cells().to_vec()).unwrap();
    assert!(brief(&two).contains(short), "{}", brief(&two));
    let sentence = of(&two);
    let words = sentence.strip_prefix(decides).unwrap();
    assert!(words.contains("over h3 to quinn: "), "{words}");
    let (slower, faster) = words
        .split_once(" to ")
        .unwrap()
        .1
        .split_once(" to ")
        .unwrap();
    assert!(slower.ends_with("slower (quinn h3 (go server))"), "{words}");
    assert!(faster.contains("faster (quinn h3)."), "{words}");
}

#[test]
fn assumed_networks_are_flagged() {
    let data = data(&quickstart(), &["true-metro"], 10, 1);
    let with = |basis: &str| {
        let mut run = data.run().clone();
        run.networks[0].basis = Some(basis.into());
        let data = RunData::new(run, data.cells().to_vec()).unwrap();
        summarise(&data).networks[0].sentence.clone()
    };
    assert!(with("assumed").ends_with(" The network is assumed, not measured."));
    assert!(!with("derived").contains("assumed"));
}

/// Either may be the cause of a difference between protocols.
#[test]
fn sentence_names_different_versions_of_tls_and_ip() {
    let one = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = one.cells().to_vec();
    for cell in &mut cells {
        let is_arm = cell.arm == "quinn h3";
        for connection in &mut cell.connections {
            connection.tls_version = if is_arm { "TLSv1_2" } else { "TLSv1_3" }.into();
            connection.ip_version = Some(if is_arm { 6 } else { 4 });
        }
    }
    let data = RunData::new(one.run().clone(), cells).unwrap();
    let sentence = &summarise(&data).networks[0].sentence;
    for note in [
        "Note: IP version 6 instead of 4.",
        "Note: TLS 1.2 instead of 1.3.",
    ] {
        assert!(sentence.contains(note), "{sentence}");
    }
}

#[test]
fn less_reliable_arm_is_not_recommended() {
    let mut arms = quickstart();
    arms[2].time_out_every = 9;
    let network = &summarise(&data(&arms, &["true-metro"], 10, 1)).networks[0];
    let (advice, sentence) = (&network.advice, &network.sentence);
    assert!(!matches!(advice, Advice::Use { .. }), "{sentence}");
    assert!(
        sentence.contains("quinn h3 is less reliable: 10 of 160 requests failed or timed out."),
        "{sentence}"
    );
}

/// One failure in 160 requests may be chance.
#[test]
fn arms_without_tls_and_those_that_are_no_candidates_are_never_recommended() {
    let tls = data(&quickstart(), &["true-metro"], 10, 1);
    let faster = "quinn h3".to_owned();
    let best = |data: &RunData| -> Vec<String> {
        let needs = summarise(data).networks[0].needs.clone();
        needs.into_iter().flat_map(|need| need.best).collect()
    };
    assert!(best(&tls).contains(&faster));
    let mut run = tls.run().clone();
    for arm in run.arms.iter_mut().filter(|arm| arm.name == faster) {
        arm.security = "none".into();
    }
    let plaintext = RunData::new(run, tls.cells().to_vec()).unwrap();
    let mut run = tls.run().clone();
    for arm in run.arms.iter_mut().filter(|arm| arm.name == faster) {
        arm.role = Some("anti-pattern".into());
    }
    let anti_pattern = RunData::new(run, tls.cells().to_vec()).unwrap();
    for data in [plaintext, anti_pattern] {
        assert!(!best(&data).contains(&faster));
        assert!(!human(&summarise(&data), 100, false).contains("Use quinn"));
    }
}

#[test]
fn single_failure_does_not_make_an_arm_less_reliable() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    let cell = cells.iter_mut().find(|c| c.arm == "quinn h3").unwrap();
    cell.calls[1].result = record::CallResult::TimedOut;
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let network = &summarise(&data).networks[0];
    let arms = vec!["quinn h3".to_owned()];
    assert_eq!(network.advice, Advice::Use { arms }, "{}", network.sentence);
}

/// An arm that is faster in one need and undecided in another is named for the first only.
#[test]
fn undecided_arm_is_not_recommended_for_everything() {
    let mut arms = quickstart();
    arms.truncate(3);
    arms[2].bulk_ms = 1_800.0;
    let unsplit = data(&arms, &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|c| c.arm == "quinn h3") {
        // Half of its images are much faster, half much slower.
        let image = cell.calls.last_mut().unwrap();
        image.end_ns = if cell.block % 2 == 0 {
            600_000_000
        } else {
            3_000_000_000
        };
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    let network = &summary.networks[0];
    assert_eq!(network.advice, Advice::ByNeed, "{}", network.sentence);
    let need = |label: &str| network.needs.iter().find(|n| n.label == label).unwrap();
    assert_eq!(need("first request").best, ["quinn h3"]);
    assert_eq!(need("image").undecided, ["quinn h3"]);
    assert!(
        summary.answer.contains("First request: quinn h3.")
            && summary
                .answer
                .contains("Image: hyper h2 (undecided: quinn h3)."),
        "{}",
        summary.answer
    );
}

/// An arm that is faster in one need and not slower in the others is recommended for all, and an answer
/// that holds on all networks is given once.
#[test]
fn an_arm_that_is_nowhere_slower_is_used() {
    let mut arms = quickstart();
    arms.truncate(3);
    // 30 to 130 ms faster than 1.8 s, of which 90 ms are the margin.
    arms[2].bulk_ms = 1_800.0;
    let unsplit = data(&arms, &["true-metro", "4g-tether"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    let of = |cell: &record::Cell, arm: &str| {
        let place = (cell.network.clone(), cell.block);
        (cell.arm == arm).then_some(place)
    };
    for cell in unsplit.cells() {
        let Some(place) = of(cell, "hyper h2") else {
            continue;
        };
        let is_rival = |c: &&mut record::Cell| of(c, "quinn h3").as_ref() == Some(&place);
        let rival = cells.iter_mut().find(is_rival).unwrap();
        let gain_ns = 1_000_000 * (30 + u64::from(cell.block) * 11);
        rival.calls.last_mut().unwrap().end_ns = cell.calls.last().unwrap().end_ns - gain_ns;
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    let quinn = summary.networks[0]
        .arms
        .iter()
        .find(|a| a.name == "quinn h3");
    let image = quinn.unwrap().comparisons().last().unwrap().1;
    assert_eq!(image.verdict, Verdict::NotSlower);
    let sentence = &summary.networks[0].sentence;
    assert!(sentence.contains("image: not slower ("), "{sentence}");
    assert_eq!(summary.answer, "Use quinn h3 on both networks.");
}

/// A block in which the baseline failed leaves one end of an interval open.
#[test]
fn an_open_interval_is_said() {
    let mut arms = quickstart();
    arms.truncate(3);
    let unsplit = data(&arms, &["true-metro"], 8, 1);
    let mut cells = unsplit.cells().to_vec();
    let failed = cells
        .iter_mut()
        .find(|c| c.arm == "hyper h2" && c.block == 3);
    let failed = failed.unwrap();
    failed.calls.clear();
    failed.outcome = record::Outcome::Failed {
        reason: "it broke".into(),
    };
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let text = human(&summarise(&data), 2_000, false);
    assert!(!text.contains("()"), "{text}");
    assert!(
        text.contains("warm requests: not slower (at least "),
        "{text}"
    );
    assert!(text.contains("image: at most "), "{text}");
}

#[test]
fn sentence_names_weak_proof() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for call in cells
        .iter_mut()
        .filter(|c| c.arm == "quinn h3")
        .flat_map(|c| &mut c.calls)
    {
        call.proof = record::Proof::Client;
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let sentence = &summarise(&data).networks[0].sentence;
    assert!(
        sentence.contains("The protocol of quinn h3 is reported by the client only, not verified."),
        "{sentence}"
    );
}
