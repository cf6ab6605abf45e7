//! Properties of every path, checked on random specs and arrivals in virtual time.

use crate::common::{
    Arrival, arrival, at_ns, by_token, other, path, poll_all, poll_at_end, poll_early,
    poll_on_time, token,
};
use link::{
    AqmKind, AqmSpec, BadLength, Begins, BurstSpec, Departure, Gate, GilbertElliottSpec, Handovers,
    LossSpec, OnClose, PathSpec, PoliceSpec, PolicySpec, QueueSpec, RadioSpec, RadioStateSpec,
    RateSpec, ReorderSpec, StationSpec, Trace,
};
use proptest::prelude::*;

const MS: u64 = link::NS_PER_MS;

fn rates() -> impl Strategy<Value = RateSpec> {
    prop_oneof![
        Just(RateSpec::Unlimited),
        (10_000..1_000_000_000_u64).prop_map(RateSpec::constant),
        prop::collection::vec(0..200_u32, 1..50).prop_map(|mut times_ms| {
            times_ms.sort_unstable();
            times_ms.push(200);
            RateSpec::Trace(Trace::new(times_ms).unwrap())
        }),
    ]
}

fn queues() -> impl Strategy<Value = QueueSpec> {
    prop_oneof![
        Just(QueueSpec::default()),
        (1..50_u64).prop_map(|n| QueueSpec {
            packets: Some(n),
            ..QueueSpec::default()
        }),
        (1500..100_000_u64).prop_map(|n| QueueSpec {
            bytes: Some(n),
            ..QueueSpec::default()
        }),
        (MS..500 * MS).prop_map(|ns| QueueSpec {
            time_ns: Some(ns),
            ..QueueSpec::default()
        }),
    ]
}

/// Generates management that drops soon, so that most queues drop.
fn aqms() -> impl Strategy<Value = Option<AqmSpec>> {
    let kind = prop_oneof![Just(AqmKind::Codel), Just(AqmKind::FqCodel)];
    let spec = (kind, 0..10 * MS, 1..20 * MS, prop::option::of(1..3000_u32));
    let spec = spec.prop_map(|(kind, target_ns, interval_ns, quantum_bytes)| AqmSpec {
        target_ns,
        interval_ns,
        quantum_bytes,
        ..AqmSpec::new(kind, 1500)
    });
    prop::option::of(spec)
}

/// Returns management that never drops.
fn lenient(kind: AqmKind) -> AqmSpec {
    AqmSpec {
        target_ns: u64::MAX,
        ..AqmSpec::new(kind, 1500)
    }
}

fn losses() -> impl Strategy<Value = Option<LossSpec>> {
    let chance = 0..1_000_000_000_u32;
    prop_oneof![
        Just(None),
        chance.clone().prop_map(|ppb| Some(LossSpec::Iid { ppb })),
        (1..100 * MS, 1..100 * MS, chance.clone(), any::<bool>()).prop_map(
            |(good_ns, bad_ns, loss_ppb, fixed)| Some(LossSpec::Burst(BurstSpec {
                good_ns,
                bad_ns,
                bad_length: if fixed {
                    BadLength::Fixed
                } else {
                    BadLength::Exponential
                },
                loss_ppb
            }))
        ),
        (chance.clone(), chance.clone(), chance.clone(), chance).prop_map(|(p, r, g, b)| Some(
            LossSpec::GilbertElliott(GilbertElliottSpec {
                to_bad_ppb: p,
                to_good_ppb: r,
                good_loss_ppb: g,
                bad_loss_ppb: b,
            })
        )),
    ]
}

fn gates() -> impl Strategy<Value = Option<Gate>> {
    let closing = (
        0..100 * MS,
        1..50 * MS,
        1..100 * MS,
        any::<bool>(),
        any::<bool>(),
    );
    prop::option::of(
        closing.prop_map(|(from_ns, for_ns, open_ns, repeats, keeps)| {
            let to_ns = from_ns + for_ns;
            let on_close = if keeps { OnClose::Keep } else { OnClose::Flush };
            Gate::new(
                vec![(from_ns, to_ns)],
                repeats.then_some(to_ns + open_ns),
                on_close,
            )
            .unwrap()
        }),
    )
}

fn handovers() -> impl Strategy<Value = Option<Handovers>> {
    let station = (1..50 * MS, 1..50 * MS, 0..30 * MS, any::<bool>());
    let stations = prop::collection::vec(station, 1..5);
    let handovers = (stations, any::<bool>()).prop_map(|(list, repeats)| {
        let mut end_ns = 0;
        let mut stations = Vec::new();
        for (open_ns, interruption_ns, extra_delay_ns, keeps) in list {
            stations.push(StationSpec {
                at_ns: end_ns + open_ns,
                interruption_ns,
                extra_delay_ns,
                queue: if keeps { OnClose::Keep } else { OnClose::Flush },
            });
            end_ns += open_ns + interruption_ns;
        }
        Handovers::new(stations, repeats.then_some(end_ns + 1)).unwrap()
    });
    prop::option::of(handovers)
}

fn policies() -> impl Strategy<Value = Option<PolicySpec>> {
    let police = (1000..10_000_000_u64, 1500..10_000_u64, 0..100 * MS);
    let police = police.prop_map(|(rate_bps, burst_bytes, after_ns)| PoliceSpec {
        rate_bps,
        burst_bytes,
        after_ns,
    });
    let policy = (prop::option::of(0..200 * MS), prop::option::of(police));
    prop::option::of(policy.prop_map(|(block_after_ns, police)| PolicySpec {
        block_after_ns,
        police,
        udp_ports: Vec::new(),
    }))
}

fn reorders() -> impl Strategy<Value = Option<ReorderSpec>> {
    let reorder = (0..1_000_000_000_u32, 0..50 * MS, 0..50 * MS);
    prop::option::of(reorder.prop_map(|(ppb, extra_ns, jitter_ns)| ReorderSpec {
        ppb,
        extra_ns,
        jitter_ns,
    }))
}

fn specs() -> impl Strategy<Value = PathSpec> {
    let parts = (
        rates(),
        (queues(), aqms()),
        losses(),
        gates(),
        policies(),
        reorders(),
        radios(),
        handovers(),
    );
    (parts, 0..100 * MS, 0..120 * MS).prop_map(
        |(
            (rate, (queue, aqm), loss, gate, policy, reorder, radio, handovers),
            delay_ns,
            jitter_ns,
        )| {
            PathSpec {
                // A network has a gate or handovers, but not both.
                handovers: handovers.filter(|_| gate.is_none()),
                policy,
                gate,
                queue,
                aqm,
                rate,
                loss,
                delay_ns,
                jitter_ns: if jitter_ns > delay_ns { 0 } else { jitter_ns },
                reorder,
                radio,
            }
        },
    )
}

fn radios() -> impl Strategy<Value = Option<RadioSpec>> {
    let state = (1..20 * MS, 0..20 * MS, 0..20 * MS, 1..20 * MS, 0..1280_u32);
    let begins = prop_oneof![Just(Begins::Idle), Just(Begins::Connected)];
    let spec = (begins, prop::collection::vec(state, 1..4)).prop_map(|(begins, list)| {
        let mut states = vec![RadioStateSpec {
            name: "connected".to_owned(),
            ..RadioStateSpec::default()
        }];
        for (longer_ns, down_cycle_ns, up_cycle_ns, promotion_ns, small_bytes) in list {
            // No cycle may be longer than the state.
            let longer_ns = longer_ns + 20 * MS;
            states.push(RadioStateSpec {
                name: format!("state{}", states.len()),
                after_ns: states[states.len() - 1].after_ns + longer_ns,
                down_cycle_ns,
                up_cycle_ns,
                promotion_ns,
                promotion_jitter_ns: promotion_ns / 2,
                small_up_bytes: small_bytes,
                small_down_bytes: small_bytes / 2,
            });
        }
        Some(RadioSpec::new(begins, states).unwrap())
    });
    prop_oneof![Just(None), spec]
}

/// Generates up to 200 packets of three flows in bursts and pauses, with other transports between
/// them.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap_ns = prop_oneof![Just(0), 0..MS, 0..20 * MS];
    let one = (gap_ns, 40..1501_u32, 0..4_u32);
    prop::collection::vec(one, 1..200).prop_map(|list| {
        let mut now_ns = 0;
        let make = |(token, (gap_ns, ip_bytes, flow)): (usize, (u64, u32, u32))| {
            now_ns += gap_ns;
            let token = token as u64;
            if flow == 3 {
                other(now_ns, token)
            } else {
                arrival(now_ns, token, ip_bytes, flow)
            }
        };
        list.into_iter().enumerate().map(make).collect()
    })
}

/// Returns a spec that a network file can say.
fn without_contradictions(mut spec: PathSpec) -> PathSpec {
    if matches!(spec.rate, RateSpec::Trace(_)) {
        (spec.gate, spec.handovers) = (None, None);
    }
    let gate_keeps = spec
        .gate
        .as_ref()
        .is_some_and(|g| g.on_close() == OnClose::Keep);
    let mut stations = spec.handovers.iter().flat_map(Handovers::stations);
    let waits = spec.rate != RateSpec::Unlimited
        || gate_keeps
        || stations.any(|station| station.queue == OnClose::Keep);
    spec.queue = QueueSpec {
        time_ns: None,
        bytes: spec.queue.bytes.filter(|_| waits),
        packets: waits.then_some(spec.queue.packets.unwrap_or(50)),
    };
    spec.aqm = spec.aqm.filter(|aqm| {
        let has_quantum = aqm.quantum_bytes.is_none_or(|bytes| bytes >= 256);
        waits && (1_000..aqm.interval_ns).contains(&aqm.target_ns) && has_quantum
    });
    if let Some(aqm) = &mut spec.aqm {
        let is_fair = aqm.kind == AqmKind::FqCodel;
        aqm.quantum_bytes = aqm.quantum_bytes.filter(|_| is_fair);
    }
    spec
}

fn is_delivered(departure: &Departure) -> bool {
    matches!(departure, Departure::Deliver { .. })
}

proptest! {
    #[test]
    fn every_packet_departs_exactly_once(spec in specs(), arrivals in arrivals(), seed: u64) {
        let mut path = path(&spec, seed);
        let mut out = Vec::new();
        for arrival in &arrivals {
            poll_all(&mut path, arrival.at_ns, &mut out);
            path.offer(arrival.at_ns, arrival.packet);
            let c = path.counters();
            prop_assert_eq!(c.offered, c.delivered + c.dropped.total() + c.queued);
            prop_assert_eq!(c.delivered + c.dropped.total(), out.len() as u64);
        }
        poll_all(&mut path, u64::MAX - 1, &mut out);
        let c = path.counters();
        prop_assert_eq!((c.queued, c.offered), (0, arrivals.len() as u64));
        prop_assert_eq!(out.iter().filter(|d| is_delivered(d)).count() as u64, c.delivered);
        let mut tokens: Vec<u64> = out.iter().map(token).collect();
        tokens.sort_unstable();
        prop_assert_eq!(tokens, (0..arrivals.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn departures_do_not_depend_on_when_the_path_is_polled(
        spec in specs(), arrivals in arrivals(), seed: u64, ahead_ns in 0..100 * MS,
    ) {
        let on_time = by_token(poll_on_time(&mut path(&spec, seed), &arrivals));
        let late = by_token(poll_at_end(&mut path(&spec, seed), &arrivals));
        prop_assert_eq!(&on_time, &late);
        // Management decides by what has arrived, so that no packet may be late.
        let ahead_ns = spec.aqm.map_or(ahead_ns, |_| 0);
        let early = by_token(poll_early(&mut path(&spec, seed), &arrivals, ahead_ns));
        prop_assert_eq!(&on_time, &early);
    }

    #[test]
    fn arrivals_out_of_order_count_as_simultaneous(
        spec in specs(), arrivals in arrivals(), back_ns in prop::collection::vec(0..5 * MS, 200),
        seed: u64,
    ) {
        // Of packets that arrive together, all but the first are stamped earlier.
        let mut stamped = arrivals.clone();
        for (i, arrival) in stamped.iter_mut().enumerate().skip(1) {
            if arrivals[i].at_ns == arrivals[i - 1].at_ns {
                arrival.at_ns = arrival.at_ns.saturating_sub(back_ns[i]);
            }
        }
        prop_assert_eq!(
            by_token(poll_at_end(&mut path(&spec, seed), &stamped)),
            by_token(poll_at_end(&mut path(&spec, seed), &arrivals))
        );
    }

    #[test]
    fn polling_at_deadlines_alone_makes_nothing_late(
        spec in specs(), arrivals in arrivals(), seed: u64,
    ) {
        let mut path = path(&spec, seed);
        for arrival in &arrivals {
            path.offer(arrival.at_ns, arrival.packet);
        }
        while let Some(deadline_ns) = path.next_deadline() {
            while let Some(departure) = path.poll(deadline_ns) {
                if is_delivered(&departure) {
                    prop_assert_eq!(at_ns(&departure), deadline_ns);
                }
            }
            prop_assert!(path.next_deadline().is_none_or(|next_ns| next_ns > deadline_ns));
        }
    }

    #[test]
    fn departures_come_in_order_of_time(spec in specs(), arrivals in arrivals(), seed: u64) {
        for out in [
            poll_on_time(&mut path(&spec, seed), &arrivals),
            poll_at_end(&mut path(&spec, seed), &arrivals),
        ] {
            let delivered: Vec<_> = out.iter().filter(|d| is_delivered(d)).collect();
            prop_assert!(delivered.is_sorted_by_key(|d| at_ns(d)));
        }
        let out = poll_at_end(&mut path(&spec, seed), &arrivals);
        prop_assert!(out.is_sorted_by_key(at_ns));
    }

    #[test]
    fn no_packet_overtakes_another_without_reordering(
        mut spec in specs(), arrivals in arrivals(), seed: u64,
    ) {
        spec.reorder = None;
        let out = poll_on_time(&mut path(&spec, seed), &arrivals);
        let flow = |token: &u64| arrivals[*token as usize].packet.flow;
        let delivered: Vec<u64> = out.iter().filter(|d| is_delivered(d)).map(token).collect();
        if spec.aqm.is_none_or(|aqm| aqm.kind == AqmKind::Codel) {
            prop_assert!(delivered.is_sorted());
        }
        for one in arrivals.iter().map(|arrival| arrival.packet.flow) {
            prop_assert!(delivered.iter().filter(|token| flow(token) == one).is_sorted());
        }
    }

    #[test]
    fn management_that_never_drops_changes_nothing(
        mut spec in specs(), mut arrivals in arrivals(), seed: u64,
    ) {
        let departures = |spec: &PathSpec, arrivals: &[Arrival]| {
            by_token(poll_on_time(&mut path(spec, seed), arrivals))
        };
        spec.aqm = None;
        let unmanaged = departures(&spec, &arrivals);
        spec.aqm = Some(lenient(AqmKind::Codel));
        prop_assert_eq!(&unmanaged, &departures(&spec, &arrivals));

        // Flows take turns, and a full queue drops at its head.
        arrivals.iter_mut().for_each(|arrival| {
            let Arrival { packet, .. } = arrival;
            (packet.flow, packet.src_port, packet.dst_port) = (Some(0), 1, 2);
            packet.transport = link::Transport::Udp;
        });
        spec.queue = QueueSpec::default();
        spec.aqm = None;
        let unmanaged = departures(&spec, &arrivals);
        spec.aqm = Some(lenient(AqmKind::FqCodel));
        prop_assert_eq!(&unmanaged, &departures(&spec, &arrivals));
    }

    #[test]
    fn no_packet_departs_before_its_delay(spec in specs(), arrivals in arrivals(), seed: u64) {
        for departure in poll_on_time(&mut path(&spec, seed), &arrivals) {
            let sent_ns = arrivals[token(&departure) as usize].at_ns;
            let least_ns = if is_delivered(&departure) { spec.delay_ns - spec.jitter_ns } else { 0 };
            prop_assert!(at_ns(&departure) >= sent_ns + least_ns);
        }
    }

    #[test]
    fn no_interval_carries_more_than_the_rate(
        bps in 100_000..1_000_000_000_u64, queue in queues(), aqm in aqms(), arrivals in arrivals(),
    ) {
        let spec = PathSpec { rate: RateSpec::constant(bps), queue, aqm, ..PathSpec::default() };
        let out: Vec<_> = poll_on_time(&mut path(&spec, 0), &arrivals)
            .into_iter()
            .filter(is_delivered)
            .collect();
        for first in 0..out.len() {
            let mut bits = 0_u128;
            for last in first + 1..out.len() {
                let packet = arrivals[token(&out[last]) as usize].packet;
                bits += u128::from(packet.ip_bytes) * 8;
                let took_ns = u128::from(at_ns(&out[last]) - at_ns(&out[first]));
                // One nanosecond for the rounding of the first departure.
                prop_assert!((took_ns + 1) * u128::from(bps) >= bits * 1_000_000_000);
            }
        }
    }

    #[test]
    fn valid_specs_survive_json(spec in specs()) {
        let spec = without_contradictions(spec);
        let json = serde_json::to_string(&spec).unwrap();
        prop_assert_eq!(serde_json::from_str::<PathSpec>(&json).unwrap(), spec);
    }
}
