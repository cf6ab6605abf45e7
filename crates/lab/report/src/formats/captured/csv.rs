//! The parts of exchanges in captures as CSV (RFC 4180): one row per part.

use capture::Explained;
use csv::{Terminator, WriterBuilder};

/// The columns of [`csv()`].
const COLUMNS: [&str; 10] = [
    "client",
    "server",
    "exchange",
    "start_ns",
    "duration_ns",
    "request_bytes",
    "response_bytes",
    "part",
    "ns",
    "round_trips",
];

/// Returns every part of every exchange. A part that is no round trip has an empty field.
pub fn csv(explained: &Explained) -> String {
    let mut out = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    let mut write = |row: [&str; 10]| {
        let cells = row.map(neutral::cell);
        out.write_record(cells).expect("memory can be written to");
    };
    write(COLUMNS);
    for connection in &explained.connections {
        for exchange in &connection.exchanges {
            for time in &exchange.parts {
                let trips = time.round_trips;
                write([
                    &connection.client,
                    &connection.server,
                    &exchange.number.to_string(),
                    &exchange.start_ns.to_string(),
                    &exchange.duration_ns.to_string(),
                    &exchange.request_bytes.to_string(),
                    &exchange.response_bytes.to_string(),
                    time.part.name(),
                    &time.ns.to_string(),
                    &trips.map_or(String::new(), |n| format!("{n:.3}")),
                ]);
            }
        }
    }
    let bytes = out.into_inner().expect("memory can be written to");
    String::from_utf8(bytes).expect("every field is UTF-8")
}
