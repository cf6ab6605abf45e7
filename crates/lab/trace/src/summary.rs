//! The figures of a trace.

use link::Trace;
use serde::Serialize;

use crate::words::{count, duration, rate, short};

/// Windows in which rates are counted, in ms. The first is also the step of the correlation time.
const WINDOWS_MS: [u64; 2] = [100, 1000];
/// The correlation time is searched up to this lag, in windows: a minute.
const MAX_LAG: usize = 600;
/// Below this correlation, rates count as independent: 1/e.
const INDEPENDENT: f64 = 0.367_879_441_171_442_33;
const OPPORTUNITY_BITS: f64 = Trace::OPPORTUNITY_BYTES as f64 * 8.0;

/// What a trace delivers over one period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Delivery opportunities of 1500 bytes.
    pub opportunities: usize,
    /// The period.
    pub duration_ms: u64,
    /// The mean rate, in bits per second.
    pub mean_bps: f64,
    /// Rates in windows of 100 ms and 1 s.
    pub windows: Vec<WindowRates>,
    /// The first lag at which the rates of windows of 100 ms have an autocorrelation below 1/e, in steps of 100 ms.
    /// Absent if there is none up to a quarter of the trace or a minute.
    pub correlation_ms: Option<u64>,
    /// Times without delivery.
    pub outages: Outages,
}

/// The rates of equal windows. Percentiles are by the nearest rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowRates {
    /// How long a window is.
    pub window_ms: u64,
    /// How many windows fit. A rest at the end is left out.
    pub n: usize,
    /// The slowest window, in bits per second.
    pub min_bps: f64,
    /// The 5th percentile.
    pub p5_bps: f64,
    /// The median.
    pub p50_bps: f64,
    /// The 95th percentile.
    pub p95_bps: f64,
    /// The fastest window.
    pub max_bps: f64,
    /// Standard deviation by mean; absent below two windows.
    pub cv: Option<f64>,
    /// Correlation of each window with the next; absent if all are equal.
    pub autocorrelation: Option<f64>,
}

/// Times without delivery, also from the begin to the first opportunity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outages {
    /// The shortest time that counts as an outage.
    pub at_least_ms: u64,
    /// How many there are.
    pub number: usize,
    /// Their sum.
    pub total_ms: u64,
    /// The longest.
    pub longest_ms: u64,
    /// When the longest begins.
    pub longest_at_ms: u64,
}

impl Summary {
    /// Returns the figures of a trace; a time without delivery of `outage_ms` or more is an outage.
    pub fn of(trace: &Trace, outage_ms: u64) -> Summary {
        let duration_ms = trace.period_ms();
        let of_window = |window_ms| WindowRates::of(&window_bps(trace, window_ms), window_ms);
        Summary {
            opportunities: trace.times_ms().len(),
            duration_ms,
            mean_bps: trace.times_ms().len() as f64 * OPPORTUNITY_BITS * 1e3 / duration_ms as f64,
            windows: WINDOWS_MS.into_iter().filter_map(of_window).collect(),
            correlation_ms: correlation_ms(&window_bps(trace, WINDOWS_MS[0])),
            outages: Outages::of(trace, outage_ms),
        }
    }

    /// Returns the figures as lines of text.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} of 1500 bytes in {}: mean {}\n",
            match self.opportunities {
                1 => "1 opportunity".to_owned(),
                more => format!("{more} opportunities"),
            },
            duration(self.duration_ms * 1000),
            rate(self.mean_bps)
        );
        let mut rows = vec![
            [
                "rate in windows of",
                "n",
                "min",
                "p5",
                "p50",
                "p95",
                "max",
                "CV",
                "next",
            ]
            .map(str::to_owned),
        ];
        let decimal = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2}"));
        rows.extend(self.windows.iter().map(|w| {
            [
                duration(w.window_ms * 1000),
                w.n.to_string(),
                rate(w.min_bps),
                rate(w.p5_bps),
                rate(w.p50_bps),
                rate(w.p95_bps),
                rate(w.max_bps),
                decimal(w.cv),
                decimal(w.autocorrelation),
            ]
        }));
        if rows.len() > 1 {
            text += &aligned(&rows);
            text += "CV: standard deviation by mean; next: correlation of a window with the next\n";
        }
        text += &match self.correlation_ms {
            Some(ms) => format!(
                "correlation time: {} (autocorrelation below 1/e, windows of 100 ms)\n",
                duration(ms * 1000)
            ),
            None if (self.windows.first()).is_some_and(|w| w.min_bps == w.max_bps) => {
                "correlation time: none, all windows are equal\n".to_owned()
            }
            None => "correlation time: none within a quarter of the trace or a minute\n".to_owned(),
        };
        text + &self.outages.text(self.duration_ms) + "\n"
    }
}

impl WindowRates {
    /// Returns the figures of these rates; `None` without any.
    fn of(rates: &[f64], window_ms: u64) -> Option<WindowRates> {
        let mut sorted = rates.to_vec();
        sorted.sort_by(f64::total_cmp);
        let percentile = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil() as usize;
            sorted[rank.clamp(1, sorted.len()) - 1]
        };
        let (&min_bps, &max_bps) = (sorted.first()?, sorted.last()?);
        let n = rates.len();
        let (mean, variance) = moments(rates);
        Some(WindowRates {
            window_ms,
            n,
            min_bps,
            p5_bps: percentile(0.05),
            p50_bps: percentile(0.5),
            p95_bps: percentile(0.95),
            max_bps,
            cv: (n > 1 && mean > 0.0).then(|| variance.sqrt() / mean),
            autocorrelation: autocorrelation(rates, (mean, variance), 1),
        })
    }
}

impl Outages {
    fn of(trace: &Trace, at_least_ms: u64) -> Outages {
        let mut outages = Outages {
            at_least_ms,
            number: 0,
            total_ms: 0,
            longest_ms: 0,
            longest_at_ms: 0,
        };
        for (from_ms, ms) in silences(trace).filter(|(_, ms)| *ms >= at_least_ms) {
            outages.number += 1;
            outages.total_ms += ms;
            if ms > outages.longest_ms {
                (outages.longest_ms, outages.longest_at_ms) = (ms, from_ms);
            }
        }
        outages
    }

    fn text(&self, duration_ms: u64) -> String {
        let threshold = duration(self.at_least_ms.saturating_mul(1000));
        match self.number {
            0 => format!("no outage of {threshold} or more"),
            number => format!(
                "{} of {threshold} or more: {} in all ({} % of the time), the longest {} from {} on",
                count(number, "outage"),
                duration(self.total_ms * 1000),
                short(100.0 * self.total_ms as f64 / duration_ms as f64, 2),
                duration(self.longest_ms * 1000),
                duration(self.longest_at_ms * 1000)
            ),
        }
    }
}

/// Returns the times between opportunities: begin and length in ms. The last opportunity is at the period's end, so
/// the time before the first one goes on from there.
pub(crate) fn silences(trace: &Trace) -> impl Iterator<Item = (u64, u64)> {
    let mut from_ms = 0;
    trace.times_ms().iter().map(move |&at_ms| {
        let silence = (from_ms, u64::from(at_ms) - from_ms);
        from_ms = u64::from(at_ms);
        silence
    })
}

/// Returns the rates of whole windows, in bits per second. An opportunity at a window's end is in it.
pub(crate) fn window_bps(trace: &Trace, window_ms: u64) -> Vec<f64> {
    let mut rates = curve_bps(trace, window_ms);
    rates.truncate((trace.period_ms() / window_ms) as usize);
    rates
}

/// Returns the rates of all windows, in bits per second. The last may be shorter than the others.
pub(crate) fn curve_bps(trace: &Trace, window_ms: u64) -> Vec<f64> {
    let period_ms = trace.period_ms();
    let mut counts = vec![0_u32; period_ms.div_ceil(window_ms) as usize];
    for &at_ms in trace.times_ms() {
        counts[(u64::from(at_ms).saturating_sub(1) / window_ms) as usize] += 1;
    }
    let rates = (0..).zip(counts).map(|(i, n)| {
        let ms = window_ms.min(period_ms - i * window_ms);
        f64::from(n) * (OPPORTUNITY_BITS * 1e3 / ms as f64)
    });
    rates.collect()
}

/// Returns the mean and the variance, of these values as a whole.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|v| (v - mean) * (v - mean));
    (mean, squares.sum::<f64>() / n)
}

/// Returns the autocorrelation at a lag; `None` if all values are equal, or none has another at this lag.
fn autocorrelation(values: &[f64], (mean, variance): (f64, f64), lag: usize) -> Option<f64> {
    let later = values.get(lag..).filter(|later| !later.is_empty())?;
    let products = values
        .iter()
        .zip(later)
        .map(|(a, b)| (a - mean) * (b - mean));
    (variance > 0.0).then(|| products.sum::<f64>() / (variance * values.len() as f64))
}

fn correlation_ms(rates: &[f64]) -> Option<u64> {
    let most = (rates.len() / 4).min(MAX_LAG);
    let moments = moments(rates);
    let below =
        |lag: &usize| autocorrelation(rates, moments, *lag).is_some_and(|r| r < INDEPENDENT);
    let lag = (1..=most).find(below)?;
    Some(lag as u64 * WINDOWS_MS[0])
}

/// Returns rows with their columns aligned: the first to the left, others to the right.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|i| width(i).unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.map(|(i, (cell, width))| match i {
            0 => format!("{cell:width$}"),
            _ => format!("  {cell:>width$}"),
        });
        cells.collect::<String>() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(times_ms: impl IntoIterator<Item = u32>) -> Trace {
        Trace::new(times_ms.into_iter().collect()).unwrap()
    }

    #[test]
    fn any_limit_of_outages_can_be_asked_for() {
        let text = Summary::of(&trace([1000]), u64::MAX / 1000 + 1).text();
        assert!(text.contains("no outage of 18446744073709.5"), "{text}");
    }

    #[test]
    fn a_curve_has_a_shorter_window_at_the_end() {
        let trace = trace([1, 2, 3]);
        assert_eq!(window_bps(&trace, 2), [12e6]);
        assert_eq!(curve_bps(&trace, 2), [12e6, 12e6]);
    }

    #[test]
    fn rates_are_counted_in_windows_that_include_their_end() {
        let rates = window_bps(&trace([0, 100, 100, 101, 300, 350]), 100);
        // Three, one and one opportunity of 12000 bits; the rest of 50 ms is left out.
        assert_eq!(rates, [360_000.0, 120_000.0, 120_000.0]);
        assert_eq!(window_bps(&trace([99]), 100), [0.0; 0]);
    }

    /// Ten windows of 100 ms with 1 to 10 opportunities.
    fn stairs() -> Trace {
        trace((0..10).flat_map(|w| std::iter::repeat_n(100 * (w + 1), w as usize + 1)))
    }

    #[test]
    fn figures_are_those_of_the_windows() {
        let summary = Summary::of(&stairs(), 100);
        assert_eq!(summary.opportunities, 55);
        assert_eq!(summary.duration_ms, 1000);
        assert!((summary.mean_bps - 660_000.0).abs() < 1e-6);
        let [tenths, seconds] = &summary.windows[..] else {
            panic!("{summary:?}");
        };
        assert_eq!((tenths.window_ms, tenths.n), (100, 10));
        let of_count = |n: f64| n * 120_000.0;
        assert_eq!(tenths.min_bps, of_count(1.0));
        assert_eq!(tenths.p5_bps, of_count(1.0));
        assert_eq!(tenths.p50_bps, of_count(5.0));
        assert_eq!(tenths.p95_bps, of_count(10.0));
        assert_eq!(tenths.max_bps, of_count(10.0));
        // Of 1 to 10: mean 5.5, variance 8.25; products of neighbours sum to 57.75.
        assert!((tenths.cv.unwrap() - 8.25_f64.sqrt() / 5.5).abs() < 1e-12);
        assert!((tenths.autocorrelation.unwrap() - 57.75 / 82.5).abs() < 1e-12);
        assert_eq!(
            (seconds.n, seconds.cv, seconds.autocorrelation),
            (1, None, None)
        );
        assert_eq!(seconds.min_bps, 660_000.0);
    }

    #[test]
    fn a_short_trace_has_no_windows() {
        let summary = Summary::of(&trace([50]), 100);
        assert_eq!(summary.windows, []);
        assert_eq!(
            summary.text(),
            "1 opportunity of 1500 bytes in 50 ms: mean 240 kbit/s\n\
             correlation time: none within a quarter of the trace or a minute\n\
             no outage of 100 ms or more\n"
        );
    }

    #[test]
    fn outages_are_times_without_delivery() {
        let outages = |times: &[u32], at_least_ms| {
            let summary = Summary::of(&trace(times.iter().copied()), at_least_ms);
            summary.outages
        };
        // The time before the first opportunity counts.
        let found = outages(&[150, 160, 460, 560, 900, 1000], 100);
        assert_eq!(
            found,
            Outages {
                at_least_ms: 100,
                number: 5,
                total_ms: 990,
                longest_ms: 340,
                longest_at_ms: 560
            }
        );
        assert_eq!(outages(&[150, 160, 460, 560, 900, 1000], 101).number, 3);
        let none = outages(&[50, 100], 100);
        assert_eq!((none.number, none.total_ms, none.longest_ms), (0, 0, 0));
    }

    #[test]
    fn the_correlation_time_is_where_rates_become_independent() {
        // 12 windows of 5, then 12 of 1, and so on.
        let slow = (0..240_u32).flat_map(|w| {
            let n = if w / 12 % 2 == 0 { 5 } else { 1 };
            std::iter::repeat_n(100 * (w + 1), n)
        });
        let summary = Summary::of(&trace(slow), 1000);
        // The autocorrelation is 1 - lag/6 up to the edges: below 1/e from lag 4 on.
        assert_eq!(summary.correlation_ms, Some(400));
        // Equal rates have none.
        let equal = Summary::of(&trace((1..=100).map(|w| 100 * w)), 1000);
        assert_eq!(equal.correlation_ms, None);
        assert_eq!(equal.windows[0].autocorrelation, None);
        assert_eq!(equal.windows[0].cv, Some(0.0));
    }

    #[test]
    fn the_text_has_all_figures() {
        testing::golden(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/summary.txt"),
            &Summary::of(&stairs(), 100).text(),
        );
    }
}
