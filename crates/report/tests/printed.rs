//! The printed formats against golden files: the terminal's report, CSV and the schema. All figures
//! are invented.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::path::Path;

use invented::{data, exchanging, quickstart};
use record::{CallResult, Outcome, RunData};

fn golden(file: &str, actual: &str) {
    testing::golden(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), actual);
}

/// Returns a run with three noisy cells, of which two were clean on retry.
fn run_with_noise() -> RunData {
    let data = data(&quickstart(), &["true-metro", "4g-tether"], 10, 1);
    let mut cells = Vec::new();
    for cell in data.cells() {
        if ["n0-b3-a2", "n1-b4-a0", "n1-b5-a3"].contains(&cell.id.as_str()) {
            let mut noisy = cell.clone();
            noisy.outcome = Outcome::Noisy {
                reasons: vec!["steal 3 % (invented)".into()],
            };
            cells.push(noisy);
            if cell.id != "n1-b5-a3" {
                let mut again = cell.clone();
                again.attempt = 2;
                cells.push(again);
            }
        } else {
            cells.push(cell.clone());
        }
    }
    RunData::new(data.run().clone(), cells).unwrap()
}

#[test]
fn terminal_report() {
    let summary = report::summarise(&run_with_noise());
    golden(
        "tests/golden/human-100.txt",
        &report::human(&summary, 100, false),
    );
    golden(
        "tests/golden/human-160.txt",
        &report::human(&summary, 160, false),
    );
}

#[test]
fn markdown_report() {
    let data = run_with_noise();
    let summary = report::summarise(&data);
    golden("tests/golden/report.md", &report::markdown(&summary, &data));
}

#[test]
fn terminal_report_of_two_blocks() {
    let summary = report::summarise(&data(&quickstart(), &["true-metro"], 2, 1));
    golden(
        "tests/golden/human-two-blocks.txt",
        &report::human(&summary, 100, false),
    );
}

#[test]
fn terminal_report_of_exchanges() {
    let data = exchanging(&data(&quickstart(), &["true-metro"], 10, 1));
    let summary = report::summarise(&data);
    golden(
        "tests/golden/human-exchanges.txt",
        &report::human(&summary, 100, false),
    );
    let measures = summary.networks.iter().flat_map(|n| &n.arms);
    let phases: Vec<_> = measures
        .flat_map(|arm| &arm.measures)
        .filter_map(|measure| measure.phases.as_ref())
        .collect();
    // First and warm requests of every arm but the one that was not measured.
    assert_eq!(phases.len(), 2 * (quickstart().len() - 1));
    for p in phases {
        let sum = p.create_ns.mean + p.encode_ns.mean + p.transport_ns.mean + p.decode_ns.mean;
        assert!((sum - p.total_ns.mean).abs() < 1e-3, "{p:?}");
        assert!(p.server_decode_ns.mean + p.server_encode_ns.mean < p.transport_ns.mean);
        assert!(p.total_ns.min <= p.total_ns.mean && p.total_ns.mean <= p.total_ns.max);
    }
}

#[test]
fn errors_connections_and_ip_versions_are_shown() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|cell| cell.arm == "quinn h3") {
        cell.connections[0].ip_version = Some(6);
        if cell.block < 3 {
            let again = cell.connections[0].clone();
            cell.connections.push(again);
        }
        for (id, detail) in [(0, "status 503"), (5, "gone (invented)")] {
            let kind = if id == 0 { "status" } else { "reset" };
            cell.calls[id].result = CallResult::Error {
                kind: kind.into(),
                detail: detail.into(),
            };
        }
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let summary = report::summarise(&data);
    let quinn = &summary.networks[0].arms[2];
    let connections = quinn.connections.unwrap();
    assert_eq!((connections.fewest, connections.most), (1, 2));
    assert_eq!(
        (connections.median, quinn.ip_versions.as_slice()),
        (1.0, &[6][..])
    );
    let text = report::human(&summary, 400, false);
    for shown in [
        "1 to 2 (median 1) · v6",
        "first request: 20 of 30 requests failed (counted as at least the timeout): 10 reset: gone \
         (invented), 10 status 503",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let page = report::html(&summary, &data);
    assert!(page.contains("<td>1 to 2 (median 1)</td>"), "{page}");
}

#[test]
fn schema_matches_the_published_one() {
    let schema = serde_json::to_string_pretty(&report::schema()).unwrap() + "\n";
    golden("../../docs/report.schema.json", &schema);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let summary = report::summarise(&exchanging(&run_with_noise()));
    for width in [60, 80, 100, 200] {
        let text = report::human(&summary, width, false);
        let widest = text
            .lines()
            .max_by_key(|line| line.chars().count())
            .unwrap();
        assert!(widest.chars().count() <= width, "{width}: {widest}");
    }
}

#[test]
fn colour_carries_no_information_of_its_own() {
    let summary = report::summarise(&run_with_noise());
    let mut plain = report::human(&summary, 120, true);
    for code in ["\u{1b}[32m", "\u{1b}[31m", "\u{1b}[2m", "\u{1b}[0m"] {
        assert!(plain.contains(code));
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, report::human(&summary, 120, false));
}

#[test]
fn csv_has_one_row_per_call_and_quotes_fields() {
    let mut arms = quickstart();
    arms[2].name = "quinn \"h3\", new";
    let data = data(&arms, &["true-metro"], 2, 1);
    let csv = report::csv(&data);
    let calls: usize = data.cells().iter().map(|cell| cell.calls.len()).sum();
    assert_eq!(csv.matches("\r\n").count(), calls + 1);
    let exchanged = report::csv(&exchanging(&data));
    assert!(exchanged.contains(",20000,30000\r\n"));
    let row = csv.lines().find(|line| line.contains("quinn")).unwrap();
    assert!(row.starts_with(
        "invented,7,true-metro,0,\"quinn \"\"h3\"\", new\",n0-b0-a2,1,1,counted,clean,1,echo,"
    ));
}
