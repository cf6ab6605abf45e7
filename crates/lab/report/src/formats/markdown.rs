//! The report for a pull request: the answer and the verdicts in sight, the rest folded.
//!
//! GitHub Flavored Markdown (<https://github.github.com/gfm/>), which GitLab and others read too.

use neutral::plain;
use record::CompactRun;
use stats::Verdict;

use crate::answer::because::reasons;
use crate::answer::wording::{
    alarms, cells_line, mean_words, remarks, self_test_words, threshold_line,
};
use crate::records::Records;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Comparison, Measure};
use crate::summary::{NetworkSummary, Summary};
use crate::verdicts::noise;
use crate::words::number::{count, duration, size, with_interval};
use crate::words::text::capitalised;
use crate::words::verdict::finding_words;

/// Returns the report as Markdown.
pub fn markdown(summary: &Summary, data: &impl Records) -> String {
    let mut out = format!("### {}\n\n", escaped(&capitalised(&summary.question)));
    for line in alarms(summary) {
        out += &caution(&line);
    }
    out += &format!("**{}**\n", escaped(&summary.answer));
    if let Some(warning) = &summary.noise_warning {
        out += &format!("\n{}\n", escaped(warning));
    }
    if !summary.thresholds.is_empty() {
        out += &format!("\n{}", items(summary.thresholds.iter().map(threshold_line)));
    }
    for network in &summary.networks {
        out += &of_network(network);
    }
    out += &folded("Remarks", &remarks_of(summary));
    out + &folded("How to reproduce", &origin(summary, &data.compact()))
}

/// Returns one row per arm and one column per measure: the time, and below it the verdict. The reasons follow.
fn of_network(network: &NetworkSummary) -> String {
    let mut out = format!(
        "\n#### {}\n\n{}\n\n{}\n\n",
        escaped(&network.name),
        escaped(&network.numbers),
        escaped(&network.sentence)
    );
    let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    let labels: Vec<String> = measures.iter().map(|m| escaped(&m.label)).collect();
    out += &row("arm", &labels);
    out += &row("---", &vec!["---:".to_owned(); labels.len()]);
    for arm in &network.arms {
        let cells: Vec<String> = match arm.has_figures() {
            true => arm.measures.iter().map(cell).collect(),
            false => vec!["no figures".to_owned(); labels.len()],
        };
        out += &row(&name(arm), &cells);
    }
    let reasons = network.arms.iter().flat_map(|arm| {
        let of_arm = |reason: String| format!("{}, {reason}", arm.name);
        reasons(arm).into_iter().map(of_arm)
    });
    match items(reasons) {
        items if items.is_empty() => out,
        items => format!("{out}\n{items}"),
    }
}

fn row(name: &str, cells: &[String]) -> String {
    format!("| {name} | {} |\n", cells.join(" | "))
}

fn name(arm: &ArmSummary) -> String {
    let name = escaped(&arm.name);
    match arm.role {
        Role::Baseline => format!("{name} (baseline)"),
        Role::Repeat => format!("{name} (A/A)"),
        Role::Arm => name,
    }
}

fn cell(measure: &Measure) -> String {
    let time = measure.time.as_ref();
    let mut time = escaped(&time.map_or("-".to_owned(), with_interval));
    if let Some(mean) = mean_words(measure) {
        time += &format!(", {mean}");
    }
    match &measure.comparison {
        Some(comparison) => format!("{time}<br>{}", verdict(comparison)),
        None => time,
    }
}

/// Returns a verdict: a difference in bold, with its interval.
fn verdict(comparison: &Comparison) -> String {
    let words = finding_words(comparison);
    let faster = comparison.verdict == Verdict::Faster;
    match (comparison.verdict, size(&comparison.difference, faster)) {
        (Verdict::Faster | Verdict::Slower, Some(size)) => format!("**{words}** ({})", size.range),
        _ => words,
    }
}

fn remarks_of(summary: &Summary) -> String {
    let mut lines = Vec::new();
    for network in &summary.networks {
        for arm in &network.arms {
            let of_arm = |remark: String| format!("{}, {}: {remark}", network.name, arm.name);
            lines.extend(remarks(arm).into_iter().map(of_arm));
        }
    }
    lines.push(cells_line(&summary.cells));
    lines.extend(noise::line(&summary.noise));
    lines.extend(summary.notes.clone());
    items(lines.into_iter())
}

fn items(lines: impl Iterator<Item = String>) -> String {
    lines
        .map(|line| format!("- {}\n", escaped(&line)))
        .collect()
}

/// Returns the command that repeats the run, and what it ran with.
fn origin(summary: &Summary, data: &CompactRun) -> String {
    let command = summary.repeat.as_ref();
    // Indented, because what it contains could end a fence.
    let command = command.map_or(String::new(), |c| format!("    {}\n\n", plain(c)));
    let host = &data.run().host;
    let mut facts = vec![format!("commute {}", summary.commute)];
    facts.extend(host.git.as_ref().map(|commit| format!("commit {commit}")));
    facts.push(format!("seed {}", summary.seed));
    facts.push(count(summary.blocks as usize, "block"));
    facts.push(format!(
        "{} of cell time",
        duration(summary.measured_ns as f64)
    ));
    facts.push(self_test_words(summary));
    // Unknown where calls were imported.
    if !host.kernel.is_empty() {
        facts.push(format!("Linux {}", host.kernel));
        facts.push(format!(
            "{}, {}",
            host.cpu,
            count(host.cores as usize, "core")
        ));
    }
    format!("{command}{}\n", escaped(&facts.join(" · ")))
}

/// Returns a section that is closed until a reader opens it. Markdown within HTML needs empty lines
/// around it.
fn folded(title: &str, text: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n{text}\n</details>\n")
}

fn caution(text: &str) -> String {
    format!("> [!CAUTION]\n> {}\n\n", escaped(text))
}

/// Returns text on one line without any meaning in Markdown or HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in plain(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            // GitHub would notify whoever has the name after it.
            '@' => out += "&#64;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_meaning_in_markdown_or_html() {
        assert_eq!(
            escaped("a|b\n*c* <d> `e` @f"),
            "a\\|b\u{fffd}\\*c\\* &lt;d&gt; \\`e\\` &#64;f"
        );
    }
}
