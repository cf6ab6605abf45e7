//! Replays a train of probes through the model of the link, in virtual time.

use link::{Departure, Direction, Packet, Path, PathSpec, Transport};

use super::udp_probe::{Arrival, Arrivals, HEADER_BYTES, PORT, Train};

/// Returns the arrivals of a train on a perfect link: the model's departures of the probes sent at
/// `sent_ns`, in a window that began at `origin_ns`.
pub(super) fn replay(
    path: &PathSpec,
    direction: Direction,
    seed: u64,
    train: &Train,
    sent_ns: &[u64],
    origin_ns: u64,
) -> Arrivals {
    let mut model = Path::new(path, direction, seed);
    model.start(origin_ns);
    for (token, &at_ns) in (0..).zip(sent_ns) {
        model.offer(at_ns, packet(train, direction, token));
    }
    let delivered = std::iter::from_fn(|| model.poll(u64::MAX - 1)).filter_map(|departure| {
        let Departure::Deliver { at_ns, token } = departure else {
            return None;
        };
        let sent_ns = sent_ns.get(usize::try_from(token).ok()?)?;
        Some(Arrival {
            index: u32::try_from(token).ok()?,
            at_ns,
            delay_ns: at_ns.saturating_sub(*sent_ns),
        })
    });
    Arrivals {
        arrived: delivered.collect(),
        sent_ns: sent_ns.to_vec(),
    }
}

/// Returns a probe. Its flow is the first of the window: its number is 0 if it opens upwards and 1 if downwards
/// ([`link::FlowTable`]).
fn packet(train: &Train, direction: Direction, token: u64) -> Packet {
    let flow = match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    };
    Packet {
        token,
        ip_bytes: (train.payload_bytes + HEADER_BYTES) as u32,
        transport: Transport::Udp,
        // The sender's port is not known in advance; no policy names it.
        src_port: 0,
        dst_port: PORT,
        flow: Some(flow),
    }
}
