//! What a run found.

use serde::Serialize;

use crate::checks::Protocol;

/// What came of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", content = "detail", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It passed; what it measured, if anything.
    Pass(String),
    /// It failed, with this error.
    Fail(String),
    /// The server does not offer it, for this reason.
    NotOffered(String),
    /// It could not be run here, for this reason.
    Skipped(String),
}

/// A cell with its outcome: a line of the JSON file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cell {
    /// The server's name.
    pub(crate) server: String,
    /// The version of HTTP.
    pub(crate) protocol: Protocol,
    /// The check's name.
    pub(crate) check: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    /// How long it took.
    pub(crate) seconds: f64,
}

/// A server with its version, or why it could not be tested.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// Where it comes from.
    pub(crate) source: String,
    /// What it says of its version, or why it is skipped.
    pub(crate) version: Result<String, String>,
}

/// All that a run found.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// The servers.
    pub(crate) rows: Vec<Row>,
    /// Their cells.
    pub(crate) cells: Vec<Cell>,
    /// Clients against `commute serve`.
    pub(crate) clients: Vec<Found>,
}

/// A client and what came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    /// Its name.
    pub(crate) client: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}
