//! Where the time of each call went: the critical path through the cell's packets.

use std::collections::HashMap;

use driver::protocol::{Clock, Protocol, Row};
use explain::{Crossings, Http, Leg, Request, SenderLog, SenderSample, Served};
use link::window::{Socket, Window};
use link::{Direction, Network};
use proof::{Log, Traffic};
use record::CallResult;
use record::server_log::ServerEvent;

use super::call_path::Recorder;
use super::concurrent::concurrent;
use super::measured::Measured;
use super::moves::across;

/// TLS 1.2 as rustls names it.
const TLS_1_2: &str = "TLSv1_2";

/// Gives every call that succeeded its parts, and its path if paths are kept. Clients with a clock of their own get
/// none, and connections whose port neither end reports. Neither do concurrent calls of a connection whose server does
/// not log when it responded: packets do not show which response they carry. Nor do calls that a move concerns, of the
/// phone or of a QUIC connection, whose packets may have had several ports.
pub(super) fn explain_calls(
    measured: &mut Measured,
    traffic: &Traffic,
    network: &Network,
    keeps_paths: bool,
) {
    if measured.clock != Clock::Monotonic {
        return;
    }
    let radio = &measured.window.radio.changes;
    let up = Leg::of(&network.up).with_radio(Direction::Up, radio);
    let down = Leg::of(&network.down).with_radio(Direction::Down, radio);
    let crossings = Crossings::of(&measured.tap, &up, &down);
    let rows: HashMap<u32, &Row> = measured.rows.iter().map(|row| (row.id, row)).collect();
    // A log that cannot be true has failed the proof already.
    let Ok(log) = Log::new(&measured.log) else {
        return;
    };
    let samples = samples(&measured.log);
    let concurrent = concurrent(&measured.calls);
    let quic_moves: Vec<u64> = traffic.quic_moves().collect();
    let across = across(
        &measured.rows,
        &measured.moves,
        measured.started_ns,
        &quic_moves,
    );
    let mut recorder = keeps_paths.then(|| Recorder::new(&measured.tap));
    for call in &mut measured.calls {
        let is_explained = call.result == CallResult::Ok && !across.contains(&call.id);
        let Some(&row) = rows.get(&call.id).filter(|_| is_explained) else {
            continue;
        };
        let Some(request) = request(row, &log, network, &measured.window, &samples) else {
            continue;
        };
        let responded_ns = request.served.and_then(|served| served.responded_ns);
        if responded_ns.is_none() && concurrent.contains(&call.id) {
            continue;
        }
        let path = crossings.path(&request);
        tracing::debug!("path of call {}: {path:?}", row.id);
        call.path = (recorder.as_mut()).map(|recorder| recorder.record(&path, row.start_ns));
        let parts = path.parts();
        call.parts = parts
            .present()
            .map(|(part, ns)| (part.name().to_owned(), ns))
            .collect();
    }
}

/// By the number of a connection.
type Samples = HashMap<u64, Vec<SenderSample>>;

/// Returns what the server's congestion control knew over time on each connection.
fn samples(log: &[ServerEvent]) -> Samples {
    let of = |event: &ServerEvent| {
        let ServerEvent::Closed(closed) = event else {
            return None;
        };
        let samples = closed.windows.iter().map(|sample| SenderSample {
            at_ns: sample.at_ns,
            app_limited: sample.app_limited,
        });
        Some((closed.connection, samples.collect()))
    };
    log.iter().filter_map(of).collect()
}

/// Returns the request of a row, if its connection is known.
fn request<'a>(
    row: &Row,
    log: &Log<'_>,
    network: &Network,
    window: &Window,
    samples: &'a Samples,
) -> Option<Request<'a>> {
    let seen = log.answered(row).filter(|seen| !seen.broken);
    let connection = seen.and_then(|seen| log.connection(seen.connection));
    // Through a NAT the server sees another port than the link does.
    let seen_port = connection.filter(|_| network.nat.is_none());
    let port = row
        .local_port
        .or(seen_port.map(|connection| connection.peer_port))?;
    // Some clients call a connection secure only when HTTP/2 is ready. A server with TLS 1.3 is done when the client's
    // last message has arrived, and with TLS 1.2 before its own last one has.
    let secured = connection.filter(|connection| connection.tls_version != TLS_1_2);
    let secured = secured.map(|connection| connection.at_ns);
    Some(Request {
        http: match row.protocol? {
            Protocol::H1 => Http::One,
            Protocol::H2 | Protocol::Grpc => Http::Two,
            Protocol::H3 => Http::Three,
            Protocol::Auto => return None,
        },
        port,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        sent_ns: row.request_sent_ns,
        received_ns: row.received_ns,
        secured_ns: row.tls_ns.into_iter().chain(secured).min(),
        nodelay: [
            is_nodelay(&window.client_sockets, |socket| socket.local_port == port),
            is_nodelay(&window.server_sockets, |socket| {
                socket.peer_port == Some(port)
            }),
        ],
        longest: [None; 2],
        served: seen.map(|seen| Served {
            read_ns: seen.start_ns,
            received_ns: seen.received_ns,
            responded_ns: seen.responded_ns,
            written_ns: seen.end_ns,
        }),
        request_bytes: row.request_bytes,
        sender: seen.and_then(|seen| {
            let samples = samples.get(&seen.connection)?;
            let blocked = log.sender(seen.connection)?.blocked_frames;
            Some(SenderLog {
                samples,
                was_blocked: blocked? > 0,
            })
        }),
    })
}

/// Reports whether a socket was seen whose Nagle's algorithm is off.
fn is_nodelay(sockets: &[Socket], is_it: impl Fn(&Socket) -> bool) -> bool {
    let socket = sockets.iter().find(|socket| is_it(socket));
    socket.and_then(|socket| socket.nodelay) == Some(true)
}
