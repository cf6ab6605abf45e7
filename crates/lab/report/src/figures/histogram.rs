//! The distribution of a group that is bound by time, in one cell.

use record::{CompactCell, Load};
use stats::Span;

/// Returns what a cell measured of a group.
pub(crate) fn of<'a>(cell: &'a CompactCell, group: &str) -> Option<&'a Load> {
    cell.loads.iter().find(|load| load.group == group)
}

/// Returns a quantile, 0 to 1, of a group's times in a cell, if it has enough requests for it. Requests
/// that were lost count as at least the timeout, and so does a cell that failed.
pub(crate) fn quantile(
    cell: &CompactCell,
    group: &str,
    share: f64,
    timeout_ns: u64,
) -> Option<Span> {
    let lost = Span::at_least(timeout_ns as f64);
    let Some(load) = of(cell, group) else {
        return (!cell.is_measured()).then_some(lost);
    };
    if load.calls < stats::fewest_requests(share) as u64 {
        return None;
    }
    // Neither 99.9 % nor the product is exact in binary.
    let rank = ((load.calls as f64 * share - 1e-6).ceil() as u64).max(1);
    let time = load.distribution().ok()?.at_rank(rank);
    Some(time.map_or(lost, |ns| Span::exact(ns as f64)))
}
