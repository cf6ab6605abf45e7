//! Value files: one message, leaf by leaf, that any language reads in sixty lines.
//!
//! The form is that of `docs/codec-runner.md`: one line a leaf, in the order of the schema,
//! floating-point numbers by their bits. Two equal files are two equal messages, to the bit.

mod read;
mod write;

use serde::Serialize;

use crate::{Kind, Message};

/// A value file that does not hold such a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ValueError {
    /// From 1.
    pub line: usize,
    /// What was wrong, and what would be right.
    pub problem: String,
}

/// The message as a value file.
pub fn to_value(message: &Message) -> String {
    let mut writer = write::Writer::default();
    let written = with_message!(message, m => m.serialize(&mut writer));
    written.expect("every kind of message is made of what the form knows");
    writer.text
}

/// Reads a value file.
pub fn from_value(kind: Kind, text: &str) -> Result<Message, ValueError> {
    with_kind!(kind, T => read::message::<T>(text).map(Message::from))
}
