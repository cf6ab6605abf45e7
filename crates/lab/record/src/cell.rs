//! One cell: one arm in one block, as measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, CallResult};
use crate::connection::ConnectionSettings;
use crate::host::Machine;
use crate::load::Load;
use crate::moves::Move;
use crate::radio::RadioChange;
use crate::timeline::Timeline;

/// One attempt of a cell: the content of `cells/<id>.<invocation>.<attempt>.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cell")]
pub struct Cell<C = Vec<Call>> {
    /// Version of the record format.
    pub format: u32,
    /// Id of the cell in the plan.
    pub id: String,
    /// Name of the network.
    pub network: String,
    /// Block, from 0.
    pub block: u32,
    /// Name of the arm.
    pub arm: String,
    /// Attempt of its block, from 1; a block with a noisy cell is run again as a whole.
    pub attempt: u32,
    /// Invocation of its block, from 1; raised when an interrupted block is started again from its
    /// first cell. Cells of an earlier invocation are superseded.
    pub invocation: u32,
    /// How the cell ended.
    pub outcome: Outcome,
    /// Every call that was planned and reached the driver, in order of id, without those of groups that
    /// are bound by time.
    pub calls: C,
    /// The groups that are bound by time, in the study's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Load>,
    /// Bytes and packets on the wire.
    pub wire: Wire,
    /// CPU, memory and start-up time of the endpoints.
    pub cost: Cost,
    /// Signs of interference from outside the cell.
    pub audit: Audit,
    /// What client and server agreed on, per connection.
    pub connections: Vec<ConnectionSettings>,
    /// The client library, as its driver reported it.
    pub stack: Stack,
    /// The machine that measured it, which may be another one than that of the header: any machine can continue a run.
    /// Absent in imported calls and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// How requests reached the user's own server; absent where the lab started one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<Relay>,
    /// The moves of the phone to other addresses, in order of time; empty without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<Move>,
    /// The states of the network's radio in order of time, up to its last one after the cell, as if no packet came any
    /// more; empty without a radio.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub radio: Vec<RadioChange>,
    /// CLOCK_MONOTONIC at the first step.
    pub started_ns: u64,
    /// Time from the first step to the last row.
    pub took_ns: u64,
}

/// The relay between the far end of the link and the user's own server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relay {
    /// Address and port of the server.
    pub address: String,
    /// How long opening TCP connections to it took, right before and after the cell's steps, one by one.
    /// Each takes about one round trip, which adds to each round trip of a request.
    pub connect_ns: Vec<u64>,
}

/// How a cell ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Measured, and the audit passed. Calls may still have failed or timed out.
    Clean,
    /// Measured, but the audit failed.
    Noisy {
        /// Each objection of the audit, with its figures.
        reasons: Vec<String>,
    },
    /// Not measured: the driver contradicted the server's log, died or violated the protocol, or
    /// the bench failed.
    Failed {
        /// The exact reason.
        reason: String,
    },
    /// Not measured: the stack lacks something that the arm needs.
    Unsupported {
        /// The missing capability.
        reason: String,
    },
    /// Not measured: all requests of the arm's first cells on this network timed out.
    GivenUp {
        /// How many requests of how many cells.
        reason: String,
    },
}

/// The calls of a cell, in either form.
pub trait CallList {
    /// Returns the number of calls.
    fn count(&self) -> usize;

    /// Reports whether every call timed out.
    fn all_timed_out(&self) -> bool;

    /// Returns the id and the group of the first call whose group is none of these.
    fn outside(&self, groups: &dyn Fn(&str) -> bool) -> Option<(u32, &str)>;
}

impl CallList for Vec<Call> {
    fn count(&self) -> usize {
        self.len()
    }

    fn all_timed_out(&self) -> bool {
        self.iter().all(|call| call.result == CallResult::TimedOut)
    }

    fn outside(&self, groups: &dyn Fn(&str) -> bool) -> Option<(u32, &str)> {
        let mut calls = self.iter().map(|call| (call.id, call.group.as_str()));
        calls.find(|(_, group)| !groups(group))
    }
}

impl<C> Cell<C> {
    /// Returns the name of its file below `cells/`.
    pub fn file_name(&self) -> String {
        format!("{}.{}.{}.json", self.id, self.invocation, self.attempt)
    }

    /// Returns whether it contains measurements, i.e. it is clean or noisy.
    pub fn is_measured(&self) -> bool {
        matches!(self.outcome, Outcome::Clean | Outcome::Noisy { .. })
    }

    /// Returns the cell with its calls in another form.
    pub(crate) fn map_calls<D>(self, form: impl FnOnce(C) -> D) -> Cell<D> {
        Cell {
            format: self.format,
            id: self.id,
            network: self.network,
            block: self.block,
            arm: self.arm,
            attempt: self.attempt,
            invocation: self.invocation,
            outcome: self.outcome,
            calls: form(self.calls),
            loads: self.loads,
            wire: self.wire,
            cost: self.cost,
            audit: self.audit,
            connections: self.connections,
            stack: self.stack,
            machine: self.machine,
            relay: self.relay,
            moves: self.moves,
            radio: self.radio,
            started_ns: self.started_ns,
            took_ns: self.took_ns,
        }
    }
}

impl<C: CallList> Cell<C> {
    /// Returns the number of calls that the driver made, including warm-ups of groups that are bound by
    /// time.
    pub fn made(&self) -> u64 {
        let of_load = |load: &Load| load.calls.saturating_add(load.warmup_calls);
        let calls = self.calls.count() as u64;
        calls.saturating_add(self.loads.iter().map(of_load).sum())
    }

    /// Returns the number of its calls if all of them timed out, and there were some.
    pub fn timed_out(&self) -> Option<u64> {
        let only_late = self.calls.all_timed_out()
            && self.loads.iter().all(|load| load.timed_out == load.calls);
        let of_loads = self.loads.iter().map(|load| load.calls);
        let calls = of_loads.fold(self.calls.count() as u64, u64::saturating_add);
        (self.is_measured() && only_late && calls > 0).then_some(calls)
    }
}

impl Outcome {
    /// Returns the name used in records, CSV and HTML.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Clean => "clean",
            Outcome::Noisy { .. } => "noisy",
            Outcome::Failed { .. } => "failed",
            Outcome::Unsupported { .. } => "unsupported",
            Outcome::GivenUp { .. } => "given_up",
        }
    }
}

/// IP bytes and packets on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    /// IP bytes the client sent, before any loss.
    pub up_bytes: u64,
    /// IP bytes the server sent, before any loss.
    pub down_bytes: u64,
    /// Packets the client sent.
    pub up_packets: u64,
    /// Packets the server sent.
    pub down_packets: u64,
    /// Bytes of handshakes, both ways: on each connection, all bytes until the client reported its
    /// handshake done. With early data they include the request.
    pub handshake_bytes: u64,
    /// Retransmitted TCP segments, both ways; QUIC's cannot be seen.
    pub retransmitted_packets: u64,
    /// Packets the link model dropped, both ways.
    pub dropped_packets: u64,
    /// When packets crossed the link, in bins of 100 ms; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activity: Vec<Activity>,
}

/// Length of the bins in which packets are counted.
pub const ACTIVITY_BIN_MS: u32 = 100;

/// The packets at the client's end of the link within a bin of [`ACTIVITY_BIN_MS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// Start of the bin after the first step, in ms, a multiple of 100.
    pub at_ms: u32,
    /// IP bytes the client sent.
    pub up_bytes: u64,
    /// IP bytes that reached the client.
    pub down_bytes: u64,
    /// Packets the client sent.
    pub up_packets: u32,
    /// Packets that reached the client.
    pub down_packets: u32,
}

/// What a cell cost the endpoints. `client_cpu_ns` and `server_cpu_ns` cover the window: from the
/// first step to the last row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// CPU of the client's processes, plus the kernel thread of its interface where that is
    /// visible.
    pub client_cpu_ns: u64,
    /// CPU of the server's processes, plus the kernel thread of its interface where that is
    /// visible.
    pub server_cpu_ns: u64,
    /// Whether the CPU of both kernel threads was visible.
    pub kernel_thread_seen: bool,
    /// Peak resident memory of the client.
    pub client_peak_bytes: u64,
    /// Time from spawning the driver to its `ready`.
    pub startup_ns: u64,
    /// CPU of the driver outside the window.
    pub startup_cpu_ns: u64,
    /// CPU and memory over time; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// What the audit measured during a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Time that runnable threads of driver and server waited for a CPU core.
    pub run_queue_wait_ns: u64,
    /// CPU that everything else on the machine used meanwhile; absent where that is not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu_ns: Option<u64>,
    /// `other_cpu_ns` as a share of the window's time on all cores, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu_share: Option<f64>,
    /// CPU of the cell itself (driver, server, their kernel threads and the link) as a share of the
    /// window's time on all cores, 0 to 1.
    #[serde(default)]
    pub own_cpu_share: f64,
    /// Whether the cell itself kept the cores so busy that its times say more about them than about
    /// its stack. This is a result and not noise.
    #[serde(default)]
    pub saturated: bool,
    /// Share of the machine's CPU time that the hypervisor took, 0 to 1.
    pub steal: f64,
    /// Packets the link sent on.
    pub packets: u64,
    /// Of `packets`, those later than the bound of their direction.
    pub late_packets: u64,
    /// The smaller of the two directions' bounds; a bound is the larger of 1 ms and 2 % of the
    /// one-way delay.
    pub late_bound_ns: u64,
    /// Median lateness of the packets the link sent on; the larger of the two directions.
    pub lateness_p50_ns: u64,
    /// 99th percentile of lateness; the larger of the two directions.
    pub lateness_p99_ns: u64,
    /// Largest lateness.
    pub lateness_max_ns: u64,
    /// Packets dropped outside the link model: by rings, devices or softnet, or for lack of space in
    /// the tap.
    pub foreign_drops: u64,
    /// Packets that a full socket buffer of driver or server dropped: their own result. Records
    /// without this field count them in `foreign_drops`.
    #[serde(default)]
    pub endpoint_receive_drops: u64,
    /// Frames that were not TCP, UDP or ICMP errors.
    pub foreign_frames: u64,
    /// TCP and UDP packets of connections that opened before the window. `wire` does not count them,
    /// and they change no other packet's losses.
    #[serde(default)]
    pub stray_packets: u64,
    /// Frames larger than the MTU.
    pub oversize_frames: u64,
    /// How far the wall clock moved relative to the monotonic clock.
    pub clock_step_ns: u64,
    /// CPU of the link's own threads.
    pub link_cpu_ns: u64,
}

/// A client library, as its driver reported it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// Name of the library.
    pub name: String,
    /// Version of the library.
    pub version: String,
    /// TLS library and its version.
    pub tls: String,
    /// The driver's clock: `monotonic` (CLOCK_MONOTONIC) or `own`.
    pub clock: String,
    /// Smallest difference the driver's clock shows.
    pub resolution_ns: u64,
    /// Settings the library ships with or the driver set that no server can see, e.g. windows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the names in existing records.
    #[test]
    fn names_match_the_serialised_form() {
        let text = String::new;
        let outcomes = [
            (Outcome::Clean, "clean"),
            (Outcome::Noisy { reasons: vec![] }, "noisy"),
            (Outcome::Failed { reason: text() }, "failed"),
            (Outcome::Unsupported { reason: text() }, "unsupported"),
            (Outcome::GivenUp { reason: text() }, "given_up"),
        ];
        for (outcome, name) in outcomes {
            assert_eq!(outcome.name(), name);
            assert_eq!(serde_json::to_value(&outcome).unwrap()["outcome"], name);
        }
    }
}
