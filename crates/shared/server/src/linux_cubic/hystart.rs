//! Ends slow start before it overflows the queue: HyStart (Ha and Rhee, "Taming the elephants: New TCP slow start",
//! 2011), as Linux has it.

use std::time::{Duration, Instant};

/// Acknowledgements so close to each other belong to one train.
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// What the sender's own bursts add to a train.
const TRAIN_MARGIN: Duration = Duration::from_millis(1);
/// Round trips whose least time is compared, in each round.
const SAMPLES: u32 = 8;
/// The delay that ends slow start is an eighth of the least round trip, within these bounds.
const LEAST_DELAY: Duration = Duration::from_millis(4);
const MOST_DELAY: Duration = Duration::from_millis(16);

/// What a connection knows of its current round of slow start.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    round_start: Instant,
    last_in_train: Instant,
    least_in_round: Option<Duration>,
    samples: u32,
}

impl HyStart {
    pub(super) fn new(now: Instant) -> HyStart {
        HyStart {
            round_start: now,
            last_in_train: now,
            least_in_round: None,
            samples: 0,
        }
    }

    /// Takes acknowledgements that arrived together, the newest of them for a packet that took `sample`. Reports whether
    /// slow start ends: the train of acknowledgements is as long as the least round trip of the connection, or the
    /// round trips have become longer.
    pub(super) fn ends(&mut self, now: Instant, sample: Duration, least: Duration) -> bool {
        if now.saturating_duration_since(self.last_in_train) <= TRAIN_SPACING {
            self.last_in_train = now;
            // Linux halves the bound for senders that do not pace. quinn always does.
            if now.saturating_duration_since(self.round_start) > least + TRAIN_MARGIN {
                return true;
            }
        }
        if self.samples < SAMPLES {
            self.samples += 1;
            let so_far = self.least_in_round.unwrap_or(sample);
            self.least_in_round = Some(so_far.min(sample));
            return false;
        }
        let bound = least + (least / 8).clamp(LEAST_DELAY, MOST_DELAY);
        self.least_in_round.is_some_and(|in_round| in_round > bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    /// Takes acknowledgements `spacing` apart, and returns when slow start ended since the round's start.
    fn ended(spacing: Duration, sample: Duration, acks: u32) -> Option<Duration> {
        let start = Instant::now();
        let mut hystart = HyStart::new(start);
        (1..=acks)
            .map(|n| spacing * n)
            .find(|&at| hystart.ends(start + at, sample, RTT))
    }

    #[test]
    fn a_train_as_long_as_the_round_trip_ends_it() {
        let ms = Duration::from_millis;
        assert_eq!(ended(ms(1), RTT, 200), Some(ms(52)));
        // Acknowledgements that are further apart are no train.
        assert_eq!(ended(ms(3), RTT, 200), None);
    }

    #[test]
    fn longer_round_trips_end_it() {
        let ms = Duration::from_millis;
        // An eighth of 50 ms is 6.25.
        assert_eq!(ended(ms(3), RTT + ms(6), 200), None);
        assert_eq!(ended(ms(3), RTT + ms(7), 200), Some(ms(3) * 9));
    }
}
