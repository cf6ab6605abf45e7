//! The index, `README.md`: what to use for which need, how the studies fared, where we contradict them, and whether
//! commute's own client keeps its promises.

use config::ConfigError;
use report::{Advice, Agreement, count};
use stats::Verdict;
use toml::Spanned;

use crate::PAGE;
use crate::claims::Need;
use crate::finding::{CLAIMS, Finding, Ours};
use crate::outcome::Outcome;
use crate::run::Network;
use crate::words::{factor, plain, table};

const HEAD: &str = "\
<!-- Made by `commute findings`. Edit front.toml and STUDY/claims.toml instead. -->

# Which transport should your app take?

Measured on emulated mobile networks with libraries that apps ship, in randomised blocks with common random numbers,
never on a phone. Rows on servers and congestion control use Rust's hyper and quinn as clients. Rules over verdicts and intervals judge every statement ([how](../docs/findings.md)).

";

/// What the answers of the first table hang on.
const CONDITIONS: &str = "
All intervals are the spread in the lab. Where a study varies sizes, they cover sizes up to a tenth apart. Unless an
arm says otherwise, the server is commute's own, with quinn for HTTP/3 and Linux's TCP, both with Cubic, and the queue
is the network's. Answers on images and files turn with [the server](../docs/reference/other-servers.md) and with the
queue: test your own.
";

/// Returns the index.
pub(crate) fn index(front: Option<&str>, findings: &[Finding]) -> Result<String, ConfigError> {
    let mut text = HEAD.to_owned();
    if let Some(front) = front {
        text += &format!("{front}\n");
    }
    text += "## By network and need\n\n";
    let published: Vec<&Finding> = findings.iter().filter(|f| !f.claims.own).collect();
    let own: Vec<&Finding> = findings.iter().filter(|f| f.claims.own).collect();
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
            let found = found.map(|need| without(need, &wanted.except));
            let found = found.as_ref();
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
                (_, Some(need)) if need.best.is_empty() => {
                    let undecided = need.undecided.join(", ");
                    ("undecided".to_owned(), format!("among {undecided}"))
                }
                (_, Some(need)) => (need.best.join(" or "), sure(ours, network, need)),
            };
            let (answer, sure) = match senders(findings, finding, wanted, &network.name)? {
                Some((Agreement::Same, range)) => (answer, format!("{sure}; by server {range}")),
                Some((Agreement::Different, range)) => ("depends on the server".to_owned(), range),
                Some((Agreement::Undecided, range)) => {
                    ("not decided for every server".to_owned(), range)
                }
                None => (answer, sure),
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
    Ok(rows)
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

/// Returns whether the senders measured on a network agree, and their range in words. `None` if only the study's own was
/// measured.
fn senders(
    findings: &[Finding],
    finding: &Finding,
    need: &Need,
    network: &str,
) -> Result<Option<(Agreement, String)>, ConfigError> {
    let mut found = Vec::new();
    for senders in need.senders.iter().filter(|s| s.network == network) {
        let studies = || findings.iter().map(|finding| finding.name.as_str());
        finding.known("study", &senders.study, studies())?;
        let study = findings.iter().find(|f| f.name == *senders.study.as_ref());
        let Some(ours) = study.and_then(|study| study.ours.get(senders.run.as_ref())) else {
            let message = "this run was not made yet";
            return Err(finding.error(&senders.run.span(), message));
        };
        finding.known("measure", &senders.measure, ours.measures())?;
        let against = senders.against.as_ref();
        for arm in &senders.arms {
            let named = senders.named.as_deref().unwrap_or(network);
            let place = ours.place(named, senders.measure.as_ref(), arm.as_ref());
            let comparison = ours.compare(&place, against);
            let Some((comparison, ns)) =
                comparison.and_then(|c| Some((c.verdict, c.difference.value?)))
            else {
                let message = format!("{named} has no comparison of it with `{against}`");
                return Err(finding.error(&arm.span(), message));
            };
            let size = match comparison {
                Verdict::Faster | Verdict::Slower => format!("{} ", report::duration(ns.abs())),
                _ => String::new(),
            };
            let words = format!(
                "{size}{} ({})",
                report::verdict_words(comparison),
                arm.as_ref()
            );
            found.push((ns, comparison, words, against));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (Some(slowest), Some(fastest)) = (found.first(), found.last()) else {
        return Ok(None);
    };
    let verdicts: Vec<Verdict> = found.iter().map(|(_, verdict, ..)| *verdict).collect();
    let range = format!("{} to {}, against {}", slowest.2, fastest.2, slowest.3);
    Ok(Some((report::agreement(&verdicts), range)))
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
