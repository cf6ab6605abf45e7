//! Checks that the walk charges time to its cause, where the cause is known.

use driver::protocol::Protocol;
use explain::Part;
use record::{Call, Check};
use study::plan::Workload;
use study::{Chain, LINUX_CUBIC};

use super::examination::{Examination, KnownStack, check, median};
use super::goodput;
use super::physics::{RTT_MS, STACKS, call, far, new_connections};
use crate::cell::measured::Measured;

/// Packets leave late by a tenth of a millisecond, and a round trip has two.
const LINK_MARGIN_MS: f64 = 1.0;

/// Linux delays an acknowledgement by 40 ms, and its clock may tick every 4 ms.
const DELAYED_ACK_MS: f64 = 40.0;
const DELAYED_ACK_MARGIN_MS: f64 = 8.0;
/// The segment that waits for its acknowledgement may have left a little before the request.
const SECOND_NAGLE_MARGIN_MS: f64 = 15.0;

const FILE_BYTES: u64 = 2_000_000;
/// Holds all that slow start sends too much.
const QUEUE_NS: u64 = 400_000_000;
/// What slow start leaves unused.
const BUSY_MARGIN_PERCENT: f64 = 5.0;

/// The server sends the answer to the first request in ten chunks, 50 ms apart.
const SLOW_ANSWER: &str = "--inject=1=slow";
const PAUSE_MS: f64 = 50.0;
/// The server's timer ticks each millisecond, and its thread has to wake each time.
const PAUSES_MARGIN_MS: f64 = 20.0;

/// Ten segments, then twice as many in each round trip: 14, 29, 58 kB. What the first image leaves is enough for the
/// others.
const IMAGE_BYTES: u64 = 60_000;
const IMAGES: usize = 3;
const WINDOWS: [f64; IMAGES] = [2.0, 0.0, 0.0];
const WINDOWS_MARGIN: f64 = 0.5;

/// Measures cells whose time has a known cause, and checks the parts of their calls.
pub(super) fn known(examination: &mut Examination<'_>) -> Vec<Check> {
    let mut checks: Vec<Check> = STACKS
        .into_iter()
        .flat_map(|stack| new_connection(examination, stack))
        .collect();
    checks.extend(long_chain(examination));
    checks.extend(nagle(examination));
    checks.extend(warm_images(examination));
    for stack in STACKS {
        if matches!(stack.protocol, Protocol::H2 | Protocol::H3) {
            checks.extend(saturated_link(examination, stack));
            checks.extend(slow_server(examination, stack));
        }
    }
    checks
}

/// Checks that a new connection waits one round trip for each handshake, and one for its request.
fn new_connection(examination: &mut Examination<'_>, stack: KnownStack) -> Vec<Check> {
    let what = format!("{}: new connection", stack.label());
    examination.examine(&far(None), &stack, &new_connections(1), |measured| {
        let expected = handshakes(&stack).iter().chain(&[Part::Exchange]);
        waits(&what, measured, &expected.copied().collect::<Vec<_>>())
    })
}

/// Checks that a long certificate chain adds a round trip over QUIC (RFC 9000 section 8.1), and none over TCP (RFC
/// 6928).
fn long_chain(examination: &mut Examination<'_>) -> Vec<Check> {
    examination.chain = Chain::Long;
    let mut checks = Vec::new();
    for stack in STACKS {
        let more: &[Part] = match stack.protocol {
            Protocol::H2 => &[],
            Protocol::H3 => &[Part::AmplificationLimit],
            _ => continue,
        };
        let what = format!("{}: long chain", stack.label());
        checks.extend(
            examination.examine(&far(None), &stack, &new_connections(1), |measured| {
                let expected = handshakes(&stack).iter().chain(&[Part::Exchange]);
                let expected: Vec<Part> = expected.chain(more).copied().collect();
                waits(&what, measured, &expected)
            }),
        );
    }
    examination.chain = Chain::Typical;
    checks
}

/// Checks the waits of OkHttp, where it is installed. It leaves Nagle's algorithm on, so that the second segment of each
/// request waits for the acknowledgement of the first (RFC 896). After its first request on a connection the server
/// delays that acknowledgement (RFC 1122 section 4.2.3.2).
fn nagle(examination: &mut Examination<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, waits) in [("okhttp", true), ("okhttp-nodelay", false)] {
        let stack = KnownStack {
            name,
            protocol: Protocol::H2,
        };
        let found = examination.lab.stacks.find(name);
        if found.is_err() || found.is_ok_and(|driver| driver.missing().is_some()) {
            continue;
        }
        let workload = new_connections(2);
        checks.extend(
            examination.examine(&far(None), &stack, &workload, |measured| {
                let round_trip_ms = if waits { RTT_MS } else { 0.0 };
                let delay_ms = if waits { DELAYED_ACK_MS } else { 0.0 };
                [
                    (true, Part::Nagle, round_trip_ms, LINK_MARGIN_MS),
                    (false, Part::Nagle, round_trip_ms, SECOND_NAGLE_MARGIN_MS),
                    (false, Part::DelayedAck, delay_ms, DELAYED_ACK_MARGIN_MS),
                ]
                .into_iter()
                .map(|(is_first, part, expected_ms, margin_ms)| {
                    let calls = measured.calls.iter().filter(|call| call.first == is_first);
                    let times = calls.map(|call| part_ms(call, part)).collect();
                    let which = if is_first { "first" } else { "second" };
                    let name = format!("{}: {which} request waits: {}", stack.label(), part.name());
                    check(name, expected_ms, median(times), margin_ms, "ms")
                })
                .collect()
            }),
        );
    }
    checks
}

/// Checks that images on a warm connection wait as often for the window over QUIC as over TCP, if QUIC's congestion control
/// behaves as TCP's: the window has grown to what the images before them used.
fn warm_images(examination: &mut Examination<'_>) -> Vec<Check> {
    let images = std::iter::repeat_n(goodput::get(IMAGE_BYTES), IMAGES);
    let workload = Workload::expand(&std::iter::once(call(1)).chain(images).collect::<Vec<_>>());
    let mut checks = Vec::new();
    for stack in STACKS {
        examination.congestion = match stack.protocol {
            Protocol::H2 => None,
            Protocol::H3 => Some(LINUX_CUBIC),
            _ => continue,
        };
        checks.extend(
            examination.examine(&far(None), &stack, &workload, |measured| {
                let images = measured.calls.iter().skip(1).zip(WINDOWS);
                let line = |(n, (call, windows)): (usize, (&Call, f64))| {
                    check(
                        format!("{}: image {} waits for its window", stack.label(), n + 1),
                        windows,
                        part_ms(call, Part::CongestionWindow) / RTT_MS,
                        WINDOWS_MARGIN,
                        "round trips",
                    )
                };
                images.enumerate().map(line).collect()
            }),
        );
    }
    examination.congestion = None;
    checks
}

/// Checks that a long download waits for the link's rate.
fn saturated_link(examination: &mut Examination<'_>, stack: KnownStack) -> Vec<Check> {
    let workload = Workload::expand(&[call(1), goodput::get(FILE_BYTES)]);
    examination.examine(&goodput::slow(QUEUE_NS), &stack, &workload, |measured| {
        let busy = measured.calls.last().map(|call| {
            let all_ns: u64 = call.parts.values().sum();
            100.0 * part_ms(call, Part::LinkBusy) * 1e6 / all_ns as f64
        });
        vec![check(
            format!("{}: a download waits for the link's rate", stack.label()),
            100.0,
            busy.unwrap_or(f64::NAN),
            BUSY_MARGIN_PERCENT,
            "% of its time",
        )]
    })
}

/// Checks that a server's pauses are charged to it.
fn slow_server(examination: &mut Examination<'_>, stack: KnownStack) -> Vec<Check> {
    // The end of a stream of HTTP/3 follows in a frame of its own, after another pause.
    let pauses = if stack.protocol == Protocol::H3 {
        10.0
    } else {
        9.0
    };
    examination.server_args = vec![SLOW_ANSWER.to_owned()];
    let workload = Workload::expand(&[call(1)]);
    let checks = examination.examine(&far(None), &stack, &workload, |measured| {
        let server = (measured.calls.first()).map(|call| part_ms(call, Part::Server));
        vec![check(
            format!("{}: a server that pauses", stack.label()),
            pauses * PAUSE_MS,
            server.unwrap_or(f64::NAN),
            PAUSES_MARGIN_MS,
            "ms",
        )]
    });
    examination.server_args.clear();
    checks
}

fn handshakes(stack: &KnownStack) -> &'static [Part] {
    match stack.protocol {
        Protocol::H3 => &[Part::QuicHandshake],
        _ => &[Part::TcpHandshake, Part::TlsHandshake],
    }
}

/// Returns a check of each part that should take a round trip, and one that no other part but those of the two processes
/// takes any time.
fn waits(what: &str, measured: &Measured, expected: &[Part]) -> Vec<Check> {
    let median_ms = |part: Part| {
        let times = measured.calls.iter().map(|call| part_ms(call, part));
        median(times.collect())
    };
    let line = |name: String, expected_ms: f64, measured_ms: f64| {
        check(name, expected_ms, measured_ms, LINK_MARGIN_MS, "ms")
    };
    let is_other =
        |part: &Part| !expected.contains(part) && !matches!(part, Part::Client | Part::Server);
    let others = Part::ALL.into_iter().filter(is_other);
    let others = line(
        format!("{what} waits for nothing else"),
        0.0,
        others.map(median_ms).sum(),
    );
    let named = expected.iter().map(|&part| {
        let name = format!("{what} waits: {}", part.name());
        line(name, RTT_MS, median_ms(part))
    });
    named.chain([others]).collect()
}

fn part_ms(call: &Call, part: Part) -> f64 {
    let ns = call.parts.get(part.name()).copied();
    ns.unwrap_or(0) as f64 / 1e6
}
