//! The claim of a driver, and its circumstances.

use std::collections::BTreeMap;

use driver::protocol::{Clock, Discovery, ErrorKind, Protocol, Row};
use record::{Call, CallResult, Exchange, Proof, State};
use study::plan::{PlannedStep, PlannedSteps};

use super::{Destination, Traffic};

/// The circumstances under which rows and log were made.
#[derive(Debug)]
pub struct Claim<'a> {
    /// The step of every call that the driver was sent.
    pub steps: PlannedSteps<'a>,
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

impl<'a> Claim<'a> {
    /// Takes each row to its planned step and to the call that it claims, and returns the calls as `prove` leaves them.
    pub(super) fn calls(
        &self,
        rows: &[Row],
        prove: impl Fn(&Row, &PlannedStep<'a>, Call) -> Result<Call, String>,
    ) -> Result<Vec<Call>, String> {
        let origin_ns = self.origin_ns(rows);
        let mut process = None;
        let calls = rows.iter().map(|row| {
            let step = self.step(row)?;
            let is_first_of_process = process.replace(step.process) != Some(step.process);
            let call = claimed(self, step, row, is_first_of_process, origin_ns)?;
            prove(row, step, call)
        });
        calls.collect()
    }

    /// Returns CLOCK_MONOTONIC when the steps were sent, or the first start by a clock of the driver's own.
    fn origin_ns(&self, rows: &[Row]) -> u64 {
        match self.clock {
            Clock::Monotonic => self.run_ns,
            Clock::Own => rows.iter().map(|r| r.start_ns).min().unwrap_or(0),
        }
    }

    /// Reports whether the client opens connections beforehand, by no call.
    pub(super) fn decides(&self) -> bool {
        self.protocol == Protocol::Auto
    }

    /// Returns the step of a row, or an error if the plan has no such call.
    fn step(&self, row: &Row) -> Result<&PlannedStep<'a>, String> {
        let id = row.id;
        let step = self.steps.get(&id);
        step.ok_or_else(|| format!("row for id {id}, which is not a call of this workload"))
    }

    /// Reports whether a call encodes or decodes a body of the study's own.
    fn codes(&self, step: &PlannedStep<'_>) -> bool {
        let own = step.own.filter(|_| self.codes_own);
        own.is_some_and(|own| own.coded().next().is_some())
    }
}

/// Returns a call as its row claims it. `is_first_of_process` is true for the first row of each process of the driver.
fn claimed(
    claim: &Claim<'_>,
    step: &PlannedStep<'_>,
    row: &Row,
    is_first_of_process: bool,
    origin_ns: u64,
) -> Result<Call, String> {
    let codes = claim.codes(step);
    if codes && row.error.is_none() && (row.encoded_ns.is_none() || row.received_ns.is_none()) {
        return Err(format!(
            "call {}: the driver reports no time of encoding or receiving",
            row.id
        ));
    }
    let first = !row.reused;
    let state = match (first, row.early_data, row.resumed == Some(true)) {
        (false, ..) => State::Warm,
        (true, true, _) => State::EarlyData,
        (true, false, true) => State::Resumed,
        (true, false, false) if is_first_of_process && !claim.warmed_up => State::ColdProcess,
        (true, false, false) => State::ColdConnection,
    };
    let since = |t: u64| t.saturating_sub(row.start_ns);
    Ok(Call {
        id: row.id,
        group: step.group.name.clone(),
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
        path: None,
        exchange: (codes || step.encodes()).then(|| Exchange {
            created_ns: row.created_ns.map(since),
            encoded_ns: row.encoded_ns.map(since),
            received_ns: row.received_ns.map(since),
            server_decode_ns: None,
            server_encode_ns: None,
        }),
    })
}
