//! Checks that a driver with its own clock measures time at the server's rate.

use driver::protocol::{Clock, Row};

use super::Log;

/// Allowed for the resolution of clients' clocks, which is 1 ms at worst.
const SLACK_NS: i128 = 2_000_000;
/// Clocks of different machines differ by up to 100 ppm each.
const MAX_DRIFT_PPM: i128 = 200;

/// Checks that one offset between both clocks lets the server see every request after its start and
/// before its first byte.
pub(super) fn check_rate(clock: Clock, rows: &[Row], log: &Log<'_>) -> Result<(), String> {
    if clock == Clock::Monotonic {
        return Ok(());
    }
    let seen = rows.iter().filter_map(|row| {
        let hit = log.requests.get(&row.id)?.last()?;
        let server_ns = i128::from(hit.start_ns);
        let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
        let least = server_ns - i128::from(first_byte_ns);
        Some((row, least, server_ns - i128::from(row.start_ns)))
    });
    let mut by_start: Vec<_> = seen.collect();
    by_start.sort_by_key(|(row, ..)| row.start_ns);
    check_later(by_start.iter(), 1)?;
    // The drift between two calls is the same whichever comes first.
    check_later(by_start.iter().rev(), -1)
}

/// Checks each call against those before it in this order. Only the tightest of those can contradict it, so the time to
/// check grows linearly with the number of calls. `direction` is 1 if starts increase and -1 if they decrease.
fn check_later<'a>(
    seen: impl Iterator<Item = &'a (&'a Row, i128, i128)>,
    direction: i128,
) -> Result<(), String> {
    // In parts of a million, so that nothing is rounded.
    let drift = |row: &Row| direction * i128::from(row.start_ns) * MAX_DRIFT_PPM;
    let mut tightest: Option<(i128, &Row, i128)> = None;
    for &(one, least, most) in seen {
        if let Some((bound, other, most)) = tightest
            && least * 1_000_000 - drift(one) > bound + SLACK_NS * 1_000_000
        {
            return Err(format!(
                "calls {} and {}: the driver's clock differs by {} µs from the server's between \
                 them",
                other.id,
                one.id,
                (least - most) / 1000
            ));
        }
        let bound = most * 1_000_000 - drift(one);
        if tightest.is_none_or(|(tightest, ..)| bound < tightest) {
            tightest = Some((bound, one, most));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{request, row};
    use super::*;

    const MS: u64 = 1_000_000;

    /// Checks two calls 1 s apart by the server's clock, with a driver's clock that runs at this rate.
    fn check(rate_percent: u64) -> Result<(), String> {
        let log = [request(1, 30 * MS), request(2, 1_030 * MS)];
        let rows = [0, 1_000].map(|at_ms| {
            let own = |ms: u64| 7_000 * MS + (at_ms + ms) * MS * rate_percent / 100;
            Row {
                first_byte_ns: Some(own(50)),
                end_ns: own(50),
                ..row(1 + at_ms as u32 / 1_000, own(0))
            }
        });
        check_rate(Clock::Own, &rows, &Log::new(&log).unwrap())
    }

    #[test]
    fn a_clock_at_another_rate_is_a_contradiction() {
        check(100).unwrap();
        for rate_percent in [50, 200] {
            let error = check(rate_percent).unwrap_err();
            assert!(error.contains("the driver's clock differs"), "{error}");
        }
    }
}
