//! Known answers: pings on every network that has a radio.

use link::{NS_PER_MS, RadioSpec, builtin, find};

use crate::pinger::Pinger;

const MS: u64 = NS_PER_MS;

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
        for ms in times_ms[40..].iter().flatten() {
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

/// `commute doctor` pings those without random loss.
#[test]
fn every_radio_has_known_answers() {
    let networks = || builtin().iter().map(|(name, _)| find(name).unwrap());
    let with_radio = || networks().filter(|network| network.up.radio.is_some());
    let lossless = with_radio().filter(|n| n.up.loss.is_none() && n.down.loss.is_none());
    let (names, radios): (Vec<String>, Vec<Option<RadioSpec>>) = lossless
        .map(|network| (network.name, network.up.radio))
        .unzip();
    assert_eq!(names, ["3g-umts", "5g-nsa", "5g-sa", "lte", "lte-aro"]);
    for network in with_radio() {
        assert!(radios.contains(&network.up.radio), "{}", network.name);
    }
}

#[test]
fn an_answer_finds_the_radio_awake() {
    let network = find("lte").unwrap();
    let mut pinger = Pinger::new(&network, 1, true);
    // The first on an idle radio, the second beside it, the third 200 ms after.
    let times: Vec<u64> = pinger
        .pings(&[0, 100 * MS, 600 * MS])
        .iter()
        .flatten()
        .map(|ms| *ms as u64)
        .collect();
    assert_eq!(times, [330, 230, 70]);
}
