//! Operator policy towards UDP: blocked or policed, from some moment on, on some ports or all.

use super::{Item, Outcome, Stage, outbox::Outbox};
use crate::{Cause, Direction, PathSpec, PolicySpec, Transport};

pub(super) fn build(spec: &PathSpec, _: Direction, _: u64) -> Option<Box<dyn Stage>> {
    let policy = spec.policy.as_ref()?;
    Some(Box::new(Policy {
        spec: policy.clone(),
        origin_ns: 0,
        bucket: policy
            .police
            .as_ref()
            .map(|p| Bucket::new(p.rate_bps, p.burst_bytes)),
        out: Outbox::default(),
    }))
}

struct Policy {
    spec: PolicySpec,
    origin_ns: u64,
    bucket: Option<Bucket>,
    out: Outbox,
}

impl Stage for Policy {
    fn start(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
    }

    fn offer(&mut self, now_ns: u64, item: Item) {
        if self.concerns(&item) && self.refuses(now_ns, item.packet.ip_bytes) {
            self.out.drop(now_ns, item, Cause::Policy);
        } else {
            self.out.pass(now_ns, item);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.out.next_deadline()
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.out.poll(now_ns)
    }

    fn held(&self) -> usize {
        self.out.held()
    }
}

impl Policy {
    fn concerns(&self, item: &Item) -> bool {
        let ports = &self.spec.udp_ports;
        item.packet.transport == Transport::Udp
            && (ports.is_empty()
                || ports.contains(&item.packet.src_port)
                || ports.contains(&item.packet.dst_port))
    }

    fn refuses(&mut self, now_ns: u64, ip_bytes: u32) -> bool {
        let since_ns = now_ns.saturating_sub(self.origin_ns);
        if self
            .spec
            .block_after_ns
            .is_some_and(|after_ns| since_ns >= after_ns)
        {
            return true;
        }
        match (&self.spec.police, &mut self.bucket) {
            (Some(police), Some(bucket)) if since_ns >= police.after_ns => {
                !bucket.take(now_ns, ip_bytes)
            }
            _ => false,
        }
    }
}

/// A token bucket that starts full and forgets no fraction of a bit.
struct Bucket {
    rate_bps: u64,
    /// Contents and size in units of 1e-9 bit: what `rate_bps` fills in one nanosecond is then
    /// a whole number.
    level: u128,
    size: u128,
    filled_ns: u64,
}

impl Bucket {
    fn new(rate_bps: u64, burst_bytes: u64) -> Bucket {
        let size = nanobits(burst_bytes);
        Bucket {
            rate_bps,
            level: size,
            size,
            filled_ns: 0,
        }
    }

    fn take(&mut self, now_ns: u64, ip_bytes: u32) -> bool {
        let gone_ns = now_ns.saturating_sub(self.filled_ns);
        self.filled_ns = self.filled_ns.max(now_ns);
        let filled = self.level + u128::from(gone_ns) * u128::from(self.rate_bps);
        self.level = filled.min(self.size);
        let needed = nanobits(u64::from(ip_bytes));
        let enough = self.level >= needed;
        if enough {
            self.level -= needed;
        }
        enough
    }
}

fn nanobits(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{drain, item, item_of},
        *,
    };
    use crate::PoliceSpec;

    fn policy(spec: PolicySpec) -> Box<dyn Stage> {
        let spec = PathSpec {
            policy: Some(spec),
            ..PathSpec::default()
        };
        build(&spec, Direction::Up, 1).unwrap()
    }

    #[test]
    fn a_block_lets_udp_through_until_its_moment_and_tcp_always() {
        let mut stage = policy(PolicySpec {
            block_after_ns: Some(1000),
            ..PolicySpec::default()
        });
        stage.start(500);
        stage.offer(1499, item(0, 100));
        stage.offer(1500, item(1, 100));
        stage.offer(1500, item_of(Transport::Tcp, 2, 100));
        stage.offer(1500, item_of(Transport::Other, 3, 100));
        assert_eq!(
            drain(&mut *stage),
            [
                (1499, 0, None),
                (1500, 2, None),
                (1500, 3, None),
                (1500, 1, Some(Cause::Policy))
            ]
        );
    }

    #[test]
    fn only_the_named_ports_are_concerned_in_either_role() {
        let blocks = |udp_ports: Vec<u16>| {
            let mut stage = policy(PolicySpec {
                udp_ports,
                block_after_ns: Some(0),
                ..PolicySpec::default()
            });
            stage.offer(0, item(0, 100));
            drain(&mut *stage)[0].2 == Some(Cause::Policy)
        };
        assert!(blocks(vec![443]));
        assert!(blocks(vec![40_000]));
        assert!(!blocks(vec![53]));
        assert!(blocks(vec![]));
    }

    #[test]
    fn policing_passes_the_burst_then_the_rate() {
        let police = PoliceSpec {
            rate_bps: 8_000_000,
            burst_bytes: 3000,
            after_ns: 0,
        };
        let mut stage = policy(PolicySpec {
            police: Some(police),
            ..PolicySpec::default()
        });
        // 1000 bytes each 100 us offer 80 Mbit/s for one second: 10 times the rate.
        for i in 0..10_000 {
            stage.offer(i * 100_000, item(i, 1000));
        }
        let passed = drain(&mut *stage).iter().filter(|o| o.2.is_none()).count();
        // 1 MB in a second and the burst of 3 packets, less the last millisecond.
        assert_eq!(passed, 1002);
    }

    #[test]
    fn a_long_silence_fills_the_bucket_and_no_more() {
        let police = PoliceSpec {
            rate_bps: 8_000_000,
            burst_bytes: 3000,
            after_ns: 0,
        };
        let mut stage = policy(PolicySpec {
            police: Some(police),
            ..PolicySpec::default()
        });
        for i in 0..10 {
            stage.offer(3_600_000_000_000, item(i, 1000));
        }
        assert_eq!(
            drain(&mut *stage).iter().filter(|o| o.2.is_none()).count(),
            3
        );
    }

    #[test]
    fn policing_waits_for_its_moment() {
        let police = PoliceSpec {
            rate_bps: 1000,
            burst_bytes: 100,
            after_ns: 1000,
        };
        let mut stage = policy(PolicySpec {
            police: Some(police),
            ..PolicySpec::default()
        });
        for i in 0..4 {
            stage.offer(500 * i, item(i, 100));
        }
        let causes: Vec<_> = drain(&mut *stage).iter().map(|o| o.2).collect();
        assert_eq!(causes, [None, None, None, Some(Cause::Policy)]);
    }
}
