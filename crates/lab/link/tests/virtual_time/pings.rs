//! Known answers: pings on every network that has a radio.

use std::collections::BTreeMap;

use link::{Departure, Direction, NS_PER_MS, Network, Path, Radio, find};

use crate::common::arrival;

const MS: u64 = NS_PER_MS;
const PING_BYTES: u32 = 84;

/// Both directions of a link in virtual time, whose ends answer pings at once.
struct Pinger {
    paths: BTreeMap<bool, Path>,
    from_phone: bool,
    sent_ns: Vec<u64>,
    received_ns: Vec<u64>,
}

impl Pinger {
    fn new(network: &Network, seed: u64, from_phone: bool) -> Pinger {
        let radio = Radio::new(network.up.radio.as_ref().unwrap(), seed);
        let path = |spec, direction| Path::with_radio(spec, direction, seed, Some(&radio));
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
            received_ns: Vec::new(),
        }
    }

    /// Sends a ping at each time, and returns the round trips in ms.
    fn pings(&mut self, times_ns: &[u64]) -> Vec<f64> {
        for &at_ns in times_ns {
            self.run_until(at_ns);
            self.offer(self.from_phone, at_ns);
            self.sent_ns.push(at_ns);
        }
        self.run_until(u64::MAX - 1);
        let pairs = self.sent_ns.iter().zip(&self.received_ns);
        pairs
            .map(|(sent, received)| (received - sent) as f64 / MS as f64)
            .collect()
    }

    fn offer(&mut self, up: bool, at_ns: u64) {
        let packet = arrival(at_ns, 0, PING_BYTES, 0).packet;
        self.paths.get_mut(&up).unwrap().offer(at_ns, packet);
    }

    fn run_until(&mut self, until_ns: u64) {
        while let Some((up, at_ns)) = self.first(until_ns) {
            let departure = self.paths.get_mut(&up).unwrap().poll(at_ns);
            match departure {
                Some(Departure::Deliver { at_ns, .. }) if up == self.from_phone => {
                    self.offer(!up, at_ns);
                }
                Some(Departure::Deliver { at_ns, .. }) => self.received_ns.push(at_ns),
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

/// Returns the least and the greatest round trip in ms of pings every `gap_ms`, but for the first ones, which find the
/// radio in its initial state.
fn range(name: &str, gap_ms: u64, from_phone: bool) -> [f64; 2] {
    let network = find(name).unwrap();
    let mut found = [f64::INFINITY, 0.0];
    for seed in 0..20 {
        // No multiple of a cycle, so that pings meet all of its phases.
        let times: Vec<u64> = (0..100)
            .map(|i| 20_000 * MS + i * (gap_ms * MS + 1_700_000))
            .collect();
        let times_ms = Pinger::new(&network, seed, from_phone).pings(&times);
        for ms in &times_ms[40..] {
            found = [found[0].min(*ms), found[1].max(*ms)];
        }
    }
    found
}

/// The published ranges are those of round trips in `networks/NAME.toml`, whose sources are named there.
#[test]
fn pings_take_as_long_as_published() {
    // A ping every 100 ms finds no radio asleep.
    let cases = [
        ("lte", 100, true, [70.0, 70.2]),
        ("lte", 100, false, [70.0, 70.2]),
        ("lte", 5_000, false, [70.0, 390.2]),
        ("lte", 5_000, true, [70.0, 70.2]),
        ("lte", 15_000, true, [330.1, 330.4]),
        ("lte", 15_000, false, [330.1, 1610.4]),
        ("lte-aro", 5_000, false, [70.0, 110.2]),
        ("lte-aro", 15_000, false, [330.0, 1610.4]),
        ("5g-nsa", 100, true, [80.0, 80.1]),
        ("5g-nsa", 5_000, false, [80.0, 400.1]),
        ("5g-nsa", 15_000, true, [370.0, 400.1]),
        ("5g-nsa", 15_000, false, [370.0, 1680.1]),
        ("5g-sa", 100, true, [79.0, 79.1]),
        ("5g-sa", 5_000, false, [79.0, 119.1]),
        ("5g-sa", 12_000, false, [100.0, 140.1]),
        ("5g-sa", 12_000, true, [100.0, 100.1]),
        ("5g-sa", 17_000, false, [420.0, 1730.1]),
        ("3g-umts", 100, true, [117.5, 121.1]),
        // Small packets on the shared channel need no promotion.
        ("3g-umts", 6_000, true, [117.5, 121.1]),
        ("3g-umts", 17_000, true, [2117.5, 2121.1]),
    ];
    for (name, gap_ms, from_phone, [least, most]) in cases {
        let [low, high] = range(name, gap_ms, from_phone);
        let case = format!("{name} every {gap_ms} ms, from phone: {from_phone}: {low} to {high}");
        assert!((least..=most).contains(&low), "{case}");
        assert!((least..=most).contains(&high), "{case}");
        // Where the range is wide, pings fill it.
        if most - least > 30.0 {
            assert!(low - least < 0.02 * (most - least), "{case}");
            assert!(most - high < 0.02 * (most - least), "{case}");
        }
    }
}

#[test]
fn every_network_with_a_radio_has_known_answers() {
    let names = link::builtin().iter().map(|(name, _)| *name);
    let names: Vec<&str> = names
        .filter(|name| find(name).unwrap().up.radio.is_some())
        .collect();
    assert_eq!(names, ["3g-umts", "5g-nsa", "5g-sa", "lte", "lte-aro"]);
}

#[test]
fn an_answer_finds_the_radio_awake() {
    let network = find("lte").unwrap();
    let mut pinger = Pinger::new(&network, 1, true);
    // The first on an idle radio, the second beside it, the third 200 ms after.
    let times: Vec<u64> = pinger
        .pings(&[0, 100 * MS, 600 * MS])
        .iter()
        .map(|ms| *ms as u64)
        .collect();
    assert_eq!(times, [330, 230, 70]);
}
