//! The packets of one connection.

use link::Direction;

use crate::packet::{Packet, side};
use crate::tls::{TlsPayload, end_of_tls_handshake};

/// The packets of one connection, up and down.
#[derive(Debug)]
pub(crate) struct Flow {
    /// When its first packet arrived at the link.
    pub(crate) begun_ns: u64,
    sides: [Side; 2],
    /// TCP with TLS: the client's first packet after its last message of the handshake, or with it.
    pub(crate) last_of_tls_handshake: Option<usize>,
    /// TCP: both ends report by SACK what they received beyond a gap.
    pub(crate) uses_sack: bool,
}

impl Flow {
    /// Returns a connection without packets, the first of which arrives at this time.
    pub(crate) fn new(begun_ns: u64) -> Flow {
        Flow {
            begun_ns,
            sides: Default::default(),
            last_of_tls_handshake: None,
            uses_sack: false,
        }
    }

    /// Returns what was sent in a direction.
    pub(crate) fn side(&self, direction: Direction) -> &Side {
        &self.sides[side(direction)]
    }

    /// Adds a packet that arrived after all that were added before.
    pub(crate) fn add(&mut self, number: usize, packet: &Packet) {
        self.sides[side(packet.direction)].add(number, packet);
    }

    /// Puts what was delivered in order, once every packet is added.
    pub(crate) fn finish(&mut self, packets: &[Packet]) {
        for side in &mut self.sides {
            side.finish(packets);
        }
        let with_data = || {
            let all = self.in_turn();
            all.filter(move |&number| packets[number].payload_bytes > 0)
        };
        let payloads = with_data().map(|number| TlsPayload {
            from_client: packets[number].direction == Direction::Up,
            first_byte: packets[number].first_byte,
            bytes: packets[number].payload_bytes.into(),
        });
        let last = end_of_tls_handshake(payloads).and_then(|place| with_data().nth(place));
        self.last_of_tls_handshake = last;
    }

    /// Returns all packets in order of arrival.
    fn in_turn(&self) -> impl Iterator<Item = usize> + '_ {
        let [mut up, mut down] =
            [0, 1].map(|side: usize| self.sides[side].sent.iter().copied().peekable());
        std::iter::from_fn(move || match (up.peek(), down.peek()) {
            (Some(of_client), Some(of_server)) if of_client > of_server => down.next(),
            (Some(_), _) => up.next(),
            (None, _) => down.next(),
        })
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
    /// Sums over the packets up to each place in `sent`.
    sums: Vec<Sums>,
    /// The longest payload.
    pub(crate) longest: u16,
    /// Those that were delivered, in order of delivery.
    pub(crate) delivered: Vec<usize>,
    /// What its receiver knew after each place in `delivered`.
    received: Vec<Received>,
}

/// What the packets that were delivered in one direction have told their receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// TCP: the most that one acknowledged.
    pub(crate) acked: Option<u64>,
    /// TCP: the farthest right edge of a window.
    pub(crate) edge: Option<u64>,
    /// TCP: the end of the highest bytes that one reported by SACK.
    pub(crate) sacked: Option<u64>,
    /// Bytes of payload.
    pub(crate) bytes: u64,
}

/// Sums over packets of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// TCP: the end of the bytes sent.
    pub(crate) end: u64,
    /// Bytes of payload.
    pub(crate) bytes: u64,
    pub(crate) dropped: usize,
    /// Packets with data that were dropped.
    pub(crate) dropped_data: usize,
    /// TCP: packets that repeated bytes for a reordering or a timer. Probes for a lost tail, which repeat the last packet
    /// (RFC 8985 section 7), do not count.
    pub(crate) copies: usize,
}

impl Side {
    /// Returns the last packet sent before this one, and the sums up to it; `None` if there is none.
    pub(crate) fn before(&self, number: usize) -> Option<(usize, Sums)> {
        let place = self.sent.partition_point(|&at| at < number);
        let last = place.checked_sub(1)?;
        Some((self.sent[last], self.sums[last]))
    }

    /// Returns the sums over what was sent before this packet.
    pub(crate) fn sums_before(&self, number: usize) -> Sums {
        self.before(number)
            .map_or(Sums::default(), |(_, sums)| sums)
    }

    /// Returns the sums over what was sent up to a time.
    pub(crate) fn sums_until(&self, packets: &[Packet], ns: u64) -> Sums {
        let place = self
            .sent
            .partition_point(|&at| packets[at].arrival_ns <= ns);
        let last = place.checked_sub(1);
        last.map_or(Sums::default(), |last| self.sums[last])
    }

    fn add(&mut self, number: usize, packet: &Packet) {
        let before = self.sums.last().copied().unwrap_or_default();
        let is_copy = packet.first_copy.is_some() && packet.end < before.end;
        self.sent.push(number);
        self.longest = self.longest.max(packet.payload_bytes);
        self.sums.push(Sums {
            end: before.end.max(packet.end),
            bytes: before.bytes + u64::from(packet.payload_bytes),
            dropped: before.dropped + usize::from(packet.was_dropped),
            dropped_data: before.dropped_data + usize::from(packet.was_dropped && packet.has_data),
            copies: before.copies + usize::from(is_copy),
        });
        if packet.delivery_ns.is_some() {
            self.delivered.push(number);
        }
    }

    fn finish(&mut self, packets: &[Packet]) {
        self.delivered
            .sort_by_key(|&number| (packets[number].delivery_ns, number));
        let mut received = Received::default();
        let of = self.delivered.iter().map(|&number| {
            let packet = &packets[number];
            received = Received {
                acked: received.acked.max(packet.acked),
                edge: received.edge.max(packet.edge),
                sacked: received.sacked.max(packet.sacked),
                bytes: received.bytes + u64::from(packet.payload_bytes),
            };
            received
        });
        self.received = of.collect();
    }

    /// Returns what was known by what was delivered before a time.
    pub(crate) fn received_before(&self, packets: &[Packet], ns: u64) -> Received {
        let is_before = |&at: &usize| packets[at].delivery_ns.is_some_and(|at_ns| at_ns < ns);
        let place = self.delivered.partition_point(is_before);
        place
            .checked_sub(1)
            .map_or(Received::default(), |last| self.received[last])
    }
}
