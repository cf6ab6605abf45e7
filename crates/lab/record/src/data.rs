//! A run as read: its header and its cells, checked against each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::Call;
use crate::cell::{CallList, Cell};
use crate::run::{FORMAT, Group, Planned, Run};

/// Room for a hash in hex and a word, and far below the 255 bytes that a file name may have.
const MAX_ID_BYTES: usize = 128;

/// A run and its cells, checked and in the plan's order. Calls have either form.
#[derive(Clone, Debug, PartialEq)]
pub struct RunData<C = Vec<Call>> {
    /// At least one. What all have in common is in the first only.
    pub(crate) headers: Vec<Run>,
    pub(crate) cells: Vec<Cell<C>>,
}

impl<C> RunData<C> {
    /// Returns the run's header. For a merged run, only what all shards agree on is meaningful;
    /// host, self-test and start are those of the first of [`RunData::headers`].
    pub fn run(&self) -> &Run {
        &self.headers[0]
    }

    /// Returns the distinct headers of the run's shards, the earliest first. The others lack the lists that they share with
    /// it: arms, networks, groups, planned calls and planned cells.
    pub fn headers(&self) -> &[Run] {
        &self.headers
    }

    /// Returns every attempt of every cell: in the plan's order, then by invocation and attempt.
    pub fn cells(&self) -> &[Cell<C>] {
        &self.cells
    }

    /// Returns every attempt of every cell with its status, in the order of [`RunData::cells`].
    pub fn with_status(&self) -> Vec<(&Cell<C>, CellStatus)> {
        let mut invocation: BTreeMap<(&str, u32), u32> = BTreeMap::new();
        for cell in &self.cells {
            let latest = invocation.entry((&cell.network, cell.block)).or_default();
            *latest = (*latest).max(cell.invocation);
        }
        let mut out = Vec::with_capacity(self.cells.len());
        for attempts in self
            .cells
            .chunk_by(|a, b| a.id == b.id && a.invocation == b.invocation)
        {
            let superseded =
                |c: &Cell<C>| invocation[&(c.network.as_str(), c.block)] > c.invocation;
            out.extend(attempts.iter().enumerate().map(|(i, cell)| {
                let status = if superseded(cell) {
                    CellStatus::Superseded
                } else if i == 0 {
                    CellStatus::Counted
                } else {
                    CellStatus::Repeated
                };
                (cell, status)
            }));
        }
        out
    }
}

/// Whether a recorded attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellStatus {
    /// The first attempt in the latest invocation of its block, whether clean, noisy, failed,
    /// unsupported or given up.
    Counted,
    /// Another attempt of the same invocation.
    Repeated,
    /// Replaced by a later invocation of its block: the cells it could be paired with no longer
    /// count.
    Superseded,
}

impl CellStatus {
    /// Returns the name used in CSV and HTML.
    pub fn name(self) -> &'static str {
        match self {
            CellStatus::Counted => "counted",
            CellStatus::Repeated => "repeated",
            CellStatus::Superseded => "superseded",
        }
    }
}

/// Records that no single run can have written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// A record of another format.
    #[error(
        "{what} has record format {found}, this commute reads {FORMAT}; read it with the version that wrote it"
    )]
    Format {
        /// The record.
        what: String,
        /// Its format.
        found: u32,
    },
    /// An inconsistent header.
    #[error("run.json: {0}; the file was edited or is damaged, restore the original")]
    Run(String),
    /// A cell that does not match the plan.
    #[error("cell {cell}: {reason}; it belongs to another run, move it out of this folder")]
    Stray {
        /// Id of the cell.
        cell: String,
        /// The mismatch.
        reason: String,
    },
    /// Two different records of one attempt.
    #[error(
        "cell {cell} exists twice with different content: two machines ran the same shard; merge only one of them"
    )]
    Conflict {
        /// File name of the record.
        cell: String,
    },
}

/// Returns whether an id can be part of a file name. Characters with a meaning in paths are not
/// allowed, and a leading dot would hide the record from readers.
pub(crate) fn is_safe_id(id: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len())
        && !id.starts_with('.')
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Fails if a header contradicts itself.
pub(crate) fn check_run(run: &Run) -> Result<(), DataError> {
    if run.format != FORMAT {
        return Err(DataError::Format {
            what: "run.json".into(),
            found: run.format,
        });
    }
    let wrong = |what: String| Err(DataError::Run(what));
    for (kind, names) in [
        ("arm", run.arms.iter().map(|a| &a.name).collect::<Vec<_>>()),
        ("network", run.networks.iter().map(|n| &n.name).collect()),
        ("group", run.groups.iter().map(|g| &g.name).collect()),
    ] {
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.into_iter().find(|name| !seen.insert(name.as_str())) {
            return wrong(format!("two {kind}s are named {twice:?}"));
        }
    }
    if !run.arms.iter().any(|arm| arm.name == run.baseline) {
        return wrong(format!("the baseline {:?} is not an arm", run.baseline));
    }
    if let Some(call) = (run.calls.iter()).find(|c| run.groups.iter().all(|g| g.name != c.group)) {
        return wrong(format!(
            "planned call {} has an unknown group {:?}",
            call.id, call.group
        ));
    }
    if !run.calls.is_sorted_by(|a, b| a.id < b.id) {
        return wrong("the planned calls are not in order of id".into());
    }
    if run.tail_percent.is_some_and(|p| !(p > 50.0 && p < 100.0)) {
        return wrong("the tail percentile is not between 50 and 100".into());
    }
    if (run.min_clean_percent).is_some_and(|p| !(0.0..=100.0).contains(&p)) {
        return wrong("the least share of clean cells is not between 0 and 100 %".into());
    }
    if run.self_test.iter().any(|c| {
        ![c.expected, c.measured, c.margin]
            .iter()
            .all(|x| x.is_finite())
    }) {
        return wrong("a self-test figure is not a number".into());
    }
    Ok(())
}

/// The positions of a plan's cells, sorted by id.
#[derive(Debug, Default)]
pub(crate) struct PlanOrder(Vec<u32>);

impl PlanOrder {
    /// Fails if a planned cell has no valid id, is planned twice, or has an unknown arm or network.
    pub(crate) fn of(run: &Run) -> Result<PlanOrder, DataError> {
        let arms: BTreeSet<&str> = run.arms.iter().map(|arm| arm.name.as_str()).collect();
        let networks: BTreeSet<&str> = run.networks.iter().map(|n| n.name.as_str()).collect();
        for planned in &run.plan {
            if !is_safe_id(&planned.id) {
                return Err(DataError::Run(format!(
                    "{:?} is not a valid cell id",
                    planned.id
                )));
            }
            if !arms.contains(planned.arm.as_str()) || !networks.contains(planned.network.as_str())
            {
                return Err(DataError::Run(format!(
                    "planned cell {} has an unknown arm or network",
                    planned.id
                )));
            }
        }
        let id = |position: u32| run.plan[position as usize].id.as_str();
        let mut order: Vec<u32> = (0..run.plan.len() as u32).collect();
        order.sort_unstable_by(|one, other| id(*one).cmp(id(*other)));
        match order.windows(2).find(|two| id(two[0]) == id(two[1])) {
            Some(two) => Err(DataError::Run(format!("{} is planned twice", id(two[0])))),
            None => Ok(PlanOrder(order)),
        }
    }

    /// Returns the position of a cell in the plan that this is the order of.
    fn position(&self, plan: &[Planned], id: &str) -> Option<u32> {
        let of = |position: &u32| plan[*position as usize].id.as_str().cmp(id);
        let found = self.0.binary_search_by(of).ok()?;
        self.0.get(found).copied()
    }
}

/// Returns the position of a cell in the plan. Fails if the cell does not belong to the run.
pub(crate) fn check_cell<C: CallList>(
    run: &Run,
    order: &PlanOrder,
    cell: &Cell<C>,
) -> Result<u32, DataError> {
    if cell.format != FORMAT {
        return Err(DataError::Format {
            what: format!("cell {}", cell.id),
            found: cell.format,
        });
    }
    let stray = |reason: String| {
        Err(DataError::Stray {
            cell: cell.id.clone(),
            reason,
        })
    };
    let Some(position) = order.position(&run.plan, &cell.id) else {
        return stray("it is not in the plan".into());
    };
    let planned = &run.plan[position as usize];
    if (&planned.network, planned.block, &planned.arm) != (&cell.network, cell.block, &cell.arm) {
        return stray(format!(
            "planned as {} on {} in block {}",
            planned.arm, planned.network, planned.block
        ));
    }
    if cell.attempt == 0 || cell.invocation == 0 {
        return stray("attempts and invocations count from 1".into());
    }
    let is_known = |group: &str| run.groups.iter().any(|g| g.name == group);
    if let Some((id, group)) = cell.calls.outside(&is_known) {
        return stray(format!("call {id} has an unknown group {group:?}"));
    }
    for load in &cell.loads {
        let is_planned = |g: &Group| g.name == load.group && g.load.is_some();
        if !run.groups.iter().any(is_planned) {
            return stray(format!(
                "{:?} is no group that is bound by time",
                load.group
            ));
        }
        if let Err(reason) = load.check() {
            return stray(format!("group {:?}: {reason}", load.group));
        }
    }
    let audit = &cell.audit;
    let shares = [
        audit.steal,
        audit.own_cpu_share,
        audit.other_cpu_share.unwrap_or(0.0),
    ];
    if !shares.iter().all(|share| share.is_finite()) {
        return stray("a share of its audit is not a number".into());
    }
    Ok(position)
}
