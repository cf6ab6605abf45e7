//! Five packet counts that must agree: the kernel's at both ends of both interface pairs, and the
//! tap's. A dropped packet is counted on the sending side only.

use driver::protocol::Protocol;
use link::tap::Fate;
use link::{LossSpec, PathSpec, QueueSpec, RateSpec};
use record::Check;
use study::Step;
use study::plan::Workload;

use super::examination::{Examination, KnownStack, check, impossible};
use crate::cell::measured::Measured;
use crate::network;

/// Compares the counters of a lossy download over TCP and over QUIC; quinn sends in bursts with
/// UDP_SEGMENT.
pub(super) fn compare_counters(examination: &mut Examination<'_>) -> Vec<Check> {
    let path = PathSpec {
        delay_ns: 10_000_000,
        rate: RateSpec::constant(20_000_000),
        queue: QueueSpec {
            time_ns: Some(100_000_000),
            ..QueueSpec::default()
        },
        loss: Some(LossSpec::Iid { ppb: 10_000_000 }),
        ..PathSpec::default()
    };
    let network = network::symmetric("1 % loss", path);
    let get = Step::Get {
        group: "file".into(),
        bytes: 2_000_000,
        times: 1,
    };
    // Packets still in flight when the last row arrives would be counted on one side only.
    let rest = Step::Pause { ns: 500_000_000 };
    let workload = Workload::expand(&[get, rest]);
    let stacks = [
        KnownStack {
            name: "hyper",
            protocol: Protocol::H2,
        },
        KnownStack {
            name: "quinn",
            protocol: Protocol::H3,
        },
    ];
    stacks
        .iter()
        .flat_map(|stack| {
            examination.examine(&network, stack, &workload, |m| compare(&stack.label(), m))
        })
        .collect()
}

fn compare(label: &str, m: &Measured) -> Vec<Check> {
    let (w, i) = (&m.window, &m.window.interfaces);
    let tapped = |fate: fn(&Fate) -> bool| m.tap.iter().filter(|p| fate(&p.fate)).count() as f64;
    let sent = (w.up.all_sent().packets + w.down.all_sent().packets) as f64;
    let delivered = (w.up.all_delivered().packets + w.down.all_delivered().packets) as f64;
    let dropped = [&w.up, &w.down].map(|t| t.dropped.total() + t.stray.dropped);
    let dropped = dropped.iter().sum::<u64>() as f64;
    let equal = |what: &str, expected: f64, measured: u64| {
        check(
            format!("{label}: {what}"),
            expected,
            measured as f64,
            0.0,
            "packets",
        )
    };
    let mut checks = vec![
        equal(
            "sent, by the endpoints' kernel",
            sent,
            i.client.tx_packets + i.server.tx_packets,
        ),
        equal(
            "sent, by the link's kernel",
            sent,
            i.link_client.rx_packets + i.link_server.rx_packets,
        ),
        equal(
            "received, by the link's kernel",
            delivered,
            i.link_client.tx_packets + i.link_server.tx_packets,
        ),
        equal(
            "received, by the endpoints' kernel",
            delivered,
            i.client.rx_packets + i.server.rx_packets,
        ),
        check(
            format!("{label}: sent, by the tap"),
            sent,
            tapped(|_| true),
            0.0,
            "packets",
        ),
        check(
            format!("{label}: dropped, by the tap"),
            dropped,
            tapped(|f| matches!(f, Fate::Dropped(_))),
            0.0,
            "packets",
        ),
        equal(
            "frames above the MTU",
            0.0,
            w.up.oversize_frames + w.down.oversize_frames,
        ),
        equal("drops outside the model", 0.0, w.foreign_drops.total()),
        equal(
            "frames that are not TCP, UDP or ICMP errors",
            0.0,
            w.up.foreign_frames + w.down.foreign_frames,
        ),
    ];
    if dropped == 0.0 {
        checks.push(impossible(
            label,
            &"the link dropped no packet, so drops were not checked",
        ));
    }
    checks
}
