//! Common random numbers: two cells of one arm and seed lose the same packets, whatever an earlier
//! connection still sends.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use driver::protocol::{Protocol, Reconnect, Row};
use link::{Direction, LossSpec, PathSpec};
use pump::{Bench, Fate, Side, SocketKind, TapRecord};
use record::Check;

use super::examination::{Examination, KnownStack, check, impossible};
use crate::cell::measured::Measured;
use crate::network;
use crate::plan::workload::Workload;
use crate::study::Step;

const LOSS_PPB: u32 = 20_000_000;
const ONE_WAY_NS: u64 = 10_000_000;
/// 3 x 200 full packets at 2 %: none lost in 5 of a million cells.
const CONNECTIONS: u32 = 3;
const FILE_BYTES: u64 = 300_000;
/// The earlier connection sends several times before the driver's first packet.
const LEAD_NS: u64 = 300_000_000;
const LATE_INTERVAL: Duration = Duration::from_millis(20);
/// No server of a cell listens on this port.
const LATE_PORT: u16 = 4792;
/// IP bytes above which the link counts a packet as full-size, apart from others.
const FULL_SIZE_ABOVE_BYTES: u16 = 1000;

/// Runs two cells over TCP and two over QUIC, the second of each with late packets of an earlier
/// connection, and compares the fates of the packets.
pub(super) fn same_losses(examination: &mut Examination<'_>) -> Vec<Check> {
    let stacks = [("hyper", Protocol::H2), ("quinn", Protocol::H3)];
    stacks
        .into_iter()
        .flat_map(|(name, protocol)| {
            let stack = KnownStack { name, protocol };
            compare_cells(examination, &stack)
                .unwrap_or_else(|e| vec![impossible(&stack.label(), &e)])
        })
        .collect()
}

fn compare_cells(
    examination: &mut Examination<'_>,
    stack: &KnownStack,
) -> Result<Vec<Check>, String> {
    let quiet = measure(examination, stack)?;
    let late = LateSender::start(&mut examination.bench)?;
    let port = late.client_port;
    let measured = measure(examination, stack);
    late.stop();
    let disturbed = measured?;
    if !disturbed.tap.iter().any(|p| client_port(p) == port) {
        return Err("no late packet of the earlier connection reached the window".to_owned());
    }
    let [a, b] = [&quiet, &disturbed].map(|m| fates(&m.rows, &m.tap));
    let label = stack.label();
    let found = compare(&a, &b);
    let opened = |all: &Fates| {
        all.keys()
            .map(|(connection, ..)| connection)
            .max()
            .map_or(0, |n| n + 1)
    };
    let mut checks = vec![
        check(
            format!("{label}: connections, late packets or not"),
            f64::from(CONNECTIONS),
            opened(&a).min(opened(&b)) as f64,
            0.0,
            "",
        ),
        check(
            format!("{label}: packets lost in one of two equal cells only"),
            0.0,
            found.different as f64,
            0.0,
            "packets",
        ),
    ];
    if found.lost + found.different == 0 {
        let reason = format!(
            "none of {} packets was lost, so losses were not checked",
            found.compared
        );
        checks.push(impossible(&label, &reason));
    }
    Ok(checks)
}

fn measure(examination: &mut Examination<'_>, stack: &KnownStack) -> Result<Measured, String> {
    let path = PathSpec {
        delay_ns: ONE_WAY_NS,
        loss: Some(LossSpec::Iid { ppb: LOSS_PPB }),
        ..PathSpec::default()
    };
    let get = Step::Get {
        group: "file".into(),
        bytes: FILE_BYTES,
        times: 1,
    };
    let repeat = Step::Repeat {
        times: CONNECTIONS,
        steps: vec![Step::Reconnect(Reconnect::Cold), get],
    };
    let workload = Workload::expand(&[Step::Pause { ns: LEAD_NS }, repeat]);
    examination
        .measure(&network::symmetric("2 % loss", path), stack, &workload)
        .map_err(|e| e.to_string())
}

/// Which of a connection's packets were lost, in order of sending; by the driver's number of the
/// connection from 0, whether they went up, and whether they were full-size.
type Fates = BTreeMap<(usize, bool, bool), Vec<bool>>;

/// Recognises connections by the ports that the driver reports, and so independently of the link's
/// own numbers.
fn fates(rows: &[Row], tap: &[TapRecord]) -> Fates {
    let mut ports: Vec<u16> = Vec::new();
    for port in rows.iter().filter_map(|row| row.local_port) {
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    let mut fates = Fates::new();
    for packet in tap {
        if let Some(connection) = ports.iter().position(|port| *port == client_port(packet)) {
            let up = packet.direction == Direction::Up;
            let full = packet.ip_bytes > FULL_SIZE_ABOVE_BYTES;
            let lost = matches!(packet.fate, Fate::Dropped(_));
            fates.entry((connection, up, full)).or_default().push(lost);
        }
    }
    fates
}

fn client_port(packet: &TapRecord) -> u16 {
    match packet.direction {
        Direction::Up => packet.src_port,
        Direction::Down => packet.dst_port,
    }
}

/// The packets that two cells both sent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Comparison {
    compared: usize,
    /// Lost in both.
    lost: usize,
    /// Lost in one only.
    different: usize,
}

fn compare(a: &Fates, b: &Fates) -> Comparison {
    let mut found = Comparison::default();
    for (key, of_a) in a {
        let of_b = b.get(key).map_or(&[][..], Vec::as_slice);
        for (a, b) in of_a.iter().zip(of_b) {
            found.compared += 1;
            found.lost += usize::from(*a && *b);
            found.different += usize::from(a != b);
        }
    }
    found
}

/// A connection from before a cell, both ends of which go on sending.
struct LateSender {
    client_port: u16,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl LateSender {
    fn start(bench: &mut Bench) -> Result<LateSender, String> {
        let open = network::symmetric("open", PathSpec::default());
        bench.set_network(&open, 1).map_err(|e| e.to_string())?;
        let address = SocketAddr::new(bench.facts().server.v4.into(), LATE_PORT);
        let fd = bench.bind(Side::Server, SocketKind::Tcp, address);
        let listener = TcpListener::from(fd.map_err(|e| e.to_string())?);
        let client = bench.connect(Side::Client, address);
        let client = client.map_err(|e| e.to_string())?;
        Self::spawn(&listener, client).map_err(|e| e.to_string())
    }

    fn spawn(listener: &TcpListener, client: OwnedFd) -> io::Result<LateSender> {
        let client = TcpStream::from(client);
        let (server, _) = listener.accept()?;
        let client_port = client.local_addr()?.port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut ends = [client, server];
        for end in &ends {
            end.set_nodelay(true)?;
            end.set_nonblocking(true)?;
        }
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                for end in &mut ends {
                    // Fails once the cell has ended and closed it.
                    let _sent = end.write(b"x");
                }
                thread::sleep(LATE_INTERVAL);
            }
        });
        Ok(LateSender {
            client_port,
            stop,
            thread,
        })
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        // It does not panic.
        let _ended = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(direction: Direction, port: u16, ip_bytes: u16, lost: bool) -> TapRecord {
        let (src_port, dst_port) = match direction {
            Direction::Up => (port, 443),
            Direction::Down => (443, port),
        };
        TapRecord {
            arrival_ns: 0,
            departure_ns: 0,
            seq: 0,
            ack: 0,
            ip_bytes,
            src_port,
            dst_port,
            payload_bytes: 0,
            protocol: 6,
            tcp_flags: 0,
            first_byte: 0,
            direction,
            fate: if lost {
                Fate::Dropped(link::Cause::Loss)
            } else {
                Fate::Delivered
            },
            ip_version: 4,
            ecn: 0,
            stray: false,
        }
    }

    fn row(local_port: u16) -> Row {
        Row {
            local_port: Some(local_port),
            ..Row::default()
        }
    }

    #[test]
    fn packets_are_compared_by_connection_direction_and_size() {
        use Direction::{Down, Up};
        let first = [
            packet(Up, 50, 60, false),
            packet(Down, 50, 1500, true),
            packet(Down, 50, 60, false),
            packet(Down, 60, 1500, false),
        ];
        // Other ports, a packet of an earlier connection, one more acknowledgement.
        let second = [
            packet(Up, 9, 60, true),
            packet(Up, 71, 60, false),
            packet(Up, 71, 60, true),
            packet(Down, 71, 60, false),
            packet(Down, 71, 1500, true),
            packet(Down, 72, 1500, true),
        ];
        let a = fates(&[row(50), row(50), row(60)], &first);
        let b = fates(&[row(71), row(72)], &second);
        let expected = Comparison {
            compared: 4,
            lost: 1,
            different: 1,
        };
        assert_eq!(compare(&a, &b), expected);
    }
}
