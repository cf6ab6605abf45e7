//! Requests that a server holds open until it has something to say. A study cannot have them: its servers
//! answer at once, and an app does not wait for them.

use crate::notes::Notes;
use crate::seen::Seen;

/// What servers send events with (WHATWG HTML, section 9.2).
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// A request that takes this long for so few bytes is held open, not slow: servers end long polls after 25 s and more,
/// or sooner if there is news.
const HELD_NS: u64 = 5_000_000_000;
const HELD_BYTES: u64 = 16_000;

/// Removes long polls: requests that were open for long, while others were made and answered.
pub(crate) fn without_long_polls(seen: Vec<Seen>, notes: &mut Notes) -> Vec<Seen> {
    let is_held = |request: &Seen| {
        let took_ns = request.end_ns.saturating_sub(request.start_ns);
        let is_within =
            |other: &Seen| other.start_ns > request.start_ns && other.end_ns < request.end_ns;
        took_ns >= HELD_NS && request.response.bytes <= HELD_BYTES && seen.iter().any(is_within)
    };
    let held: Vec<bool> = seen.iter().map(is_held).collect();
    let mut kept = Vec::with_capacity(seen.len());
    for (request, is_held) in seen.into_iter().zip(held) {
        match is_held {
            true => notes.left_out(format!(
                "a long poll: it was open for {} s and more while other requests came and went",
                HELD_NS / 1_000_000_000
            )),
            false => kept.push(request),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::Body;

    fn kept(requests: &[(u64, u64, u64)]) -> usize {
        let seen = |(start_ms, end_ms, bytes): &(u64, u64, u64)| Seen {
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            response: Body::of_bytes(*bytes, None),
            ..Seen::default()
        };
        without_long_polls(requests.iter().map(seen).collect(), &mut Notes::default()).len()
    }

    #[test]
    fn only_long_requests_for_little_beside_others_are_long_polls() {
        let other = (1000, 1100, 100);
        assert_eq!(kept(&[(0, 25_000, 100), other]), 1);
        assert_eq!(kept(&[(0, 25_000, 100)]), 1, "nothing else happened");
        assert_eq!(kept(&[(0, 25_000, 100), (30_000, 30_100, 100)]), 2);
        assert_eq!(kept(&[(0, 25_000, 2_000_000), other]), 2, "a download");
        assert_eq!(kept(&[(0, 4_000, 100), other]), 2, "merely slow");
    }
}
