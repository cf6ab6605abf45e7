//! Exit codes, and which error has which.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use config::ConfigError;
use findings::FindingsError;
use import::ImportError;
use lab::{LabError, MatrixError, NoHome, StacksError, UnknownStudy};
use link::{NetworkError, OverrideError};
use record::{MergeError, StoreError};
use remote::RemoteError;

use crate::out;

/// Success, and every check passed.
pub(crate) const PASS: u8 = 0;
/// Anything that no other code is for.
const ERROR: u8 = 1;
/// The command line is wrong: an unknown option or name, a value out of range, a file that is not
/// there. A mistake inside a file is an [`ERROR`].
pub(crate) const USAGE: u8 = 2;
/// A threshold or a check failed.
pub(crate) const THRESHOLD: u8 = 3;
/// This machine cannot do what was asked for.
pub(crate) const UNSUITABLE: u8 = 4;
/// `link` itself failed, not its command, as with env(1) and timeout(1): the smaller codes are the
/// command's own.
pub(crate) const WRAPPER: u8 = 125;
/// The command exists but cannot be run (POSIX, Shell Command Language, section 2.8.2).
pub(crate) const NOT_RUN: u8 = 126;
/// The command does not exist (same section).
pub(crate) const NOT_FOUND: u8 = 127;
/// Interrupted by the user; the records are valid.
pub(crate) const INTERRUPTED: u8 = 130;

/// Prints an error with its causes, and returns the exit code.
pub(crate) fn code(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            out::styled_line(&format!("commute: {}", message(&e, true)));
            ExitCode::from(code_of(&e))
        }
    }
}

/// Returns an error that exits with [`USAGE`].
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    with(USAGE, anyhow::Error::msg(message.into()))
}

/// Returns an error that exits with [`UNSUITABLE`] and whose message has several lines; names in it must be neutralised
/// already.
pub(crate) fn unsuitable(lines: String) -> anyhow::Error {
    with(UNSUITABLE, Lines(lines).into())
}

/// Gives an error an exit code of its own.
pub(crate) fn with(code: u8, error: anyhow::Error) -> anyhow::Error {
    Coded { code, error }.into()
}

/// Describes a file that the command line names and that cannot be read or written; where that is the
/// name's fault, it exits with [`USAGE`].
pub(crate) fn file_error(what: String, error: io::Error) -> anyhow::Error {
    let code = if is_wrong_name(&error) { USAGE } else { ERROR };
    with(code, anyhow::Error::new(error).context(what))
}

/// Returns the exit code of an error.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Coded>() {
        Some(coded) => coded.code,
        None if matches!(error.downcast_ref(), Some(LabError::Bench(_))) => UNSUITABLE,
        None if is_usage(error) => USAGE,
        None => ERROR,
    }
}

/// Returns whether an error of a library is about the command line. What a file names, e.g. an unknown
/// stack in a study, comes as [`LabError::Study`].
fn is_usage(error: &anyhow::Error) -> bool {
    let of_lab = |e: &LabError| match e {
        LabError::Read { source, .. } => is_wrong_name(source),
        LabError::NotToml { .. } => true,
        LabError::Network(e) => is_unknown_network(e),
        LabError::Stack(e) => is_unknown_stack(e),
        LabError::Store(e) => is_wrong_folder(e),
        LabError::Jobs { .. }
        | LabError::FewerBlocks { .. }
        | LabError::Imported
        | LabError::OtherPlan { .. } => true,
        _ => false,
    };
    let of_import = |e: &ImportError| matches!(e, ImportError::Baseline { .. });
    let of_matrix =
        |e: &MatrixError| matches!(e, MatrixError::Io { source, .. } if is_wrong_name(source));
    let of_merge = |e: &MergeError| !matches!(e, MergeError::Data(_));
    error.downcast_ref().is_some_and(of_lab)
        || error.downcast_ref().is_some_and(is_unknown_stack)
        || error.downcast_ref().is_some_and(is_unknown_network)
        || error.downcast_ref().is_some_and(is_wrong_folder)
        || error.downcast_ref().is_some_and(of_import)
        || error.downcast_ref().is_some_and(of_matrix)
        || error.downcast_ref().is_some_and(of_merge)
        || error.downcast_ref().is_some_and(RemoteError::is_usage)
        || error.is::<OverrideError>()
        || error.is::<NoHome>()
        || error.is::<UnknownStudy>()
}

fn is_unknown_network(error: &NetworkError) -> bool {
    matches!(error, NetworkError::Unknown { .. })
}

fn is_unknown_stack(error: &StacksError) -> bool {
    matches!(
        error,
        StacksError::Unknown { .. } | StacksError::UnknownServer { .. }
    )
}

fn is_wrong_folder(error: &StoreError) -> bool {
    match error {
        StoreError::Exists { .. } | StoreError::NoRun { .. } => true,
        StoreError::Read { source, .. } | StoreError::Write { source, .. } => is_wrong_name(source),
        StoreError::Merge(source) => !matches!(source, MergeError::Data(_)),
        _ => false,
    }
}

/// Returns whether a file was named that is not there, or is of another kind.
fn is_wrong_name(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

/// An error with an exit code of its own.
#[derive(Debug)]
struct Coded {
    code: u8,
    error: anyhow::Error,
}

impl std::fmt::Display for Coded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&message(&self.error, f.alternate()))
    }
}

impl Error for Coded {}

/// A message of several lines that no name can add a line to.
#[derive(Debug)]
struct Lines(String);

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Lines {}

/// Joins an error with its causes, without those that its own message already contains. A mistake in a file is shown
/// in colours if `styled`.
fn message(e: &anyhow::Error, styled: bool) -> String {
    let shown = |cause: &(dyn Error + 'static)| {
        let plain = cause.to_string();
        let harmless = match has_lines(cause) {
            true => neutral::lines(&plain),
            false => neutral::plain(&plain.replace('\n', " ")),
        };
        match styled && harmless == plain {
            // Whatever more the styled text has is the style.
            true => format!("{cause:#}"),
            false => harmless,
        }
    };
    let mut causes = e.chain().map(shown);
    let mut text = causes.next().unwrap_or_default();
    for cause in causes {
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

/// Returns whether the line feeds of a message are its own. Those of other messages are of a name, e.g. of a file, and
/// become spaces: a name must not look like another message.
fn has_lines(cause: &(dyn Error + 'static)) -> bool {
    let of_network = |e: &NetworkError| matches!(e, NetworkError::File(_));
    let of_stacks = |e: &StacksError| matches!(e, StacksError::Manifest(_));
    let of_lab = |e: &LabError| match e {
        LabError::Study(_) => true,
        LabError::Network(e) => of_network(e),
        LabError::Stack(e) => of_stacks(e),
        _ => false,
    };
    cause.is::<ConfigError>()
        || cause.is::<Lines>()
        || cause.is::<Coded>()
        || cause.downcast_ref().is_some_and(of_lab)
        || cause.downcast_ref().is_some_and(of_network)
        || cause.downcast_ref().is_some_and(of_stacks)
        || matches!(cause.downcast_ref(), Some(FindingsError::Claims(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_name_adds_no_line() {
        let lines = "none can be measured\n  arm `a`: b\n`commute stacks` lists them";
        assert_eq!(message(&unsuitable(lines.into()), true), lines);
        let mistake = || config::Source::new("a\n  b.toml", "x = 1").error(&(4..5), "no\n  no");
        let excerpt = "a   b.toml:1:5: no   no\n  |\n1 | x = 1\n  |     ^";
        for e in [
            mistake().into(),
            LabError::from(mistake()).into(),
            LabError::from(StacksError::from(mistake())).into(),
            LabError::from(NetworkError::from(mistake())).into(),
            StacksError::from(mistake()).into(),
            NetworkError::from(mistake()).into(),
            FindingsError::from(mistake()).into(),
        ] {
            assert_eq!(message(&e, false), excerpt, "{e:?}");
        }
        let path = std::path::PathBuf::from("a\n  |\n2 | y\n  arm `b`: c\n`commute run` d");
        let forged = "a   | 2 | y   arm `b`: c `commute run` d";
        let read = LabError::Read {
            path: path.clone(),
            source: io::ErrorKind::NotFound.into(),
        };
        let no_run = StoreError::NoRun { dir: path.clone() };
        for e in [
            read.into(),
            no_run.into(),
            usage(path.display().to_string()),
        ] {
            let text = message(&e, true);
            assert!(text.contains(forged) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn causes_are_not_repeated() {
        let cause = anyhow::anyhow!("no such file");
        assert_eq!(
            message(&cause.context("cannot read a.toml"), true),
            "cannot read a.toml: no such file"
        );
        let repeated = anyhow::anyhow!("no such file").context("a.toml: no such file");
        assert_eq!(message(&repeated, true), "a.toml: no such file");
    }

    #[test]
    fn colours_are_ours_only() {
        let mistake = || config::Source::new("a.toml", "x = 1").error(&(4..5), "no");
        let coded = || with(WRAPPER, LabError::from(mistake()).into());
        for error in [LabError::from(mistake()).into(), coded()] {
            assert!(message(&error, true).contains('\u{1b}'), "{error}");
            assert!(!message(&error, false).contains('\u{1b}'), "{error}");
        }
        let evil = anyhow::anyhow!("\u{1b}[8m\u{202e}a").context("b");
        assert_eq!(message(&evil, true), "b: \u{fffd}[8m\u{fffd}a");
        let named = config::Source::new("\u{1b}[8m.toml", "x = 1").error(&(4..5), "no");
        assert!(!message(&named.into(), true).contains("\u{1b}[8m"));
    }

    #[test]
    fn what_the_command_line_names_wrongly_is_a_usage_error() {
        let unknown = || link::find("no-such-network").unwrap_err();
        assert_eq!(code_of(&unknown().into()), USAGE);
        assert_eq!(code_of(&LabError::from(unknown()).into()), USAGE);
        // A context around it makes no difference.
        let within = Err::<(), _>(unknown()).context("--network").unwrap_err();
        assert_eq!(code_of(&within), USAGE);
        let source = config::Source::new("a.toml", "networks = [\"no-such-network\"]");
        let named_in_a_file = source.error(&(12..29), unknown().to_string());
        assert_eq!(code_of(&LabError::from(named_in_a_file).into()), ERROR);
    }

    #[test]
    fn only_a_wrong_name_of_a_file_is_a_usage_error() {
        for (kind, code) in [
            (io::ErrorKind::NotFound, USAGE),
            (io::ErrorKind::IsADirectory, USAGE),
            (io::ErrorKind::PermissionDenied, ERROR),
        ] {
            let error = file_error("cannot read a".into(), kind.into());
            assert_eq!(code_of(&error), code, "{kind:?}");
            assert!(error.to_string().starts_with("cannot read a: "), "{error}");
        }
    }
}
