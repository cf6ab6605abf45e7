//! A saturated link carries its rate times the payload's share of each packet.

use driver::protocol::Protocol;
use link::{Network, PathSpec, QueueSpec, RateSpec};
use record::{CallResult, Check};
use study::Step;
use study::plan::Workload;

use super::examination::{Examination, KnownStack, check, impossible};
use crate::network;

const RATE_MBPS: f64 = 10.0;
/// The queue holds so much of the rate.
const QUEUE_NS: u64 = 200_000_000;
/// Six seconds of link: what slow start leaves unused in the first 100 ms is under 2 %.
const FILE_BYTES: u64 = 7_500_000;
/// 1500 B packets carry 1448 B under TCP with timestamps; TLS adds 22 B and HTTP/2 9 B to each
/// record of at most 16 KiB.
const TCP_SHARE: f64 = 1448.0 / 1500.0 * 16384.0 / (16384.0 + 22.0 + 9.0);
/// Packets of 1480 B, quinn's largest over a 1500 B path with IPv6, hold IP and UDP headers
/// (48 B), a QUIC header, tag and frame header (RFC 9000 and 9001: about 35 B).
const QUIC_SHARE: f64 = (1500.0 - 48.0 - 35.0) / 1500.0;
const MARGIN: f64 = 0.04;

/// Measures one long download over TCP and one over QUIC.
pub(super) fn saturated(examination: &mut Examination<'_>) -> Vec<Check> {
    let cases = [
        (
            KnownStack {
                name: "hyper",
                protocol: Protocol::H2,
            },
            TCP_SHARE,
        ),
        (
            KnownStack {
                name: "quinn",
                protocol: Protocol::H3,
            },
            QUIC_SHARE,
        ),
    ];
    cases
        .into_iter()
        .flat_map(|(stack, share)| download(examination, stack, share))
        .collect()
}

fn download(examination: &mut Examination<'_>, stack: KnownStack, share: f64) -> Vec<Check> {
    let name = format!("{}: goodput of a {RATE_MBPS} Mbit/s link", stack.label());
    let workload = Workload::expand(&[get(FILE_BYTES)]);
    examination.examine(&slow(QUEUE_NS), &stack, &workload, |m| {
        match m.calls.first() {
            Some(call) if call.result == CallResult::Ok => {
                let took_ns = call.end_ns - call.first_byte_ns.unwrap_or(0);
                let measured_mbps = FILE_BYTES as f64 * 8e3 / took_ns as f64;
                let expected = RATE_MBPS * share;
                vec![check(
                    name.clone(),
                    expected,
                    measured_mbps,
                    expected * MARGIN,
                    "Mbit/s",
                )]
            }
            other => vec![impossible(
                &name,
                &format!("the download failed: {other:?}"),
            )],
        }
    })
}

/// Returns a network of the rate that a download fills.
pub(super) fn slow(queue_ns: u64) -> Network {
    let path = PathSpec {
        delay_ns: 10_000_000,
        rate: RateSpec::constant((RATE_MBPS * 1e6) as u64),
        queue: QueueSpec {
            time_ns: Some(queue_ns),
            ..QueueSpec::default()
        },
        ..PathSpec::default()
    };
    network::symmetric("10 Mbit/s", path)
}

pub(super) fn get(bytes: u64) -> Step {
    Step::Get {
        group: "file".into(),
        bytes,
        times: 1,
    }
}
