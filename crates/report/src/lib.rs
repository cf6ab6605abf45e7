//! Reports on records: for the terminal, as HTML, JSON and CSV.
//!
//! The life of a report:
//!
//! 1. [`summarise`] takes a run as read from its folders. It selects the cells that count
//!    (`cells`), splits calls into populations by the plan (`population`), and estimates their figures
//!    (`measure`, `load`, `percentiles`, `phases`). It compares the arms with the baseline request by
//!    request (`compare`). It checks that copies of the baseline met the same losses (`pairing`), and
//!    adds costs (`cost`). It derives a recommendation for each network (`answer`, in words `sentence`) and
//!    over all of them (`overall`), or the reason why there is none (`unusable`).
//! 2. The [`Summary`] contains every figure that any format prints. It is a pure function of the
//!    records: the same records give the same bytes, however they were split into shards.
//! 3. The formats only lay it out. [`brief`] and, in full, [`human`] are for the terminal, [`json`] has a
//!    published schema (`docs/report.schema.json`), and [`html`] is one offline page. [`markdown`] is for a
//!    pull request, and [`card`] is a picture. [`csv`] is not a summary but the calls themselves, one per
//!    row, for other tools, and so are [`hdr_logs`], their histograms.
//!
//! [`apply_thresholds`] adds what a user's own conditions say of the figures ([`Threshold`]).
//!
//! [`compare_runs`] compares the arms of one run with those of another ([`RunChanges`]).
//!
//! [`ByBlock`] are the values by block behind all verdicts. [`decide`] makes the same verdicts of them
//! without the records, for `crates/findings`.
//!
//! Two rules apply to all formats. A number is printed with its n, its interval and its unit, or
//! not at all; where something failed, the failure takes the number's place. And sentence and table
//! are derived from the same verdicts, so that they cannot contradict each other.
//!
//! Names come from files that anyone may write: the terminal gets them without control characters,
//! the page gets them escaped by `maud`, Markdown by `markdown`, both without control characters.

mod answer;
mod brief;
mod by_block;
mod card;
mod cells;
mod changes;
mod coding;
mod compare;
mod configuration;
mod cost;
mod csv;
mod external;
mod hdr;
mod html;
mod human;
mod load;
mod markdown;
mod measure;
mod noise;
mod number;
mod overall;
mod pairing;
mod percentiles;
mod phases;
mod population;
mod quantity;
mod regret;
mod repeat;
mod repeated_packets;
mod sending;
mod sentence;
mod setup;
mod summarise;
mod summary;
mod sweep;
mod table;
mod text;
mod threshold;
mod unusable;
mod wording;

pub use brief::brief;
pub use by_block::{
    BYTES, BlockValue, ByBlock, Kind, Place, Values, decide, energy_labels, median,
};
pub use card::card;
pub use changes::{ArmChange, ChangeVerdict, RunChanges, RunFacts, compare_runs};
pub use compare::{ERROR, ranks};
pub use configuration::{Configuration, Difference};
pub use csv::{COLUMNS, csv};
pub use external::{External, RoundTrip};
pub use hdr::{HdrLog, hdr_logs};
pub use html::{html, html_beside_records, machine};
pub use human::human;
pub use markdown::markdown;
pub use number::{Size, count, duration, percent, size, with_interval};
pub use population::{PlannedMeasure, planned_measures};
pub use quantity::{Bound, Method, Quantity, Unit};
pub use regret::{Regret, regret};
pub use summarise::summarise;
pub use summary::arm::{
    ArmSummary, Attempts, CommonLosses, Costs, Energy, Role, Sending, Setup, Spread,
};
pub use summary::measure::{
    Comparison, LoadFigures, LoadPercentile, Mean, Measure, Part, Percentile, Phases,
};
pub use summary::{
    AaCheck, Advice, ArmNoise, CellCounts, ComparisonCounts, FORMAT, GroupSummary, Need,
    NetworkSummary, Summary,
};
pub use text::plain;
pub use threshold::{Names, Threshold, ThresholdOutcome, ThresholdResult, apply_thresholds};
pub use wording::{cells_line, threshold_line, verdict_words};

pub use sweep::{Sweep, Trend};

/// Returns the summary as JSON, as specified by `docs/report.schema.json`.
pub fn json(summary: &Summary) -> String {
    let text = serde_json::to_string_pretty(summary);
    text.expect("a summary contains only strings, finite numbers and lists") + "\n"
}

/// Returns the JSON Schema of [`json`], as in `docs/report.schema.json`.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Summary).to_value();
    // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
    schema.sort_all_objects();
    schema
}
