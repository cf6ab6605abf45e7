//! What holds for every trace: nothing is lost or added on the way from rows to a network, but for the last opportunity.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use link::Trace;
use proptest::prelude::*;
use traces::{Columns, Format, Gaps, ImportError, RateUnit, Span, Summary, TimeUnit};

/// Bits of one opportunity.
const BITS: u64 = 12_000;

fn columns() -> Format {
    Format::Columns(Columns {
        time: "1".parse().unwrap(),
        time_unit: TimeUnit::Milliseconds,
        rate: "2".parse().unwrap(),
        rate_unit: RateUnit::Bit,
        number: None,
        only: Vec::new(),
        gaps: Gaps::Hold,
        max_gap_us: None,
    })
}

fn import(text: &str, format: &Format, span: Span) -> Result<Trace, ImportError> {
    traces::import(text.as_bytes(), format, span).map(|imported| imported.trace)
}

/// Rows: how many ms until the next one, and a rate in bit/s.
fn rows() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1..1000_u64, 0..6_000_000_u64), 2..12)
}

/// Returns the table of these rows. The duration of the last one is the median of those before.
fn table(rows: &[(u64, u64)]) -> (String, Vec<(u64, u64)>) {
    let mut steps: Vec<u64> = rows[..rows.len() - 1].iter().map(|(ms, _)| *ms).collect();
    steps.sort_unstable();
    let mut rows = rows.to_vec();
    rows.last_mut().unwrap().0 = steps[steps.len() / 2];
    let mut at_ms = 5;
    let mut text = String::new();
    for (ms, bps) in &rows {
        text += &format!("{at_ms} {bps}\n");
        at_ms += ms;
    }
    (text, rows)
}

proptest! {
    #[test]
    fn rows_deliver_what_their_rates_allow(rows in rows()) {
        let (text, rows) = table(&rows);
        let bits_ms: u64 = rows.iter().map(|(ms, bps)| ms * bps).sum();
        let imported = import(&text, &columns(), Span::default());
        if bits_ms == 0 {
            prop_assert!(imported.is_err());
            return Ok(());
        }
        let trace = imported.unwrap();
        // By the end of each row, as many as its bits allow; the one at the end may be early.
        let (mut end_ms, mut allowed) = (0, 0);
        for (ms, bps) in &rows {
            end_ms += ms;
            allowed += ms * bps;
            let times = trace.times_ms().iter().filter(|at_ms| u64::from(**at_ms) <= end_ms);
            let (count, whole) = (times.count() as u64, allowed / 1000 / BITS);
            let is_end = end_ms == trace.period_ms();
            prop_assert!(count == whole || is_end && count == whole + 1, "{count} of {whole} at {end_ms}");
        }
        prop_assert_eq!(trace.period_ms(), end_ms);
    }

    #[test]
    fn a_written_trace_is_read_as_the_same(rows in rows()) {
        let (text, _) = table(&rows);
        let Ok(trace) = import(&text, &columns(), Span::default()) else {
            return Ok(());
        };
        let written = traces::text(&trace);
        prop_assert_eq!(&Trace::parse(&written).unwrap(), &trace, "by networks");
        let imported = import(&written, &Format::Mahimahi, Span::default()).unwrap();
        prop_assert_eq!(&imported, &trace, "by import");
    }

    #[test]
    fn parts_deliver_together_what_the_whole_does(rows in rows(), cut_percent in 1..100_u64) {
        let (text, rows) = table(&rows);
        let duration_ms: u64 = rows.iter().map(|(ms, _)| ms).sum();
        let cut_us = (duration_ms * cut_percent / 100).max(1) * 1000;
        let first = Span { from_us: 0, for_us: Some(cut_us) };
        let second = Span { from_us: cut_us, for_us: None };
        let whole = import(&text, &columns(), Span::default());
        for format in [columns(), Format::Mahimahi] {
            let text = match (&format, &whole) {
                (Format::Mahimahi, Ok(whole)) => traces::text(whole),
                _ => text.clone(),
            };
            let parts = [first, second].map(|span| import(&text, &format, span));
            let (Ok(whole), [Ok(first), Ok(second)]) = (&whole, parts) else {
                continue;
            };
            prop_assert_eq!(first.period_ms() + second.period_ms(), whole.period_ms());
            let together = first.times_ms().len() + second.times_ms().len();
            // Each part may have one more at its end, and loses less than one there.
            prop_assert!(together.abs_diff(whole.times_ms().len()) <= 2);
        }
    }

    #[test]
    fn figures_agree_with_each_other(rows in rows()) {
        let (text, _) = table(&rows);
        let Ok(trace) = import(&text, &columns(), Span::default()) else {
            return Ok(());
        };
        let summary = Summary::of(&trace, 100);
        prop_assert!((summary.mean_bps - trace.mean_bps() as f64).abs() < 1.0);
        for w in &summary.windows {
            let rates = [w.min_bps, w.p5_bps, w.p50_bps, w.p95_bps, w.max_bps];
            prop_assert!(rates.is_sorted(), "{w:?}");
            prop_assert_eq!(w.n as u64, summary.duration_ms / w.window_ms);
            prop_assert!(w.autocorrelation.is_none_or(|r| (-1.0..=1.0).contains(&r)));
        }
        let outages = &summary.outages;
        prop_assert!(outages.total_ms <= summary.duration_ms);
        prop_assert!(outages.longest_ms <= outages.total_ms);
        prop_assert!(outages.number as u64 * 100 <= outages.total_ms);
        // In the longest nothing is delivered.
        let [from, to] = [outages.longest_at_ms, outages.longest_at_ms + outages.longest_ms];
        let within = trace.times_ms().iter().filter(|at_ms| {
            let at_ms = u64::from(**at_ms);
            from < at_ms && at_ms < to
        });
        prop_assert_eq!(within.count(), 0);
    }
}
