mod jmeter;

use proptest::prelude::*;

use super::*;
use crate::{ImportOptions, import};

const MS: u64 = 1_000_000;

fn labels(protocol: Option<&str>) -> Labels {
    Labels {
        network: "train".to_owned(),
        arm: "new".to_owned(),
        protocol: protocol.map(str::to_owned),
        block: 3,
    }
}

/// Reads a text that is of the format `name`, over `protocol`.
fn read(name: &str, text: &str, protocol: Option<&str>) -> (Vec<ImportedCall>, usize) {
    let format = Format::of(text).unwrap_or_else(|| panic!("{name} is not recognised"));
    assert_eq!(format.name(), name);
    let (calls, left_out) = format
        .read(text, &labels(protocol))
        .unwrap_or_else(|(line, message)| panic!("{name}: line {line}: {message}"));
    for (line, call) in &calls {
        call.check()
            .unwrap_or_else(|message| panic!("{name}: line {line}: {message}"));
    }
    (calls.into_iter().map(|(_, call)| call).collect(), left_out)
}

/// Group, time, whether it is the first, and how it ended.
type Said<'a> = (&'a str, u64, Option<bool>, &'a str);

fn said(calls: &[ImportedCall]) -> Vec<Said<'_>> {
    let mut said = Vec::new();
    for call in calls {
        let how = match call.result.as_deref() {
            Some("error") => call.error.as_deref(),
            result => result,
        };
        said.push((
            call.group.as_deref().unwrap_or_default(),
            call.end_ns,
            call.first,
            how.unwrap_or_default(),
        ));
    }
    said
}

#[test]
fn k6_writes_points() {
    let csv = include_str!("fixtures/k6.csv");
    let json = include_str!("fixtures/k6.json");
    for (name, text) in [("k6's CSV", csv), ("k6's JSON", json)] {
        // The protocol is in the file.
        let (calls, _) = read(name, text, None);
        assert_eq!(
            said(&calls),
            [
                ("GET /orders", 170_750_000, Some(true), "ok"),
                ("GET /orders", 48_002_000, Some(false), "ok"),
                ("GET /missing", 30_002_000, Some(false), "status: 404"),
                (
                    "GET /refused",
                    0,
                    Some(true),
                    "other: dial: connection refused"
                ),
                ("GET /slow", 60_000_002_000, None, "timed_out"),
            ],
            "{name}"
        );
        let first = &calls[0];
        assert_eq!(
            (first.protocol.as_str(), first.network.as_str(), first.block),
            ("h2", "train", 3)
        );
        // Blocked for 120.25 ms, of which 60 ms are TLS; then 0.5 ms sending and 49 ms waiting.
        let phases = [
            first.connect_ns,
            first.tls_ns,
            first.request_sent_ns,
            first.first_byte_ns,
        ];
        assert_eq!(
            phases,
            [60_250_000, 120_250_000, 120_750_000, 169_750_000].map(Some),
            "{name}"
        );
    }
    let other = Format::of(csv)
        .unwrap()
        .read(csv, &labels(Some("h3")))
        .unwrap_err();
    assert_eq!(
        other,
        (2, "the request used h2, the arm new uses h3".to_owned())
    );
}

/// Without `http_reqs`, a metric that comes again begins the next request.
#[test]
fn k6_points_may_be_filtered() {
    let csv: String = include_str!("fixtures/k6.csv")
        .lines()
        .filter(|line| line.starts_with("metric_name") || line.starts_with("http_req_duration"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (calls, _) = read("k6's CSV", &csv, None);
    assert_eq!(calls.len(), 5);
    assert_eq!((calls[0].end_ns, calls[0].first), (50_500_000, None));
    let without = csv.replace("http_req_duration", "http_req_waiting");
    let format = Format::of(&without).unwrap();
    let refused = format.read(&without, &labels(None)).unwrap_err();
    assert_eq!(
        refused,
        (
            3,
            "the request that begins in line 2 has no `http_req_duration`".to_owned()
        )
    );
}

#[test]
fn vegeta_writes_nanoseconds() {
    for (name, text) in [
        ("vegeta's JSON", include_str!("fixtures/vegeta.json")),
        ("vegeta's CSV", include_str!("fixtures/vegeta.csv")),
    ] {
        let (calls, _) = read(name, text, Some("h1"));
        assert_eq!(
            said(&calls),
            [
                ("GET /orders", 14_066_416, None, "ok"),
                ("GET /missing", 12_922_786, None, "status: 404"),
                (
                    "GET /refused",
                    359_421,
                    None,
                    "other: dial tcp 0.0.0.0:0->127.0.0.1:9: connect: connection refused"
                ),
                ("GET /slow", 701_849_178, None, "timed_out"),
            ],
            "{name}"
        );
    }
}

#[test]
fn oha_writes_seconds() {
    let text = include_str!("fixtures/oha.csv");
    let (calls, _) = read("oha's CSV", text, Some("h1"));
    assert_eq!(
        said(&calls),
        [
            ("", 92 * MS, Some(true), "ok"),
            ("", 50_100_000, Some(false), "ok"),
            ("", 49_700_000, Some(false), "status: 404"),
        ]
    );
    assert_eq!(
        (calls[0].first_byte_ns, calls[0].response_bytes),
        (Some(91_100_000), Some(1000))
    );
    // Over HTTP/2 every row has the time that its connection took, and none contains it.
    let (calls, _) = read("oha's CSV", text, Some("h2"));
    assert!(calls.iter().all(|call| call.first.is_none()));
}

#[test]
fn arms_carry_what_their_files_leave_open() {
    let files = [
        include_str!("fixtures/oha.csv"),
        include_str!("fixtures/jmeter.csv"),
    ];
    let rows = files.map(|text| {
        let format = Format::of(text).unwrap();
        format.read(text, &labels(Some("h1"))).unwrap().0
    });
    let rows: Vec<(usize, ImportedCall)> = rows.concat();
    let options = ImportOptions {
        study: "load".to_owned(),
        question: "?".to_owned(),
        baseline: None,
    };
    let (run, _) = import(&rows, &options).unwrap();
    let caveat = run.arms[0].caveat.as_deref().unwrap_or_default();
    for part in [
        "measured elsewhere",
        "; oha's CSV has no row for a request without a response",
        "; JMeter's times are whole ms",
    ] {
        assert_eq!(caveat.matches(part).count(), 1, "{part}: {caveat}");
    }
}

#[test]
fn h2load_writes_microseconds() {
    let (calls, _) = read(
        "h2load's log",
        include_str!("fixtures/h2load.tsv"),
        Some("h3"),
    );
    assert_eq!(
        said(&calls)[3..],
        [
            ("", 56_915_000, Some(false), "ok"),
            ("", 13_108_000, Some(false), "status: 404"),
            ("", 41_000, Some(false), "other: no response"),
        ]
    );
}

#[test]
fn fortio_writes_seconds() {
    let (calls, _) = read(
        "fortio's access log",
        include_str!("fixtures/fortio.json"),
        Some("h1"),
    );
    assert_eq!(
        said(&calls),
        [
            ("", 92_104_000, None, "ok"),
            ("", 50_210_000, None, "ok"),
            ("", 49_122_000, None, "status: 503"),
            ("", 41_000, None, "other: no response"),
        ]
    );
    // fortio fails at redirects unless it follows them.
    let redirect = include_str!("fixtures/fortio.json").replace("503", "302");
    let (calls, _) = read("fortio's access log", &redirect, Some("h1"));
    assert_eq!(calls[2].error.as_deref(), Some("status: 302"));
}

#[test]
fn summaries_are_refused_with_what_to_do() {
    for (text, how) in [
        (
            include_str!("fixtures/k6-summary.json"),
            "k6's summary has no row for each request; write one: k6 run --out csv=FILE",
        ),
        (
            include_str!("fixtures/vegeta-report.json"),
            "vegeta encode RESULTS > FILE",
        ),
        (include_str!("fixtures/oha.json"), "oha --output-format csv"),
        (
            include_str!("fixtures/fortio-histogram.json"),
            "fortio load -access-log-file FILE",
        ),
        (
            "latency,thread=0,ok=true value=0.1,details=\"200\" 1\n",
            "-access-log-format json",
        ),
        (
            "starting benchmark...\nspawning thread #0\n",
            "h2load --log-file=FILE",
        ),
        (
            "Label,# Samples,Average,Median\n",
            "jmeter -n -t PLAN -l FILE",
        ),
    ] {
        let format = Format::of(text).unwrap();
        let (_, message) = format.read(text, &labels(Some("h2"))).unwrap_err();
        assert!(message.contains(how), "{message}");
    }
}

#[test]
fn the_protocol_must_be_known() {
    let text = include_str!("fixtures/h2load.tsv");
    let (_, message) = Format::of(text)
        .unwrap()
        .read(text, &labels(None))
        .unwrap_err();
    assert_eq!(
        message,
        "h2load's log does not say which protocol was used; write ARM:PROTOCOL=FILE, where PROTOCOL is one of h1, \
         h2, h3, grpc, auto"
    );
}

#[test]
fn other_files_are_of_no_load_tester() {
    for text in [
        "",
        "network,arm,protocol,block,end_ns\n",
        "{\"network\": \"n\", \"arm\": \"a\", \"protocol\": \"h2\", \"block\": 0, \"end_ns\": 9000000}\n",
        "1,2,3,4,5,6\n",
        "[1]",
    ] {
        assert!(Format::of(text).is_none(), "{text}");
    }
}

#[test]
fn groups_have_no_server_and_no_query() {
    for (name, expected) in [
        ("https://a.example/orders?token=1#x", "GET /orders"),
        ("https://a.example?token=1", "GET /"),
        ("https://a.example", "GET /"),
        ("/orders?page=1", "GET /orders"),
        ("Step #3: why?", "GET Step #3: why?"),
        ("Pay at /pay?token=1 twice", "GET Pay at /pay twice"),
    ] {
        assert_eq!(group("GET", name).as_deref(), Some(expected));
    }
}

proptest! {
    /// Whatever is cut or changed in it, a file is read or refused.
    #[test]
    fn any_text_is_read_or_refused(which in 0_usize..6, at in any::<prop::sample::Index>(), with in "[<>\"',{}0-9.\\-\t\n]{0,4}") {
        let texts = [
            include_str!("fixtures/k6.csv"), include_str!("fixtures/k6.json"), include_str!("fixtures/vegeta.csv"),
            include_str!("fixtures/jmeter.csv"), include_str!("fixtures/jmeter.xml"), include_str!("fixtures/oha.csv"),
        ];
        let text = texts[which];
        let at = at.index(text.len());
        let text = format!("{}{with}{}", &text[..at], &text[at..]);
        if let Some(format) = Format::of(&text) {
            drop(format.read(&text, &labels(Some("h2"))));
        }
    }
}
