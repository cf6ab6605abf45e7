//! Known answers, printed: expected, got, margin.

use record::Check;

use crate::exit;

/// Prints every check and says by the exit code whether all held.
pub(crate) fn print(checks: &[Check], json: bool) -> anyhow::Result<u8> {
    if json {
        println!("{}", serde_json::to_string_pretty(checks)?);
        return Ok(code(checks));
    }
    for check in checks {
        println!("{}", lab::check_line(check));
    }
    Ok(sum_up(checks))
}

/// The last line, and the exit code.
pub(crate) fn sum_up(checks: &[Check]) -> u8 {
    println!(
        "{} of {} hold",
        checks.iter().filter(|c| c.pass).count(),
        checks.len()
    );
    code(checks)
}

/// Whether all held.
pub(crate) fn code(checks: &[Check]) -> u8 {
    if checks.iter().all(|c| c.pass) {
        exit::PASS
    } else {
        exit::THRESHOLD
    }
}
