//! Records to terminal, HTML, JSON and CSV.
//!
//! The life of a report:
//!
//! 1. [`summarise`] takes a run as read from its folders. It picks the cells that count
//!    (`cells`), turns calls into one number a block and measure (`measure`), asks `stats` how
//!    well the medians are known and how arms compare with the baseline (`compare`), adds
//!    what it cost (`cost`), and draws a conclusion for each network (`advice`).
//! 2. The [`Summary`] holds every figure that any format prints. It is a pure function of the
//!    records: the same records give the same bytes, however they were cut into shards.
//! 3. A format only lays it out: [`human`] for the terminal, [`json`] with a published schema
//!    (`docs/report.schema.json`), [`html`] as one offline page. [`csv`] is not a summary but
//!    the calls themselves, one a row, for other tools.
//!
//! Two rules shape all of it. A number is printed with its n, its interval and its unit, or
//! not at all; and what did not work stands where the number would be. Sentence and table come
//! from the same verdicts, so the one cannot promise what the other does not show.
//!
//! Names come from files that anyone may write: the terminal gets them without control
//! characters, the page gets them escaped.

mod advice;
mod cells;
mod compare;
mod configuration;
mod cost;
mod csv;
mod html;
mod human;
mod measure;
mod number;
mod parts;
mod population;
mod quantity;
mod summarise;
mod summary;
mod table;
mod text;
mod wording;

pub use configuration::{Configuration, Difference};
pub use csv::csv;
pub use html::html;
pub use human::human;
pub use quantity::{Bound, Method, Quantity, Unit};
pub use summarise::summarise;
pub use summary::{
    AaCheck, Advice, ArmSummary, CellCounts, Comparison, Costs, FORMAT, Family, Mean, Measure,
    NetworkSummary, Part, Parts, Role, Summary,
};

/// The summary as JSON, as `docs/report.schema.json` describes it.
pub fn json(summary: &Summary) -> String {
    let text = serde_json::to_string_pretty(summary);
    text.expect("a summary holds strings, finite numbers and lists") + "\n"
}

/// JSON Schema of [`json`], as `docs/report.schema.json` has it.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Summary).to_value()
}
