//! `run.json`: the facts of a run that its page shows besides the values by block.

use record::{Host, RunData};
use report::{AaCheck, Advice, CellCounts, Configuration, Need, ReasonOutcome, Role, Summary};
use serde::{Deserialize, Deserializer, Serialize};
use time::OffsetDateTime;

/// Version of the files; raised when a reader of the old ones would misread the new ones.
pub(crate) const FORMAT: u32 = 1;

/// Characters of a git commit that tell it apart from others.
const SHORT_COMMIT: usize = 12;

/// Values of a configuration that a page shows of each arm: of its client and of its server.
const CLIENT: [&str; 2] = ["library", "TLS library"];
const SERVER: [&str; 1] = ["server's library"];

/// The run behind a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// Version of this format.
    pub(crate) format: u32,
    /// The study's name.
    pub(crate) study: String,
    /// The question the study asks.
    pub(crate) question: String,
    /// Version of commute that measured.
    pub(crate) commute: String,
    /// Its git commits, shortened, sorted.
    pub(crate) commits: Vec<String>,
    /// The day it started, in UTC, e.g. `2026-11-23`.
    pub(crate) date: String,
    /// The machines that measured.
    pub(crate) hosts: Vec<String>,
    /// Seed of all randomness.
    pub(crate) seed: u64,
    /// Blocks planned on each network.
    pub(crate) blocks: u32,
    /// The largest difference that counts as none, if the study sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) margin_ns: Option<u64>,
    /// Whether blocks were added after results could be read, which makes intervals wider.
    pub(crate) looked_at_results: bool,
    /// The command that repeats it; absent where the study's file is unknown.
    pub(crate) repeat: Option<String>,
    /// Checks of the emulator against known answers that passed, and all of them.
    pub(crate) self_test: (usize, usize),
    /// The comparison of the baseline with its copy.
    pub(crate) a_a: AaCheck,
    /// How the cells ended.
    pub(crate) cells: CellCounts,
    /// What a reader of the report must know to interpret its figures.
    pub(crate) notes: Vec<String>,
    /// Why results must not be used; empty if nothing is wrong.
    pub(crate) invalid: Vec<String>,
    /// The arm that the others are compared with.
    pub(crate) baseline: String,
    /// Every network, in the study's order.
    pub(crate) networks: Vec<Network>,
    /// Every arm without A/A arms, in the study's order.
    pub(crate) arms: Vec<Arm>,
    /// The measured reasons of decided differences from the baseline, by the report. None before records had parts.
    #[serde(default)]
    pub(crate) reasons: Vec<Reason>,
}

/// Why an arm differs from the baseline in a measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reason {
    /// The network.
    pub(crate) network: String,
    /// The label of the measure.
    pub(crate) measure: String,
    /// The arm.
    pub(crate) arm: String,
    /// Whether the parts explain the difference.
    pub(crate) explains: bool,
    /// The largest parts in words, or why they are no reason.
    pub(crate) words: String,
}

/// A network of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    /// Its name.
    pub(crate) name: String,
    /// Its parameters in one line.
    #[serde(deserialize_with = "numbers")]
    pub(crate) numbers: String,
    /// The report's recommendation.
    pub(crate) advice: Advice,
    /// The best arms for each need, by the report.
    pub(crate) needs: Vec<Need>,
}

/// An arm of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arm {
    /// Its name.
    pub(crate) name: String,
    /// Its stack.
    pub(crate) stack: String,
    /// The protocols that its requests negotiated.
    pub(crate) protocols: Vec<String>,
    /// What the study sets for it: protocol, codec, security and whatever is not the default.
    pub(crate) asked: String,
    /// The client's library and TLS library, with their versions.
    pub(crate) client: Vec<String>,
    /// The server's library, with its version.
    pub(crate) server: Vec<String>,
    /// What every result of it must carry, and other reasons than the protocol for a difference from
    /// the baseline.
    pub(crate) caveats: Vec<String>,
    /// Calls on all networks.
    pub(crate) calls: usize,
    /// Of those, the calls that failed or timed out.
    pub(crate) lost: usize,
}

impl Run {
    /// Takes what pages show from a run and its report.
    pub(crate) fn of(data: &RunData, summary: &Summary) -> Run {
        let run = data.run();
        let commits = data.headers().iter().filter_map(|h| h.host.git.as_deref());
        let passed = summary.self_test.iter().filter(|check| check.pass).count();
        Run {
            format: FORMAT,
            study: run.study.clone(),
            question: run.question.clone(),
            commute: run.commute.clone(),
            commits: distinct(commits.map(short)),
            date: date(run.started_unix_ns),
            hosts: distinct(data.headers().iter().map(|header| host(&header.host))),
            seed: run.seed,
            blocks: run.blocks,
            margin_ns: run.margin_ns,
            looked_at_results: run.settings.until_decided || run.settings.extended,
            repeat: summary.repeat.clone(),
            self_test: (passed, summary.self_test.len()),
            a_a: summary.a_a.clone(),
            cells: summary.cells.clone(),
            notes: summary.notes.clone(),
            invalid: summary.invalid.clone(),
            baseline: run.baseline.clone(),
            networks: summary
                .networks
                .iter()
                .map(|network| Network {
                    name: network.name.clone(),
                    numbers: network.numbers.clone(),
                    advice: network.advice.clone(),
                    needs: network.needs.clone(),
                })
                .collect(),
            arms: arms(&run.arms, summary),
            reasons: reasons(summary),
        }
    }

    /// Reports whether each protocol had one sender: one server, with the congestion control that it has by default.
    pub(crate) fn has_one_sender(&self) -> bool {
        let mut set = self.arms.iter().flat_map(|arm| arm.asked.split(", "));
        !set.any(|setting| setting.starts_with("server ") || setting.starts_with("congestion "))
    }

    /// Reports whether equal arms could not be shown to be equal in a measure.
    pub(crate) fn is_a_a_inconclusive(&self, network: &str, measure: &str) -> bool {
        let place = format!("{network}: {measure}");
        matches!(&self.a_a, AaCheck::Inconclusive { undecided } if undecided.contains(&place))
    }

    /// Returns the reason of a difference from the baseline.
    pub(crate) fn reason(&self, network: &str, measure: &str, arm: &str) -> Option<&Reason> {
        let of = (network, measure, arm);
        let mut reasons = self.reasons.iter();
        reasons.find(|r| (r.network.as_str(), r.measure.as_str(), r.arm.as_str()) == of)
    }
}

/// Reads a network's numbers. Older ones do not say what the basis at their end is about.
fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let numbers = String::deserialize(from)?;
    Ok(match numbers.rsplit_once(" · ") {
        Some((parts, basis @ ("measured" | "derived"))) => {
            format!("{parts} · rates and RTT {basis}")
        }
        _ => numbers,
    })
}

fn reasons(summary: &Summary) -> Vec<Reason> {
    let mut found = Vec::new();
    for network in &summary.networks {
        for arm in network.arms.iter().filter(|arm| arm.role != Role::Repeat) {
            for (measure, comparison) in arm.comparisons() {
                found.extend(comparison.reason.as_ref().map(|reason| Reason {
                    network: network.name.clone(),
                    measure: measure.label.clone(),
                    arm: arm.name.clone(),
                    explains: reason.outcome == ReasonOutcome::Explained,
                    words: reason.words.clone(),
                }));
            }
        }
    }
    found
}

fn arms(asked: &[record::Arm], summary: &Summary) -> Vec<Arm> {
    let Some(first) = summary.networks.first() else {
        return Vec::new();
    };
    let kept = first.arms.iter().filter(|arm| arm.role != Role::Repeat);
    kept.map(|arm| {
        let everywhere = || {
            let arms = summary.networks.iter().flat_map(|network| &network.arms);
            arms.filter(|other| other.name == arm.name)
        };
        let counts = everywhere().map(report::ArmSummary::calls_and_losses);
        let (calls, lost) = counts.fold((0, 0), |sum, (calls, lost)| (sum.0 + calls, sum.1 + lost));
        let shown = |names: &[&str]| {
            let of = |configuration: &Configuration| {
                let values = names.iter().filter_map(|name| configuration.get(*name));
                values.flatten().cloned().collect::<Vec<String>>()
            };
            distinct(everywhere().flat_map(|arm| of(&arm.configuration)))
        };
        let asked = asked.iter().find(|asked| asked.name == arm.name);
        Arm {
            name: arm.name.clone(),
            stack: arm.stack.clone(),
            protocols: distinct(everywhere().flat_map(|a| a.negotiated_protocols.clone())),
            asked: asked.map_or_else(String::new, settings),
            client: shown(&CLIENT),
            server: shown(&SERVER),
            caveats: one_of_each_kind(distinct(everywhere().flat_map(|arm| {
                let compared = arm.measures.iter().filter_map(|m| m.comparison.as_ref());
                let found = compared.flat_map(|comparison| comparison.caveats.clone());
                arm.caveat.clone().into_iter().chain(found)
            }))),
            calls,
            lost,
        }
    })
    .collect()
}

/// Returns what the study sets for an arm, e.g. `h2, json, tls, connections per-request`.
fn settings(arm: &record::Arm) -> String {
    let named = [
        ("server", &arm.server),
        ("auth", &arm.auth),
        ("connections", &arm.connections),
        ("access", &arm.access),
        ("observe", &arm.observe),
        ("discovery", &arm.discovery),
        ("congestion", &arm.congestion),
    ];
    let named = named
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
    let words = [&arm.protocol, &arm.codec, &arm.security]
        .into_iter()
        .cloned();
    let chunks = arm.chunk_bytes.map(|bytes| format!("chunks of {bytes} B"));
    let origins = (arm.origins.iter()).map(|(name, at)| format!("origin {name} {at}"));
    let all: Vec<String> = words
        .chain(named)
        .chain(chunks)
        .chain(origins)
        .filter(|w| !w.is_empty())
        .collect();
    all.join(", ")
}

/// Sorts and drops repetitions and empty words.
fn distinct(words: impl Iterator<Item = String>) -> Vec<String> {
    let distinct: std::collections::BTreeSet<String> = words.filter(|w| !w.is_empty()).collect();
    distinct.into_iter().collect()
}

/// Keeps one of the caveats that differ in their figures only, e.g. those of different networks.
fn one_of_each_kind(caveats: Vec<String>) -> Vec<String> {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for caveat in caveats {
        match kinds
            .iter_mut()
            .find(|(kept, _)| without_figures(kept) == without_figures(&caveat))
        {
            Some((_, more)) => *more += 1,
            None => kinds.push((caveat, 0)),
        }
    }
    let words = |(caveat, more): (String, usize)| match more {
        0 => caveat,
        more => format!("{caveat} (and {more} more like this)"),
    };
    kinds.into_iter().map(words).collect()
}

/// Leaves out numbers, and the unit after each.
fn without_figures(text: &str) -> Vec<&str> {
    let is_figure = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let words: Vec<&str> = text.split(' ').collect();
    let after_figure = |at: usize| at > 0 && is_figure(words[at - 1]);
    let kept = words.iter().enumerate();
    kept.filter(|(at, word)| !is_figure(word) && !after_figure(*at))
        .map(|(_, word)| *word)
        .collect()
}

/// Returns the beginning of a commit, by which it is named.
pub(crate) fn short(commit: &str) -> String {
    commit.chars().take(SHORT_COMMIT).collect()
}

/// Returns the day in UTC of a time since the Unix epoch.
pub(crate) fn date(unix_ns: u64) -> String {
    match OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ns)) {
        Ok(time) => time.date().to_string(),
        Err(_) => "unknown".to_owned(),
    }
}

fn host(host: &Host) -> String {
    let cores = report::count(host.cores as usize, "core");
    let hypervisor = host.hypervisor.as_deref().unwrap_or("no hypervisor");
    format!("Linux {}, {}, {cores}, {hypervisor}", host.kernel, host.cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_not_the_default_are_named() {
        let arm = record::Arm {
            protocol: "grpc".into(),
            codec: "protobuf".into(),
            security: "mtls".into(),
            auth: Some("hmac".into()),
            chunk_bytes: Some(65_536),
            origins: [("files".into(), "own-server".into())].into(),
            ..record::Arm::default()
        };
        let words = "grpc, protobuf, mtls, auth hmac, chunks of 65536 B, origin files own-server";
        assert_eq!(settings(&arm), words);
    }

    #[test]
    fn caveats_that_differ_in_figures_only_are_told_once() {
        let caveats = ["b waits 1 ms; a 9 µs", "b waits 2 ms; a 1 ms", "plaintext"];
        assert_eq!(
            one_of_each_kind(caveats.map(str::to_owned).to_vec()),
            ["b waits 1 ms; a 9 µs (and 1 more like this)", "plaintext"]
        );
    }

    #[test]
    fn numbers_say_what_their_basis_is_about() {
        let read = |numbers: &str| {
            let network = serde_json::json!({
                "name": "a", "numbers": numbers, "advice": { "advice": "by_need" }, "needs": []
            });
            let network: Network = serde_json::from_value(network).unwrap();
            network.numbers
        };
        for basis in ["measured", "derived"] {
            let now = format!("loss 15 % down · rates and RTT {basis}");
            assert_eq!(read(&format!("loss 15 % down · {basis}")), now);
            assert_eq!(read(&now), now);
        }
        for same in ["no loss", "loss 2 % · assumed", "measured"] {
            assert_eq!(read(same), same);
        }
    }

    #[test]
    fn dates_are_days_in_utc() {
        assert_eq!(date(1_763_843_887_000_000_000), "2025-11-22");
    }
}
