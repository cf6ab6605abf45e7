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

/// Returns a run with three noisy cells. Two of them were clean on retry.
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
fn arms_say_whether_their_requests_include_encoding() {
    let caveats = |data: &RunData| -> Vec<Option<String>> {
        let mut run = data.run().clone();
        for arm in &mut run.arms {
            arm.own_json = true;
            if arm.name.contains("quinn") {
                arm.codec = "protobuf".into();
            }
        }
        let data = RunData::new(run, data.cells().to_vec()).unwrap();
        let arms = report::summarise(&data).networks.remove(0).arms;
        let shown = ["hyper h2", "quinn h3"].map(|name| arms.iter().find(|arm| arm.name == name));
        shown.map(|arm| arm.unwrap().caveat.clone()).to_vec()
    };
    let before = data(&quickstart(), &["true-metro"], 10, 1);
    for caveat in caveats(&before) {
        let caveat = caveat.unwrap();
        assert!(
            caveat.starts_with("encoding and decoding are not part"),
            "{caveat}"
        );
    }
    let within = caveats(&exchanging(&before));
    assert_eq!(within[0], None);
    assert!(
        within[1].as_ref().unwrap().contains("by reflection"),
        "{within:?}"
    );
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
    assert!(page.contains(">1 to 2 (median 1)<"), "{page}");
}

#[test]
fn schema_matches_the_published_one() {
    let schema = serde_json::to_string_pretty(&report::schema()).unwrap() + "\n";
    golden("../../../docs/report.schema.json", &schema);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let summary = report::summarise(&exchanging(&run_with_noise()));
    for width in [60, 80, 100, 200] {
        let text = report::human(&summary, width, false);
        // A command must be copied as a whole.
        let command = summary.replicate.as_deref().unwrap();
        let lines = text.lines().filter(|line| line.trim() != command);
        assert_eq!(lines.clone().count() + 1, text.lines().count(), "{text}");
        let widest = lines.max_by_key(|line| line.chars().count()).unwrap();
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

#[test]
fn card_has_the_answer_and_a_bar_per_arm() {
    let summary = report::summarise(&run_with_noise());
    golden("tests/golden/card.svg", &report::card(&summary));
}

/// Every text of a card with long names ends within it, by the width of DejaVu Sans, the widest of its
/// fonts.
#[test]
fn no_text_of_a_card_is_cut() {
    let mut arms = quickstart();
    arms[2].name = "okhttp 5.1.0 over HTTP/3 by cronet 128, with 0-RTT";
    arms[3].name = "averyveryverylongnamewithoutanyspaceinitthatmustbebroken";
    let networks = [
        "a-network-with-a-long-name-and-a-sweep-of-loss-down=5%-in-it-as-well",
        "b",
    ];
    let summary = report::summarise(&data(&arms, &networks, 10, 1));
    let card = report::card(&summary);
    let texts: Vec<&str> = card.split("<text").skip(1).collect();
    assert!(texts.len() > 20, "{card}");
    for text in texts {
        let (attributes, rest) = text.split_once('>').unwrap();
        let (content, _) = rest.split_once('<').unwrap();
        let x = attributes.split_once(" x=\"").unwrap().1;
        let x: f64 = x.split_once('"').unwrap().0.parse().unwrap();
        let px = if attributes.contains("answer") {
            22.0
        } else {
            13.0
        };
        let width = content.chars().count() as f64 * px * 0.66;
        let begin = if attributes.contains("end") {
            x - width
        } else {
            x
        };
        assert!(
            begin >= 0.0 && begin + width <= 600.0,
            "{attributes}: {content}"
        );
    }
}

#[test]
fn hdr_logs_have_every_request_that_succeeded() {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let mut arms = quickstart();
    arms[0].time_out_every = 4;
    let data = data(&arms, &["true-metro"], 3, 1);
    let logs = report::hdr_logs(&data).unwrap();
    // Five arms were measured, each in two groups; every image of the first timed out.
    assert_eq!(logs.len(), 9);
    let log = logs
        .iter()
        .find(|log| log.arm == "hyper h2" && log.group == "echo")
        .unwrap();
    // Of 16 requests, 4, 8 and 12 timed out, and the image is the 16th.
    assert!(
        log.text
            .contains("#[commute: 9 of 45 requests failed or timed out]\n")
    );
    let mut counts = Vec::new();
    for entry in IntervalLogIterator::new(log.text.as_bytes()) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let bytes = decoded(interval.encoded_histogram());
            let histogram: hdrhistogram::Histogram<u64> = Deserializer::new()
                .deserialize(&mut bytes.as_slice())
                .unwrap();
            let tag = interval.tag().unwrap().as_str().to_owned();
            counts.push((tag, histogram.len()));
            assert!((100_000_000..500_000_000).contains(&histogram.max()));
        }
    }
    let of_block = [("first".to_owned(), 3), ("warm".to_owned(), 9)];
    assert_eq!(
        counts,
        [of_block.clone(), of_block.clone(), of_block].concat()
    );
}

fn decoded(base64: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(base64)
        .unwrap()
}

/// A spreadsheet runs formulas, a terminal escape sequences.
#[test]
fn cells_of_csv_are_neither_formulas_nor_interpreted() {
    let mut arms = quickstart();
    arms[2].name = testing::HOSTILE_NAME;
    let invented = data(&arms, &["-2+3", "@network"], 6, 1);
    let mut run = invented.run().clone();
    run.study = "+study;@study".into();
    let mut cells = invented.cells().to_vec();
    cells[0].calls[0].result = CallResult::Error {
        kind: "=cmd".into(),
        detail: "|' /C calc'!A0\r\n=1; =2".into(),
    };
    let data = RunData::new(run, cells).unwrap();
    assert_no_formula(&report::csv(&data));
}

fn assert_no_formula(csv: &str) {
    assert!(!csv.contains(testing::INTERPRETED), "{csv}");
    // Some spreadsheets split at semicolons, too.
    let cells = csv.lines().skip(1);
    let mut cells = cells.flat_map(|line| line.split([',', ';']));
    let begins = |cell: &&str| {
        cell.trim_start_matches(['"', ' '])
            .starts_with(['=', '+', '-', '@'])
    };
    assert_eq!(cells.find(begins), None, "{csv}");
    assert!(csv.contains("'=1+1"), "{csv}");
}
