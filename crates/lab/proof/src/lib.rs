//! The two checks of a measured cell: the proof of what its driver claims, and the [`audit`] of interference from
//! outside. Both are pure.
//!
//! # The life of a row
//!
//! 1. A driver writes one [`Row`] for each call: its result and times, and the connection it used. Until it is
//!    proven, a row is a claim. The [`Claim`] adds the circumstances: the plan's steps, the arm, and what the link
//!    can carry. Each row is taken to its [`PlannedStep`], which has all that the plan says of its call.
//! 2. [`Traffic`] is what crossed the link, from the packets of the tap.
//! 3. [`prove`] compares each row with its step, the server's log, the plan's order and the packets. The log decides. A row
//!    becomes a [`Call`] only when nothing in it contradicts the log, and the call is labelled with what the server
//!    saw. A single contradiction fails the whole cell with its exact reason.
//! 4. Where the server is the user's own and has no log for us, [`prove_by_packets`] lets the packets decide what
//!    they can.
//! 5. [`audit::objections`] checks the window of the cell against bounds that are the same for every arm. An
//!    objection makes the cell noisy.

#![forbid(unsafe_code)]

mod answer;
pub mod audit;
mod bytes;
mod claim;
mod clock;
mod connection;
mod first_packets;
mod log;
mod origin;
mod packets;
mod request;
mod resumed;
mod timing;
mod traffic;

use std::collections::BTreeSet;

use driver::protocol::Row;
use record::server_log::ServerEvent;
use record::{Call, CallResult, ConnectionSettings, Exchange, Proof, State};
use study::plan::PlannedStep;

use connection::seen_protocol;
use request::PlannedRequests;

pub use claim::Claim;
pub use log::Log;
pub use origin::{CONNECTIONS_PER_SERVER, Destination};
pub use packets::{Accepted, prove_by_packets};
pub use timing::highest_bps;
pub use traffic::Traffic;

/// Proven calls, and the settings of each connection with the client's port.
pub type Proven = (Vec<Call>, Vec<(ConnectionSettings, u16)>);

/// Returns the proven calls, or the first contradiction.
pub fn prove(claim: &Claim<'_>, rows: &[Row], log: &[ServerEvent]) -> Result<Proven, String> {
    let log = Log::new(log)?;
    check_orphans(claim, rows, |row| log.opened_meanwhile(claim, rows, row))?;
    check_left_out(claim, rows, &log)?;
    let requests = PlannedRequests::of(claim.protocol);
    let calls = claim.calls(rows, |row, step, call| {
        log.prove(claim, rows, &requests, row, step, call)
    })?;
    timing::check_order(claim, rows)?;
    clock::check_rate(claim.clock, rows, &log)?;
    Ok((calls, log.settings()))
}

/// Checks that the server saw no request of a call that has no row because it was too late to start it.
fn check_left_out(claim: &Claim<'_>, rows: &[Row], log: &Log<'_>) -> Result<(), String> {
    let reported: BTreeSet<u32> = rows.iter().map(|row| row.id).collect();
    let limited = claim.steps.iter().filter(|(_, s)| s.step.until.is_some());
    let mut left_out = limited.filter(|(id, _)| !reported.contains(id));
    match left_out.find(|(id, _)| log.requests.contains_key(id)) {
        Some((id, _)) => Err(format!(
            "call {id}: the driver claims not to have started it, the server saw its request"
        )),
        None => Ok(()),
    }
}

impl Log<'_> {
    /// Checks a row against its step and what the server saw, and labels its call with the latter.
    fn prove(
        &self,
        claim: &Claim<'_>,
        rows: &[Row],
        requests: &PlannedRequests,
        row: &Row,
        step: &PlannedStep<'_>,
        call: Call,
    ) -> Result<Call, String> {
        let hits = self.requests.get(&row.id).map_or(&[][..], Vec::as_slice);
        self.check_requests(claim, row, hits)?;
        let hit = self.answered(row);
        if let Some(hit) = hit {
            origin::check(claim, step, hit)?;
            let connection = self.check_connection(claim, row, rows, hit)?;
            if timing::must_open(claim, step, row) {
                let previous_ns = self.previous_on_port(connection);
                timing::check_handshake(row, connection)?;
                claim.traffic.check_opening(row, connection, previous_ns)?;
            }
            requests.check(row, step, hit)?;
        }
        if call.result == CallResult::Ok {
            self.check_answer(claim, step, row, hits)?;
        }
        // `check_connection` has verified the state where the server saw the request.
        let Some(hit) = hit else {
            return Ok(call);
        };
        let seen = self.connections.get(&hit.connection);
        let resumed = row.resumed.is_none() && seen.is_some_and(|connection| connection.resumed);
        let is_new = matches!(call.state, State::ColdProcess | State::ColdConnection);
        Ok(Call {
            state: if resumed && is_new {
                State::Resumed
            } else {
                call.state
            },
            proof: Proof::Server,
            protocol: seen_protocol(hit).to_owned(),
            server_hits: hits.len() as u32,
            server_ns: Some(hit.end_ns.saturating_sub(hit.start_ns)),
            verify_ns: hit.verify_ns,
            exchange: call.exchange.map(|exchange| Exchange {
                server_decode_ns: hit.decode_ns,
                server_encode_ns: hit.encode_ns,
                ..exchange
            }),
            ..call
        })
    }
}

/// Checks that every reused connection was opened by a call, or while another one was under way.
fn check_orphans(
    claim: &Claim<'_>,
    rows: &[Row],
    opened_meanwhile: impl Fn(&Row) -> bool,
) -> Result<(), String> {
    let mut orphans = orphans(rows).filter(|row| !opened_meanwhile(row));
    match orphans.next().filter(|_| !claim.decides()) {
        Some(row) => Err(format!(
            "call {}: the driver claims a reused connection, but no call that opened it",
            row.id
        )),
        None => Ok(()),
    }
}

/// Returns the rows that claim a reused connection that no row claims to have opened.
fn orphans(rows: &[Row]) -> impl Iterator<Item = &Row> {
    let openers = rows.iter().filter(|row| !row.reused);
    let opened: BTreeSet<u32> = openers.map(|row| row.connection).collect();
    let reusing = rows.iter().filter(|row| row.reused);
    reusing.filter(move |row| !opened.contains(&row.connection))
}

#[cfg(test)]
mod tests;
