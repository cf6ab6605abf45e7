//! Exit codes, in one place.

use std::process::ExitCode;

/// Done, and everything asked for held.
pub(crate) const PASS: u8 = 0;
/// A threshold or a check did not hold.
pub(crate) const THRESHOLD: u8 = 3;
/// This machine cannot do what was asked.
pub(crate) const UNFIT: u8 = 4;
/// The command is there but cannot be run, as shells say it (POSIX, Shell Command Language
/// 2.8.2).
pub(crate) const NOT_RUN: u8 = 126;
/// There is no such command; the same source.
pub(crate) const NOT_FOUND: u8 = 127;
/// Stopped by the user; what was recorded is valid.
pub(crate) const INTERRUPTED: u8 = 130;

/// Marks an error as the machine's, not the tool's.
#[derive(Debug)]
pub(crate) struct Unfit(pub(crate) anyhow::Error);

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&message(&self.0))
    }
}

impl std::error::Error for Unfit {}

/// Prints an error with its causes and turns the result into a code.
pub(crate) fn code(done: anyhow::Result<u8>) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            eprintln!("commute: {}", message(&e));
            ExitCode::from(if e.is::<Unfit>() { UNFIT } else { 1 })
        }
    }
}

/// An error with its causes, but for those that it has told itself.
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
    fn a_cause_is_told_once() {
        let cause = anyhow::anyhow!("no such file");
        assert_eq!(
            message(&cause.context("cannot read a.toml")),
            "cannot read a.toml: no such file"
        );
        let told = anyhow::anyhow!("no such file").context("a.toml: no such file");
        assert_eq!(message(&told), "a.toml: no such file");
    }
}
