//! No text of a network file or of an override causes a panic.

use link::{Direction, Path, find};
use proptest::prelude::*;

use crate::{
    common::{arrival, poll_on_time},
    networks::{HEAD, parse},
};

/// Generates random lines of network files, so that random texts get past the first line.
fn random_lines() -> impl Strategy<Value = String> {
    let keys = [
        "about",
        "source",
        "mtu",
        "up",
        "down",
        "rate_kbps",
        "trace",
        "trace_ms",
        "queue_ms",
        "queue_bytes",
        "queue_packets",
        "aqm",
        "kind",
        "target_ms",
        "interval_ms",
        "quantum_bytes",
        "delay_ms",
        "jitter_ms",
        "loss_percent",
        "burst_loss",
        "good_ms",
        "bad_ms",
        "gilbert_elliott",
        "p_percent",
        "r_percent",
        "policy",
        "udp_ports",
        "udp_rate_kbps",
        "udp_burst_bytes",
        "gate",
        "closed_ms",
        "every_ms",
        "queue",
        "reorder",
        "percent",
        "extra_ms",
        "bad_length",
        "nat",
        "rebind_at_ms",
        "udp_idle_ms",
        "tcp_idle_ms",
    ];
    let values = [
        "0",
        "1",
        "-1",
        "1500",
        "1e308",
        "-1e308",
        "nan",
        "inf",
        "0x10",
        "9223372036854775807",
        "99999999999999999999",
        "'fixed'",
        "'codel'",
        "'fq-codel'",
        "'keep'",
        "'flush'",
        "''",
        "true",
        "[]",
        "[1]",
        "[[1, 2]]",
        "[[1, 2], [3, 4]]",
        "[[1e9, 1e300]]",
        "{}",
        "1979-05-27",
        "[0, 0]",
        "[1, 2, 3]",
    ];
    let key = prop::sample::select(keys.to_vec());
    let line = prop_oneof![
        4 => (key.clone(), prop::sample::select(values.to_vec())).prop_map(|(k, v)| format!("{k} = {v}\n")),
        1 => key.clone().prop_map(|k| format!("[{k}]\n")),
        1 => (prop::sample::select(vec!["up", "down"]), key).prop_map(|(d, k)| format!("[{d}.{k}]\n")),
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn random_text_is_refused_without_panic(text in "\\PC{0,200}") {
        prop_assert!(parse(&text).is_err());
    }

    #[test]
    fn random_lines_of_networks_cause_no_panic(rest in random_lines(), head: bool) {
        let text = if head { format!("{HEAD}[up]\n[down]\n{rest}") } else { rest };
        match parse(&text) {
            Err(error) => prop_assert!(error.starts_with("x.toml:"), "{error}"),
            Ok(network) => {
                network.numbers();
                let mut path = Path::new(&network.down, Direction::Down, 1);
                let packets: Vec<_> = (0..20).map(|i| arrival(i * 100, i, 1500, 1)).collect();
                poll_on_time(&mut path, &packets);
                prop_assert_eq!(path.counters().queued, 0);
            }
        }
    }

    #[test]
    fn random_overrides_cause_no_panic(name in "\\PC{0,10}", value in "\\PC{0,20}", digits in "[0-9.]{1,30}(ms|%|Mbit|s|kbit/s|)") {
        let mut overrides = link::Overrides::default();
        prop_assert!(overrides.set(&name, &value).is_err());
        for setting in ["down", "up", "rtt", "jitter", "loss", "queue", "aqm", "mtu"] {
            if overrides.set(setting, &digits).is_ok()
                && let Ok(network) = find("true-metro").unwrap().with_overrides(&overrides)
            {
                network.numbers();
                Path::new(&network.up, Direction::Up, 1);
            }
        }
    }
}
