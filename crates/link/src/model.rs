use serde::{Deserialize, Serialize};

/// What a packet carries, as far as the link may care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP over IPv4 or IPv6.
    Tcp,
    /// UDP over IPv4 or IPv6.
    Udp,
    /// Anything else: ARP, ND, ICMP. Crosses the link like the rest but never draws luck.
    Other,
}

/// One packet, as the model sees it: no bytes, only what decides its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The caller's handle; the model only passes it through.
    pub token: u64,
    /// IP bytes (no Ethernet header): the unit of queue and rate.
    pub ip_bytes: u32,
    /// What it carries.
    pub transport: Transport,
    /// Source port; 0 when the transport has none.
    pub src_port: u16,
    /// Destination port; 0 when the transport has none.
    pub dst_port: u16,
    /// The flow it belongs to: any value equal for the packets of one flow.
    /// Luck is drawn by the order in which flows appear, never by this value.
    pub flow: u64,
}

/// Which way a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

/// Why the model dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Operator policy: UDP blocked or policed.
    Policy,
    /// The gate was closed (outage, handover) and set to flush.
    Gate,
    /// The queue was full.
    Queue,
    /// Random loss after the queue.
    Loss,
}

/// The end of one packet's way through a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Deliver at this virtual time.
    Deliver {
        /// Ideal time of departure; the shell is late by `now - at_ns`.
        at_ns: u64,
        /// The packet's handle.
        token: u64,
    },
    /// Dropped by the model at this virtual time.
    Drop {
        /// Virtual time of the drop.
        at_ns: u64,
        /// The packet's handle.
        token: u64,
        /// Why.
        cause: Cause,
    },
}
