//! The head of the page: what was asked, when and where it was measured, and how to repeat it.

use std::collections::BTreeSet;

use maud::{Markup, html};
use record::{CompactRun, Host};

use crate::answer::wording::self_test_words;
use crate::figures::configuration::LIBRARY;
use crate::figures::external;
use crate::summary::Summary;
use crate::words::number::{count, duration};
use crate::words::text::capitalised;

/// Characters of a git commit that tell it apart from others.
const SHORT_COMMIT: usize = 12;

/// Returns the head of the page.
pub(super) fn head(summary: &Summary, data: &CompactRun) -> Markup {
    let origin = [
        ("Version", version(data)),
        ("Machine", hosts(data)),
        ("Stacks", libraries(summary).join(", ")),
    ];
    html! {
        p.study { (summary.study) " · " (page::date(data.run().started_unix_ns)) }
        h1 { (capitalised(&summary.question)) }
        p {
            "seed " (summary.seed) " · " (count(summary.blocks as usize, "block"))
            " per network · " (duration(summary.measured_ns as f64)) " of cell time · "
            (self_test_words(summary)) " · A/A check " (summary.a_a.name())
        }
        dl.origin {
            @for (what, value) in origin.iter().filter(|(_, value)| !value.is_empty()) {
                dt { (what) }
                dd { (value) }
            }
            @if let Some(external) = &summary.external {
                dt { "Server" }
                dd { (external::words(external).trim_start_matches("Server: ")) }
            }
            @if let Some(command) = &summary.repeat {
                dt { "Reproduce" }
                dd { code { (command) } }
            }
        }
    }
}

/// Returns the version of commute and its commits.
fn version(data: &CompactRun) -> String {
    let commits = data.headers().iter().filter_map(|h| h.host.git.as_deref());
    let short = |commit: &str| commit.chars().take(SHORT_COMMIT).collect::<String>();
    let commits: BTreeSet<String> = commits.map(short).collect();
    let version = format!("commute {}", data.run().commute);
    match commits.is_empty() {
        true => version,
        false => {
            let commits: Vec<String> = commits.into_iter().collect();
            format!("{version}, commit {}", commits.join(" and "))
        }
    }
}

/// Returns each machine that measured, once.
fn hosts(data: &CompactRun) -> String {
    let hosts: BTreeSet<String> = data.headers().iter().map(|h| host(&h.host)).collect();
    hosts.into_iter().collect::<Vec<_>>().join("; and ")
}

fn host(host: &Host) -> String {
    let machine = machine(host);
    match machine.is_empty() {
        true => machine,
        false if host.rootless => format!("{machine}, rootless"),
        false => format!("{machine}, as root"),
    }
}

/// Returns a machine in words; empty if nothing is known of it.
pub fn machine(host: &Host) -> String {
    if host.kernel.is_empty() && host.cpu.is_empty() {
        return String::new();
    }
    let hypervisor = host.hypervisor.as_deref().unwrap_or("no hypervisor");
    format!(
        "Linux {}, {}, {}, {hypervisor}",
        host.kernel,
        host.cpu,
        count(host.cores as usize, "core"),
    )
}

/// Returns the client libraries with their versions.
fn libraries(summary: &Summary) -> Vec<String> {
    let arms = summary.networks.iter().flat_map(|network| &network.arms);
    let libraries = arms.filter_map(|arm| arm.configuration.get(LIBRARY));
    let distinct: BTreeSet<&String> = libraries.flatten().collect();
    distinct.into_iter().cloned().collect()
}
