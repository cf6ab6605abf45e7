//! Calls as CSV (RFC 4180): one row per call of every attempt of every cell.

use ::csv::{Terminator, WriterBuilder};
use record::{Call, CallResult, Cell, CellStatus, RunData};

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
pub fn csv(data: &RunData) -> String {
    let mut out = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    let mut write = |row: &[String]| out.write_record(row).expect("all rows are of one length");
    write(&COLUMNS.map(str::to_owned));
    for (cell, status) in data.with_status() {
        for call in &cell.calls {
            write(&row(data, cell, status, call).map(|text| neutral::cell(&text)));
        }
    }
    let bytes = out.into_inner().expect("memory can be written to");
    String::from_utf8(bytes).expect("every field is UTF-8")
}

fn row(data: &RunData, cell: &Cell, status: CellStatus, call: &Call) -> [String; COLUMNS.len()] {
    let run = data.run();
    let optional = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
    let exchange = call.exchange.clone().unwrap_or_default();
    let error = match &call.result {
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
        call.id.to_string(),
        call.group.clone(),
        call.connection.to_string(),
        call.first.to_string(),
        call.state.name().into(),
        call.proof.name().into(),
        call.protocol.clone(),
        call.start_ns.to_string(),
        optional(call.dns_ns),
        optional(call.connect_ns),
        optional(call.tls_ns),
        optional(call.request_sent_ns),
        optional(call.first_byte_ns),
        call.end_ns.to_string(),
        call.request_bytes.to_string(),
        call.response_bytes.to_string(),
        call.result.name().into(),
        error,
        call.server_hits.to_string(),
        optional(call.server_ns),
        optional(exchange.created_ns),
        optional(exchange.encoded_ns),
        optional(exchange.received_ns),
        optional(exchange.server_decode_ns),
        optional(exchange.server_encode_ns),
    ]
}
