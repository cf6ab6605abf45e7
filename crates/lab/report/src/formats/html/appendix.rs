//! The appendices: how to read the report, self-test, environment, every cell.

use maud::{Markup, html};
use page::{fold, table, text};
use record::{CompactRun, Host, Outcome};

use super::labels::headings;
use crate::answer::wording::self_test_words;
use crate::summary::{ArmNoise, Summary};
use crate::verdicts::noise;
use crate::words::number::{count, duration};

/// Notes that apply to every report.
const METHOD: [&str; 5] = [
    "Each figure is the median over blocks of the block's median. The arms of a block ran back to \
     back, and a difference is the median over blocks of the median over requests of arm minus \
     baseline.",
    "Faster or slower: the whole interval of the difference is beyond zero, and its median is beyond \
     the margin. No difference: the whole interval is within the margin. Not slower: at worst \
     within the margin; not faster: at best within it. Otherwise: cannot tell.",
    "A request that timed out took at least its timeout; one that failed counts the same, and so do \
     the requests of a failed cell. None is dropped. The first measured attempt of each cell counts, \
     clean or noisy.",
    "Forest plots: a dot is the difference, the line its interval, the shaded band the margin.",
    "Arms are compared with the baseline; those named best are also compared with each other.",
];

/// Ids and titles of the sections.
pub(super) const CONTENTS: [[&str; 2]; 5] = [
    ["how-to-read", "How to read this"],
    ["self-test", "Self-test"],
    ["environment", "Environment"],
    ["cells", "Cells"],
    ["data", "Raw data"],
];

/// Returns all appendices.
pub(super) fn sections(summary: &Summary, data: &CompactRun, beside_records: bool) -> Markup {
    let contents = [
        method(summary),
        self_test(summary),
        html! { (environment(data)) (networks(data)) },
        html! {
            (attempts(summary))
            details {
                summary { (count(data.cells().len(), "record")) }
                (cells(data))
            }
        },
        raw_data(beside_records),
    ];
    html! {
        @for ([id, title], content) in CONTENTS.iter().zip(&contents) {
            section id=(id) {
                h2 { (title) }
                (content)
            }
        }
    }
}

fn method(summary: &Summary) -> Markup {
    html! {
        ul {
            @for note in &summary.notes { li { (note) } }
            @if let Some(command) = &summary.replicate { li { "To replicate: " code { (command) } } }
            @for note in METHOD { li { (note) } }
        }
    }
}

/// Describes where the records are and how to get every request out of them.
fn raw_data(beside_records: bool) -> Markup {
    let folder = if beside_records {
        "the folder of this page"
    } else {
        "the run's folder"
    };
    html! {
        p {
            "Every figure is computed from "
            @if beside_records { a href="run.json" { "run.json" } } @else { code { "run.json" } }
            " (study, plan, machine) and "
            @if beside_records { a href="cells/" { "cells/" } } @else { code { "cells/" } }
            " (one record per attempt of a cell) in " (folder) ". With DIR for that folder:"
        }
        dl {
            dt { code { "commute report DIR --format csv > requests.csv" } }
            dd { "every request, one per row" }
            dt { code { "commute report DIR --format json > report.json" } }
            dd { "every figure of this page" }
        }
    }
}

fn self_test(summary: &Summary) -> Markup {
    if summary.self_test.is_empty() {
        return html! {
            p { "Self-test skipped: the emulator's accuracy was not verified in this run." }
        };
    }
    let rows: Vec<Vec<Markup>> = summary
        .self_test
        .iter()
        .map(|check| {
            let with_unit = |x: f64| html! { (significant(x)) " " (check.unit) };
            let (class, word) = match check.pass {
                true => ("faster", "passed"),
                false => ("slower", "failed"),
            };
            vec![
                text(&check.name),
                with_unit(check.expected),
                with_unit(check.measured),
                html! { "±" (with_unit(check.margin)) },
                html! { strong class=(class) { (word) } },
            ]
        })
        .collect();
    let failed = summary.self_test.iter().any(|check| !check.pass);
    let table = table(
        "Checks against known answers, before the run",
        &headings("Check", ["Expected", "Measured", "Margin", "Result"]),
        &rows,
    );
    fold(&self_test_words(summary), failed, &table)
}

/// Formats a figure with at most four significant digits.
fn significant(x: f64) -> String {
    let before = x.abs().max(1.0).log10().floor() as usize + 1;
    let digits = format!("{x:.*}", 4usize.saturating_sub(before));
    match digits.contains('.') {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => digits,
    }
}

fn environment(data: &CompactRun) -> Markup {
    let machines = data.headers().iter();
    let rows: Vec<Vec<Markup>> = machines
        .flat_map(|header| properties(&header.commute, &header.host))
        .map(|(what, value)| vec![text(what), html! { span.long { (value) } }])
        .collect();
    table("Where it ran", &headings("Property", ["Value"]), &rows)
}

fn properties(commute: &str, host: &Host) -> Vec<(&'static str, String)> {
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let stacks = host.stacks.iter().map(|(n, v)| format!("{n} {v}"));
    let hypervisor = host.hypervisor.clone();
    let version = format!("{commute} {}", host.git.as_deref().unwrap_or(""));
    // Nothing is known of where imported requests were made.
    if *host == Host::default() {
        return vec![("commute", version)];
    }
    vec![
        ("commute", version),
        ("Kernel", host.kernel.clone()),
        (
            "Processor",
            format!("{}, {}", host.cpu, count(host.cores as usize, "core")),
        ),
        ("Memory", format!("{} MiB", host.memory_bytes >> 20)),
        (
            "Hypervisor",
            hypervisor.unwrap_or_else(|| "none detected".into()),
        ),
        ("Clock source", host.clocksource.clone()),
        ("Rootless", yes_no(host.rootless)),
        ("Link under real-time scheduling", yes_no(host.realtime)),
        ("Stacks", stacks.collect::<Vec<_>>().join(", ")),
    ]
}

fn networks(data: &CompactRun) -> Markup {
    html! {
        @for network in &data.run().networks {
            details {
                summary { (network.name) }
                pre { (network.toml) }
            }
        }
    }
}

/// Returns how many first attempts of each arm were noisy.
fn attempts(summary: &Summary) -> Markup {
    let names = summary.networks.iter().map(|n| n.name.as_str());
    let headings = headings("Arm", names.chain(["All networks", "p against other arms"]));
    let row = |noise: &ArmNoise| {
        let mut row = vec![text(&noise.arm)];
        row.extend(summary.networks.iter().map(|network| {
            let arm = network.arms.iter().find(|arm| arm.name == noise.arm);
            text(arm.map_or_else(String::new, |arm| noise::words(arm.first_attempts)))
        }));
        row.push(text(noise::words(noise.first_attempts)));
        let p = match noise.p_value < 0.001 {
            true => "below 0.001".to_owned(),
            false => format!("{:.3}", noise.p_value),
        };
        row.push(match noise.depends_on_arm {
            true => html! { strong.slower { (p) } },
            false => text(p),
        });
        row
    };
    let rows: Vec<Vec<Markup>> = summary.noise.iter().map(row).collect();
    table(
        "Noisy first attempts; bold: noise depends on the arm",
        &headings,
        &rows,
    )
}

fn cells(data: &CompactRun) -> Markup {
    let rows: Vec<Vec<Markup>> = data
        .with_status()
        .into_iter()
        .map(|(cell, status)| {
            let reason = match &cell.outcome {
                Outcome::Clean => String::new(),
                Outcome::Noisy { reasons } => reasons.join("; "),
                Outcome::Failed { reason }
                | Outcome::Unsupported { reason }
                | Outcome::GivenUp { reason } => reason.clone(),
            };
            vec![
                text(cell.file_name()),
                text(&cell.network),
                html! { (cell.block + 1) },
                text(&cell.arm),
                text(status.name()),
                text(cell.outcome.name().replace('_', " ")),
                html! { small { (reason) } },
                text(duration(cell.took_ns as f64)),
            ]
        })
        .collect();
    table(
        "Every attempt of every cell",
        &headings(
            "Record",
            [
                "Network", "Block", "Arm", "Status", "Outcome", "Reason", "Duration",
            ],
        ),
        &rows,
    )
}
