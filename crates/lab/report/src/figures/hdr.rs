//! The times of requests as HdrHistogram logs, for HdrHistogram's own tools (<https://hdrhistogram.org>).

use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use record::{CallResult, CompactCell, CompactRun, Distribution};

use crate::figures::cells::CellIndex;
use crate::figures::population::{Population, populations};
use crate::figures::position::Places;
use crate::records::Records;

/// The maximum of a line is in ms, as Java's writer has it; the histograms are in ns.
const NS_PER_MS: f64 = 1e6;

/// The log of one group of one arm on one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HdrLog {
    /// The network.
    pub network: String,
    /// The arm.
    pub arm: String,
    /// The group.
    pub group: String,
    /// The log: a line for each block and kind of request (first, warm, ...), which is its tag. Only
    /// requests that succeeded are in it, in ns with three digits; the head says how many are not.
    pub text: String,
}

/// Returns the logs of all cells that figures and verdicts are made from. Fails if a record is damaged.
pub fn hdr_logs(data: &impl Records) -> Result<Vec<HdrLog>, String> {
    let data = &*data.compact();
    let (run, cells) = (data.run(), CellIndex::new(data));
    let populations = populations(run, &Places::new());
    let mut logs = Vec::new();
    for network in &run.networks {
        for arm in &run.arms {
            let blocks: Vec<&CompactCell> = cells
                .first(&network.name, &arm.name)
                .into_values()
                .collect();
            for group in &run.groups {
                let of_group = |p: &&Population| p.group == group.name && p.part.is_by_request();
                let parts: Vec<&Population> = populations.iter().filter(of_group).collect();
                let text = log(data, &blocks, &parts)?;
                logs.extend(text.map(|text| HdrLog {
                    network: network.name.clone(),
                    arm: arm.name.clone(),
                    group: group.name.clone(),
                    text,
                }));
            }
        }
    }
    Ok(logs)
}

/// Returns the log of a group; `None` if no request of it succeeded.
fn log(
    data: &CompactRun,
    cells: &[&CompactCell],
    parts: &[&Population],
) -> Result<Option<String>, String> {
    let mut lines = Vec::new();
    let (mut made, mut succeeded) = (0, 0);
    for cell in cells {
        for part in parts {
            let (times, requests) = times(cell, part)?;
            made += requests;
            succeeded += times.count();
            if times.count() > 0 {
                lines.push((cell, part.part.name(), times));
            }
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    #[allow(
        clippy::disallowed_types,
        reason = "the start that the record has: no clock is read"
    )]
    let started =
        std::time::SystemTime::UNIX_EPOCH + Duration::from_nanos(data.run().started_unix_ns);
    // Shards ran on clocks of their own, so that only the order of blocks on one machine is right.
    let first_ns = lines
        .iter()
        .map(|(cell, _, _)| cell.started_ns)
        .min()
        .unwrap_or(0);
    let (mut text, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let lost = made - succeeded;
    let mut head = IntervalLogWriterBuilder::new();
    head.add_comment(&format!(
        "[commute: {lost} of {made} requests failed or timed out]"
    ))
    .with_base_time(started)
    .with_start_time(started)
    .with_max_value_divisor(NS_PER_MS);
    let failed = |e: &dyn std::fmt::Display| format!("HdrHistogram log: {e}");
    let mut log = head
        .begin_log_with(&mut text, &mut serializer)
        .map_err(|e| failed(&e))?;
    for (cell, tag, times) in lines {
        let (start, took) = (
            Duration::from_nanos(cell.started_ns - first_ns),
            Duration::from_nanos(cell.took_ns),
        );
        log.write_histogram(times.histogram(), start, took, Tag::new(tag))
            .map_err(|e| failed(&e))?;
    }
    String::from_utf8(text).map(Some).map_err(|e| failed(&e))
}

/// Returns the times of the requests of a cell that succeeded, and how many were made.
fn times(cell: &CompactCell, part: &Population) -> Result<(Distribution, u64), String> {
    if let Some(load) = part.load(cell) {
        return Ok((load.distribution()?, load.calls));
    }
    let mut times = Distribution::new();
    let mut made = 0;
    for call in part.of(&cell.calls) {
        made += 1;
        if *call.result() == CallResult::Ok {
            times.add(call.end_ns());
        }
    }
    Ok((times, made))
}
