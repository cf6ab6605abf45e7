//! Gathers what a cell measured: proven calls, connection settings, costs of start-up.

use std::collections::{BTreeMap, HashMap, HashSet};

use driver::manifest::Certificate;
use driver::protocol::{Hello, Protocol, Row};
use link::tap::TapRecord;
use link::window::Window;
use proof::{Claim, Destination, prove, prove_by_packets};
use record::server_log::ServerEvent;
use record::{Socket, Stack};

use super::error::CellError;
use super::first_flight::first_flight_bytes;
use super::load;
use super::measured::{Handshake, Measured};
use super::packets::series;
use super::refusals;
use super::server_process::Libraries;
use super::server_side::Testimony;

/// Everything that a cell's run produced, after both processes have ended.
pub(super) struct RunOutput {
    pub(super) hello: Hello,
    pub(super) startup_ns: u64,
    pub(super) rows: Vec<Row>,
    pub(super) moves: Vec<record::Move>,
    pub(super) window: Window,
    pub(super) tap: Vec<TapRecord>,
    /// CLOCK_MONOTONIC when the steps were sent.
    pub(super) run_ns: u64,
    pub(super) took_ns: u64,
    pub(super) testimony: Testimony,
    pub(super) destinations: BTreeMap<Option<String>, Destination>,
    pub(super) server_libraries: Libraries,
    /// CPU of all processes of the driver.
    pub(super) driver_cpu_ns: u64,
}

/// Proves the driver's rows, and gathers everything else that is recorded.
pub(super) fn collect(
    output: RunOutput,
    claim: &Claim<'_>,
    certificate: Certificate,
) -> Result<Measured, CellError> {
    let (log, travelled) = match output.testimony {
        Testimony::Log(log) => (log, None),
        Testimony::Travelled(travelled) => (Vec::new(), Some(travelled)),
    };
    trace(&output.rows, &log);
    let proven = match &travelled {
        None => prove(claim, &output.rows, &log),
        Some(travelled) => prove_by_packets(claim, &output.rows, &travelled.accepted),
    };
    let (calls, connections) =
        proven.map_err(|why| refusals::explain(CellError::Failed(why), &log))?;
    let of_lab = travelled.is_none();
    let (calls, loads) = load::aggregate(&claim.steps, calls);
    let window = output.window;
    let mut of_port: HashMap<u16, Vec<TapRecord>> = HashMap::new();
    for packet in &output.tap {
        let packets = of_port.entry(packet.client_port()).or_default();
        packets.push(*packet);
    }
    let mut ports = HashSet::new();
    let connections = connections.into_iter().map(|(mut settings, port)| {
        if of_lab {
            settings.certificate = certificate.name().to_owned();
            let library = library(&output.server_libraries, claim.protocol, &settings.alpn);
            settings.server_library = library;
        }
        let packets = of_port.get(&port).map_or(&[][..], Vec::as_slice);
        settings.packets = series(packets, port);
        let first_on_port = ports.insert((settings.transport.clone(), port));
        settings.first_flight_bytes = match first_on_port {
            true => first_flight_bytes(packets, port),
            false => None,
        };
        settings.client = socket(&window.client_sockets, |s| s.local_port == port);
        settings.server = socket(&window.server_sockets, |s| s.peer_port == Some(port));
        settings
    });
    Ok(Measured {
        calls,
        loads,
        connections: connections.collect(),
        handshakes: handshakes(&output.rows),
        stack: stack_of(&output.hello),
        clock: claim.clock,
        rows: output.rows,
        log,
        relay: travelled.map(|travelled| travelled.relay),
        moves: output.moves,
        radio: Vec::new(),
        tap: output.tap,
        started_ns: output.run_ns,
        took_ns: output.took_ns,
        startup_ns: output.startup_ns,
        startup_cpu_ns: (output.driver_cpu_ns).saturating_sub(window.client.cpu_ns),
        peak_bytes: window.client.peak_rss_bytes,
        window,
    })
}

/// Returns the server's library that served a connection with this ALPN protocol.
fn library(libraries: &Libraries, asked: Protocol, alpn: &str) -> Option<String> {
    let protocol = match (asked, alpn) {
        (Protocol::Grpc, _) => Protocol::Grpc,
        (_, "h3") => Protocol::H3,
        (_, "h2") => Protocol::H2,
        _ => Protocol::H1,
    };
    libraries.get(protocol.name()).cloned()
}

/// Logs rows and server log with `COMMUTE_LOG=debug`, for authors of drivers.
fn trace(rows: &[Row], log: &[ServerEvent]) {
    for row in rows {
        tracing::debug!("row {}", serde_json::to_string(row).unwrap_or_default());
    }
    for line in log {
        tracing::debug!("server {}", serde_json::to_string(line).unwrap_or_default());
    }
}

fn handshakes(rows: &[Row]) -> Vec<Handshake> {
    let handshake = |row: &Row| {
        Some(Handshake {
            port: row.local_port?,
            until_ns: row.tls_ns?,
        })
    };
    let openers = rows.iter().filter(|row| !row.reused);
    openers.filter_map(handshake).collect()
}

/// Returns the first socket that matches, as it is recorded.
fn socket(
    all: &[link::window::Socket],
    matches: impl Fn(&link::window::Socket) -> bool,
) -> Option<Socket> {
    let socket = all.iter().find(|s| matches(s))?.clone();
    Some(Socket {
        send_buffer_bytes: socket.send_buffer_bytes,
        receive_buffer_bytes: socket.receive_buffer_bytes,
        nodelay: socket.nodelay,
        congestion: socket.congestion,
        mss_bytes: socket.mss_bytes,
        udp_gro: socket.udp_gro,
    })
}

fn stack_of(hello: &Hello) -> Stack {
    Stack {
        name: hello.stack.clone(),
        version: hello.stack_version.clone(),
        tls: hello.tls.clone(),
        clock: hello.clock.name().to_owned(),
        resolution_ns: hello.resolution_ns,
        settings: hello.settings.clone(),
    }
}
