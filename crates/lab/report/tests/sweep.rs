//! A sweep has a table, a figure and a sentence for each arm.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Level, RunData};

const NETWORKS: [&str; 2] = ["metro loss-down=0%", "metro loss-down=5%"];

fn swept() -> RunData {
    along("loss-down", ["0%", "5%"])
}

fn along(setting: &str, values: [&str; 2]) -> RunData {
    let data = data(&quickstart(), &NETWORKS, 8, 1);
    let mut header = data.run().clone();
    for (network, value) in header.networks.iter_mut().zip(values) {
        network.base = Some("metro".into());
        network.levels = vec![Level {
            setting: setting.into(),
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

/// Servers have no order, so that nothing holds "from" one of them on.
#[test]
fn names_are_told_apart_and_not_ordered() {
    let mut data = along("server", ["commute", "go"]);
    let text = report::human(&report::summarise(&data), 100, false);
    assert!(
        text.contains("quinn h3: faster with every server."),
        "{text}"
    );
    let mut cells = data.cells().to_vec();
    let of_go = cells.iter_mut().filter(|cell| cell.network == NETWORKS[1]);
    for call in of_go
        .filter(|cell| cell.arm == "quinn h3")
        .flat_map(|cell| &mut cell.calls)
    {
        call.end_ns *= 3;
    }
    data = RunData::new(data.run().clone(), cells).unwrap();
    let text = report::human(&report::summarise(&data), 400, false);
    let words = "quinn h3: depends on the server: ";
    let line = text.lines().find(|line| line.contains(words)).unwrap();
    assert!(line.contains("ms faster (commute), "), "{line}");
    assert!(line.contains("ms slower (go)"), "{line}");
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
