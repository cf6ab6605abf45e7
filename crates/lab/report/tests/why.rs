//! Where the time of requests went, in every format, and why it is not known. All figures are invented.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::path::Path;

use invented::{arm, data, explained, quickstart};
use record::{Call, CallResult, Cell, RunData};
use report::{Wanted, Why, summarise, why};

const ALL: Wanted<'_> = Wanted {
    network: None,
    arm: None,
    against: None,
    call: None,
};

fn golden(file: &str, actual: &str) {
    testing::golden(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), actual);
}

fn run() -> RunData {
    explained(&data(&quickstart(), &["true-metro", "4g-tether"], 10, 1))
}

/// Returns a run with its cells changed.
fn with_cells(data: &RunData, change: impl Fn(&mut Cell)) -> RunData {
    let mut cells = data.cells().to_vec();
    cells.iter_mut().for_each(change);
    RunData::new(data.run().clone(), cells).unwrap()
}

fn with_calls(data: &RunData, change: impl Fn(&mut Call)) -> RunData {
    with_cells(data, |cell| cell.calls.iter_mut().for_each(&change))
}

#[test]
fn layouts() {
    let wanted = Wanted {
        network: Some("true-metro"),
        ..ALL
    };
    let found = why(&run(), &wanted).unwrap();
    golden("tests/golden/why-100.txt", &found.human(100));
    golden("tests/golden/why.md", &found.markdown());
    let csv = found.csv();
    assert!(csv.starts_with("network,measure,arm,part,ns,round_trips,calls\r\n"));
    assert!(
        csv.contains("\r\ntrue-metro,first request,quinn h3,quic_handshake,123000000,1.000,16\r\n")
    );
    let client = csv.lines().find(|line| line.contains(",client,")).unwrap();
    assert!(client.ends_with(",,16"), "{client}");
    let schema = serde_json::to_string_pretty(&Why::schema()).unwrap() + "\n";
    golden("../../../docs/why.schema.json", &schema);
    let json: serde_json::Value = serde_json::from_str(&found.json()).unwrap();
    let quinn = &json["measures"][0]["arms"][2];
    assert_eq!(quinn["parts"][0]["part"], "quic_handshake");
    assert_eq!(quinn["comparison"]["reason"]["outcome"], "explained");
}

/// The two must not contradict each other.
#[test]
fn comparisons_are_those_of_the_report() {
    let data = run();
    let summary = summarise(&data);
    for measure in why(&data, &ALL).unwrap().measures {
        let mut networks = summary.networks.iter();
        let network = networks.find(|n| n.name == measure.network).unwrap();
        for of in measure.arms {
            let arm = network.arms.iter().find(|arm| arm.name == of.arm).unwrap();
            let mut measures = arm.measures.iter();
            let expected = measures.find(|m| m.label == measure.label).unwrap();
            let fields = |c: &Option<report::Comparison>| {
                let c = c.as_ref()?;
                Some((c.verdict, c.difference.clone(), c.reason.clone()))
            };
            assert_eq!(fields(&of.comparison), fields(&expected.comparison));
        }
    }
}

#[test]
fn what_is_wanted_is_all_that_is_shown() {
    let wanted = Wanted {
        network: Some("4g-tether"),
        arm: Some("quinn h3"),
        against: Some("libcurl h1"),
        call: Some(6),
    };
    let found = why(&run(), &wanted).unwrap();
    assert_eq!(found.measures.len(), 1);
    let arms: Vec<&str> = found.measures[0].arms.iter().map(|a| &*a.arm).collect();
    assert_eq!(arms, ["quinn h3", "libcurl h1"]);
    let comparison = found.measures[0].arms[0].comparison.as_ref().unwrap();
    // One call in each of ten blocks.
    assert_eq!(comparison.reason.as_ref().unwrap().pairs, 6);
    let text = found.human(400);
    let sentence = "quinn h3 is 242 ms faster than libcurl h1 because no TCP handshake: -123.0 ms, one round trip; \
                    no Nagle delay: -123.0 ms, one round trip\n";
    assert!(text.contains(sentence), "{text}");
}

#[test]
fn an_undecided_difference_makes_no_claim() {
    let text = why(&run(), &ALL).unwrap().human(400);
    let undecided = "libcurl h2 is 47 ms slower than hyper h2 (not decided)\n";
    assert!(text.contains(undecided), "{text}");
    let one_block = explained(&data(&quickstart(), &["true-metro"], 1, 1));
    let text = why(&one_block, &ALL).unwrap().human(400);
    assert!(
        !text.contains("hyper h2 again is") && !text.contains("than"),
        "{text}"
    );
}

#[test]
fn absent_parts_have_a_cause() {
    let old = data(&quickstart(), &["true-metro"], 2, 1);
    let error = |data: &RunData, wanted: &Wanted<'_>| why(data, wanted).unwrap_err();
    let start = "no request of this run has parts: ";
    let of_all = |data: &RunData| {
        let text = error(data, &ALL);
        text.strip_prefix(start).unwrap_or(&text).to_owned()
    };
    assert!(of_all(&old).starts_with("they were recorded by an earlier version of commute"));
    let own_clock = with_cells(&old, |cell| cell.stack.clock = "own".into());
    assert!(of_all(&own_clock).starts_with("their clients have a clock of their own"));
    let failed = with_calls(&old, |call| call.result = CallResult::TimedOut);
    assert_eq!(of_all(&failed), "all 160 requests failed or timed out");
    let by_time = with_cells(&old, |cell| cell.calls.clear());
    assert!(of_all(&by_time).starts_with("all are in groups that are bound by time"));
    let none = RunData::new(old.run().clone(), Vec::new()).unwrap();
    assert!(of_all(&none).starts_with("no cell was measured"));
    let mut run = old.run().clone();
    run.calls.clear();
    let imported = RunData::new(run, old.cells().to_vec()).unwrap();
    assert_eq!(of_all(&imported), "they were imported, without packets");
    let wanted = Wanted {
        network: Some("true-metro"),
        arm: Some("quinn h3"),
        call: Some(17),
        ..ALL
    };
    let of_quinn = Wanted {
        call: None,
        ..wanted
    };
    let one_failed = with_cells(&explained(&old), |cell| {
        let is_quinn = cell.arm == "quinn h3";
        for call in cell.calls.iter_mut().filter(|_| is_quinn) {
            call.result = CallResult::TimedOut;
            call.parts.clear();
        }
    });
    assert_eq!(
        error(&one_failed, &of_quinn),
        "no request of `quinn h3` on `true-metro` has parts: all 32 requests failed or timed out"
    );
    assert_eq!(
        error(&explained(&old), &wanted),
        "no request with the id 17 of `quinn h3` on `true-metro` has parts: no call has this id; ids are 1 to 16"
    );
}

#[test]
fn names_are_printed_without_control_characters() {
    let evil = "=<b>|\u{1b}[2J";
    let mut arms = vec![
        arm("h2", "h2", 383.0, 133.0, 1_800.0),
        arm("h3", "h3", 265.0, 131.0, 1_100.0),
    ];
    arms[1].name = evil;
    let found = why(&explained(&data(&arms, &["lan"], 6, 1)), &ALL).unwrap();
    assert!(!found.human(100).contains('\u{1b}'));
    // Nor as formulas of a spreadsheet.
    assert!(
        found.csv().contains(",'=<b>|\u{fffd}[2J,"),
        "{}",
        found.csv()
    );
    // Where semicolons separate, a number and the name behind it would be one.
    let numbered = why(&explained(&data(&arms, &["-2"], 6, 1)), &ALL)
        .unwrap()
        .csv();
    assert!(numbered.contains("\r\n'-2,"), "{numbered}");
    let markdown = found.markdown();
    assert!(
        !markdown.contains('\u{1b}') && !markdown.contains("<b>|"),
        "{markdown}"
    );
}

#[test]
fn coverage_counts_what_has_no_reason() {
    let data = run();
    let coverage = |data: &RunData| why(data, &ALL).unwrap().coverage;
    let all = coverage(&data);
    assert!(all.decided > 1 && all.calls > 100, "{all:?}");
    assert_eq!((all.matched, all.explained), (all.decided, all.decided));
    assert_eq!((all.unexplained_median, all.unexplained_most), (0.0, 0.0));
    // A quarter of each request of one arm moves from its parts to what nobody can explain.
    let unexplained = with_cells(&data, |cell| {
        for call in cell.calls.iter_mut().filter(|_| cell.arm == "quinn h3") {
            let quarter_ns = call.parts.values().sum::<u64>() / 4;
            let largest = call.parts.values_mut().max().unwrap();
            *largest -= quarter_ns;
            call.parts.insert("unexplained".into(), quarter_ns);
        }
    });
    let some = coverage(&unexplained);
    assert_eq!((some.calls, some.decided), (all.calls, all.decided));
    assert_eq!((some.unexplained_median, some.matched), (0.0, all.matched));
    assert!((0.24..=0.25).contains(&some.unexplained_most), "{some:?}");
    assert!(some.explained < all.explained, "{some:?}");
    let one = why(
        &unexplained,
        &Wanted {
            arm: Some("quinn h3"),
            ..ALL
        },
    );
    let text = one.unwrap().human(400);
    assert!(text.contains("Unexplained: 2"), "{text}");
    // Parts that are twice as long sum to another difference.
    let doubled = with_calls(&data, |call| {
        call.parts.values_mut().for_each(|ns| *ns *= 2);
    });
    let wrong = coverage(&doubled);
    assert_eq!(
        (wrong.decided, wrong.matched, wrong.explained),
        (all.decided, 0, 0)
    );
}
