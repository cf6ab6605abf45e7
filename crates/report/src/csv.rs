//! Calls as CSV (RFC 4180): one row a call of every attempt of every cell.

use record::{Call, CallResult, Cell, Outcome, RunData, Standing};

/// Every call of a run, in the plan's order. Absent times are empty.
pub fn csv(data: &RunData) -> String {
    let mut out = HEADER.join(",") + "\r\n";
    for (cell, standing) in data.standings() {
        for call in &cell.calls {
            let row = row(data, cell, standing, call).map(|field| quote(&field));
            out += &row.join(",");
            out += "\r\n";
        }
    }
    out
}

const HEADER: [&str; 35] = [
    "study",
    "seed",
    "network",
    "block",
    "arm",
    "cell",
    "sitting",
    "attempt",
    "standing",
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

fn row(data: &RunData, cell: &Cell, standing: Standing, call: &Call) -> [String; HEADER.len()] {
    let run = data.run();
    let optional = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
    let exchange = call.exchange.clone().unwrap_or_default();
    let (result, error) = match &call.result {
        CallResult::Ok => ("ok", String::new()),
        CallResult::TimedOut => ("timed_out", String::new()),
        CallResult::Error { kind, detail } => ("error", format!("{kind}: {detail}")),
    };
    [
        run.study.clone(),
        run.seed.to_string(),
        cell.network.clone(),
        cell.block.to_string(),
        cell.arm.clone(),
        cell.id.clone(),
        cell.sitting.to_string(),
        cell.attempt.to_string(),
        standing_word(standing).into(),
        outcome_word(&cell.outcome).into(),
        call.id.to_string(),
        call.group.clone(),
        call.connection.to_string(),
        call.first.to_string(),
        snake(&call.state),
        snake(&call.proof),
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
        result.into(),
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

/// The word for a standing in files.
pub(crate) fn standing_word(standing: Standing) -> &'static str {
    match standing {
        Standing::Last => "last",
        Standing::RunAgain => "run_again",
        Standing::Superseded => "superseded",
    }
}

/// The word for an outcome in files.
pub(crate) fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Clean => "clean",
        Outcome::Disturbed { .. } => "disturbed",
        Outcome::Failed { .. } => "failed",
        Outcome::Unsupported { .. } => "unsupported",
    }
}

/// The word a unit variant has in the records.
fn snake(variant: &impl serde::Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn quote(field: &str) -> String {
    match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}
