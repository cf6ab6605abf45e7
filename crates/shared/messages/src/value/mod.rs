//! Value files: one message per file, in a format that any language can read in sixty lines.
//!
//! The format (`docs/codec-runner.md`) has one line per leaf, in the order of the schema, with
//! floating-point numbers as their bits. Equal files are equal messages, bit for bit.

mod read;
mod write;

use serde::Serialize;

use crate::{Kind, Message};

/// The error for a file that does not hold a message of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ValueError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub problem: String,
}

/// Writes the message as a value file.
pub fn to_value(message: &Message) -> String {
    let mut writer = write::Writer::default();
    let written = with_message!(message, m => m.serialize(&mut writer));
    written.expect("the format covers every type in the schema");
    writer.text
}

/// Reads a value file.
pub fn from_value(kind: Kind, text: &str) -> Result<Message, ValueError> {
    with_kind!(kind, T => read::message::<T>(text).map(Message::from))
}
