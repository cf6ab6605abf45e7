//! The usual time of requests of each kind, over either transport.

use std::collections::BTreeMap;

use crate::bounds::make_room;
use crate::time::MonotonicTime;

/// Kinds that are kept. The least recently used one is dropped first.
pub(crate) const MAX_KINDS: usize = 32;
/// A kind's reference is the mean of as many first requests. It must not follow later ones: it
/// would come to the transport in use, and the difference from the other one would be forgotten.
const REFERENCE: u32 = 3;

/// The kind of opening a connection, which is none of a request.
pub(crate) const OPENING: u64 = u64::MAX;

/// A reference for ln(time) per kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestKinds {
    kinds: BTreeMap<u64, KindReference>,
    /// The last response's size by the kind that the app gives, and when that was.
    sizes: BTreeMap<u64, (u64, MonotonicTime)>,
}

/// Returns the kind of a request: what the app says, and the size of its larger body to a factor of
/// two. Time grows with size. Large bodies are compared by rate, but their kind depends on their
/// size as well.
pub(crate) fn key(app_kind: u64, bytes: u64) -> u64 {
    app_kind << 6
        | bytes
            .checked_ilog2()
            .map_or(0, |log| u64::from(log.min(61)) + 1)
}

#[derive(Clone, Copy, Debug)]
struct KindReference {
    count: u32,
    reference: f64,
    used: MonotonicTime,
}

impl RequestKinds {
    /// Returns ln(`time`) less the reference of its kind.
    pub(crate) fn residual(&mut self, kind: u64, time_s: f64, now: MonotonicTime) -> f64 {
        let log = time_s.max(1e-9).ln();
        if !self.kinds.contains_key(&kind) {
            make_room(&mut self.kinds, MAX_KINDS, |kind| kind.used);
        }
        let entry = self.kinds.entry(kind).or_insert(KindReference {
            count: 0,
            reference: log,
            used: now,
        });
        let residual = log - entry.reference;
        if entry.count < REFERENCE {
            entry.count += 1;
            entry.reference += residual / f64::from(entry.count);
        }
        entry.used = now;
        residual
    }

    /// Returns the usual time of a kind in seconds, if it was seen.
    pub(crate) fn usual_s(&self, kind: u64) -> Option<f64> {
        self.kinds.get(&kind).map(|entry| entry.reference.exp())
    }

    /// Records the size of a response in bytes.
    pub(crate) fn record_size(&mut self, app_kind: u64, bytes: u64, now: MonotonicTime) {
        if !self.sizes.contains_key(&app_kind) {
            make_room(&mut self.sizes, MAX_KINDS, |(_, used)| *used);
        }
        self.sizes.insert(app_kind, (bytes, now));
    }

    /// Returns the size in bytes that a response of this kind last had.
    pub(crate) fn usual_bytes(&self, app_kind: u64) -> Option<u64> {
        self.sizes.get(&app_kind).map(|(bytes, _)| *bytes)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.kinds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_is_the_log_of_the_ratio_to_the_usual_time() {
        let mut kinds = RequestKinds::default();
        assert_eq!(kinds.residual(1, 0.1, MonotonicTime::from_ns(0)), 0.0);
        assert!((kinds.residual(1, 0.2, MonotonicTime::from_ns(1)).exp() - 2.0).abs() < 1e-12);
        assert_eq!(kinds.usual_s(2), None);
    }

    #[test]
    fn a_reference_does_not_follow_the_transport_in_use() {
        let mut kinds = RequestKinds::default();
        for i in 0..100 {
            let time_s = if i < 4 { 0.1 } else { 0.2 };
            kinds.residual(1, time_s, MonotonicTime::from_ns(i));
        }
        let (slow, fast) = (
            kinds.residual(1, 0.2, MonotonicTime::from_ns(100)),
            kinds.residual(1, 0.1, MonotonicTime::from_ns(101)),
        );
        assert!(((slow - fast).exp() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn sizes_make_kinds() {
        let keys = [0, 1, 3, 100, 164_000, 1 << 20, u64::MAX].map(|bytes| key(1, bytes));
        assert!(keys.is_sorted() && !keys.contains(&OPENING));
        assert_eq!(key(1, 140_000), key(1, 164_000));
        assert_ne!(key(1, 164_000), key(2, 164_000));
    }

    #[test]
    fn kinds_are_bounded() {
        let mut kinds = RequestKinds::default();
        for kind in 0..100 {
            kinds.residual(kind, 0.1, MonotonicTime::from_ns(kind));
            kinds.record_size(kind, 1, MonotonicTime::from_ns(kind));
        }
        assert_eq!((kinds.len(), kinds.sizes.len()), (MAX_KINDS, MAX_KINDS));
        assert_eq!(
            (kinds.usual_bytes(0), kinds.usual_bytes(99)),
            (None, Some(1))
        );
        assert!(kinds.usual_s(99).is_some() && kinds.usual_s(0).is_none());
    }
}
