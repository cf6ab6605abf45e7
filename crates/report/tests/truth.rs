//! The sentence never contradicts the table, whatever was measured.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{Invented, arm, cells, data, quickstart, run};
use proptest::prelude::*;
use record::{Outcome, RunData};
use report::{AaCheck, Advice, ArmSummary, NetworkSummary, Role, human, summarise};
use stats::Verdict;

/// Returns the verdicts of an arm as the printed table shows them, in the order of its measures.
fn printed_verdicts(text: &str, arm: &str) -> Vec<&'static str> {
    let lines: Vec<&str> = text.lines().collect();
    let row = |l: &&str| {
        l.trim_start()
            .strip_prefix(arm)
            .is_some_and(|rest| rest.starts_with("  "))
    };
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if !row(line) {
            continue;
        }
        let Some(below) = lines.get(i + 1) else {
            continue;
        };
        for cell in below
            .split("   ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
        {
            found.extend(
                ["faster", "slower", "no difference", "cannot tell"]
                    .into_iter()
                    .find(|words| cell == *words || cell.starts_with(&format!("{words} (~"))),
            );
        }
    }
    found
}

/// Returns the verdicts of an arm from the summary.
fn verdicts(arm: &ArmSummary) -> Vec<Verdict> {
    arm.comparisons().map(|(_, c)| c.verdict).collect()
}

/// Compares the printed sentence with the printed table.
fn check(data: &RunData) -> Result<(), TestCaseError> {
    let summary = summarise(data);
    let a_a_failed = matches!(summary.a_a, AaCheck::Failed { .. });
    for network in &summary.networks {
        let mut alone = summary.clone();
        alone.networks = vec![network.clone()];
        let text = human(&alone, 2_000, false);
        prop_assert_eq!(text.starts_with("THE A/A CHECK FAILED"), a_a_failed);
        check_network(network, &text)?;
    }
    Ok(())
}

fn check_network(network: &NetworkSummary, text: &str) -> Result<(), TestCaseError> {
    let sentence = &network.sentence;
    prop_assert!(
        text.contains(sentence.as_str()),
        "the sentence is printed completely"
    );
    let arms = || network.arms.iter().filter(|arm| arm.role == Role::Arm);
    let shows = |arm: &str, word: &str| printed_verdicts(text, arm).contains(&word);
    let anywhere = |word: &str| arms().any(|arm| shows(&arm.name, word));
    if let Some(rest) = sentence.strip_prefix("Take ") {
        let arm = rest.split(':').next().unwrap();
        prop_assert!(
            shows(arm, "faster") && !shows(arm, "slower"),
            "{sentence}\n{text}"
        );
        // The sentence and the table have the same number of findings.
        let own = sentence.split(". ").next().unwrap();
        let stated = own.matches(" faster").count();
        let shown = printed_verdicts(text, arm)
            .iter()
            .filter(|v| **v == "faster")
            .count();
        prop_assert_eq!(stated, shown, "{}\n{}", sentence, text);
        let baseline = network
            .arms
            .iter()
            .find(|a| a.role == Role::Baseline)
            .unwrap();
        let taken = network.arms.iter().find(|a| a.name == arm).unwrap();
        prop_assert!(taken.cells.failed <= baseline.cells.failed);
    } else if sentence.starts_with("Stay with ") {
        prop_assert!(
            !anywhere("faster") && anywhere("slower"),
            "{sentence}\n{text}"
        );
    } else if sentence.starts_with("No overall winner") {
        prop_assert!(anywhere("faster"), "{sentence}\n{text}");
    } else if sentence.starts_with("No difference") {
        let all = |arm: &ArmSummary| verdicts(arm).iter().all(|v| *v == Verdict::NoDifference);
        prop_assert!(
            arms().all(all) && !anywhere("cannot tell"),
            "{sentence}\n{text}"
        );
    } else if sentence.starts_with("Cannot tell") {
        prop_assert!(
            !anywhere("faster") && !anywhere("slower"),
            "{sentence}\n{text}"
        );
    } else {
        prop_assert!(sentence.starts_with("Do not use"), "{sentence}");
        let repeats = || network.arms.iter().filter(|arm| arm.role == Role::Repeat);
        let differs = |v: &Verdict| matches!(v, Verdict::Faster | Verdict::Slower);
        prop_assert!(repeats().any(|arm| verdicts(arm).iter().any(differs)));
    }
    Ok(())
}

fn any_arm(name: &'static str) -> impl Strategy<Value = Invented> {
    let speed = || prop_oneof![Just(1.0), 0.3f64..3.0, 0.97f64..1.03];
    let outcome = prop_oneof![
        12 => Just(None),
        1 => Just(Some(Outcome::Unsupported { reason: "invented".into() })),
        1 => Just(Some(Outcome::Failed { reason: "invented".into() })),
    ];
    let time_out_every = prop_oneof![4 => Just(0u32), 1 => 1u32..9];
    let h3 = any::<bool>();
    (
        speed(),
        speed(),
        speed(),
        0.0f64..0.5,
        outcome,
        time_out_every,
        h3,
    )
        .prop_map(
            move |(first, warm, bulk, noise, outcome, time_out_every, h3)| Invented {
                noise,
                outcome,
                time_out_every,
                congestion: if first < 1.0 { "bbr" } else { "cubic" },
                ..arm(
                    name,
                    if h3 { "h3" } else { "h2" },
                    300.0 * first,
                    100.0 * warm,
                    900.0 * bulk,
                )
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_sentence_never_contradicts_the_table(
        one in any_arm("one"),
        two in any_arm("two"),
        repeat_ms in prop_oneof![3 => Just(300.0), 1 => Just(500.0)],
        blocks in prop_oneof![1u32..6, 6u32..16],
        seed in any::<u32>(),
        changed in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let baseline = Invented { noise: 0.05, ..arm("base", "h2", 300.0, 100.0, 900.0) };
        let again = Invented {
            name: "base again", repeat: true, first_ms: repeat_ms, ..baseline.clone()
        };
        let arms = [baseline, again, one, two];
        let run = run(&arms, &["somewhere", "elsewhere"], blocks);
        let mut cells = cells(&run, &arms, u64::from(seed));
        // Some cells are missing and some noisy.
        for (i, at) in changed.iter().enumerate() {
            let at = at.index(cells.len());
            if i % 2 == 0 {
                cells.swap_remove(at);
            } else if cells[at].is_measured() {
                cells[at].outcome = Outcome::Noisy { reasons: vec!["invented".into()] };
            }
        }
        check(&RunData::new(run, cells).unwrap())?;
    }

    /// Shards in any split and order.
    #[test]
    fn any_split_gives_the_same_bytes(shard_of in prop::collection::vec(0usize..3, 120), rotate in 0usize..3) {
        let unsplit = data(&quickstart(), &["somewhere", "elsewhere"], 10, 1);
        let mut shards: Vec<RunData> = (0..3)
            .map(|k| {
                let mine = unsplit.cells().iter().zip(&shard_of).filter(|(_, s)| **s == k);
                RunData::new(unsplit.run().clone(), mine.map(|(c, _)| c.clone()).collect()).unwrap()
            })
            .collect();
        shards.rotate_left(rotate);
        let merged = record::merge(shards).unwrap();
        let (one, other) = (summarise(&unsplit), summarise(&merged));
        prop_assert_eq!(report::json(&one), report::json(&other));
        prop_assert_eq!(human(&one, 100, true), human(&other, 100, true));
        prop_assert_eq!(report::csv(&unsplit), report::csv(&merged));
        prop_assert_eq!(report::html(&one, &unsplit), report::html(&other, &merged));
    }
}

/// With equal arms and no margin, one report of twenty may find a difference: of 200 reports that
/// is 10, with a standard deviation of 3.1. The limit is four of those above. Without the correction
/// for many comparisons it would be about 25.
#[test]
fn equal_arms_rarely_differ() {
    let same = |name| Invented {
        noise: 0.3,
        ..arm(name, "h2", 300.0, 100.0, 900.0)
    };
    let arms = [same("base"), same("one"), same("two")];
    let finds_difference = |seed| {
        let mut run = run(&arms, &["somewhere"], 16);
        run.margin_ns = Some(0);
        let cells = cells(&run, &arms, seed);
        let summary = summarise(&RunData::new(run, cells).unwrap());
        let network = &summary.networks[0];
        let undecided = network.sentence.starts_with("Cannot tell")
            || network.sentence.starts_with("No difference");
        assert_eq!(
            undecided,
            matches!(network.advice, Advice::CannotTell | Advice::NoDifference)
        );
        !undecided
    };
    let false_positives = (0..200).filter(|&seed| finds_difference(seed)).count();
    assert!(
        (1..=22).contains(&false_positives),
        "{false_positives} of 200 reports found a difference"
    );
}

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
    assert!(!text.contains("Take "), "{text}");
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

#[test]
fn less_reliable_arm_is_not_recommended() {
    let mut arms = quickstart();
    arms[2].time_out_every = 9;
    let summary = summarise(&data(&arms, &["true-metro"], 10, 1));
    let sentence = &summary.networks[0].sentence;
    assert_eq!(summary.networks[0].advice, Advice::Mixed);
    assert!(
        sentence.contains("10 of 160 requests failed or timed out"),
        "{sentence}"
    );
}

#[test]
fn median_of_timeouts_is_a_lower_bound() {
    let mut arms = quickstart();
    arms[2].time_out_every = 1;
    let text = human(&summarise(&data(&arms, &["true-metro"], 10, 1)), 160, false);
    assert!(text.contains("≥ 10 s"), "{text}");
    assert!(
        text.contains("first request: 30 of 30 requests timed out"),
        "{text}"
    );
}

#[test]
fn early_failures_are_not_fast() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for call in cells
        .iter_mut()
        .filter(|c| c.arm == "quinn h3")
        .flat_map(|c| &mut c.calls)
    {
        call.end_ns = 1_000_000;
        call.result = record::CallResult::Error {
            kind: "refused".into(),
            detail: "invented".into(),
        };
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let text = human(&summarise(&data), 160, false);
    assert!(text.contains("Stay with hyper h2"), "{text}");
    assert!(
        text.contains("first request: 30 of 30 requests failed"),
        "{text}"
    );
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

/// An arm whose slow cells were all noisy must not gain from repeating them.
#[test]
fn verdict_that_depends_on_repeated_cells_says_so() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = Vec::new();
    for cell in unsplit.cells() {
        if cell.arm == "quinn h3" && cell.block < 3 {
            let mut first = cell.clone();
            first.outcome = Outcome::Noisy {
                reasons: vec!["invented".into()],
            };
            first.calls.iter_mut().for_each(|call| call.end_ns *= 4);
            let mut again = cell.clone();
            again.attempt = 2;
            cells.extend([first, again]);
        } else {
            cells.push(cell.clone());
        }
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    assert!(
        summary.networks[0]
            .sentence
            .contains("with noisy cells included: cannot tell")
    );
    assert_eq!(summary.cells.clean_on_retry, 3);
}

/// Without a clean cell there is no verdict, but the noisy ones are still reported.
#[test]
fn noisy_cells_are_reported_without_a_clean_one() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|cell| cell.is_measured()) {
        cell.outcome = Outcome::Noisy {
            reasons: vec!["steal 9 % (invented)".into()],
        };
    }
    let text = human(
        &summarise(&RunData::new(unsplit.run().clone(), cells).unwrap()),
        120,
        false,
    );
    for line in [
        "Cannot tell: no block has clean cells of both hyper h2 and another arm.",
        "10 noisy in every attempt, e.g.: steal 9 % (invented)",
        "first request: no block is clean; faster with noisy cells included",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn names_cannot_control_the_terminal() {
    let mut arms = quickstart();
    arms[2].name = "evil\u{1b}[2J\r\u{202e}arm";
    let text = human(&summarise(&data(&arms, &["true-metro"], 10, 1)), 100, false);
    assert!(!text.contains('\u{1b}') && !text.contains('\r') && !text.contains('\u{202e}'));
}
