//! Calls that share a connection at the same time.

use std::collections::BTreeSet;

use record::Call;

/// Returns the ids of the calls that overlap another call of the same connection.
pub(super) fn concurrent(calls: &[Call]) -> BTreeSet<u32> {
    let mut calls: Vec<&Call> = calls.iter().collect();
    calls.sort_by_key(|call| (call.connection, call.start_ns));
    let mut found = BTreeSet::new();
    // The call of the connection that ends last so far.
    let mut last: Option<&Call> = None;
    for call in calls {
        let before = last.filter(|before| before.connection == call.connection);
        if let Some(before) = before.filter(|before| call.start_ns < before.ended_ns()) {
            found.extend([before.id, call.id]);
        }
        last = match before {
            Some(before) if before.ended_ns() > call.ended_ns() => Some(before),
            _ => Some(call),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{CallResult, Proof, State};

    fn call(id: u32, connection: u32, start_ns: u64, end_ns: u64) -> Call {
        Call {
            id,
            group: "page".into(),
            connection,
            first: false,
            state: State::Warm,
            proof: Proof::Server,
            protocol: "h2".into(),
            start_ns,
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: None,
            first_byte_ns: None,
            end_ns,
            request_bytes: 0,
            response_bytes: 0,
            result: CallResult::Ok,
            server_hits: 1,
            server_ns: None,
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: Default::default(),
            path: None,
            exchange: None,
        }
    }

    #[test]
    fn requests_at_once_on_a_connection_are_found() {
        let calls = [
            call(1, 1, 0, 100),
            call(2, 1, 10, 20),
            call(3, 1, 60, 20),
            call(4, 1, 100, 50),
            // On another connection, at the same time.
            call(5, 2, 20, 50),
        ];
        assert_eq!(concurrent(&calls), [1, 2, 3].into());
    }
}
