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
                    .find(|words| cell.ends_with(words)),
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
    let rest = sentence.strip_prefix("Use ");
    if let (Advice::Use { arms }, Some(rest)) = (&network.advice, rest) {
        prop_assert!(rest.starts_with(&arms.join(" or ")), "{sentence}");
        for arm in arms {
            prop_assert!(shows(arm, "faster"), "{sentence}\n{text}");
            let used = network.arms.iter().find(|a| a.name == *arm).unwrap();
            for (measure, comparison) in used.comparisons().filter(|(m, _)| m.decisive) {
                let verdict = comparison.verdict;
                use Verdict::{Faster, NoDifference, NotSlower};
                let settled = matches!(verdict, Faster | NoDifference | NotSlower);
                prop_assert!(settled, "{}: {verdict:?}: {sentence}", measure.label);
            }
        }
    } else if sentence.starts_with("Use ") {
        prop_assert_eq!(&network.advice, &Advice::Stay);
        let decisive = |arm: &ArmSummary, wanted: Verdict| {
            arm.comparisons()
                .any(|(m, c)| m.decisive && c.verdict == wanted)
        };
        prop_assert!(
            !arms().any(|arm| decisive(arm, Verdict::Faster)),
            "{sentence}\n{text}"
        );
        let loses = |arm| decisive(arm, Verdict::Slower) || decisive(arm, Verdict::NotFaster);
        prop_assert!(arms().any(loses), "{sentence}\n{text}");
    } else if sentence.starts_with("It depends on the need") {
        for need in &network.needs {
            prop_assert!(sentence.contains(&need.label[1..]), "{sentence}");
            for arm in need
                .best
                .iter()
                .filter(|arm| arms().any(|a| a.name == **arm))
            {
                prop_assert!(
                    !shows(arm, "slower") || network.needs.len() > 1,
                    "{sentence}"
                );
            }
        }
    } else if sentence.starts_with("No difference") {
        let all = |arm: &ArmSummary| {
            let mut decisive = arm.comparisons().filter(|(m, _)| m.decisive);
            decisive.all(|(_, c)| c.verdict == Verdict::NoDifference)
        };
        prop_assert!(arms().all(all), "{sentence}\n{text}");
    } else if sentence.starts_with("Cannot tell") {
        let decided = |arm: &ArmSummary| {
            arm.comparisons()
                .any(|(m, c)| m.decisive && c.verdict.is_decided())
        };
        prop_assert!(!arms().any(decided), "{sentence}\n{text}");
    } else {
        prop_assert!(sentence.starts_with("Do not use"), "{sentence}");
        let repeats = || network.arms.iter().filter(|arm| arm.role == Role::Repeat);
        let differs = |v: &Verdict| matches!(v, Verdict::Faster | Verdict::Slower);
        let failed = sentence.contains("requests of base failed");
        prop_assert!(failed || repeats().any(|arm| verdicts(arm).iter().any(differs)));
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

/// A cell whose driver died is a result: its calls count as at least the timeout.
#[test]
fn failed_cells_are_censored_and_not_dropped() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|c| c.arm == "quinn h3") {
        cell.calls.clear();
        cell.outcome = Outcome::Failed {
            reason: "the driver died (invented)".into(),
        };
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let arm = &summarise(&data).networks[0].arms[2];
    let time = arm.measures[0].time.as_ref().unwrap();
    assert_eq!((time.blocks, time.bound), (10, report::Bound::AtLeast));
    assert_eq!(
        arm.measures[0].comparison.as_ref().unwrap().verdict,
        Verdict::Slower
    );
}

/// Pairing request by request removes what the requests have in common, e.g. the same losses at the
/// same request of every block.
#[test]
fn blocks_are_paired_request_by_request() {
    let mut arms = quickstart();
    arms.truncate(3);
    arms[2].warm_ms = arms[0].warm_ms;
    let unsplit = data(&arms, &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in &mut cells {
        for call in &mut cell.calls {
            let shared = 1_000_000 * u64::from((call.id * 7 + cell.block * 13) % 40) * 10;
            let own = if cell.arm == "quinn h3" {
                10_000_000
            } else {
                0
            };
            call.end_ns = 133_000_000 + shared + own;
        }
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let arm = &summarise(&data).networks[0].arms[2];
    let warm = arm
        .measures
        .iter()
        .find(|m| m.label == "warm requests")
        .unwrap();
    let difference = &warm.comparison.as_ref().unwrap().difference;
    assert_eq!((difference.low, difference.high), (Some(10e6), Some(10e6)));
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
    let summary = summarise(&data);
    let text = human(&summary, 160, false);
    assert_eq!(
        summary.invalid,
        ["true-metro: 160 of 160 requests of quinn h3 failed (refused: invented)"]
    );
    assert!(
        text.starts_with("INVALID: true-metro: 160 of 160"),
        "{text}"
    );
    let quinn = &summary.networks[0].arms[2];
    assert!(
        quinn
            .comparisons()
            .all(|(_, c)| c.verdict != Verdict::Faster)
    );
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

/// An arm whose slow cells were all noisy must not gain from repeating them: the first attempts
/// count, and the report says what clean cells alone would.
#[test]
fn first_attempts_count_and_clean_cells_are_shown_beside_them() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = Vec::new();
    for cell in unsplit.cells() {
        if cell.arm == "quinn h3" && cell.block < 6 {
            let mut first = cell.clone();
            first.outcome = Outcome::Noisy {
                reasons: vec!["invented".into()],
            };
            first.calls.iter_mut().for_each(|call| call.end_ns *= 4);
            cells.push(first);
        } else {
            cells.push(cell.clone());
        }
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    let comparison = summary.networks[0].arms[2].measures[0]
        .comparison
        .as_ref()
        .unwrap();
    assert_eq!(comparison.difference.blocks, 10);
    assert_ne!(comparison.verdict, Verdict::Faster);
    // Four blocks are clean.
    assert!(matches!(
        comparison.clean_only,
        Some(Verdict::CannotTell { blocks: 4, .. })
    ));
}

/// Noise outside a cell is no reason to lose it.
#[test]
fn noisy_cells_give_verdicts_without_a_clean_one() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|cell| cell.is_measured()) {
        cell.outcome = Outcome::Noisy {
            reasons: vec!["steal 9 % (invented)".into()],
        };
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let text = human(&summarise(&data), 120, false);
    assert!(text.starts_with("Use quinn h3 on true-metro."), "{text}");
    let noisy = "10 noisy in every attempt, e.g.: steal 9 % (invented)";
    assert!(text.contains(noisy), "{text}");
}

/// A copy of the baseline passes only where a difference could have been found.
#[test]
fn a_a_check_of_few_blocks_is_inconclusive() {
    let few = summarise(&data(&quickstart(), &["true-metro"], 3, 1));
    assert!(
        matches!(few.a_a, AaCheck::Inconclusive { .. }),
        "{:?}",
        few.a_a
    );
    let enough = summarise(&data(&quickstart(), &["true-metro"], 10, 1));
    assert_eq!(enough.a_a, AaCheck::Passed);
}

#[test]
fn names_cannot_control_the_terminal() {
    let mut arms = quickstart();
    arms[2].name = "evil\u{1b}[2J\r\u{202e}arm";
    let text = human(&summarise(&data(&arms, &["true-metro"], 10, 1)), 100, false);
    assert!(!text.contains('\u{1b}') && !text.contains('\r') && !text.contains('\u{202e}'));
}
