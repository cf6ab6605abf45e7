//! The router's knowledge of networks and origins, in bounds.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::alt_svc::LONGEST_MAX_AGE;
use crate::bounds::make_room;
use crate::event::{Ask, NetworkId, Origin};
use crate::learn::{Class, Kinds, Learnt};
use crate::moment::Moment;
use crate::standing::{Trial, Udp};
use sha2::{Digest as _, Sha256};

/// Networks that are known at a time.
pub(crate) const MAX_NETWORKS: usize = 32;
/// Pairs of network and origin that are known at a time.
pub(crate) const MAX_ROWS: usize = 256;
/// Origins whose offers of HTTP/3 are known at a time.
pub(crate) const MAX_OFFERS: usize = 64;

/// An origin without its name: a salted digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Digest(pub(crate) [u8; 16]);

/// All that is known. The least recently used goes first.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    pub(crate) salt: [u8; 16],
    pub(crate) networks: BTreeMap<NetworkId, NetworkRow>,
    pub(crate) rows: BTreeMap<(NetworkId, Digest), Row>,
    pub(crate) offers: BTreeMap<Digest, Offer>,
}

/// A network.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkRow {
    pub(crate) udp: Udp,
    pub(crate) rtt: Option<Duration>,
    pub(crate) used: LastUse,
}

/// An origin on a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) trial: Trial,
    /// Requests over HTTP/3 in a row that failed after its handshake.
    pub(crate) quic_failures: u8,
    /// Requests over HTTP/3 in a row whose time was up without an answer.
    pub(crate) quic_unanswered: u8,
    /// Whether the origin takes requests over HTTP/1.1 only.
    pub(crate) http1: bool,
    /// How many requests it takes on a connection over HTTP/3, if it seems to have such a limit.
    pub(crate) quota: Option<Quota>,
    /// Responses that began.
    pub(crate) answers: u64,
    pub(crate) last_answer: Option<Moment>,
    pub(crate) rtt: Option<Duration>,
    pub(crate) learnt: [Learnt; Class::ALL.len()],
    pub(crate) kinds: Kinds,
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
    pub(crate) until: Moment,
}

/// An origin's offer of HTTP/3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) port: u16,
    pub(crate) until: Moment,
    pub(crate) used: Moment,
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
    At(Moment),
}

impl Default for LastUse {
    fn default() -> Self {
        Self::At(Moment::default())
    }
}

impl Book {
    pub(crate) fn new(salt: [u8; 16]) -> Self {
        let (networks, rows, offers) = Default::default();
        Self {
            salt,
            networks,
            rows,
            offers,
        }
    }

    pub(crate) fn digest(&self, origin: &Origin) -> Digest {
        let mut hash = Sha256::new();
        hash.update(self.salt);
        hash.update(origin.port.to_be_bytes());
        hash.update(origin.host.as_bytes());
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash.finalize()[..16]);
        Digest(digest)
    }

    pub(crate) fn network(&mut self, id: NetworkId, now: Moment) -> &mut NetworkRow {
        if !self.networks.contains_key(&id) {
            make_room(&mut self.networks, MAX_NETWORKS, |row| row.used);
        }
        let row = self.networks.entry(id).or_default();
        row.used = LastUse::At(now);
        row
    }

    pub(crate) fn row(&mut self, network: NetworkId, origin: Digest, now: Moment) -> &mut Row {
        let key = (network, origin);
        if !self.rows.contains_key(&key) {
            make_room(&mut self.rows, MAX_ROWS, |row| row.used);
        }
        let row = self.rows.entry(key).or_default();
        row.used = LastUse::At(now);
        row
    }

    /// Returns the port of an offer of HTTP/3 that is still valid, and marks the offer as used.
    pub(crate) fn offer(&mut self, origin: Digest, now: Moment) -> Option<u16> {
        let offer = self
            .offers
            .get_mut(&origin)
            .filter(|offer| offer.until > now)?;
        offer.used = now;
        Some(offer.port)
    }

    pub(crate) fn set_offer(&mut self, origin: Digest, port: u16, age: Duration, now: Moment) {
        if !self.offers.contains_key(&origin) {
            make_room(&mut self.offers, MAX_OFFERS, |offer| offer.used);
        }
        let offer = Offer {
            port,
            until: now + age.min(LONGEST_MAX_AGE),
            used: now,
            hinted: false,
        };
        self.offers.insert(origin, offer);
    }

    /// Records the app's hint that the origin offers HTTP/3 on this port.
    pub(crate) fn set_hint(&mut self, origin: Digest, port: u16, now: Moment) {
        self.set_offer(origin, port, LONGEST_MAX_AGE, now);
        if let Some(offer) = self.offers.get_mut(&origin) {
            offer.hinted = true;
        }
    }

    pub(crate) fn withdraw_offer(&mut self, origin: Digest) {
        self.offers.remove(&origin);
    }
}

impl Row {
    pub(crate) fn learnt(&mut self, class: Class) -> &mut Learnt {
        &mut self.learnt[class as usize]
    }

    /// Returns the bytes of the request's larger body: what the app says, or the last response of
    /// this kind.
    pub(crate) fn expected_bytes(&self, ask: &Ask) -> u64 {
        let usual = self.kinds.usual_bytes(ask.kind);
        usual.max(ask.bytes).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_map_is_bounded_and_drops_the_least_recently_used() {
        let mut book = Book::new([0; 16]);
        let at = Moment::from_ns;
        let digest = |i: u64| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&i.to_be_bytes());
            id
        };
        for i in 0..1_000 {
            book.network(NetworkId(digest(i)), at(i));
            book.row(NetworkId(digest(i)), Digest(digest(i)), at(i));
            book.set_offer(Digest(digest(i)), 443, Duration::from_secs(1), at(i));
            book.network(NetworkId(digest(0)), at(i));
        }
        let sizes = (book.networks.len(), book.rows.len(), book.offers.len());
        assert_eq!(sizes, (MAX_NETWORKS, MAX_ROWS, MAX_OFFERS));
        assert!(book.networks.contains_key(&NetworkId(digest(0))));
        assert!(book.networks.contains_key(&NetworkId(digest(999))));
        assert!(!book.networks.contains_key(&NetworkId(digest(500))));
    }

    #[test]
    fn an_offer_ends() {
        let mut book = Book::new([0; 16]);
        let origin = book.digest(&Origin::new("a.example", 443));
        book.set_offer(origin, 444, Duration::from_secs(1), Moment::from_ns(0));
        assert_eq!(book.offer(origin, Moment::from_ns(999_999_999)), Some(444));
        assert_eq!(book.offer(origin, Moment::from_ns(1_000_000_000)), None);
        assert_ne!(origin, book.digest(&Origin::new("a.example", 444)));
        assert_ne!(
            origin,
            Book::new([1; 16]).digest(&Origin::new("a.example", 443))
        );
    }
}
