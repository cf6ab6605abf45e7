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
                [
                    "not slower",
                    "not faster",
                    "faster",
                    "slower",
                    "no difference",
                    "cannot tell",
                ]
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
    let is_usable = |arm: &&ArmSummary| arm.first_attempts.measured > 0;
    let all_arms = || network.arms.iter().filter(|arm| arm.role == Role::Arm);
    let arms = || all_arms().filter(is_usable);
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
        let any_given_up = all_arms().any(|arm| arm.cells.given_up > 0);
        let is_alone = sentence.contains("no other arm has results") && arms().next().is_none();
        let is_reason = is_alone || any_given_up || arms().any(loses);
        prop_assert!(is_reason, "{sentence}\n{text}");
    } else if network.advice == Advice::ByNeed {
        let depends = sentence.starts_with("It depends on the request");
        prop_assert_eq!(depends, network.needs.len() > 1, "{}", sentence);
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
    } else if sentence.starts_with("No answer") {
        let baseline = network.arms.iter().find(|arm| arm.role == Role::Baseline);
        let has_baseline = baseline.is_some_and(|arm| is_usable(&arm));
        prop_assert!(!has_baseline || arms().next().is_none(), "{sentence}");
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
        1 => Just(Some(Outcome::GivenUp { reason: "invented".into() })),
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
