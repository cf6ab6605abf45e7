//! Prints the checks of `doctor` and `networks check`.

use record::Check;

use crate::{exit, out};

/// Prints one check.
pub(crate) fn print_line(check: &Check) -> anyhow::Result<()> {
    out::text(&(lab::check_line(check) + "\n"))
}

/// Prints how many checks passed, and returns the exit code.
pub(crate) fn print_total(checks: &[Check]) -> anyhow::Result<u8> {
    let passed = checks.iter().filter(|c| c.pass).count();
    out::text(&format!("{passed} of {} checks passed\n", checks.len()))?;
    Ok(code(checks))
}

/// Returns the exit code: whether all checks passed.
pub(crate) fn code(checks: &[Check]) -> u8 {
    if checks.iter().all(|c| c.pass) {
        exit::PASS
    } else {
        exit::THRESHOLD
    }
}
