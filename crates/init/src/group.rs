//! Groups requests by template; one request stands for each group.

mod template;

use std::collections::{BTreeMap, BTreeSet};

use http::Method;

use crate::notes::Notes;
use crate::seen::Seen;
use crate::slug::slug;
use crate::url::decoded;
use template::template;

/// The first and four others.
const MAX_ORIGINS: usize = 5;
/// Each group is compared by itself, in up to three measures: a hundred groups would take hours, and leave no
/// verdict on any.
const MAX_GROUPS: usize = 20;
/// The bodies of a study's own requests have at most 32 MiB in all.
const MAX_BYTES: u64 = 30 << 20;

const MAX_NAME_CHARS: usize = 40;

/// Responses of one template that differ by this factor are groups of their own, if one of them is as long as this.
const WIDE_RATIO: u64 = 10;
const WIDE_BYTES: u64 = 10_000;
/// Bytes that a mobile link carries in a round trip, about: the least time of a request follows from them.
const BYTES_PER_RTT: u64 = 50_000;

/// Requests with the same method, origin, template of a path and, in GraphQL, operation, and responses of about one
/// length.
pub(crate) struct Group<'a> {
    /// Unique among the groups.
    pub(crate) name: String,
    pub(crate) path: String,
    /// The name of its origin; none for the first.
    pub(crate) origin: Option<String>,
    pub(crate) times: u64,
    /// The length of the typical response, if that is JSON; else the mean of all.
    pub(crate) response_bytes: u64,
    /// Whether all responses are as long.
    pub(crate) alike: bool,
    /// The request whose response is nearest to the mean.
    pub(crate) typical: &'a Seen,
}

/// What the requests of a group have in common: the number of their origin, what they ask for, and how many classes of
/// longer responses it has.
type Kind = (usize, String, usize);

/// Where requests go besides the first origin, by name.
pub(crate) struct Origin {
    pub(crate) name: String,
    /// Whether one connection was used for it and for the first.
    pub(crate) shares_connections: bool,
}

/// The groups, the origins, and the group of each request; none if it is left out.
pub(crate) struct Grouped<'a> {
    pub(crate) groups: Vec<Group<'a>>,
    pub(crate) origins: Vec<Origin>,
    pub(crate) group_of: Vec<Option<usize>>,
}

/// Groups requests, whose paths the lab's server answers or, if `as_they_were`, one that has paths of its own.
pub(crate) fn group<'a>(
    seen: &'a [Seen],
    as_they_were: bool,
    own: Option<&str>,
    notes: &mut Notes,
) -> Grouped<'a> {
    let names = origins_by_requests(seen, own);
    let plaintext = seen.iter().filter(|request| request.is_plaintext);
    for origin in plaintext.map(|r| &r.origin).collect::<BTreeSet<_>>() {
        notes.remark(format!(
            "requests to {origin} had no TLS and have it in the study; `security = \"none\"` sends all of an \
             arm's without"
        ));
    }
    let place = |origin: &str| names.iter().position(|name| *name == origin);
    let mut by_template: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
    for (index, request) in seen.iter().enumerate() {
        let Some(place) = place(&request.origin).filter(|place| *place < MAX_ORIGINS) else {
            notes.left_out(format!(
                "a request to {}: a study has at most {MAX_ORIGINS} origins",
                request.origin
            ));
            continue;
        };
        let operation = request.operation.as_deref().unwrap_or_default();
        // A browser gets a page and a script gets data from one path.
        let answer = match request.response.is_json() {
            true => "json",
            false => "",
        };
        let kind = format!(
            "{} {} {operation} {answer}",
            request.method,
            template(request)
        );
        by_template.entry((place, kind)).or_default().push(index);
    }
    let by_kind = by_length(by_template, seen, as_they_were);
    let order = longest_lasting(&by_kind, seen, notes);
    let mut grouped = Grouped {
        groups: Vec::new(),
        origins: Vec::new(),
        group_of: vec![None; seen.len()],
    };
    let mut names_of_groups = BTreeMap::new();
    let mut name_of_template: BTreeMap<(usize, &String), String> = BTreeMap::new();
    let mut paths = BTreeSet::new();
    let mut origin_names: BTreeMap<usize, String> = BTreeMap::new();
    for key in &order {
        let indices = &by_kind[key];
        let Some((typical, response_bytes)) = typical(indices, seen) else {
            continue;
        };
        let lengths = || indices.iter().map(|index| seen[*index].response.bytes);
        let origin = (key.0 > 0).then(|| {
            let taken: BTreeSet<String> = origin_names.values().cloned().collect();
            let name = || unique(&slug(host(&typical.origin)), |name| taken.contains(name));
            origin_names.entry(key.0).or_insert_with(name).clone()
        });
        let path = match &typical.kept_path {
            Some(path) => path.clone(),
            None => template(typical).path_with_query(typical),
        };
        let path = match as_they_were {
            true => path,
            false => told_apart(&path, typical, origin.as_deref(), &mut paths),
        };
        for index in indices {
            grouped.group_of[*index] = Some(grouped.groups.len());
        }
        let name = match is_split(&by_kind, key) {
            false => name_of(typical, &names_of_groups),
            true => {
                let name = name_of_template
                    .entry((key.0, &key.1))
                    .or_insert_with(|| name_of(typical, &names_of_groups));
                names_of_groups.insert(name.clone(), typical.method.clone());
                let length = rounded(response_bytes);
                let kept = MAX_NAME_CHARS - 1 - length.len();
                let short: String = name.chars().take(kept).collect();
                unique(&format!("{short}-{length}"), |name| {
                    names_of_groups.contains_key(name)
                })
            }
        };
        names_of_groups.insert(name.clone(), typical.method.clone());
        grouped.groups.push(Group {
            name,
            path,
            origin,
            times: indices.len() as u64,
            response_bytes,
            alike: lengths().min() == lengths().max(),
            typical,
        });
    }
    grouped.origins = origin_names
        .into_iter()
        .map(|(place, name)| Origin {
            name,
            shares_connections: share_connections(seen, names[0], names[place]),
        })
        .collect();
    grouped
}

/// Splits requests of one template if the response of one has 10 kB and more, and ten times as many as another's: one
/// length could not stand for both. Those of unknown length stay with the longest. If `as_they_were`, requests that are
/// the same stay together, because the server cannot tell them apart.
fn by_length(
    by_template: BTreeMap<(usize, String), Vec<usize>>,
    seen: &[Seen],
    as_they_were: bool,
) -> BTreeMap<Kind, Vec<usize>> {
    let mut by_kind: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
    for ((place, template), indices) in by_template {
        let same = |index: &usize| {
            let Seen {
                kept_path, request, ..
            } = &seen[*index];
            (kept_path, &request.json, &request.form)
        };
        let mut longest_of = BTreeMap::new();
        for index in &indices {
            let longest: &mut u64 = longest_of.entry(same(index)).or_default();
            *longest = (*longest).max(seen[*index].response.bytes);
        }
        let bytes = |index: &usize| match (&seen[*index].response, as_they_were) {
            (response, _) if response.is_guess => u64::MAX,
            (_, true) => longest_of[&same(index)],
            (response, false) => response.bytes,
        };
        let known = indices.iter().map(bytes).filter(|bytes| *bytes < u64::MAX);
        let (mut class, mut longest) = (0, known.max().unwrap_or(0));
        let mut longest_first = indices.clone();
        longest_first.sort_by_key(|index| std::cmp::Reverse(bytes(index)));
        let mut class_of = BTreeMap::new();
        for index in &longest_first {
            if longest >= WIDE_BYTES && longest / WIDE_RATIO >= bytes(index) {
                (class, longest) = (class + 1, bytes(index));
            }
            class_of.insert(*index, class);
        }
        for index in indices {
            let kind = (place, template.clone(), class_of[&index]);
            by_kind.entry(kind).or_default().push(index);
        }
    }
    by_kind
}

/// Returns whether the requests of a kind's template are of several kinds.
fn is_split(by_kind: &BTreeMap<Kind, Vec<usize>>, (place, template, _): &Kind) -> bool {
    by_kind.contains_key(&(*place, template.clone(), 1))
}

/// Returns the kinds in order of their first requests; if there are too many, that of the first request, which is what
/// a cold start waits for, and those whose requests take longest.
fn longest_lasting(
    by_kind: &BTreeMap<Kind, Vec<usize>>,
    seen: &[Seen],
    notes: &mut Notes,
) -> Vec<Kind> {
    let mut order: Vec<&Kind> = by_kind.keys().collect();
    order.sort_by_key(|kind| by_kind[*kind].first());
    let Some(first) = order.first().copied() else {
        return Vec::new();
    };
    let cost = |index: &usize| {
        let request = &seen[*index];
        let bytes = request.request.bytes.saturating_add(request.response.bytes);
        u128::from(bytes) + u128::from(BYTES_PER_RTT)
    };
    let mut by_cost = order.clone();
    // Stable: of equals, the first come first.
    by_cost.sort_by_key(|kind| {
        let cost: u128 = by_kind[*kind].iter().map(cost).sum();
        (*kind != first, std::cmp::Reverse(cost))
    });
    let (mut kept, mut others, mut left_bytes) = (BTreeSet::new(), Vec::new(), MAX_BYTES);
    for kind in by_cost {
        let bytes = typical(&by_kind[kind], seen).map_or(0, |(request, response_bytes)| {
            request.request.bytes.saturating_add(response_bytes)
        });
        if kept.len() == MAX_GROUPS {
            others.push(kind);
        } else if bytes > left_bytes {
            for _ in &by_kind[kind] {
                notes.left_out(format!(
                    "a request with bodies of {bytes} bytes: a study has 32 MiB in all"
                ));
            }
        } else {
            left_bytes -= bytes;
            kept.insert(kind);
        }
    }
    if !others.is_empty() {
        let requests: usize = others.iter().map(|kind| by_kind[*kind].len()).sum();
        let plural = if requests == 1 { "" } else { "s" };
        notes.left_out(format!(
            "{requests} request{plural} of {} of {} kinds, those that take least time: each kind is compared by itself, \
             and more than {MAX_GROUPS} take too long",
            others.len(),
            order.len()
        ));
    }
    let kept = order.into_iter().filter(|kind| kept.contains(kind));
    kept.cloned().collect()
}

/// Returns the request that stands for others, and the length of its response: that of its JSON, or else the mean.
fn typical<'a>(indices: &[usize], seen: &'a [Seen]) -> Option<(&'a Seen, u64)> {
    let requests = || indices.iter().map(|index| &seen[*index]);
    let mean = requests()
        .map(|request| request.response.bytes)
        .sum::<u64>()
        / indices.len().max(1) as u64;
    let typical = requests().min_by_key(|request| request.response.bytes.abs_diff(mean))?;
    let response_bytes = match (&typical.response.json, typical.response.is_json()) {
        (Some(json), _) => json.len() as u64,
        (None, true) => typical.response.bytes,
        (None, false) => mean,
    };
    Some((typical, response_bytes))
}

/// Returns a length for a name, e.g. `118kb`.
fn rounded(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes}b"),
        1_000..999_500 => format!("{}kb", (bytes + 500) / 1_000),
        _ => format!("{}mb", (bytes + 500_000) / 1_000_000),
    }
}

/// Returns a path that no other group with the same method has, since the lab's server knows requests by
/// these.
fn told_apart(
    path: &str,
    request: &Seen,
    origin: Option<&str>,
    taken: &mut BTreeSet<String>,
) -> String {
    let begin = if path.contains('?') { '&' } else { '?' };
    let by = match &request.operation {
        Some(operation) => format!("operation={operation}"),
        None => format!("at={}", origin.unwrap_or("first")),
    };
    let others = (2_u64..).map(|n| format!("{path}{begin}{by}-{n}"));
    let candidates = [path.to_owned(), format!("{path}{begin}{by}")];
    let method = &request.method;
    let mut free = (candidates.into_iter().chain(others))
        .filter(|path| taken.insert(format!("{method} {path}")));
    free.next().unwrap_or_default()
}

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
fn origins_by_requests<'a>(seen: &'a [Seen], own: Option<&str>) -> Vec<&'a str> {
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

fn share_connections(seen: &[Seen], one: &str, other: &str) -> bool {
    let of = |origin: &str| -> BTreeSet<&String> {
        let requests = seen.iter().filter(|r| r.origin == origin);
        requests.filter_map(|r| r.connection.as_ref()).collect()
    };
    !of(one).is_disjoint(&of(other))
}

/// Returns a free name for a request's group: the last word of its path, or its operation. If a request of another
/// method has that name, the method is put before it. Any other taken name gets as many of the words before it as make
/// it unique, or else the response's subtype, the method or a number.
fn name_of(request: &Seen, taken: &BTreeMap<String, Method>) -> String {
    let path = template(request).path;
    let is_word = |part: &String| part.chars().any(|c| c.is_ascii_alphabetic());
    let parts = path.split('/').map(decoded).filter(is_word);
    let mut words: Vec<String> = parts.map(|part| slug(&part)).collect();
    words.extend(request.operation.clone());
    words.retain(|word| !word.is_empty());
    let last = match words.last() {
        Some(word) => word.clone(),
        None if path == "/" => "root".to_owned(),
        // In another script than names have here.
        None => "other".to_owned(),
    };
    let method = request.method.as_str().to_ascii_lowercase();
    let with_method = format!("{method}-{last}");
    let is_others = taken.get(&last).is_some_and(|m| *m != request.method);
    let first = [last.clone()]
        .into_iter()
        .chain(is_others.then(|| with_method.clone()));
    let longer = (2..=words.len()).map(|count| words[words.len() - count..].join("-"));
    let by_answer = subtype(request).map(|subtype| format!("{last}-{subtype}"));
    let mut candidates = first.chain(longer).chain(by_answer).chain([with_method]);
    candidates
        .find(|name| name.len() <= MAX_NAME_CHARS && !taken.contains_key(name))
        .unwrap_or_else(|| unique(&last, |name| taken.contains_key(name)))
}

/// Returns the subtype of the response's media type, e.g. `html`.
fn subtype(request: &Seen) -> Option<String> {
    let (_, subtype) = request.response.content_type.as_deref()?.split_once('/')?;
    Some(slug(subtype))
}

fn unique(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = if name.is_empty() { "other" } else { name };
    let numbered = (2_u64..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

fn host(origin: &str) -> &str {
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
