//! A golden table of what links do to packets: any change to the model shows here, in numbers.
//!
//! Each line sends ten seconds of full packets in bursts of ten, at one and a half times a rate. It
//! prints what happened to them. A managed queue's drops are those of a full queue and its management's.
//! `COMMUTE_GOLDEN=write` rewrites the table.

use std::fmt::Write as _;

use link::{
    AqmKind, AqmSpec, BadLength, BurstSpec, Counters, Departure, Gate, GilbertElliottSpec,
    Handovers, LossSpec, NS_PER_MS, OnClose, PathSpec, QueueSpec, RateSpec, ReorderSpec,
    StationSpec, Trace,
};

use crate::common::{Arrival, arrival, at_ns, path, poll_on_time, token};

const MS: u64 = NS_PER_MS;
const SECONDS: u64 = 10;
const PACKET_BYTES: u32 = 1500;
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/virtual_time/golden.txt");

#[test]
fn golden_table_is_unchanged() {
    testing::golden(GOLDEN, &table());
}

fn table() -> String {
    let mut table = "rate kbit/s  queue        loss                 sent  goodput kbit/s  \
                     dropped queue/loss/gate   delay p50     p99     max ms\n"
        .to_owned();
    for kbps in [750, 6_300, 100_000] {
        for (queue_name, queue) in queues() {
            for (loss_name, loss) in losses() {
                let rate = RateSpec::constant(kbps * 1000);
                let spec = PathSpec {
                    rate,
                    queue,
                    loss,
                    delay_ns: 30 * MS,
                    ..PathSpec::default()
                };
                row(
                    &mut table,
                    &kbps.to_string(),
                    queue_name,
                    loss_name,
                    &spec,
                    kbps,
                );
            }
        }
    }
    for (name, spec) in traces_and_gates() {
        row(&mut table, name, "20 packets", "none", &spec, 6_300);
    }
    for (name, on_close) in [("HO keep", OnClose::Keep), ("HO flush", OnClose::Flush)] {
        let spec = handed_over(on_close);
        row(&mut table, name, "20 packets", "none", &spec, 6_300);
    }
    for (name, spec) in variants() {
        row(&mut table, name, "none", "fixed fades", &spec, 6_300);
    }
    for (name, kind) in [("CoDel", AqmKind::Codel), ("FQ-CoDel", AqmKind::FqCodel)] {
        let spec = PathSpec {
            rate: RateSpec::constant(6_300_000),
            queue: queues()[1].1,
            aqm: Some(AqmSpec::new(kind, PACKET_BYTES)),
            delay_ns: 30 * MS,
            ..PathSpec::default()
        };
        row(&mut table, name, "100 ms", "none", &spec, 6_300);
    }
    table
}

fn queues() -> [(&'static str, QueueSpec); 3] {
    let none = QueueSpec::default();
    [
        (
            "20 packets",
            QueueSpec {
                packets: Some(20),
                ..none
            },
        ),
        (
            "100 ms",
            QueueSpec {
                time_ns: Some(100 * MS),
                ..none
            },
        ),
        (
            "64000 bytes",
            QueueSpec {
                bytes: Some(64_000),
                ..none
            },
        ),
    ]
}

fn losses() -> [(&'static str, Option<LossSpec>); 4] {
    let burst = BurstSpec {
        good_ns: 950 * MS,
        bad_ns: 50 * MS,
        bad_length: BadLength::Exponential,
        loss_ppb: 1_000_000_000,
    };
    let chain = GilbertElliottSpec {
        to_bad_ppb: 5_000_000,
        to_good_ppb: 200_000_000,
        good_loss_ppb: 0,
        bad_loss_ppb: 1_000_000_000,
    };
    [
        ("none", None),
        ("2 %", Some(LossSpec::Iid { ppb: 20_000_000 })),
        ("fades 5 %", Some(LossSpec::Burst(burst))),
        ("chain 2.4 %", Some(LossSpec::GilbertElliott(chain))),
    ]
}

/// Returns a trace of 6 Mbit/s with an opportunity every two milliseconds, and gates that close for
/// 200 ms in each second.
fn traces_and_gates() -> [(&'static str, PathSpec); 3] {
    let gated = |on_close| PathSpec {
        rate: RateSpec::constant(6_300_000),
        queue: QueueSpec {
            packets: Some(20),
            ..QueueSpec::default()
        },
        gate: Some(Gate::new(vec![(500 * MS, 700 * MS)], Some(1000 * MS), on_close).unwrap()),
        delay_ns: 30 * MS,
        ..PathSpec::default()
    };
    let trace = Trace::new((1..=500).map(|i| 2 * i).collect()).unwrap();
    let traced = PathSpec {
        rate: RateSpec::Trace(trace),
        gate: None,
        ..gated(OnClose::Keep)
    };
    [
        ("trace 6000", traced),
        ("gate keep", gated(OnClose::Keep)),
        ("gate flush", gated(OnClose::Flush)),
    ]
}

/// Returns a path with a handover of 50 ms in each second: after every other one the delay is 15 ms longer.
fn handed_over(queue: OnClose) -> PathSpec {
    let station = |at_ms, extra_ms| StationSpec {
        at_ns: at_ms * MS,
        interruption_ns: 50 * MS,
        extra_delay_ns: extra_ms * MS,
        queue,
    };
    let stations = vec![station(500, 15), station(1500, 0)];
    PathSpec {
        rate: RateSpec::constant(6_300_000),
        queue: QueueSpec {
            packets: Some(20),
            ..QueueSpec::default()
        },
        handovers: Some(Handovers::new(stations, Some(2000 * MS)).unwrap()),
        delay_ns: 30 * MS,
        ..PathSpec::default()
    }
}

/// Returns two paths with losses in fades of equal length, whose delay varies with and without
/// reordering.
fn variants() -> [(&'static str, PathSpec); 2] {
    let burst = BurstSpec {
        good_ns: 950 * MS,
        bad_ns: 50 * MS,
        bad_length: BadLength::Fixed,
        loss_ppb: 1_000_000_000,
    };
    let jitter = PathSpec {
        loss: Some(LossSpec::Burst(burst)),
        delay_ns: 30 * MS,
        jitter_ns: 20 * MS,
        ..PathSpec::default()
    };
    let reorder = PathSpec {
        jitter_ns: 0,
        reorder: Some(ReorderSpec {
            ppb: 500_000_000,
            extra_ns: 5 * MS,
            jitter_ns: 10 * MS,
        }),
        ..jitter.clone()
    };
    [("jitter", jitter), ("reorder", reorder)]
}

fn row(table: &mut String, rate: &str, queue: &str, loss: &str, spec: &PathSpec, kbps: u64) {
    let arrivals = arrivals(kbps * 3 / 2);
    let mut path = path(spec, 7);
    let departures = poll_on_time(&mut path, &arrivals);
    let Counters {
        offered,
        delivered,
        dropped,
        ..
    } = path.counters();
    let delays = delays_ns(&departures, &arrivals);
    let goodput_kbps = delivered * u64::from(PACKET_BYTES) * 8 / SECONDS / 1000;
    let by_queue = match spec.aqm {
        Some(_) => format!("{}+{}", dropped.queue, dropped.aqm),
        None => dropped.queue.to_string(),
    };
    let drops = format!("{by_queue}/{}/{}", dropped.loss, dropped.gate);
    let [p50, p99, max] = [50, 99, 100].map(|percent| quantile_ms(&delays, percent));
    writeln!(
        table,
        "{rate:<12} {queue:<12} {loss:<18} {offered:>6} {goodput_kbps:>15}  {drops:>23} \
         {p50:>11.3} {p99:>7.3} {max:>7.3}"
    )
    .unwrap();
}

/// Returns bursts of ten packets at a mean rate of `kbps`.
fn arrivals(kbps: u64) -> Vec<Arrival> {
    let packets = kbps * 1000 * SECONDS / 8 / u64::from(PACKET_BYTES);
    let gap_ns = 10 * u64::from(PACKET_BYTES) * 8 * 1_000_000 / kbps;
    (0..packets)
        .map(|i| arrival(i / 10 * gap_ns, i, PACKET_BYTES, 0))
        .collect()
}

fn delays_ns(departures: &[Departure], arrivals: &[Arrival]) -> Vec<u64> {
    let delivered = departures
        .iter()
        .filter(|d| matches!(d, Departure::Deliver { .. }));
    let mut delays: Vec<u64> = delivered
        .map(|d| at_ns(d) - arrivals[token(d) as usize].at_ns)
        .collect();
    delays.sort_unstable();
    delays
}

fn quantile_ms(sorted_ns: &[u64], percent: usize) -> f64 {
    let rank = (sorted_ns.len() * percent).div_ceil(100).max(1) - 1;
    sorted_ns[rank] as f64 / MS as f64
}
