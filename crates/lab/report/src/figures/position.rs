//! The place of requests on their connection.

use std::collections::{BTreeMap, BTreeSet};

use record::{PlannedCall, Position, Run};

/// Groups and places on a connection, from 1, whose requests are populations of their own.
pub(crate) type Places = BTreeSet<(String, u32)>;

/// Returns the place of each planned call among those since its connection was opened, by id, from 1. Where requests go to
/// several origins, or at once, the plan does not say which connection they take: these have no place.
pub(crate) fn places(run: &Run) -> BTreeMap<u32, u32> {
    if run.arms.iter().any(|arm| !arm.origins.is_empty()) {
        return BTreeMap::new();
    }
    let mut place = None;
    let of_call = |call: &PlannedCall| {
        place = match call.position {
            _ if call.parallel => None,
            Position::ColdProcess | Position::First => Some(1),
            Position::Warm => place.map(|place: u32| place + 1),
        };
        Some((call.id, place?))
    };
    run.calls.iter().filter_map(of_call).collect()
}

/// Returns a place in words, e.g. `second` or `21st`.
pub(crate) fn ordinal(place: u32) -> String {
    const WORDS: [&str; 10] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
        "tenth",
    ];
    let index = (place as usize).checked_sub(1);
    match (
        index.and_then(|index| WORDS.get(index)),
        place % 100,
        place % 10,
    ) {
        (Some(word), _, _) => (*word).to_owned(),
        (None, 11..=13, _) => format!("{place}th"),
        (None, _, 1) => format!("{place}st"),
        (None, _, 2) => format!("{place}nd"),
        (None, _, 3) => format!("{place}rd"),
        (None, _, _) => format!("{place}th"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_words() {
        let words = [1, 2, 10, 11, 12, 13, 21, 22, 23, 24, 111, 102].map(ordinal);
        let expected = [
            "first", "second", "tenth", "11th", "12th", "13th", "21st", "22nd", "23rd", "24th",
            "111th", "102nd",
        ];
        assert_eq!(words, expected);
    }
}
