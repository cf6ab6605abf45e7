//! The calls of a cell in a tenth of the memory.

use super::column::{
    ALLOCATED_BYTES, ALLOCATIONS, COLUMNS, CONNECT, CONNECTION, CREATED, DNS, ENCODED, END,
    FIRST_BYTE, ID, KIND, RECEIVED, REQUEST_BYTES, RESPONSE_BYTES, SENT, SERVER, SERVER_DECODE,
    SERVER_ENCODE, SIGNED, START, TLS, VERIFY,
};
use super::table::Table;
use crate::call::{Call, CallResult, Exchange, State};
use crate::cell::CallList;
use crate::proof::Proof;

/// The calls of a cell, without their critical paths. An optional number of `u64::MAX` counts as one less.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactCalls {
    /// A row per call: [`KIND`] and what follows it, then the time of each part by its name's index.
    pub(super) table: Table,
    pub(super) kinds: Box<[Kind]>,
    pub(super) part_names: Box<[String]>,
}

/// What many calls of a cell have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) protocol: String,
    pub(super) first: bool,
    pub(super) state: State,
    pub(super) proof: Proof,
    pub(super) result: CallResult,
    pub(super) server_hits: u32,
    pub(super) exchange: bool,
}

impl CompactCalls {
    /// Returns the calls in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CompactCall<'_>> + Clone {
        (0..self.table.rows()).map(|row| CompactCall { calls: self, row })
    }

    /// Returns the bytes of memory that the calls take.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.table.size() + self.kinds.len() * size_of::<Kind>()
    }
}

impl CallList for CompactCalls {
    fn count(&self) -> usize {
        self.table.rows()
    }

    fn all_timed_out(&self) -> bool {
        (self.kinds.iter()).all(|kind| kind.result == CallResult::TimedOut)
    }

    fn outside(&self, groups: &dyn Fn(&str) -> bool) -> Option<(u32, &str)> {
        // Each kind has a call.
        if self.kinds.iter().all(|kind| groups(&kind.group)) {
            return None;
        }
        let mut calls = self.iter().map(|call| (call.id(), call.group()));
        calls.find(|(_, group)| !groups(group))
    }
}

/// One call of [`CompactCalls`]. Its functions return what the fields of [`Call`] hold.
#[derive(Clone, Copy, Debug)]
pub struct CompactCall<'a> {
    calls: &'a CompactCalls,
    row: usize,
}

#[allow(missing_docs, reason = "the fields of `Call` are documented")]
impl<'a> CompactCall<'a> {
    fn number(self, column: usize) -> u64 {
        self.calls.table.get(self.row, column)
    }

    fn optional(self, column: usize) -> Option<u64> {
        self.number(column).checked_sub(1)
    }

    fn kind(self) -> &'a Kind {
        &self.calls.kinds[self.number(KIND) as usize]
    }

    pub fn id(self) -> u32 {
        self.number(ID) as u32
    }

    pub fn group(self) -> &'a str {
        &self.kind().group
    }

    pub fn connection(self) -> u32 {
        self.number(CONNECTION) as u32
    }

    pub fn first(self) -> bool {
        self.kind().first
    }

    pub fn state(self) -> State {
        self.kind().state
    }

    pub fn proof(self) -> Proof {
        self.kind().proof
    }

    pub fn protocol(self) -> &'a String {
        &self.kind().protocol
    }

    pub fn start_ns(self) -> u64 {
        self.number(START)
    }

    pub fn dns_ns(self) -> Option<u64> {
        self.optional(DNS)
    }

    pub fn connect_ns(self) -> Option<u64> {
        self.optional(CONNECT)
    }

    pub fn tls_ns(self) -> Option<u64> {
        self.optional(TLS)
    }

    pub fn request_sent_ns(self) -> Option<u64> {
        self.optional(SENT)
    }

    pub fn first_byte_ns(self) -> Option<u64> {
        self.optional(FIRST_BYTE)
    }

    pub fn end_ns(self) -> u64 {
        self.number(END)
    }

    pub fn request_bytes(self) -> u64 {
        self.number(REQUEST_BYTES)
    }

    pub fn response_bytes(self) -> u64 {
        self.number(RESPONSE_BYTES)
    }

    pub fn result(self) -> &'a CallResult {
        &self.kind().result
    }

    pub fn server_hits(self) -> u32 {
        self.kind().server_hits
    }

    pub fn server_ns(self) -> Option<u64> {
        self.optional(SERVER)
    }

    pub fn exchange(self) -> Option<Exchange> {
        self.is_exchange().then(|| Exchange {
            created_ns: self.optional(CREATED),
            encoded_ns: self.optional(ENCODED),
            received_ns: self.optional(RECEIVED),
            server_decode_ns: self.optional(SERVER_DECODE),
            server_encode_ns: self.optional(SERVER_ENCODE),
        })
    }

    /// Reports whether the call has an exchange.
    pub fn is_exchange(self) -> bool {
        self.kind().exchange
    }

    /// Returns the time of each part, with its name.
    pub fn parts(self) -> impl Iterator<Item = (&'a str, u64)> {
        let names = self.calls.part_names.iter().enumerate();
        names.filter_map(move |(i, name)| Some((name.as_str(), self.optional(COLUMNS + i)?)))
    }

    /// Returns the time of a part.
    pub fn part_ns(self, name: &str) -> Option<u64> {
        let index = self
            .calls
            .part_names
            .iter()
            .position(|known| known == name)?;
        self.optional(COLUMNS + index)
    }

    /// Reports whether the call has parts.
    pub fn has_parts(self) -> bool {
        self.parts().next().is_some()
    }

    /// Returns the end, ns after the cell's first step.
    pub fn ended_ns(self) -> u64 {
        self.start_ns().saturating_add(self.end_ns())
    }
}

/// The call without its critical path.
impl From<CompactCall<'_>> for Call {
    fn from(call: CompactCall<'_>) -> Call {
        Call {
            id: call.id(),
            group: call.group().to_owned(),
            connection: call.connection(),
            first: call.first(),
            state: call.state(),
            proof: call.proof(),
            protocol: call.protocol().clone(),
            start_ns: call.start_ns(),
            dns_ns: call.dns_ns(),
            connect_ns: call.connect_ns(),
            tls_ns: call.tls_ns(),
            request_sent_ns: call.request_sent_ns(),
            first_byte_ns: call.first_byte_ns(),
            end_ns: call.end_ns(),
            request_bytes: call.request_bytes(),
            response_bytes: call.response_bytes(),
            result: call.result().clone(),
            server_hits: call.server_hits(),
            server_ns: call.server_ns(),
            signed_ns: call.optional(SIGNED),
            verify_ns: call.optional(VERIFY),
            allocated_bytes: call.optional(ALLOCATED_BYTES),
            allocations: call.optional(ALLOCATIONS),
            parts: (call.parts())
                .map(|(name, ns)| (name.to_owned(), ns))
                .collect(),
            path: None,
            exchange: call.exchange(),
        }
    }
}
