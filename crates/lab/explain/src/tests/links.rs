//! Links that close, and queues in which others stand.

use link::{
    AqmKind, AqmSpec, Begins, Gate, OnClose, RadioChange, RadioSpec, RadioState, RadioStateSpec,
};

use super::*;

/// Another flow keeps the link busy while the server works: the time is the server's. It is if nobody receives that flow
/// at the end of the link, too.
#[test]
fn a_queue_that_a_packet_did_not_stand_in_costs_it_nothing() {
    for fate in [Fate::Delivered, Fate::Left] {
        let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        // An acknowledgement begins a busy period of 100 packets, which is 115.2 ms long.
        tape.send(Down, asked, 0);
        for number in 0..100 {
            tape.push(OTHER_PORT, Down, asked + number * MS, FULL, false, 0x40);
            tape.last().fate = fate;
        }
        let end = tape.send(Down, asked + 100 * MS, 150);
        let parts = tape.parts(&Request {
            served: served(asked, asked + 100 * MS),
            ..request(Transport::Tcp, start, end)
        });
        assert_eq!(parts[Part::Server], 100 * MS, "{fate:?} {parts:?}");
        assert_eq!(parts[Part::Exchange], RTT, "{fate:?} {parts:?}");
        // What it found in the queue.
        let others = 32_000 + 100 * 1_440 * 800 - 100 * MS;
        assert_eq!(parts[Part::LinkBusyOthers], others, "{fate:?} {parts:?}");
    }
}

/// A request that wakes a radio up, which takes 300 ms, and a response that finds it awake or, by its log, asleep.
#[test]
fn a_promotion_is_the_radios() {
    let off = RadioStateSpec {
        name: "off".to_owned(),
        after_ns: 1,
        promotion_ns: 300 * MS,
        ..RadioStateSpec::default()
    };
    let on = RadioStateSpec {
        name: "on".to_owned(),
        ..RadioStateSpec::default()
    };
    let radio = RadioSpec::new(Begins::Idle, vec![on, off]).unwrap();
    for (rate, asleep_ms) in [
        (RateSpec::Unlimited, 0),
        (RateSpec::constant(10_000_000), 0),
        (RateSpec::constant(10_000_000), 70),
    ] {
        let takes = |bytes: u64| match rate {
            RateSpec::Unlimited => 0,
            _ => (bytes + 40) * 800,
        };
        let mut tape = Tape::new(Transport::Tcp);
        tape.rate = rate.clone();
        tape.open(0);
        let start = 490 * MS;
        tape.send(Up, start, 200);
        let asked = start + 300 * MS + takes(200) + DELAY;
        tape.last().departure_ns = asked;
        let responded = asked + 10 * MS;
        let end = tape.send(Down, responded, 150) + asleep_ms * MS;
        tape.last().departure_ns = end;
        let path = PathSpec {
            delay_ns: DELAY,
            rate: rate.clone(),
            radio: Some(radio.clone()),
            ..PathSpec::default()
        };
        // The second time it has come most of the way to the phone when it finds the radio asleep.
        let second = responded + DELAY + asleep_ms * MS;
        let woke = [start + 300 * MS, second].map(|at_ns| RadioChange {
            at_ns,
            state: RadioState::At(0),
        });
        let leg = |direction| Leg::of(&path).with_radio(direction, &woke);
        let crossings = Crossings::of(&tape.packets, &leg(Up), &leg(Down));
        let parts = crossings
            .path(&Request {
                served: served(asked, responded),
                ..request(Transport::Tcp, start, end)
            })
            .parts();
        assert_eq!(parts[Part::Radio], (300 + asleep_ms) * MS, "{parts:?}");
        assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
        assert_eq!(parts[Part::Server], 10 * MS, "{parts:?}");
        assert_eq!(parts[Part::LinkClosed], 0, "{parts:?}");
        assert_eq!(parts[Part::LinkBusy], takes(200) + takes(150), "{parts:?}");
    }
}

/// A response that a closed link holds for 200 ms.
#[test]
fn an_outage_is_not_a_busy_link() {
    let closed = (520 * MS, 720 * MS);
    for rate in [RateSpec::Unlimited, RateSpec::constant(10_000_000)] {
        let takes = |bytes: u64| match rate {
            RateSpec::Unlimited => 0,
            _ => (bytes + 40) * 800,
        };
        let mut tape = Tape::new(Transport::Tcp);
        tape.rate = rate.clone();
        tape.open(0);
        let start = 490 * MS;
        let asked = tape.send(Up, start, 200);
        tape.send(Down, asked + 10 * MS, 150);
        let left = closed.1 + takes(150);
        let held = tape.last();
        held.departure_ns = left + DELAY;
        let end = held.departure_ns;
        let gate = Gate::new(vec![closed], None, OnClose::Keep).unwrap();
        let path = PathSpec {
            delay_ns: DELAY,
            rate: rate.clone(),
            gate: Some(gate),
            ..PathSpec::default()
        };
        let crossings = Crossings::of(&tape.packets, &Leg::of(&path), &Leg::of(&path));
        let parts = crossings
            .path(&Request {
                served: served(asked, asked + 10 * MS),
                ..request(Transport::Tcp, start, end)
            })
            .parts();
        assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
        assert_eq!(parts[Part::Server], 10 * MS, "{parts:?}");
        assert_eq!(parts[Part::LinkBusy], takes(200) + takes(150), "{parts:?}");
        assert_eq!(
            parts[Part::LinkClosed],
            closed.1 - asked - 10 * MS,
            "{parts:?}"
        );
    }
}

/// A response of one packet that finds ten packets of another flow in the queue. In one queue it waits for all of them,
/// which take 11.52 ms. Where flows take turns, it waits for the one that is under way.
#[test]
fn packets_that_came_before_cost_nothing_if_they_are_sent_after() {
    const TAKES: u64 = 1_440 * 800;
    for kind in [None, Some(AqmKind::Codel), Some(AqmKind::FqCodel)] {
        let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let responded = asked + 10 * MS;
        for _ in 0..10 {
            tape.push(OTHER_PORT, Down, responded - 100, FULL, false, 0x40);
        }
        let mut end = tape.send(Down, responded, 150);
        let mut waited = 10 * TAKES - 100;
        if kind == Some(AqmKind::FqCodel) {
            // It is second. Nine packets leave after it.
            waited = TAKES - 100;
            let own = 190 * 800;
            let count = tape.packets.len();
            let early = 9 * TAKES;
            tape.packets[count - 1].departure_ns -= early;
            end -= early;
            for packet in &mut tape.packets[count - 10..count - 1] {
                packet.departure_ns += own;
            }
        }
        let path = PathSpec {
            delay_ns: DELAY,
            rate: RateSpec::constant(10_000_000),
            aqm: kind.map(|kind| AqmSpec::new(kind, 1_500)),
            ..PathSpec::default()
        };
        let crossings = Crossings::of(&tape.packets, &Leg::of(&path), &Leg::of(&path));
        let parts = crossings
            .path(&Request {
                served: served(asked, responded),
                ..request(Transport::Tcp, start, end)
            })
            .parts();
        assert_eq!(parts[Part::LinkBusyOthers], waited, "{kind:?} {parts:?}");
        assert_eq!(parts[Part::Exchange], RTT, "{kind:?} {parts:?}");
        assert_eq!(parts[Part::Server], 10 * MS, "{kind:?} {parts:?}");
    }
}

const FAIR: Option<AqmSpec> = Some(AqmSpec {
    kind: AqmKind::FqCodel,
    target_ns: 5 * MS,
    interval_ns: 100 * MS,
    quantum_bytes: None,
    mtu: 1_500,
});

/// Returns the parts of a request whose response came over this path 10 ms after it was asked, and left at `end`.
fn parts_over(path: &PathSpec, tape: &Tape, [start, asked, end]: [u64; 3]) -> Parts {
    let crossings = Crossings::of(&tape.packets, &Leg::of(path), &Leg::of(path));
    let request = Request {
        served: served(asked, asked + 10 * MS),
        ..request(Transport::Tcp, start, end)
    };
    crossings.path(&request).parts()
}

/// A response that jitter delays by 3 ms, and a packet of another flow that was sent after it had left, and was lost
/// before it arrived. The link has no outage, or one a long time after.
#[test]
fn a_packet_is_not_behind_one_that_came_when_it_had_left() {
    for is_closed_later in [false, true] {
        let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let responded = asked + 10 * MS;
        let end = tape.send(Down, responded, 150) + 3 * MS;
        tape.last().departure_ns = end;
        tape.push(OTHER_PORT, Down, responded + MS, FULL, true, 0x40);
        let gate = Gate::new(vec![(9_000 * MS, 9_001 * MS)], None, OnClose::Keep).ok();
        let path = PathSpec {
            delay_ns: DELAY,
            jitter_ns: 5 * MS,
            rate: RateSpec::constant(10_000_000),
            aqm: FAIR,
            gate: gate.filter(|_| is_closed_later),
            ..PathSpec::default()
        };
        let parts = parts_over(&path, &tape, [start, asked, end]);
        let expected = [
            (Part::Exchange, RTT + 3 * MS),
            (Part::LinkBusy, (240 + 190) * 800),
            (Part::Server, 10 * MS),
        ];
        let mut present = present(&parts);
        present.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(present, expected, "{is_closed_later}");
    }
}

/// A flow that begins to send while the link is closed goes first when it opens. Both waited for that.
#[test]
fn a_flow_that_goes_first_after_an_outage_does_not_hide_it() {
    const TAKES: u64 = 1_440 * 800;
    let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let responded = asked + 10 * MS;
    let open = responded + 100 * MS;
    tape.send(Down, responded, 150);
    let end = open + TAKES + 190 * 800 + DELAY;
    tape.last().departure_ns = end;
    tape.push(OTHER_PORT, Down, responded + 50 * MS, FULL, false, 0x40);
    tape.last().departure_ns = open + TAKES + DELAY;
    let path = PathSpec {
        delay_ns: DELAY,
        rate: RateSpec::constant(10_000_000),
        aqm: FAIR,
        gate: Gate::new(vec![(responded - MS, open)], None, OnClose::Keep).ok(),
        ..PathSpec::default()
    };
    let parts = parts_over(&path, &tape, [start, asked, end]);
    assert_eq!(parts[Part::LinkClosed], 100 * MS, "{parts:?}");
    assert_eq!(parts[Part::LinkBusyOthers], TAKES, "{parts:?}");
}

/// Two packets wait for a third, and left the link at the same time: which of them was first is not known.
#[test]
fn the_order_of_packets_that_left_at_once_is_not_guessed() {
    const TAKES: u64 = 1_440 * 800;
    let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let responded = asked + 10 * MS;
    tape.push(OTHER_PORT, Down, responded - 100, FULL, false, 0x40);
    tape.push(OTHER_PORT + 1, Down, responded - 50, FULL, false, 0x40);
    let end = tape.send(Down, responded, 150);
    let count = tape.packets.len();
    tape.packets[count - 2].departure_ns = end;
    let path = PathSpec {
        delay_ns: DELAY,
        rate: RateSpec::constant(10_000_000),
        aqm: FAIR,
        ..PathSpec::default()
    };
    let parts = parts_over(&path, &tape, [start, asked, end]);
    assert_eq!(parts[Part::LinkBusyOthers], TAKES - 100, "{parts:?}");
    assert_eq!(parts[Part::LinkClosed], 0, "{parts:?}");
    assert_eq!(parts[Part::Unexplained], TAKES, "{parts:?}");
}
