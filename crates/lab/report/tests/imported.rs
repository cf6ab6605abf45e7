//! Reports of imported requests, which have no plan: a group may lack first requests, or warm ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{Invented, arm, data};
use record::RunData;
use report::{Advice, Summary};

/// Returns a run with only the warm requests of one group.
fn imported(arms: &[Invented], networks: &[&str], blocks: u32) -> RunData {
    let invented = data(arms, networks, blocks, 1);
    let mut run = invented.run().clone();
    run.calls.clear();
    run.groups.retain(|group| group.name == "echo");
    run.settings = record::Settings::default();
    run.host = record::Host::default();
    let mut cells = invented.cells().to_vec();
    for cell in &mut cells {
        cell.calls
            .retain(|call| call.group == "echo" && !call.first);
    }
    RunData::new(run, cells).unwrap()
}

fn report(arms: &[Invented], networks: &[&str], blocks: u32) -> (Summary, String) {
    let data = imported(arms, networks, blocks);
    let summary = report::summarise(&data);
    let page = report::html(&summary, &data);
    (summary, page)
}

fn base() -> Invented {
    arm("base", "h2", 300.0, 100.0, 1.0)
}

#[test]
fn nothing_is_said_of_requests_that_were_not_made() {
    let (summary, page) = report(&[base(), arm("same", "h3", 300.0, 100.0, 1.0)], &["n"], 10);
    let network = &summary.networks[0];
    assert_eq!(network.advice, Advice::NoDifference);
    let sentence = &network.sentence;
    assert!(
        sentence.starts_with("No difference from base: warm requests within "),
        "{sentence}"
    );
    assert!(page.contains("no such request"), "{page}");
    assert!(!page.contains("no clean cell"), "{page}");
}

#[test]
fn nothing_is_said_of_machine_and_seed() {
    let (summary, page) = report(&[base(), arm("same", "h3", 300.0, 100.0, 1.0)], &["n"], 10);
    assert!(!page.contains("Processor"), "{page}");
    let notes = summary.notes.join(" ");
    assert!(!notes.contains("seed"), "{notes}");
}

#[test]
fn nothing_depends_on_the_request_where_there_is_one_kind() {
    let wild = Invented {
        noise: 0.4,
        ..arm("wild", "h3", 300.0, 100.0, 1.0)
    };
    let arms = [base(), arm("slow", "h1", 300.0, 150.0, 1.0), wild];
    let (summary, _) = report(&arms, &["n"], 10);
    let network = &summary.networks[0];
    assert_eq!(network.advice, Advice::ByNeed);
    let answer = "Warm requests: base (undecided: wild).";
    assert!(network.sentence.starts_with(answer), "{}", network.sentence);
    assert!(summary.answer.starts_with(answer), "{}", summary.answer);
}

#[test]
fn few_blocks_are_not_said_to_be_nearly_enough() {
    let arms = [base(), arm("fast", "h3", 300.0, 50.0, 1.0)];
    let (_, page) = report(&arms, &["n"], 3);
    assert!(page.contains("verdicts need at least 6 blocks"), "{page}");
    assert!(!page.contains("would probably decide it"), "{page}");
}
