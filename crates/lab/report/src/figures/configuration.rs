//! The configuration of each arm, and how it differs from the baseline's.

use std::collections::BTreeSet;

use record::{Arm, CompactCall, CompactCell};

use crate::summary::configuration::{Configuration, Difference};

pub(crate) const LIBRARY: &str = "library";
const TLS_LIBRARY: &str = "TLS library";
/// The library that answered, which sends all downloads.
pub(crate) const SERVER_LIBRARY: &str = "server's library";
/// Begins the name of what a library reports of itself.
pub(crate) const SETTING: &str = "setting: ";

/// Returns every setting of an arm, as the study says and as seen in its cells. The codec counts only
/// where messages were exchanged.
pub(crate) fn of<'a>(cells: impl Iterator<Item = &'a CompactCell>, arm: &Arm) -> Configuration {
    let mut found = as_the_study_says(arm);
    for cell in cells {
        let mut add = |what: &str, value: String| {
            if !value.is_empty() {
                found.entry(what.to_owned()).or_default().insert(value);
            }
        };
        let encodes = cell.calls.iter().any(CompactCall::is_exchange);
        if encodes || cell.loads.iter().any(|load| load.encodes) {
            add("codec", arm.codec.clone());
        }
        let stack = &cell.stack;
        add(LIBRARY, format!("{} {}", stack.name, stack.version));
        add(TLS_LIBRARY, stack.tls.clone());
        for (name, value) in &stack.settings {
            add(&format!("{SETTING}{name}"), value.clone());
        }
        for of in &cell.connections {
            if let Some(version) = of.ip_version {
                add("IP version", version.to_string());
            }
            add("TLS", of.tls_version.clone());
            add("key exchange", of.group.clone());
            add("cipher", of.cipher.clone());
            add("ALPN", of.alpn.clone());
            add(
                SERVER_LIBRARY,
                of.server_library.clone().unwrap_or_default(),
            );
            add("server's key", of.certificate.clone());
            if of.hello_retry {
                add("HelloRetryRequest", "one more round trip".to_owned());
            }
            // The user's own server has no log that tells.
            if !of.resumed && cell.relay.is_none() {
                add("certificate chain", chain(of.chain_bytes));
            }
            add(
                "server's congestion control",
                of.congestion.clone().unwrap_or_default(),
            );
            for (side, socket) in [("client", &of.client), ("server", &of.server)] {
                let Some(socket) = socket else { continue };
                let mut of_side = |what: &str, value: Option<String>| {
                    add(&format!("{side}'s {what}"), value.unwrap_or_default());
                };
                of_side("TCP_NODELAY", socket.nodelay.map(on_off));
                of_side(
                    "segment size",
                    socket.mss_bytes.map(|mss| format!("{mss} B")),
                );
                of_side("UDP GRO", socket.udp_gro.map(on_off));
                if side == "client" {
                    of_side("congestion control", socket.congestion.clone());
                }
                if socket.udp_gro.is_some() {
                    let (send, receive) = (socket.send_buffer_bytes, socket.receive_buffer_bytes);
                    of_side(
                        "UDP buffers",
                        Some(format!("send {send} B, receive {receive} B")),
                    );
                }
            }
        }
    }
    found
}

/// Returns what no connection shows, so that arms which differ in it are said to.
fn as_the_study_says(arm: &Arm) -> Configuration {
    let or = |value: &Option<String>, default: &str| value.clone().unwrap_or(default.to_owned());
    let resumption = match (arm.early_data, arm.resumption) {
        (true, _) => "on, with early data",
        (false, true) => "on",
        (false, false) => "off",
    };
    [
        ("security", arm.security.clone()),
        ("auth", or(&arm.auth, "none")),
        ("fault of the server's HTTP/3", or(&arm.fault, "none")),
        ("policy", or(&arm.policy, "the client's own")),
        ("connections", or(&arm.connections, "kept")),
        ("session resumption", resumption.to_owned()),
        ("requests of a step", or(&arm.access, "one after another")),
        ("end of a request seen", or(&arm.observe, "at once")),
    ]
    .into_iter()
    .map(|(what, value)| (what.to_owned(), BTreeSet::from([value])))
    .collect()
}

/// Rounds to hundreds, which the lengths of chains stand for: they differ by a few bytes from server to
/// server, since the length of an ECDSA signature varies.
fn chain(bytes: u64) -> String {
    format!("about {} B", (bytes + 50) / 100 * 100)
}

/// Returns the settings that both have with different values. Settings that only one of them has,
/// e.g. UDP buffers, follow from its transport.
pub(crate) fn differences(arm: &Configuration, baseline: &Configuration) -> Vec<Difference> {
    let list = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(" and ");
    let both = arm
        .iter()
        .filter_map(|(what, values)| Some((what, values, baseline.get(what)?)));
    both.filter(|(_, one, other)| one != other)
        .map(|(what, one, other)| Difference {
            what: what.clone(),
            arm: list(one),
            baseline: list(other),
            on_the_wire: ![LIBRARY, TLS_LIBRARY, SERVER_LIBRARY, "ALPN"].contains(&what.as_str())
                && !what.starts_with(SETTING),
        })
        .collect()
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(pairs: &[(&str, &str)]) -> Configuration {
        let mut found = Configuration::new();
        for (what, value) in pairs {
            found
                .entry((*what).to_owned())
                .or_default()
                .insert((*value).to_owned());
        }
        found
    }

    #[test]
    fn equal_chains_with_signatures_of_different_lengths_are_no_difference() {
        assert_eq!(chain(2296), chain(2306));
        assert_ne!(chain(2300), chain(8000));
    }

    #[test]
    fn only_common_settings_that_differ_are_differences() {
        let arm = configuration(&[
            ("TLS", "TLSv1_2"),
            ("cipher", "a"),
            ("client's UDP GRO", "on"),
            ("library", "x"),
        ]);
        let baseline = configuration(&[("TLS", "TLSv1_3"), ("cipher", "a"), ("library", "y")]);
        let found = differences(&arm, &baseline);
        let names: Vec<_> = found
            .iter()
            .map(|d| (d.what.as_str(), d.on_the_wire))
            .collect();
        assert_eq!(names, [("TLS", true), ("library", false)]);
        assert_eq!(
            (found[0].arm.as_str(), found[0].baseline.as_str()),
            ("TLSv1_2", "TLSv1_3")
        );
    }
}
