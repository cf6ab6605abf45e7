//! What a row must satisfy before the lab looks at it.

use std::collections::HashMap;

use crate::protocol::{Action, Clock, Row, Step};
pub use crate::row_error::RowError;

/// Sends of one request beyond which a driver is not believed.
const MAX_ATTEMPTS: u32 = 100;

/// Body bytes beyond which a driver is not believed: 1 TiB.
const MAX_BODY_BYTES: u64 = 1 << 40;

/// The rows of one run, as they come in.
pub struct Rows<'a> {
    clock: Clock,
    sent_ns: u64,
    steps: HashMap<u32, &'a Step>,
    first_read_ns: HashMap<u32, u64>,
    seen: HashMap<u32, Row>,
}

impl<'a> Rows<'a> {
    /// For `steps`, sent at `sent_ns` (`CLOCK_MONOTONIC`) to a driver with this clock.
    pub fn new(steps: &'a [Step], clock: Clock, sent_ns: u64) -> Self {
        Self {
            clock,
            sent_ns,
            steps: steps.iter().map(|step| (step.id, step)).collect(),
            first_read_ns: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    /// Takes a row whose line was read at `read_ns` (`CLOCK_MONOTONIC`).
    pub fn take(&mut self, row: Row, read_ns: u64) -> Result<(), RowError> {
        let id = row.id;
        let step = *self.steps.get(&id).ok_or(RowError::UnknownId { id })?;
        if !step.action.is_call() {
            return Err(RowError::NotACall {
                id,
                step: step.action.name(),
            });
        }
        if self.seen.contains_key(&id) {
            return Err(RowError::Twice { id });
        }
        check_order(&row)?;
        check_amounts(&row, &step.action)?;
        if self.clock == Clock::Monotonic {
            // A group's rows follow its last call, so no call of it may end after the
            // first of them was read.
            let group_read_ns = *self.first_read_ns.entry(step.group).or_insert(read_ns);
            if let Some(by_ns) = excess(self.sent_ns, row.start_ns) {
                return Err(RowError::BeforeRun { id, by_ns });
            }
            if let Some(by_ns) = excess(row.end_ns, group_read_ns) {
                return Err(RowError::AfterRead { id, by_ns });
            }
        }
        self.seen.insert(id, row);
        Ok(())
    }

    /// `done` came: every call's row, in the order of the steps.
    pub fn finish(mut self, steps: &[Step]) -> Result<Vec<Row>, RowError> {
        let calls = || steps.iter().filter(|step| step.action.is_call());
        if let Some(step) = calls().find(|step| !self.seen.contains_key(&step.id)) {
            let missing = calls().count() - self.seen.len();
            return Err(RowError::Missing {
                id: step.id,
                missing,
            });
        }
        Ok(calls()
            .filter_map(|step| self.seen.remove(&step.id))
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
    let received = ("received", row.received_ns);
    in_order(row.id, &[start, created, encoded, sent, end])?;
    in_order(row.id, &[first, received, end])?;
    in_order(row.id, &[start, dns, connect, tls, end])?;
    // Early data goes before the handshake is done, and may be answered before it.
    let up = if row.early_data { connect } else { tls };
    in_order(row.id, &[start, up, sent, end])?;
    in_order(row.id, &[start, up, first, end])
}

fn in_order(id: u32, phases: &[(&'static str, Option<u64>)]) -> Result<(), RowError> {
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

fn check_amounts(row: &Row, action: &Action) -> Result<(), RowError> {
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
        .is_some_and(|text| text.len() != 64 || !text.bytes().all(hex))
    {
        return Err(RowError::Digest { id });
    }
    if row.error.is_some() {
        return Ok(());
    }
    if row.attempts == 0 {
        return Err(RowError::Attempts { id, attempts: 0 });
    }
    // A redirect is an answer, and no file.
    let is_redirect = row
        .status
        .is_some_and(|status| (300..400).contains(&status));
    if let Action::Get { bytes } = *action
        && row.response_bytes != bytes
        && !is_redirect
    {
        return Err(RowError::WrongLength {
            id,
            asked: bytes,
            got: row.response_bytes,
        });
    }
    let exchanged = matches!(action, Action::Exchange { .. });
    let needs = [
        (row.connection > 0, "a connection"),
        (row.first_byte_ns.is_some(), "a first byte"),
        (row.status.is_some(), "a status"),
        (row.digest.is_some(), "a digest"),
        (row.protocol.is_some(), "a protocol"),
        (
            !exchanged || row.encoded_ns.is_some(),
            "a moment of encoding",
        ),
        (
            !exchanged || row.received_ns.is_some(),
            "a moment of receiving",
        ),
    ];
    match needs.iter().find(|(there, _)| !there) {
        Some(&(_, what)) => Err(RowError::Without { id, what }),
        None => Ok(()),
    }
}

fn excess(value: u64, bound: u64) -> Option<u64> {
    (value > bound).then(|| value - bound)
}

#[cfg(test)]
mod tests;
