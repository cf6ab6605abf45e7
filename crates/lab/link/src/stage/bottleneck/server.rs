use super::Calendar;
use crate::{spec::RateSpec, trace::Trace};

const NS_PER_S: u64 = 1_000_000_000;

/// Serves the packets of the queue one after the other.
#[derive(Debug)]
pub(super) enum Server {
    /// Serves a packet in no time.
    Unlimited { free_ns: u64 },
    /// Serves `bps` bits per second. `remainder` is the fraction of a nanosecond, in units of
    /// 1/bps ns, by which back-to-back packets so far were rounded down; carrying it over makes
    /// the rate exact over any length.
    Constant {
        bps: u64,
        free_ns: u64,
        remainder: u64,
    },
    /// Serves by the delivery opportunities of a trace. A trace has its own outages and ignores the
    /// gate, so network files with both are refused.
    Trace(Opportunities),
}

impl Server {
    pub(super) fn new(rate: &RateSpec) -> Server {
        match rate {
            RateSpec::Unlimited => Server::Unlimited { free_ns: 0 },
            RateSpec::Constant { bps } => Server::Constant {
                bps: bps.get(),
                free_ns: 0,
                remainder: 0,
            },
            RateSpec::Trace(trace) => Server::Trace(Opportunities::new(trace.clone())),
        }
    }

    pub(super) fn start(&mut self, origin_ns: u64) {
        if let Server::Trace(opportunities) = self {
            opportunities.start(origin_ns);
        }
    }

    /// Abandons the packets in service, which the gate has flushed.
    pub(super) fn reset(&mut self, now_ns: u64) {
        match self {
            Server::Unlimited { free_ns } => *free_ns = now_ns,
            Server::Constant {
                free_ns, remainder, ..
            } => {
                *free_ns = now_ns;
                *remainder = 0;
            }
            // A trace has no gate that could flush it.
            Server::Trace(_) => {}
        }
    }

    /// Returns when service of a packet that is ready at `ready_ns` would begin.
    pub(super) fn begin_ns(&self, ready_ns: u64, calendar: &Calendar<'_>) -> u64 {
        match self {
            Server::Unlimited { free_ns } | Server::Constant { free_ns, .. } => {
                calendar.open_from(ready_ns.max(*free_ns))
            }
            Server::Trace(opportunities) => opportunities.peek(ready_ns).at_ns,
        }
    }

    /// Serves a packet; returns when service begins and when its last bit has left.
    pub(super) fn serve(
        &mut self,
        ready_ns: u64,
        ip_bytes: u32,
        calendar: &Calendar<'_>,
    ) -> (u64, u64) {
        let begin_ns = self.begin_ns(ready_ns, calendar);
        let done_ns = match self {
            Server::Unlimited { free_ns } => {
                *free_ns = begin_ns;
                begin_ns
            }
            Server::Constant {
                bps,
                free_ns,
                remainder,
            } => {
                if ready_ns > *free_ns {
                    *remainder = 0;
                }
                let work = u128::from(ip_bytes) * 8 * u128::from(NS_PER_S) + u128::from(*remainder);
                let need_ns = u64::try_from(work / u128::from(*bps)).unwrap_or(u64::MAX);
                *remainder = u64::try_from(work % u128::from(*bps)).expect("less than bps");
                *free_ns = calendar.after_open(begin_ns, need_ns);
                *free_ns
            }
            Server::Trace(opportunities) => opportunities.take(ready_ns, ip_bytes),
        };
        (begin_ns, done_ns)
    }
}

/// A position in a trace. An opportunity carries 1500 bytes of one packet or of several; one that
/// no packet waits for is lost.
#[derive(Debug)]
pub(super) struct Opportunities {
    trace: Trace,
    origin_ns: u64,
    /// Number of the opportunity in use, counted across repetitions of the trace.
    number: u64,
    left_bytes: u32,
    /// Time of the latest opportunity used. A new origin never goes back before it.
    used_ns: u64,
}

/// An opportunity with bytes left in it.
struct Opportunity {
    number: u64,
    at_ns: u64,
    left_bytes: u32,
}

impl Opportunities {
    fn new(trace: Trace) -> Opportunities {
        Opportunities {
            trace,
            origin_ns: 0,
            number: 0,
            left_bytes: Trace::OPPORTUNITY_BYTES,
            used_ns: 0,
        }
    }

    fn start(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
        self.number = 0;
        self.left_bytes = Trace::OPPORTUNITY_BYTES;
    }

    /// Returns the first opportunity for a packet that is ready at `ready_ns`.
    fn peek(&self, ready_ns: u64) -> Opportunity {
        let number = self.number + u64::from(self.left_bytes == 0);
        let ready_ns = ready_ns.max(self.used_ns);
        if self.at_ns(number) < ready_ns {
            let since_ns = ready_ns.saturating_sub(self.origin_ns);
            return self.fresh(self.trace.first_from(since_ns));
        }
        if number == self.number {
            let left_bytes = self.left_bytes;
            return Opportunity {
                number,
                at_ns: self.at_ns(number),
                left_bytes,
            };
        }
        self.fresh(number)
    }

    /// Uses opportunities until the packet is through; returns the time of the last.
    fn take(&mut self, ready_ns: u64, ip_bytes: u32) -> u64 {
        let first = self.peek(ready_ns);
        if ip_bytes <= first.left_bytes {
            self.number = first.number;
            self.left_bytes = first.left_bytes - ip_bytes;
        } else {
            let more = ip_bytes - first.left_bytes;
            let whole = more.div_ceil(Trace::OPPORTUNITY_BYTES);
            self.number = first.number + u64::from(whole);
            self.left_bytes = whole * Trace::OPPORTUNITY_BYTES - more;
        }
        self.used_ns = self.at_ns(self.number);
        self.used_ns
    }

    fn fresh(&self, number: u64) -> Opportunity {
        Opportunity {
            number,
            at_ns: self.at_ns(number),
            left_bytes: Trace::OPPORTUNITY_BYTES,
        }
    }

    fn at_ns(&self, number: u64) -> u64 {
        self.origin_ns.saturating_add(self.trace.at_ns(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::NS_PER_MS;

    const OPEN: Calendar<'static> = Calendar {
        gate: None,
        origin_ns: 0,
    };

    fn traced(times_ms: &[u32]) -> Server {
        Server::new(&RateSpec::Trace(Trace::new(times_ms.to_vec()).unwrap()))
    }

    fn done_ms(server: &mut Server, ready_ms: u64, ip_bytes: u32) -> u64 {
        server.serve(ready_ms * NS_PER_MS, ip_bytes, &OPEN).1 / NS_PER_MS
    }

    #[test]
    fn fractions_of_a_nanosecond_are_carried_over() {
        // 40 bytes at 7 Mbit/s take 45714 and 2/7 ns: after 7 million of them exactly 320 s.
        let mut server = Server::new(&RateSpec::constant(7_000_000));
        let mut done_ns = 0;
        for i in 0..7_000_000 {
            // Every other packet arrives just when the server becomes free; the rest wait.
            let ready_ns = if i % 2 == 0 { done_ns } else { 0 };
            done_ns = server.serve(ready_ns, 40, &OPEN).1;
        }
        assert_eq!(done_ns, 320 * NS_PER_S);
    }

    #[test]
    fn idle_server_drops_the_remainder() {
        let mut server = Server::new(&RateSpec::constant(7_000_000));
        let first = server.serve(0, 40, &OPEN).1;
        assert_eq!(
            server.serve(NS_PER_S, 40, &OPEN),
            (NS_PER_S, NS_PER_S + first)
        );
    }

    #[test]
    fn opportunities_are_shared_by_small_packets_and_joined_for_large_ones() {
        let mut server = traced(&[5, 10, 20]);
        assert_eq!(done_ms(&mut server, 0, 700), 5);
        assert_eq!(done_ms(&mut server, 0, 800), 5);
        assert_eq!(done_ms(&mut server, 0, 1600), 20);
        assert_eq!(done_ms(&mut server, 0, 1400), 20);
        assert_eq!(
            done_ms(&mut server, 0, 1500),
            25,
            "the trace repeats after its last time"
        );
    }

    #[test]
    fn unused_opportunities_are_lost() {
        let mut server = traced(&[5, 10, 20]);
        assert_eq!(done_ms(&mut server, 0, 700), 5);
        assert_eq!(done_ms(&mut server, 6, 100), 10);
        assert_eq!(
            done_ms(&mut server, 20, 100),
            20,
            "ready exactly at the opportunity"
        );
        assert_eq!(
            done_ms(&mut server, 20_001, 100),
            20_005,
            "a thousand repetitions later"
        );
    }

    #[test]
    fn new_origin_never_goes_back_in_time() {
        let mut server = traced(&[5, 10, 20]);
        assert_eq!(done_ms(&mut server, 0, 4500), 20);
        server.start(8 * NS_PER_MS);
        assert_eq!(
            done_ms(&mut server, 8, 1500),
            28,
            "13 and 18 would be before 20"
        );
    }

    #[test]
    fn simultaneous_opportunities_carry_a_packet_each() {
        let mut server = traced(&[3, 3, 9]);
        assert_eq!(done_ms(&mut server, 3, 1500), 3);
        assert_eq!(done_ms(&mut server, 3, 1500), 3);
        assert_eq!(done_ms(&mut server, 3, 1500), 9);
    }
}
