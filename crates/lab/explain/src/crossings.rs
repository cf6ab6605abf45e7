//! The packets of a cell, with the times at which the bottleneck sent them on.

use std::collections::BTreeMap;

use link::tap::{Fate, TapRecord};
use link::{Cause, Direction, PathSpec, RateSpec};

/// TCP's flags, as on the wire (RFC 9293 section 3.1).
const SYN: u8 = 2;
const ACK: u8 = 16;
/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// QUIC over UDP.
    Quic,
}

/// One direction of the link.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// Delay after the bottleneck.
    delay_ns: u64,
    rate: Rate,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    /// Packets wait for nothing.
    Unlimited,
    Bps(u64),
    /// Known only by when packets departed.
    Varying,
}

impl Leg {
    /// Returns the leg that a path's settings describe.
    pub fn of(path: &PathSpec) -> Leg {
        let rate = match &path.rate {
            _ if path.gate.is_some() => Rate::Varying,
            RateSpec::Unlimited => Rate::Unlimited,
            RateSpec::Constant { bps } => Rate::Bps(bps.get()),
            RateSpec::Trace(_) => Rate::Varying,
        };
        Leg {
            delay_ns: path.delay_ns,
            rate,
        }
    }

    /// Returns when a packet left the bottleneck, which was free from `free_ns` on.
    fn left_ns(&self, packet: &TapRecord, free_ns: u64) -> u64 {
        let begin_ns = packet.arrival_ns.max(free_ns);
        match self.rate {
            Rate::Unlimited => packet.arrival_ns,
            Rate::Bps(bps) => {
                let ns = u128::from(packet.ip_bytes) * 8_000_000_000 / u128::from(bps);
                begin_ns.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
            }
            Rate::Varying => (packet.departure_ns.saturating_sub(self.delay_ns)).max(begin_ns),
        }
    }
}

/// A packet that the link accepted or dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Its index among the cell's packets.
    pub(crate) index: usize,
    pub(crate) direction: Direction,
    pub(crate) flow: usize,
    pub(crate) arrival_ns: u64,
    /// When the bottleneck had sent it; its arrival if it was dropped before.
    pub(crate) left_ns: u64,
    /// When its receiver got it; absent if it was dropped, or on the link when the window ended.
    pub(crate) delivery_ns: Option<u64>,
    pub(crate) was_dropped: bool,
    /// The packet in front of it, for whose departure it waited.
    pub(crate) behind: Option<usize>,
    /// The first packet with the same bytes, which TCP's sequence numbers show.
    pub(crate) first_copy: Option<usize>,
    pub(crate) payload_bytes: u16,
    pub(crate) is_syn: bool,
    pub(crate) first_byte: u8,
    /// TCP: the end of its bytes, from the start of its direction.
    pub(crate) end: u64,
    /// TCP: the bytes that it acknowledges, from the start of the other direction.
    pub(crate) acked: Option<u64>,
}

impl Packet {
    /// Reports whether it has anything but an acknowledgement; over QUIC that is judged by its size.
    pub(crate) fn has_data(&self, transport: Transport) -> bool {
        match transport {
            Transport::Tcp => self.payload_bytes > 0 || self.is_syn,
            Transport::Quic => self.payload_bytes > QUIC_ACK_BYTES,
        }
    }
}

/// A QUIC packet with one ACK frame and a few ranges is at most so long: 1 byte of flags, 8 to 20 of connection id, 1
/// to 4 of packet number, 16 of tag (RFC 9000 section 17.3, RFC 9001 section 5.3).
const QUIC_ACK_BYTES: u16 = 55;

/// The packets of one connection, or of several in turn from the same port: up and down.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    sides: [Side; 2],
}

impl Flow {
    /// Returns what was sent in a direction.
    pub(crate) fn side(&self, direction: Direction) -> &Side {
        &self.sides[side(direction)]
    }

    /// Returns what was sent in the direction opposite to this one.
    pub(crate) fn other_side(&self, direction: Direction) -> &Side {
        &self.sides[1 - side(direction)]
    }
}

/// The packets of one direction of a connection. Sums and maxima are kept beside them, so that no question about all
/// earlier packets looks at each of them.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// In order of arrival.
    pub(crate) sent: Vec<usize>,
    /// By place in `sent`: what it and all before it amount to.
    sums: Vec<Sums>,
    /// Those that were delivered, in order of delivery.
    pub(crate) delivered: Vec<usize>,
    /// By place in `delivered`: the most that it and all before it acknowledged, and the bytes of their payload.
    received: Vec<(Option<u64>, u64)>,
}

/// What the packets up to one amount to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// TCP: the end of the bytes sent.
    pub(crate) end: u64,
    /// Bytes of payload.
    pub(crate) bytes: u64,
    pub(crate) dropped: usize,
}

impl Side {
    /// Returns what was sent before a packet, and of that the last; `None` if nothing was.
    pub(crate) fn before(&self, number: usize) -> Option<(usize, Sums)> {
        let place = self.sent.partition_point(|&at| at < number);
        let last = place.checked_sub(1)?;
        Some((self.sent[last], self.sums[last]))
    }

    fn add(&mut self, number: usize, packet: &Packet) {
        let before = self.sums.last().copied().unwrap_or_default();
        self.sent.push(number);
        self.sums.push(Sums {
            end: before.end.max(packet.end),
            bytes: before.bytes + u64::from(packet.payload_bytes),
            dropped: before.dropped + usize::from(packet.was_dropped),
        });
        if packet.delivery_ns.is_some() {
            self.delivered.push(number);
        }
    }

    /// Puts what was delivered in order, once all is known.
    fn finish(&mut self, packets: &[Packet]) {
        self.delivered
            .sort_by_key(|&number| (packets[number].delivery_ns, number));
        let (mut acked, mut bytes) = (None, 0);
        let of = self.delivered.iter().map(|&number| {
            acked = acked.max(packets[number].acked);
            bytes += u64::from(packets[number].payload_bytes);
            (acked, bytes)
        });
        self.received = of.collect();
    }

    /// Returns the most that was acknowledged, and the bytes of payload, by what was delivered before a time.
    pub(crate) fn received_before(&self, packets: &[Packet], ns: u64) -> (Option<u64>, u64) {
        let is_before = |&at: &usize| packets[at].delivery_ns.is_some_and(|at_ns| at_ns < ns);
        let place = self.delivered.partition_point(is_before);
        place
            .checked_sub(1)
            .map_or((None, 0), |last| self.received[last])
    }
}

/// The packets of a cell.
#[derive(Debug)]
pub struct Crossings {
    pub(crate) packets: Vec<Packet>,
    pub(crate) flows: Vec<Flow>,
    of_port: BTreeMap<(Transport, u16), usize>,
}

impl Crossings {
    /// Returns the crossings of a cell's packets in the order of their arrival, over the legs up and down. Strays, and
    /// packets that are neither TCP nor UDP, are left out.
    pub fn of(tap: &[TapRecord], up: Leg, down: Leg) -> Crossings {
        let mut crossings = Crossings {
            packets: Vec::with_capacity(tap.len()),
            flows: Vec::new(),
            of_port: BTreeMap::new(),
        };
        let mut order: Vec<usize> = (0..tap.len()).collect();
        order.sort_by_key(|&index| (tap[index].arrival_ns, index));
        let mut streams = BTreeMap::new();
        let mut last: [Option<usize>; 2] = [None; 2];
        for index in order {
            let record = &tap[index];
            let transport = match record.protocol {
                TCP => Transport::Tcp,
                UDP => Transport::Quic,
                _ => continue,
            };
            let is_offered = !matches!(record.fate, Fate::Refused | Fate::Unmapped);
            if record.stray || !is_offered {
                continue;
            }
            let flow = crossings.flow(transport, client_port_of(record));
            let side = side(record.direction);
            let leg = [up, down][side];
            let number = crossings.packets.len();
            let mut packet = packet_of(record, index, flow);
            let takes_turn = matches!(
                record.fate,
                Fate::Delivered | Fate::InFlight | Fate::Dropped(Cause::Loss)
            );
            if takes_turn {
                let front = last[side].map(|front: usize| &crossings.packets[front]);
                let free_ns = front.map_or(0, |front| front.left_ns);
                let latest_ns = packet.delivery_ns.unwrap_or(u64::MAX);
                packet.left_ns = leg.left_ns(record, free_ns).min(latest_ns);
                packet.behind = last[side].filter(|_| packet.arrival_ns < free_ns);
                last[side] = Some(number);
            }
            if transport == Transport::Tcp {
                let stream: &mut Streams = streams.entry(flow).or_default();
                stream.place(&mut packet, record, number);
            }
            crossings.flows[flow].sides[side].add(number, &packet);
            crossings.packets.push(packet);
        }
        for side in crossings.flows.iter_mut().flat_map(|flow| &mut flow.sides) {
            side.finish(&crossings.packets);
        }
        crossings
    }

    /// Returns the number of the flow from a client's port.
    pub(crate) fn flow_of(&self, transport: Transport, port: u16) -> Option<usize> {
        self.of_port.get(&(transport, port)).copied()
    }

    fn flow(&mut self, transport: Transport, port: u16) -> usize {
        let next = self.flows.len();
        let flow = *self.of_port.entry((transport, port)).or_insert(next);
        if flow == next {
            self.flows.push(Flow::default());
        }
        flow
    }
}

/// Returns 0 for up and 1 for down.
pub(crate) fn side(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

fn client_port_of(record: &TapRecord) -> u16 {
    match record.direction {
        Direction::Up => record.src_port,
        Direction::Down => record.dst_port,
    }
}

fn packet_of(record: &TapRecord, index: usize, flow: usize) -> Packet {
    let delivered = record.fate == Fate::Delivered;
    Packet {
        index,
        direction: record.direction,
        flow,
        arrival_ns: record.arrival_ns,
        left_ns: record.arrival_ns,
        delivery_ns: delivered.then(|| record.departure_ns.max(record.arrival_ns)),
        was_dropped: matches!(record.fate, Fate::Dropped(_)),
        behind: None,
        first_copy: None,
        payload_bytes: record.payload_bytes,
        is_syn: record.protocol == TCP && record.tcp_flags & SYN != 0,
        first_byte: record.first_byte,
        end: 0,
        acked: None,
    }
}

/// The two streams of bytes of a TCP connection.
#[derive(Debug, Default)]
struct Streams {
    /// Per direction: the sequence number at which it starts, and the first packet with each byte's range.
    sides: [Option<Stream>; 2],
}

#[derive(Debug)]
struct Stream {
    origin: u32,
    /// By start: end, and the first packet that carried it.
    carried: BTreeMap<u64, (u64, usize)>,
}

impl Streams {
    /// Gives a packet its place in the streams, and finds the first packet with the same bytes.
    fn place(&mut self, packet: &mut Packet, record: &TapRecord, number: usize) {
        let side = side(packet.direction);
        // A SYN without an acknowledgement begins another connection from the same port.
        let opens = packet.is_syn && record.tcp_flags & ACK == 0;
        let same = |stream: &Stream| stream.origin == record.seq;
        if opens && !self.sides[side].as_ref().is_some_and(same) {
            self.sides = [None, None];
        }
        let bytes = u64::from(record.payload_bytes) + u64::from(packet.is_syn);
        let stream = self.sides[side].get_or_insert_with(|| Stream {
            origin: record.seq,
            carried: BTreeMap::new(),
        });
        let start = u64::from(record.seq.wrapping_sub(stream.origin));
        packet.end = start + bytes;
        if bytes > 0 {
            let before = stream.carried.range(..=start).next_back();
            packet.first_copy = before
                .filter(|&(_, &(end, _))| end > start)
                .map(|(_, &(_, first))| first);
            if packet.first_copy.is_none() {
                stream.carried.insert(start, (packet.end, number));
            }
        }
        if record.tcp_flags & ACK != 0
            && let Some(peer) = &self.sides[1 - side]
        {
            packet.acked = Some(u64::from(record.ack.wrapping_sub(peer.origin)));
        }
    }
}
