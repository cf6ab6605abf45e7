//! Selects the cells that figures and verdicts are made from.

use std::collections::{BTreeMap, BTreeSet};

use record::{Cell, CellStatus, CompactCalls, Outcome, RunData};

use crate::summary::CellCounts;

/// The cells of an arm on a network, at most one per block. A failed cell is among them: its calls
/// count as at least the timeout, because failing is a result and not a missing value.
pub(crate) type Blocks<'a, C = CompactCalls> = BTreeMap<u32, &'a Cell<C>>;

type Key<'a> = (&'a str, &'a str);

/// The cells of a run, by network and arm.
pub(crate) struct CellIndex<'a, C = CompactCalls> {
    first: BTreeMap<Key<'a>, Blocks<'a, C>>,
    /// Clean cells by block and attempt.
    clean: BTreeMap<Key<'a>, BTreeMap<(u32, u32), &'a Cell<C>>>,
    /// The last attempt of each cell by its id, and whether the cell was repeated.
    last: BTreeMap<&'a str, (&'a Cell<C>, bool)>,
    superseded: BTreeMap<Key<'a>, usize>,
    /// Where an arm was given up.
    given_up: BTreeSet<Key<'a>>,
}

impl<'a, C> CellIndex<'a, C> {
    pub(crate) fn new(data: &'a RunData<C>) -> Self {
        let mut index = Self {
            first: BTreeMap::new(),
            clean: BTreeMap::new(),
            last: BTreeMap::new(),
            superseded: BTreeMap::new(),
            given_up: BTreeSet::new(),
        };
        // Attempts of a cell come in order.
        for (cell, status) in data.with_status() {
            let key = (cell.network.as_str(), cell.arm.as_str());
            if status == CellStatus::Superseded {
                *index.superseded.entry(key).or_default() += 1;
                continue;
            }
            if matches!(cell.outcome, Outcome::GivenUp { .. }) {
                index.given_up.insert(key);
            }
            let has_result = !matches!(
                cell.outcome,
                Outcome::Unsupported { .. } | Outcome::GivenUp { .. }
            );
            if status == CellStatus::Counted && has_result {
                index.first.entry(key).or_default().insert(cell.block, cell);
            }
            if cell.outcome == Outcome::Clean {
                let clean = index.clean.entry(key).or_default();
                clean.insert((cell.block, cell.attempt), cell);
            }
            let repeated = index.last.contains_key(cell.id.as_str());
            index.last.insert(&cell.id, (cell, repeated));
        }
        index
    }

    /// Returns the first result of each cell, clean, noisy or failed, so that nothing is selected by
    /// its result. Figures and verdicts are made from these.
    pub(crate) fn first(&self, network: &str, arm: &str) -> Blocks<'a, C> {
        self.first.get(&(network, arm)).cloned().unwrap_or_default()
    }

    /// Returns whether an arm was given up on a network, so that it gets no verdict there.
    pub(crate) fn is_given_up(&self, network: &str, arm: &str) -> bool {
        self.given_up.contains(&(network, arm))
    }

    /// Returns, for each block, the cells of two arms in the first attempt in which both are clean.
    pub(crate) fn clean_pairs(
        &self,
        network: &str,
        (one, other): (&str, &str),
    ) -> (Blocks<'a, C>, Blocks<'a, C>) {
        let (mut ones, mut others) = (Blocks::new(), Blocks::new());
        let (Some(all), Some(partners)) = (
            self.clean.get(&(network, one)),
            self.clean.get(&(network, other)),
        ) else {
            return (ones, others);
        };
        for (key, cell) in all {
            if let Some(partner) = partners.get(key) {
                ones.entry(key.0).or_insert(*cell);
                others.entry(key.0).or_insert(*partner);
            }
        }
        (ones, others)
    }

    /// Returns why cells are noisy or gave no figures: each reason once, with the number of cells. Of
    /// noisy cells only one reason is given, because the audit's objections differ in their figures.
    pub(crate) fn reasons(&self, network: &str, arm: &str) -> Vec<String> {
        let mut noisy: (usize, Option<&str>) = (0, None);
        for cell in self.last_of(network, arm) {
            if let Outcome::Noisy { reasons } = &cell.outcome {
                let example = noisy.1.or(reasons.first().map(String::as_str));
                noisy = (noisy.0 + 1, example);
            }
        }
        let line = |((outcome, reason), n): ((&str, &str), usize)| {
            format!("{n} {}: {reason}", outcome.replace('_', " "))
        };
        let unmeasured = self.unmeasured(network, arm);
        let mut lines: Vec<String> = unmeasured.into_iter().map(line).collect();
        if let (n @ 1.., example) = noisy {
            lines.push(format!("{n} noisy, e.g.: {}", example.unwrap_or("?")));
        }
        lines
    }

    /// Returns the first objection to the first noisy cell, of all arms on all networks.
    pub(crate) fn reason_of_noise(&self) -> Option<&'a str> {
        let of_cell = |cell: &&'a Cell<C>| match &cell.outcome {
            Outcome::Noisy { reasons } => reasons.first().map(String::as_str),
            _ => None,
        };
        self.first
            .values()
            .flat_map(BTreeMap::values)
            .find_map(of_cell)
    }

    /// Returns the reason that most of the cells gave that failed, were unsupported or given up.
    pub(crate) fn commonest_reason(&self, network: &str, arm: &str) -> Option<String> {
        let unmeasured = self.unmeasured(network, arm).into_iter();
        let ((_, reason), _) = unmeasured.max_by_key(|(_, n)| *n)?;
        Some(reason.to_owned())
    }

    /// Counts the cells that failed, were unsupported or given up, by outcome and reason.
    fn unmeasured(&self, network: &str, arm: &str) -> BTreeMap<(&'a str, &'a str), usize> {
        let mut counts = BTreeMap::new();
        for cell in self.last_of(network, arm) {
            if let Outcome::Failed { reason }
            | Outcome::Unsupported { reason }
            | Outcome::GivenUp { reason } = &cell.outcome
            {
                *counts
                    .entry((cell.outcome.name(), reason.as_str()))
                    .or_default() += 1;
            }
        }
        counts
    }

    /// Returns the last attempt of each cell of an arm on a network.
    fn last_of(&self, network: &str, arm: &str) -> impl Iterator<Item = &'a Cell<C>> {
        let of =
            move |cell: &&Cell<C>| (cell.network.as_str(), cell.arm.as_str()) == (network, arm);
        self.last.values().map(|(cell, _)| *cell).filter(of)
    }

    /// Counts the outcomes of the planned cells whose network and arm are `wanted`.
    pub(crate) fn counts(
        &self,
        data: &RunData<C>,
        wanted: impl Fn(&str, &str) -> bool,
    ) -> CellCounts {
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
                    (Outcome::GivenUp { .. }, _) => &mut counts.given_up,
                },
            } += 1;
        }
        let superseded = self.superseded.iter().filter(|((n, a), _)| wanted(n, a));
        counts.superseded = superseded.map(|(_, n)| n).sum();
        counts
    }
}
