//! Where the time of requests went, for a pull request.

use super::{NOTE, coverage, heading, rows, sentences};
use crate::formats::markdown::escaped;
use crate::summary::why::{Why, WhyMeasure};

impl Why {
    /// Returns the sentences and tables as Markdown.
    pub fn markdown(&self) -> String {
        let measures = self.measures.iter();
        let measures = measures.map(|measure| section(measure, &self.against));
        let notes = [&coverage(&self.coverage), NOTE].map(escaped);
        measures.collect::<String>() + &format!("{}\n", notes.join("\n\n"))
    }
}

fn section(measure: &WhyMeasure, against: &str) -> String {
    let mut out = format!("#### {}\n\n", escaped(&heading(measure)));
    let sentences = sentences(measure, against);
    for sentence in &sentences {
        out += &format!("- {}\n", escaped(sentence));
    }
    out += if sentences.is_empty() { "" } else { "\n" };
    let names = measure.arms.iter().map(|arm| escaped(&arm.arm));
    out += &row("part, ms", names);
    out += &row("---", measure.arms.iter().map(|_| "---:".to_owned()));
    for cells in rows(measure) {
        out += &row(&cells[0], cells[1..].iter().cloned());
    }
    out + "\n"
}

fn row(first: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
    format!("| {first} |{cells}\n")
}
