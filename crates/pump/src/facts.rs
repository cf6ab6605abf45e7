//! What a bench is: its addresses, its interfaces, and what the machine allowed it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// One end of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where the client runs.
    Client,
    /// Where the server runs.
    Server,
}

impl Side {
    /// Both, client first.
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    /// The far end.
    pub fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// Its addresses. Every bench uses the same: they are alone in their namespaces.
    pub fn addresses(self) -> Addresses {
        match self {
            Side::Client => Addresses {
                v4: V4[0],
                v6: V6[0],
            },
            Side::Server => Addresses {
                v4: V4[1],
                v6: V6[1],
            },
        }
    }

    /// Hardware address of its interface: locally administered, one bit apart.
    pub(crate) fn mac(self) -> [u8; 6] {
        match self {
            Side::Client => [0x02, 0, 0, 0, 0, 0x01],
            Side::Server => [0x02, 0, 0, 0, 0, 0x02],
        }
    }

    /// Name of the link's interface that faces it.
    pub(crate) fn link_interface(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// The addresses of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// IPv4.
    pub v4: Ipv4Addr,
    /// IPv6; in force while the network's MTU is at least 1280 (RFC 8200 section 5).
    pub v6: Ipv6Addr,
}

impl Addresses {
    /// Both.
    pub fn all(&self) -> [IpAddr; 2] {
        [self.v4.into(), self.v6.into()]
    }
}

/// What a bench found when it started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// It runs in a user namespace of its own, without any privilege on the host.
    pub rootless: bool,
    /// The link's threads have SCHED_FIFO. Without, expect lateness of milliseconds when the
    /// machine is busy.
    pub realtime: bool,
    /// Frames held in the link lie in locked memory.
    pub locked: bool,
    /// Addresses of the client.
    pub client: Addresses,
    /// Addresses of the server.
    pub server: Addresses,
    /// Name of the interface inside each endpoint.
    pub interface: String,
    /// Receive ring of each direction, bytes.
    pub ring_bytes: usize,
    /// Names of the kernel threads that receive for client and server; none where the kernel
    /// has no threaded NAPI or does not tell.
    pub kernel_threads: [Vec<String>; 2],
    /// Those threads have SCHED_FIFO too.
    pub kernel_realtime: bool,
    /// Congestion controls that [`crate::Bench::set_congestion`] can be given.
    pub congestion_controls: Vec<String>,
    /// The settings written into both endpoint namespaces, as `name = value`.
    pub sysctls: Vec<String>,
}

/// Name of the interface inside each endpoint.
pub(crate) const INTERFACE: &str = "eth0";

/// From 198.18.0.0/15, set aside for benchmarks (RFC 2544 appendix C.2.2).
const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
/// From 2001:2::/48, set aside for benchmarks (RFC 5180 section 8).
const V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2),
];
