//! The critical path of one exchange in captures, in every format but JSON, which has it in the document.

use capture::{ConnectionFacts, End, Exchange, Explained};
use csv::{Terminator, WriterBuilder};
use record::{CallPath, PathPacket};

use super::{ms, note};
use crate::formats::markdown::escaped;
use crate::formats::path::steps;
use crate::words::text::{finished, wrapped};

/// The columns of [`path_csv`].
const COLUMNS: [&str; 10] = [
    "client",
    "server",
    "exchange",
    "from_ns",
    "to_ns",
    "part",
    "direction",
    "payload_bytes",
    "client_packet",
    "server_packet",
];

/// Returns the path of the exchange whose path was kept, for a terminal of 80 columns; `None` if there is none.
pub fn path(explained: &Explained) -> Option<String> {
    let (connection, exchange, path) = kept(explained)?;
    let text = format!(
        "{}\n{}\n{}",
        wrapped(&heading(connection, exchange), "", 80),
        steps_of(explained, exchange, path),
        wrapped(&about(explained, connection), "", 80)
    );
    Some(finished(&text, false))
}

/// Returns the same as Markdown.
pub fn path_markdown(explained: &Explained) -> Option<String> {
    let (connection, exchange, path) = kept(explained)?;
    Some(format!(
        "#### {}\n\n```text\n{}```\n\n{}\n",
        escaped(&heading(connection, exchange)),
        steps_of(explained, exchange, path),
        escaped(&about(explained, connection))
    ))
}

/// Returns the same as CSV (RFC 4180): one row per step, with times from the exchange's start. Steps in the middle of a
/// long path are left out.
pub fn path_csv(explained: &Explained) -> Option<String> {
    let (connection, exchange, path) = kept(explained)?;
    let mut out = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    let mut write = |row: [&str; 10]| {
        let cells = row.map(neutral::cell);
        out.write_record(cells).expect("memory can be written to");
    };
    write(COLUMNS);
    for step in &path.steps {
        let packet = step.packet.as_ref();
        let numbers = packet.and_then(|packet| explained.packets.get(packet.number as usize));
        let number = |end: usize| {
            let number = numbers.and_then(|numbers| numbers[end]);
            number.map_or(String::new(), |number| number.to_string())
        };
        let direction = packet.map_or("", |packet| if packet.up { "up" } else { "down" });
        let bytes = packet.map_or(String::new(), |packet| packet.payload_bytes.to_string());
        write([
            &connection.client,
            &connection.server,
            &exchange.number.to_string(),
            &step.from_ns.to_string(),
            &step.to_ns.to_string(),
            &step.part,
            direction,
            &bytes,
            &number(0),
            &number(1),
        ]);
    }
    let bytes = out.into_inner().expect("memory can be written to");
    Some(String::from_utf8(bytes).expect("every field is UTF-8"))
}

/// Returns the exchange whose path was kept, with its connection.
fn kept(explained: &Explained) -> Option<(&ConnectionFacts, &Exchange, &CallPath)> {
    let mut exchanges = explained.connections.iter().flat_map(|connection| {
        let exchanges = connection.exchanges.iter();
        exchanges.map(move |exchange| (connection, exchange))
    });
    exchanges.find_map(|(of, exchange)| Some((of, exchange, exchange.path.as_ref()?)))
}

fn heading(connection: &ConnectionFacts, exchange: &Exchange) -> String {
    format!(
        "Exchange {} of {} with {}: {} ms",
        exchange.number,
        connection.client,
        connection.server,
        ms(exchange.duration_ns)
    )
}

fn steps_of(explained: &Explained, exchange: &Exchange, path: &CallPath) -> String {
    let name = |packet: &PathPacket| numbers(explained, packet);
    steps(path, exchange.duration_ns, name)
}

fn about(explained: &Explained, connection: &ConnectionFacts) -> String {
    let packets = match connection.captured_at {
        End::Both => {
            "In brackets: the packet's numbers in the client's capture and in the server's."
        }
        _ => "In brackets: the packet's number in the capture.",
    };
    format!("{packets} {}", note(explained))
}

/// Returns a packet's numbers in the captures.
fn numbers(explained: &Explained, packet: &PathPacket) -> Option<String> {
    let numbers = explained.packets.get(packet.number as usize)?;
    let words = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    Some(match (explained.captures.len(), *numbers) {
        (2, [client, server]) => format!("{}/{}", words(client), words(server)),
        (_, [client, server]) => words(client.or(server)),
    })
}
