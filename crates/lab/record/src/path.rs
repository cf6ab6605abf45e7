//! The critical path of a call step by step, which `commute run --explain` keeps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The critical path of a call. Times count from the call's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallPath {
    /// The steps in order of time. Each begins where the one before ended, unless steps between them are left out.
    pub steps: Vec<PathStep>,
    /// Number of steps that are left out in the middle of a long path.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// A stretch of a critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathStep {
    /// Name of the part that the time is charged to, as in `parts`.
    pub part: String,
    /// Its start.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// The packet concerned; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<PathPacket>,
}

/// A packet as the link saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathPacket {
    /// Its place among all packets of the cell, from 0.
    pub number: u32,
    /// From client to server.
    pub up: bool,
    /// When it reached the link; negative if that was before the call.
    pub arrival_ns: i64,
    /// Bytes of TCP or UDP payload.
    pub payload_bytes: u16,
    /// TCP: the place of its first byte among all that its sender sent on the connection; absent if the connection's
    /// start was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What its header shows; absent for packets that only carry data or acknowledge it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PacketKind>,
    /// What became of it.
    pub fate: PacketFate,
    /// TCP: it carries nothing beyond what its sender had sent before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
}

/// What the header of a packet shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketKind {
    /// TCP: it opens a connection, or accepts one (RFC 9293 section 3.5).
    Syn,
    /// TCP: its sender sends no more.
    Fin,
    /// QUIC's first packet is an Initial (RFC 9000 section 17.2).
    QuicInitial,
    /// QUIC's first packet is of 0-RTT data.
    QuicZeroRtt,
    /// QUIC's first packet is of the handshake.
    QuicHandshake,
    /// QUIC's server asks the client to prove its address.
    QuicRetry,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketFate {
    /// Its receiver got it.
    Delivered,
    /// It was lost at random.
    Lost,
    /// A queue, an outage or a policy dropped it.
    Dropped,
    /// It was on the link when the window ended.
    InFlight,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
