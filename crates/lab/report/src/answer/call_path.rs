//! Finds the critical path of one call in a run, for [`FoundPath::human`] to print.

use record::{Call, CallPath, CallResult, Cell, RunData};

use crate::answer::repeat;
use crate::figures::cells::CellIndex;

/// Names a call.
#[derive(Clone, Copy, Debug)]
pub struct PathOf<'a> {
    /// Its id.
    pub call: u32,
    /// The network; may be absent in runs on one network.
    pub network: Option<&'a str>,
    /// The arm; may be absent in runs of one arm.
    pub arm: Option<&'a str>,
    /// The block; absent for the first that was measured.
    pub block: Option<u32>,
}

/// The critical path of a call, and where it was found.
#[derive(Clone, Copy, Debug)]
pub struct FoundPath<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) call: &'a Call,
    pub(crate) path: &'a CallPath,
}

/// Returns the path of a call in the cell that counts; or what is wrong, and what to do.
pub fn call_path<'a>(data: &'a RunData, wanted: &PathOf<'_>) -> Result<FoundPath<'a>, String> {
    let run = data.run();
    let network = one(
        "network",
        wanted.network,
        run.networks.iter().map(|network| &network.name),
    )?;
    let arm = one("arm", wanted.arm, run.arms.iter().map(|arm| &arm.name))?;
    let cells = CellIndex::new(data).first(network, arm);
    let mut measured = cells.values().copied().filter(|cell| cell.is_measured());
    let cell = match wanted.block {
        Some(block) => measured.clone().find(|cell| cell.block == block),
        None => measured.next(),
    };
    let Some(cell) = cell else {
        let blocks: Vec<String> = measured.map(|cell| cell.block.to_string()).collect();
        let has = match blocks.is_empty() {
            true => "none was measured".to_owned(),
            false => format!("measured are {}", blocks.join(", ")),
        };
        let block = (wanted.block).map_or("block".to_owned(), |block| format!("block {block}"));
        return Err(format!("no {block} of `{arm}` on `{network}`: {has}"));
    };
    let of = format!("of `{arm}` on `{network}`");
    let Some(call) = cell.calls.iter().find(|call| call.id == wanted.call) else {
        let ids = || cell.calls.iter().map(|call| call.id);
        let has = match (ids().min(), ids().max()) {
            (Some(first), Some(last)) => format!("its calls are {first} to {last}"),
            _ => "calls of groups that are bound by time are not recorded".to_owned(),
        };
        return Err(format!("no call {} {of}: {has}", wanted.call));
    };
    match &call.path {
        Some(path) => Ok(FoundPath { cell, call, path }),
        None => Err(format!(
            "call {} {of} has no path: {}",
            call.id,
            reason(data, cell, call)
        )),
    }
}

/// Returns the name that is wanted, or the only one there is.
fn one<'a>(
    what: &str,
    wanted: Option<&str>,
    mut names: impl Iterator<Item = &'a String> + Clone,
) -> Result<&'a str, String> {
    let all = || names.clone().map(String::as_str).collect::<Vec<_>>();
    let list = all().join(", ");
    let found = match wanted {
        Some(name) => all().into_iter().find(|known| *known == name),
        None if all().len() == 1 => names.next().map(String::as_str),
        None => {
            return Err(format!(
                "the run has several {what}s; name one with --{what}: {list}"
            ));
        }
    };
    let wanted = wanted.unwrap_or_default();
    found.ok_or_else(|| format!("the run has no {what} `{wanted}`; it has: {list}"))
}

/// Returns why a call has no path.
fn reason(data: &RunData, cell: &Cell, call: &Call) -> String {
    match &call.result {
        CallResult::TimedOut => return "it timed out".into(),
        CallResult::Error { kind, .. } => return format!("it failed: {kind}"),
        CallResult::Ok => {}
    }
    if !data.run().settings.explain {
        let again = repeat::command(data, data.run().seed).unwrap_or_else(|| "commute run".into());
        return format!("the run kept none; measure again with --explain: {again} --explain");
    }
    if cell.stack.clock == "own" {
        return "its client has a clock of its own, which packets cannot be compared with".into();
    }
    if was_moved(cell, call) {
        return "the phone moved to other addresses during the call, or earlier during its connection"
            .into();
    }
    "neither end reports the client's port".into()
}

/// Reports whether the phone moved during a call, or between the first call of its connection and this one.
fn was_moved(cell: &Cell, call: &Call) -> bool {
    let of_connection = (cell.calls.iter()).filter(|other| other.connection == call.connection);
    let since_ns = of_connection.map(|other| other.start_ns).min();
    let during = since_ns.unwrap_or(call.start_ns)..=call.ended_ns();
    cell.moves.iter().any(|of| during.contains(&of.at_ns))
}
