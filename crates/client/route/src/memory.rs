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

use crate::book::{Digest, LastUse, MAX_NETWORKS, MAX_OFFERS, MAX_ROWS};
use crate::event::{NetworkId, Transport};
use crate::learn::{Class, Estimate, Learnt, Verdict};
use crate::moment::{Moment, WallSeconds};
use crate::router::Router;
use crate::standing::{MAX_BACKOFF, MAX_SILENCE, Trial, Udp};
use crate::switches::Switches;

/// Larger files are not read.
pub const MAX_MEMORY_BYTES: usize = 64 << 10;
const MAGIC: &[u8; 4] = b"CMTR";
const VERSION: u16 = 1;
const HEAD: usize = 10;
const SUM: usize = 8;
const CELLS: usize = Class::ALL.len() * Transport::ALL.len();
const HOUR_S: u64 = 3_600;
/// What was not used for longer is forgotten.
const MAX_AGE_HOURS: u64 = 30 * 24;
/// What is recalled counts as at most so many observations: the network may have changed, or be
/// another one with the same number.
const MAX_WEIGHT: f64 = 5.0;
/// Bounds of a recalled mean and deviation, those of what is observed.
const MAX_LOG: f64 = 2.1;

/// What became of a memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
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
    rows: Vec<SavedRow>,
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
struct SavedRow {
    #[cbor(n(0), with = "minicbor::bytes")]
    network: [u8; 16],
    #[cbor(n(1), with = "minicbor::bytes")]
    origin: [u8; 16],
    #[n(2)]
    hour: u64,
    /// 0: not tried; 1: works; 2: broken.
    #[n(3)]
    trial: u8,
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
        let networks = self.book.networks.iter().map(|(id, row)| {
            let (udp, times, until_s) = match row.udp {
                Udp::Unknown | Udp::Unanswered { .. } => (0, 0, 0),
                Udp::Works => (1, 0, 0),
                Udp::Silent { times, until } => (2, times, clock.wall_of(until)),
            };
            let (hour, rtt_us) = (clock.hour_of(row.used), microseconds(row.rtt));
            SavedNetwork {
                id: id.0,
                hour,
                udp,
                times,
                until_s,
                rtt_us,
            }
        });
        let rows = self.book.rows.iter().map(|((network, origin), row)| {
            let (trial, times, until_s) = match row.trial {
                Trial::Untried => (0, 0, 0),
                Trial::Works => (1, 0, 0),
                Trial::Broken { times, until } => (2, times, clock.wall_of(until)),
            };
            let cells = row.learnt.iter().flat_map(|learnt| {
                Transport::ALL.map(|over| {
                    let estimate = learnt.of(over);
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
            let (hour, rtt_us) = (clock.hour_of(row.used), microseconds(row.rtt));
            SavedRow {
                network,
                origin,
                hour,
                trial,
                times,
                until_s,
                rtt_us,
                cells: saved,
            }
        });
        let offers = self.book.offers.iter().filter(|(_, offer)| !offer.hinted);
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
            rows: rows.collect(),
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
    pub fn recall(&mut self, file: &[u8], wall: WallSeconds) -> Recalled {
        if file.is_empty() {
            return Recalled::Fresh;
        }
        match read(file) {
            Ok(saved) => {
                self.take_over(&saved, wall);
                Recalled::Whole
            }
            Err(why) => Recalled::Damaged(why),
        }
    }

    fn take_over(&mut self, saved: &Saved, wall: WallSeconds) {
        let clock = Clock {
            now: self.now,
            wall,
        };
        let now = self.now;
        self.config.salt = saved.salt;
        self.book.salt = saved.salt;
        let (generation, engine, h3_percent, explore) = saved.switches;
        let h3_percent = h3_percent.min(100);
        self.switches = Switches {
            generation,
            engine,
            h3_percent,
            explore,
        };
        for row in saved
            .networks
            .iter()
            .filter(|row| clock.is_recent(row.hour))
            .take(MAX_NETWORKS)
        {
            let network = self.book.network(NetworkId(row.id), now);
            network.used = clock.last_use(row.hour);
            network.rtt = duration(row.rtt_us);
            network.udp = match row.udp {
                1 => Udp::Works,
                2 => {
                    let until = clock.moment_of(row.until_s, MAX_SILENCE);
                    Udp::Silent {
                        times: row.times,
                        until,
                    }
                }
                _ => Udp::Unknown,
            };
        }
        for row in saved
            .rows
            .iter()
            .filter(|row| clock.is_recent(row.hour))
            .take(MAX_ROWS)
        {
            let known = self
                .book
                .row(NetworkId(row.network), Digest(row.origin), now);
            known.used = clock.last_use(row.hour);
            known.rtt = duration(row.rtt_us);
            known.trial = match row.trial {
                1 => Trial::Works,
                2 => {
                    let until = clock.moment_of(row.until_s, MAX_BACKOFF);
                    Trial::Broken {
                        times: row.times.clamp(1, 20),
                        until,
                    }
                }
                _ => Trial::Untried,
            };
            for (class, cells) in Class::ALL.into_iter().zip(row.cells.chunks(2)) {
                if let [quic, tcp] = cells {
                    *known.learnt(class) = learnt(*quic, *tcp, class, now);
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
                self.book
                    .set_offer(Digest(offer.origin), offer.port, age, now);
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
fn learnt(quic: (f32, f32, f32), tcp: (f32, f32, f32), class: Class, now: Moment) -> Learnt {
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
    let plain = Learnt::new(cell(quic, 0.0), cell(tcp, 0.0));
    let used = match plain.verdict(class, None, now) {
        Verdict::Faster(over, ..) => over,
        Verdict::NoDifference | Verdict::CannotTell => Transport::Quic,
    };
    let shift = plain.of(used).mean();
    Learnt::new(cell(quic, shift), cell(tcp, shift))
}

/// The two clocks at one moment.
struct Clock {
    now: Moment,
    wall: WallSeconds,
}

impl Clock {
    fn wall_of(&self, moment: Moment) -> u64 {
        self.wall.0.saturating_add(moment.since(self.now).as_secs())
    }

    /// Converts a wall time to a moment: now if it is past, and no later than `longest` from now. The bounds hold
    /// however the wall clock was set in between.
    fn moment_of(&self, wall_s: u64, longest: Duration) -> Moment {
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
