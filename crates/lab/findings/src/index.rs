//! The index, `README.md`: what to use for which need, how the studies fared, where we contradict them, and whether
//! commute's own client keeps its promises.

use config::ConfigError;
use report::{Advice, Need, count};
use stats::Verdict;

use crate::PAGE;
use crate::finding::{CLAIMS, Finding, Ours};
use crate::outcome::Outcome;
use crate::run::Network;
use crate::words::{factor, plain, table};

const HEAD: &str = "\
<!-- Made by `commute findings`. Edit STUDY/claims.toml instead. -->

# Findings

Published studies of transports for mobile apps, repeated on emulated networks with real client stacks, in
randomised blocks with common random numbers. Each claim is judged by a rule over verdicts and intervals,
never by eye ([how](../docs/findings.md)).

";

/// What the answers of the first table hang on.
const CONDITIONS: &str = "
All intervals are the spread in the lab: the same packets on every repetition where a network loses none. Unless an
arm says otherwise, the server is commute's own, with quinn for HTTP/3 and Linux's TCP, both with Cubic, and the queue
is the network's. Answers on images and files turn with [the server](../docs/reference/other-servers.md) and with the
queue: test your own.
";

/// Returns the index.
pub(crate) fn index(findings: &[Finding]) -> Result<String, ConfigError> {
    let mut text = HEAD.to_owned();
    text += "## What to use\n\n";
    let published: Vec<&Finding> = findings.iter().filter(|f| !f.claims.own).collect();
    let own: Vec<&Finding> = findings.iter().filter(|f| f.claims.own).collect();
    let needs: Vec<Vec<String>> = published.iter().flat_map(|f| needs(f)).collect();
    text += &match needs.is_empty() {
        true => "Not run yet.\n".to_owned(),
        false => {
            table(
                &["network", "need", "use", "spread in the lab", "study"],
                &needs,
            ) + CONDITIONS
        }
    };
    text += "\n## Studies\n\n";
    text += &studies(&published);
    text += "\n## Where we contradict published results\n\n";
    text += &contradictions(&published, "published claim")?;
    if !own.is_empty() {
        text += "\n## Does commute's own client keep its promises?\n\n";
        text += &studies(&own);
        text += "\nPromises that it breaks:\n\n";
        text += &contradictions(&own, "promise")?;
    }
    Ok(text)
}

fn studies(findings: &[&Finding]) -> String {
    let rows: Vec<Vec<String>> = findings.iter().map(|finding| study(finding)).collect();
    let columns = ["study", "question", "measured", "claims", "outcomes"];
    linked(&table(&columns, &rows), findings)
}

/// Returns the claims that runs of ours contradict.
fn contradictions(findings: &[&Finding], column: &str) -> Result<String, ConfigError> {
    let mut rows = Vec::new();
    for finding in findings.iter().filter(|f| !f.ours.is_empty()) {
        for claim in &finding.claims.claims {
            let outcome = finding.outcome(claim);
            if outcome.is_contradiction() {
                rows.push(vec![
                    finding.name.clone(),
                    finding.sentence(&claim.says)?,
                    outcome.words().to_owned(),
                    finding.sentence(&claim.because)?,
                ]);
            }
        }
    }
    Ok(match rows.is_empty() {
        true => "None so far.\n".to_owned(),
        false => table(
            &["study", column, "ours", "what is known of the cause"],
            &rows,
        ),
    })
}

/// Returns a row for each network and need of a study.
fn needs(finding: &Finding) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for wanted in &finding.claims.needs {
        let Some(ours) = finding.ours.get(finding.claims.run(&wanted.run)) else {
            continue;
        };
        for network in &ours.run.networks {
            let found = network
                .needs
                .iter()
                .find(|n| n.label == *wanted.measure.as_ref());
            let (answer, sure) = match (&network.advice, found) {
                (Advice::Invalid, _) => ("-".to_owned(), "the results must not be used".to_owned()),
                (_, None) => continue,
                (_, Some(need)) if !need.leaning.is_empty() => {
                    let lower = |l: &report::Leaning| format!("{} {} %", l.arm, l.lower_percent);
                    let arms: Vec<String> = need.leaning.iter().map(lower).collect();
                    let best = need.best.join(" or ");
                    let words = format!("so far {} lower than {best}", arms.join(", "));
                    ("undecided".to_owned(), words)
                }
                (_, Some(need)) => (need.best.join(" or "), sure(ours, network, need)),
            };
            rows.push(vec![
                format!("{} ({})", network.name, network.numbers),
                wanted.words.clone(),
                answer,
                sure,
                finding.name.clone(),
            ]);
        }
    }
    rows
}

/// Returns how sure a recommendation is: its gain over the baseline, or that there is none, and what
/// is undecided.
fn sure(ours: &Ours, network: &Network, need: &Need) -> String {
    let baseline = &ours.run.baseline;
    let rival = need.best.iter().find(|arm| *arm != baseline);
    let compared = rival.and_then(|arm| {
        let arm = ours.place(&network.name, &need.label, arm);
        ours.compare(&arm, baseline)
    });
    let mut words = match &compared {
        Some(c) if c.verdict == Verdict::Faster => {
            let gain = c.speedup.as_ref().map(factor).unwrap_or_default();
            format!(
                "{gain} as fast as {baseline}, {}",
                count(c.difference.blocks, "block")
            )
        }
        Some(c) => format!(
            "no difference within {}, {}",
            report::duration(c.margin_ns),
            count(c.difference.blocks, "block")
        ),
        None => "no other is faster".to_owned(),
    };
    if !need.undecided.is_empty() {
        words += &format!("; undecided: {}", need.undecided.join(", "));
    }
    words
}

fn study(finding: &Finding) -> Vec<String> {
    let claims = &finding.claims;
    let outcomes: Vec<Outcome> = claims.claims.iter().map(|c| finding.outcome(c)).collect();
    let mut dates: Vec<&str> = finding
        .ours
        .values()
        .map(|ours| ours.run.date.as_str())
        .collect();
    dates.sort_unstable();
    dates.dedup();
    let (measured, outcomes) = match dates.is_empty() {
        true => ("not run yet".to_owned(), String::new()),
        false => (dates.join(", "), tally(&outcomes)),
    };
    vec![
        finding.name.clone(),
        claims.title.clone(),
        measured,
        claims.claims.len().to_string(),
        outcomes,
    ]
}

/// Counts outcomes, e.g. `2 same, 1 not the same`.
fn tally(outcomes: &[Outcome]) -> String {
    let mut kinds: Vec<Outcome> = outcomes.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    let count = |kind: &Outcome| outcomes.iter().filter(|o| *o == kind).count();
    let words: Vec<String> = kinds
        .iter()
        .map(|k| format!("{} {}", count(k), k.words()))
        .collect();
    words.join(", ")
}

/// Links the names of studies to their pages or, before the run, to their claims.
fn linked(table: &str, findings: &[&Finding]) -> String {
    findings.iter().fold(table.to_owned(), |text, finding| {
        let (name, cell) = (&finding.name, plain(&finding.name));
        let file = match finding.ours.is_empty() {
            true => CLAIMS,
            false => PAGE,
        };
        let link = format!("| [{cell}]({name}/{file}) |");
        text.replacen(&format!("| {cell} |"), &link, 1)
    })
}
