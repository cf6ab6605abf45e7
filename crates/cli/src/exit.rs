//! Exit codes.

use crate::out;
use std::process::ExitCode;

/// Success, and every check passed.
pub(crate) const PASS: u8 = 0;
/// A threshold or a check failed.
pub(crate) const THRESHOLD: u8 = 3;
/// This machine cannot do what was asked for.
pub(crate) const UNSUITABLE: u8 = 4;
/// The command exists but cannot be run (POSIX, Shell Command Language, section 2.8.2).
pub(crate) const NOT_RUN: u8 = 126;
/// The command does not exist (same section).
pub(crate) const NOT_FOUND: u8 = 127;
/// Interrupted by the user; the records are valid.
pub(crate) const INTERRUPTED: u8 = 130;

/// Marks an error as a limit of this machine, which exits with [`UNSUITABLE`].
#[derive(Debug)]
pub(crate) struct Unsuitable(pub(crate) anyhow::Error);

impl std::fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&message(&self.0))
    }
}

impl std::error::Error for Unsuitable {}

/// Prints an error with its causes, and returns the exit code.
pub(crate) fn code(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            out::note!("commute: {}", message(&e));
            ExitCode::from(if e.is::<Unsuitable>() { UNSUITABLE } else { 1 })
        }
    }
}

/// Joins an error with its causes, without those that its own message already contains.
fn message(e: &anyhow::Error) -> String {
    let mut text = e.to_string();
    for cause in e.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_not_repeated() {
        let cause = anyhow::anyhow!("no such file");
        assert_eq!(
            message(&cause.context("cannot read a.toml")),
            "cannot read a.toml: no such file"
        );
        let repeated = anyhow::anyhow!("no such file").context("a.toml: no such file");
        assert_eq!(message(&repeated), "a.toml: no such file");
    }
}
