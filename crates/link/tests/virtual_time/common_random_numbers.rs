//! Common luck: whose fate may depend on what.

use crate::common::{Arrival, arrival, asleep, fates, other, path, token};
use link::{
    BurstSpec, Departure, Direction, GilbertElliottSpec, LossSpec, NS_PER_MS, Path, PathSpec,
    QueueSpec, RateSpec, ReorderSpec,
};

const MS: u64 = NS_PER_MS;
const FLOW: u64 = 1;

/// Each model of loss, losing about a fifth.
fn models() -> [LossSpec; 3] {
    [
        LossSpec::Iid { ppb: 200_000_000 },
        LossSpec::Burst(BurstSpec {
            good_ns: 80 * MS,
            bad_ns: 20 * MS,
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
        }),
        ..PathSpec::default()
    }
}

/// A thousand packets of one flow, a millisecond apart.
fn one_flow() -> Vec<Arrival> {
    (0..1000).map(|i| arrival(i * MS, i, 1200, FLOW)).collect()
}

fn fates_of_flow(spec: &PathSpec, seed: u64, arrivals: &[Arrival]) -> Vec<Departure> {
    let mut out = fates(asleep(&mut path(spec, seed), arrivals));
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
fn the_same_seed_gives_the_same_fate_and_another_one_another() {
    for model in models() {
        let spec = spec(model);
        let fate = fates_of_flow(&spec, 7, &one_flow());
        assert_eq!(fate, fates_of_flow(&spec, 7, &one_flow()));
        assert_ne!(fate, fates_of_flow(&spec, 8, &one_flow()));
        assert!((50..500).contains(&lost(&fate).len()), "{model:?}");
    }
}

#[test]
fn the_two_directions_have_their_own_luck() {
    for model in models() {
        let fate = |direction| {
            let mut path = Path::new(&spec(model), direction, 7);
            path.start(0);
            fates(asleep(&mut path, &one_flow()))
        };
        assert_ne!(fate(Direction::Up), fate(Direction::Down));
    }
}

#[test]
fn a_second_flow_and_other_frames_shift_nobody() {
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
        let alone = fates_of_flow(&spec(model), 7, &one_flow());
        assert_eq!(alone, fates_of_flow(&spec(model), 7, &mixed), "{model:?}");
    }
}

#[test]
fn what_came_before_the_start_shifts_nobody() {
    for model in models() {
        let mut path = path(&spec(model), 7);
        let warm_up: Vec<Arrival> = (0..333).map(|i| arrival(i * MS, i, 900, i % 5)).collect();
        asleep(&mut path, &warm_up);
        let start_ns = 10_000 * MS;
        path.start(start_ns);
        let mut steps = one_flow();
        steps
            .iter_mut()
            .for_each(|arrival| arrival.at_ns += start_ns);
        let after = lost(&fates(asleep(&mut path, &steps)));
        assert_eq!(
            after,
            lost(&fates_of_flow(&spec(model), 7, &one_flow())),
            "{model:?}"
        );
    }
}

#[test]
fn the_name_of_a_flow_decides_nothing() {
    let renamed: Vec<Arrival> = (0..1000)
        .map(|i| arrival(i * MS, i, 1200, 0xdead_beef))
        .collect();
    for model in models() {
        let spec = spec(model);
        assert_eq!(
            fates_of_flow(&spec, 7, &one_flow()),
            fates_of_flow(&spec, 7, &renamed)
        );
    }
}

#[test]
fn two_flows_do_not_share_their_luck() {
    let twins: Vec<Arrival> = (0..1000)
        .flat_map(|i| {
            [
                arrival(i * MS, i, 1200, FLOW),
                arrival(i * MS, 10_000 + i, 1200, 2),
            ]
        })
        .collect();
    for model in [models()[0], models()[2]] {
        let out = fates(asleep(&mut path(&spec(model), 7), &twins));
        let lost = lost(&out);
        let (first, second): (Vec<u64>, Vec<u64>) = lost.iter().partition(|&&t| t < 10_000);
        let second: Vec<u64> = second.iter().map(|t| t - 10_000).collect();
        assert_ne!(first, second, "{model:?}");
    }
}

#[test]
fn another_stage_shifts_no_loss() {
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
        let lost_on = |spec: &PathSpec| lost(&fates_of_flow(spec, 7, &one_flow()));
        assert_eq!(lost_on(&bare), lost_on(&full), "{model:?}");
    }
}

#[test]
fn fades_meet_dense_and_sparse_senders_alike() {
    let spec = PathSpec {
        loss: Some(models()[1]),
        ..PathSpec::default()
    };
    let dense: Vec<u64> = lost(&fates_of_flow(&spec, 7, &one_flow()))
        .into_iter()
        .filter(|t| t % 10 == 0)
        .collect();
    let sparse: Vec<Arrival> = one_flow().into_iter().step_by(10).collect();
    assert_eq!(dense, lost(&fates_of_flow(&spec, 7, &sparse)));
}
