//! Selects the cells that figures and verdicts are made from.

use std::collections::BTreeMap;

use record::{Cell, CellStatus, Outcome, RunData};

use crate::summary::CellCounts;

/// The cells of an arm on a network, at most one per block.
pub(crate) type Blocks<'a> = BTreeMap<u32, &'a Cell>;

type Key<'a> = (&'a str, &'a str);

/// The cells of a run, by network and arm.
pub(crate) struct CellIndex<'a> {
    clean: BTreeMap<Key<'a>, Blocks<'a>>,
    first: BTreeMap<Key<'a>, Blocks<'a>>,
    /// The last attempt of each cell by its id, and whether the cell was repeated.
    last: BTreeMap<&'a str, (&'a Cell, bool)>,
    superseded: BTreeMap<Key<'a>, usize>,
}

impl<'a> CellIndex<'a> {
    pub(crate) fn new(data: &'a RunData) -> Self {
        let (mut clean, mut first) = (BTreeMap::new(), BTreeMap::new());
        let (mut last, mut superseded) = (BTreeMap::new(), BTreeMap::new());
        for (cell, status) in data.with_status() {
            let key = (cell.network.as_str(), cell.arm.as_str());
            if status == CellStatus::Superseded {
                *superseded.entry(key).or_default() += 1;
                continue;
            }
            if status == CellStatus::Counted && cell.is_measured() {
                let blocks: &mut Blocks<'a> = first.entry(key).or_default();
                blocks.insert(cell.block, cell);
            }
            // Attempts of a cell come in order.
            let repeated = last.contains_key(cell.id.as_str());
            last.insert(cell.id.as_str(), (cell, repeated));
        }
        for (cell, _) in last.values() {
            if cell.outcome == Outcome::Clean {
                let key = (cell.network.as_str(), cell.arm.as_str());
                let blocks: &mut Blocks<'a> = clean.entry(key).or_default();
                blocks.insert(cell.block, *cell);
            }
        }
        Self {
            clean,
            first,
            last,
            superseded,
        }
    }

    /// Returns the cells whose last attempt is clean: figures and verdicts are made from them.
    pub(crate) fn clean(&self, network: &str, arm: &str) -> Blocks<'a> {
        self.clean.get(&(network, arm)).cloned().unwrap_or_default()
    }

    /// Returns the first measured attempt of each cell, clean or noisy, so that nothing is selected
    /// by its result.
    pub(crate) fn first(&self, network: &str, arm: &str) -> Blocks<'a> {
        self.first.get(&(network, arm)).cloned().unwrap_or_default()
    }

    /// Returns why cells gave no figures: each reason once, with the number of cells. Of noisy cells
    /// only one reason is given, because the audit's objections differ in their figures.
    pub(crate) fn reasons(&self, network: &str, arm: &str) -> Vec<String> {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut noisy: (usize, Option<&str>) = (0, None);
        for (cell, _) in self.last.values() {
            if (cell.network.as_str(), cell.arm.as_str()) != (network, arm) {
                continue;
            }
            let reason = match &cell.outcome {
                Outcome::Clean => continue,
                Outcome::Noisy { reasons } => {
                    let example = noisy.1.or(reasons.first().map(String::as_str));
                    noisy = (noisy.0 + 1, example);
                    continue;
                }
                Outcome::Failed { reason } | Outcome::Unsupported { reason } => reason.as_str(),
            };
            *counts.entry((cell.outcome.name(), reason)).or_default() += 1;
        }
        let line =
            |((outcome, reason), n): ((&str, &str), usize)| format!("{n} {outcome}: {reason}");
        let mut lines: Vec<String> = counts.into_iter().map(line).collect();
        if let (n @ 1.., example) = noisy {
            lines.push(format!(
                "{n} noisy in every attempt, e.g.: {}",
                example.unwrap_or("?")
            ));
        }
        lines
    }

    /// Counts the outcomes of the planned cells whose network and arm are `wanted`.
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
                Some((cell, repeated)) => match (&cell.outcome, repeated) {
                    (Outcome::Clean, false) => &mut counts.clean,
                    (Outcome::Clean, true) => &mut counts.clean_on_retry,
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
