//! Two captures of a connection: each packet's time at its sender and at its receiver.

use std::collections::BTreeMap;

use link::Cause;
use link::tap::Fate;

use crate::clock::{Bound, Clock};
use crate::connection::{Connection, Placed};
use crate::pieces::{boundaries, cut};
use crate::transit::{Copies, Transit, clamped};

/// A connection that is in both captures.
pub(crate) struct Pair {
    pub(crate) client: usize,
    pub(crate) server: usize,
    /// Up and down, each as its sender's capture has it and as its receiver's.
    sides: [Side; 2],
}

/// One direction's pieces.
#[derive(Default)]
struct Side {
    sent: Vec<Placed>,
    received: Vec<Placed>,
}

/// Pieces that are alike, in the order of time.
#[derive(Default)]
struct Group<'a> {
    sent: Vec<&'a Placed>,
    received: Vec<&'a Placed>,
}

/// Copies of the same bytes that are matched by their times and headers. More are probes, or made up.
const MAX_COPIES: usize = 64;

/// What packets without data differ in: sequence number, acknowledgement, flags, window and timestamp.
type Headers = (u64, Option<u64>, u8, u16, Option<u32>);

/// A connection's packets in the order in which they were sent.
#[derive(Default)]
pub(crate) struct Matched {
    pub(crate) transits: Vec<Transit>,
    /// How many packets the client's capture lacks, and the server's: a packet that only its receiver's capture has was
    /// sent, and one that was acknowledged was received.
    pub(crate) missed: [usize; 2],
}

impl Pair {
    /// Cuts a connection's segments to the same boundaries in both captures. `None` if there are more than `most` pieces.
    pub(crate) fn of(
        (client, at_client): (usize, &Connection),
        (server, at_server): (usize, &Connection),
        most: usize,
    ) -> Option<Pair> {
        // A capture without them has the same packets with other headers.
        let has_stamps = |of: &Connection| {
            !of.lacks.any && of.syn_stamps.iter().all(|stamps| !stamps.is_empty())
        };
        let is_stamped = has_stamps(at_client) && has_stamps(at_server);
        // What is between the captures may make them shorter.
        let longest =
            [0, 1].map(|side: usize| at_client.longest[side].min(at_server.longest[side]));
        let side = |side: usize, [sender, receiver]: [&Connection; 2]| {
            let of = |connection: &'_ Connection| -> Vec<Placed> {
                let segments = connection.segments.iter();
                let of_side = segments.filter(|segment| segment.side == side);
                let stamp = |segment: &Placed| segment.stamp.filter(|_| is_stamped);
                of_side
                    .map(|segment| Placed {
                        stamp: stamp(segment),
                        ..*segment
                    })
                    .collect()
            };
            let (sent, received) = (of(sender), of(receiver));
            let boundaries = boundaries(sent.iter().chain(&received));
            Some(Side {
                sent: cut(sent.iter(), &boundaries, longest, most)?,
                received: cut(received.iter(), &boundaries, longest, most)?,
            })
        };
        let pair = Pair {
            client,
            server,
            sides: [
                side(0, [at_client, at_server])?,
                side(1, [at_server, at_client])?,
            ],
        };
        Some(pair).filter(|pair| pair.len() <= most)
    }

    /// Returns the number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.sides
            .iter()
            .map(|side| side.sent.len() + side.received.len())
            .sum()
    }

    /// Returns the least difference of clocks by packets up, and the greatest by packets down. Only packets that each
    /// capture has once count: of others it is unknown which copy arrived.
    pub(crate) fn bounds(&self) -> [Option<Bound>; 2] {
        let apart = |side: usize| {
            let of = &self.sides[side];
            let groups = of.data().into_values().chain(of.empty().into_values());
            groups.filter_map(move |Group { sent, received }| {
                let ([sent], [received]) = (&sent[..], &received[..]) else {
                    return None;
                };
                let [client, server] = match side {
                    0 => [sent, received],
                    _ => [received, sent],
                };
                Some(Bound {
                    apart_ns: i128::from(server.at_ns) - i128::from(client.at_ns),
                    number: client.number,
                })
            })
        };
        [
            apart(0).min_by_key(|bound| bound.apart_ns),
            apart(1).max_by_key(|bound| bound.apart_ns),
        ]
    }

    /// Returns the packets with both times, by the client's clock from `origin_ns` on. `ends_ns` is when the captures
    /// end, by their own clocks.
    pub(crate) fn matched(&self, clock: Clock, origin_ns: i128, ends_ns: [u64; 2]) -> Matched {
        let mut matched = Matched::default();
        for (number, side) in self.sides.iter().enumerate() {
            let by_client = |end: usize, ns: u64| match end {
                0 => i128::from(ns),
                _ => clock.by_client(ns),
            } - origin_ns;
            let receiver = 1 - number;
            let matcher = Matcher {
                side: number,
                sent_ns: &|piece| by_client(number, piece.at_ns),
                received_ns: &|piece| by_client(receiver, piece.at_ns),
                delay_ns: i128::from(clock.delay_ns),
                receiver_ends_ns: by_client(receiver, ends_ns[receiver]),
                acked: acked(&self.sides[receiver]),
            };
            matcher.data(side, &mut matched);
            matcher.empty(side, &mut matched);
        }
        matched
            .transits
            .sort_by_key(|transit| (transit.sent_ns, transit.numbers[transit.placed.side]));
        let mut copies = Copies::default();
        for transit in &mut matched.transits {
            transit.is_copy = copies.is_copy(&transit.placed);
        }
        matched
    }
}

impl Side {
    /// Returns the pieces with data, by their bytes.
    fn data(&self) -> BTreeMap<(u64, u64), Group<'_>> {
        self.groups(|piece| (piece.end > piece.start).then_some((piece.start, piece.end)))
    }

    /// Returns the packets without data, by their headers.
    fn empty(&self) -> BTreeMap<Headers, Group<'_>> {
        self.groups(|piece| {
            let headers = (
                piece.start,
                piece.acked,
                piece.flags,
                piece.window,
                piece.stamp,
            );
            (piece.end == piece.start).then_some(headers)
        })
    }

    fn groups<K: Ord>(&self, key: impl Fn(&Placed) -> Option<K>) -> BTreeMap<K, Group<'_>> {
        let mut groups: BTreeMap<K, Group<'_>> = BTreeMap::new();
        for piece in &self.sent {
            if let Some(key) = key(piece) {
                groups.entry(key).or_default().sent.push(piece);
            }
        }
        for piece in &self.received {
            if let Some(key) = key(piece) {
                groups.entry(key).or_default().received.push(piece);
            }
        }
        groups
    }
}

/// Returns the most that a direction's packets acknowledge.
fn acked(answers: &Side) -> u64 {
    let all = answers.sent.iter().chain(&answers.received);
    all.filter_map(|piece| piece.acked).max().unwrap_or(0)
}

struct Matcher<'a> {
    side: usize,
    sent_ns: &'a dyn Fn(&Placed) -> i128,
    received_ns: &'a dyn Fn(&Placed) -> i128,
    delay_ns: i128,
    receiver_ends_ns: i128,
    /// The end of what the receiver acknowledged.
    acked: u64,
}

impl Matcher<'_> {
    /// Returns how long every packet takes: a little less than the least of those that are certain.
    fn earliest_ns(&self) -> i128 {
        self.delay_ns - self.delay_ns / 8
    }

    fn data(&self, side: &Side, matched: &mut Matched) {
        for ((_, end), group) in side.data() {
            if group.sent.len() > MAX_COPIES && !group.received.is_empty() {
                self.in_turn(group, matched);
                continue;
            }
            let Group { sent, received } = group;
            let mut open: Vec<Option<&Placed>> = sent.iter().copied().map(Some).collect();
            let is_seen = !received.is_empty();
            for receipt in received {
                match self.sender_of(&open, receipt) {
                    Some(at) => {
                        let piece = open[at].take().expect("only open ones are found");
                        matched.transits.push(self.delivered(piece, receipt));
                    }
                    // A copy that the network made, or that the receiver's capture shows twice.
                    None if !sent.is_empty() => {}
                    None => {
                        matched.missed[self.side] += 1;
                        matched.transits.push(self.only_received(receipt));
                    }
                }
            }
            for piece in open.into_iter().flatten() {
                let is_gap = !is_seen && end <= self.acked;
                matched.missed[1 - self.side] += usize::from(is_gap);
                matched.transits.push(self.only_sent(piece, is_gap));
            }
        }
    }

    /// Returns which of the copies that are left a received one is: the same by its headers, or else the latest that can
    /// have arrived.
    fn sender_of(&self, open: &[Option<&Placed>], receipt: &Placed) -> Option<usize> {
        let by_ns = (self.received_ns)(receipt) - self.earliest_ns();
        let possible = || {
            let left = open.iter().enumerate().rev();
            let left = left.filter_map(|(at, piece)| Some((at, (*piece)?)));
            left.filter(|(_, piece)| (self.sent_ns)(piece) <= by_ns)
        };
        let equal = |is_equal: &dyn Fn(&Placed) -> bool| {
            possible()
                .find(|(_, piece)| is_equal(piece))
                .map(|(at, _)| at)
        };
        let headers = |piece: &Placed| piece.stamp == receipt.stamp && piece.acked == receipt.acked;
        equal(&|piece| headers(piece) && piece.ip_id == receipt.ip_id)
            .or_else(|| equal(&|piece| headers(piece) && piece.stamp.is_some()))
            .or_else(|| equal(&|_| true))
    }

    /// Matches packets without data.
    fn empty(&self, side: &Side, matched: &mut Matched) {
        for group in side.empty().into_values() {
            self.in_turn(group, matched);
        }
    }

    /// Matches packets in order, since those of a group are alike. If one is left where no identification tells an
    /// acknowledgement that was repeated from a packet that a capture of several interfaces has twice, it counts as
    /// seen twice: as neither lost nor missed.
    fn in_turn(&self, group: Group<'_>, matched: &mut Matched) {
        let Group { sent, received } = group;
        let has_no_id = |piece: &&&Placed| piece.ip_id == 0;
        let is_seen = !sent.is_empty() && !received.is_empty();
        let is_unclear = is_seen && sent.iter().chain(&received).any(|piece| has_no_id(&piece));
        let mut received = received.into_iter().peekable();
        for piece in sent {
            let from_ns = (self.sent_ns)(piece) + self.earliest_ns();
            match received.next_if(|receipt| (self.received_ns)(receipt) >= from_ns) {
                Some(receipt) => matched.transits.push(self.delivered(piece, receipt)),
                None if is_unclear => {}
                None => matched.transits.push(self.only_sent(piece, false)),
            }
        }
        for receipt in received.filter(|_| !is_unclear) {
            matched.missed[self.side] += 1;
            matched.transits.push(self.only_received(receipt));
        }
    }

    fn delivered(&self, sent: &Placed, received: &Placed) -> Transit {
        let first_byte = sent.first_byte.or(received.first_byte);
        Transit {
            placed: Placed {
                first_byte,
                ..*sent
            },
            sent_ns: clamped((self.sent_ns)(sent)),
            received_ns: clamped((self.received_ns)(received)),
            fate: Fate::Delivered,
            is_copy: false,
            numbers: self.numbers(Some(sent.number), Some(received.number)),
        }
    }

    fn only_received(&self, receipt: &Placed) -> Transit {
        let received_ns = (self.received_ns)(receipt);
        Transit {
            placed: *receipt,
            sent_ns: clamped(received_ns - self.delay_ns),
            received_ns: clamped(received_ns),
            fate: Fate::Delivered,
            is_copy: false,
            numbers: self.numbers(None, Some(receipt.number)),
        }
    }

    fn only_sent(&self, sent: &Placed, is_gap: bool) -> Transit {
        let sent_ns = (self.sent_ns)(sent);
        let earliest_ns = sent_ns + self.delay_ns;
        let (received_ns, fate) = match is_gap {
            true => (earliest_ns, Fate::Delivered),
            // Whether it arrived later is unknown.
            false if earliest_ns > self.receiver_ends_ns => (sent_ns, Fate::InFlight),
            false => (sent_ns, Fate::Dropped(Cause::Loss)),
        };
        Transit {
            placed: *sent,
            sent_ns: clamped(sent_ns),
            received_ns: clamped(received_ns),
            fate,
            is_copy: false,
            numbers: self.numbers(Some(sent.number), None),
        }
    }

    fn numbers(&self, sender: Option<u32>, receiver: Option<u32>) -> [Option<u32>; 2] {
        match self.side {
            0 => [sender, receiver],
            _ => [receiver, sender],
        }
    }
}
