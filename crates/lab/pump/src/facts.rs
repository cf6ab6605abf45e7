//! The ends of a bench, and what the machine allowed when it started.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// Name of each endpoint's interface.
pub(crate) const INTERFACE: &str = "eth0";
const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
const V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2),
];

/// The most moves of the client in a cell.
pub const MAX_MOVES: usize = 8;

/// One end of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The end that the client runs at.
    Client,
    /// The end that the server runs at.
    Server,
}

impl Side {
    /// Both ends, client first.
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    /// Returns the opposite end.
    pub fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    /// Returns the addresses of this end. They are the same in every bench, since each has
    /// namespaces of its own.
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

    /// Returns the MAC address of its interface (locally administered).
    pub(crate) fn mac(self) -> [u8; 6] {
        match self {
            Side::Client => [0x02, 0, 0, 0, 0, 0x01],
            Side::Server => [0x02, 0, 0, 0, 0, 0x02],
        }
    }

    /// Returns its name, `client` or `server`, which is also that of the link's interface that faces
    /// it.
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// The IP addresses of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    /// From 198.18.0.0/15, reserved for benchmarks (RFC 2544 appendix C.2.2).
    pub v4: Ipv4Addr,
    /// From 2001:2::/48, reserved for benchmarks (RFC 5180 section 8). Configured only while the
    /// network's MTU is at least 1280 (RFC 8200 section 5).
    pub v6: Ipv6Addr,
}

impl Addresses {
    /// Returns the client's addresses after so many moves, at most [`MAX_MOVES`]. Each move leads to other subnets.
    pub fn of_client(moves: usize) -> Addresses {
        let mut addresses = Side::Client.addresses();
        let (mut v4, mut v6) = (addresses.v4.octets(), addresses.v6.segments());
        (v4[2], v6[3]) = (moves as u8, moves as u16);
        (addresses.v4, addresses.v6) = (v4.into(), v6.into());
        addresses
    }

    /// Returns both addresses, IPv4 first.
    pub fn all(&self) -> [IpAddr; 2] {
        [self.v4.into(), self.v6.into()]
    }
}

/// The IP versions of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Families {
    /// IPv4 and IPv6.
    #[default]
    Both,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

impl Families {
    /// Reports whether the network has addresses of the same family as this one.
    pub(crate) fn has(self, address: IpAddr) -> bool {
        match self {
            Families::Both => true,
            Families::V4 => address.is_ipv4(),
            Families::V6 => address.is_ipv6(),
        }
    }
}

/// The properties of a bench, as found at its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// It runs in a user namespace of its own, without privileges on the host.
    pub rootless: bool,
    /// The link's threads run under SCHED_FIFO. Otherwise expect lateness of milliseconds on a busy
    /// machine.
    pub realtime: bool,
    /// The memory for the frames inside the link is locked.
    pub memory_locked: bool,
    /// The client's addresses.
    pub client: Addresses,
    /// The server's addresses.
    pub server: Addresses,
    /// Name of each endpoint's interface.
    pub interface: String,
    /// Size of each direction's receive ring.
    pub ring_bytes: usize,
    /// Names of the kernel threads that receive for client and server. Empty where the kernel lacks
    /// threaded NAPI or cannot list it (before Linux 6.8).
    pub kernel_threads: [Vec<String>; 2],
    /// Those threads run under SCHED_FIFO too.
    pub kernel_threads_realtime: bool,
    /// Congestion controls that [`crate::Bench::set_congestion`] accepts.
    pub congestion_controls: Vec<String>,
    /// The sysctls of both endpoints, as `name = value`.
    pub sysctls: Vec<String>,
}
