//! What captures show, as data for every format.

use explain::Part;
use record::CallPath;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::Capture;

/// Version of the format of [`Explained`]; raised when a reader of the old format would misread the new one.
pub(crate) const FORMAT: u32 = 1;

/// Where the time of the exchanges in one capture or two went.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// Version of the format of this document.
    pub format: u32,
    /// The files: of two, the client's first.
    pub captures: Vec<CaptureFacts>,
    /// How the clocks of two captures differ; absent for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockFacts>,
    /// The connections in the order of their SYN. Of two captures, those follow that cannot be matched.
    pub connections: Vec<ConnectionFacts>,
    /// What is not explained.
    pub left_out: LeftOut,
    /// The numbers in the client's capture and in the server's of each packet that a path has, by the packet's number
    /// there.
    pub packets: Vec<[Option<u32>; 2]>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CaptureFacts {
    /// Its name.
    pub file: String,
    /// Number of packets in it.
    pub packets: usize,
}

/// How the clocks of two captures differ, if the least delays of both directions are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClockFacts {
    /// How far the server's clock is ahead of the client's, ns.
    pub server_ahead_ns: i64,
    /// The least round trip of a packet up and one down, ns.
    pub least_rtt_ns: u64,
}

/// The end of a connection at which its packets were captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The client's.
    Client,
    /// The server's.
    Server,
    /// Each in one of two captures.
    Both,
    /// The packets do not show it.
    Unknown,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConnectionFacts {
    /// The client's address and port, in the client's capture if there is one.
    pub client: String,
    /// The server's address and port, in the same capture.
    pub server: String,
    /// Where it was captured.
    pub captured_at: End,
    /// Why its exchanges are not explained; absent if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_explained: Option<String>,
    /// The least round trip, ns: of two captures, over all connections.
    pub rtt_ns: u64,
    /// Number of its packets, each counted once.
    pub packets: usize,
    /// Packets that were lost between two captures; absent for one capture, which cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<usize>,
    /// Packets in which the end that one capture was made at sent unacknowledged bytes again; absent for two captures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<usize>,
    /// Packets that the captures missed, though they were sent or received: in the client's capture and in the server's.
    pub missed: [usize; 2],
    /// Bytes that were acknowledged and that no packet of the capture has: in the client's and in the server's.
    pub missing_bytes: [u64; 2],
    /// Packets that a capture has again from another interface; their first sight counts.
    pub seen_twice: usize,
    /// Segments are longer than packets on the wire: the capture was made with segmentation offload (TSO, GRO), so that
    /// the times of single packets are not in it.
    pub has_offload: bool,
    /// The capture has no payload, so that a TLS handshake is not recognised and counts as request and response.
    pub lacks_payload: bool,
    /// Options of TCP are cut off, so that windows and losses are not named.
    pub lacks_options: bool,
    /// Payload from the client that no payload from the server follows, e.g. a request without a response. No exchange
    /// has it.
    pub unanswered_bytes: u64,
    /// Its exchanges, in turn.
    pub exchanges: Vec<Exchange>,
}

/// A request with its response, or several that overlap.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Exchange {
    /// Its number among all exchanges, from 1.
    pub number: usize,
    /// When it began, in ns after the first packet of all.
    pub start_ns: u64,
    /// How long it took, ns: the sum of the parts.
    pub duration_ns: u64,
    /// TCP payload from the client, without that of a TLS handshake.
    pub request_bytes: u64,
    /// TCP payload from the server.
    pub response_bytes: u64,
    /// The parts of its time that are not zero.
    pub parts: Vec<PartTime>,
    /// Its critical path, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<CallPath>,
}

/// The time of a part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartTime {
    /// Its name, as in docs/reference/parts.md.
    #[serde(serialize_with = "part_name")]
    #[schemars(with = "String")]
    pub part: Part,
    /// The time, ns.
    pub ns: u64,
    /// The same in least round trips; absent for parts that are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<f64>,
}

/// Packets and connections that are not explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Packets of UDP: QUIC is encrypted, with its acknowledgements.
    pub udp_packets: usize,
    /// Fragments of IP packets.
    pub fragments: usize,
    /// Packets of other protocols.
    pub other_packets: usize,
    /// Packets whose headers are cut off, or do not fit into them.
    pub malformed_packets: usize,
    /// Connections whose handshake is not in the capture.
    pub without_handshake: usize,
    /// Connections that were not accepted.
    pub unanswered: usize,
    /// Of two captures: connections that only one has, without those that are listed.
    pub in_one_capture: usize,
    /// Of two captures: connections whose client is where most have their server.
    pub reversed: usize,
}

impl CaptureFacts {
    pub(crate) fn of(capture: &Capture) -> CaptureFacts {
        CaptureFacts {
            file: capture.name.clone(),
            packets: capture.packets,
        }
    }
}

impl LeftOut {
    /// Returns the packets of captures that are not TCP.
    pub(crate) fn of(captures: &[&Capture]) -> LeftOut {
        let sum = |of: fn(&Capture) -> usize| captures.iter().map(|capture| of(capture)).sum();
        LeftOut {
            udp_packets: sum(|capture| capture.udp),
            fragments: sum(|capture| capture.fragments),
            other_packets: sum(|capture| capture.other),
            malformed_packets: sum(|capture| capture.malformed),
            ..LeftOut::default()
        }
    }
}

fn part_name<S: Serializer>(part: &Part, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(part.name())
}
