//! The appendices: how to read the report, self-test, environment, every cell.

use record::{Outcome, RunData};

use super::element::{Text, headings, table};
use crate::noise;
use crate::number::{count, duration};
use crate::summary::{ArmNoise, Summary};

/// Notes that apply to every report.
const METHOD: &str = "\
<li>Each figure is the median over blocks of the block's median. The arms of a block ran back to \
back, and a difference is the median over blocks of the median over requests of arm minus \
baseline.</li>\n\
<li>Faster or slower: the whole interval of the difference is beyond zero, and its median is beyond \
the margin. No difference: the whole interval is within the margin. Not slower, not faster: its end \
(its beginning) is within the margin. Otherwise: cannot tell.</li>\n\
<li>A request that timed out took at least its timeout; one that failed counts the same, and so do \
the requests of a failed cell. None is dropped. The first measured attempt of each cell counts, clean \
or noisy.</li>\n\
<li>Forest plots: a dot is the difference, the line its interval, the shaded band the margin.</li>\n\
<li>Arms are compared with the baseline; those named best are also compared with each other.</li>\n";

/// Returns all appendices.
pub(super) fn sections(summary: &Summary, data: &RunData) -> String {
    let notes: String = summary
        .notes
        .iter()
        .map(|note| format!("<li>{}</li>\n", Text(note)))
        .collect();
    format!(
        "<section>\n<h2>How to read this</h2>\n<ul>\n{notes}{METHOD}</ul>\n</section>\n\
         <section>\n<h2>Self-test</h2>\n{}</section>\n\
         <section>\n<h2>Environment</h2>\n{}{}</section>\n\
         <section>\n<h2>Cells</h2>\n{}<details>\n<summary>{}</summary>\n{}</details>\n</section>\n",
        self_test(summary),
        environment(data),
        networks(data),
        attempts(summary),
        count(data.cells().len(), "record"),
        cells(data)
    )
}

fn self_test(summary: &Summary) -> String {
    if summary.self_test.is_empty() {
        return "<p>Self-test skipped: the emulator's accuracy was not verified in this run.</p>\n"
            .into();
    }
    let rows: Vec<Vec<String>> = summary
        .self_test
        .iter()
        .map(|check| {
            let unit = Text(&check.unit);
            let result = match check.pass {
                true => "<strong class=\"faster\">passed</strong>",
                false => "<strong class=\"slower\">failed</strong>",
            };
            vec![
                Text(&check.name).to_string(),
                format!("{} {unit}", check.expected),
                format!("{} {unit}", check.measured),
                format!("±{} {unit}", check.margin),
                result.into(),
            ]
        })
        .collect();
    let columns = headings(&["Check", "Expected", "Measured", "Margin", "Result"]);
    table(
        "Checks against known answers, before the run",
        &columns,
        &rows,
    )
}

fn environment(data: &RunData) -> String {
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    let mut rows: Vec<Vec<String>> = Vec::new();
    for header in data.headers() {
        let host = &header.host;
        let stacks: Vec<String> = host
            .stacks
            .iter()
            .map(|(n, v)| format!("{n} {v}"))
            .collect();
        for (what, value) in [
            (
                "commute",
                format!("{} {}", header.commute, host.git.as_deref().unwrap_or("")),
            ),
            ("Kernel", host.kernel.clone()),
            (
                "Processor",
                format!("{}, {}", host.cpu, count(host.cores as usize, "core")),
            ),
            ("Memory", format!("{} MiB", host.memory_bytes >> 20)),
            (
                "Hypervisor",
                host.hypervisor
                    .clone()
                    .unwrap_or_else(|| "none detected".into()),
            ),
            ("Clock source", host.clocksource.clone()),
            ("Rootless", yes_no(host.rootless).into()),
            (
                "Link under real-time scheduling",
                yes_no(host.realtime).into(),
            ),
            ("Stacks", stacks.join(", ")),
        ] {
            rows.push(vec![what.into(), Text(&value).to_string()]);
        }
    }
    table("Where it ran", &headings(&["Property", "Value"]), &rows)
}

fn networks(data: &RunData) -> String {
    let mut out = String::new();
    for network in &data.run().networks {
        out += &format!(
            "<details>\n<summary>{}</summary>\n<pre>{}</pre>\n</details>\n",
            Text(&network.name),
            // Escaped line by line, because escaping replaces line breaks.
            network
                .toml
                .lines()
                .map(|l| Text(l).to_string())
                .collect::<Vec<_>>()
                .join("\n")
        );
    }
    out
}

/// Returns how many first attempts of each arm were noisy.
fn attempts(summary: &Summary) -> String {
    let mut columns = headings(&["Arm"]);
    columns.extend(summary.networks.iter().map(|n| Text(&n.name).to_string()));
    columns.extend(headings(&["All networks", "p against other arms"]));
    let row = |noise: &ArmNoise| {
        let mut row = vec![Text(&noise.arm).to_string()];
        row.extend(summary.networks.iter().map(|network| {
            let arm = network.arms.iter().find(|arm| arm.name == noise.arm);
            arm.map_or_else(String::new, |arm| noise::words(arm.first_attempts))
        }));
        row.push(noise::words(noise.first_attempts));
        let p = match noise.p_value < 0.001 {
            true => "below 0.001".to_owned(),
            false => format!("{:.3}", noise.p_value),
        };
        row.push(match noise.depends_on_arm {
            true => format!("<strong class=\"slower\">{p}</strong>"),
            false => p,
        });
        row
    };
    let rows: Vec<Vec<String>> = summary.noise.iter().map(row).collect();
    table(
        "Noisy first attempts; bold: noise depends on the arm",
        &columns,
        &rows,
    )
}

fn cells(data: &RunData) -> String {
    let rows: Vec<Vec<String>> = data
        .with_status()
        .into_iter()
        .map(|(cell, status)| {
            let reason = match &cell.outcome {
                Outcome::Clean => String::new(),
                Outcome::Noisy { reasons } => reasons.join("; "),
                Outcome::Failed { reason } | Outcome::Unsupported { reason } => reason.clone(),
            };
            vec![
                Text(&cell.file_name()).to_string(),
                Text(&cell.network).to_string(),
                cell.block.to_string(),
                Text(&cell.arm).to_string(),
                status.name().to_owned(),
                cell.outcome.name().to_owned(),
                format!("<small>{}</small>", Text(&reason)),
                duration(cell.took_ns as f64),
            ]
        })
        .collect();
    let columns = headings(&[
        "Record", "Network", "Block", "Arm", "Status", "Outcome", "Reason", "Duration",
    ]);
    table("Every attempt of every cell", &columns, &rows)
}
