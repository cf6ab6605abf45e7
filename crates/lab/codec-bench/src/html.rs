//! The table as one offline page: for each message, a plot of the times per runtime, then the figures.

use maud::{Markup, html};
use page::{Document, Dot, Origin, TIME, arm, dots, figures, text};

use crate::Part;
use crate::table::{Cost, Row, Table, spread};

/// The columns of costs, in the order of [`Row::costs`].
const COSTS: [&str; 6] = [
    "encode",
    "decode",
    "populate",
    "convert",
    "cold encode",
    "cold decode",
];

/// Returns the table as one HTML file that loads nothing.
pub fn html(table: &Table, origin: &Origin) -> String {
    let title = "The cost of encoding and decoding";
    let runtimes = runtimes(table);
    let messages = table.messages();
    let main = html! {
        @for message in &messages {
            section id=(message) {
                h2 { (message) }
                (message_of(message, &table.rows_of(message), &runtimes))
            }
        }
        section id="notes" {
            h2 { "Notes" }
            ul.remarks { @for note in table.notes() { li { (note) } } }
        }
    };
    let sections = messages.iter().chain(&["notes"]);
    let contents = sections.map(|id| ((*id).to_owned(), (*id).replace("notes", "Notes")));
    Document {
        title: "commute codec",
        head: origin.head(title),
        contents: contents.collect(),
        main,
    }
    .into_html()
}

fn runtimes(table: &Table) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in &table.rows {
        if !names.contains(&row.runtime.as_str()) {
            names.push(&row.runtime);
        }
    }
    names
}

fn message_of(message: &str, rows: &[&Row], runtimes: &[&str]) -> Markup {
    let plots: Vec<Markup> = (runtimes.iter().enumerate())
        .map(|(i, runtime)| plot(message, rows, runtime, i))
        .collect();
    html! {
        (figures(&Markup::default(), &plots))
        (figures_table(message, rows, runtimes))
    }
}

/// Plots the times of one runtime, the smallest encoding first. The axis is logarithmic, since codecs
/// differ by orders of magnitude.
fn plot(message: &str, rows: &[&Row], runtime: &str, color: usize) -> Markup {
    let of_runtime = rows.iter().filter(|row| row.runtime == runtime);
    let rows: Vec<page::Row> = of_runtime
        .filter(|row| row.encode.is_some() || row.decode.is_some())
        .map(|row| page::Row {
            name: format!("{} · {}", row.codec, row.library),
            words: row
                .bytes
                .map_or(String::new(), |bytes| format!("{bytes} B")),
            color,
            dots: [
                (Part::Encode, "encode", false),
                (Part::Decode, "decode", true),
            ]
            .into_iter()
            .filter_map(|(part, word, hollow)| dot(row, word, row.cost(part)?, hollow))
            .collect(),
        })
        .collect();
    dots(
        &format!("{message}, {runtime}"),
        "Filled: encode; hollow: decode.",
        &rows,
        "time per operation (logarithmic)",
        TIME,
    )
}

fn dot(row: &Row, word: &str, cost: &Cost, hollow: bool) -> Option<Dot> {
    (cost.ns > 0.0).then(|| Dot {
        value: cost.ns,
        ends: [cost.low_ns.max(cost.ns / 1e3), cost.high_ns],
        hollow,
        title: format!("{} by {}: {word} {}", row.codec, row.library, spread(cost)),
    })
}

/// Returns the figures of a message, without empty columns; each column in one unit.
fn figures_table(message: &str, rows: &[&Row], runtimes: &[&str]) -> Markup {
    let shown: Vec<(usize, (f64, &str))> = (0..COSTS.len())
        .filter_map(|column| Some((column, unit(rows, column)?)))
        .collect();
    let has_problem = rows.iter().any(|row| row.problem.is_some());
    let mut headings = ["Codec", "runtime", "library", "bytes"].map(text).to_vec();
    headings.extend(
        shown
            .iter()
            .map(|(column, (_, unit))| text(format!("{}, {unit}", COSTS[*column]))),
    );
    headings.extend(has_problem.then(|| text("problem")));
    let row = |row: &&Row| {
        let index = runtimes
            .iter()
            .position(|name| *name == row.runtime)
            .unwrap_or(0);
        let mut cells = vec![
            text(&row.codec),
            arm(index, &row.runtime),
            html! { span.long { (row.library) " " (row.version) } },
            html! { (row.bytes.map_or("-".to_owned(), |bytes| bytes.to_string())) },
        ];
        cells.extend(shown.iter().map(|(column, (factor, _))| {
            text(row.costs()[*column].map_or("-".to_owned(), |cost| in_unit(&cost, *factor)))
        }));
        cells.extend(
            has_problem.then(|| html! { span.long { (row.problem.as_deref().unwrap_or("")) } }),
        );
        cells
    };
    let rows: Vec<Vec<Markup>> = rows.iter().map(row).collect();
    page::table(
        &format!("{message}: bytes, and time per operation"),
        &headings,
        &rows,
    )
}

/// Returns the unit that suits most figures of a column; `None` if it is empty.
fn unit(rows: &[&Row], column: usize) -> Option<(f64, &'static str)> {
    let mut known: Vec<f64> = rows
        .iter()
        .filter_map(|row| Some(row.costs()[column]?.ns))
        .collect();
    known.sort_by(f64::total_cmp);
    Some(page::unit_of(
        *known.get(known.len().checked_sub(1)? / 2)?,
        TIME,
    ))
}

/// Formats a cost with its interval, e.g. `13.2 [13.1, 13.4]`, with as many digits as it warrants.
fn in_unit(cost: &Cost, factor: f64) -> String {
    let width = (cost.high_ns - cost.low_ns).max(cost.ns / 1e3) / factor;
    let decimals = (1.0 - width.log10()).floor().clamp(0.0, 4.0) as usize;
    let shown = |ns: f64| format!("{:.decimals$}", ns / factor);
    match cost.samples {
        0 | 1 => format!("{} (once)", shown(cost.ns)),
        _ => format!(
            "{} [{}, {}]",
            shown(cost.ns),
            shown(cost.low_ns),
            shown(cost.high_ns)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_their_interval_warrants() {
        let cost = |ns: f64, half: f64, samples| Cost {
            ns,
            low_ns: ns - half,
            high_ns: ns + half,
            samples,
            iterations: 1,
            noisy: 0,
            heap_bytes: None,
        };
        assert_eq!(
            in_unit(&cost(13_234.0, 130.0, 19), 1e3),
            "13.2 [13.1, 13.4]"
        );
        assert_eq!(in_unit(&cost(912.0, 40.0, 19), 1e3), "0.91 [0.87, 0.95]");
        assert_eq!(in_unit(&cost(52_000.0, 0.0, 1), 1e3), "52.00 (once)");
    }
}
