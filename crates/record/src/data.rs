//! A run as read: its head and its cells, known to belong together.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Cell, FORMAT, Outcome, Run};

/// A run and its cells, checked and in the plan's order.
#[derive(Clone, Debug, PartialEq)]
pub struct RunData {
    pub(crate) heads: Vec<Run>,
    pub(crate) cells: Vec<Cell>,
}

impl RunData {
    /// Puts a run and its cells together, in any order; the same cell may come twice.
    pub fn new(run: Run, cells: Vec<Cell>) -> Result<Self, DataError> {
        Self::from_heads(vec![run], cells)
    }

    /// The heads are known to agree on all that [`crate::merge`] compares; there is one.
    pub(crate) fn from_heads(heads: Vec<Run>, mut cells: Vec<Cell>) -> Result<Self, DataError> {
        check_run(&heads[0])?;
        let plan = places(&heads[0])?;
        for cell in &cells {
            check_cell(&heads[0], &plan, cell)?;
        }
        cells.sort_by_key(|cell| (plan[cell.id.as_str()], cell.invocation, cell.attempt));
        let mut unique: Vec<Cell> = Vec::with_capacity(cells.len());
        for cell in cells {
            match unique.last() {
                Some(last) if key(last) == key(&cell) => {
                    if *last != cell {
                        return Err(DataError::Conflict {
                            cell: cell.file_name(),
                        });
                    }
                }
                _ => unique.push(cell),
            }
        }
        Ok(Self {
            heads,
            cells: unique,
        })
    }

    /// The head of the run. Of a merged run, what all shards agree on; its host, self-test
    /// and start are those of the first of [`RunData::heads`].
    pub fn run(&self) -> &Run {
        &self.heads[0]
    }

    /// One head for each place and time the run's shards were started at.
    pub fn heads(&self) -> &[Run] {
        &self.heads
    }

    /// Every cell, every attempt, every invocation: in the plan's order, then by invocation and
    /// attempt.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Every cell, and whether it counts.
    pub fn with_status(&self) -> Vec<(&Cell, CellStatus)> {
        let mut invocation: BTreeMap<(&str, u32), u32> = BTreeMap::new();
        for cell in &self.cells {
            let latest = invocation.entry((&cell.network, cell.block)).or_default();
            *latest = (*latest).max(cell.invocation);
        }
        let next = self.cells.iter().skip(1).map(Some).chain([None]);
        self.cells
            .iter()
            .zip(next)
            .map(|(cell, next)| {
                let status = if invocation[&(cell.network.as_str(), cell.block)] > cell.invocation {
                    CellStatus::Superseded
                } else if next.is_some_and(|n| n.id == cell.id && n.invocation == cell.invocation) {
                    CellStatus::Repeated
                } else {
                    CellStatus::Counted
                };
                (cell, status)
            })
            .collect()
    }
}

/// Whether a recorded attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellStatus {
    /// The last attempt in the last invocation of its block.
    Counted,
    /// A later attempt in the same invocation replaced it.
    Repeated,
    /// A later invocation of its block replaced it: it has no neighbours to be paired with.
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

/// Records that cannot be what a run wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// Written by another version.
    #[error(
        "{what} has record format {found}, this commute reads {FORMAT}; read it with the commute that wrote it"
    )]
    Format {
        /// Which record.
        what: String,
        /// Its format.
        found: u32,
    },
    /// The head contradicts itself.
    #[error("run.json: {0}; it was edited or is damaged, restore it from where it was written")]
    Run(String),
    /// A cell that the plan does not hold.
    #[error("cell {cell}: {reason}; it belongs to another run, move it out of this folder")]
    Stray {
        /// Which.
        cell: String,
        /// What does not fit.
        reason: String,
    },
    /// Two different cells for one place.
    #[error(
        "cell {cell} exists twice with different content: two machines ran the same shard; merge only one of them"
    )]
    Conflict {
        /// Which.
        cell: String,
    },
}

impl Cell {
    /// The name of its file below `cells/`.
    pub fn file_name(&self) -> String {
        format!("{}.{}.{}.json", self.id, self.invocation, self.attempt)
    }

    /// It holds measurements: it neither failed nor was it unsupported.
    pub fn is_measured(&self) -> bool {
        matches!(self.outcome, Outcome::Clean | Outcome::Noisy { .. })
    }
}

/// An id is part of a file's name, so it may hold nothing that means something there; a
/// leading dot would hide its record from readers.
pub(crate) fn is_safe_id(id: &str) -> bool {
    (1..=MAX_ID_BYTES).contains(&id.len())
        && !id.starts_with('.')
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// Room for a hash in hex and a word, and far below the 255 bytes of a file's name.
const MAX_ID_BYTES: usize = 128;

fn key(cell: &Cell) -> (&str, u32, u32) {
    (&cell.id, cell.invocation, cell.attempt)
}

fn check_run(run: &Run) -> Result<(), DataError> {
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
        return wrong(format!(
            "the baseline {:?} is not among the arms",
            run.baseline
        ));
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

/// Place of each planned cell, by id.
fn places(run: &Run) -> Result<BTreeMap<&str, usize>, DataError> {
    let mut places = BTreeMap::new();
    for (place, planned) in run.plan.iter().enumerate() {
        if !is_safe_id(&planned.id) {
            return Err(DataError::Run(format!(
                "{:?} is not an id of a cell",
                planned.id
            )));
        }
        if !run.arms.iter().any(|arm| arm.name == planned.arm)
            || !run
                .networks
                .iter()
                .any(|network| network.name == planned.network)
        {
            return Err(DataError::Run(format!(
                "{} names an unknown arm or network",
                planned.id
            )));
        }
        if places.insert(planned.id.as_str(), place).is_some() {
            return Err(DataError::Run(format!("{} is planned twice", planned.id)));
        }
    }
    Ok(places)
}

fn check_cell(run: &Run, plan: &BTreeMap<&str, usize>, cell: &Cell) -> Result<(), DataError> {
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
    let Some(&place) = plan.get(cell.id.as_str()) else {
        return stray("the plan has no such cell".into());
    };
    let planned = &run.plan[place];
    if (&planned.network, planned.block, &planned.arm) != (&cell.network, cell.block, &cell.arm) {
        return stray(format!(
            "planned as {} on {} in block {}",
            planned.arm, planned.network, planned.block
        ));
    }
    if cell.attempt == 0 || cell.invocation == 0 {
        return stray("attempts and invocations count from 1".into());
    }
    if let Some(call) = cell
        .calls
        .iter()
        .find(|c| run.groups.iter().all(|g| g.name != c.group))
    {
        return stray(format!(
            "call {} is of an unknown group {:?}",
            call.id, call.group
        ));
    }
    if !cell.audit.steal.is_finite() {
        return stray("its steal is not a number".into());
    }
    Ok(())
}
