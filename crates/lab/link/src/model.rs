//! Packets and their departures, as the caller of a path sees them.

use serde::{Deserialize, Serialize};

/// Transport protocol of a packet, as far as the link treats them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP over IPv4 or IPv6.
    Tcp,
    /// UDP over IPv4 or IPv6.
    Udp,
    /// Anything else, e.g. ARP, ND or ICMP.
    Other,
}

/// A packet as the model sees it: no payload, only the properties that decide its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The caller's handle, which comes back in the [`Departure`].
    pub token: u64,
    /// IP bytes, without the Ethernet header. Queue and rate count these.
    pub ip_bytes: u32,
    /// Transport protocol.
    pub transport: Transport,
    /// Source port; 0 when the transport has none.
    pub src_port: u16,
    /// Destination port; 0 when the transport has none.
    pub dst_port: u16,
    /// The number of the packet's flow, from a [`FlowTable`](crate::FlowTable); `None` for packets
    /// that no random draw applies to: those that are neither TCP nor UDP, and those of flows that
    /// opened before the window.
    pub flow: Option<u32>,
}

/// Direction of travel through a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    Up,
    /// Server to client.
    Down,
}

/// The reason why the model dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The operator's policy blocks or polices UDP.
    Policy,
    /// The gate was closed (outage, handover) and flushes its queue.
    Gate,
    /// The queue was full.
    Queue,
    /// The queue's management dropped it although it was not full.
    Aqm,
    /// The packet was lost at random after the queue.
    Loss,
}

/// How one packet left a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Delivered.
    Deliver {
        /// Ideal virtual time of delivery; the caller is late by `now - at_ns`.
        at_ns: u64,
        /// The handle from [`Packet::token`].
        token: u64,
    },
    /// Dropped by the model.
    Drop {
        /// Virtual time of the drop.
        at_ns: u64,
        /// The handle from [`Packet::token`].
        token: u64,
        /// The reason for the drop.
        cause: Cause,
    },
}
