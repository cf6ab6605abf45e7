//! Arrivals, and ways to send them through a path in virtual time.

use link::{Departure, Direction, Packet, Path, PathSpec, Transport};

/// A packet and its time of arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at_ns: u64,
    pub(crate) packet: Packet,
}

pub(crate) fn arrival(at_ns: u64, token: u64, ip_bytes: u32, flow: u32) -> Arrival {
    let packet = Packet {
        token,
        ip_bytes,
        transport: Transport::Udp,
        src_port: 40_000,
        dst_port: 443,
        flow: Some(flow),
    };
    Arrival { at_ns, packet }
}

/// Returns a frame that is neither TCP nor UDP.
pub(crate) fn other(at_ns: u64, token: u64) -> Arrival {
    let mut arrival = arrival(at_ns, token, 60, 77);
    arrival.packet.transport = Transport::Other;
    arrival.packet.flow = None;
    arrival.packet.src_port = 0;
    arrival.packet.dst_port = 0;
    arrival
}

pub(crate) fn path(spec: &PathSpec, seed: u64) -> Path {
    let mut path = Path::new(spec, Direction::Down, seed);
    path.start(0);
    path
}

pub(crate) fn token(departure: &Departure) -> u64 {
    match departure {
        Departure::Deliver { token, .. } | Departure::Drop { token, .. } => *token,
    }
}

pub(crate) fn at_ns(departure: &Departure) -> u64 {
    match departure {
        Departure::Deliver { at_ns, .. } | Departure::Drop { at_ns, .. } => *at_ns,
    }
}

pub(crate) fn poll_all(path: &mut Path, now_ns: u64, out: &mut Vec<Departure>) {
    out.extend(std::iter::from_fn(|| path.poll(now_ns)));
}

/// Polls at every deadline, exactly on time.
pub(crate) fn poll_on_time(path: &mut Path, arrivals: &[Arrival]) -> Vec<Departure> {
    let mut out = Vec::new();
    for arrival in arrivals {
        while let Some(deadline_ns) = path.next_deadline().filter(|&d| d < arrival.at_ns) {
            poll_all(path, deadline_ns, &mut out);
        }
        path.offer(arrival.at_ns, arrival.packet);
    }
    while let Some(deadline_ns) = path.next_deadline() {
        poll_all(path, deadline_ns, &mut out);
    }
    out
}

/// Offers every packet and polls once at the end.
pub(crate) fn poll_at_end(path: &mut Path, arrivals: &[Arrival]) -> Vec<Departure> {
    let mut out = Vec::new();
    for arrival in arrivals {
        path.offer(arrival.at_ns, arrival.packet);
    }
    poll_all(path, u64::MAX - 1, &mut out);
    out
}

/// Polls `ahead_ns` past each arrival before it offers the packet, as a caller does that reads its
/// socket after its timer: the packet is then stamped before the last poll.
pub(crate) fn poll_early(path: &mut Path, arrivals: &[Arrival], ahead_ns: u64) -> Vec<Departure> {
    let mut out = Vec::new();
    for arrival in arrivals {
        poll_all(path, arrival.at_ns + ahead_ns, &mut out);
        path.offer(arrival.at_ns, arrival.packet);
    }
    poll_all(path, u64::MAX - 1, &mut out);
    out
}

/// Sorts departures by token, so that only what happened to each packet counts.
pub(crate) fn by_token(mut departures: Vec<Departure>) -> Vec<Departure> {
    departures.sort_by_key(token);
    departures
}
