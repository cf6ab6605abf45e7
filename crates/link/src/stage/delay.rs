//! Fixed delay and jitter. Jitter never reorders: no packet leaves before the one ahead of it.

use std::{collections::VecDeque, ops::RangeInclusive};

use config::ConfigError;

use super::{Contradiction, Item, Kind, Outcome, Stage, contradiction};
use crate::{
    model::Direction,
    rng::RandomStream,
    spec::PathSpec,
    table::{Table, ns},
    text::ms,
};

/// Up to a minute either way.
const DELAY_MS: RangeInclusive<f64> = 0.0..=60_000.0;

pub(super) const KIND: Kind = Kind {
    check,
    ..Kind::new(build)
};

/// Reads `delay_ms` or `jitter_ms`; a missing one is 0.
pub(super) fn read(
    key: &str,
    value_ms: Option<f64>,
    table: &Table<'_>,
) -> Result<u64, ConfigError> {
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

/// Always builds a stage, even for no delay: every path needs one, and the bias is taken off here.
fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Option<Box<dyn Stage>> {
    Some(Box::new(Delay {
        fixed_ns: spec.delay_ns,
        bias_ns: 0,
        jitter_ns: spec.jitter_ns,
        jitter_stream: RandomStream::new(seed, direction, "jitter"),
        last_ns: 0,
        waiting: VecDeque::new(),
    }))
}

struct Delay {
    fixed_ns: u64,
    bias_ns: u64,
    jitter_ns: u64,
    jitter_stream: RandomStream,
    /// When the last packet leaves; no later one leaves before.
    last_ns: u64,
    /// When each packet leaves, in order.
    waiting: VecDeque<(u64, Item)>,
}

impl Stage for Delay {
    fn offer(&mut self, now_ns: u64, item: Item) {
        // Packets without a ticket get the middle of the jitter.
        let above_floor_ns = match item.ticket {
            Some(ticket) if self.jitter_ns > 0 => self.uniform(self.jitter_stream.draw(ticket)),
            _ => self.jitter_ns,
        };
        let delay_ns = (self
            .fixed_ns
            .saturating_sub(self.bias_ns)
            .saturating_add(above_floor_ns))
        .saturating_sub(self.jitter_ns);
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
        self.fixed_ns
            .saturating_sub(self.bias_ns)
            .saturating_sub(self.jitter_ns)
    }

    fn set_bias_ns(&mut self, bias_ns: u64) {
        self.bias_ns = bias_ns;
    }
}

impl Delay {
    /// Maps a draw to 0 up to twice the jitter, both ends included.
    fn uniform(&self, draw: u64) -> u64 {
        let values = u128::from(self.jitter_ns) * 2 + 1;
        u64::try_from((u128::from(draw) * values) >> 64).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{drain, item, item_of},
        *,
    };
    use crate::{model::Transport, spec::NS_PER_MS};

    const MS: u64 = NS_PER_MS;

    fn delay(delay_ns: u64, jitter_ns: u64) -> Box<dyn Stage> {
        let spec = PathSpec {
            delay_ns,
            jitter_ns,
            ..PathSpec::default()
        };
        build(&spec, Direction::Up, 7).unwrap()
    }

    #[test]
    fn bias_shortens_the_delay_down_to_zero() {
        let mut stage = delay(10 * MS, 0);
        stage.offer(0, item(0, 100));
        stage.set_bias_ns(MS);
        assert_eq!(stage.floor_ns(), 9 * MS);
        stage.offer(5 * MS, item(1, 100));
        stage.set_bias_ns(20 * MS);
        stage.offer(50 * MS, item(2, 100));
        assert_eq!(
            drain(&mut *stage),
            [(10 * MS, 0, None), (14 * MS, 1, None), (50 * MS, 2, None)]
        );
    }

    #[test]
    fn jitter_of_sparse_packets_is_uniform_around_the_delay() {
        let mut stage = delay(10 * MS, 4 * MS);
        let n = 10_000;
        for i in 0..n {
            stage.offer(i * 100 * MS, item(i, 100));
        }
        let delays: Vec<u64> = drain(&mut *stage)
            .iter()
            .map(|&(at_ns, i, _)| at_ns - i * 100 * MS)
            .collect();
        assert!(delays.iter().all(|d| (6 * MS..=14 * MS).contains(d)));
        // Uniform over 8 ms: sigma of the mean is 8 / sqrt(12 n) = 0.023 ms. Five sigma.
        let mean_ms = delays.iter().sum::<u64>() as f64 / n as f64 / MS as f64;
        assert!((mean_ms - 10.0).abs() < 0.116, "{mean_ms}");
        let low = delays.iter().filter(|&&d| d < 8 * MS).count();
        assert!(
            low.abs_diff(2500) < 217,
            "{low} of {n} in the lowest quarter"
        );
    }

    #[test]
    fn jitter_never_reorders() {
        let mut stage = delay(10 * MS, 10 * MS);
        for i in 0..1000 {
            stage.offer(i * MS / 10, item(i, 100));
        }
        let out = drain(&mut *stage);
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1));
    }

    #[test]
    fn packets_without_ticket_get_the_middle_of_the_jitter() {
        let mut stage = delay(10 * MS, 4 * MS);
        stage.offer(0, item_of(Transport::Other, 0, 60));
        assert_eq!(drain(&mut *stage), [(10 * MS, 0, None)]);
    }
}
