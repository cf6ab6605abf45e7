use link::{
    Begins, Handovers, LossSpec, NS_PER_MS, OnClose, QueueSpec, RadioSpec, RadioStateSpec,
    RateSpec, ReorderSpec, StationSpec,
};

use super::*;

/// Returns a path of 2 Mbit/s with 100 ms of queue, 30 ms +-10 of delay and 2 % loss.
fn path() -> PathSpec {
    PathSpec {
        rate: RateSpec::constant(2_000_000),
        queue: QueueSpec {
            time_ns: Some(100 * NS_PER_MS),
            ..QueueSpec::default()
        },
        loss: Some(LossSpec::Iid { ppb: 20_000_000 }),
        delay_ns: 30 * NS_PER_MS,
        jitter_ns: 10 * NS_PER_MS,
        ..PathSpec::default()
    }
}

/// Returns the names of the checks that fail when the link does `real` instead of `configured`.
fn failed(configured: &PathSpec, real: &PathSpec) -> Vec<String> {
    let mut failed = Vec::new();
    for kind in [Kind::Sparse, Kind::Flood, Kind::Asleep] {
        let Some(train) = train(kind, configured) else {
            continue;
        };
        let sent_ns: Vec<u64> = (0..u64::from(train.count))
            .map(|i| i * train.spacing_ns)
            .collect();
        let arrivals = |path| replay(path, Direction::Down, SEED, &train, &sent_ns, 0);
        let checks = compare("down", kind, &train, &arrivals(configured), &arrivals(real));
        failed.extend(checks.into_iter().filter(|c| !c.pass).map(|c| c.name));
    }
    failed
}

#[test]
fn a_link_that_does_as_configured_passes() {
    assert_eq!(failed(&path(), &path()), Vec::<String>::new());
    let blocked = PathSpec {
        loss: Some(LossSpec::Iid { ppb: 1_000_000_000 }),
        ..path()
    };
    assert_eq!(failed(&blocked, &blocked), Vec::<String>::new());
}

#[test]
fn each_deviation_is_found() {
    let longer = PathSpec {
        delay_ns: path().delay_ns + NS_PER_MS / 2,
        ..path()
    };
    assert_eq!(failed(&path(), &longer), ["down: one-way delay"]);
    let calmer = PathSpec {
        jitter_ns: path().jitter_ns / 2,
        ..path()
    };
    let names = failed(&path(), &calmer);
    assert!(
        names.contains(&"down: one-way delay, p99".to_owned()),
        "{names:?}"
    );
    let lossless = PathSpec {
        loss: None,
        ..path()
    };
    let names = failed(&path(), &lossless);
    assert!(names.contains(&"down: loss".to_owned()), "{names:?}");
    let faster = PathSpec {
        rate: RateSpec::constant(2_020_000),
        ..path()
    };
    assert!(failed(&path(), &faster).contains(&"down: rate".to_owned()));
    let deeper = PathSpec {
        queue: QueueSpec {
            time_ns: Some(120 * NS_PER_MS),
            ..QueueSpec::default()
        },
        ..path()
    };
    let names = failed(&path(), &deeper);
    assert!(
        names.contains(&"down: delay with a full queue, p99".to_owned()),
        "{names:?}"
    );
    let disorderly = PathSpec {
        reorder: Some(ReorderSpec {
            ppb: 5_000_000,
            extra_ns: 20 * NS_PER_MS,
            jitter_ns: 0,
        }),
        ..path()
    };
    let names = failed(&path(), &disorderly);
    assert!(
        names.contains(&"down: overtaken probes".to_owned()),
        "{names:?}"
    );
}

/// Returns a path whose radio sleeps after 10 s and takes so long to wake up.
fn radio(promotion_ms: u64) -> PathSpec {
    let state = |name: &str| RadioStateSpec {
        name: name.to_owned(),
        ..RadioStateSpec::default()
    };
    let idle = RadioStateSpec {
        after_ns: 10_000 * NS_PER_MS,
        promotion_ns: promotion_ms * NS_PER_MS,
        ..state("idle")
    };
    PathSpec {
        radio: RadioSpec::new(Begins::Connected, vec![state("connected"), idle]).ok(),
        ..PathSpec::default()
    }
}

#[test]
fn a_radio_that_wakes_up_too_early_is_found() {
    assert_eq!(failed(&radio(300), &radio(300)), Vec::<String>::new());
    let asleep = "down: delay with a sleeping radio";
    let longest = format!("{asleep}, longest");
    assert_eq!(failed(&radio(300), &radio(297)), [asleep, &longest]);
}

/// Returns a path with a handover 12 s after the origin, after which the delay is so much longer.
fn handed_over(extra_ms: u64) -> PathSpec {
    let station = StationSpec {
        at_ns: 12_000 * NS_PER_MS,
        interruption_ns: 500 * NS_PER_MS,
        extra_delay_ns: extra_ms * NS_PER_MS,
        queue: OnClose::Flush,
    };
    PathSpec {
        handovers: Handovers::new(vec![station], None).ok(),
        ..PathSpec::default()
    }
}

#[test]
fn a_handover_that_changes_nothing_is_found() {
    let none = PathSpec::default();
    assert_eq!(
        failed(&handed_over(15), &handed_over(15)),
        Vec::<String>::new()
    );
    let names = failed(&handed_over(15), &none);
    assert_eq!(names, ["down: one-way delay, p99", "down: loss"]);
    assert_eq!(
        failed(&handed_over(15), &handed_over(10)),
        ["down: one-way delay, p99"]
    );
}

#[test]
fn slow_networks_take_a_minute_at_most_per_train() {
    for (name, _) in link::builtin() {
        let network = link::find(name).unwrap();
        for kind in [Kind::Sparse, Kind::Flood, Kind::Asleep] {
            let Some(train) = train(kind, &network.down) else {
                continue;
            };
            let train = with_drain(train, &network.down, Direction::Down);
            let sending = Duration::from_nanos(u64::from(train.count) * train.spacing_ns);
            let takes = sending + train.drain;
            assert!(takes < Duration::from_secs(60), "{name}: {takes:?}");
        }
    }
}
