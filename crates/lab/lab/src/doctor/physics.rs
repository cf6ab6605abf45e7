//! Checks the round trips to the first byte: 3, 2 or 1.

use driver::protocol::{Protocol, Reconnect};
use link::{Network, PathSpec};
use record::{Call, Check, State};
use study::plan::Workload;
use study::{Chain, DEFAULT_BODY, Step};

use super::examination::{Examination, Fault, KnownStack, check, median};
use super::probes::drops_first_packets;
use crate::cell::measured::Measured;
use crate::cell::{DEFAULT_CONGESTION, accounting};
use crate::network;

const ONE_WAY_NS: u64 = 50_000_000;
pub(super) const RTT_MS: f64 = 100.0;
const REPEATS: u32 = 3;
const WARM_REQUESTS: u32 = 2;
/// A handshake's signatures and key exchanges, and a dozen wake-ups on two busy cores.
const NEW_MARGIN_MS: f64 = 12.0;
/// Four wake-ups.
const WARM_MARGIN_MS: f64 = 3.0;

/// One stack per protocol, the plainest there is.
pub(super) const STACKS: [KnownStack; 4] = [
    KnownStack {
        name: "hyper",
        protocol: Protocol::H1,
    },
    KnownStack {
        name: "hyper",
        protocol: Protocol::H2,
    },
    KnownStack {
        name: "tonic",
        protocol: Protocol::Grpc,
    },
    KnownStack {
        name: "quinn",
        protocol: Protocol::H3,
    },
];

/// Measures each kind of connection several times, over a round trip that dwarfs everything else.
pub(super) fn round_trips(examination: &mut Examination<'_>, stack: KnownStack) -> Vec<Check> {
    let network = far(examination.fault);
    let quic = stack.protocol == Protocol::H3;
    let workload = workload(quic);
    examination.examine(&network, &stack, &workload, |measured| {
        let mut checks = check_round_trips(&stack, &measured.calls);
        checks.push(nothing_retransmitted(&stack, measured));
        checks.push(congestion(&stack, measured));
        checks
    })
}

/// Measures new connections with a certificate chain that exceeds what a QUIC server may send before
/// the client has answered (RFC 9000, section 8.1): a third round trip. Over TCP it fits the initial
/// window (RFC 6928), and there are three as ever.
pub(super) fn long_chain(examination: &mut Examination<'_>) -> Vec<Check> {
    let network = far(examination.fault);
    let workload = new_connections(1);
    examination.chain = Chain::Long;
    let mut checks = Vec::new();
    for stack in STACKS {
        if matches!(stack.protocol, Protocol::H2 | Protocol::H3) {
            checks.extend(
                examination.examine(&network, &stack, &workload, |measured| {
                    let cold = |c: &&Call| c.state == State::ColdConnection;
                    let calls = measured.calls.iter().filter(cold);
                    let times: Vec<f64> = calls.filter_map(first_byte_ms).collect();
                    let name = format!("{}: long chain, first byte after 3 RTT", stack.label());
                    vec![check(
                        name,
                        3.0 * RTT_MS,
                        median(times),
                        NEW_MARGIN_MS,
                        "ms",
                    )]
                }),
            );
        }
    }
    examination.chain = Chain::Typical;
    checks
}

/// Checks that a lossless link drops and retransmits nothing. A lost SYN or Initial would add a second (RFC 6298,
/// section 2.1; RFC 9002, section 6.2.2), but only to the one connection it belongs to, which the medians would hide.
fn nothing_retransmitted(stack: &KnownStack, measured: &Measured) -> Check {
    let wire = accounting::wire(measured);
    let name = format!("{}: packets dropped or retransmitted", stack.label());
    let packets = wire.dropped_packets + wire.retransmitted_packets;
    check(name, 0.0, packets as f64, 0.0, "packets")
}

/// Checks the congestion control that the server reports, over TCP and QUIC alike.
fn congestion(stack: &KnownStack, measured: &Measured) -> Check {
    let is_other = |c: &str| c != DEFAULT_CONGESTION;
    let other = measured
        .connections
        .iter()
        .filter(|p| p.congestion.as_deref().is_some_and(is_other));
    let name = format!(
        "{}: connections not under {DEFAULT_CONGESTION}",
        stack.label()
    );
    check(name, 0.0, other.count() as f64, 0.0, "")
}

/// Returns a network whose round trip dwarfs everything else.
pub(super) fn far(fault: Option<Fault>) -> Network {
    let mut path = PathSpec {
        delay_ns: ONE_WAY_NS,
        ..PathSpec::default()
    };
    match fault {
        Some(Fault::Delay) => path.delay_ns += ONE_WAY_NS / 100,
        Some(Fault::Syn) => path.gate = Some(drops_first_packets()),
        _ => {}
    }
    network::symmetric("100 ms", path)
}

/// Returns cold connections, one after another, each with so many requests.
pub(super) fn new_connections(requests: u32) -> Workload {
    Workload::expand(&[Step::Repeat {
        times: REPEATS,
        steps: vec![Step::Reconnect(Reconnect::Cold), call(requests)],
    }])
}

pub(super) fn call(times: u32) -> Step {
    Step::Call {
        group: "echo".into(),
        body: DEFAULT_BODY.into(),
        times,
    }
}

fn workload(quic: bool) -> Workload {
    let kinds: &[Reconnect] = if quic {
        &[Reconnect::Cold, Reconnect::Resume, Reconnect::EarlyData]
    } else {
        &[Reconnect::Cold, Reconnect::Resume]
    };
    let mut steps = vec![Step::Reconnect(Reconnect::Cold), call(1)];
    for &kind in kinds {
        // A ticket is used once (RFC 8446, appendix C.4) and arrives with a response: the warm
        // requests in between let the next one arrive.
        let once = vec![Step::Reconnect(kind), call(1 + WARM_REQUESTS)];
        steps.push(Step::Repeat {
            times: REPEATS,
            steps: once,
        });
    }
    Workload::expand(&steps)
}

fn check_round_trips(stack: &KnownStack, calls: &[Call]) -> Vec<Check> {
    let quic = stack.protocol == Protocol::H3;
    let new = if quic { 2.0 } else { 3.0 };
    let mut expected = vec![
        (State::ColdConnection, "new connection", new, NEW_MARGIN_MS),
        // Resumption saves bytes and signatures, never a round trip.
        (State::Resumed, "resumed connection", new, NEW_MARGIN_MS),
        (State::Warm, "warm request", 1.0, WARM_MARGIN_MS),
    ];
    if quic {
        expected.push((State::EarlyData, "0-RTT", 1.0, NEW_MARGIN_MS));
    }
    expected
        .into_iter()
        .map(|(state, what, round_trips, margin)| {
            let times: Vec<f64> = calls
                .iter()
                .filter(|c| c.state == state)
                .filter_map(first_byte_ms)
                .collect();
            let name = format!(
                "{}: {what}, first byte after {round_trips} RTT",
                stack.label()
            );
            check(name, round_trips * RTT_MS, median(times), margin, "ms")
        })
        .collect()
}

/// Returns the ms from the end of name resolution, which is not the transport's, to the first byte.
fn first_byte_ms(call: &Call) -> Option<f64> {
    Some((call.first_byte_ns? - call.dns_ns.unwrap_or(0)) as f64 / 1e6)
}
