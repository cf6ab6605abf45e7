//! The memory file: knowledge kept across processes, in at most 64 KiB that no damage makes harmful.
//!
//! It holds salted digests of origins and networks with the figures that were learnt, and no name,
//! address, path or header. The salt lies in the same file, so whoever has it can test a name.
//!
//! Layout: `CMTR`, version (u16), length (u32), CBOR of that length, the first eight bytes of its SHA-256;
//! big-endian.

use std::time::Duration;

use minicbor::{Decode, Encode};
use sha2::{Digest as _, Sha256};

use crate::event::{NetworkId, Transport};
use crate::h3_status::{H3Status, MAX_BACKOFF, MAX_BLOCKED, UdpStatus};
use crate::knowledge::{LastUse, MAX_NETWORKS, MAX_OFFERS, MAX_ORIGINS, OriginDigest};
use crate::learn::{ComparisonClass, Estimate, TransportEstimates, Verdict};
use crate::router::Router;
use crate::switches::Switches;
use crate::time::{MonotonicTime, WallSeconds};

/// The largest memory file that is read, in bytes.
pub const MAX_MEMORY_BYTES: usize = 64 << 10;
const MAGIC: &[u8; 4] = b"CMTR";
const VERSION: u16 = 1;
const HEAD: usize = 10;
const SUM: usize = 8;
const CELLS: usize = ComparisonClass::ALL.len() * Transport::ALL.len();
const HOUR_S: u64 = 3_600;
/// What was not used for longer is forgotten.
const MAX_AGE_HOURS: u64 = 30 * 24;
/// What is recalled counts as at most so many observations: the network may have changed, or be
/// another one with the same number.
const MAX_WEIGHT: f64 = 5.0;
/// Bounds of a recalled mean and deviation, those of what is observed.
const MAX_LOG: f64 = 2.1;

/// The outcome of reading a memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallOutcome {
    /// There was nothing in it.
    Fresh,
    /// All of it.
    Whole,
    /// Nothing of it, because of this.
    Damaged(&'static str),
}

#[derive(Encode, Decode)]
struct Saved {
    #[cbor(n(0), with = "minicbor::bytes")]
    salt: [u8; 16],
    #[n(1)]
    switches: (u32, bool, u8, bool),
    #[n(2)]
    networks: Vec<SavedNetwork>,
    #[n(3)]
    origins: Vec<SavedOrigin>,
    #[n(4)]
    offers: Vec<SavedOffer>,
}

#[derive(Encode, Decode)]
struct SavedNetwork {
    #[cbor(n(0), with = "minicbor::bytes")]
    id: [u8; 16],
    #[n(1)]
    hour: u64,
    /// 0: not known; 1: UDP works; 2: blocked.
    #[n(2)]
    udp: u8,
    #[n(3)]
    times: u8,
    #[n(4)]
    until_s: u64,
    #[n(5)]
    rtt_us: u32,
}

#[derive(Encode, Decode)]
struct SavedOrigin {
    #[cbor(n(0), with = "minicbor::bytes")]
    network: [u8; 16],
    #[cbor(n(1), with = "minicbor::bytes")]
    origin: [u8; 16],
    #[n(2)]
    hour: u64,
    /// 0: not tried; 1: works; 2: broken.
    #[n(3)]
    h3: u8,
    #[n(4)]
    times: u8,
    #[n(5)]
    until_s: u64,
    #[n(6)]
    rtt_us: u32,
    /// Weight, mean and deviation, by class and transport.
    #[n(7)]
    cells: [(f32, f32, f32); CELLS],
}

#[derive(Encode, Decode)]
struct SavedOffer {
    #[cbor(n(0), with = "minicbor::bytes")]
    origin: [u8; 16],
    #[n(1)]
    port: u16,
    #[n(2)]
    until_s: u64,
}

impl Router {
    /// Returns the memory file. `wall` is the time now.
    pub fn memory(&self, wall: WallSeconds) -> Vec<u8> {
        let clock = Clock {
            now: self.now,
            wall,
        };
        let networks = self.knowledge.networks.iter().map(|(id, entry)| {
            let (udp, times, until_s) = match entry.udp {
                UdpStatus::Unknown | UdpStatus::Unanswered { .. } => (0, 0, 0),
                UdpStatus::Works => (1, 0, 0),
                UdpStatus::Blocked { times, until } => (2, times, clock.wall_of(until)),
            };
            let (hour, rtt_us) = (clock.hour_of(entry.used), microseconds(entry.rtt));
            SavedNetwork {
                id: id.0,
                hour,
                udp,
                times,
                until_s,
                rtt_us,
            }
        });
        let origins = self
            .knowledge
            .origins
            .iter()
            .map(|((network, origin), entry)| {
                let (h3, times, until_s) = match entry.h3 {
                    H3Status::Untried => (0, 0, 0),
                    H3Status::Works => (1, 0, 0),
                    H3Status::Broken { times, until } => (2, times, clock.wall_of(until)),
                };
                let cells = entry.estimates.iter().flat_map(|estimates| {
                    Transport::ALL.map(|over| {
                        let estimate = estimates.of(over);
                        let weight = estimate.weight(self.now).min(MAX_WEIGHT) as f32;
                        (weight, estimate.mean() as f32, estimate.deviation() as f32)
                    })
                });
                let mut saved = [(0.0, 0.0, 0.0); CELLS];
                saved
                    .iter_mut()
                    .zip(cells)
                    .for_each(|(slot, cell)| *slot = cell);
                let (network, origin) = (network.0, origin.0);
                let (hour, rtt_us) = (clock.hour_of(entry.used), microseconds(entry.rtt));
                SavedOrigin {
                    network,
                    origin,
                    hour,
                    h3,
                    times,
                    until_s,
                    rtt_us,
                    cells: saved,
                }
            });
        let offers = self
            .knowledge
            .offers
            .iter()
            .filter(|(_, offer)| !offer.hinted);
        let offers = offers.map(|(origin, offer)| SavedOffer {
            origin: origin.0,
            port: offer.port,
            until_s: clock.wall_of(offer.until),
        });
        let Switches {
            generation,
            engine,
            h3_percent,
            explore,
        } = self.switches;
        let saved = Saved {
            salt: self.config.salt,
            switches: (generation, engine, h3_percent, explore),
            networks: networks.collect(),
            origins: origins.collect(),
            offers: offers.collect(),
        };
        let cbor = minicbor::to_vec(&saved).unwrap_or_default();
        let mut file = Vec::with_capacity(HEAD + cbor.len() + SUM);
        file.extend(MAGIC);
        file.extend(VERSION.to_be_bytes());
        file.extend(u32::try_from(cbor.len()).unwrap_or(u32::MAX).to_be_bytes());
        file.extend(&cbor);
        file.extend(checksum(&cbor));
        file
    }

    /// Restores what a file holds, before the first event. Nothing in the file counts for longer than if it had just
    /// been learnt, whatever the file says.
    pub fn recall(&mut self, file: &[u8], wall: WallSeconds) -> RecallOutcome {
        if file.is_empty() {
            return RecallOutcome::Fresh;
        }
        match read(file) {
            Ok(saved) => {
                self.take_over(&saved, wall);
                RecallOutcome::Whole
            }
            Err(reason) => RecallOutcome::Damaged(reason),
        }
    }

    fn take_over(&mut self, saved: &Saved, wall: WallSeconds) {
        let clock = Clock {
            now: self.now,
            wall,
        };
        let now = self.now;
        self.config.salt = saved.salt;
        self.knowledge.salt = saved.salt;
        let (generation, engine, h3_percent, explore) = saved.switches;
        let h3_percent = h3_percent.min(100);
        self.switches = Switches {
            generation,
            engine,
            h3_percent,
            explore,
        };
        for entry in saved
            .networks
            .iter()
            .filter(|entry| clock.is_recent(entry.hour))
            .take(MAX_NETWORKS)
        {
            let network = self.knowledge.network(NetworkId(entry.id), now);
            network.used = clock.last_use(entry.hour);
            network.rtt = duration(entry.rtt_us);
            network.udp = match entry.udp {
                1 => UdpStatus::Works,
                2 => {
                    let until = clock.moment_of(entry.until_s, MAX_BLOCKED);
                    UdpStatus::Blocked {
                        times: entry.times,
                        until,
                    }
                }
                _ => UdpStatus::Unknown,
            };
        }
        for entry in saved
            .origins
            .iter()
            .filter(|entry| clock.is_recent(entry.hour))
            .take(MAX_ORIGINS)
        {
            let known =
                self.knowledge
                    .origin(NetworkId(entry.network), OriginDigest(entry.origin), now);
            known.used = clock.last_use(entry.hour);
            known.rtt = duration(entry.rtt_us);
            known.h3 = match entry.h3 {
                1 => H3Status::Works,
                2 => {
                    let until = clock.moment_of(entry.until_s, MAX_BACKOFF);
                    H3Status::Broken {
                        times: entry.times.clamp(1, 20),
                        until,
                    }
                }
                _ => H3Status::Untried,
            };
            for (class, cells) in ComparisonClass::ALL.into_iter().zip(entry.cells.chunks(2)) {
                if let [quic, tcp] = cells {
                    *known.estimates(class) = estimates(*quic, *tcp, class, now);
                }
            }
        }
        for offer in saved
            .offers
            .iter()
            .filter(|offer| offer.port != 0)
            .take(MAX_OFFERS)
        {
            let until = clock.moment_of(offer.until_s, crate::alt_svc::LONGEST_MAX_AGE);
            let age = until.since(now);
            if !age.is_zero() {
                self.knowledge
                    .set_offer(OriginDigest(offer.origin), offer.port, age, now);
            }
        }
    }
}

fn read(file: &[u8]) -> Result<Saved, &'static str> {
    if file.len() > MAX_MEMORY_BYTES {
        return Err("it is larger than 64 KiB");
    }
    let Some((head, rest)) = file.split_at_checked(HEAD) else {
        return Err("it is cut off");
    };
    if head[..4] != MAGIC[..] {
        return Err("it is not a memory file");
    }
    if head[4..6] != VERSION.to_be_bytes() {
        return Err("it is of another version");
    }
    let length = u32::from_be_bytes([head[6], head[7], head[8], head[9]]) as usize;
    let Some((cbor, sum)) = rest.split_at_checked(length) else {
        return Err("it is cut off");
    };
    if sum != checksum(cbor) {
        return Err("its checksum is wrong");
    }
    minicbor::decode(cbor).map_err(|_| "its contents cannot be read")
}

fn checksum(cbor: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    sum.copy_from_slice(&Sha256::digest(cbor)[..SUM]);
    sum
}

/// Restores two estimates. New requests are compared with a new reference, the level of the transport that is used
/// first. So the mean of that transport becomes zero.
fn estimates(
    quic: (f32, f32, f32),
    tcp: (f32, f32, f32),
    class: ComparisonClass,
    now: MonotonicTime,
) -> TransportEstimates {
    let cell = |(weight, mean, deviation): (f32, f32, f32), shift: f64| {
        let within = |x: f32, low: f64, high: f64| {
            if x.is_finite() {
                f64::from(x).clamp(low, high)
            } else {
                0.0
            }
        };
        let weight = within(weight, 0.0, MAX_WEIGHT);
        let mean = within(mean, -MAX_LOG, MAX_LOG) - shift;
        Estimate::recalled(weight, mean, within(deviation, 0.0, MAX_LOG), now)
    };
    let unshifted = TransportEstimates::new(cell(quic, 0.0), cell(tcp, 0.0));
    let used = match unshifted.verdict(class, None, now) {
        Verdict::Faster(over, ..) => over,
        Verdict::NoDifference | Verdict::CannotTell => Transport::Quic,
    };
    let shift = unshifted.of(used).mean();
    TransportEstimates::new(cell(quic, shift), cell(tcp, shift))
}

/// The two clocks at one moment.
struct Clock {
    now: MonotonicTime,
    wall: WallSeconds,
}

impl Clock {
    fn wall_of(&self, moment: MonotonicTime) -> u64 {
        self.wall.0.saturating_add(moment.since(self.now).as_secs())
    }

    /// Converts a wall time to a moment: now if it is past, and no later than `longest` from now. The bounds hold
    /// however the wall clock was set in between.
    fn moment_of(&self, wall_s: u64, longest: Duration) -> MonotonicTime {
        let left = Duration::from_secs(wall_s.saturating_sub(self.wall.0));
        self.now + left.min(longest)
    }

    fn hour_of(&self, used: LastUse) -> u64 {
        let ago = |at| self.now.since(at).as_secs();
        match used {
            LastUse::Before { hour } => hour,
            LastUse::At(at) => self.wall.0.saturating_sub(ago(at)) / HOUR_S,
        }
    }

    /// Converts an hour of last use. An hour in the future counts as now: the clock was set back.
    fn last_use(&self, hour: u64) -> LastUse {
        let hour = hour.min(self.wall.0 / HOUR_S);
        LastUse::Before { hour }
    }

    fn is_recent(&self, hour: u64) -> bool {
        (self.wall.0 / HOUR_S).saturating_sub(hour) <= MAX_AGE_HOURS
    }
}

fn microseconds(rtt: Option<Duration>) -> u32 {
    rtt.map_or(0, |rtt| u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX))
}

fn duration(us: u32) -> Option<Duration> {
    (us > 0).then(|| Duration::from_micros(u64::from(us)))
}

#[cfg(test)]
mod tests;
