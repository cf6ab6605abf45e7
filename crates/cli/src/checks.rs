//! Known answers, printed: expected, got, margin.

use record::Check;

use crate::{exit, out};

/// Prints every check and says by the exit code whether all held.
pub(crate) fn print(checks: &[Check], json: bool) -> anyhow::Result<u8> {
    if json {
        out::json(&checks)?;
        return Ok(code(checks));
    }
    for check in checks {
        line(check)?;
    }
    sum_up(checks)
}

/// One check.
pub(crate) fn line(check: &Check) -> anyhow::Result<()> {
    out::print(&(lab::check_line(check) + "\n"))
}

/// The last line, and the exit code.
pub(crate) fn sum_up(checks: &[Check]) -> anyhow::Result<u8> {
    let held = checks.iter().filter(|c| c.pass).count();
    out::print(&format!("{held} of {} hold\n", checks.len()))?;
    Ok(code(checks))
}

/// Whether all held.
pub(crate) fn code(checks: &[Check]) -> u8 {
    if checks.iter().all(|c| c.pass) {
        exit::PASS
    } else {
        exit::THRESHOLD
    }
}
