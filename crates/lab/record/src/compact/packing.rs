//! Packs calls one by one.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::calls::{CompactCalls, Kind};
use super::column::{
    ALLOCATED_BYTES, ALLOCATIONS, COLUMNS, CONNECT, CONNECTION, CREATED, DNS, ENCODED, END,
    FIRST_BYTE, ID, KIND, RECEIVED, REQUEST_BYTES, RESPONSE_BYTES, SENT, SERVER, SERVER_DECODE,
    SERVER_ENCODE, SIGNED, START, TLS, VERIFY,
};
use super::table::Table;
use crate::call::{Call, Exchange};

/// Packs calls that come one by one.
#[derive(Default)]
struct Packing {
    rows: Vec<[u64; COLUMNS]>,
    /// Row, index of the name, and time.
    parts: Vec<(usize, usize, u64)>,
    kinds: Vec<Kind>,
    kind_indexes: HashMap<Kind, usize>,
    part_names: BTreeMap<String, usize>,
}

impl Packing {
    fn push(&mut self, call: Call) {
        let row = self.rows.len();
        let exchange = call.exchange.as_ref();
        let of_exchange = |time: fn(&Exchange) -> Option<u64>| packed(exchange.and_then(time));
        let mut values = [0; COLUMNS];
        for (column, value) in [
            (ID, u64::from(call.id)),
            (CONNECTION, u64::from(call.connection)),
            (START, call.start_ns),
            (END, call.end_ns),
            (DNS, packed(call.dns_ns)),
            (CONNECT, packed(call.connect_ns)),
            (TLS, packed(call.tls_ns)),
            (SENT, packed(call.request_sent_ns)),
            (FIRST_BYTE, packed(call.first_byte_ns)),
            (REQUEST_BYTES, call.request_bytes),
            (RESPONSE_BYTES, call.response_bytes),
            (SERVER, packed(call.server_ns)),
            (SIGNED, packed(call.signed_ns)),
            (VERIFY, packed(call.verify_ns)),
            (ALLOCATED_BYTES, packed(call.allocated_bytes)),
            (ALLOCATIONS, packed(call.allocations)),
            (CREATED, of_exchange(|e| e.created_ns)),
            (ENCODED, of_exchange(|e| e.encoded_ns)),
            (RECEIVED, of_exchange(|e| e.received_ns)),
            (SERVER_DECODE, of_exchange(|e| e.server_decode_ns)),
            (SERVER_ENCODE, of_exchange(|e| e.server_encode_ns)),
        ] {
            values[column] = value;
        }
        for (name, ns) in call.parts {
            let next = self.part_names.len();
            let index = *self.part_names.entry(name).or_insert(next);
            self.parts.push((row, index, packed(Some(ns))));
        }
        values[KIND] = self.index_of(Kind {
            group: call.group,
            protocol: call.protocol,
            first: call.first,
            state: call.state,
            proof: call.proof,
            result: call.result,
            server_hits: call.server_hits,
            exchange: call.exchange.is_some(),
        }) as u64;
        self.rows.push(values);
    }

    fn index_of(&mut self, kind: Kind) -> usize {
        if let Some(index) = self.kind_indexes.get(&kind) {
            return *index;
        }
        let index = self.kinds.len();
        self.kind_indexes.insert(kind.clone(), index);
        self.kinds.push(kind);
        index
    }

    fn finish(self) -> CompactCalls {
        let columns = COLUMNS + self.part_names.len();
        let table = match self.parts.is_empty() {
            true => Table::new(COLUMNS, self.rows.as_flattened()),
            false => {
                let mut values = vec![0; self.rows.len() * columns];
                for (row, fixed) in values.chunks_exact_mut(columns).zip(&self.rows) {
                    row[..COLUMNS].copy_from_slice(fixed);
                }
                for (row, part, ns) in self.parts {
                    values[row * columns + COLUMNS + part] = ns;
                }
                Table::new(columns, &values)
            }
        };
        let mut part_names = vec![String::new(); self.part_names.len()];
        for (name, index) in self.part_names {
            part_names[index] = name;
        }
        CompactCalls {
            table,
            kinds: self.kinds.into_boxed_slice(),
            part_names: part_names.into_boxed_slice(),
        }
    }
}

/// Returns 0 for none, else one more than the number.
fn packed(number: Option<u64>) -> u64 {
    number.map_or(0, |number| number.saturating_add(1))
}

impl FromIterator<Call> for CompactCalls {
    fn from_iter<I: IntoIterator<Item = Call>>(calls: I) -> Self {
        let mut packing = Packing::default();
        calls.into_iter().for_each(|call| packing.push(call));
        packing.finish()
    }
}

/// Packs each call as it is read, so that never more than one is in memory as it is.
impl<'de> Deserialize<'de> for CompactCalls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Calls;

        impl<'de> Visitor<'de> for Calls {
            type Value = CompactCalls;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut calls: A) -> Result<CompactCalls, A::Error> {
                let mut packing = Packing::default();
                while let Some(call) = calls.next_element()? {
                    packing.push(call);
                }
                Ok(packing.finish())
            }
        }

        deserializer.deserialize_seq(Calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{CallResult, State};
    use crate::cell::CallList as _;
    use crate::proof::Proof;

    fn call(id: u32) -> Call {
        Call {
            id,
            group: "echo".into(),
            connection: 1,
            first: id == 1,
            state: State::Warm,
            proof: Proof::Server,
            protocol: "h2".into(),
            start_ns: u64::from(id) * 60_000_000,
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: Some(u64::from(id) * 7),
            first_byte_ns: Some(50_000_000 + u64::from(id) * 1_001),
            end_ns: 51_000_000 + u64::from(id) * 999,
            request_bytes: 26,
            response_bytes: 26,
            result: CallResult::Ok,
            server_hits: 1,
            server_ns: Some(400_000 + u64::from(id % 13)),
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: BTreeMap::new(),
            path: None,
            exchange: None,
        }
    }

    /// Returns calls that differ in every field.
    fn calls() -> Vec<Call> {
        let mut calls: Vec<Call> = (1..=6).map(call).collect();
        calls[1].result = CallResult::TimedOut;
        calls[2].result = CallResult::Error {
            kind: "reset".into(),
            detail: "by peer".into(),
        };
        calls[2].server_hits = 0;
        calls[3].exchange = Some(Exchange {
            created_ns: None,
            encoded_ns: Some(0),
            received_ns: Some(u64::MAX - 1),
            server_decode_ns: Some(3),
            server_encode_ns: None,
        });
        calls[4].parts = [("client".into(), 0), ("server".into(), 9)].into();
        calls[5].parts = [("exchange".into(), 5)].into();
        calls[5].group = "page".into();
        (calls[5].dns_ns, calls[5].connect_ns, calls[5].tls_ns) = (Some(1), Some(2), Some(3));
        (calls[5].signed_ns, calls[5].verify_ns) = (Some(4), Some(5));
        (calls[5].allocated_bytes, calls[5].allocations) = (Some(6), Some(7));
        (calls[0].start_ns, calls[0].end_ns) = (u64::MAX, u64::MAX);
        calls
    }

    #[test]
    fn calls_come_back() {
        let compact: CompactCalls = calls().into_iter().collect();
        let back: Vec<Call> = compact.iter().map(Call::from).collect();
        assert_eq!(back, calls());
        assert_eq!(compact.iter().nth(4).unwrap().part_ns("server"), Some(9));
        assert_eq!(compact.iter().nth(5).unwrap().part_ns("server"), None);
        assert!(!compact.iter().next().unwrap().has_parts());
        let none: CompactCalls = std::iter::empty().collect();
        assert_eq!((none.count(), none.iter().len()), (0, 0));
    }

    #[test]
    fn reading_gives_the_same_as_packing() {
        let text = serde_json::to_string(&calls()).unwrap();
        let read: CompactCalls = serde_json::from_str(&text).unwrap();
        assert_eq!(read, calls().into_iter().collect());
        for wrong in ["{}", "[1]", "[", "null"] {
            assert!(serde_json::from_str::<CompactCalls>(wrong).is_err());
        }
    }

    #[test]
    fn a_plain_call_takes_less_than_thirty_bytes() {
        let compact: CompactCalls = (1..=10_000).map(call).collect();
        let bytes = compact.size() as f64 / 10_000.0;
        assert!(bytes < 30.0, "{bytes}");
    }

    #[test]
    fn unknown_groups_and_timeouts_are_found() {
        let compact: CompactCalls = calls().into_iter().collect();
        assert_eq!(compact.outside(&|group| group == "echo"), Some((6, "page")));
        assert_eq!(compact.outside(&|_| true), None);
        assert!(!compact.all_timed_out());
        let late = calls().into_iter().skip(1).take(1);
        assert!(late.collect::<CompactCalls>().all_timed_out());
    }
}
