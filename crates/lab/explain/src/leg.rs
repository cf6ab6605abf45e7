//! The bottleneck of one direction of the link.

use link::tap::{Fate, TapRecord};
use link::{AqmKind, Direction, PathSpec, RadioChange, RadioState, RateSpec};

/// A link delivers a packet at most so much later than its model says, unless it was closed.
const LATE_NS: u64 = 1_000_000;

/// One direction of the link.
#[derive(Clone, Debug)]
pub struct Leg {
    /// Delay after the bottleneck.
    pub(crate) delay_ns: u64,
    /// How much shorter it is at most, by jitter.
    less_ns: u64,
    /// How much longer it is at most, by jitter or after a handover.
    more_ns: u64,
    rate: Rate,
    /// The link is closed at times.
    pub(crate) has_gate: bool,
    /// Packets wait for a radio, which is in front of the bottleneck.
    has_radio: bool,
    /// Packets meet the bottleneck after their delay, as those to a phone with a radio do.
    pub(crate) is_delay_first: bool,
    /// Flows take turns, so that packets leave in another order than they came.
    pub(crate) is_fair: bool,
    /// When the radio had woken up, as if packets met it when they arrive at the link.
    woke_ns: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    /// Packets wait for nothing.
    Unlimited,
    Bps(u64),
    /// Known only by when packets departed.
    Varying,
}

/// When the bottleneck served a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// The radio had woken up for it.
    pub(crate) woke_ns: Option<u64>,
    /// It began to, after it was free and open.
    pub(crate) begin_ns: u64,
    /// The packet had left it.
    pub(crate) left_ns: u64,
}

impl Leg {
    /// Returns the leg that a path's settings describe.
    pub fn of(path: &PathSpec) -> Leg {
        let rate = match &path.rate {
            RateSpec::Unlimited => Rate::Unlimited,
            RateSpec::Constant { bps } => Rate::Bps(bps.get()),
            RateSpec::Trace(_) => Rate::Varying,
        };
        Leg {
            delay_ns: path.delay_ns,
            less_ns: path.jitter_ns,
            more_ns: path.jitter_ns.saturating_add(path.most_extra_delay_ns()),
            // A trace has outages of its own.
            has_gate: path.is_closed_at_times() && !matches!(rate, Rate::Varying),
            has_radio: path.radio.is_some(),
            is_delay_first: false,
            is_fair: path.aqm.is_some_and(|aqm| aqm.kind == AqmKind::FqCodel),
            woke_ns: Vec::new(),
            rate,
        }
    }

    /// Returns the leg with the wake-ups of its radio, from the log of a window.
    pub fn with_radio(mut self, direction: Direction, changes: &[RadioChange]) -> Leg {
        // Packets to the phone meet it after their delay.
        let before_ns = match direction {
            Direction::Up => 0,
            Direction::Down => self.delay_ns,
        };
        self.is_delay_first = self.has_radio && direction == Direction::Down;
        let woke = changes.iter().filter(|c| c.state == RadioState::At(0));
        self.woke_ns = woke.map(|c| c.at_ns.saturating_sub(before_ns)).collect();
        self
    }

    /// Returns a leg of which only the least delay is known. When a packet departed shows when it left the bottleneck.
    pub fn of_unknown_rate(delay_ns: u64) -> Leg {
        Leg {
            delay_ns,
            less_ns: 0,
            more_ns: 0,
            rate: Rate::Varying,
            has_gate: false,
            has_radio: false,
            is_delay_first: false,
            is_fair: false,
            woke_ns: Vec::new(),
        }
    }

    /// Returns when a packet had left the bottleneck by what became of it, as if packets met it when they arrive at the
    /// link. That of a delivered one is off by its jitter. What is still on the link left last.
    pub(crate) fn shown_left_ns(&self, packet: &TapRecord) -> u64 {
        match packet.fate {
            Fate::InFlight => u64::MAX,
            Fate::Dropped(_) if !self.is_delay_first => packet.departure_ns,
            _ => packet.departure_ns.saturating_sub(self.delay_ns),
        }
    }

    /// Returns the earliest time at which a packet can have left the bottleneck.
    pub(crate) fn least_left_ns(&self, packet: &TapRecord) -> u64 {
        packet.arrival_ns.saturating_add(self.takes_ns(packet))
    }

    /// Returns the earliest time at which the bottleneck can have begun to send a packet, by what became of it.
    pub(crate) fn least_begin_ns(&self, packet: &TapRecord) -> u64 {
        let longest_ns = self.delay_ns.saturating_add(self.more_ns);
        let after_ns = match packet.fate {
            Fate::InFlight => return u64::MAX,
            Fate::Delivered | Fate::Left => longest_ns.saturating_add(LATE_NS),
            _ if self.is_delay_first => longest_ns,
            _ => 0,
        };
        let after_ns = after_ns.saturating_add(self.takes_ns(packet));
        let begin_ns = packet.departure_ns.saturating_sub(after_ns);
        begin_ns.max(packet.arrival_ns)
    }

    /// Returns how long the bottleneck sends a packet, if its rate is constant.
    fn takes_ns(&self, packet: &TapRecord) -> u64 {
        match self.rate {
            Rate::Unlimited | Rate::Varying => 0,
            Rate::Bps(bps) => {
                let ns = u128::from(packet.ip_bytes) * 8_000_000_000 / u128::from(bps);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        }
    }

    /// Returns when a packet was served by the bottleneck, which was free from `free_ns` on. `was_delivered` says that
    /// its departure from the whole link is known.
    pub(crate) fn service(&self, packet: &TapRecord, free_ns: u64, was_delivered: bool) -> Service {
        let free_ns = packet.arrival_ns.max(free_ns);
        let takes_ns = self.takes_ns(packet);
        // The earliest at which the packet can have left: its delay was at most so long.
        let longest_ns = self.delay_ns.saturating_add(self.more_ns);
        let shown_ns = packet.departure_ns.saturating_sub(longest_ns);
        let shown_begin_ns = shown_ns.saturating_sub(takes_ns);
        // The latest.
        let shortest_ns = self.delay_ns.saturating_sub(self.less_ns);
        let latest_begin_ns = packet
            .departure_ns
            .saturating_sub(shortest_ns.saturating_add(takes_ns));
        let was_late =
            |from_ns: u64| was_delivered && shown_begin_ns > from_ns.saturating_add(LATE_NS);
        let woke_ns = self.woke_after(packet.arrival_ns).filter(|&woke_ns| {
            was_late(free_ns)
                && woke_ns > free_ns
                && latest_begin_ns.saturating_add(LATE_NS) >= woke_ns
        });
        let awake_ns = woke_ns.unwrap_or(match self.rate {
            Rate::Unlimited => packet.arrival_ns,
            Rate::Bps(_) | Rate::Varying => free_ns,
        });
        let begin_ns = match self.has_gate && was_late(awake_ns.max(free_ns)) {
            true => shown_begin_ns,
            false => awake_ns,
        };
        let left_ns = begin_ns.saturating_add(takes_ns);
        Service {
            woke_ns,
            begin_ns,
            left_ns: match self.rate {
                Rate::Varying if was_delivered => left_ns.max(shown_ns),
                _ => left_ns,
            },
        }
    }

    /// Returns when the radio woke up next after a time, if it did.
    fn woke_after(&self, at_ns: u64) -> Option<u64> {
        let next = self.woke_ns.partition_point(|&woke_ns| woke_ns <= at_ns);
        self.woke_ns.get(next).copied()
    }
}

#[cfg(test)]
mod tests {
    use link::{
        Begins, Cause, Direction, Gate, Handovers, OnClose, RadioSpec, RadioStateSpec, StationSpec,
    };

    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns when a packet of 1,250 bytes was served that arrived after 100 ms, where the link was free after 90.
    fn service(rate: RateSpec, has_gate: bool, departure_ns: u64, was_delivered: bool) -> [u64; 2] {
        let gate = || Gate::new(vec![(1, 2)], None, OnClose::Keep).unwrap();
        let leg = Leg::of(&PathSpec {
            delay_ns: 20 * MS,
            jitter_ns: 5 * MS,
            gate: has_gate.then(gate),
            rate,
            ..PathSpec::default()
        });
        served_by(&leg, departure_ns, was_delivered)
    }

    fn served_by(leg: &Leg, departure_ns: u64, was_delivered: bool) -> [u64; 2] {
        let service = leg.service(&packet(departure_ns), 90 * MS, was_delivered);
        [service.begin_ns, service.left_ns].map(|ns| ns / MS)
    }

    fn packet(departure_ns: u64) -> TapRecord {
        TapRecord {
            arrival_ns: 100 * MS,
            departure_ns,
            seq: 0,
            ack: 0,
            ip_bytes: 1_250,
            src_port: 1,
            dst_port: 2,
            payload_bytes: 1_210,
            protocol: 6,
            tcp_flags: 0,
            first_byte: 0,
            direction: Direction::Down,
            fate: Fate::Delivered,
            ip_version: 4,
            ecn: 0,
            stray: false,
            window: 0,
            options: Default::default(),
        }
    }

    /// Packets to a phone meet the bottleneck at the phone, whether they are lost behind it or delivered.
    #[test]
    fn what_was_lost_left_the_bottleneck_by_the_same_clock() {
        let state = |name: &str, after_ns| RadioStateSpec {
            name: name.to_owned(),
            after_ns,
            promotion_ns: after_ns,
            ..RadioStateSpec::default()
        };
        let path = PathSpec {
            delay_ns: 20 * MS,
            radio: RadioSpec::new(Begins::Idle, vec![state("on", 0), state("off", 1)]).ok(),
            ..PathSpec::default()
        };
        let lost = TapRecord {
            fate: Fate::Dropped(Cause::Loss),
            ..packet(150 * MS)
        };
        let shown = |direction, path: &PathSpec| {
            let leg = Leg::of(path).with_radio(direction, &[]);
            [packet(150 * MS), lost].map(|packet| leg.shown_left_ns(&packet) / MS)
        };
        assert_eq!(shown(Direction::Down, &path), [130, 130]);
        assert_eq!(shown(Direction::Up, &path), [130, 150]);
        let wired = PathSpec {
            radio: None,
            ..path
        };
        assert_eq!(shown(Direction::Down, &wired), [130, 150]);
    }

    #[test]
    fn a_packet_is_served_when_the_link_is_free_and_open() {
        // 10 ms for 1,250 bytes.
        let slow = || RateSpec::constant(1_000_000);
        let trace = || RateSpec::Trace(link::Trace::new(vec![1]).unwrap());
        let cases = [
            // Late by jitter, or by less than 1 ms.
            (slow(), true, 135, true, [100, 110]),
            (slow(), true, 136, true, [100, 110]),
            // Closed for 45 ms.
            (slow(), true, 180, true, [145, 155]),
            (RateSpec::Unlimited, true, 180, true, [155, 155]),
            // Without a gate it was not closed, whatever the departure; nor is that known of a packet that was lost.
            (slow(), false, 180, true, [100, 110]),
            (slow(), true, 180, false, [100, 110]),
            (RateSpec::Unlimited, false, 180, true, [100, 100]),
            // A trace shows when a packet left, if it was delivered, and has no gate.
            (trace(), false, 180, true, [100, 155]),
            (trace(), true, 180, true, [100, 155]),
            (trace(), false, 180, false, [100, 100]),
        ];
        for (rate, has_gate, departure_ms, was_delivered, expected) in cases {
            let text = format!("{rate:?} {has_gate} {departure_ms} {was_delivered}");
            let served = service(rate, has_gate, departure_ms * MS, was_delivered);
            assert_eq!(served, expected, "{text}");
        }
    }

    /// After a handover the delay is 10 ms longer, so a packet that is 10 ms late need not have waited.
    #[test]
    fn handovers_close_the_link_and_make_the_delay_longer() {
        let station = StationSpec {
            at_ns: 0,
            interruption_ns: MS,
            extra_delay_ns: 10 * MS,
            queue: OnClose::Keep,
        };
        let leg = Leg::of(&PathSpec {
            delay_ns: 20 * MS,
            rate: RateSpec::constant(1_000_000),
            handovers: Handovers::new(vec![station], None).ok(),
            ..PathSpec::default()
        });
        assert_eq!(served_by(&leg, 140 * MS, true), [100, 110]);
        assert_eq!(served_by(&leg, 180 * MS, true), [140, 150]);
    }

    /// The packet of `service`, where the radio had woken up at these times in ms.
    #[test]
    fn a_link_that_is_closed_when_its_radio_has_woken_up_holds_packets_for_longer() {
        let change = RadioChange {
            at_ns: 130 * MS,
            state: RadioState::At(0),
        };
        let leg = Leg {
            rate: Rate::Bps(1_000_000),
            has_gate: true,
            ..Leg::of_unknown_rate(20 * MS)
        };
        let leg = leg.with_radio(Direction::Up, &[change]);
        // 10 ms of service before the delay: it began when the radio had woken up, or 50 ms later.
        assert_eq!(served_by(&leg, 160 * MS, true), [130, 140]);
        assert_eq!(served_by(&leg, 210 * MS, true), [180, 190]);
    }

    /// The delay is 20 ms ± 5 ms, so a packet that left 15 ms before its departure may have waited until 150 ms.
    #[test]
    fn a_radio_is_recognised_in_spite_of_jitter_and_handovers() {
        let change = RadioChange {
            at_ns: 150 * MS,
            state: RadioState::At(0),
        };
        for has_gate in [false, true] {
            let leg = Leg {
                less_ns: 5 * MS,
                more_ns: 15 * MS,
                rate: Rate::Bps(1_000_000),
                has_gate,
                ..Leg::of_unknown_rate(20 * MS)
            };
            let leg = leg.with_radio(Direction::Up, &[change]);
            for departure_ms in [175, 180, 195] {
                assert_eq!(served_by(&leg, departure_ms * MS, true), [150, 160]);
            }
        }
    }

    #[test]
    fn a_radio_holds_packets_until_it_has_woken_up() {
        let changes = |times: &[u64]| -> Vec<RadioChange> {
            let change = |&at_ms| RadioChange {
                at_ns: at_ms * MS,
                state: RadioState::At(0),
            };
            times.iter().map(change).collect()
        };
        let leg = |direction, times: &[u64]| {
            let leg = Leg {
                rate: Rate::Bps(1_000_000),
                ..Leg::of_unknown_rate(20 * MS)
            };
            leg.with_radio(direction, &changes(times))
        };
        let cases: [(Direction, &[u64], u64, [u64; 2]); 7] = [
            (Direction::Up, &[50, 150], 180, [150, 160]),
            // It left before the radio woke up, so a small one that needed no promotion.
            (Direction::Up, &[50, 150], 130, [100, 110]),
            // Late, but not because of the radio, which woke up later.
            (Direction::Up, &[50, 150], 140, [100, 110]),
            // It left long after, so that something else held it, too.
            (Direction::Up, &[150], 190, [150, 160]),
            (Direction::Up, &[50], 190, [100, 110]),
            // At the phone 20 ms later.
            (Direction::Down, &[110, 170], 180, [150, 160]),
            (Direction::Up, &[], 180, [100, 110]),
        ];
        for (direction, times, departure_ms, expected) in cases {
            let served = served_by(&leg(direction, times), departure_ms * MS, true);
            assert_eq!(served, expected, "{direction:?} {times:?} {departure_ms}");
        }
    }

    #[test]
    fn a_departure_shows_when_a_packet_left_a_link_of_unknown_rate() {
        let leg = Leg::of_unknown_rate(20 * MS);
        assert_eq!(served_by(&leg, 180 * MS, true), [100, 160]);
        // No sooner than it arrived, and a lost one shows nothing.
        assert_eq!(served_by(&leg, 115 * MS, true), [100, 100]);
        assert_eq!(served_by(&leg, 180 * MS, false), [100, 100]);
    }
}
