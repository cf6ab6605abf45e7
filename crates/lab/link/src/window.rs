//! What is measured on a link from one moment to another, e.g. during a cell. `pump` measures it, `proof` judges it.

use serde::{Deserialize, Serialize};

use crate::{Cause, Direction, RadioLog};

/// The traffic, timing errors, costs and interference of one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Start of the window, CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// Duration of the window.
    pub took_ns: u64,
    /// Client to server.
    pub up: Totals,
    /// Server to client.
    pub down: Totals,
    /// Resources used by the client.
    pub client: Costs,
    /// Resources used by the server.
    pub server: Costs,
    /// CPU time and memory of both over time; empty but in the window of a cell.
    pub timeline: Timeline,
    /// CPU time of the link's threads.
    pub link_cpu_ns: u64,
    /// The part of `link_cpu_ns` spent spinning before deadlines.
    pub link_spin_ns: u64,
    /// CPU time of all processes outside the bench; `None` when some are invisible (in a container,
    /// or where /proc hides those of other users).
    pub other_cpu_ns: Option<u64>,
    /// Drops by anything but the model and the endpoints.
    pub foreign_drops: ForeignDrops,
    /// Packets that arrived at an endpoint whose socket had no room for them: it did not read in
    /// time, which is its own result and no interference.
    pub endpoint_receive_drops: u64,
    /// Share of the machine's CPU time stolen by the hypervisor, 0 to 1.
    pub steal: f64,
    /// How far CLOCK_REALTIME moved relative to CLOCK_MONOTONIC.
    pub clock_step_ns: u64,
    /// The kernel's counters of the four interfaces.
    pub interfaces: Interfaces,
    /// Packets that the tap had no room for.
    pub unrecorded: u64,
    /// The client's sockets, open when the window ended.
    pub client_sockets: Vec<Socket>,
    /// The server's sockets, open when the window ended.
    pub server_sockets: Vec<Socket>,
    /// The states of the network's radio; empty without one.
    pub radio: RadioLog,
}

/// The settings of a socket, read from the socket itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Local port.
    pub local_port: u16,
    /// Remote port, when connected.
    pub peer_port: Option<u16>,
    /// Send buffer (SO_SNDBUF), which includes the kernel's bookkeeping (socket(7)).
    pub send_buffer_bytes: u64,
    /// Receive buffer (SO_RCVBUF), which includes the kernel's bookkeeping (socket(7)).
    pub receive_buffer_bytes: u64,
    /// TCP: Nagle's algorithm is off (TCP_NODELAY).
    pub nodelay: Option<bool>,
    /// TCP: name of the congestion control.
    pub congestion: Option<String>,
    /// TCP: payload of a full segment, without options (TCP_MAXSEG).
    pub mss_bytes: Option<u32>,
    /// UDP: the kernel may coalesce received datagrams (UDP_GRO).
    pub udp_gro: Option<bool>,
}

/// One direction of a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Every frame that arrived from the sender, without stray ones.
    pub sent: ByTransport,
    /// Packets handed to the receiver.
    pub delivered: ByTransport,
    /// Packets dropped by the model or the NAT.
    pub dropped: Drops,
    /// Packets of connections that opened before the window.
    pub stray: Stray,
    /// Departures compared with the model's.
    pub lateness: Lateness,
    /// Frames that were not TCP, UDP or ICMP errors.
    pub foreign_frames: u64,
    /// Frames above the MTU, or holding several packets.
    pub oversize_frames: u64,
    /// Times the receiver's interface was full at first.
    pub retries: u64,
    /// Times the link's thread was put to sleep because it made no progress.
    pub stalls: u64,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// IP bytes of these packets.
    pub bytes: u64,
}

/// TCP and UDP packets in the window of a cell that belong to no connection opened within it, e.g.
/// late retransmissions of an earlier cell. No random draw applies to them, and no other count
/// includes them but `foreign_frames`, `oversize_frames` and `lateness`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    /// Packets that arrived from the sender.
    pub sent: Count,
    /// Packets handed to the receiver.
    pub delivered: Count,
    /// Packets dropped by the model or the NAT.
    pub dropped: u64,
}

/// Counts by transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByTransport {
    /// TCP packets.
    pub tcp: Count,
    /// UDP packets.
    pub udp: Count,
    /// All other frames.
    pub other: Count,
}

/// Packets dropped by the model or the NAT, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Dropped by the operator's policy.
    pub policy: u64,
    /// Lost to a closed gate that flushes (outage or handover).
    pub gate: u64,
    /// Dropped by a full queue.
    pub queue: u64,
    /// Dropped by the management of a queue that was not full.
    pub aqm: u64,
    /// Lost at random.
    pub loss: u64,
    /// Sent to a mapping that the NAT had dropped, or from or to an address that the client had left.
    pub nat: u64,
}

/// How long after their ideal time packets left, quantiles exact to 3 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Number of packets that left.
    pub packets: u64,
    /// Median. Nothing takes it off the results.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest value, exact.
    pub max_ns: u64,
    /// Packets later than `bound_ns`.
    pub late: u64,
    /// The larger of 1 ms and 2 % of the one-way delay.
    pub bound_ns: u64,
}

/// Resources used by one endpoint in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// CPU time of its processes, including exited threads and children.
    pub cpu_ns: u64,
    /// CPU time of its interface's kernel thread, which processes received packets; `None` when
    /// that is invisible (in a container) or does not exist (without threaded NAPI).
    pub kernel_cpu_ns: Option<u64>,
    /// Time for which its threads were runnable but waited for a core, without threads that ended
    /// within the window.
    pub run_queue_wait_ns: u64,
    /// Sum of the peak resident sizes of its processes at the end of the window, each since its
    /// exec.
    pub peak_rss_bytes: u64,
}

/// What the processes of both endpoints used over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// One every 100 ms of the window's first ten minutes, and one at its end if it was shorter.
    pub samples: Vec<Sample>,
    /// CPU time that taking them cost, on another core than the link's.
    pub sampler_cpu_ns: u64,
}

/// A moment of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// CPU time of the client's processes since the window's start.
    pub client_cpu_ns: u64,
    /// CPU time of the server's processes since the window's start.
    pub server_cpu_ns: u64,
    /// Sum of the resident sizes of the client's processes.
    pub client_rss_bytes: u64,
    /// Sum of the resident sizes of the server's processes.
    pub server_rss_bytes: u64,
}

/// Packets lost outside the model. Any such loss makes a measurement unusable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignDrops {
    /// Dropped because a receive ring of the link was full.
    pub ring: u64,
    /// Rejected by an interface when the link sent them.
    pub link: u64,
    /// Dropped by the interfaces.
    pub interface: u64,
    /// Dropped because a per-CPU backlog of the machine was full.
    pub softnet: u64,
}

/// The kernel's counters of both interface pairs, to check the tap against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interfaces {
    /// The client's interface.
    pub client: InterfaceCounters,
    /// The link's interface that faces the client.
    pub link_client: InterfaceCounters,
    /// The link's interface that faces the server.
    pub link_server: InterfaceCounters,
    /// The server's interface.
    pub server: InterfaceCounters,
}

/// The kernel's counters of an interface. Bytes include the Ethernet header, except for packets to
/// an endpoint's NAPI: for these a veth counts IP bytes, at both of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceCounters {
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped in either direction, including errors.
    pub dropped: u64,
}

impl Window {
    /// Returns the totals of one direction.
    pub fn totals(&self, direction: Direction) -> &Totals {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl Totals {
    /// Returns the packets neither delivered nor dropped when the window ended; negative when
    /// packets from before the window left within it.
    pub fn in_flight(&self) -> i64 {
        let dropped = self.dropped.total() + self.stray.dropped + self.oversize_frames;
        self.all_sent().packets as i64 - (self.all_delivered().packets + dropped) as i64
    }

    /// Returns all frames that arrived from the sender, stray ones included.
    pub fn all_sent(&self) -> Count {
        self.sent.total().plus(self.stray.sent)
    }

    /// Returns all frames handed to the receiver, stray ones included.
    pub fn all_delivered(&self) -> Count {
        self.delivered.total().plus(self.stray.delivered)
    }
}

impl ByTransport {
    /// Returns the sum over all transports.
    pub fn total(&self) -> Count {
        Count {
            packets: self.tcp.packets + self.udp.packets + self.other.packets,
            bytes: self.tcp.bytes + self.udp.bytes + self.other.bytes,
        }
    }
}

impl Count {
    fn plus(self, other: Count) -> Count {
        Count {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }

    /// Counts one packet of this many IP bytes.
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl Sample {
    /// Returns the sample with CPU time since an earlier one.
    pub fn since(self, earlier: &Sample) -> Sample {
        Sample {
            client_cpu_ns: self.client_cpu_ns.saturating_sub(earlier.client_cpu_ns),
            server_cpu_ns: self.server_cpu_ns.saturating_sub(earlier.server_cpu_ns),
            ..self
        }
    }
}

impl Drops {
    /// Returns the sum over all causes.
    pub fn total(&self) -> u64 {
        self.policy + self.gate + self.queue + self.aqm + self.loss + self.nat
    }

    /// Returns the drops by the model of one cause.
    pub fn of(&self, cause: Cause) -> u64 {
        match cause {
            Cause::Policy => self.policy,
            Cause::Gate => self.gate,
            Cause::Queue => self.queue,
            Cause::Aqm => self.aqm,
            Cause::Loss => self.loss,
        }
    }
}

impl ForeignDrops {
    /// Returns the sum over all places.
    pub fn total(&self) -> u64 {
        self.ring + self.link + self.interface + self.softnet
    }
}

impl InterfaceCounters {
    /// Returns the counts since an earlier reading.
    pub fn since(&self, earlier: &InterfaceCounters) -> InterfaceCounters {
        InterfaceCounters {
            rx_packets: self.rx_packets.saturating_sub(earlier.rx_packets),
            rx_bytes: self.rx_bytes.saturating_sub(earlier.rx_bytes),
            tx_packets: self.tx_packets.saturating_sub(earlier.tx_packets),
            tx_bytes: self.tx_bytes.saturating_sub(earlier.tx_bytes),
            dropped: self.dropped.saturating_sub(earlier.dropped),
        }
    }
}
