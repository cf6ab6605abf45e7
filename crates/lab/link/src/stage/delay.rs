//! Fixed delay, jitter, and the way to another base station after a handover. Jitter is drawn by the clock, so that it
//! never reorders and its distribution is the same for fast and for slow senders.

use std::{collections::VecDeque, ops::RangeInclusive};

use config::{ConfigError, Ms};

use super::{Contradiction, Item, Kind, Outcome, Stage, contradiction};
use crate::{
    handover::Handovers,
    model::Direction,
    rng::RandomStream,
    spec::PathSpec,
    table::{Table, ns},
    text::ms,
};

/// Up to a minute either way.
const DELAY_MS: RangeInclusive<f64> = 0.0..=60_000.0;
/// Time between two random draws of the jitter, in units of the jitter. Two is the least at which
/// order holds by itself: between draws the delay changes by twice the jitter at most, so it never
/// falls faster than time passes.
const JITTERS_PER_KNOT: u64 = 2;

pub(super) const KIND: Kind = Kind {
    check,
    is_wired: true,
    ..Kind::new(build)
};

/// Reads `delay_ms` or `jitter_ms`; a missing one is 0.
pub(super) fn read(key: &str, value_ms: Option<Ms>, table: &Table<'_>) -> Result<u64, ConfigError> {
    Ok(table.within(key, value_ms, &DELAY_MS)?.map_or(0, ns))
}

fn check(spec: &PathSpec, _mtu: u32) -> Result<(), Contradiction> {
    if spec.jitter_ns > spec.delay_ns {
        let message = "the jitter is larger than the delay; it goes either way, so make it \
                       delay_ms at most";
        return contradiction("jitter_ms", message);
    }
    Ok(())
}

/// Returns the round-trip time and its jitter.
pub(crate) fn round_trip(down: &PathSpec, up: &PathSpec) -> String {
    let rtt_ns = down.delay_ns.saturating_add(up.delay_ns);
    match down.jitter_ns.saturating_add(up.jitter_ns) {
        0 => format!("RTT {} ms", ms(rtt_ns)),
        jitter_ns => format!("RTT {} ms ±{}", ms(rtt_ns), ms(jitter_ns)),
    }
}

/// Builds a stage, even for no delay: every path needs one.
fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Option<Box<dyn Stage>> {
    Some(Box::new(Delay {
        fixed_ns: spec.delay_ns,
        jitter: Jitter::new(spec.jitter_ns, direction, seed),
        handovers: spec.handovers.clone(),
        origin_ns: 0,
        last_ns: 0,
        waiting: VecDeque::new(),
    }))
}

struct Delay {
    fixed_ns: u64,
    jitter: Jitter,
    handovers: Option<Handovers>,
    /// Origin of the clock of jitter and handovers.
    origin_ns: u64,
    /// When the last packet leaves. No later one leaves before, even if the delay falls with a handover or the origin
    /// changes between them.
    last_ns: u64,
    /// When each packet leaves, in order.
    waiting: VecDeque<(u64, Item)>,
}

impl Stage for Delay {
    fn start(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
    }

    fn offer(&mut self, now_ns: u64, item: Item) {
        let since_ns = now_ns.saturating_sub(self.origin_ns);
        let above_floor_ns = self.jitter.above_least_ns(since_ns);
        let handovers = self.handovers.as_ref();
        let extra_ns = handovers.map_or(0, |handovers| handovers.extra_delay_ns(since_ns));
        let delay_ns = (self.fixed_ns.saturating_add(above_floor_ns))
            .saturating_sub(self.jitter.amplitude_ns)
            .saturating_add(extra_ns);
        self.last_ns = now_ns.saturating_add(delay_ns).max(self.last_ns);
        self.waiting.push_back((self.last_ns, item));
    }

    fn next_deadline(&self) -> Option<u64> {
        self.waiting.front().map(|&(at_ns, _)| at_ns)
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.next_deadline().filter(|&at_ns| at_ns <= now_ns)?;
        let (at_ns, item) = self.waiting.pop_front()?;
        Some(Outcome {
            at_ns,
            item,
            dropped: None,
        })
    }

    fn queued(&self) -> usize {
        self.waiting.len()
    }

    fn floor_ns(&self) -> u64 {
        self.fixed_ns.saturating_sub(self.jitter.amplitude_ns)
    }
}

/// Jitter as a function of time alone: all arms of a comparison meet the same delays at the same
/// time, whatever they send. A draw per packet would not do: as packets may not overtake, each would
/// wait for the slowest before it, and the mean delay would grow with the packet rate.
///
/// At *knots* on the clock, a point is drawn on a circle of four times the amplitude around; between
/// two knots it moves at constant speed along the shorter arc. The arc's length does not depend on
/// where it begins, so at every moment the point is uniform on the circle. Going round the circle, the
/// delay rises from the least to the greatest and falls back, so it is uniform as well. (Linear
/// interpolation of the delays themselves would shrink their variance between the knots.)
struct Jitter {
    /// In ns either way; 0 without jitter.
    amplitude_ns: u64,
    stream: RandomStream,
}

impl Jitter {
    fn new(amplitude_ns: u64, direction: Direction, seed: u64) -> Jitter {
        Jitter {
            amplitude_ns,
            stream: RandomStream::new(seed, direction, "jitter"),
        }
    }

    /// Returns the delay above the least one at `since_ns` after the origin: 0 up to twice the
    /// amplitude. Within a nanosecond of time it changes by at most a nanosecond.
    fn above_least_ns(&self, since_ns: u64) -> u64 {
        let spacing_ns = self.amplitude_ns.saturating_mul(JITTERS_PER_KNOT);
        if spacing_ns == 0 {
            return 0;
        }
        let circle_ns = i128::from(self.amplitude_ns) * 4;
        let (knot, past_ns) = (since_ns / spacing_ns, since_ns % spacing_ns);
        let from_ns = self.knot_ns(knot, circle_ns);
        let mut arc_ns = (self.knot_ns(knot + 1, circle_ns) - from_ns).rem_euclid(circle_ns);
        if arc_ns > circle_ns / 2 {
            arc_ns -= circle_ns;
        }
        let moved_ns = (arc_ns * i128::from(past_ns)).div_euclid(i128::from(spacing_ns));
        let at_ns = (from_ns + moved_ns).rem_euclid(circle_ns);
        u64::try_from(at_ns.min(circle_ns - at_ns)).unwrap_or(u64::MAX)
    }

    /// Returns the point of a knot on the circle, from 0 up to its length.
    fn knot_ns(&self, knot: u64, circle_ns: i128) -> i128 {
        (i128::from(self.stream.draw_at(0, knot)) * circle_ns) >> 64
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{drain, item, item_of},
        *,
    };
    use crate::{model::Transport, time::NS_PER_MS};
    use proptest::prelude::*;

    const MS: u64 = NS_PER_MS;
    const DELAY_NS: u64 = 58_750_000;
    const JITTER_NS: u64 = 41_250_000;

    fn delay(delay_ns: u64, jitter_ns: u64) -> Box<dyn Stage> {
        let spec = PathSpec {
            delay_ns,
            jitter_ns,
            ..PathSpec::default()
        };
        build(&spec, Direction::Up, 7).unwrap()
    }

    /// Returns the delays of packets sent every `gap_ns` for `total_ns`, with 58.75 ms of delay and 41.25 ms of jitter.
    /// The Android emulator has these to its umts network.
    fn delays(gap_ns: u64, total_ns: u64) -> Vec<u64> {
        let mut stage = delay(DELAY_NS, JITTER_NS);
        let n = total_ns / gap_ns;
        for i in 0..n {
            stage.offer(i * gap_ns, item(i, 100));
        }
        let out = drain(&mut *stage);
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
        out.iter()
            .map(|&(at_ns, i, _)| at_ns - i * gap_ns)
            .collect()
    }

    #[test]
    fn jitter_has_the_same_distribution_at_every_packet_rate() {
        let knots = 10_000;
        let total_ns = knots * JITTER_NS * JITTERS_PER_KNOT;
        for gap_us in [50_000, 10_000, 2_000, 500] {
            let delays = delays(gap_us * 1000, total_ns);
            let n = delays.len() as f64;
            assert!(delays.iter().all(|d| d.abs_diff(DELAY_NS) <= JITTER_NS));
            // Between knots, averages depend on their two neighbours only, so 10,000 of them vary at
            // most like 3333 independent uniform values: sigma of the mean is below
            // 41.25 / sqrt(3 * 3333) = 0.41 ms. Five sigma.
            let mean_ms = delays.iter().sum::<u64>() as f64 / n / MS as f64;
            assert!((mean_ms - 58.75).abs() < 2.1, "{mean_ms} at {gap_us} us");
            // Each quarter of the range holds a quarter of the packets: sigma below
            // sqrt(3 / 16 / 3333) = 0.0075.
            for quarter in 0..4 {
                let from_ns = DELAY_NS - JITTER_NS + quarter * JITTER_NS / 2;
                let range = from_ns..from_ns + JITTER_NS / 2;
                let share = delays.iter().filter(|d| range.contains(d)).count() as f64 / n;
                assert!(
                    (share - 0.25).abs() < 0.0375,
                    "{share} in quarter {quarter} at {gap_us} us"
                );
            }
        }
    }

    #[test]
    fn jitter_depends_on_time_and_not_on_the_packets() {
        let total_ns = 4000 * MS;
        let every_tenth: Vec<u64> = delays(MS, total_ns).into_iter().step_by(10).collect();
        assert_eq!(delays(10 * MS, total_ns), every_tenth);
    }

    #[test]
    fn jitter_starts_anew_at_the_origin() {
        let delays_from = |origin_ns: u64| -> Vec<u64> {
            let mut stage = delay(DELAY_NS, JITTER_NS);
            stage.start(origin_ns);
            for i in 0..100 {
                stage.offer(origin_ns + i * 10 * MS, item(i, 100));
            }
            let out = drain(&mut *stage);
            out.iter().map(|&(at_ns, ..)| at_ns - origin_ns).collect()
        };
        assert_eq!(delays_from(0), delays_from(12_345_678_901));
    }

    #[test]
    fn order_holds_when_the_origin_changes() {
        let mut stage = delay(10 * MS, 10 * MS);
        for i in 0..1000 {
            stage.start(i * 17);
            stage.offer(i * MS / 10, item(i, 100));
        }
        let out = drain(&mut *stage);
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
    }

    proptest! {
        #[test]
        fn delay_never_changes_faster_than_time_passes(
            amplitude_ns in prop_oneof![1..50_u64, 1..60_000 * MS], seed: u64, since_ns: u64,
            step_ns in prop_oneof![0..50_u64, 0..1000 * MS],
        ) {
            let jitter = Jitter::new(amplitude_ns, Direction::Up, seed);
            let since_ns = since_ns >> 1;
            let before_ns = jitter.above_least_ns(since_ns);
            let after_ns = jitter.above_least_ns(since_ns + step_ns);
            prop_assert!(after_ns <= 2 * amplitude_ns);
            prop_assert!(after_ns.abs_diff(before_ns) <= step_ns);
        }
    }

    #[test]
    fn packets_without_ticket_keep_their_place() {
        let mut stage = delay(10 * MS, 4 * MS);
        for i in 0..1000 {
            let transport = [Transport::Udp, Transport::Other][i as usize % 2];
            stage.offer(i * MS / 10, item_of(transport, i, 60));
        }
        assert!(drain(&mut *stage).windows(2).all(|w| w[0].1 < w[1].1));
    }
}
