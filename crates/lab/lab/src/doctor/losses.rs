//! Common random numbers: two cells of one arm and seed lose the same packets, whatever an earlier
//! connection still sends.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use driver::protocol::{Protocol, Reconnect, Row};
use link::tap::TapRecord;
use link::{LossSpec, PathSpec};
use pump::{Bench, Side, SocketKind};
use record::{Check, LossComparison, PacketSeries};
use study::Step;
use study::plan::Workload;

use super::examination::{Examination, KnownStack, check, impossible};
use crate::cell::measured::Measured;
use crate::cell::packets::series;
use crate::network;

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

/// Compares the fates of the packets of two cells over TCP and of two over QUIC. The second of each has late packets of
/// an earlier connection.
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
    if !disturbed.tap.iter().any(|p| p.client_port() == port) {
        return Err("no late packet of the earlier connection reached the window".to_owned());
    }
    let [a, b] = [&quiet, &disturbed].map(|m| connections(&m.rows, &m.tap));
    let label = stack.label();
    let mut found = LossComparison::default();
    for (a, b) in a.iter().zip(&b) {
        found.add(LossComparison::of(a, b));
    }
    let mut checks = vec![
        check(
            format!("{label}: connections, late packets or not"),
            f64::from(CONNECTIONS),
            a.len().min(b.len()) as f64,
            0.0,
            "",
        ),
        check(
            format!("{label}: packets lost in one of two equal cells only"),
            0.0,
            f64::from(found.different),
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

/// Returns the packets of the driver's connections in the order that it opened them. Connections are
/// recognised by the ports that the driver reports, and so independently of the link's own numbers.
fn connections(rows: &[Row], tap: &[TapRecord]) -> Vec<Vec<PacketSeries>> {
    let mut ports: Vec<u16> = Vec::new();
    for port in rows.iter().filter_map(|row| row.local_port) {
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    let mut connections: Vec<_> = ports.iter().map(|port| series(tap, *port)).collect();
    connections.retain(|packets| !packets.is_empty());
    connections
}

/// A connection from before a cell. Both of its ends go on sending.
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
