//! Numbers and verdicts in words.

pub(crate) mod number;
pub(crate) mod text;
pub(crate) mod verdict;
