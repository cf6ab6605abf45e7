//! The answer: what a reader is advised to do, as a summary with its sentences.

pub(crate) mod advice;
pub(crate) mod because;
pub(crate) mod call_path;
pub(crate) mod repeat;
pub(crate) mod senders;
pub(crate) mod sentence;
pub(crate) mod summarise;
pub(crate) mod wording;
