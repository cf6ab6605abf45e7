use super::*;

fn cost(ns: f64) -> Option<Cost> {
    Some(Cost {
        ns,
        low_ns: ns * 0.99,
        high_ns: ns * 1.015,
        samples: 19,
        iterations: 1000,
        noisy: 0,
        heap_bytes: Some(2_048.0),
    })
}

/// Returns a table with made-up figures.
fn example() -> Table {
    let entry = |codec: &str, library: &str| CodecEntry {
        codec: codec.into(),
        library: library.into(),
        library_version: "1.2".into(),
        parts: Part::ALL.into(),
        caveat: (library == "slow").then(|| "it is slow".into()),
        lossy: None,
        rejects_valid: None,
    };
    let api = Name::Api { bytes: 2_000 };
    let mut json = Row::new(api, "rust", "1.95", &entry("json", "serde_json"));
    json.bytes = Some(2_000);
    (json.encode, json.decode) = (cost(3_600.0), cost(7_200.0));
    json.cold_encode = Cost::from_few(&[Span::exact(52_000.0)]);
    let mut small = Row::new(api, "jvm", "17", &entry("protobuf", "slow"));
    small.bytes = Some(1_406);
    (small.populate, small.encode) = (cost(812.0), cost(1.25e6));
    small.decode = Some(Cost {
        low_ns: 10.0,
        high_ns: 4_000.0,
        ..cost(900.0).unwrap()
    });
    let mut broken = Row::new(api, "go", "1.26", &entry("json", "<b>&\"</b>"));
    broken.problem = Some("refused: line 3 of the value was `i 1`, came back as `i 2`".into());
    Table {
        seed: 1,
        rounds: 19,
        heap: BTreeMap::from([("jvm".into(), "by the thread".into())]),
        harness: vec![Harness {
            runtime: "rust".into(),
            encode: cost(1.5).unwrap(),
            decode: cost(1.25).unwrap(),
        }],
        aa: Some(AaCheck {
            pairs: 100,
            agreeing: 98,
        }),
        unavailable: vec![Unavailable {
            runtime: "mono".into(),
            reason: "driver.exe is not there: commute stacks install mono".into(),
        }],
        rows: vec![json, small, broken],
    }
}

#[test]
fn text_matches_the_golden_file() {
    let text = example().text();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/table/golden.txt");
    testing::golden(file, &(lines.join("\n") + "\n"));
}

#[test]
fn csv_has_a_field_per_column() {
    let csv = example().csv().unwrap();
    let mut reader = ::csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    assert_eq!(
        &header.iter().collect::<Vec<_>>()[..7],
        [
            "message",
            "codec",
            "runtime",
            "library",
            "version",
            "bytes",
            "encode_ns"
        ]
    );
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(&rows[0][6], "3600.0");
}

#[test]
fn csv_has_no_formula_of_a_runner() {
    let mut table = example();
    table.rows[2].library = "=1".into();
    table.rows[2].caveat = Some("a;-2".into());
    table.rows[2].problem = Some("1*cmd|' /C calc'!A0;@b".into());
    let csv = table.csv().unwrap();
    let end = "a;'-2,1*cmd|' /C calc'!A0;'@b\n";
    assert!(csv.ends_with(end) && csv.contains(",'=1,"), "{csv}");
}

fn page() -> String {
    let origin = page::Origin {
        commute: "0.0.0-invented".into(),
        unix_ns: 1_763_843_887_000_000_000,
        machine: "Invented, 2 cores".into(),
    };
    crate::html(&example(), &origin)
}

#[test]
fn page_names_its_points_and_its_origin_and_escapes_markup() {
    let page = page();
    assert!(page.contains("&lt;b&gt;&amp;&quot;&lt;/b&gt;") && !page.contains("<b>"));
    assert!(
        page.contains(">json · serde_json<") && page.contains(">2000 B<"),
        "{page}"
    );
    for origin in [
        "2025-11-22 20:38 UTC",
        "commute 0.0.0-invented",
        "Invented, 2 cores",
    ] {
        assert!(page.contains(origin), "{origin}");
    }
    assert!(!page.contains("cold decode"), "an empty column");
    assert_eq!(page.matches("<script").count(), 1);
}

#[test]
fn browser_shows_the_page_in_every_view() {
    testing::check_page("codec", &page());
}

#[test]
fn harness_cost_is_subtracted_down_to_zero() {
    let mut table = example();
    let harness = Harness {
        runtime: "rust".into(),
        encode: cost(600.0).unwrap(),
        decode: cost(8_000.0).unwrap(),
    };
    table.rows[0].subtract(&harness);
    assert_eq!(table.rows[0].encode.unwrap().ns, 3_000.0);
    assert_eq!(table.rows[0].decode.unwrap().low_ns, 0.0);
}

#[test]
fn durations_have_three_digits_and_a_unit() {
    let formatted = [0.4, 12.345, 999.4, 999.9, 1_000.0, 45_678.0, 1e6, 2.5e9].map(duration);
    assert_eq!(
        formatted,
        [
            "0.40 ns", "12.3 ns", "999 ns", "1.00 µs", "1.00 µs", "45.7 µs", "1.00 ms", "2.50 s"
        ]
    );
}
