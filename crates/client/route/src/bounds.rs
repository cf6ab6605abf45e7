//! Bounded maps that drop their least recently used entries.

use std::collections::BTreeMap;

/// Drops the least recently used entries until there is room for one more.
pub(crate) fn make_room<K: Ord + Copy, V, U: Ord>(
    map: &mut BTreeMap<K, V>,
    limit: usize,
    used: impl Fn(&V) -> U,
) {
    while map.len() >= limit {
        let oldest = map
            .iter()
            .min_by_key(|(_, entry)| used(entry))
            .map(|(key, _)| *key);
        match oldest {
            Some(key) => map.remove(&key),
            None => return,
        };
    }
}
