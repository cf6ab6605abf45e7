//! The same need, sent by several servers: a download's answer must hold for all of them.

use std::collections::BTreeSet;

use config::ConfigError;
use report::Agreement;
use stats::Verdict;

use crate::claims::Need;
use crate::finding::Finding;

/// Ends the words for a result in a measure in which equal arms could not be shown to be equal.
pub(crate) const A_A_INCONCLUSIVE: &str = "; A/A check inconclusive";

/// A need's answers with several servers.
pub(crate) struct ByServer {
    pub(crate) agreement: Agreement,
    /// The slowest and the fastest server in words.
    pub(crate) range: String,
    /// The studies that measured them.
    pub(crate) studies: String,
}

/// What one sender shows.
struct BySender<'a> {
    /// The difference.
    ns: f64,
    verdict: Verdict,
    /// The verdict, with the size of a decided difference.
    words: String,
    arm: &'a str,
    /// The arm that it is compared with.
    against: &'a str,
}

/// Returns what the senders measured on a network show. `None` if only the study's own was measured.
pub(crate) fn senders(
    findings: &[Finding],
    finding: &Finding,
    need: &Need,
    network: &str,
) -> Result<Option<ByServer>, ConfigError> {
    let mut found = Vec::new();
    let mut measured = BTreeSet::new();
    let mut a_a_check = "";
    for senders in need.senders.iter().filter(|s| s.network == network) {
        let studies = || findings.iter().map(|finding| finding.name.as_str());
        finding.known("study", &senders.study, studies())?;
        let study = findings.iter().find(|f| f.name == *senders.study.as_ref());
        let Some(ours) = study.and_then(|study| study.ours.get(senders.run.as_ref())) else {
            let message = "this run was not made yet";
            return Err(finding.error(&senders.run.span(), message));
        };
        finding.known("measure", &senders.measure, ours.measures())?;
        measured.insert(senders.study.as_ref().as_str());
        let against = senders.against.as_ref();
        let named = senders.named.as_deref().unwrap_or(network);
        if ours
            .run
            .is_a_a_inconclusive(named, senders.measure.as_ref())
        {
            a_a_check = A_A_INCONCLUSIVE;
        }
        for arm in &senders.arms {
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
            let words = format!("{size}{}", report::verdict_words(comparison));
            found.push(BySender {
                ns,
                verdict: comparison,
                words,
                arm: arm.as_ref(),
                against,
            });
        }
    }
    found.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    let (Some(slowest), Some(fastest)) = (found.first(), found.last()) else {
        return Ok(None);
    };
    let verdicts: Vec<Verdict> = found.iter().map(|sender| sender.verdict).collect();
    let has_one_rival = found.iter().all(|sender| sender.against == slowest.against);
    let rival = |against: &str| match has_one_rival {
        true => String::new(),
        false => format!(" against {against}"),
    };
    let [slow, fast] =
        [slowest, fastest].map(|s| format!("{} ({}{})", s.words, s.arm, rival(s.against)));
    let shared = match has_one_rival {
        true => format!(", against {}", slowest.against),
        false => String::new(),
    };
    Ok(Some(ByServer {
        agreement: report::agreement(&verdicts),
        range: format!("{slow} to {fast}{shared}{a_a_check}"),
        studies: Vec::from_iter(measured).join(" and "),
    }))
}
