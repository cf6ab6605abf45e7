//! The critical path of one call, step by step, for a terminal of 80 columns.

use explain::Part;
use neutral::plain;
use record::{Call, CallPath, PacketFate, PacketKind, PathPacket, PathStep};

use crate::answer::call_path::FoundPath;
use crate::words::number::count;
use crate::words::part::part_words;
use crate::words::text::{INDENT, finished, width_of, wrapped};

const HEADER: [&str; 5] = ["at ms", "took", "client  server", "part", "packet"];
const NOTE: &str = "`#` has the time: the client, the link or the server. An arrow is a packet on its way. Experimental: \
    docs/reference/parts.md lists where a wrong cause is named.";
const WIDTH: usize = 80;
const CLIENT: &str = "#            |";
const SERVER: &str = "|            #";
const LINK: &str = "|     ##     |";
const UP: &str = "|----------->|";
const DOWN: &str = "|<-----------|";
const UNKNOWN: &str = "|     ??     |";

impl FoundPath<'_> {
    /// Returns the path for a terminal.
    pub fn human(&self) -> String {
        let text = format!(
            "{}\n{}\n{}\n{}",
            wrapped(&self.heading(), "", WIDTH).trim_end(),
            wrapped(&about(self.call), INDENT, WIDTH),
            steps(self.path, self.call.end_ns, |_| None),
            wrapped(NOTE, "", WIDTH)
        );
        finished(&text, false)
    }

    fn heading(&self) -> String {
        format!(
            "Call {} of {} on {}, block {}: {} ms",
            self.call.id,
            self.cell.arm,
            self.cell.network,
            self.cell.block,
            ms(self.call.end_ns)
        )
    }
}

/// Returns a path's steps for a terminal, up to `end_ns`; equal steps that follow each other share a line. `name` may name
/// the packet of a line.
pub(crate) fn steps(
    path: &CallPath,
    end_ns: u64,
    name: impl Fn(&PathPacket) -> Option<String>,
) -> String {
    let mut lines = vec![HEADER.map(str::to_owned)];
    let mut at_ns = 0;
    for run in path.steps.chunk_by(is_alike) {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        if first.from_ns > at_ns {
            lines.push(omission(path, at_ns, first.from_ns));
        }
        at_ns = last.to_ns;
        let names = [first, last].map(|step| step.packet.as_ref().and_then(&name));
        let names = match names {
            [Some(first), Some(last)] if first != last => format!(" ({first} to {last})"),
            [Some(first), _] => format!(" ({first})"),
            [None, _] => String::new(),
        };
        lines.push([
            ms(first.from_ns),
            ms(last.to_ns - first.from_ns),
            lane(first).to_owned(),
            part_name(&first.part),
            packets(run) + &names,
        ]);
    }
    if end_ns > at_ns {
        lines.push(omission(path, at_ns, end_ns));
    }
    let total = ["", &ms(end_ns), "", "together", ""];
    lines.push(total.map(str::to_owned));
    table(&lines)
}

/// Returns the line for the steps that are left out.
fn omission(path: &CallPath, from_ns: u64, to_ns: u64) -> [String; 5] {
    let steps = count(path.left_out as usize, "step");
    [
        ms(from_ns),
        ms(to_ns - from_ns),
        String::new(),
        "...".to_owned(),
        format!("{steps} left out"),
    ]
}

/// Returns what is known of a call besides its path.
fn about(call: &Call) -> String {
    format!(
        "{}, {}, {} B sent, {} B received",
        call.protocol,
        call.state.name().replace('_', " "),
        call.request_bytes,
        call.response_bytes
    )
}

/// Lays lines out in columns; the first two are numbers.
fn table(lines: &[[String; 5]]) -> String {
    let width = |column: usize| lines.iter().map(|line| width_of(&line[column])).max();
    let widths: [usize; 5] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let row = |line: &[String; 5]| {
        let cells = line.iter().zip(widths).enumerate();
        let padded = cells.map(|(column, (text, width))| {
            let pad = " ".repeat(width - width_of(text));
            match column {
                0 | 1 => pad + text,
                _ => text.clone() + &pad,
            }
        });
        padded
            .collect::<Vec<_>>()
            .join(INDENT)
            .trim_end()
            .to_owned()
            + "\n"
    };
    lines.iter().map(row).collect()
}

/// Reports whether two steps differ only in their times and packets' sizes, so that they share a line.
fn is_alike(one: &PathStep, next: &PathStep) -> bool {
    let facts = |packet: &PathPacket| {
        let is_empty = packet.payload_bytes == 0;
        (packet.up, packet.kind, packet.fate, packet.copy, is_empty)
    };
    let [a, b] = [one, next].map(|step| step.packet.as_ref().map(facts));
    one.to_ns == next.from_ns && one.part == next.part && a == b && lane(one) == lane(next)
}

fn part_of(name: &str) -> Option<Part> {
    Part::ALL.into_iter().find(|part| part.name() == name)
}

/// Returns the words for a part; a part of a later version has only its name.
fn part_name(name: &str) -> String {
    part_of(name).map_or_else(|| plain(name), |part| part_words(part).to_owned())
}

/// Returns the picture of who has the time. A packet that left its sender before the step is on its way.
fn lane(step: &PathStep) -> &'static str {
    match (part_of(&step.part), &step.packet) {
        (Some(Part::Client), _) => CLIENT,
        (Some(Part::Server), _) => SERVER,
        (Some(Part::LinkBusy | Part::LinkBusyCopies | Part::LinkBusyOthers), _) => LINK,
        (None | Some(Part::Unexplained), _) | (_, None) => UNKNOWN,
        (_, Some(packet)) => {
            let is_sent = i128::from(packet.arrival_ns) <= i128::from(step.from_ns);
            match (is_sent, packet.up) {
                (true, true) => UP,
                (true, false) => DOWN,
                (false, true) => CLIENT,
                (false, false) => SERVER,
            }
        }
    }
}

/// Returns the words for the packets of alike steps.
fn packets(run: &[PathStep]) -> String {
    let packets: Vec<&PathPacket> = run.iter().filter_map(|step| step.packet.as_ref()).collect();
    let Some(first) = packets.first() else {
        return String::new();
    };
    let is_equal = |packet: &&PathPacket| packet.payload_bytes == first.payload_bytes;
    let bytes: u64 = packets.iter().map(|p| u64::from(p.payload_bytes)).sum();
    let size = match (packets.len(), first.payload_bytes) {
        (1, 0) => String::new(),
        (1, bytes) => format!("{bytes} B"),
        (count, 0) => format!("{count} ×"),
        (count, bytes) if packets.iter().all(is_equal) => format!("{count} × {bytes} B"),
        (count, _) => format!("{count} packets, {bytes} B"),
    };
    let kind = match (first.kind, first.offset) {
        (Some(kind), _) => kind_words(kind).to_owned(),
        (None, _) if first.payload_bytes == 0 => "ACK".to_owned(),
        (None, Some(offset)) => format!("at {offset}"),
        (None, None) => String::new(),
    };
    let direction = if first.up { "up" } else { "down" };
    let copy = if first.copy { "copy" } else { "" };
    let fate = match first.fate {
        PacketFate::Delivered => "",
        PacketFate::Lost => "lost",
        PacketFate::Dropped => "dropped",
        PacketFate::InFlight => "on the link",
    };
    let what = format!("{size} {kind}");
    let phrases = [direction, what.trim(), copy, fate];
    phrases
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

fn kind_words(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Syn => "SYN",
        PacketKind::Fin => "FIN",
        PacketKind::QuicInitial => "Initial",
        PacketKind::QuicZeroRtt => "0-RTT",
        PacketKind::QuicHandshake => "Handshake",
        PacketKind::QuicRetry => "Retry",
    }
}

fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}
