//! A sweep has a table, a figure and a sentence for each arm.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Level, RunData};

const NETWORKS: [&str; 2] = ["metro loss-down=0%", "metro loss-down=5%"];

fn swept() -> RunData {
    let data = data(&quickstart(), &NETWORKS, 8, 1);
    let mut header = data.run().clone();
    for (network, value) in header.networks.iter_mut().zip(["0%", "5%"]) {
        network.base = Some("metro".into());
        network.levels = vec![Level {
            setting: "loss-down".into(),
            value: value.into(),
        }];
    }
    RunData::new(header, data.cells().to_vec()).unwrap()
}

#[test]
fn the_terminal_says_from_which_level_on() {
    let data = swept();
    let text = report::human(&report::summarise(&data), 100, false);
    assert!(text.contains("along loss-down: 0%, 5%"), "{text}");
    assert!(text.contains("quinn h3: faster at every level."), "{text}");
    assert!(
        text.contains("libcurl h1: slower at every level."),
        "{text}"
    );
}

#[test]
fn the_page_has_a_table_and_a_figure() {
    let data = swept();
    let page = report::html(&report::summarise(&data), &data);
    assert!(page.contains("Along the swept settings"));
    assert!(page.contains("<figcaption>metro, first request, along loss-down</figcaption>"));
}

#[test]
fn without_a_sweep_there_is_nothing_of_it() {
    let data = data(&quickstart(), &NETWORKS, 8, 1);
    let summary = report::summarise(&data);
    assert!(summary.sweeps.is_empty());
    assert!(!report::html(&summary, &data).contains("swept"));
}
