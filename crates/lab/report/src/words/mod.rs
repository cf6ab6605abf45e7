//! Numbers, verdicts and their reasons in words.

pub(crate) mod number;
pub(crate) mod part;
pub(crate) mod reason;
pub(crate) mod text;
pub(crate) mod verdict;
