//! Why a capture cannot be explained.

use std::fmt;

/// What is wrong with a capture, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {place}{problem}")]
pub struct CaptureError {
    /// The file's name, or both files' names.
    pub(crate) file: String,
    pub(crate) place: Place,
    pub(crate) problem: String,
}

/// Where in a file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The file as a whole.
    File,
    /// A place in bytes from the file's start.
    Offset(usize),
    /// A packet by its number, counted from 1 as in Wireshark.
    Packet(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Offset(bytes) => write!(f, "at byte {bytes}: "),
            Place::Packet(number) => write!(f, "packet {number}: "),
        }
    }
}

impl CaptureError {
    pub(crate) fn new(file: &str, place: Place, problem: impl Into<String>) -> CaptureError {
        CaptureError {
            file: file.to_owned(),
            place,
            problem: problem.into(),
        }
    }
}
