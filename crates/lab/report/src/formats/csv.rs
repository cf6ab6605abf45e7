//! Calls as CSV (RFC 4180): one row per call of every attempt of every cell.

use std::io::{self, Write};

use ::csv::{Terminator, WriterBuilder};
use record::{CallResult, CellStatus, CompactCall, CompactCell, CompactRun};

use crate::records::Records;

/// The columns of [`csv()`].
pub const COLUMNS: [&str; 35] = [
    "study",
    "seed",
    "network",
    "block",
    "arm",
    "cell",
    "invocation",
    "attempt",
    "cell_status",
    "outcome",
    "call",
    "group",
    "connection",
    "first",
    "state",
    "proof",
    "protocol",
    "start_ns",
    "dns_ns",
    "connect_ns",
    "tls_ns",
    "request_sent_ns",
    "first_byte_ns",
    "end_ns",
    "request_bytes",
    "response_bytes",
    "result",
    "error",
    "server_hits",
    "server_ns",
    "created_ns",
    "encoded_ns",
    "received_ns",
    "server_decode_ns",
    "server_encode_ns",
];

/// Returns every call of a run, in the plan's order. Absent times are empty fields.
pub fn csv(data: &impl Records) -> String {
    let mut text = Vec::new();
    write_csv(data, &mut text).expect("memory can be written to");
    String::from_utf8(text).expect("every field is UTF-8")
}

/// Writes every call of a run, in the plan's order, without keeping the text. Absent times are empty fields.
pub fn write_csv(data: &impl Records, out: impl Write) -> io::Result<()> {
    let data = &*data.compact();
    let mut out = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    out.write_record(COLUMNS)?;
    for (cell, status) in data.with_status() {
        for call in cell.calls.iter() {
            out.write_record(row(data, cell, status, call).map(|text| neutral::cell(&text)))?;
        }
    }
    out.flush()
}

fn row(
    data: &CompactRun,
    cell: &CompactCell,
    status: CellStatus,
    call: CompactCall<'_>,
) -> [String; COLUMNS.len()] {
    let run = data.run();
    let optional = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
    let exchange = call.exchange().unwrap_or_default();
    let error = match call.result() {
        CallResult::Ok | CallResult::TimedOut => String::new(),
        CallResult::Error { kind, detail } => format!("{kind}: {detail}"),
    };
    [
        run.study.clone(),
        run.seed.to_string(),
        cell.network.clone(),
        cell.block.to_string(),
        cell.arm.clone(),
        cell.id.clone(),
        cell.invocation.to_string(),
        cell.attempt.to_string(),
        status.name().into(),
        cell.outcome.name().into(),
        call.id().to_string(),
        call.group().to_owned(),
        call.connection().to_string(),
        call.first().to_string(),
        call.state().name().into(),
        call.proof().name().into(),
        call.protocol().clone(),
        call.start_ns().to_string(),
        optional(call.dns_ns()),
        optional(call.connect_ns()),
        optional(call.tls_ns()),
        optional(call.request_sent_ns()),
        optional(call.first_byte_ns()),
        call.end_ns().to_string(),
        call.request_bytes().to_string(),
        call.response_bytes().to_string(),
        call.result().name().into(),
        error,
        call.server_hits().to_string(),
        optional(call.server_ns()),
        optional(exchange.created_ns),
        optional(exchange.encoded_ns),
        optional(exchange.received_ns),
        optional(exchange.server_decode_ns),
        optional(exchange.server_encode_ns),
    ]
}
