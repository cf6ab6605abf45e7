use link::Trace;
use traces::{Column, Columns, Format, Gaps, RateUnit, Span, Summary, TimeUnit, plot};

/// A longer trace takes too long to summarise for every input.
const LONGEST_MS: u64 = 60_000;

/// Imports a trace of others in every format. A network must read what is imported as the same trace.
pub fn trace_import(data: &[u8]) {
    let spans = [(0, None), (1_500_000, Some(2_000_000))];
    for (from_us, for_us) in spans {
        let span = Span { from_us, for_us };
        expect_trace(data, &Format::Mahimahi, span);
        for gaps in [Gaps::Error, Gaps::Hold, Gaps::Zero] {
            for columns in columns(gaps) {
                expect_trace(data, &Format::Columns(columns), span);
            }
        }
    }
}

fn columns(gaps: Gaps) -> [Columns; 3] {
    let column = |name: &str| name.parse::<Column>().expect("the column is named");
    let pensieve = Columns {
        time: column("1"),
        time_unit: TimeUnit::Seconds,
        rate: column("2"),
        rate_unit: RateUnit::Mbit,
        number: Some(2),
        only: Vec::new(),
        gaps,
        max_gap_us: None,
    };
    let irish = Columns {
        time: column("Timestamp"),
        time_unit: TimeUnit::Timestamp,
        rate: column("DL_bitrate"),
        rate_unit: RateUnit::Kbit,
        number: None,
        ..pensieve.clone()
    };
    let lumos = Columns {
        time: column("seq_num"),
        rate: column("Throughput"),
        number: None,
        only: vec![(column("run_num"), "1".to_owned())],
        ..pensieve.clone()
    };
    [pensieve, irish, lumos]
}

fn expect_trace(data: &[u8], format: &Format, span: Span) {
    let imported = match traces::import(data, format, span) {
        Ok(imported) => imported,
        Err(e) => {
            let message = e.to_string();
            assert!(!message.contains(neutral::is_interpreted), "{message:?}");
            return;
        }
    };
    let trace = imported.trace;
    for note in imported.notes {
        assert!(!note.contains(neutral::is_interpreted), "{note:?}");
    }
    assert_eq!(Trace::parse(&traces::text(&trace)), Ok(trace.clone()));
    if trace.period_ms() <= LONGEST_MS {
        let summary = Summary::of(&trace, 100);
        assert!(!summary.text().contains("NaN"), "{summary:?}");
        plot::terminal(&trace);
    }
}
