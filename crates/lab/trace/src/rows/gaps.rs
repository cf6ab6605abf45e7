//! From rows to intervals: what holds after each row, and what in gaps.

use super::{Columns, Gaps, Row};
use crate::error::ImportError;
use crate::imported::Span;
use crate::interval::Interval;
use crate::words;

/// Without a limit of the user's own, rows this many times the usual time apart have a gap between them. Data sets
/// of one row per second often have two seconds between rows.
const GAP_STEPS: u64 = 3;

/// Returns the intervals that the rows begin: each rate holds until the next row, the last for the usual time.
/// Only gaps and missing rates within the span are reported.
pub(super) fn intervals(
    rows: &[Row],
    columns: &Columns,
    span: Span,
    notes: &mut Vec<String>,
) -> Result<Vec<Interval>, ImportError> {
    let pairs = || rows.windows(2);
    let steps = || pairs().map(|pair| pair[0].at_us.abs_diff(pair[1].at_us));
    let mut sorted: Vec<u64> = steps().collect();
    sorted.sort_unstable();
    let Some(&usual_us) = sorted.get(sorted.len() / 2) else {
        return Err(ImportError::whole(
            "all rows have the same time, so the trace has no length",
        ));
    };
    let max_us = (columns.max_gap_us).unwrap_or(usual_us.saturating_mul(GAP_STEPS));
    if max_us < usual_us {
        return Err(ImportError::whole(format!(
            "--max-gap is {}, and rows are usually {} apart; give at least that",
            words::duration(max_us),
            words::duration(usual_us)
        )));
    }
    notes.push(format!(
        "rows are {0} apart by the median; each rate holds until the next row, the last for {0}",
        words::duration(usual_us)
    ));
    let mut intervals = Vec::with_capacity(rows.len());
    let (mut gaps, mut without_rate) = (Found::default(), Found::default());
    let (mut held_bps, mut start_us) = (None, 0);
    for (row, us) in rows.iter().zip(steps().chain([usual_us])) {
        let end_us = start_us + us;
        if row.bps.is_none() && span.overlaps(start_us, end_us) {
            without_rate.add(row.line);
            let bps = in_place_of_rate(columns.gaps, held_bps);
            held_bps = Some(bps.map_err(|message| ImportError::at(row.line, message))?);
        } else {
            held_bps = row.bps.or(held_bps);
        }
        // Without a rate up to here, the span begins later.
        let bps = held_bps.unwrap_or(0);
        let is_gap = us > max_us && span.overlaps(start_us + usual_us, end_us);
        start_us = end_us;
        if is_gap {
            gaps.add(row.line);
        }
        match columns.gaps {
            Gaps::Error if is_gap => {
                return Err(gap_error(row.line, us, usual_us, max_us));
            }
            Gaps::Zero if is_gap => {
                intervals.push(Interval { us: usual_us, bps });
                intervals.push(Interval {
                    us: us - usual_us,
                    bps: 0,
                });
            }
            _ => intervals.push(Interval { us, bps }),
        }
    }
    let then = match columns.gaps {
        Gaps::Zero => "nothing is delivered then",
        Gaps::Error | Gaps::Hold => "the rate before holds then",
    };
    if let Some(first) = without_rate.first {
        notes.push(format!(
            "{} without a rate, the first on line {first}; {then}",
            words::count(without_rate.number, "row")
        ));
    }
    if let Some(first) = gaps.first {
        notes.push(format!(
            "{} of more than {}, the first after line {first}; {then}",
            words::count(gaps.number, "gap"),
            words::duration(max_us)
        ));
    }
    Ok(intervals)
}

/// Returns the rate of a row that has none; `held_bps` is that of the row before.
fn in_place_of_rate(gaps: Gaps, held_bps: Option<u64>) -> Result<u64, &'static str> {
    match (gaps, held_bps) {
        (Gaps::Error, _) => Err(
            "the row has no rate; state what holds then: --gaps hold (the rate before) or --gaps zero (nothing is \
             delivered)",
        ),
        (Gaps::Zero, _) => Ok(0),
        (Gaps::Hold, Some(bps)) => Ok(bps),
        (Gaps::Hold, None) => Err(
            "the first row has no rate, and there is none before it to hold; use --gaps zero, or remove the row",
        ),
    }
}

/// How many of something were found, and the line of the first.
#[derive(Default)]
struct Found {
    number: usize,
    first: Option<u64>,
}

impl Found {
    fn add(&mut self, line: u64) {
        self.number += 1;
        self.first.get_or_insert(line);
    }
}

fn gap_error(line: u64, us: u64, usual_us: u64, max_us: u64) -> ImportError {
    let message = format!(
        "the next row is {} later, and rows are usually {} apart; state what holds in gaps of more than {}: --gaps \
         hold (the rate before) or --gaps zero (nothing is delivered), or allow longer ones with --max-gap",
        words::duration(us),
        words::duration(usual_us),
        words::duration(max_us)
    );
    ImportError::at(line, message)
}
