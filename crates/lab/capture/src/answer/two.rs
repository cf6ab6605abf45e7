//! The answer from two captures.

use std::ops::Range;

use explain::{Part, Step};
use link::Cause;
use link::tap::Fate;

use super::gaps::{hide_assumed, is_of_packets, shown};
use super::matching::{common, one_sided};
use super::{HEADROOM_NS, Scene, Walker, check_count, facts, too_long, too_many_pieces};
use crate::clock::{Bound, Clock};
use crate::connection::{Connection, Connections, Lacks};
use crate::error::{CaptureError, Place};
use crate::explained::{
    CaptureFacts, ClockFacts, ConnectionFacts, End, Explained, FORMAT, LeftOut,
};
use crate::pair::Pair;
use crate::single::answered;
use crate::transit::Transit;
use crate::{Capture, Limits};

/// A connection that both captures have.
enum Both {
    Paired(Pair),
    /// Its places in both captures, and why it is not explained.
    Not([usize; 2], String),
}

/// Explains two captures: one made at the client, and one at the server.
pub(super) fn explain(
    first: &Capture,
    second: &Capture,
    walker: &mut Walker,
) -> Result<Explained, CaptureError> {
    let files = format!("{} and {}", first.name, second.name);
    let error = |problem: &str| CaptureError::new(&files, Place::File, problem);
    let connections = [first, second].map(Connections::of);
    for (capture, connections) in [first, second].into_iter().zip(&connections) {
        check_count(capture, connections.established.len())?;
    }
    let mut common = common(&connections[0].established, &connections[1].established);
    let matched = common.len();
    if matched == 0 {
        return Err(error(
            "no connection is in both: they are known by their initial sequence numbers and timestamps, which a proxy \
             or a firewall between the captures may change",
        ));
    }
    let is_first = |&(one, other): &(usize, usize)| {
        let [one, other] = [
            answered(&connections[0].established[one]),
            answered(&connections[1].established[other]),
        ];
        one.map(|took| took.least_ns)
            .cmp(&other.map(|took| took.least_ns))
    };
    let votes = common
        .iter()
        .map(|pair| is_first(pair) as isize)
        .sum::<isize>();
    if votes == 0 {
        return Err(error(
            "both were made at the same end, since a SYN is answered equally fast in both: capture one at the client \
             and one at the server",
        ));
    }
    let places = |&(one, other): &(usize, usize)| match votes > 0 {
        true => [one, other],
        false => [other, one],
    };
    let all: Vec<[usize; 2]> = common.iter().map(places).collect();
    common.retain(|pair| is_first(pair) as isize == votes.signum());
    let kept: Vec<[usize; 2]> = common.iter().map(places).collect();
    let [client, server] = match votes > 0 {
        true => [(first, &connections[0]), (second, &connections[1])],
        false => [(second, &connections[1]), (first, &connections[0])],
    };
    let of_ends = [client, server].map(|(_, of)| &of.established[..]);
    let pairs = pairs(of_ends, kept, first.limits);
    let clock = clock(&pairs).map_err(|problem| error(&problem))?;
    let alone = one_sided(of_ends, &all);
    let is_left_out = |of: &Connections| of.established.len() - matched;
    let left_out = LeftOut {
        without_handshake: connections
            .iter()
            .map(|of| of.without_handshake)
            .max()
            .unwrap_or(0),
        unanswered: client.1.unanswered,
        in_one_capture: connections.iter().map(is_left_out).sum::<usize>() - alone.len(),
        reversed: matched - pairs.len(),
        ..LeftOut::of(&[first, second])
    };
    let explained = explained([client, server], &pairs, clock, walker);
    Ok(Explained {
        format: FORMAT,
        captures: [client.0, server.0].map(CaptureFacts::of).to_vec(),
        clock: Some(ClockFacts {
            server_ahead_ns: clock.ahead_ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            least_rtt_ns: clock.rtt_ns(),
        }),
        connections: explained.into_iter().chain(alone).collect(),
        left_out,
        packets: Vec::new(),
    })
}

/// Matches the packets of connections at these places, as long as they have not too many pieces. Short connections go
/// first, so that a long one leaves them room.
fn pairs(of_ends: [&[Connection]; 2], places: Vec<[usize; 2]>, limits: Limits) -> Vec<Both> {
    let of = |places: [usize; 2]| [0, 1].map(|end: usize| &of_ends[end][places[end]]);
    let length = |&places: &[usize; 2]| -> usize {
        let [at_client, at_server] = of(places);
        at_client.segments.len() + at_server.segments.len()
    };
    let mut by_length = places;
    by_length.sort_by_key(length);
    let mut pieces = 0;
    let pairs = by_length.into_iter().map(|places| {
        let [at_client, at_server] = of(places);
        if at_client.is_too_long || at_server.is_too_long {
            return Both::Not(places, too_long(limits));
        }
        let left = limits.pieces - pieces;
        let [client, server] = places;
        match Pair::of((client, at_client), (server, at_server), left) {
            Some(pair) => {
                pieces += pair.len();
                Both::Paired(pair)
            }
            None => Both::Not(places, too_many_pieces(limits.pieces)),
        }
    });
    let mut pairs: Vec<Both> = pairs.collect();
    pairs.sort_by_key(|pair| match pair {
        Both::Paired(pair) => pair.client,
        Both::Not([client, _], _) => *client,
    });
    pairs
}

fn clock(pairs: &[Both]) -> Result<Clock, String> {
    let (mut up, mut down): (Option<Bound>, Option<Bound>) = (None, None);
    for pair in pairs {
        let Both::Paired(pair) = pair else {
            continue;
        };
        let [of_up, of_down] = pair.bounds();
        up = up
            .into_iter()
            .chain(of_up)
            .min_by_key(|bound| bound.apart_ns);
        down = down
            .into_iter()
            .chain(of_down)
            .max_by_key(|bound| bound.apart_ns);
    }
    match (up, down, pairs) {
        (Some(up), Some(down), _) => Clock::of(up, down),
        (_, _, [Both::Not(_, reason)]) => Err(reason.clone()),
        _ => Err("no packet in each direction is once in both, so that the clocks cannot be compared: capture longer"
            .to_owned()),
    }
}

/// Explains the connections together: they share the path between the captures.
fn explained(
    [client, server]: [(&Capture, &Connections); 2],
    pairs: &[Both],
    clock: Clock,
    walker: &mut Walker,
) -> Vec<ConnectionFacts> {
    let begins_ns = i128::from(client.0.span_ns[0]).min(clock.by_client(server.0.span_ns[0]));
    let origin_ns = begins_ns - i128::from(HEADROOM_NS);
    let ends_ns = [client.0.span_ns[1], server.0.span_ns[1]];
    let mut transits = Vec::new();
    let mut connections: Vec<(&Connection, Range<usize>)> = Vec::with_capacity(pairs.len());
    let mut missed = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let Both::Paired(pair) = pair else {
            continue;
        };
        let matched = pair.matched(clock, origin_ns, ends_ns);
        let from = transits.len();
        transits.extend(matched.transits);
        connections.push((&client.1.established[pair.client], from..transits.len()));
        missed.push(matched.missed);
    }
    let scene = Scene::of(&connections, transits, clock.rtt_ns());
    let mut all = connections.into_iter().zip(missed).enumerate();
    let facts = pairs.iter().filter_map(|pair| match pair {
        Both::Paired(pair) => {
            let (place, ((at_client, range), missed)) = all.next()?;
            let at_server = &server.1.established[pair.server];
            let ends = [at_client, at_server];
            Some(of_pair(&scene, (place, range), ends, missed, walker))
        }
        Both::Not([at_client, _], reason) => Some(ConnectionFacts {
            captured_at: End::Both,
            not_explained: Some(reason.clone()),
            ..facts(&client.1.established[*at_client])
        }),
    });
    facts.collect()
}

/// Explains a connection of a scene, which both captures have.
fn of_pair(
    scene: &Scene,
    (place, range): (usize, Range<usize>),
    ends: [&Connection; 2],
    missed: [usize; 2],
    walker: &mut Walker,
) -> ConnectionFacts {
    let of = &scene.transits[range.clone()];
    let is_lost = |transit: &&Transit| transit.fate == Fate::Dropped(Cause::Loss);
    let missing_bytes = ends.map(Connection::missing_bytes);
    let lacks = Lacks {
        of_syn: ends.iter().any(|end| end.lacks.of_syn),
        any: ends.iter().any(|end| end.lacks.any),
    };
    // An end may have waited for what neither capture has.
    let is_whole = missing_bytes.contains(&0);
    let (exchanges, unanswered_bytes) =
        walker.exchanges(scene, (place, range), |_, steps: &mut [Step]| {
            hide_assumed(steps, &scene.transits);
            for step in steps {
                step.part = match step.part {
                    part if is_whole || is_of_packets(part) => shown(part, lacks),
                    _ => Part::Unexplained,
                };
            }
        });
    ConnectionFacts {
        captured_at: End::Both,
        rtt_ns: scene.rtt_ns,
        packets: of.len(),
        lost: Some(of.iter().filter(is_lost).count()),
        missed,
        missing_bytes,
        seen_twice: ends.iter().map(|end| end.seen_twice).sum(),
        has_offload: ends.iter().any(|end| end.has_offload),
        lacks_options: lacks.any,
        unanswered_bytes,
        exchanges,
        ..facts(ends[0])
    }
}
