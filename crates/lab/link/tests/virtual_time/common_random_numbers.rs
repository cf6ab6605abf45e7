//! Common random numbers: what the draws of a packet may depend on, and what not.

use crate::common::{Arrival, arrival, by_token, other, path, poll_at_end, token};
use link::{
    BadLength, BurstSpec, Departure, Direction, FlowRule, FlowTable, GilbertElliottSpec, LossSpec,
    NS_PER_MS, Path, PathSpec, QueueSpec, RateSpec, ReorderSpec,
};

const MS: u64 = NS_PER_MS;
const FLOW: u32 = 1;

/// Returns each loss model, losing about a fifth of the packets.
fn models() -> [LossSpec; 3] {
    [
        LossSpec::Iid { ppb: 200_000_000 },
        LossSpec::Burst(BurstSpec {
            good_ns: 80 * MS,
            bad_ns: 20 * MS,
            bad_length: BadLength::Exponential,
            loss_ppb: 1_000_000_000,
        }),
        LossSpec::GilbertElliott(GilbertElliottSpec {
            to_bad_ppb: 50_000_000,
            to_good_ppb: 200_000_000,
            good_loss_ppb: 0,
            bad_loss_ppb: 1_000_000_000,
        }),
    ]
}

fn spec(loss: LossSpec) -> PathSpec {
    PathSpec {
        loss: Some(loss),
        delay_ns: 20 * MS,
        reorder: Some(ReorderSpec {
            ppb: 100_000_000,
            extra_ns: 5 * MS,
            jitter_ns: 3 * MS,
        }),
        ..PathSpec::default()
    }
}

/// Returns a thousand packets of one flow, a millisecond apart.
fn one_flow() -> Vec<Arrival> {
    (0..1000).map(|i| arrival(i * MS, i, 1200, FLOW)).collect()
}

fn departures_of_flow(spec: &PathSpec, seed: u64, arrivals: &[Arrival]) -> Vec<Departure> {
    let mut out = by_token(poll_at_end(&mut path(spec, seed), arrivals));
    out.retain(|departure| token(departure) < 1000);
    out
}

fn lost(departures: &[Departure]) -> Vec<u64> {
    departures
        .iter()
        .filter(|d| matches!(d, Departure::Drop { .. }))
        .map(token)
        .collect()
}

#[test]
fn the_seed_determines_the_draws() {
    for model in models() {
        let spec = spec(model);
        let departures = departures_of_flow(&spec, 7, &one_flow());
        assert_eq!(departures, departures_of_flow(&spec, 7, &one_flow()));
        assert_ne!(departures, departures_of_flow(&spec, 8, &one_flow()));
        assert!((50..500).contains(&lost(&departures).len()), "{model:?}");
    }
}

#[test]
fn directions_draw_independently() {
    for model in models() {
        let departures = |direction| {
            let mut path = Path::new(&spec(model), direction, 7);
            path.start(0);
            by_token(poll_at_end(&mut path, &one_flow()))
        };
        assert_ne!(departures(Direction::Up), departures(Direction::Down));
    }
}

#[test]
fn other_flows_and_transports_shift_no_draw() {
    let mut mixed = Vec::new();
    for (i, packet) in one_flow().into_iter().enumerate() {
        let i = i as u64;
        mixed.push(packet);
        if i.is_multiple_of(3) {
            mixed.push(other(i * MS + 1, 10_000 + i));
        }
        if i.is_multiple_of(2) {
            mixed.push(arrival(i * MS + 2, 20_000 + i, 300, 2));
        }
    }
    for model in models() {
        let alone = departures_of_flow(&spec(model), 7, &one_flow());
        assert_eq!(
            alone,
            departures_of_flow(&spec(model), 7, &mixed),
            "{model:?}"
        );
    }
}

#[test]
fn packets_before_the_start_shift_no_draw() {
    for model in models() {
        let mut path = path(&spec(model), 7);
        let warm_up: Vec<Arrival> = (0..333)
            .map(|i| arrival(i * MS, i, 900, i as u32 % 5))
            .collect();
        poll_at_end(&mut path, &warm_up);
        let start_ns = 10_000 * MS;
        path.start(start_ns);
        let mut steps = one_flow();
        steps
            .iter_mut()
            .for_each(|arrival| arrival.at_ns += start_ns);
        let after = lost(&by_token(poll_at_end(&mut path, &steps)));
        assert_eq!(
            after,
            lost(&departures_of_flow(&spec(model), 7, &one_flow())),
            "{model:?}"
        );
    }
}

#[test]
fn late_packets_of_earlier_connections_shift_no_draw_in_either_direction() {
    const EARLIER: u64 = 0xfeed;
    let spec = spec(models()[0]);
    // The server sends the FIN of the earlier connection again and the client answers with a RST,
    // before the first connection opens.
    let lost_of = |with_strays: bool| {
        let mut up = FlowTable::new(FlowRule::Opening, Direction::Up);
        let mut down = FlowTable::new(FlowRule::Opening, Direction::Down);
        let stray = |direction_table: &mut FlowTable| {
            let mut fin = arrival(MS, 9999, 52, 0);
            fin.packet.flow = direction_table.number(EARLIER, None).map(|n| n.number);
            with_strays.then_some(fin)
        };
        let strays = [stray(&mut up), stray(&mut down)];
        for connection in 0..3 {
            let opened = up.number(connection, Some(connection)).unwrap();
            assert!(opened.changed);
            down.insert(connection, opened.number);
        }
        let mut lost_in = |direction: Direction| {
            let (table, stray) = match direction {
                Direction::Up => (&mut up, strays[0]),
                Direction::Down => (&mut down, strays[1]),
            };
            let packets = (0..900).map(|i| {
                let mut packet = arrival((10 + i) * MS, i, 1200, 0);
                packet.packet.flow = table.number(i % 3, None).map(|n| n.number);
                packet
            });
            let arrivals: Vec<Arrival> = stray.into_iter().chain(packets).collect();
            let mut path = Path::new(&spec, direction, 7);
            path.start(0);
            lost(&by_token(poll_at_end(&mut path, &arrivals)))
        };
        [lost_in(Direction::Up), lost_in(Direction::Down)]
    };
    let clean = lost_of(false);
    assert!(clean.iter().all(|lost| lost.len() > 100), "{clean:?}");
    assert_eq!(clean, lost_of(true));
}

#[test]
fn small_packets_shift_no_draw_of_full_size_packets() {
    let mut with_small = Vec::new();
    for (i, packet) in one_flow().into_iter().enumerate() {
        let i = i as u64;
        if i.is_multiple_of(7) {
            with_small.push(arrival(packet.at_ns, 10_000 + i, 52, FLOW));
        }
        with_small.push(packet);
    }
    for model in models() {
        let spec = PathSpec {
            loss: Some(model),
            ..PathSpec::default()
        };
        assert_eq!(
            departures_of_flow(&spec, 7, &one_flow()),
            departures_of_flow(&spec, 7, &with_small),
            "{model:?}"
        );
    }
}

#[test]
fn flows_draw_independently() {
    let twins: Vec<Arrival> = (0..1000)
        .flat_map(|i| {
            [
                arrival(i * MS, i, 1200, FLOW),
                arrival(i * MS, 10_000 + i, 1200, 2),
            ]
        })
        .collect();
    for model in [models()[0], models()[2]] {
        let out = by_token(poll_at_end(&mut path(&spec(model), 7), &twins));
        let lost = lost(&out);
        let (first, second): (Vec<u64>, Vec<u64>) = lost.iter().partition(|&&t| t < 10_000);
        let second: Vec<u64> = second.iter().map(|t| t - 10_000).collect();
        assert_ne!(first, second, "{model:?}");
    }
}

#[test]
fn other_stages_shift_no_loss() {
    for model in [models()[0], models()[2]] {
        let bare = PathSpec {
            loss: Some(model),
            ..PathSpec::default()
        };
        let full = PathSpec {
            rate: RateSpec::constant(50_000_000),
            queue: QueueSpec {
                packets: Some(1000),
                ..QueueSpec::default()
            },
            jitter_ns: 3 * MS,
            ..spec(model)
        };
        let lost_on = |spec: &PathSpec| lost(&departures_of_flow(spec, 7, &one_flow()));
        assert_eq!(lost_on(&bare), lost_on(&full), "{model:?}");
    }
}

#[test]
fn dense_and_sparse_senders_get_the_same_fades() {
    let spec = PathSpec {
        loss: Some(models()[1]),
        ..PathSpec::default()
    };
    let dense: Vec<u64> = lost(&departures_of_flow(&spec, 7, &one_flow()))
        .into_iter()
        .filter(|t| t % 10 == 0)
        .collect();
    let sparse: Vec<Arrival> = one_flow().into_iter().step_by(10).collect();
    assert_eq!(dense, lost(&departures_of_flow(&spec, 7, &sparse)));
}
