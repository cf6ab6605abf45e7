//! The kinds of requests, and which of them a study has room for.

use std::collections::{BTreeMap, BTreeSet};

use crate::notes::Notes;
use crate::seen::Seen;

/// Each group is compared by itself, in up to three measures: a hundred groups would take hours, and leave no
/// verdict on any.
pub(super) const MAX_GROUPS: usize = 20;
/// The bodies of a study's own requests have at most 32 MiB in all.
const MAX_BYTES: u64 = 30 << 20;

/// Responses of one template that differ by this factor are groups of their own, if one of them is as long as this.
const WIDE_RATIO: u64 = 10;
const WIDE_BYTES: u64 = 10_000;
/// Bytes that a mobile link carries in a round trip, about: the least time of a request follows from them.
const BYTES_PER_RTT: u64 = 50_000;

/// What the requests of a group have in common: the number of their origin, what they ask for, and how many classes of
/// longer responses it has.
pub(super) type Kind = (usize, String, usize);

/// Splits requests of one template if the response of one has 10 kB and more, and ten times as many as another's: one
/// length could not stand for both. Those of unknown length stay with the longest. If `as_they_were`, requests that are
/// the same stay together, because the server cannot tell them apart.
pub(super) fn by_length(
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
pub(super) fn is_split(by_kind: &BTreeMap<Kind, Vec<usize>>, (place, template, _): &Kind) -> bool {
    by_kind.contains_key(&(*place, template.clone(), 1))
}

/// Returns the kinds in order of their first requests; if there are too many, that of the first request, which is what
/// a cold start waits for, and those whose requests take longest.
pub(super) fn longest_lasting(
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
pub(super) fn typical<'a>(indices: &[usize], seen: &'a [Seen]) -> Option<(&'a Seen, u64)> {
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
