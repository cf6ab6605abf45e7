//! Round trips to the first byte: 3, 2 or 1.

use driver::protocol::{Protocol, Reconnect};
use link::PathSpec;
use record::{Call, Check, State};

use super::{Break, Stack, Surgery, check, median, network};
use crate::cell::{CONGESTION, Measured};
use crate::plan::workload::Workload;
use crate::study::{DEFAULT_BODY, Step};

/// One stack a protocol, the plainest there is.
pub(super) const STACKS: [Stack; 4] = [
    Stack {
        name: "hyper",
        protocol: Protocol::H1,
    },
    Stack {
        name: "hyper",
        protocol: Protocol::H2,
    },
    Stack {
        name: "tonic",
        protocol: Protocol::Grpc,
    },
    Stack {
        name: "quinn",
        protocol: Protocol::H3,
    },
];

/// Each kind of connection several times over a round trip that dwarfs everything else.
pub(super) fn round_trips(surgery: &mut Surgery<'_>, stack: Stack) -> Vec<Check> {
    let network = network("100 ms", path(surgery.broken));
    let quic = stack.protocol == Protocol::H3;
    let workload = workload(quic);
    surgery.examine(&network, &stack, &workload, |measured| {
        let mut checks = judge(&stack, &measured.calls);
        checks.push(undisturbed(&stack, measured));
        checks.push(congestion(&stack, measured));
        checks
    })
}

/// On a link that loses nothing nothing is sent again: a lost SYN or Initial would show as a
/// second more (RFC 6298, 2.1; RFC 9002, 6.2.2), but only in the one connection it hit.
fn undisturbed(stack: &Stack, measured: &Measured) -> Check {
    let wire = crate::cell::accounting::wire(measured);
    let name = format!("{}: dropped by the link or sent again", stack.label());
    let got = wire.dropped_packets + wire.retransmitted_packets;
    check(name, 0.0, got as f64, 0.0, "packets")
}

/// As the server's side read it back, TCP and QUIC alike.
fn congestion(stack: &Stack, measured: &Measured) -> Check {
    let is_other = |c: &str| c != CONGESTION;
    let other = measured
        .connections
        .iter()
        .filter(|p| p.congestion.as_deref().is_some_and(is_other));
    let name = format!("{}: connections not under {CONGESTION}", stack.label());
    check(name, 0.0, other.count() as f64, 0.0, "")
}

fn path(broken: Option<Break>) -> PathSpec {
    let mut path = PathSpec {
        delay_ns: ONE_WAY_NS,
        ..PathSpec::default()
    };
    match broken {
        Some(Break::Delay) => path.delay_ns += ONE_WAY_NS / 100,
        Some(Break::Syn) => path.gate = Some(super::probes::closed_at_first()),
        _ => {}
    }
    path
}

fn workload(quic: bool) -> Workload {
    let call = |times| Step::Call {
        group: "echo".into(),
        body: DEFAULT_BODY.into(),
        times,
    };
    let kinds: &[Reconnect] = if quic {
        &[Reconnect::Cold, Reconnect::Resume, Reconnect::EarlyData]
    } else {
        &[Reconnect::Cold, Reconnect::Resume]
    };
    let mut steps = vec![Step::Reconnect(Reconnect::Cold), call(1)];
    for &kind in kinds {
        // A ticket is good for one use (RFC 8446, appendix C.4), and comes with an answer: a
        // warm call between lets the next one arrive.
        let once = vec![Step::Reconnect(kind), call(1 + WARM_CALLS)];
        steps.push(Step::Repeat {
            times: REPEATS,
            steps: once,
        });
    }
    Workload::expand(&steps)
}

fn judge(stack: &Stack, calls: &[Call]) -> Vec<Check> {
    let quic = stack.protocol == Protocol::H3;
    let new = if quic { 2.0 } else { 3.0 };
    let mut expected = vec![
        (State::ColdConnection, "new connection", new, NEW_MARGIN_MS),
        // Resumption saves bytes and signatures, never a round trip.
        (State::Resumed, "resumed connection", new, NEW_MARGIN_MS),
        (State::Warm, "warm call", 1.0, WARM_MARGIN_MS),
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

/// From the name's resolution to the first byte: DNS is not the transport's.
fn first_byte_ms(call: &Call) -> Option<f64> {
    Some((call.first_byte_ns? - call.dns_ns.unwrap_or(0)) as f64 / 1e6)
}

const ONE_WAY_NS: u64 = 50_000_000;
const RTT_MS: f64 = 100.0;
const REPEATS: u32 = 3;
const WARM_CALLS: u32 = 2;
/// A handshake's signatures and key exchanges, and a dozen wake-ups on two busy cores.
const NEW_MARGIN_MS: f64 = 12.0;
/// Four wake-ups.
const WARM_MARGIN_MS: f64 = 3.0;
