//! The clocks of two captures.

/// Longer round trips count as this one, an hour.
const LONGEST_NS: i128 = 3_600_000_000_000;

/// How the server's clock differs from the client's, from the packets that both captures have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    /// How far the server's clock is ahead, if the least delays of both directions are equal.
    pub(crate) ahead_ns: i128,
    /// The least delay of each direction: half the least round trip.
    pub(crate) delay_ns: u64,
}

/// The extreme of a direction's differences, with the packet that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// The server's time of a packet minus the client's.
    pub(crate) apart_ns: i128,
    /// The packet's number in the client's capture.
    pub(crate) number: u32,
}

impl Clock {
    /// Returns the clock that the fastest packet up and the fastest one down allow, or what is wrong with them.
    pub(crate) fn of(up: Bound, down: Bound) -> Result<Clock, String> {
        let rtt_ns = up.apart_ns - down.apart_ns;
        let Ok(rtt_ns) = u64::try_from(rtt_ns.min(LONGEST_NS)) else {
            return Err(format!(
                "the clocks drift. By packet {} of the client's capture the server's clock is at most {} ms ahead, by \
                 packet {} at least {} ms, so that packets would arrive {} ms before they were sent: capture again with \
                 both clocks synchronised, or for a shorter time",
                up.number,
                ms(up.apart_ns),
                down.number,
                ms(down.apart_ns),
                ms(-rtt_ns),
            ));
        };
        Ok(Clock {
            ahead_ns: (up.apart_ns + down.apart_ns).div_euclid(2),
            delay_ns: rtt_ns / 2,
        })
    }

    /// Returns the least round trip.
    pub(crate) fn rtt_ns(&self) -> u64 {
        self.delay_ns.saturating_mul(2)
    }

    /// Returns a time of the server's clock by the client's.
    pub(crate) fn by_client(&self, server_ns: u64) -> i128 {
        i128::from(server_ns) - self.ahead_ns
    }
}

fn ms(ns: i128) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(up_ms: i128, down_ms: i128) -> Result<Clock, String> {
        let bound = |ms: i128, number| Bound {
            apart_ns: ms * 1_000_000,
            number,
        };
        Clock::of(bound(up_ms, 3), bound(down_ms, 9))
    }

    #[test]
    fn least_transits_show_the_offset_and_the_delay() {
        let found = clock(1_025, 975).unwrap();
        assert_eq!(
            (found.ahead_ns, found.delay_ns),
            (1_000_000_000, 25_000_000)
        );
        let found = clock(-975, -1_025).unwrap();
        assert_eq!(
            (found.ahead_ns, found.delay_ns),
            (-1_000_000_000, 25_000_000)
        );
        assert_eq!(found.by_client(5_000_000_000), 6_000_000_000);
    }

    #[test]
    fn clocks_that_drift_are_refused_with_the_figures() {
        let error = clock(5, 12).unwrap_err();
        let expected = "By packet 3 of the client's capture the server's clock is at most 5.000 ms ahead, by packet 9 \
                        at least 12.000 ms, so that packets would arrive 7.000 ms before they were sent";
        assert!(error.contains(expected), "{error}");
    }
}
