//! The answer from two captures.

use std::collections::{BTreeMap, BTreeSet};

use explain::Part;
use link::Cause;
use link::tap::Fate;

use super::{HEADROOM_NS, Scene, Walker, check_count, facts};
use crate::Capture;
use crate::clock::{Bound, Clock};
use crate::connection::{Connection, Connections};
use crate::error::{CaptureError, Place};
use crate::explained::{
    CaptureFacts, ClockFacts, ConnectionFacts, End, Explained, FORMAT, LeftOut,
};
use crate::pair::Pair;
use crate::pieces::MAX_PIECES;
use crate::single::answered_ns;
use crate::transit::Transit;

/// Explains two captures: one made at the client, and one at the server.
pub(super) fn explain(
    first: &Capture,
    second: &Capture,
    walker: &mut Walker,
) -> Result<Explained, CaptureError> {
    let files = format!("{} and {}", first.name, second.name);
    let error = |problem: &str| CaptureError::new(&files, Place::File, problem);
    let connections = [first, second].map(|capture| Connections::of(&capture.segments));
    for (capture, connections) in [first, second].into_iter().zip(&connections) {
        check_count(capture, connections.established.len())?;
    }
    let mut common = common(&connections[0].established, &connections[1].established);
    let matched = common.len();
    if matched == 0 {
        return Err(error(
            "no connection is in both: they are known by their initial sequence numbers, which a proxy or a firewall \
             between the captures may change",
        ));
    }
    let is_first = |&(one, other): &(usize, usize)| {
        answered_ns(&connections[0].established[one])
            .cmp(&answered_ns(&connections[1].established[other]))
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
    common.retain(|pair| is_first(pair) as isize == votes.signum());
    let [client, server] = match votes > 0 {
        true => [(first, &connections[0]), (second, &connections[1])],
        false => [(second, &connections[1]), (first, &connections[0])],
    };
    let mut pairs: Vec<Pair> = Vec::with_capacity(common.len());
    let mut pieces = 0;
    for &(one, other) in &common {
        let [at_client, at_server] = match votes > 0 {
            true => [one, other],
            false => [other, one],
        };
        let pair = Pair::of(
            (at_client, &client.1.established[at_client]),
            (at_server, &server.1.established[at_server]),
        );
        pieces += pair.as_ref().map_or(MAX_PIECES, Pair::len);
        if let Some(pair) = pair.filter(|_| pieces < MAX_PIECES) {
            pairs.push(pair);
        } else {
            return Err(error(
                "too many segments that overlap: keep some connections, e.g. `tcpdump -r FILE -w FEWER host ADDRESS`",
            ));
        }
    }
    pairs.sort_by_key(|pair| pair.client);
    let clock = clock(&pairs).map_err(|problem| error(&problem))?;
    let is_left_out = |of: &Connections, used: usize| of.established.len() - used;
    let left_out = LeftOut {
        without_handshake: connections
            .iter()
            .map(|of| of.without_handshake)
            .max()
            .unwrap_or(0),
        unanswered: client.1.unanswered,
        in_one_capture: connections.iter().map(|of| is_left_out(of, matched)).sum(),
        reversed: matched - pairs.len(),
        ..LeftOut::of(&[first, second])
    };
    Ok(Explained {
        format: FORMAT,
        captures: [client.0, server.0].map(CaptureFacts::of).to_vec(),
        clock: Some(ClockFacts {
            server_ahead_ns: i64::try_from(clock.ahead_ns).unwrap_or(i64::MAX),
            least_rtt_ns: 2 * clock.delay_ns,
        }),
        connections: explained([client, server], &pairs, clock, walker),
        left_out,
        packets: Vec::new(),
    })
}

/// Returns the connections that both captures have, by their places in each.
fn common(first: &[Connection], second: &[Connection]) -> Vec<(usize, usize)> {
    let places = second.iter().enumerate();
    let places: BTreeMap<[u32; 2], usize> = places.map(|(at, of)| (of.origins, at)).collect();
    let mut used = BTreeSet::new();
    let common = first.iter().enumerate().filter_map(|(at, of)| {
        let other = *places.get(&of.origins)?;
        used.insert(other).then_some((at, other))
    });
    common.collect()
}

fn clock(pairs: &[Pair]) -> Result<Clock, String> {
    let bounds = pairs.iter().map(Pair::bounds);
    let (mut up, mut down): (Option<Bound>, Option<Bound>) = (None, None);
    for [of_up, of_down] in bounds {
        up = up
            .into_iter()
            .chain(of_up)
            .min_by_key(|bound| bound.apart_ns);
        down = down
            .into_iter()
            .chain(of_down)
            .max_by_key(|bound| bound.apart_ns);
    }
    match (up, down) {
        (Some(up), Some(down)) => Clock::of(up, down),
        _ => Err("no packet in each direction is once in both, so that the clocks cannot be compared: capture longer"
            .to_owned()),
    }
}

/// Explains the connections together: they share the path between the captures.
fn explained(
    [client, server]: [(&Capture, &Connections); 2],
    pairs: &[Pair],
    clock: Clock,
    walker: &mut Walker,
) -> Vec<ConnectionFacts> {
    let begins_ns = i128::from(client.0.span_ns[0]).min(clock.by_client(server.0.span_ns[0]));
    let origin_ns = begins_ns - i128::from(HEADROOM_NS);
    let ends_ns = [client.0.span_ns[1], server.0.span_ns[1]];
    let mut transits = Vec::new();
    let mut connections = Vec::with_capacity(pairs.len());
    let mut missed = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let matched = pair.matched(clock, origin_ns, ends_ns);
        let from = transits.len();
        transits.extend(matched.transits);
        connections.push((&client.1.established[pair.client], from..transits.len()));
        missed.push(matched.missed);
    }
    let rtt_ns = 2 * clock.delay_ns;
    let scene = Scene::of(&connections, transits, rtt_ns);
    let all = connections.iter().zip(pairs).zip(missed).enumerate();
    let facts = all.map(|(place, (((connection, range), pair), missed))| {
        let of = &scene.transits[range.clone()];
        let is_lost = |fate: Fate| fate == Fate::Dropped(Cause::Loss);
        let at_server = &server.1.established[pair.server];
        let missing_bytes = [connection.missing_bytes(), at_server.missing_bytes()];
        // An end may have waited for what neither capture has.
        let is_whole = missing_bytes.contains(&0);
        ConnectionFacts {
            captured_at: End::Both,
            rtt_ns,
            packets: of.len(),
            lost: Some(of.iter().filter(|transit| is_lost(transit.fate)).count()),
            missed,
            missing_bytes,
            seen_twice: connection.seen_twice + at_server.seen_twice,
            has_offload: connection.has_offload || at_server.has_offload,
            exchanges: walker.exchanges(&scene, (place, range.clone()), |step| {
                let packet = step.packet.map(|at| &scene.transits[at]);
                let is_assumed = packet.is_some_and(Transit::is_assumed);
                match step.part {
                    Part::Client | Part::Server if !is_whole => Part::Unexplained,
                    _ if is_assumed => Part::Unexplained,
                    part => part,
                }
            }),
            ..facts(connection)
        }
    });
    facts.collect()
}
