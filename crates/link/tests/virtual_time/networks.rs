//! The built-in networks, and how network files are parsed.

use link::{Direction, LossSpec, NS_PER_MS, Network, Path, PathSpec, RateSpec, builtin, find};

use crate::common::{arrival, poll_on_time};

pub(crate) const HEAD: &str = "about = 'a'\nsource = 's'\n";

pub(crate) fn parse(text: &str) -> Result<Network, String> {
    Network::parse("x.toml", text).map_err(|e| e.to_string())
}

/// Parses a `[down]` table whose first key is on line 5.
pub(crate) fn down(text: &str) -> Result<PathSpec, String> {
    parse(&format!("{HEAD}[up]\n[down]\n{text}")).map(|network| network.down)
}

#[test]
fn built_in_networks_have_their_published_numbers() {
    let numbers = |name| find(name).unwrap().numbers();
    assert_eq!(
        numbers("true-metro"),
        "down 6.3 up 9.7 Mbit/s · RTT 123 ms · loss 1.5 % down · queue 100 ms"
    );
    assert_eq!(
        numbers("thai-wifi"),
        "down 5.7 up 2.8 Mbit/s · RTT 466 ms · loss 1.5 % down · queue 100 ms"
    );
    assert_eq!(
        numbers("dtac-metro"),
        "down 2.3 up 4.7 Mbit/s · RTT 68 ms · loss 1.5 % down · queue 100 ms"
    );
    assert_eq!(
        numbers("3g-750k"),
        "down 750 up 750 kbit/s · RTT 0 ms · no loss · queue 200 ms"
    );
    assert_eq!(
        numbers("lighthouse-slow4g"),
        "down 1.6384 up 0.75 Mbit/s · RTT 150 ms · no loss · queue 100 ms"
    );
    assert_eq!(
        numbers("android-gsm"),
        "down 14.4 up 14.4 kbit/s · RTT 350 ms ±200 · no loss · queue 10 packets"
    );
}

#[test]
fn every_network_names_its_source_and_carries_packets() {
    for (name, _) in builtin() {
        let network = find(name).unwrap();
        assert!(
            network.about.len() > 10 && network.source.len() > 20,
            "{name}"
        );
        for (spec, direction) in [
            (&network.up, Direction::Up),
            (&network.down, Direction::Down),
        ] {
            let packets: Vec<_> = (0..50)
                .map(|i| arrival(i * 1000 * NS_PER_MS, i, network.mtu, 1))
                .collect();
            let mut path = Path::new(spec, direction, 7);
            poll_on_time(&mut path, &packets);
            let counters = path.counters();
            // Packets a second apart never queue: they can only be lost at random.
            assert_eq!(counters.dropped.total(), counters.dropped.loss, "{name}");
            assert!(counters.delivered > 40, "{name}");
        }
    }
}

#[test]
fn networks_survive_json() {
    for (name, _) in builtin() {
        let network = find(name).unwrap();
        let json = serde_json::to_string(&network).unwrap();
        assert_eq!(serde_json::from_str::<Network>(&json).unwrap(), network);
    }
}

#[test]
fn trace_files_are_fetched_by_the_caller() {
    let text = format!("{HEAD}[up]\n[down]\nqueue_packets = 9\ntrace = 'lte.down'");
    let fetch = |name: &str| match name {
        "lte.down" => Ok("1\n2\n4\n".to_owned()),
        _ => Err("not there".to_owned()),
    };
    let network = Network::parse_with("x.toml", &text, &fetch).unwrap();
    assert_eq!(network.down.rate.mean_bps(), Some(9_000_000));
    let inlined = text.replace("trace = 'lte.down'", "trace_ms = [1, 2, 4]");
    assert_eq!(parse(&inlined).unwrap(), network);

    let missing = text.replace("lte.down", "lte.up");
    let error = Network::parse_with("x.toml", &missing, &fetch)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("x.toml:6: down.trace: not there; "),
        "{error}"
    );
    assert!(
        parse(&text)
            .unwrap_err()
            .contains("write its times into trace_ms")
    );
}

#[test]
fn fractional_values_become_exact_whole_units() {
    let spec =
        down("rate_kbps = 14.4\ndelay_ms = 61.5\nloss_percent = 0.1\nqueue_ms = 5000").unwrap();
    assert_eq!(spec.rate, RateSpec::constant(14_400));
    assert_eq!(spec.delay_ns, 61_500_000);
    assert_eq!(spec.loss, Some(LossSpec::Iid { ppb: 1_000_000 }));
    assert_eq!(down("loss_percent = 0"), Ok(PathSpec::default()));
}
