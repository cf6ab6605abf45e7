//! Which cells count for what.

use std::collections::BTreeMap;

use record::{Cell, CellStatus, Outcome, RunData};

use crate::summary::CellCounts;

/// Cells of an arm on a network, one a block.
pub(crate) type Blocks<'a> = BTreeMap<u32, &'a Cell>;

/// The cells of a run by network and arm, under two rules.
pub(crate) struct Table<'a> {
    clean: BTreeMap<(&'a str, &'a str), Blocks<'a>>,
    first: BTreeMap<(&'a str, &'a str), Blocks<'a>>,
    last: BTreeMap<&'a str, (&'a Cell, bool)>,
    superseded: BTreeMap<(&'a str, &'a str), usize>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(data: &'a RunData) -> Self {
        let (mut clean, mut first) = (BTreeMap::new(), BTreeMap::new());
        let (mut last, mut superseded) = (BTreeMap::new(), BTreeMap::new());
        let mut rerun = false;
        // In order of attempts, so that the first measured one is met first.
        for (cell, status) in data.with_status() {
            let at = (cell.network.as_str(), cell.arm.as_str());
            if status == CellStatus::Superseded {
                *superseded.entry(at).or_default() += 1;
                continue;
            }
            if cell.is_measured() {
                let blocks: &mut Blocks<'a> = first.entry(at).or_default();
                blocks.entry(cell.block).or_insert(cell);
            }
            if status == CellStatus::Repeated {
                rerun = true;
                continue;
            }
            if cell.outcome == Outcome::Clean {
                let blocks: &mut Blocks<'a> = clean.entry(at).or_default();
                blocks.insert(cell.block, cell);
            }
            last.insert(cell.id.as_str(), (cell, rerun));
            rerun = false;
        }
        Self {
            clean,
            first,
            last,
            superseded,
        }
    }

    /// Cells whose last attempt is clean: what figures and verdicts are made from.
    pub(crate) fn clean(&self, network: &str, arm: &str) -> Blocks<'a> {
        self.clean.get(&(network, arm)).cloned().unwrap_or_default()
    }

    /// The first measured attempt of each cell, noisy or not: nothing was selected by how
    /// it went.
    pub(crate) fn first(&self, network: &str, arm: &str) -> Blocks<'a> {
        self.first.get(&(network, arm)).cloned().unwrap_or_default()
    }

    /// Why cells gave no figures: each reason once, with the number of cells. The audit's
    /// objections differ in their figures, so of noisy cells one speaks for all.
    pub(crate) fn reasons(&self, network: &str, arm: &str) -> Vec<String> {
        let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut noisy: (usize, Option<&str>) = (0, None);
        for (cell, _) in self.last.values() {
            if (cell.network.as_str(), cell.arm.as_str()) != (network, arm) {
                continue;
            }
            let at = match &cell.outcome {
                Outcome::Clean => continue,
                Outcome::Noisy { reasons } => {
                    let one = noisy.1.or(reasons.first().map(String::as_str));
                    noisy = (noisy.0 + 1, one);
                    continue;
                }
                Outcome::Failed { reason } => ("failed", reason.as_str()),
                Outcome::Unsupported { reason } => ("unsupported", reason.as_str()),
            };
            *reasons.entry(at).or_default() += 1;
        }
        let told = |((what, reason), n): ((&str, &str), usize)| format!("{n} {what}: {reason}");
        let mut told: Vec<String> = reasons.into_iter().map(told).collect();
        if let (n @ 1.., one) = noisy {
            told.push(format!(
                "{n} noisy to the last attempt, as by: {}",
                one.unwrap_or("?")
            ));
        }
        told
    }

    /// How the planned cells for which `wanted` holds ended.
    pub(crate) fn counts(&self, data: &RunData, wanted: impl Fn(&str, &str) -> bool) -> CellCounts {
        let mut counts = CellCounts::default();
        for planned in data
            .run()
            .plan
            .iter()
            .filter(|p| wanted(&p.network, &p.arm))
        {
            counts.planned += 1;
            *match self.last.get(planned.id.as_str()) {
                None => &mut counts.not_run,
                Some((cell, rerun)) => match (&cell.outcome, rerun) {
                    (Outcome::Clean, false) => &mut counts.clean,
                    (Outcome::Clean, true) => &mut counts.rerun,
                    (Outcome::Noisy { .. }, _) => &mut counts.noisy,
                    (Outcome::Failed { .. }, _) => &mut counts.failed,
                    (Outcome::Unsupported { .. }, _) => &mut counts.unsupported,
                },
            } += 1;
        }
        let superseded = self.superseded.iter().filter(|((n, a), _)| wanted(n, a));
        counts.superseded = superseded.map(|(_, n)| n).sum();
        counts
    }
}
