//! The index, `README.md`: what to use for which need, how the studies fared, where we contradict them, and whether
//! commute's own client keeps its promises.

use config::ConfigError;
use report::{Advice, Agreement, count};
use stats::Verdict;
use toml::Spanned;

use crate::PAGE;
use crate::bench::Bench;
use crate::claims::Need;
use crate::finding::{CLAIMS, Finding};
use crate::ours::Ours;
use crate::outcome::Outcome;
use crate::relation::Relation;
use crate::run::Network;
use crate::servers::{A_A_INCONCLUSIVE, ByServer, senders};
use crate::words::{factor, plain, table};

const HEAD: &str = "\
<!-- Made by `commute findings`. Edit front.toml and STUDY/claims.toml instead. -->

# Which transport should your app take?

Measured on emulated mobile networks with libraries that apps ship, in randomised blocks with common random numbers,
never on a phone. Rows on servers and congestion control use Rust's hyper and quinn as clients. Rules over verdicts and
intervals judge the claims and some rows of the first table ([how](../docs/findings.md)); they do not judge causes.

";

/// What the answers of the first table hang on.
const CONDITIONS: &str = "
All intervals are the spread in the lab. Where a study varies sizes, they cover sizes up to a tenth above or below those
named. Unless an arm says otherwise, the server is commute's own, with quinn for HTTP/3 and Linux's TCP, both with
Cubic, and the queue is the network's. Answers on images and files turn with
[the server](../docs/reference/other-servers.md) and with the queue: test your own.
";

/// Returns the index.
pub(crate) fn index(front: Option<&str>, findings: &[Finding]) -> Result<String, ConfigError> {
    let mut text = HEAD.to_owned();
    if let Some(front) = front {
        text += &format!("{front}\n");
    }
    text += "## By network and need\n\n";
    let is_own = |finding: &&Finding| finding.claims.relation == Relation::Promises;
    let (own, published): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(is_own);
    let mut rows = Vec::new();
    for finding in &published {
        rows.extend(needs(findings, finding)?);
    }
    text += &match rows.is_empty() {
        true => "Not run yet.\n".to_owned(),
        false => {
            table(
                &["network", "need", "use", "spread in the lab", "study"],
                &rows,
            ) + CONDITIONS
        }
    };
    text += "\n## Studies\n\n";
    text += &studies(&published);
    text += "\n## Where we contradict published results\n\n";
    text += &contradictions(&published, Relation::Answers.claim())?;
    if !own.is_empty() {
        text += "\n## Does commute's own client keep its promises?\n\n";
        text += &studies(&own);
        text += "\nPromises that it breaks:\n\n";
        text += &contradictions(&own, Relation::Promises.claim())?;
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

/// What to use for a need on a network.
struct Recommendation {
    /// The arms, or why there are none.
    arms: String,
    /// How sure that is.
    sure: String,
    /// The studies whose figures it has.
    studies: String,
}

/// Returns a row for each network and need of a study.
fn needs(findings: &[Finding], finding: &Finding) -> Result<Vec<Vec<String>>, ConfigError> {
    let mut rows = Vec::new();
    for wanted in &finding.claims.needs {
        let Some(ours) = finding.ours.get(finding.claims.run(&wanted.run)) else {
            continue;
        };
        for arm in &wanted.except {
            finding.known("arm", arm, ours.run.arms.iter().map(|a| a.name.as_str()))?;
        }
        for network in &ours.run.networks {
            let mut needs = network.needs.iter();
            let found = needs.find(|n| n.label == *wanted.measure.as_ref());
            let recommended = match (&network.advice, found) {
                (Advice::Invalid, _) => Recommendation {
                    arms: "-".to_owned(),
                    sure: "the results must not be used".to_owned(),
                    studies: finding.name.clone(),
                },
                (_, None) => continue,
                (_, Some(need)) => {
                    let need = without(need, &wanted.except);
                    let by_server = senders(findings, finding, wanted, &network.name)?;
                    recommend(finding, ours, wanted, network, &need, by_server)
                }
            };
            rows.push(vec![
                format!("{} ({})", network.name, network.numbers),
                wanted.words.clone(),
                recommended.arms,
                recommended.sure,
                recommended.studies,
            ]);
        }
    }
    Ok(rows)
}

/// Returns what to use for a need on a network: no arm unless it is right for every server that was measured.
fn recommend(
    finding: &Finding,
    ours: &Ours,
    wanted: &Need,
    network: &Network,
    need: &report::Need,
    by_server: Option<ByServer>,
) -> Recommendation {
    let (arms, mut sure) = of_report(ours, network, need);
    if ours.run.is_a_a_inconclusive(&network.name, &need.label) {
        sure += A_A_INCONCLUSIVE;
    }
    let studies = finding.name.clone();
    let Some(by_server) = by_server else {
        if wanted.is_bulk() && ours.run.has_one_sender() {
            sure += "; one sender for each protocol";
        }
        return Recommendation {
            arms,
            sure,
            studies,
        };
    };
    let none = |why: &str| Recommendation {
        arms: why.to_owned(),
        sure: by_server.range.clone(),
        studies: by_server.studies.clone(),
    };
    match by_server.agreement {
        Agreement::Same => Recommendation {
            arms,
            sure: format!("{sure}; by server {}", by_server.range),
            studies: format!("{studies} and {}", by_server.studies),
        },
        Agreement::Different => none("depends on the server"),
        Agreement::Undecided => none("not decided for every server"),
    }
}

/// Returns the arms that the report recommends, and how sure that is.
fn of_report(ours: &Ours, network: &Network, need: &report::Need) -> (String, String) {
    if !need.leaning.is_empty() {
        let lower = |l: &report::Leaning| format!("{} {} %", l.arm, l.lower_percent);
        let arms: Vec<String> = need.leaning.iter().map(lower).collect();
        let best = need.best.join(" or ");
        let words = format!("so far {} lower than {best}", arms.join(", "));
        return ("undecided".to_owned(), words);
    }
    if need.best.is_empty() {
        let undecided = need.undecided.join(", ");
        return ("undecided".to_owned(), format!("among {undecided}"));
    }
    (need.best.join(" or "), sure(ours, network, need))
}

/// Returns a need without arms that no app should take.
fn without(need: &report::Need, except: &[Spanned<String>]) -> report::Need {
    let is_kept = |arm: &String| !except.iter().any(|other| other.as_ref() == arm);
    let mut need = need.clone();
    need.best.retain(is_kept);
    need.undecided.retain(is_kept);
    need.leaning.retain(|leaning| is_kept(&leaning.arm));
    need
}

/// Returns how sure a recommendation is: its gain over the baseline, or that there is none, and what
/// is undecided.
fn sure(ours: &Ours, network: &Network, need: &report::Need) -> String {
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
        // As good as the baseline, which the row names as well, or better.
        Some(c) if c.verdict == Verdict::NotSlower => format!(
            "{} is not slower than {baseline} by more than {}, {}",
            rival.map_or("", String::as_str),
            report::duration(c.margin_ns),
            count(c.difference.blocks, "block")
        ),
        Some(c) => format!(
            "{} within {}, {}",
            report::verdict_words(c.verdict),
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
    let of_runs = finding.ours.values().map(|ours| ours.run.date.clone());
    let mut dates: Vec<String> = of_runs.collect();
    // Without a run a study has no page.
    if !dates.is_empty() {
        dates.extend(finding.bench.as_ref().map(Bench::date));
    }
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
