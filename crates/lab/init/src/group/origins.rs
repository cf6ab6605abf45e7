//! The origins of a recording, the app's own first.

use std::collections::{BTreeMap, BTreeSet};

use super::kinds::MAX_GROUPS;
use crate::seen::Seen;

/// Fails with the hosts that there are, those with most requests first, if this is none of them.
pub(crate) fn check_host(named: &str, seen: &[Seen]) -> Result<(), String> {
    if seen.iter().any(|request| host(&request.origin) == named) {
        return Ok(());
    }
    let mut hosts: Vec<&str> = Vec::new();
    for origin in origins_by_requests(seen, None) {
        let host = host(origin);
        if !hosts.contains(&host) && hosts.len() < MAX_GROUPS {
            hosts.push(host);
        }
    }
    let hosts = hosts.join(", ");
    Err(format!(
        "no request went to {named}; there are requests to {hosts}"
    ))
}

/// Returns the origins: first that of the app, or of the first request if `own` is none, then the others of its site,
/// then the rest. Within each class those with most requests come first.
pub(super) fn origins_by_requests<'a>(seen: &'a [Seen], own: Option<&str>) -> Vec<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for request in seen {
        *counts.entry(&request.origin).or_default() += 1;
    }
    let of_app = |request: &&Seen| own.is_none_or(|own| host(&request.origin) == own);
    let first = seen
        .iter()
        .find(of_app)
        .map(|request| request.origin.as_str());
    let mut names: Vec<&str> = counts.keys().copied().collect();
    let own = first.map(|first| site(host(first)));
    names.sort_by_key(|name| {
        let is_foreign = Some(site(host(name))) != own;
        (
            Some(*name) != first,
            is_foreign,
            std::cmp::Reverse(counts[name]),
        )
    });
    names
}

/// Returns about the registrable domain of a host: its last two labels, or three below what registries of countries sell
/// names under, e.g. `co.uk`.
fn site(host: &str) -> &str {
    const SOLD_UNDER: [&str; 10] = [
        "ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org",
    ];
    if host.parse::<std::net::Ipv4Addr>().is_ok() || host.starts_with('[') {
        return host;
    }
    let mut labels = host.rsplit('.');
    let (last, second) = (
        labels.next().unwrap_or_default(),
        labels.next().unwrap_or_default(),
    );
    let sold = last.len() == 2 && SOLD_UNDER.contains(&second);
    let count = if sold { 3 } else { 2 };
    let bytes: usize = host
        .rsplit('.')
        .take(count)
        .map(|label| label.len() + 1)
        .sum();
    &host[host.len().saturating_sub(bytes.saturating_sub(1))..]
}

pub(super) fn share_connections(seen: &[Seen], one: &str, other: &str) -> bool {
    let of = |origin: &str| -> BTreeSet<&String> {
        let requests = seen.iter().filter(|r| r.origin == origin);
        requests.filter_map(|r| r.connection.as_ref()).collect()
    };
    !of(one).is_disjoint(&of(other))
}

pub(super) fn host(origin: &str) -> &str {
    let (_, authority) = origin.split_once("://").unwrap_or(("", origin));
    authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_what_its_owner_has_registered() {
        for (host, own) in [
            ("shop.example", "shop.example"),
            ("img.cdn.shop.example", "shop.example"),
            ("www.shop.co.uk", "shop.co.uk"),
            ("co.uk", "co.uk"),
            ("localhost", "localhost"),
            ("192.0.2.1", "192.0.2.1"),
            ("[2001:db8::1]", "[2001:db8::1]"),
        ] {
            assert_eq!(site(host), own, "{host}");
        }
    }
}
