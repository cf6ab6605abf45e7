//! The formats of a report. Nothing else imports them but the comparison of runs.

pub(crate) mod brief;
pub mod captured;
pub(crate) mod card;
pub(crate) mod csv;
pub(crate) mod html;
pub(crate) mod human;
pub(crate) mod markdown;
pub(crate) mod path;
pub(crate) mod remedies;
pub(crate) mod table;
pub(crate) mod why;
