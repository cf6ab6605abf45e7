//! Which connections of two captures are the same.

use std::collections::{BTreeMap, BTreeSet};

use super::facts;
use crate::connection::Connection;
use crate::explained::{ConnectionFacts, End};

/// Why a connection that both captures seem to have has no match.
const REWRITTEN: &str = "the other capture has a connection between the same addresses or ports at that time, but its initial \
                         sequence numbers or timestamps differ, e.g. since a proxy or a firewall rewrites them: explain \
                         each capture alone";

/// Returns the connections that both captures have, by their places in each. They have the same initial sequence numbers,
/// an equal port and, if their SYNs have timestamps, an equal one.
pub(super) fn common(first: &[Connection], second: &[Connection]) -> Vec<(usize, usize)> {
    let mut places: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
    for (at, of) in second.iter().enumerate() {
        places.entry(of.origins).or_default().push(at);
    }
    let mut used = BTreeSet::new();
    let common = first.iter().enumerate().filter_map(|(at, of)| {
        // A capture of several interfaces has a connection before and after a NAT.
        let alike = places.get(&of.origins)?.iter().copied();
        let mut alike = alike.filter(|other| agree(of, &second[*other]));
        let other = alike.find(|other| !used.contains(other))?;
        used.insert(other);
        Some((at, other))
    });
    common.collect()
}

/// Reports whether two connections have an equal port, and timestamps that agree where both SYNs have them.
fn agree(one: &Connection, other: &Connection) -> bool {
    let has_port =
        one.client.port() == other.client.port() || one.server.port() == other.server.port();
    let mut stamps = one.syn_stamps.iter().zip(&other.syn_stamps);
    has_port
        && stamps.all(|(one, other)| one.is_empty() || other.is_empty() || !one.is_disjoint(other))
}

/// Returns the connections without a match that seem to be in both captures: their addresses and ports are the same, or
/// their ports are.
pub(super) fn one_sided(
    [client, server]: [&[Connection]; 2],
    matched: &[[usize; 2]],
) -> Vec<ConnectionFacts> {
    let all = [client, server];
    let of_side = |side: usize| {
        let used: BTreeSet<usize> = matched.iter().map(|pair| pair[side]).collect();
        let left = all[side].iter().enumerate();
        let left = left.filter(move |(at, _)| !used.contains(at));
        left.map(|(_, connection)| connection).collect::<Vec<_>>()
    };
    let left = [of_side(0), of_side(1)];
    let ports = |of: &Connection| [of.client.port(), of.server.port()];
    let found = [0, 1].map(|side: usize| {
        let others: BTreeSet<[u16; 2]> = left[1 - side].iter().map(|of| ports(of)).collect();
        let seeming = left[side]
            .iter()
            .filter(move |of| others.contains(&ports(of)));
        let facts = seeming.map(move |connection| ConnectionFacts {
            captured_at: [End::Client, End::Server][side],
            not_explained: Some(REWRITTEN.to_owned()),
            ..facts(connection)
        });
        facts.collect::<Vec<_>>()
    });
    found.into_iter().flatten().collect()
}
