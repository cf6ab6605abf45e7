//! What arms have in common and what not, beside the protocol they are compared for.

use std::collections::{BTreeMap, BTreeSet};

use record::Cell;
use schemars::JsonSchema;
use serde::Serialize;

/// What is known of an arm's set-up: a name, and every value that was seen.
pub type Configuration = BTreeMap<String, BTreeSet<String>>;

/// Something in which an arm is unlike the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// What differs.
    pub what: String,
    /// The arm's.
    pub arm: String,
    /// The baseline's.
    pub baseline: String,
    /// It shows on the wire or in the kernel, so that it may explain a difference in time;
    /// the rest is the library's name and what it says of itself.
    pub on_the_wire: bool,
}

/// Everything seen in these cells of an arm with this codec, which is of interest where
/// messages were exchanged in it.
pub(crate) fn of<'a>(cells: impl Iterator<Item = &'a Cell>, codec: &str) -> Configuration {
    let mut found = Configuration::new();
    for cell in cells {
        let mut add = |what: &str, value: String| {
            if !value.is_empty() {
                found.entry(what.to_owned()).or_default().insert(value);
            }
        };
        if cell.calls.iter().any(|call| call.exchange.is_some()) {
            add("codec", codec.to_owned());
        }
        let stack = &cell.stack;
        add(LIBRARY, format!("{} {}", stack.name, stack.version));
        add(TLS_LIBRARY, stack.tls.clone());
        for (name, value) in &stack.settings {
            add(&format!("{SETTING}{name}"), value.clone());
        }
        for of in &cell.connections {
            add("TLS", of.tls_version.clone());
            add("key exchange", of.group.clone());
            add("cipher", of.cipher.clone());
            add("ALPN", of.alpn.clone());
            add("server's key", of.certificate.clone());
            if of.hello_retry {
                add("hello retry", "one more round trip".to_owned());
            }
            if !of.resumed {
                // An ECDSA signature is a byte or two longer or shorter each time.
                let tens = (of.chain_bytes + 5) / 10 * 10;
                add("certificate chain", format!("about {tens} B"));
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
                of_side("segment", socket.mss_bytes.map(|mss| format!("{mss} B")));
                of_side("UDP GRO", socket.udp_gro.map(on_off));
                if side == "client" {
                    of_side("congestion control", socket.congestion.clone());
                }
                if socket.udp_gro.is_some() {
                    let (out, into) = (socket.send_buffer_bytes, socket.receive_buffer_bytes);
                    of_side("UDP buffers", Some(format!("{out} B out, {into} B in")));
                }
            }
        }
    }
    found
}

/// In what `arm` is unlike `baseline`. What only one of them has, as a UDP buffer, is told by
/// the transport and not again.
pub(crate) fn differences(arm: &Configuration, baseline: &Configuration) -> Vec<Difference> {
    let told = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(" and ");
    let both = arm
        .iter()
        .filter_map(|(what, values)| Some((what, values, baseline.get(what)?)));
    both.filter(|(_, one, other)| one != other)
        .map(|(what, one, other)| Difference {
            what: what.clone(),
            arm: told(one),
            baseline: told(other),
            on_the_wire: ![LIBRARY, TLS_LIBRARY, "ALPN"].contains(&what.as_str())
                && !what.starts_with(SETTING),
        })
        .collect()
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

const LIBRARY: &str = "library";
const TLS_LIBRARY: &str = "TLS library";
const SETTING: &str = "setting: ";

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
    fn only_what_both_have_and_differs_is_told() {
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
