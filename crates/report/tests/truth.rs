//! The sentence never says what the table does not show, whatever was measured.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{Invented, arm, cells, data, quickstart, run};
use proptest::prelude::*;
use record::{Outcome, RunData};
use report::{AaCheck, Advice, ArmSummary, NetworkSummary, Role, human, summarise};
use stats::Verdict;

/// Verdict words of an arm as the printed table shows them, in the order of its measures.
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

/// The same from the summary.
fn verdicts(arm: &ArmSummary) -> Vec<Verdict> {
    arm.comparisons().map(|(_, c)| c.verdict).collect()
}

/// Holds the sentence, as printed, against the table, as printed.
fn check(data: &RunData) -> Result<(), TestCaseError> {
    let summary = summarise(data);
    let broken = matches!(summary.a_a, AaCheck::Failed { .. });
    for network in &summary.networks {
        let mut alone = summary.clone();
        alone.networks = vec![network.clone()];
        let text = human(&alone, 2_000, false);
        prop_assert_eq!(text.starts_with("THE A/A CHECK FAILED"), broken);
        check_network(network, &text)?;
    }
    Ok(())
}

fn check_network(network: &NetworkSummary, text: &str) -> Result<(), TestCaseError> {
    let sentence = &network.sentence;
    prop_assert!(
        text.contains(sentence.as_str()),
        "the sentence is printed whole"
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
        // As often as the sentence says it, the table shows it.
        let own = sentence.split(". ").next().unwrap();
        let said = own.matches(" sooner").count() + own.matches("x faster").count();
        let shown = printed_verdicts(text, arm)
            .iter()
            .filter(|v| **v == "faster")
            .count();
        prop_assert_eq!(said, shown, "{}\n{}", sentence, text);
        let baseline = network
            .arms
            .iter()
            .find(|a| a.role == Role::Baseline)
            .unwrap();
        let (taken, ours) = (
            network.arms.iter().find(|a| a.name == arm).unwrap(),
            baseline,
        );
        prop_assert!(taken.cells.failed <= ours.cells.failed);
    } else if sentence.starts_with("Stay with ") {
        prop_assert!(
            !anywhere("faster") && anywhere("slower"),
            "{sentence}\n{text}"
        );
    } else if sentence.starts_with("No arm is better all round") {
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
        prop_assert!(sentence.starts_with("Do not act"), "{sentence}");
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
    let lost = prop_oneof![4 => Just(0u32), 1 => 1u32..9];
    let h3 = any::<bool>();
    (speed(), speed(), speed(), 0.0f64..0.5, outcome, lost, h3).prop_map(
        move |(first, rest, bulk, noise, outcome, time_out_every, h3)| Invented {
            noise,
            outcome,
            time_out_every,
            congestion: if first < 1.0 { "bbr" } else { "cubic" },
            ..arm(
                name,
                if h3 { "h3" } else { "h2" },
                300.0 * first,
                100.0 * rest,
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
        luck in any::<u32>(),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let baseline = Invented { noise: 0.05, ..arm("base", "h2", 300.0, 100.0, 900.0) };
        let again = Invented {
            name: "base again", repeat: true, first_ms: repeat_ms, ..baseline.clone()
        };
        let arms = [baseline, again, one, two];
        let run = run(&arms, &["somewhere", "elsewhere"], blocks);
        let mut cells = cells(&run, &arms, u64::from(luck));
        // Some cells are noisy and some missing, any of them.
        for (i, at) in lost.iter().enumerate() {
            let at = at.index(cells.len());
            if i % 2 == 0 {
                cells.swap_remove(at);
            } else if cells[at].is_measured() {
                cells[at].outcome = Outcome::Noisy { reasons: vec!["invented".into()] };
            }
        }
        check(&RunData::new(run, cells).unwrap())?;
    }

    /// However the records were cut into shards, and in whatever order they come.
    #[test]
    fn any_split_gives_the_same_bytes(shard_of in prop::collection::vec(0usize..3, 120), rotate in 0usize..3) {
        let whole = data(&quickstart(), &["somewhere", "elsewhere"], 10, 1);
        let mut shards: Vec<RunData> = (0..3)
            .map(|k| {
                let mine = whole.cells().iter().zip(&shard_of).filter(|(_, s)| **s == k);
                RunData::new(whole.run().clone(), mine.map(|(c, _)| c.clone()).collect()).unwrap()
            })
            .collect();
        shards.rotate_left(rotate);
        let merged = record::merge(shards).unwrap();
        let (one, other) = (summarise(&whole), summarise(&merged));
        prop_assert_eq!(report::json(&one), report::json(&other));
        prop_assert_eq!(human(&one, 100, true), human(&other, 100, true));
        prop_assert_eq!(report::csv(&whole), report::csv(&merged));
        prop_assert_eq!(report::html(&one, &whole), report::html(&other, &merged));
    }
}

/// Arms that are all the same, and no margin to hide behind: anything but "no difference" and
/// "cannot tell" may come in one report of twenty. Over 200 reports that is 10, standard
/// deviation 3.1; four of them. Without the correction for many comparisons it is about 25.
#[test]
fn on_a_against_a_the_report_is_modest() {
    let same = |name| Invented {
        noise: 0.3,
        ..arm(name, "h2", 300.0, 100.0, 900.0)
    };
    let arms = [same("base"), same("one"), same("two")];
    let modest = |luck| {
        let mut run = run(&arms, &["somewhere"], 16);
        run.margin_ns = Some(0);
        let cells = cells(&run, &arms, luck);
        let summary = summarise(&RunData::new(run, cells).unwrap());
        let network = &summary.networks[0];
        let told = network.sentence.starts_with("Cannot tell")
            || network.sentence.starts_with("No difference");
        assert_eq!(
            told,
            matches!(network.advice, Advice::CannotTell | Advice::NoDifference)
        );
        told
    };
    let bold = (0..200).filter(|&luck| !modest(luck)).count();
    assert!(
        (1..=22).contains(&bold),
        "{bold} of 200 reports found what is not there"
    );
}

#[test]
fn an_arm_that_spoke_something_else_says_so_in_the_sentence() {
    let whole = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = whole.cells().to_vec();
    for call in cells
        .iter_mut()
        .filter(|c| c.arm == "quinn h3")
        .flat_map(|c| &mut c.calls)
    {
        call.protocol = "h2".into();
    }
    let data = RunData::new(whole.run().clone(), cells).unwrap();
    let sentence = &summarise(&data).networks[0].sentence;
    assert!(
        sentence.contains("quinn h3 was to speak h3 and spoke h2."),
        "{sentence}"
    );
}

#[test]
fn a_failed_a_a_check_comes_first_and_forbids_advice() {
    let mut arms = quickstart();
    arms[1].first_ms *= 1.5;
    let data = data(&arms, &["true-metro"], 10, 1);
    let text = human(&summarise(&data), 100, false);
    assert!(text.starts_with("THE A/A CHECK FAILED"), "{text}");
    assert!(text.contains("Do not act on this network"), "{text}");
    assert!(!text.contains("Take "), "{text}");
}

#[test]
fn unlike_congestion_control_is_in_the_sentence() {
    let mut arms = quickstart();
    arms[2].congestion = "bbr";
    let summary = summarise(&data(&arms, &["true-metro"], 10, 1));
    let sentence = &summary.networks[0].sentence;
    assert!(
        sentence
            .contains("Mind: congestion control differs: bbr over QUIC against cubic over TCP."),
        "{sentence}"
    );
}

#[test]
fn an_arm_that_loses_calls_is_not_recommended() {
    let mut arms = quickstart();
    arms[2].time_out_every = 9;
    let summary = summarise(&data(&arms, &["true-metro"], 10, 1));
    let sentence = &summary.networks[0].sentence;
    assert_eq!(summary.networks[0].advice, Advice::Mixed);
    assert!(
        sentence.contains("10 of 160 calls failed or timed out"),
        "{sentence}"
    );
}

#[test]
fn a_median_of_time_outs_is_at_least() {
    let mut arms = quickstart();
    arms[2].time_out_every = 1;
    let text = human(&summarise(&data(&arms, &["true-metro"], 10, 1)), 160, false);
    assert!(text.contains("≥ 10 s"), "{text}");
    assert!(
        text.contains("first call: 30 of 30 calls timed out"),
        "{text}"
    );
}

#[test]
fn a_call_that_fails_at_once_is_not_quick() {
    let whole = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = whole.cells().to_vec();
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
    let data = RunData::new(whole.run().clone(), cells).unwrap();
    let text = human(&summarise(&data), 160, false);
    assert!(text.contains("Stay with hyper h2"), "{text}");
    assert!(text.contains("first call: 30 of 30 calls failed"), "{text}");
}

#[test]
fn weak_proof_is_told() {
    let whole = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = whole.cells().to_vec();
    for call in cells
        .iter_mut()
        .filter(|c| c.arm == "quinn h3")
        .flat_map(|c| &mut c.calls)
    {
        call.proof = record::Proof::Client;
    }
    let data = RunData::new(whole.run().clone(), cells).unwrap();
    let sentence = &summarise(&data).networks[0].sentence;
    assert!(
        sentence.contains("What quinn h3 spoke is only its own word."),
        "{sentence}"
    );
}

/// An arm that was noisy only when it did badly must not gain from being run again.
#[test]
fn a_verdict_that_hangs_on_run_again_cells_says_so() {
    let whole = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = Vec::new();
    for cell in whole.cells() {
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
    let data = RunData::new(whole.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    assert!(
        summary.networks[0]
            .sentence
            .contains("with noisy cells: cannot tell")
    );
    assert_eq!(summary.cells.rerun, 3);
}

/// On a noisy machine nothing may be clean; then nothing is concluded, and nothing is hidden.
#[test]
fn without_a_clean_cell_the_disturbed_ones_are_still_told() {
    let whole = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = whole.cells().to_vec();
    for cell in cells.iter_mut().filter(|cell| cell.is_measured()) {
        cell.outcome = Outcome::Noisy {
            reasons: vec!["steal 9 % (invented)".into()],
        };
    }
    let text = human(
        &summarise(&RunData::new(whole.run().clone(), cells).unwrap()),
        120,
        false,
    );
    for told in [
        "Cannot tell: no block has clean cells of both hyper h2 and another arm.",
        "10 noisy to the last attempt, as by: steal 9 % (invented)",
        "first call: faster with noisy cells, and no block is clean",
    ] {
        assert!(text.contains(told), "{told}\n{text}");
    }
}

#[test]
fn names_cannot_command_the_terminal() {
    let mut arms = quickstart();
    arms[2].name = "evil\u{1b}[2J\r\u{202e}arm";
    let text = human(&summarise(&data(&arms, &["true-metro"], 10, 1)), 100, false);
    assert!(!text.contains('\u{1b}') && !text.contains('\r') && !text.contains('\u{202e}'));
}
