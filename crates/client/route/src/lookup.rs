//! DNS lookups before a race, and the offers of HTTP/3 that they bring.

use std::time::Duration;

use crate::alt_svc::{self, AltSvc};
use crate::command::{Command, DnsRecords};
use crate::conn::{DnsLookup, RacePurpose};
use crate::event::{DnsAnswer, Fault, H3Record, Origin, Policy, QueryId};
use crate::knowledge::OriginDigest;
use crate::router::Router;

/// How long addresses wait for an HTTPS record (Happy Eyeballs v3, section 4.2).
pub const RESOLUTION_DELAY: Duration = Duration::from_millis(50);

impl Router {
    pub(crate) fn look_up(&mut self, origin: &Origin, purpose: RacePurpose) {
        if self.network.is_none() {
            return;
        }
        if let Some(lookup) = &mut self.origin_state(origin).lookup {
            if !lookup.purposes.contains(&purpose) {
                lookup.purposes.push(purpose);
            }
            return;
        }
        let addresses_query = self.next_query();
        let (digest, now) = (self.knowledge.digest(origin), self.now);
        // Whether a record can still tell more than is known.
        let is_open = self.knowledge.offer(digest, now).is_none();
        let asks_https = self.config.https_records && is_open;
        let may_use_h3 = matches!(
            purpose,
            RacePurpose::Calls(Policy::Adaptive | Policy::Race | Policy::H3)
        );
        let awaits_record = is_open && !asks_https && may_use_h3 && self.h3_is_on();
        let https_query = asks_https.then(|| self.next_query());
        self.origin_state(origin).lookup = Some(DnsLookup {
            addresses_query,
            https_query,
            found: None,
            purposes: vec![purpose],
        });
        if let Some(query) = https_query {
            let (origin, records) = (origin.clone(), DnsRecords::Https);
            self.push_command(Command::Resolve {
                query,
                origin,
                records,
                awaits_record: false,
            });
        }
        let (origin, records) = (origin.clone(), DnsRecords::Addresses);
        self.push_command(Command::Resolve {
            query: addresses_query,
            origin,
            records,
            awaits_record,
        });
    }

    pub(crate) fn on_resolved(&mut self, query: QueryId, answer: Option<DnsAnswer>) {
        let now = self.now;
        if let Some(digest) = self.late_records.remove(&query) {
            return self.on_https_record(digest, answer.as_ref());
        }
        let asked = |lookup: &DnsLookup| {
            lookup.addresses_query == query || lookup.https_query == Some(query)
        };
        let mut origins = self.origins.iter_mut();
        let Some((origin, state)) =
            origins.find(|(_, state)| state.lookup.as_ref().is_some_and(asked))
        else {
            return;
        };
        let (origin, digest) = (origin.clone(), state.digest);
        let Some(lookup) = &mut state.lookup else {
            return;
        };
        if lookup.https_query == Some(query) {
            lookup.https_query = None;
            self.on_https_record(digest, answer.as_ref());
        } else if let Some(DnsAnswer::Addresses(addresses)) = answer
            && !addresses.is_empty()
        {
            lookup.found = Some((addresses, now + RESOLUTION_DELAY));
        } else {
            let purposes = std::mem::take(&mut lookup.purposes);
            state.lookup = None;
            for purpose in purposes {
                self.fail_waiting(&origin, purpose, Fault::Name);
            }
        }
    }

    fn on_https_record(&mut self, digest: OriginDigest, answer: Option<&DnsAnswer>) {
        if let Some(DnsAnswer::H3(Some(record))) = answer {
            self.knowledge.set_record(digest, *record, self.now);
        }
    }

    pub(crate) fn on_record_offered(&mut self, origin: &Origin, record: H3Record) {
        let (digest, now) = (self.knowledge.digest(origin), self.now);
        self.knowledge.set_record(digest, record, now);
    }

    pub(crate) fn on_offer(&mut self, origin: &Origin, field: &[u8]) {
        if field.is_empty() {
            return;
        }
        let (digest, now) = (self.knowledge.digest(origin), self.now);
        match alt_svc::parse(field, origin.port) {
            AltSvc::Silent => {}
            AltSvc::Clear => self.knowledge.withdraw_offer(digest),
            AltSvc::H3 { port, max_age } => self.knowledge.set_offer(digest, port, max_age, now),
        }
    }

    pub(crate) fn on_hint(&mut self, origin: &Origin, port: u16) {
        let digest = self.knowledge.digest(origin);
        if port != 0 {
            self.knowledge.set_hint(digest, port, self.now);
        }
    }
}
