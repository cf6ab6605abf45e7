//! Pings over both directions of a network in virtual time.

use std::collections::BTreeMap;

use link::{Departure, Direction, NS_PER_MS, Network, Path, Radio};

use crate::common::arrival;

const PING_BYTES: u32 = 84;

/// Both directions of a link, whose ends answer pings at once.
pub(crate) struct Pinger {
    paths: BTreeMap<bool, Path>,
    from_phone: bool,
    sent_ns: Vec<u64>,
    /// By the number of the ping.
    received_ns: BTreeMap<u64, u64>,
}

impl Pinger {
    pub(crate) fn new(network: &Network, seed: u64, from_phone: bool) -> Pinger {
        let radio = network.up.radio.as_ref();
        let radio = radio.map(|radio| Radio::new(radio, seed));
        let path = |spec, direction| Path::with_radio(spec, direction, seed, radio.as_ref());
        let mut paths = BTreeMap::from([
            (true, path(&network.up, Direction::Up)),
            (false, path(&network.down, Direction::Down)),
        ]);
        for path in paths.values_mut() {
            path.start(0);
        }
        Pinger {
            paths,
            from_phone,
            sent_ns: Vec::new(),
            received_ns: BTreeMap::new(),
        }
    }

    /// Sends a ping at each time, and returns the round trips in ms; `None` for a lost one.
    pub(crate) fn pings(&mut self, times_ns: &[u64]) -> Vec<Option<f64>> {
        for &at_ns in times_ns {
            self.run_until(at_ns);
            self.offer(self.from_phone, at_ns, self.sent_ns.len() as u64);
            self.sent_ns.push(at_ns);
        }
        self.run_until(u64::MAX - 1);
        let round_trip = |(token, sent_ns): (u64, &u64)| {
            let received_ns = self.received_ns.get(&token)?;
            Some((received_ns - sent_ns) as f64 / NS_PER_MS as f64)
        };
        (0..).zip(&self.sent_ns).map(round_trip).collect()
    }

    fn offer(&mut self, up: bool, at_ns: u64, token: u64) {
        let packet = arrival(at_ns, token, PING_BYTES, 0).packet;
        self.paths.get_mut(&up).unwrap().offer(at_ns, packet);
    }

    fn run_until(&mut self, until_ns: u64) {
        while let Some((up, at_ns)) = self.first(until_ns) {
            let departure = self.paths.get_mut(&up).unwrap().poll(at_ns);
            match departure {
                Some(Departure::Deliver { at_ns, token }) if up == self.from_phone => {
                    self.offer(!up, at_ns, token);
                }
                Some(Departure::Deliver { at_ns, token }) => {
                    self.received_ns.insert(token, at_ns);
                }
                _ => {}
            }
        }
    }

    /// Returns the path that is due first, up to a time.
    fn first(&self, until_ns: u64) -> Option<(bool, u64)> {
        let due = |(&up, path): (&bool, &Path)| Some((path.next_deadline()?, up));
        let (at_ns, up) = self.paths.iter().filter_map(due).min()?;
        (at_ns <= until_ns).then_some((up, at_ns))
    }
}
