//! Checks that each group has enough requests for the tail that a study asks for.

use config::{ConfigError, Percent, Source};
use record::Position;
use toml::Spanned;

use crate::Step;
use crate::plan::{Workload, planned_calls};

/// Checks that the percentile is one of the slower half, and that in each block every group has at
/// least one request beyond it.
pub(super) fn check(
    percent: &Spanned<Percent>,
    steps: &[Step],
    source: &Source<'_>,
) -> Result<(), ConfigError> {
    let p = f64::from(*percent.get_ref());
    if !(p > 50.0 && p < 100.0) {
        let message = format!("tail_percent = {p} is out of range: above 50 and below 100");
        return Err(source.error(&percent.span(), message));
    }
    let needed = fewest_requests(p);
    let workload = Workload::expand(steps);
    let calls = planned_calls(&workload);
    // How many requests a load makes is not planned: a tail that it is too short for is left out of the
    // report.
    for group in workload.groups.iter().filter(|g| g.load.is_none()) {
        let of_group = || calls.iter().filter(|call| call.group == group.name);
        // As in the report: warm requests, or first ones where there are none.
        let position = of_group().map(|call| call.position).max();
        let has = of_group()
            .filter(|call| Some(call.position) == position)
            .count();
        if has < needed {
            let name = &group.name;
            let which = match position {
                Some(Position::Warm) => "warm requests",
                _ => "requests",
            };
            let message = format!(
                "tail_percent = {p} needs at least {needed} {which} of each group in a block; \
                 group `{name}` has {has}"
            );
            return Err(source.error(&percent.span(), message));
        }
    }
    Ok(())
}

/// Returns how many requests it takes for one to be expected beyond this percentile.
fn fewest_requests(percent: f64) -> usize {
    // Neither 99.9 nor the quotient is exact in binary.
    (100.0 / (100.0 - percent) - 1e-6).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_expected_beyond_the_percentile() {
        let expected = [
            (95.0, 20),
            (99.0, 100),
            (99.9, 1_000),
            (90.0, 10),
            (60.0, 3),
        ];
        for (percent, requests) in expected {
            assert_eq!(fewest_requests(percent), requests, "{percent}");
        }
    }
}
