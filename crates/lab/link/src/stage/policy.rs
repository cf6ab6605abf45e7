//! Operator policy for UDP: blocked or policed, from some moment on, on some ports or all.

use std::num::NonZeroU16;

use config::{Bytes, ConfigError, Kbps, Ms};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Item, Kind, Outcome, Stage, outbox::Outbox};
use crate::{
    model::{Cause, Direction, Transport},
    spec::{PathSpec, PoliceSpec, PolicySpec},
    table::{MOMENT_MS, RATE_KBPS, Table, bps, ns},
    text::{decimal, ms},
};

pub(super) const KIND: Kind = Kind {
    summary,
    is_wired: true,
    ..Kind::new(build)
};

/// `[down.policy]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    /// Drops all UDP from this moment on, in ms or as text; 0 is from the start.
    udp_block_after_ms: Option<Ms>,
    /// Polices UDP at this rate, in 1000 bit/s or as text.
    udp_rate_kbps: Option<Kbps>,
    /// The burst that the rate lets through, in bytes or as text.
    udp_burst_bytes: Option<Bytes>,
    /// Polices from this moment on, 0 by default.
    udp_rate_after_ms: Option<Ms>,
    /// Applies to packets from or to these ports only.
    udp_ports: Option<Vec<NonZeroU16>>,
}

impl Keys {
    pub(super) fn read(self, table: &Table<'_>, mtu: u32) -> Result<PolicySpec, ConfigError> {
        let block = table.within("udp_block_after_ms", self.udp_block_after_ms, &MOMENT_MS)?;
        let rate = table.within("udp_rate_kbps", self.udp_rate_kbps, &RATE_KBPS)?;
        let burst = table.within(
            "udp_burst_bytes",
            self.udp_burst_bytes,
            &(mtu.into()..=u32::MAX.into()),
        )?;
        let after = table.within("udp_rate_after_ms", self.udp_rate_after_ms, &MOMENT_MS)?;
        let police = match rate {
            Some(kbps) => {
                let example = "udp_burst_bytes = 30000, the burst that udp_rate_kbps lets through";
                Some(PoliceSpec {
                    rate_bps: bps(kbps),
                    burst_bytes: table.required("udp_burst_bytes", burst, example)?,
                    after_ns: after.map_or(0, ns),
                })
            }
            None if burst.is_some() || after.is_some() => {
                let key = match after {
                    Some(_) => "udp_rate_after_ms",
                    None => "udp_burst_bytes",
                };
                return Err(table.error(key, "there is no rate to police; write udp_rate_kbps too"));
            }
            None => None,
        };
        if block.is_none() && police.is_none() {
            let message = "the policy does nothing; write udp_block_after_ms or udp_rate_kbps";
            return Err(table.table_error("", message));
        }
        let ports = self.udp_ports.unwrap_or_default();
        Ok(PolicySpec {
            block_after_ns: block.map(ns),
            police,
            udp_ports: ports.into_iter().map(NonZeroU16::get).collect(),
        })
    }
}

fn summary(spec: &PathSpec) -> Option<(&'static str, String)> {
    let policy = spec.policy.as_ref()?;
    let block = policy
        .block_after_ns
        .map(|after_ns| format!("UDP blocked after {} ms", ms(after_ns)));
    let police = policy
        .police
        .map(|p| format!("UDP {} kbit/s", decimal(p.rate_bps as f64 / 1e3)));
    let rules: Vec<String> = block.into_iter().chain(police).collect();
    Some(("policy", rules.join(" and ")))
}

fn build(spec: &PathSpec, _: Direction, _: u64) -> Option<Box<dyn Stage>> {
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
        if self.applies_to(&item) && self.refuses(now_ns, item.packet.ip_bytes) {
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

    fn queued(&self) -> usize {
        self.out.queued()
    }
}

impl Policy {
    fn applies_to(&self, item: &Item) -> bool {
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

/// A token bucket that starts full and loses no fraction of a bit.
struct Bucket {
    rate_bps: u64,
    /// Contents and size in units of 1e-9 bit. Each nanosecond adds `rate_bps` of them, a whole
    /// number.
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

    /// Takes a packet's bytes out of the bucket if it has enough, and returns whether it had.
    fn take(&mut self, now_ns: u64, ip_bytes: u32) -> bool {
        let elapsed_ns = now_ns.saturating_sub(self.filled_ns);
        self.filled_ns = self.filled_ns.max(now_ns);
        let filled = self.level + u128::from(elapsed_ns) * u128::from(self.rate_bps);
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

    fn policy(spec: PolicySpec) -> Box<dyn Stage> {
        let spec = PathSpec {
            policy: Some(spec),
            ..PathSpec::default()
        };
        build(&spec, Direction::Up, 1).unwrap()
    }

    #[test]
    fn block_drops_udp_from_its_moment_on_and_nothing_else() {
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
    fn ports_match_source_or_destination() {
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
    fn policing_passes_the_burst_and_then_the_rate() {
        let police = PoliceSpec {
            rate_bps: 8_000_000,
            burst_bytes: 3000,
            after_ns: 0,
        };
        let mut stage = policy(PolicySpec {
            police: Some(police),
            ..PolicySpec::default()
        });
        // 1000 bytes every 100 us are 80 Mbit/s for one second: 10 times the rate.
        for i in 0..10_000 {
            stage.offer(i * 100_000, item(i, 1000));
        }
        let passed = drain(&mut *stage).iter().filter(|o| o.2.is_none()).count();
        // 1 MB in one second and the burst of 3 packets, less the last millisecond.
        assert_eq!(passed, 1002);
    }

    #[test]
    fn bucket_never_holds_more_than_the_burst() {
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
    fn policing_starts_at_its_moment() {
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
