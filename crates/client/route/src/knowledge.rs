//! What the router knows of networks and origins. The size is bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::alt_svc::LONGEST_MAX_AGE;
use crate::bounds::make_room;
use crate::event::{H3Record, NetworkId, Origin, RequestTraits};
use crate::h3_status::{H3Status, UdpStatus};
use crate::learn::{ComparisonClass, RequestKinds, TransportEstimates};
use crate::time::MonotonicTime;
use sha2::{Digest as _, Sha256};

/// Most networks that are kept.
pub(crate) const MAX_NETWORKS: usize = 32;
/// Most pairs of network and origin that are kept.
pub(crate) const MAX_ORIGINS: usize = 256;
/// Most origins whose offers of HTTP/3 are kept.
pub(crate) const MAX_OFFERS: usize = 64;

/// A record counts at least so long: for the lookup that it was asked for, even if its TTL is 0 (RFC 1035 section
/// 3.2.1).
const SHORTEST_RECORD: Duration = Duration::from_secs(1);

/// An origin without its name: a salted digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OriginDigest(pub(crate) [u8; 16]);

/// Knowledge of networks, of origins on each, and of offers of HTTP/3. Each map drops its least recently used entry
/// when it is full.
#[derive(Clone, Debug)]
pub(crate) struct KnowledgeStore {
    pub(crate) salt: [u8; 16],
    pub(crate) networks: BTreeMap<NetworkId, NetworkEntry>,
    pub(crate) origins: BTreeMap<(NetworkId, OriginDigest), OriginEntry>,
    pub(crate) offers: BTreeMap<OriginDigest, H3Offer>,
}

/// Knowledge of a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkEntry {
    pub(crate) udp: UdpStatus,
    pub(crate) rtt: Option<Duration>,
    pub(crate) used: LastUse,
}

/// Knowledge of an origin on a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct OriginEntry {
    pub(crate) h3: H3Status,
    /// Requests over HTTP/3 in a row that failed after its handshake.
    pub(crate) quic_failures: u8,
    /// Requests over HTTP/3 in a row that timed out without an answer.
    pub(crate) quic_unanswered: u8,
    /// Whether the origin takes requests over HTTP/1.1 only.
    pub(crate) http1: bool,
    /// How many requests it takes on a connection over HTTP/3, if it seems to have such a limit.
    pub(crate) quota: Option<Quota>,
    /// Responses that began.
    pub(crate) answers: u64,
    pub(crate) last_answer: Option<MonotonicTime>,
    pub(crate) rtt: Option<Duration>,
    pub(crate) estimates: [TransportEstimates; ComparisonClass::ALL.len()],
    pub(crate) kinds: RequestKinds,
    /// Requests that ended well.
    pub(crate) done: u32,
    /// Whether a second connection was opened to learn.
    pub(crate) opened_to_learn: bool,
    pub(crate) used: LastUse,
}

/// How many requests an origin answers on a connection over HTTP/3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    pub(crate) requests: u32,
    pub(crate) until: MonotonicTime,
}

/// An origin's offer of HTTP/3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct H3Offer {
    pub(crate) port: u16,
    pub(crate) until: MonotonicTime,
    pub(crate) used: MonotonicTime,
    /// Whether the app says so, which the memory file does not keep: the app may say it no more.
    pub(crate) hinted: bool,
}

/// When something was last used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LastUse {
    /// By an earlier process, in this hour since 1970.
    Before {
        hour: u64,
    },
    At(MonotonicTime),
}

impl Default for LastUse {
    fn default() -> Self {
        Self::At(MonotonicTime::default())
    }
}

impl KnowledgeStore {
    pub(crate) fn new(salt: [u8; 16]) -> Self {
        let (networks, origins, offers) = Default::default();
        Self {
            salt,
            networks,
            origins,
            offers,
        }
    }

    pub(crate) fn digest(&self, origin: &Origin) -> OriginDigest {
        let mut hash = Sha256::new();
        hash.update(self.salt);
        hash.update(origin.port.to_be_bytes());
        hash.update(origin.host.as_bytes());
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash.finalize()[..16]);
        OriginDigest(digest)
    }

    pub(crate) fn network(&mut self, id: NetworkId, now: MonotonicTime) -> &mut NetworkEntry {
        if !self.networks.contains_key(&id) {
            make_room(&mut self.networks, MAX_NETWORKS, |entry| entry.used);
        }
        let entry = self.networks.entry(id).or_default();
        entry.used = LastUse::At(now);
        entry
    }

    pub(crate) fn origin(
        &mut self,
        network: NetworkId,
        origin: OriginDigest,
        now: MonotonicTime,
    ) -> &mut OriginEntry {
        let key = (network, origin);
        if !self.origins.contains_key(&key) {
            make_room(&mut self.origins, MAX_ORIGINS, |entry| entry.used);
        }
        let entry = self.origins.entry(key).or_default();
        entry.used = LastUse::At(now);
        entry
    }

    /// Returns the port of an offer of HTTP/3 that is still valid, and marks the offer as used.
    pub(crate) fn offer(&mut self, origin: OriginDigest, now: MonotonicTime) -> Option<u16> {
        let offer = self
            .offers
            .get_mut(&origin)
            .filter(|offer| offer.until > now)?;
        offer.used = now;
        Some(offer.port)
    }

    pub(crate) fn set_offer(
        &mut self,
        origin: OriginDigest,
        port: u16,
        age: Duration,
        now: MonotonicTime,
    ) {
        if !self.offers.contains_key(&origin) {
            make_room(&mut self.offers, MAX_OFFERS, |offer| offer.used);
        }
        let offer = H3Offer {
            port,
            until: now + age.min(LONGEST_MAX_AGE),
            used: now,
            hinted: false,
        };
        self.offers.insert(origin, offer);
    }

    /// Records the offer of an HTTPS record. It replaces none that holds longer, such as a hint of the app.
    pub(crate) fn set_record(
        &mut self,
        origin: OriginDigest,
        record: H3Record,
        now: MonotonicTime,
    ) {
        let age = record.ttl.max(SHORTEST_RECORD);
        let holds_longer = |offer: &H3Offer| offer.hinted || offer.until >= now + age;
        let known = self.offers.get(&origin).filter(|offer| offer.until > now);
        if !known.is_some_and(holds_longer) {
            self.set_offer(origin, record.port, age, now);
        }
    }

    /// Records the app's hint that the origin offers HTTP/3 on this port.
    pub(crate) fn set_hint(&mut self, origin: OriginDigest, port: u16, now: MonotonicTime) {
        self.set_offer(origin, port, LONGEST_MAX_AGE, now);
        if let Some(offer) = self.offers.get_mut(&origin) {
            offer.hinted = true;
        }
    }

    pub(crate) fn withdraw_offer(&mut self, origin: OriginDigest) {
        self.offers.remove(&origin);
    }
}

impl OriginEntry {
    pub(crate) fn estimates(&mut self, class: ComparisonClass) -> &mut TransportEstimates {
        &mut self.estimates[class as usize]
    }

    /// Returns the bytes of the request's larger body: what the app says, or the last response of
    /// this kind.
    pub(crate) fn expected_bytes(&self, traits: &RequestTraits) -> u64 {
        let usual = self.kinds.usual_bytes(traits.kind);
        usual.max(traits.bytes).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_map_is_bounded_and_drops_the_least_recently_used() {
        let mut knowledge = KnowledgeStore::new([0; 16]);
        let at = MonotonicTime::from_ns;
        let digest = |i: u64| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&i.to_be_bytes());
            id
        };
        for i in 0..1_000 {
            knowledge.network(NetworkId(digest(i)), at(i));
            knowledge.origin(NetworkId(digest(i)), OriginDigest(digest(i)), at(i));
            knowledge.set_offer(OriginDigest(digest(i)), 443, Duration::from_secs(1), at(i));
            knowledge.network(NetworkId(digest(0)), at(i));
        }
        let sizes = (
            knowledge.networks.len(),
            knowledge.origins.len(),
            knowledge.offers.len(),
        );
        assert_eq!(sizes, (MAX_NETWORKS, MAX_ORIGINS, MAX_OFFERS));
        assert!(knowledge.networks.contains_key(&NetworkId(digest(0))));
        assert!(knowledge.networks.contains_key(&NetworkId(digest(999))));
        assert!(!knowledge.networks.contains_key(&NetworkId(digest(500))));
    }

    #[test]
    fn an_offer_ends() {
        let mut knowledge = KnowledgeStore::new([0; 16]);
        let origin = knowledge.digest(&Origin::new("a.example", 443));
        knowledge.set_offer(
            origin,
            444,
            Duration::from_secs(1),
            MonotonicTime::from_ns(0),
        );
        assert_eq!(
            knowledge.offer(origin, MonotonicTime::from_ns(999_999_999)),
            Some(444)
        );
        assert_eq!(
            knowledge.offer(origin, MonotonicTime::from_ns(1_000_000_000)),
            None
        );
        assert_ne!(origin, knowledge.digest(&Origin::new("a.example", 444)));
        assert_ne!(
            origin,
            KnowledgeStore::new([1; 16]).digest(&Origin::new("a.example", 443))
        );
    }
}
