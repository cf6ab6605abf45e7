//! The claim of a driver, and its circumstances.

use std::collections::BTreeMap;

use driver::protocol::{Clock, Discovery, ErrorKind, Protocol, Row, Step};
use record::{Call, CallResult, Exchange, Proof, State};
use study::plan::{Workload, encoded_message};

use super::{Destination, Traffic};

/// The circumstances under which rows and log were made.
#[derive(Debug)]
pub struct Claim<'a> {
    /// The steps that the driver was sent.
    pub workload: &'a Workload,
    /// The protocol of the arm.
    pub protocol: Protocol,
    /// The codec of exchanges.
    pub codec: &'a str,
    /// How every request proves who sends it, by its name in the server's log.
    pub auth: Option<&'a str>,
    /// How HTTP/3 is discovered, if it is not forced; until then HTTP/2 is right.
    pub discovery: Option<Discovery>,
    /// Where the requests of each origin must arrive, by the name in steps; empty if there is only one.
    pub destinations: BTreeMap<Option<String>, Destination>,
    /// The clock of the rows.
    pub clock: Clock,
    /// Whether the driver was asked to encode and decode the bodies of the study's own requests.
    pub codes_own: bool,
    /// CLOCK_MONOTONIC when the driver was sent its steps.
    pub run_ns: u64,
    /// The shortest round trip of the empty link; no response can be faster.
    pub least_rtt_ns: u64,
    /// The rate that no download can exceed, if there is one.
    pub down_bps: Option<u64>,
    /// The rate that no upload can exceed, if there is one.
    pub up_bps: Option<u64>,
    /// Whether the driver made requests to another origin before its steps.
    pub warmed_up: bool,
    /// What crossed the link.
    pub traffic: Traffic,
}

impl Claim<'_> {
    /// Returns CLOCK_MONOTONIC when the steps were sent, or the first start by a clock of the driver's own.
    pub(super) fn origin_ns(&self, rows: &[Row]) -> u64 {
        match self.clock {
            Clock::Monotonic => self.run_ns,
            Clock::Own => rows.iter().map(|r| r.start_ns).min().unwrap_or(0),
        }
    }

    /// Reports whether the client opens connections beforehand, by no call.
    pub(super) fn decides(&self) -> bool {
        self.protocol == Protocol::Auto
    }

    fn group(&self, row: &Row) -> Result<&str, String> {
        let id = row.id;
        let group = self.workload.group_name(id);
        group.ok_or_else(|| format!("row for id {id}, which is not a call of this workload"))
    }

    pub(super) fn step(&self, id: u32) -> Option<&Step> {
        self.workload.steps.get((id as usize).checked_sub(1)?)
    }

    /// Reports whether the call with this id sends a message in the arm's codec.
    pub(super) fn encodes(&self, id: u32) -> bool {
        let step = self.step(id);
        step.is_some_and(|step| encoded_message(step).is_some())
    }

    /// Reports whether the call with this id encodes or decodes a body of the study's own.
    fn codes(&self, id: u32) -> bool {
        let own = |step: &Step| self.workload.own.of(&step.action);
        let sent = self.step(id).and_then(own).filter(|_| self.codes_own);
        sent.is_some_and(|sent| sent.coded().next().is_some())
    }
}

/// Returns a call as its row claims it; `last` is the one before it.
pub(super) fn claimed(
    claim: &Claim<'_>,
    row: &Row,
    last: Option<&Call>,
    origin_ns: u64,
) -> Result<Call, String> {
    let codes = claim.codes(row.id);
    if codes && row.error.is_none() && (row.encoded_ns.is_none() || row.received_ns.is_none()) {
        return Err(format!(
            "call {}: the driver reports no time of encoding or receiving",
            row.id
        ));
    }
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
        parts: BTreeMap::new(),
        exchange: (codes || claim.encodes(row.id)).then(|| Exchange {
            created_ns: row.created_ns.map(since),
            encoded_ns: row.encoded_ns.map(since),
            received_ns: row.received_ns.map(since),
            server_decode_ns: None,
            server_encode_ns: None,
        }),
    })
}
