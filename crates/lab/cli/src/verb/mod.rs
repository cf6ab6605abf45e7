//! One file or folder per verb: its arguments and its `run`.

pub(crate) mod codec;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod confined;
pub(crate) mod doctor;
pub(crate) mod driver;
pub(crate) mod findings;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod link;
pub(crate) mod man;
pub(crate) mod networks;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod stacks;
pub(crate) mod studies;
pub(crate) mod trace;
pub(crate) mod why;
