//! The exchanges in captures, for a pull request.

use capture::{ConnectionFacts, Explained};

use super::{HEADER, about, heading, left_out, note, remarks, row};
use crate::formats::markdown::escaped;

/// Returns the connections and their exchanges as Markdown.
pub fn markdown(explained: &Explained) -> String {
    let sections: String = explained.connections.iter().map(section).collect();
    let left_out = left_out(explained).map_or(String::new(), |text| escaped(&text) + "\n\n");
    let heading = escaped(&heading(explained));
    format!(
        "{heading}\n\n{sections}{left_out}{}\n",
        escaped(&note(explained))
    )
}

fn section(connection: &ConnectionFacts) -> String {
    let mut out = format!("#### {}\n\n", escaped(&about(connection)));
    let remarks = remarks(connection);
    for remark in &remarks {
        out += &format!("- {}\n", escaped(remark));
    }
    out += if remarks.is_empty() { "" } else { "\n" };
    if connection.exchanges.is_empty() {
        return out;
    }
    out += &line(&HEADER.map(escaped));
    out += &line(&["---:", "---:", "---:", "---:", "---:", "---"].map(str::to_owned));
    for exchange in &connection.exchanges {
        out += &line(&row(exchange).map(|cell| escaped(&cell)));
    }
    out + "\n"
}

fn line(cells: &[String; 6]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
