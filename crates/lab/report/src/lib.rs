//! Reports on records: for the terminal, as HTML, JSON and CSV.
//!
//! The life of a report:
//!
//! 1. [`summarise`] takes a run as read from its folders. It selects the cells that count, splits calls into
//!    populations by the plan, and estimates their figures (`figures`).
//! 2. It compares the arms with the baseline request by request, and checks that copies of the baseline met the same
//!    losses and agree. Where several machines measured, it tests whether results depend on them. It takes decided differences apart by the parts of the requests' critical paths (`verdicts`).
//! 3. It derives a recommendation for each network and over all of them, or the reason why there is none (`answer`).
//! 4. The [`Summary`] contains every figure that any format prints. It is a pure function of the
//!    records: the same records give the same bytes, however they were split into shards.
//! 5. The formats only lay it out (`formats`, in the words of `words`). [`brief`] and, in full, [`human`] are for the
//!    terminal, [`json`] has a published schema (`docs/report.schema.json`), and [`html`] is one offline page.
//!    [`markdown`] is for a pull request, and [`card`] is a picture. [`csv()`] is not a summary but the calls themselves,
//!    one per row, for other tools, and so are [`hdr_logs`], their histograms.
//!
//! [`apply_thresholds`] adds what a user's own conditions say of the figures ([`Threshold`]).
//!
//! [`compare_runs`] compares the arms of one run with those of another ([`RunChanges`]).
//!
//! [`why`] gives the parts of each arm's time, with the same verdicts and reasons ([`Why`]).
//!
//! [`captured`] has the formats of what `crates/lab/capture` finds in captures made elsewhere.
//!
//! [`ByBlock`] are the values by block behind all verdicts. [`decide`] makes the same verdicts of them
//! without the records, for `crates/lab/findings`.
//!
//! Two rules apply to all formats. A number is printed with its n, its interval and its unit, or
//! not at all; where something failed, the failure takes the number's place. And sentence and table
//! are derived from the same verdicts, so that they cannot contradict each other.
//!
//! Every text of a record comes from files that anyone may write. Every format but JSON passes texts through the crate
//! [`neutral`]: formats for a terminal as parts of lines, and once more as a whole (`words::text::finished`). The page
//! also escapes them by `maud`, and Markdown by `markdown`.

#![forbid(unsafe_code)]

mod answer;
mod changes;
mod figures;
mod formats;
mod records;
mod remedy;
mod summary;
mod verdicts;
mod words;

pub use answer::call_path::{FoundPath, PathOf, call_path};
pub use answer::summarise::summarise;
pub use answer::wording::{cells_line, threshold_line};
pub use changes::{ArmChange, ChangeVerdict, RunChanges, RunFacts, compare_runs};
pub use figures::estimate::median;
pub use figures::hdr::{HdrLog, hdr_logs};
pub use figures::population::{PlannedMeasure, planned_measures};
pub use figures::regret::{Regret, regret};
pub use formats::brief::brief;
pub use formats::captured;
pub use formats::card::card;
pub use formats::csv::{COLUMNS, csv, write_csv};
pub use formats::html::{html, html_beside_records, machine};
pub use formats::human::human;
pub use formats::markdown::markdown;
pub use formats::remedies::remedies;
pub use records::Records;
pub use remedy::Remedy;
pub use summary::arm::{
    ArmSummary, Attempts, CommonLosses, Costs, Energy, Role, Sending, Setup, Spread,
};
pub use summary::configuration::{Configuration, Difference};
pub use summary::coverage::Coverage;
pub use summary::external::{External, RoundTrip};
pub use summary::machines::{MachineBlocks, MachineDifference, MachineOutcome, MachineTest};
pub use summary::measure::{
    Comparison, LoadFigures, LoadPercentile, Mean, Measure, Part, Percentile, Phases,
};
pub use summary::quantity::{Bound, Method, Quantity, Unit};
pub use summary::reason::{PartDifference, Reason, ReasonOutcome, ReasonPart};
pub use summary::remedies::{ChosenRemedy, Gain, MeasureRemedies, MeasuredGain, choose_remedies};
pub use summary::sweep::{Sweep, Trend};
pub use summary::threshold::{ThresholdOutcome, ThresholdResult};
pub use summary::why::{ArmParts, PartTime, Why, WhyMeasure};
pub use summary::{
    AaCheck, Advice, ArmNoise, CellCounts, ComparisonCounts, FORMAT, GroupSummary, Leaning, Need,
    NetworkSummary, Summary,
};
pub use verdicts::agreement::{Agreement, agreement};
pub use verdicts::by_block::{BYTES, ByBlock, Kind, Place, phone_of};
pub use verdicts::threshold::{Names, Threshold, apply_thresholds};
pub use verdicts::values::{BlockValue, ERROR, Values, decide, ranks};
pub use verdicts::why::{Wanted, why};
pub use words::number::{Size, count, duration, joules_range, percent, size, with_interval};
pub use words::verdict::verdict_words;

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
