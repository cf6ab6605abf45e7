//! Where the time of each call went: the critical path through the cell's packets.

use std::collections::{BTreeMap, HashMap};

use driver::protocol::{Clock, Protocol, Row};
use explain::{Crossings, Leg, Request, Transport};
use link::Network;
use link::window::{Socket, Window};
use record::CallResult;
use record::server_log::{ConnectionEvent, RequestEvent, ServerEvent};

use super::measured::Measured;

/// Gives every call that succeeded its parts. Clients with a clock of their own get none, and connections whose port
/// neither end reports.
pub(super) fn explain_calls(measured: &mut Measured, network: &Network) {
    if measured.clock != Clock::Monotonic {
        return;
    }
    let (up, down) = (Leg::of(&network.up), Leg::of(&network.down));
    let crossings = Crossings::of(&measured.tap, up, down);
    let rows: HashMap<u32, &Row> = measured.rows.iter().map(|row| (row.id, row)).collect();
    let answered = answered(&measured.log);
    let opened = opened(&measured.log);
    for call in &mut measured.calls {
        let Some(&row) = rows.get(&call.id).filter(|_| call.result == CallResult::Ok) else {
            continue;
        };
        let seen = answered.get(&row.id).copied();
        let connection = seen.and_then(|seen| opened.get(&seen.connection).copied());
        let Some(request) = request(row, seen, connection, network, &measured.window) else {
            continue;
        };
        let path = crossings.path(&request);
        tracing::debug!("path of call {}: {path:?}", row.id);
        let parts = path.parts();
        call.parts = parts
            .present()
            .map(|(part, ns)| (part.name().to_owned(), ns))
            .collect();
    }
}

/// Returns the requests that the server answered, by their id; of several with one id the last.
fn answered(log: &[ServerEvent]) -> BTreeMap<u32, &RequestEvent> {
    let requests = log.iter().filter_map(|line| match line {
        ServerEvent::Request(request) if !request.broken => Some((request.id?, request)),
        _ => None,
    });
    requests.collect()
}

/// Returns the connections that the server saw, by their number.
fn opened(log: &[ServerEvent]) -> HashMap<u64, &ConnectionEvent> {
    let opened = log.iter().filter_map(|line| match line {
        ServerEvent::Connection(opened) => Some((opened.connection, opened)),
        _ => None,
    });
    opened.collect()
}

/// Returns the request of a row, if its connection is known.
fn request(
    row: &Row,
    seen: Option<&RequestEvent>,
    connection: Option<&ConnectionEvent>,
    network: &Network,
    window: &Window,
) -> Option<Request> {
    // Through a NAT the server sees another port than the link does.
    let seen_port = connection.filter(|_| network.nat.is_none());
    let port = row
        .local_port
        .or(seen_port.map(|connection| connection.peer_port))?;
    // Some clients call a connection secure only when HTTP/2 is ready. The server's time is when the client's last
    // message of the handshake had arrived.
    let secured = connection.map(|connection| connection.at_ns);
    Some(Request {
        transport: match row.protocol? {
            Protocol::H3 => Transport::Quic,
            _ => Transport::Tcp,
        },
        port,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        sent_ns: row.request_sent_ns,
        secured_ns: row.tls_ns.into_iter().chain(secured).min(),
        opens: !row.reused,
        nodelay: [
            is_nodelay(&window.client_sockets, |socket| socket.local_port == port),
            is_nodelay(&window.server_sockets, |socket| {
                socket.peer_port == Some(port)
            }),
        ],
        server_ns: seen.map(|seen| (seen.start_ns, seen.end_ns)),
        request_bytes: row.request_bytes,
        response_bytes: row.response_bytes,
    })
}

/// Reports whether a socket was seen whose Nagle's algorithm is off.
fn is_nodelay(sockets: &[Socket], is_it: impl Fn(&Socket) -> bool) -> bool {
    let socket = sockets.iter().find(|socket| is_it(socket));
    socket.and_then(|socket| socket.nodelay) == Some(true)
}
