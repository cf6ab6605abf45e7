//! What a bench saw between [`crate::Bench::begin_window`] and [`crate::Bench::end_window`].

use link::{Cause, Direction};
use serde::{Deserialize, Serialize};

/// One window: what crossed the link, how exactly, at what cost, and what noisy it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// When it began, CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// How long it lasted.
    pub took_ns: u64,
    /// Client to server.
    pub up: Totals,
    /// Server to client.
    pub down: Totals,
    /// The client's costs.
    pub client: Costs,
    /// The server's costs.
    pub server: Costs,
    /// CPU of the link's own threads.
    pub link_cpu_ns: u64,
    /// Of that, spent spinning before deadlines.
    pub link_spin_ns: u64,
    /// CPU of everything else on the machine; `None` where that cannot be seen.
    pub other_cpu_ns: Option<u64>,
    /// Drops that are not the model's.
    pub foreign_drops: ForeignDrops,
    /// Share of the machine's CPU time that the hypervisor took, 0 to 1.
    pub steal: f64,
    /// How far the wall clock moved against the monotonic one.
    pub clock_step_ns: u64,
    /// What the kernel counted at the four ends of the two interface pairs.
    pub interfaces: Interfaces,
    /// Packets for which the tap had no place.
    pub unrecorded: u64,
    /// The client's sockets, open when the window ended.
    pub client_sockets: Vec<Socket>,
    /// The server's.
    pub server_sockets: Vec<Socket>,
}

/// How a socket is set, read from the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Its own port.
    pub local_port: u16,
    /// The peer's, when connected.
    pub peer_port: Option<u16>,
    /// Send buffer, as the kernel counts it.
    pub send_buffer_bytes: u64,
    /// Receive buffer, as the kernel counts it.
    pub receive_buffer_bytes: u64,
    /// TCP: Nagle's algorithm is off.
    pub nodelay: Option<bool>,
    /// TCP: congestion control.
    pub congestion: Option<String>,
    /// TCP: payload of a full segment, options taken off.
    pub mss_bytes: Option<u32>,
    /// UDP: several datagrams may be received as one.
    pub udp_gro: Option<bool>,
}

/// One direction of a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// What the sender sent: every frame that came to the link.
    pub sent: ByTransport,
    /// What was handed to the receiver.
    pub delivered: ByTransport,
    /// What the model dropped.
    pub dropped: Drops,
    /// How late packets left.
    pub lateness: Lateness,
    /// Frames that were not TCP, UDP or ICMP errors.
    pub foreign_frames: u64,
    /// Frames above the MTU, or standing for several packets.
    pub oversize_frames: u64,
    /// Times the receiver's interface had no room at first.
    pub retries: u64,
    /// Times the link's thread turned without progress.
    pub stalls: u64,
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

/// Packets and bytes by transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByTransport {
    /// TCP.
    pub tcp: Count,
    /// UDP.
    pub udp: Count,
    /// Anything else.
    pub other: Count,
}

/// Packets the model dropped, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Operator policy.
    pub policy: u64,
    /// The gate was closed.
    pub gate: u64,
    /// The queue was full.
    pub queue: u64,
    /// Random loss.
    pub loss: u64,
}

/// How long after their ideal time packets left, in ns, right to 3 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Packets that left.
    pub packets: u64,
    /// Median: bias, which calibration takes away.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Worst.
    pub max_ns: u64,
    /// Packets later than the bound.
    pub late: u64,
    /// That bound: the larger of 1 ms and 2 % of the one-way delay.
    pub bound_ns: u64,
}

/// What a window cost one endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// CPU of its processes, exited threads and children included.
    pub cpu_ns: u64,
    /// CPU of its interface's kernel thread, where received packets are processed; `None`
    /// when it cannot be seen (in a container, or without threaded NAPI).
    pub kernel_cpu_ns: Option<u64>,
    /// Time its threads were runnable and waited for a core. A thread that ended within the
    /// window takes its share with it.
    pub run_queue_wait_ns: u64,
    /// The most memory its processes had held when the window ended, each since its program
    /// began, together.
    pub peak_rss_bytes: u64,
}

/// Packets lost for reasons the model knows nothing of: any makes a measurement unfit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignDrops {
    /// A receive ring of the link was full.
    pub ring: u64,
    /// The link could not keep or send a frame.
    pub link: u64,
    /// The interfaces dropped.
    pub interface: u64,
    /// The machine's per-CPU backlog was full.
    pub softnet: u64,
    /// A socket buffer of an endpoint was full.
    pub endpoint: u64,
}

/// The kernel's own counters of both pairs, to hold against the tap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interfaces {
    /// The client's interface.
    pub client: InterfaceCount,
    /// The link's, facing the client.
    pub link_client: InterfaceCount,
    /// The link's, facing the server.
    pub link_server: InterfaceCount,
    /// The server's interface.
    pub server: InterfaceCount,
}

/// What the kernel counted on an interface. Bytes include the Ethernet header, but for what goes
/// to an endpoint's NAPI: there a veth counts IP bytes, at both its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceCount {
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped, either way.
    pub dropped: u64,
}

impl Window {
    /// The totals of one direction.
    pub fn totals(&self, direction: Direction) -> &Totals {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl Totals {
    /// Packets neither delivered nor dropped when the window ended (or, when negative, left
    /// over from before it).
    pub fn in_flight(&self) -> i64 {
        let settled = self.delivered.total().packets + self.dropped.total() + self.oversize_frames;
        self.sent.total().packets as i64 - settled as i64
    }
}

impl ByTransport {
    /// All of them.
    pub fn total(&self) -> Count {
        Count {
            packets: self.tcp.packets + self.udp.packets + self.other.packets,
            bytes: self.tcp.bytes + self.udp.bytes + self.other.bytes,
        }
    }
}

impl Count {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl Drops {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.policy + self.gate + self.queue + self.loss
    }

    /// Those of one cause.
    pub fn of(&self, cause: Cause) -> u64 {
        match cause {
            Cause::Policy => self.policy,
            Cause::Gate => self.gate,
            Cause::Queue => self.queue,
            Cause::Loss => self.loss,
        }
    }
}

impl ForeignDrops {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.ring + self.link + self.interface + self.softnet + self.endpoint
    }
}

impl InterfaceCount {
    /// What was counted since an earlier reading.
    pub(crate) fn since(&self, earlier: &InterfaceCount) -> InterfaceCount {
        InterfaceCount {
            rx_packets: self.rx_packets.saturating_sub(earlier.rx_packets),
            rx_bytes: self.rx_bytes.saturating_sub(earlier.rx_bytes),
            tx_packets: self.tx_packets.saturating_sub(earlier.tx_packets),
            tx_bytes: self.tx_bytes.saturating_sub(earlier.tx_bytes),
            dropped: self.dropped.saturating_sub(earlier.dropped),
        }
    }
}
