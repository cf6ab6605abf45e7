//! Arms without a usable cell: what cannot be answered is said, with its reason.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{Invented, data, quickstart};
use record::{CallResult, Cell, Outcome, RunData};
use report::{AaCheck, Advice, Summary, brief, human, summarise};

const REFUSED: &str = "its proof failed (invented)";

/// Returns a summary in which every cell of these arms ended so, without a request.
fn with_outcome(arms: &[Invented], of: &[&str], outcome: &Outcome) -> Summary {
    let unsplit = data(arms, &["true-metro", "4g-tether"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|c| of.contains(&c.arm.as_str())) {
        cell.calls.clear();
        cell.outcome = outcome.clone();
    }
    summarise(&RunData::new(unsplit.run().clone(), cells).unwrap())
}

fn failed() -> Outcome {
    let reason = REFUSED.into();
    Outcome::Failed { reason }
}

fn unsupported() -> Outcome {
    let reason = "not installed (invented)".into();
    Outcome::Unsupported { reason }
}

#[test]
fn baseline_without_a_cell_gives_no_answer() {
    for (outcome, what) in [
        (failed(), "failed: its proof failed (invented)"),
        (unsupported(), "are unsupported: not installed (invented)"),
    ] {
        let summary = with_outcome(&quickstart(), &["hyper h2"], &outcome);
        let expected = format!("No answer: all 10 cells of hyper h2 {what}.");
        assert_eq!(summary.answer, expected);
        for network in &summary.networks {
            assert_eq!(network.advice, Advice::Invalid);
            assert_eq!(network.sentence, expected);
        }
        assert_eq!(summary.invalid.len(), 2, "{:?}", summary.invalid);
        // The answer says it already.
        let text = human(&summary, 160, false);
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn arm_without_a_cell_is_invalid_beside_an_answer() {
    let summary = with_outcome(&quickstart(), &["libcurl h1"], &failed());
    assert_eq!(
        summary.invalid[0],
        "true-metro: all 10 cells of libcurl h1 failed: its proof failed (invented)"
    );
    assert_eq!(
        summary.answer,
        "Use quinn h3 on both networks. Not measured (unsupported here): libcurl h3."
    );
    let network = &summary.networks[0];
    assert!(
        !network.sentence.contains("libcurl h1"),
        "{}",
        network.sentence
    );
    let text = human(&summary, 160, false);
    assert!(
        text.starts_with("INVALID: true-metro: all 10 cells"),
        "{text}"
    );
}

#[test]
fn unsupported_arm_beside_others_is_only_named() {
    let summary = with_outcome(&quickstart(), &["libcurl h1"], &unsupported());
    assert!(summary.invalid.is_empty(), "{:?}", summary.invalid);
    assert_eq!(
        summary.answer,
        "Use quinn h3 on both networks. Not measured (unsupported here): libcurl h1, libcurl h3."
    );
}

#[test]
fn nothing_but_the_baseline_is_no_answer() {
    let mut arms = quickstart();
    arms.truncate(3);
    let summary = with_outcome(&arms, &["quinn h3"], &unsupported());
    assert_eq!(
        summary.answer,
        "No answer: all 10 cells of quinn h3 are unsupported: not installed (invented)."
    );
    assert_eq!(summary.invalid.len(), 2);
}

/// Returns a summary in which these arms timed out in their first two cells on one network, and were given up.
fn with_given_up(of: &[&str]) -> Summary {
    given_up_on(&["true-metro"], &quickstart(), of)
}

fn given_up_on(networks: &[&str], arms: &[Invented], of: &[&str]) -> Summary {
    let unsplit = data(arms, &["true-metro", "4g-tether"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    let is_of = |cell: &&mut Cell| {
        of.contains(&cell.arm.as_str()) && networks.contains(&cell.network.as_str())
    };
    for cell in cells.iter_mut().filter(is_of) {
        if cell.block < 2 {
            for call in &mut cell.calls {
                call.result = CallResult::TimedOut;
                call.end_ns = 30_000_000_000;
            }
        } else {
            cell.calls.clear();
            let reason = "all 32 requests timed out (invented)".into();
            cell.outcome = Outcome::GivenUp { reason };
        }
    }
    summarise(&RunData::new(unsplit.run().clone(), cells).unwrap())
}

#[test]
fn arm_that_was_given_up_is_named_and_not_judged() {
    let all = summarise(&data(&quickstart(), &["true-metro", "4g-tether"], 10, 1));
    let summary = with_given_up(&["libcurl h1"]);
    assert!(summary.invalid.is_empty(), "{:?}", summary.invalid);
    assert_eq!(
        summary.answer,
        "Use quinn h3 on both networks. Not measured (unsupported here): libcurl h3. Given up after all requests of \
         the first cells timed out: libcurl h1 on true-metro."
    );
    let arm = |network: usize| {
        let mut arms = summary.networks[network].arms.iter();
        arms.find(|arm| arm.name == "libcurl h1").unwrap()
    };
    assert_eq!(arm(0).cells.given_up, 8);
    assert_eq!(arm(0).comparisons().count(), 0);
    assert_eq!(arm(1).comparisons().count(), 4);
    assert_eq!(summary.comparisons.all, all.comparisons.all - 4);
    let text = human(&summary, 160, false);
    for words in [
        "8 given up: all 32 requests timed out (invented)",
        ", 8 given up",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// That HTTP/3 never gets a response on a network is an answer, and no fault of the run.
#[test]
fn baseline_is_advised_if_every_other_arm_was_given_up() {
    let summary = with_given_up(&["quinn h3", "libcurl h1", "libcurl h2"]);
    assert!(summary.invalid.is_empty(), "{:?}", summary.invalid);
    let network = &summary.networks[0];
    assert_eq!(network.advice, Advice::Stay);
    let start = "Use hyper h2: no other arm has results. 8 of 10 cells of quinn h3 were given up: all 32 requests \
                 timed out (invented). ";
    assert!(network.sentence.starts_with(start), "{}", network.sentence);
    let text = brief(&summary, 80, false);
    for words in [
        "true-metro   use hyper h2: no other arm has results\n",
        "\n  true-metro  hyper h2 ",
        "\nGiven up on true-metro: quinn h3, libcurl h1, libcurl h2 (all requests of the",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Returns arms among which only quinn h3 differs from the baseline: it is faster.
fn only_quinn_differs() -> Vec<Invented> {
    let mut arms = quickstart();
    arms.truncate(3);
    let equal = Invented {
        name: "libcurl h2",
        ..arms[0].clone()
    };
    arms.push(equal);
    arms
}

/// An arm that was given up on one network is not advised for both, however fast it is on the other.
#[test]
fn given_up_arm_is_not_recommended_where_the_others_are_equal() {
    let summary = given_up_on(&["true-metro"], &only_quinn_differs(), &["quinn h3"]);
    let advice: Vec<&Advice> = summary.networks.iter().map(|n| &n.advice).collect();
    let arms = vec!["quinn h3".to_owned()];
    assert_eq!(advice, [&Advice::Stay, &Advice::Use { arms }]);
    assert!(
        summary.answer.starts_with("It depends on the "),
        "{}",
        summary.answer
    );
    let text = brief(&summary, 160, false);
    for words in [
        "  true-metro   use hyper h2: no arm is faster\n",
        "  true-metro  hyper h2 +1          hyper h2 +1    hyper h2 +1\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Nor is an arm that is unsupported on one of them.
#[test]
fn arm_without_results_is_not_recommended_where_the_others_are_equal() {
    let unsplit = data(&only_quinn_differs(), &["true-metro", "4g-tether"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    let is_of = |cell: &&mut Cell| cell.arm == "quinn h3" && cell.network == "true-metro";
    for cell in cells.iter_mut().filter(is_of) {
        cell.calls.clear();
        cell.outcome = unsupported();
    }
    let summary = summarise(&RunData::new(unsplit.run().clone(), cells).unwrap());
    assert_eq!(summary.networks[0].advice, Advice::NoDifference);
    assert!(
        summary.answer.starts_with("It depends on the "),
        "{}",
        summary.answer
    );
}

/// A copy without a response differs from a baseline with responses.
#[test]
fn given_up_copy_fails_the_a_a_check() {
    let copy = "hyper h2 again";
    let found =
        "8 of 10 cells of hyper h2 again were given up: all 32 requests timed out (invented)";
    for networks in [&["true-metro"][..], &["true-metro", "4g-tether"]] {
        let summary = given_up_on(networks, &quickstart(), &[copy]);
        let objections = networks.iter().map(|network| format!("{network}: {found}"));
        let objections = objections.collect();
        assert_eq!(summary.a_a, AaCheck::Failed { objections });
        assert_eq!(summary.networks[0].advice, Advice::Invalid);
        let sentence = &summary.networks[0].sentence;
        assert!(sentence.contains(found), "{sentence}");
    }
    // Without a baseline to compare with, nothing is said of its copy.
    let both = given_up_on(&["true-metro"], &quickstart(), &["hyper h2", copy]);
    assert_eq!(both.a_a, AaCheck::Passed);
}

#[test]
fn given_up_baseline_gives_no_answer() {
    let summary = with_given_up(&["hyper h2"]);
    let reason =
        "No answer: 8 of 10 cells of hyper h2 were given up: all 32 requests timed out (invented).";
    assert_eq!(summary.networks[0].sentence, reason);
    assert_eq!(summary.networks[0].advice, Advice::Invalid);
    assert!(
        summary.answer.starts_with("Use quinn h3 on 4g-tether."),
        "{}",
        summary.answer
    );
}

#[test]
fn many_reasons_are_cut_short() {
    let rivals = ["quinn h3", "libcurl h1", "libcurl h2", "libcurl h3"];
    let summary = with_outcome(&quickstart(), &rivals, &failed());
    assert_eq!(
        summary.answer,
        "No answer: all 10 cells of quinn h3 failed: its proof failed (invented); all 10 cells of \
         libcurl h1 failed: its proof failed (invented); no cell of 2 other arms was measured."
    );
}

/// A run that was stopped says how far it came.
#[test]
fn cells_that_were_not_run_do_not_count() {
    let unsplit = data(&quickstart(), &["true-metro"], 6, 1);
    let mut cells = unsplit.cells().to_vec();
    cells.retain(|cell| cell.block < 1);
    for cell in cells.iter_mut().filter(|c| c.arm == "hyper h2") {
        cell.calls.clear();
        cell.outcome = failed();
    }
    let summary = summarise(&RunData::new(unsplit.run().clone(), cells).unwrap());
    assert_eq!(
        summary.answer,
        "No answer: 1 of 6 cells of hyper h2 failed: its proof failed (invented)."
    );
}
