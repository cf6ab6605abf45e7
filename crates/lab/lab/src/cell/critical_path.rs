//! Where the time of each call went: the critical path through the cell's packets.

use std::collections::{BTreeMap, HashMap};

use driver::protocol::{Clock, Row};
use explain::{Crossings, Leg, Request, Transport};
use link::Network;
use record::CallResult;
use record::server_log::{RequestEvent, ServerEvent};

use super::measured::Measured;

/// Gives every call that succeeded its parts. A client with a clock of its own, and one that does not tell its port,
/// gets none.
pub(super) fn explain_calls(measured: &mut Measured, network: &Network) {
    if measured.clock != Clock::Monotonic {
        return;
    }
    let (up, down) = (Leg::of(&network.up), Leg::of(&network.down));
    let crossings = Crossings::of(&measured.tap, up, down);
    let rows: HashMap<u32, &Row> = measured.rows.iter().map(|row| (row.id, row)).collect();
    let answered = answered(&measured.log);
    for call in &mut measured.calls {
        let Some(&row) = rows.get(&call.id).filter(|_| call.result == CallResult::Ok) else {
            continue;
        };
        let seen = answered.get(&row.id).copied();
        let Some(request) = request(row, seen, &call.protocol) else {
            continue;
        };
        let parts = crossings.path(&request).parts();
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

fn request(row: &Row, seen: Option<&RequestEvent>, protocol: &str) -> Option<Request> {
    Some(Request {
        transport: match protocol {
            "h3" => Transport::Quic,
            _ => Transport::Tcp,
        },
        port: row.local_port?,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        sent_ns: row.request_sent_ns,
        secured_ns: row.tls_ns,
        server_ns: seen.map(|seen| (seen.start_ns, seen.end_ns)),
        request_bytes: row.request_bytes,
        response_bytes: row.response_bytes,
    })
}
