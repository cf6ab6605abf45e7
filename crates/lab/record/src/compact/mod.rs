//! A run in the form that reports take: of each call what figures need, in few bytes.
//!
//! A [`Call`](crate::Call) takes some 500 bytes, a [`CompactCall`] some 25. Only critical paths are left out.

mod calls;
mod column;
mod packing;
mod table;

pub use calls::{CompactCall, CompactCalls};

use crate::cell::Cell;
use crate::data::RunData;

/// A cell with compact calls.
pub type CompactCell = Cell<CompactCalls>;

/// A run with compact calls.
pub type CompactRun = RunData<CompactCalls>;

impl From<Cell> for CompactCell {
    fn from(cell: Cell) -> CompactCell {
        cell.map_calls(|calls| calls.into_iter().collect())
    }
}

impl From<&RunData> for CompactRun {
    fn from(data: &RunData) -> CompactRun {
        RunData {
            headers: data.headers.clone(),
            cells: data.cells.iter().cloned().map(CompactCell::from).collect(),
        }
    }
}
