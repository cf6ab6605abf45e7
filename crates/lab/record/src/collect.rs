//! Collects the records of a run and of its shards one by one.

use std::collections::BTreeMap;

use crate::call::Call;
use crate::cell::{CallList, Cell};
use crate::data::{DataError, PlanOrder, RunData, check_cell, check_run};
use crate::merge::{MergeError, check_same_run};
use crate::run::Run;

/// Position in the plan, invocation and attempt.
type Key = (u32, u32, u32);

/// The records of one run, from any number of shards in any order.
///
/// What shards repeat is kept once: their plans, and records that several have.
#[derive(Debug)]
pub struct Collector<C = Vec<Call>> {
    /// The first header that was added.
    first: Option<Run>,
    order: PlanOrder,
    /// The distinct headers, without what they have in common.
    headers: Vec<Run>,
    cells: Vec<Cell<C>>,
    /// Where each cell is in `cells`.
    indexes: BTreeMap<Key, u32>,
}

impl<C> Default for Collector<C> {
    fn default() -> Self {
        Self {
            first: None,
            order: PlanOrder::default(),
            headers: Vec::new(),
            cells: Vec::new(),
            indexes: BTreeMap::new(),
        }
    }
}

impl<C: CallList + PartialEq> Collector<C> {
    /// Returns a collector without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the header of a run or of a shard, before any of its cells. Fails if it is of another run than those before.
    pub fn add_header(&mut self, header: Run) -> Result<(), MergeError> {
        check_run(&header)?;
        match &self.first {
            Some(first) => check_same_run(first, &header)?,
            None => self.order = PlanOrder::of(&header)?,
        }
        let own = without_lists(&header);
        self.add_own(own);
        if self.first.is_none() {
            self.first = Some(header);
        }
        Ok(())
    }

    /// Adds a header without what it has in common with the others.
    pub(crate) fn add_own(&mut self, own: Run) {
        if !self.headers.contains(&own) {
            self.headers.push(own);
        }
    }

    /// Adds a cell. One that is there already is dropped. Fails if the cell does not belong to the run, or if another one
    /// with its name differs.
    pub fn add_cell(&mut self, cell: Cell<C>) -> Result<(), DataError> {
        let Some(run) = &self.first else {
            return Err(DataError::Run("it is missing".into()));
        };
        let position = check_cell(run, &self.order, &cell)?;
        let key = (position, cell.invocation, cell.attempt);
        match self.indexes.get(&key) {
            None => {
                self.indexes.insert(key, self.cells.len() as u32);
                self.cells.push(cell);
                Ok(())
            }
            Some(&index) if self.cells[index as usize] == cell => Ok(()),
            Some(_) => Err(DataError::Conflict {
                cell: cell.file_name(),
            }),
        }
    }

    /// Makes room for so many more cells.
    pub(crate) fn reserve(&mut self, cells: usize) {
        self.cells.reserve(cells);
    }

    /// Returns the run. Fails if no header was added.
    pub fn finish(self) -> Result<RunData<C>, MergeError> {
        let Self {
            first,
            mut headers,
            mut cells,
            indexes,
            ..
        } = self;
        let Some(first) = first else {
            return Err(MergeError::NoRuns);
        };
        // By time and then by content, so that the order of the arguments makes no difference.
        headers.sort_by_cached_key(|header| (header.started_unix_ns, format!("{header:?}")));
        let earliest = headers.remove(0);
        let earliest = Run {
            arms: first.arms,
            networks: first.networks,
            groups: first.groups,
            calls: first.calls,
            plan: first.plan,
            ..earliest
        };
        headers.insert(0, earliest);
        let mut places = vec![0; cells.len()];
        for (place, index) in indexes.into_values().enumerate() {
            places[index as usize] = place as u32;
        }
        rearrange(&mut cells, &mut places);
        Ok(RunData { headers, cells })
    }
}

/// Returns the union of all shards. Merging is commutative, associative and idempotent. Fails if
/// the shards do not belong to the same run.
pub fn merge(shards: Vec<RunData>) -> Result<RunData, MergeError> {
    let mut collector = Collector::new();
    for shard in shards {
        let mut headers = shard.headers.into_iter();
        if let Some(header) = headers.next() {
            collector.add_header(header)?;
        }
        headers.for_each(|own| collector.add_own(own));
        for cell in shard.cells {
            collector.add_cell(cell)?;
        }
    }
    collector.finish()
}

impl RunData {
    /// Combines a run's header with its cells, in any order; exact duplicates are dropped. Fails if
    /// a record does not belong to the run.
    pub fn new(run: Run, cells: Vec<Cell>) -> Result<Self, DataError> {
        let mut collector = Collector::new();
        collector.add_header(run).map_err(MergeError::of_one)?;
        for cell in cells {
            collector.add_cell(cell)?;
        }
        collector.finish().map_err(MergeError::of_one)
    }
}

/// Returns a header without the lists that all shards of a run have in common.
fn without_lists(header: &Run) -> Run {
    Run {
        arms: Vec::new(),
        networks: Vec::new(),
        groups: Vec::new(),
        calls: Vec::new(),
        plan: Vec::new(),
        commute: header.commute.clone(),
        study: header.study.clone(),
        question: header.question.clone(),
        baseline: header.baseline.clone(),
        settings: header.settings.clone(),
        host: header.host.clone(),
        self_test: header.self_test.clone(),
        ..*header
    }
}

/// Moves each element to its place, without a second list: it might not fit into memory.
fn rearrange<T>(elements: &mut [T], places: &mut [u32]) {
    for at in 0..places.len() {
        while places[at] as usize != at {
            let to = places[at] as usize;
            elements.swap(at, to);
            places.swap(at, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_move_to_their_places() {
        let mut elements = ["d", "a", "e", "c", "b"];
        rearrange(&mut elements, &mut [3, 0, 4, 2, 1]);
        assert_eq!(elements, ["a", "b", "c", "d", "e"]);
    }
}
