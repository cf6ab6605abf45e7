//! Checks what the driver claims against what the server saw.
//!
//! The server's log decides. A row becomes a [`Call`] only when nothing in it contradicts the log,
//! and the call is labelled with what the server saw. A single contradiction fails the whole cell
//! with its exact reason. Where a server is the user's own and has no log for us, the packets decide what
//! they can ([`prove_by_packets`]).

mod clock;
mod log;
mod origin;
mod packets;
mod request;
mod resumed;
mod timing;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};

use driver::protocol::{Clock, Discovery, ErrorKind, Protocol, Row, Step};
use record::server_log::{ConnectionEvent, RequestEvent, ServerEvent};
use record::{Call, CallResult, ConnectionSettings, Exchange, Proof, State};

use crate::plan::workload::{Workload, encoded_message};
use crate::study::AuthScheme;
use log::Log;
use request::PlannedRequests;
use timing::Openers;

pub(crate) use origin::{CONNECTIONS_PER_SERVER, Destination};
pub(crate) use packets::prove_by_packets;
pub(crate) use timing::highest_bps;
pub(crate) use traffic::Traffic;

/// The circumstances under which rows and log were made.
pub(crate) struct Claim<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) protocol: Protocol,
    /// The codec of exchanges.
    pub(crate) codec: &'a str,
    /// How every request proves who sends it, by its name in the server's log.
    pub(crate) auth: Option<&'a str>,
    /// How HTTP/3 is discovered, if it is not forced; until then HTTP/2 is right.
    pub(crate) discovery: Option<Discovery>,
    /// Where the requests of each origin must arrive, by the name in steps; empty if there is only one.
    pub(crate) destinations: BTreeMap<Option<String>, Destination>,
    pub(crate) clock: Clock,
    /// CLOCK_MONOTONIC when the driver was sent its steps.
    pub(crate) run_ns: u64,
    /// Round trip of the empty link; no response can be faster.
    pub(crate) rtt_ns: u64,
    /// The rate that no download can exceed, if there is one.
    pub(crate) down_bps: Option<u64>,
    /// The rate that no upload can exceed, if there is one.
    pub(crate) up_bps: Option<u64>,
    pub(crate) warmed_up: bool,
    /// What crossed the link.
    pub(crate) traffic: Traffic,
}

impl Claim<'_> {
    /// CLOCK_MONOTONIC when the steps were sent, or the first start by a clock of the driver's own.
    fn origin_ns(&self, rows: &[Row]) -> u64 {
        match self.clock {
            Clock::Monotonic => self.run_ns,
            Clock::Own => rows.iter().map(|r| r.start_ns).min().unwrap_or(0),
        }
    }

    /// Reports whether the client opens connections beforehand, by no call.
    fn decides(&self) -> bool {
        self.protocol == Protocol::Auto
    }

    fn group(&self, row: &Row) -> Result<&str, String> {
        let id = row.id;
        let group = self.workload.group_name(id);
        group.ok_or_else(|| format!("row for id {id}, which is not a call of this workload"))
    }

    fn step(&self, id: u32) -> Option<&Step> {
        self.workload.steps.get((id as usize).checked_sub(1)?)
    }

    /// Reports whether the call with this id sends a message in the arm's codec.
    fn encodes(&self, id: u32) -> bool {
        let step = self.step(id);
        step.is_some_and(|step| encoded_message(step).is_some())
    }
}

/// Proven calls, and the settings of each connection with the client's port.
pub(crate) type Proven = (Vec<Call>, Vec<(ConnectionSettings, u16)>);

/// Returns the proven calls, or the first contradiction.
pub(crate) fn prove(
    claim: &Claim<'_>,
    rows: &[Row],
    log: &[ServerEvent],
) -> Result<Proven, String> {
    let log = Log::new(log)?;
    let origin_ns = claim.origin_ns(rows);
    check_orphans(claim, rows)?;
    check_left_out(claim, rows, &log)?;
    let checks = Checks {
        openers: Openers::of(claim),
        requests: PlannedRequests::of(claim),
    };
    let mut calls = Vec::with_capacity(rows.len());
    for row in rows {
        let call = claimed(claim, row, calls.last(), origin_ns)?;
        calls.push(log.call(claim, row, call, &checks)?);
    }
    timing::check_order(claim, rows)?;
    clock::check_rate(claim.clock, rows, &log)?;
    Ok((calls, log.settings()))
}

/// Checks that the server saw no request of a call that has no row because it was too late to start it.
fn check_left_out(claim: &Claim<'_>, rows: &[Row], log: &Log<'_>) -> Result<(), String> {
    let reported: BTreeSet<u32> = rows.iter().map(|row| row.id).collect();
    let limited = claim.workload.steps.iter().filter(|s| s.until.is_some());
    let mut left_out = limited.filter(|step| !reported.contains(&step.id));
    match left_out.find(|step| log.requests.contains_key(&step.id)) {
        Some(step) => Err(format!(
            "call {}: the driver claims not to have started it, the server saw its request",
            step.id
        )),
        None => Ok(()),
    }
}

/// Returns a call as its row claims it; `last` is the one before it.
fn claimed(
    claim: &Claim<'_>,
    row: &Row,
    last: Option<&Call>,
    origin_ns: u64,
) -> Result<Call, String> {
    let process = |id| claim.workload.process_of(id);
    let earliest = last.is_none_or(|last| process(last.id) != process(row.id));
    let first = !row.reused;
    let state = match (first, row.early_data, row.resumed) {
        (false, ..) => State::Warm,
        (true, true, _) => State::EarlyData,
        (true, false, true) => State::Resumed,
        (true, false, false) if earliest && !claim.warmed_up => State::ColdProcess,
        (true, false, false) => State::ColdConnection,
    };
    let since = |t: u64| t.saturating_sub(row.start_ns);
    Ok(Call {
        id: row.id,
        group: claim.group(row)?.to_owned(),
        connection: row.connection,
        first,
        state,
        proof: Proof::Client,
        protocol: row.protocol.unwrap_or(claim.protocol).name().to_owned(),
        start_ns: row.start_ns.saturating_sub(origin_ns),
        dns_ns: row.dns_ns.map(since),
        connect_ns: row.connect_ns.map(since),
        tls_ns: row.tls_ns.map(since),
        request_sent_ns: row.request_sent_ns.map(since),
        first_byte_ns: row.first_byte_ns.map(since),
        end_ns: since(row.end_ns),
        request_bytes: row.request_bytes,
        response_bytes: row.response_bytes,
        result: match &row.error {
            None => CallResult::Ok,
            Some(e) if e.kind == ErrorKind::Timeout => CallResult::TimedOut,
            Some(e) => CallResult::Error {
                kind: e.kind.name().to_owned(),
                detail: e.detail.clone(),
            },
        },
        server_hits: 0,
        server_ns: None,
        signed_ns: row.signed_ns.map(since),
        verify_ns: None,
        allocated_bytes: row.allocated_bytes,
        allocations: row.allocations,
        exchange: claim.encodes(row.id).then(|| Exchange {
            created_ns: row.created_ns.map(since),
            encoded_ns: row.encoded_ns.map(since),
            received_ns: row.received_ns.map(since),
            server_decode_ns: None,
            server_encode_ns: None,
        }),
    })
}

/// The checks that depend on the plan.
struct Checks<'a> {
    openers: Openers,
    requests: PlannedRequests<'a>,
}

impl<'a> Log<'a> {
    fn call(
        &self,
        claim: &Claim<'_>,
        row: &Row,
        call: Call,
        checks: &Checks<'_>,
    ) -> Result<Call, String> {
        let hits = self.requests.get(&row.id).map_or(&[][..], Vec::as_slice);
        // A silent retry shows as two requests; the last one was answered.
        let hit = hits.last().copied();
        if let Some(hit) = hit {
            origin::check(claim, row, hit)?;
            let connection = self.check_connection(claim, row, hit)?;
            if checks.openers.includes(row) {
                let previous_ns = self.previous_on_port(connection);
                timing::check_handshake(row, connection)?;
                claim.traffic.check_opening(row, connection, previous_ns)?;
            }
            checks.requests.check(row, hit)?;
        }
        if call.result == CallResult::Ok {
            self.check_answer(claim, row, hits)?;
        }
        // `check_connection` has verified the state where the server saw the request.
        let Some(hit) = hit else {
            return Ok(call);
        };
        Ok(Call {
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

    /// Returns when the last handshake before this one from the same port had completed, 0 for none.
    fn previous_on_port(&self, connection: &ConnectionEvent) -> u64 {
        let earlier = self.connections.values().filter(|other| {
            other.peer_port == connection.peer_port
                && other.transport == connection.transport
                && other.at_ns < connection.at_ns
        });
        earlier.map(|other| other.at_ns).max().unwrap_or(0)
    }

    fn check_connection(
        &self,
        claim: &Claim<'_>,
        row: &Row,
        hit: &RequestEvent,
    ) -> Result<&'a ConnectionEvent, String> {
        let id = row.id;
        let asked = claim.protocol.name();
        let saw = seen_protocol(hit);
        if let Some(claimed) = row.protocol.map(Protocol::name)
            && claimed != saw
        {
            return Err(format!(
                "call {id}: the driver claims {claimed}, the server saw {saw}"
            ));
        }
        let until_found = claim.discovery.is_some() && saw == Protocol::H2.name();
        let decides = claim.decides();
        if saw != asked && !until_found && !decides {
            return Err(format!(
                "call {id}: the arm asks for {asked}, the server saw {saw}"
            ));
        }
        if row.early_data && !hit.early_data {
            return Err(format!(
                "call {id}: the driver claims accepted early data (0-RTT), the server saw none"
            ));
        }
        let Some(connection) = self.connections.get(&hit.connection) else {
            return Err(format!(
                "call {id}: the server's log has no handshake for its connection {}",
                hit.connection
            ));
        };
        if let Some(port) = row.local_port
            && port != connection.peer_port
        {
            return Err(format!(
                "call {id}: the driver claims local port {port}, the server saw {}",
                connection.peer_port
            ));
        }
        let opened_it = self
            .first
            .get(&hit.connection)
            .is_some_and(|(_, f)| *f == Some(id));
        // Calls that wait for the same handshake may reach the server in any order.
        let after_handshake = claim.clock == Clock::Own || row.start_ns > connection.at_ns;
        // A client that decides may have opened it beforehand.
        if row.reused && opened_it && after_handshake && !decides {
            return Err(format!(
                "call {id}: the driver claims a reused connection, the server saw a new one"
            ));
        }
        if !row.reused && !opened_it && after_handshake && !row.early_data {
            return Err(format!(
                "call {id}: the driver claims a new connection, the server saw it on a used one"
            ));
        }
        if !row.reused && row.resumed != connection.resumed {
            let (claims, was) = (yes(row.resumed), yes(connection.resumed));
            return Err(format!(
                "call {id}: the driver claims resumed: {claims}, the server saw resumed: {was}"
            ));
        }
        Ok(connection)
    }

    /// Checks that a successful call reached the server, that its response is complete and correct, and
    /// that causes precede effects.
    fn check_answer(
        &self,
        claim: &Claim<'_>,
        row: &Row,
        hits: &[&RequestEvent],
    ) -> Result<(), String> {
        let id = row.id;
        let Some(hit) = hits.last().copied() else {
            return Err(format!(
                "call {id}: the driver claims a response, the server saw no request"
            ));
        };
        let began = resumed::beginning(hits);
        match began {
            Some(_) => resumed::check_parts(claim, row, hits)?,
            None => check_whole(row, hit)?,
        }
        check_auth(claim, row, hit)?;
        if claim.encodes(id) {
            check_codec(claim, row, hit)?;
        }
        let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
        let in_parts = began.is_some();
        let began = began.unwrap_or(hit);
        if claim.clock == Clock::Monotonic {
            if began.start_ns < row.start_ns {
                return Err(format!(
                    "call {id}: the server saw the request {} us before the driver's start",
                    (row.start_ns - began.start_ns) / 1000
                ));
            }
            if first_byte_ns < began.start_ns {
                return Err(format!(
                    "call {id}: the driver's first byte is {} us before the server saw the request",
                    (began.start_ns - first_byte_ns) / 1000
                ));
            }
        }
        timing::check_duration(claim, row)?;
        timing::check_end(claim, row, hit)?;
        match self.connections.get(&hit.connection) {
            // Parts come over several connections, and one of them may have been dropped in its middle.
            Some(c) if claim.clock == Clock::Monotonic && !in_parts => {
                claim.traffic.check_end(row, hit, c)
            }
            _ => Ok(()),
        }
    }
}

/// Checks that the driver got what the server sent in one response.
fn check_whole(row: &Row, hit: &RequestEvent) -> Result<(), String> {
    let id = row.id;
    if hit.broken {
        return Err(format!(
            "call {id}: the driver claims a complete response, the server did not finish it"
        ));
    }
    if row.response_bytes != hit.response_bytes {
        return Err(format!(
            "call {id}: the driver claims {} B of body, the server sent {} B",
            row.response_bytes, hit.response_bytes
        ));
    }
    if row.digest.as_deref() != Some(&hit.response_digest) {
        return Err(format!(
            "call {id}: wrong digest: the driver got {}, the server sent {}",
            row.digest.as_deref().unwrap_or("none"),
            hit.response_digest
        ));
    }
    Ok(())
}

/// Checks that every reused connection was opened by a call.
fn check_orphans(claim: &Claim<'_>, rows: &[Row]) -> Result<(), String> {
    match orphan(rows).filter(|_| !claim.decides()) {
        Some(row) => Err(format!(
            "call {}: the driver claims a reused connection, but no call that opened it",
            row.id
        )),
        None => Ok(()),
    }
}

/// Returns a row that claims a reused connection that no row claims to have opened.
fn orphan(rows: &[Row]) -> Option<&Row> {
    let openers = rows.iter().filter(|row| !row.reused);
    let opened: BTreeSet<u32> = openers.map(|row| row.connection).collect();
    let mut reusing = rows.iter().filter(|row| row.reused);
    reusing.find(|row| !opened.contains(&row.connection))
}

/// Checks that the request was authenticated as the arm asks, and signed where the driver says so.
fn check_auth(claim: &Claim<'_>, row: &Row, hit: &RequestEvent) -> Result<(), String> {
    let id = row.id;
    let name = |scheme: Option<&str>| scheme.unwrap_or("no authentication").to_owned();
    let saw = hit.auth.as_deref();
    if saw != claim.auth {
        return Err(format!(
            "call {id}: the arm asks for {}, the server saw {}",
            name(claim.auth),
            name(saw)
        ));
    }
    let signs = claim.auth == Some(AuthScheme::Hmac.name());
    if row.signed_ns.is_some() != signs {
        let claims = if signs { "no time" } else { "a time" };
        return Err(format!(
            "call {id}: the driver reports {claims} of signing, the arm asks for {}",
            name(claim.auth)
        ));
    }
    Ok(())
}

/// Checks that the message was sent in the codec that was asked for.
fn check_codec(claim: &Claim<'_>, row: &Row, hit: &RequestEvent) -> Result<(), String> {
    let id = row.id;
    let Some(codec) = &hit.codec else {
        return Err(format!(
            "call {id}: the driver claims to have sent a message, the server answered {} without \
             decoding one",
            hit.status
        ));
    };
    if !same_on_the_wire(codec, claim.codec) {
        return Err(format!(
            "call {id}: the arm asks for codec {}, the server saw {codec}",
            claim.codec
        ));
    }
    Ok(())
}

/// Returns whether two codecs give the same content type and encoding; the level of a compression
/// does not show.
fn same_on_the_wire(one: &str, other: &str) -> bool {
    let parsed = |name: &str| name.parse::<wire::Codec>().ok();
    match (parsed(one), parsed(other)) {
        (Some(one), Some(other)) => one.same_on_wire(other),
        _ => false,
    }
}

fn seen_protocol(hit: &RequestEvent) -> &str {
    match hit.protocol.as_str() {
        "http/1.1" => "h1",
        other => other,
    }
}

fn yes(b: bool) -> &'static str {
    if b { "yes" } else { "no" }
}

#[cfg(test)]
mod tests;
