//! Why a file is not a trace.

use std::fmt;
use std::io;

/// Most characters of a file's text in a message.
const MAX_SHOWN_CHARS: usize = 40;

/// What is wrong in a file, and where. The message has what would be right. Text of the file in it is quoted.
#[derive(Debug, thiserror::Error)]
pub struct ImportError {
    /// The line, from 1; none if the file as a whole is wrong.
    pub line: Option<u64>,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The error of the read, if that failed.
    pub source: Option<io::Error>,
}

impl ImportError {
    pub(crate) fn at(line: u64, message: impl Into<String>) -> ImportError {
        ImportError {
            line: Some(line),
            ..ImportError::whole(message)
        }
    }

    pub(crate) fn whole(message: impl Into<String>) -> ImportError {
        ImportError {
            line: None,
            message: message.into(),
            source: None,
        }
    }
}

impl From<io::Error> for ImportError {
    fn from(source: io::Error) -> ImportError {
        ImportError {
            source: Some(source),
            ..ImportError::whole("cannot be read")
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Returns a text of the file as a message shows it: in quotes, without what a terminal would act on, cut short.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => neutral::quoted(&format!("{}…", &text[..end])),
        None => neutral::quoted(text),
    }
}
