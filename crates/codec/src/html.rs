//! The table as one offline page: for each message, plots of time against bytes, then the figures.

use html_escape::encode_quoted_attribute as escape;

use crate::Part;
use crate::table::{Cost, Row, Table, duration, spread};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;
const COLOURS: usize = 6;
const STYLE: &str = include_str!("style.css");

/// Returns the table as one HTML file without scripts, fonts or external links.
pub fn html(table: &Table) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n<title>commute codec</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>The cost of encoding and decoding</h1>\n"
    );
    for note in table.notes() {
        out += &format!("<p class=\"note\">{}</p>\n", escape(&note));
    }
    let runtimes = runtimes(table);
    for message in table.messages() {
        let rows = table.rows_of(message);
        out += &format!(
            "<h2 id=\"{0}\">{0}</h2>\n<div class=\"plots\">\n",
            escape(message)
        );
        for part in [Part::Encode, Part::Decode] {
            out += &plot(part, &rows, &runtimes);
        }
        out += &format!("</div>\n{}", figures(&rows));
    }
    out + "</body>\n</html>\n"
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

/// Plots time against bytes. Both axes are logarithmic, since the codecs of one message differ by
/// orders of magnitude.
fn plot(part: Part, rows: &[&Row], runtimes: &[&str]) -> String {
    let caption = match part {
        Part::Encode | Part::Populate => "Encoding: time against bytes",
        Part::Decode | Part::Convert => "Decoding: time against bytes",
    };
    let points: Vec<(&Row, f64, &Cost)> = rows
        .iter()
        .filter_map(|row| Some((*row, row.bytes? as f64, row.cost(part)?)))
        .collect();
    let over = |values: Vec<f64>, from, to| Axis::over(&values, from, to);
    let (Some(x), Some(y)) = (
        over(points.iter().map(|p| p.1).collect(), LEFT, WIDTH - RIGHT),
        over(
            points.iter().map(|p| p.2.ns).collect(),
            HEIGHT - BOTTOM,
            TOP,
        ),
    ) else {
        return String::new();
    };
    let mut body = String::new();
    for tick in x.ticks() {
        let at = x.at(tick);
        body += &format!(
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{:.1}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 16.0,
            bytes(tick)
        );
    }
    for tick in y.ticks() {
        let at = y.at(tick);
        body += &format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            duration(tick)
        );
    }
    for (row, size, cost) in points {
        let colour = runtimes.iter().position(|r| *r == row.runtime).unwrap_or(0);
        let title = format!(
            "{} by {} ({}): {size} bytes, {}",
            row.codec,
            row.library,
            row.runtime,
            spread(cost)
        );
        body += &format!(
            "<circle class=\"of-{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4.5\"><title>{}</title></circle>\n",
            colour % COLOURS,
            x.at(size),
            y.at(cost.ns),
            escape(&title)
        );
    }
    let legend: String = runtimes
        .iter()
        .enumerate()
        .map(|(i, name)| format!("<li class=\"of-{}\">{}</li>\n", i % COLOURS, escape(name)))
        .collect();
    format!(
        "<figure>\n<figcaption>{caption}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{caption}\">\n{body}</svg>\n<ul>\n{legend}</ul>\n</figure>\n"
    )
}

fn figures(rows: &[&Row]) -> String {
    let mut out = String::from(
        "<table>\n<tr><th>codec</th><th>runtime</th><th>library</th><th>bytes</th><th>encode</th>\
         <th>decode</th><th>populate</th><th>convert</th><th>cold encode</th><th>cold decode</th>\
         </tr>\n",
    );
    for row in rows {
        let library = format!("{} {}", row.library, row.version);
        out += &format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
            escape(&row.codec),
            escape(&row.runtime),
            escape(&library),
            row.bytes.map_or("-".into(), |n| n.to_string())
        );
        match &row.problem {
            Some(problem) => out += &format!("<td colspan=\"6\">{}</td>", escape(problem)),
            None => {
                for cost in row.costs() {
                    let text = cost.as_ref().map_or("-".into(), spread);
                    out += &format!("<td>{text}</td>");
                }
            }
        }
        out += "</tr>\n";
    }
    out + "</table>\n"
}

/// A logarithmic axis over all values.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: &[f64], from: f64, to: f64) -> Option<Self> {
        let known = || values.iter().copied().filter(|v| *v > 0.0);
        let low = known().min_by(f64::total_cmp)? / 1.3;
        let high = known().max_by(f64::total_cmp)? * 1.3;
        Some(Self {
            low,
            high,
            from,
            to,
        })
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Ticks at 1, 2 and 5 times each power of ten, or at the powers only over wide spans.
    fn ticks(&self) -> Vec<f64> {
        let powers = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let steps: &[f64] = match self.high / self.low > 1e3 {
            true => &[1.0],
            false => &[1.0, 2.0, 5.0],
        };
        powers
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

fn bytes(n: f64) -> String {
    match n {
        1e6.. => format!("{} MB", n / 1e6),
        1e3.. => format!("{} kB", n / 1e3),
        _ => format!("{n} B"),
    }
}
