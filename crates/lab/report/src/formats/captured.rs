//! Where the time in captures made elsewhere went, in every format.

mod csv;
mod markdown;
mod path;

use capture::{ConnectionFacts, End, Exchange, Explained, PartTime};

pub use csv::csv;
pub use markdown::markdown;
pub use path::{path, path_csv, path_markdown};

use crate::words::number::count;
use crate::words::part::part_words;
use crate::words::text::{INDENT, finished, width_of, wrapped};

/// Parts that a row names; the others are one sum.
const LARGEST: usize = 4;
/// Shorter parts are rounded to zero.
const SHOWN_NS: u64 = 50_000;
const HEADER: [&str; 6] = [
    "#",
    "start ms",
    "took ms",
    "B up",
    "B down",
    "largest parts in ms",
];
/// What an exchange is.
const RULES: &str = "An exchange begins with the SYN, or with payload from the client that no earlier response answers, and \
    ends with the server's last payload before the next. Concurrent requests, as over HTTP/2, are one exchange. Of round \
    trips, their number follows.";
const ONE: &str = "One capture shows one end. What happens beyond it, in the network or at the other end, is unexplained where it \
    takes longer than the least round trip.";
const TWO: &str = "Link busy is time in transit beyond the least, so it includes jitter.";
const LIMITS: &str = "Experimental: docs/reference/parts.md lists where a wrong cause is named.";

/// Returns the connections and their exchanges for a terminal that is `width` characters wide.
pub fn human(explained: &Explained, width: usize) -> String {
    let mut out = wrapped(&heading(explained), "", width);
    for connection in &explained.connections {
        out += "\n";
        out += &wrapped(&about(connection), "", width);
        for remark in remarks(connection) {
            out += &wrapped(&remark, INDENT, width);
        }
        out += &table(connection);
    }
    out += "\n";
    if let Some(left_out) = left_out(explained) {
        out += &wrapped(&left_out, "", width);
    }
    out += &wrapped(&note(explained), "", width);
    finished(&out, false)
}

/// Returns the document as JSON, as specified by `docs/why-pcap.schema.json`.
pub fn json(explained: &Explained) -> String {
    let text = serde_json::to_string_pretty(explained);
    text.expect("the document contains only strings, finite numbers and lists") + "\n"
}

/// Returns the JSON Schema of [`json`], as in `docs/why-pcap.schema.json`.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Explained).to_value();
    // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
    schema.sort_all_objects();
    schema
}

fn heading(explained: &Explained) -> String {
    let files = explained.captures.iter();
    let files =
        files.map(|capture| format!("{}, {}", capture.file, count(capture.packets, "packet")));
    let files: Vec<String> = files.collect();
    match (&files[..], explained.clock) {
        ([client, server], Some(clock)) => {
            let (apart, word) = match clock.server_ahead_ns {
                ahead @ 0.. => (ahead, "ahead"),
                behind => (behind, "behind"),
            };
            format!(
                "Client's capture: {client}. Server's: {server}. The server's clock is {} ms {word} if the least delays \
                 of both directions are equal; least round trip {} ms",
                ms(apart.unsigned_abs()),
                ms(clock.least_rtt_ns)
            )
        }
        _ => format!("Capture: {}", files.join("; ")),
    }
}

fn about(connection: &ConnectionFacts) -> String {
    let end = match connection.captured_at {
        End::Client => "captured at the client",
        End::Server => "captured at the server",
        End::Both => "captured at both ends",
        End::Unknown => "captured at an unknown place",
    };
    let mut facts = vec![end.to_owned()];
    if connection.captured_at != End::Unknown {
        facts.push(format!("least round trip {} ms", ms(connection.rtt_ns)));
    }
    facts.push(count(connection.packets, "packet"));
    facts.extend(connection.lost.map(|lost| format!("{lost} lost")));
    facts.extend(connection.copies.map(|copies| match copies {
        0 => "none sent again".to_owned(),
        copies => format!("{copies} sent again"),
    }));
    format!(
        "{} to {}: {}",
        connection.client,
        connection.server,
        facts.join(", ")
    )
}

/// Returns what limits the explanation of a connection.
fn remarks(connection: &ConnectionFacts) -> Vec<String> {
    let mut remarks = Vec::new();
    let whose = ["client's", "server's"];
    for (whose, missed) in whose
        .iter()
        .zip(connection.missed)
        .filter(|(_, missed)| *missed > 0)
    {
        remarks.push(format!(
            "gap in the {whose} capture: {missing} that the other end sent or acknowledged, so not lost",
            missing = count(missed, "packet")
        ));
    }
    for (whose, bytes) in whose
        .iter()
        .zip(connection.missing_bytes)
        .filter(|(_, bytes)| *bytes > 0)
    {
        remarks.push(format!(
            "gap in the {whose} capture: {missing} acknowledged that no packet has",
            missing = count(bytes as usize, "byte")
        ));
    }
    if connection.seen_twice > 0 {
        remarks.push(format!(
            "{} captured again on another interface: only the first sight counts",
            count(connection.seen_twice, "packet")
        ));
    }
    if connection.has_offload {
        remarks.push(
            "captured with segmentation offload: packets are longer than on the wire, and single packets' times are \
             unknown; turn it off with `ethtool -K DEV tso off gso off gro off`"
                .to_owned(),
        );
    }
    if connection.lacks_payload {
        remarks.push(
            "captured without payload: a TLS handshake counts as request and response; capture 128 bytes of each packet"
                .to_owned(),
        );
    }
    if connection.lacks_options {
        remarks.push(
            "captured without all options of TCP: windows and losses are not named where they need them; capture 128 \
             bytes of each packet"
                .to_owned(),
        );
    }
    if connection.unanswered_bytes > 0 {
        remarks.push(format!(
            "{} from the client without a response, in no exchange",
            count(connection.unanswered_bytes as usize, "byte")
        ));
    }
    remarks.extend(
        connection
            .not_explained
            .iter()
            .map(|reason| format!("not explained: {reason}")),
    );
    remarks
}

fn table(connection: &ConnectionFacts) -> String {
    if connection.exchanges.is_empty() {
        return String::new();
    }
    let rows = connection.exchanges.iter().map(row);
    let lines: Vec<[String; 6]> = [HEADER.map(str::to_owned)]
        .into_iter()
        .chain(rows)
        .collect();
    let width = |column: usize| lines.iter().map(|line| width_of(&line[column])).max();
    let widths: [usize; 6] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |line: &[String; 6]| {
        let cells =
            line.iter()
                .zip(widths)
                .enumerate()
                .map(|(column, (text, width))| match column {
                    5 => text.clone(),
                    _ => " ".repeat(width - width_of(text)) + text,
                });
        format!("{INDENT}{}\n", cells.collect::<Vec<_>>().join(INDENT))
    };
    lines.iter().map(line).collect()
}

fn row(exchange: &Exchange) -> [String; 6] {
    [
        exchange.number.to_string(),
        ms(exchange.start_ns),
        ms(exchange.duration_ns),
        exchange.request_bytes.to_string(),
        exchange.response_bytes.to_string(),
        largest(&exchange.parts),
    ]
}

/// Returns the largest parts in words, and the sum of the others.
fn largest(parts: &[PartTime]) -> String {
    let mut parts: Vec<&PartTime> = parts.iter().filter(|part| part.ns >= SHOWN_NS).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
    let (named, others) = parts.split_at(parts.len().min(LARGEST));
    let named = named.iter().map(|part| {
        let words = format!("{} {}", part_words(part.part), ms(part.ns));
        match part.round_trips {
            Some(n) => format!("{words} ({n:.1})"),
            None => words,
        }
    });
    let others_ns: u64 = others.iter().map(|part| part.ns).sum();
    let others = (others_ns > 0).then(|| format!("others {}", ms(others_ns)));
    named.chain(others).collect::<Vec<_>>().join(", ")
}

/// Returns what is not explained; `None` if everything is.
fn left_out(explained: &Explained) -> Option<String> {
    let of = &explained.left_out;
    let phrases = [
        (
            of.udp_packets,
            "UDP packet",
            "QUIC is encrypted, with its acknowledgements",
        ),
        (of.fragments, "fragment", "of IP packets"),
        (of.other_packets, "packet", "of other protocols"),
        (
            of.malformed_packets,
            "packet",
            "with headers that are cut off or malformed",
        ),
        (
            of.without_handshake,
            "connection",
            "without its handshake: begin to capture before the client connects",
        ),
        (of.unanswered, "connection", "that was not accepted"),
        (
            of.in_one_capture,
            "connection",
            "in one of the two captures only",
        ),
        (of.reversed, "connection", "opened from the other end"),
    ];
    let phrases = phrases.into_iter().filter(|(n, ..)| *n > 0);
    let phrases: Vec<String> = phrases
        .map(|(n, what, why)| format!("{} ({why})", count(n, what)))
        .collect();
    (!phrases.is_empty()).then(|| format!("Left out: {}.", phrases.join("; ")))
}

fn note(explained: &Explained) -> String {
    let of_captures = match explained.captures.len() {
        1 => ONE,
        _ => TWO,
    };
    [RULES, of_captures, LIMITS].join(" ")
}

fn ms(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e6)
}
