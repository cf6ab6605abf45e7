//! Servers that keep no log, e.g. those of the user: only packets show what they waited for.

use super::*;

/// The server works for 80 ms. Its kernel acknowledges the request meanwhile (RFC 1122 section 4.2.3.2, RFC 9000 section
/// 13.2.1), for which the response does not wait.
#[test]
fn without_a_log_a_response_waits_for_no_acknowledgement_of_its_server() {
    for (transport, delayed) in [(Transport::Tcp, 40 * MS), (Transport::Quic, 25 * MS)] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        tape.send(Down, asked + delayed, 0);
        let answered = tape.send(Down, asked + 80 * MS, 150);
        let parts = tape.parts(&request(transport, start, answered));
        let expected = [(Part::Exchange, RTT), (Part::Server, 80 * MS)];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// The server acknowledges another packet of the client just before it responds.
#[test]
fn without_a_log_a_response_waits_for_nothing_that_its_server_acknowledged() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        tape.send(Up, start + 30 * MS, 0);
        tape.send(Down, asked + 30 * MS, 0);
        let answered = tape.send(Down, asked + 31 * MS, 150);
        let parts = tape.parts(&request(transport, start, answered));
        let expected = [(Part::Exchange, RTT), (Part::Server, 31 * MS)];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}
