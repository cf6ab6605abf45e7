//! Checks that every row must pass before the lab uses it.

mod error;

use std::collections::HashMap;

pub use self::error::RowError;
use crate::protocol::{Action, Clock, Row, Step};

/// More attempts at one call than this are not plausible.
const MAX_ATTEMPTS: u32 = 100;

/// A longer body than this, 1 TiB, is not plausible.
const MAX_BODY_BYTES: u64 = 1 << 40;

/// Length of a SHA-256 digest in hex.
const DIGEST_CHARS: usize = 64;

/// The rows of one run, collected and checked as they arrive.
pub struct Rows<'a> {
    clock: Clock,
    sent_ns: u64,
    steps: HashMap<u32, &'a Step>,
    first_read_ns: HashMap<u32, u64>,
    rows: HashMap<u32, Row>,
}

impl<'a> Rows<'a> {
    /// Starts a run whose `steps` are sent at `sent_ns` (`CLOCK_MONOTONIC`) to a driver with this
    /// clock.
    pub fn new(steps: &'a [Step], clock: Clock, sent_ns: u64) -> Self {
        Self {
            clock,
            sent_ns,
            steps: steps.iter().map(|step| (step.id, step)).collect(),
            first_read_ns: HashMap::new(),
            rows: HashMap::new(),
        }
    }

    /// Checks and adds a row whose line was read at `read_ns` (`CLOCK_MONOTONIC`).
    pub fn add(&mut self, row: Row, read_ns: u64) -> Result<(), RowError> {
        let id = row.id;
        let step = *self.steps.get(&id).ok_or(RowError::UnknownId { id })?;
        if !step.action.is_call() {
            return Err(RowError::NotACall {
                id,
                step: step.action.name(),
            });
        }
        if self.rows.contains_key(&id) {
            return Err(RowError::Duplicate { id });
        }
        check_order(&row)?;
        check_values(&row, &step.action)?;
        if self.clock == Clock::Monotonic {
            // A group's rows are sent after its last call has ended, so none of its calls may
            // end after the first row was read.
            let group_read_ns = *self.first_read_ns.entry(step.group).or_insert(read_ns);
            if let Some(by_ns) = excess(self.sent_ns, row.start_ns) {
                return Err(RowError::BeforeRun { id, by_ns });
            }
            if let Some(by_ns) = excess(row.end_ns, group_read_ns) {
                return Err(RowError::AfterRead { id, by_ns });
            }
        }
        self.rows.insert(id, row);
        Ok(())
    }

    /// Returns the rows in the order of the steps, once the driver has sent `done`. Every call
    /// must have one, unless it may have been too late to start it.
    pub fn finish(mut self, steps: &[Step]) -> Result<Vec<Row>, RowError> {
        let calls = || steps.iter().filter(|step| step.action.is_call());
        let lacks_row = |step: &&Step| step.until.is_none() && !self.rows.contains_key(&step.id);
        if let Some(step) = calls().find(lacks_row) {
            let missing = calls().filter(lacks_row).count();
            return Err(RowError::Missing {
                id: step.id,
                missing,
            });
        }
        Ok(calls()
            .filter_map(|step| self.rows.remove(&step.id))
            .collect())
    }
}

fn check_order(row: &Row) -> Result<(), RowError> {
    let start = ("start", Some(row.start_ns));
    let end = ("end", Some(row.end_ns));
    let (dns, connect) = (("dns", row.dns_ns), ("connect", row.connect_ns));
    let (tls, sent) = (("tls", row.tls_ns), ("request_sent", row.request_sent_ns));
    let first = ("first_byte", row.first_byte_ns);
    let (created, encoded) = (("created", row.created_ns), ("encoded", row.encoded_ns));
    let (signed, received) = (("signed", row.signed_ns), ("received", row.received_ns));
    check_sequence(row.id, &[start, created, encoded, signed, sent, end])?;
    check_sequence(row.id, &[first, received, end])?;
    check_sequence(row.id, &[start, dns, connect, tls, end])?;
    // Early data is sent, and may be answered, before the handshake is complete.
    let connected = if row.early_data { connect } else { tls };
    check_sequence(row.id, &[start, connected, sent, end])?;
    check_sequence(row.id, &[start, connected, first, end])
}

/// Checks that the phases that have a time are in the given order.
fn check_sequence(id: u32, phases: &[(&'static str, Option<u64>)]) -> Result<(), RowError> {
    let known: Vec<_> = phases
        .iter()
        .filter_map(|&(name, at)| Some((name, at?)))
        .collect();
    for pair in known.windows(2) {
        let [(earlier, before_ns), (later, after_ns)] = [pair[0], pair[1]];
        if let Some(by_ns) = excess(before_ns, after_ns) {
            return Err(RowError::Order {
                id,
                earlier,
                later,
                by_ns,
            });
        }
    }
    Ok(())
}

fn check_values(row: &Row, action: &Action) -> Result<(), RowError> {
    let id = row.id;
    if row.attempts > MAX_ATTEMPTS {
        return Err(RowError::Attempts {
            id,
            attempts: row.attempts,
        });
    }
    let bytes = row.request_bytes.max(row.response_bytes);
    if bytes > MAX_BODY_BYTES {
        return Err(RowError::Bytes { id, bytes });
    }
    let hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if row
        .digest
        .as_ref()
        .is_some_and(|text| text.len() != DIGEST_CHARS || !text.bytes().all(hex))
    {
        return Err(RowError::Digest { id });
    }
    if row.error.is_some() {
        return Ok(());
    }
    if row.attempts == 0 {
        return Err(RowError::Attempts { id, attempts: 0 });
    }
    // A redirect has a body, but it is not the file.
    let is_redirect = row
        .status
        .is_some_and(|status| (300..400).contains(&status));
    if let Action::Get { bytes } = *action
        && row.response_bytes != bytes
        && !is_redirect
    {
        return Err(RowError::WrongLength {
            id,
            requested: bytes,
            received: row.response_bytes,
        });
    }
    let is_exchange = matches!(action, Action::Exchange { .. });
    let encodes = is_exchange || matches!(action, Action::Submit { .. });
    let required = [
        (row.connection > 0, "a connection"),
        (row.first_byte_ns.is_some(), "a first byte"),
        (row.status.is_some(), "a status"),
        (row.digest.is_some(), "a digest"),
        (row.protocol.is_some(), "a protocol"),
        (!encodes || row.encoded_ns.is_some(), "an encoding time"),
        (
            !is_exchange || row.received_ns.is_some(),
            "a receiving time",
        ),
    ];
    match required.iter().find(|(present, _)| !present) {
        Some(&(_, field)) => Err(RowError::MissingField { id, field }),
        None => Ok(()),
    }
}

/// Returns by how much `value` exceeds `bound`, if it does.
fn excess(value: u64, bound: u64) -> Option<u64> {
    (value > bound).then(|| value - bound)
}

#[cfg(test)]
mod tests;
