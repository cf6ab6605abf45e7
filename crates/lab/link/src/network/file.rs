//! A network file: the keys above its directions. Those of a direction are in [`PathKeys`].

use std::ops::RangeInclusive;

use config::{ConfigError, Source};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Basis, Network};
use crate::{
    handover, nat, radio,
    spec::PathSpec,
    stage::{PathKeys, Shared, TraceText},
    table::Table,
};

/// From the smallest MTU that carries IPv6 (RFC 8200, section 5), since the lab uses both IP
/// versions.
pub(super) const MTU: RangeInclusive<u32> = 1280..=9000;
/// Ethernet's MTU, for networks that do not set one.
pub(super) const DEFAULT_MTU: u32 = 1500;
/// Longest text that is parsed: far above any network with its traces inlined.
const MAX_TEXT_BYTES: usize = 64 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// One line of description.
    #[schemars(required)]
    about: Option<String>,
    /// Where the numbers come from, and which of them are assumed.
    #[schemars(required)]
    source: Option<String>,
    /// How well the numbers are founded. Reports flag answers on assumed networks.
    basis: Option<Basis>,
    /// Largest IP packet in bytes, 1280 to 9000; 1500 by default.
    mtu: Option<u32>,
    /// From client to server; empty if nothing is impaired.
    #[schemars(required)]
    up: Option<PathKeys>,
    /// From server to client; empty if nothing is impaired.
    #[schemars(required)]
    down: Option<PathKeys>,
    /// A NAT in front of the server that drops its mappings.
    nat: Option<nat::Keys>,
    /// The phone's radio, which sleeps when nothing is sent and wakes up late.
    radio: Option<radio::Keys>,
    /// Handovers from one base station to the next, for both directions at once.
    handover: Option<handover::Keys>,
}

/// Returns the JSON Schema of network files.
pub(super) fn schema() -> Value {
    let mut schema = schemars::schema_for!(Keys).to_value();
    schema["title"] = "A network of commute".into();
    // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
    schema.sort_all_objects();
    schema
}

/// What people try, and what to write instead.
const HINTS: &[(&str, &str)] = &[
    (
        "rtt",
        "write `delay_ms` in each direction; the RTT is their sum",
    ),
    ("latency", "write `delay_ms`, one way"),
    ("latency_ms", "write `delay_ms`, one way"),
    (
        "bandwidth",
        "write `rate_kbps`, e.g. rate_kbps = \"5Mbit/s\"",
    ),
];

pub(super) fn read(
    file: &str,
    text: &str,
    trace_text: TraceText<'_>,
) -> Result<Network, ConfigError> {
    let source = Source::new(file, text).with_hints(HINTS);
    if text.len() > MAX_TEXT_BYTES {
        return Err(source.error(
            &(0..0),
            "the file is longer than 64 MiB; shorten its traces",
        ));
    }
    let keys: Keys = source.parse()?;
    let table = Table::root(source);
    let about = table.required("about", keys.about, "about = \"one line of description\"")?;
    let example = "source = \"where the numbers are from\"";
    let source = table.required("source", keys.source, example)?;
    let mtu = table.within("mtu", keys.mtu, &MTU)?.unwrap_or(DEFAULT_MTU);
    let shared = Shared {
        radio: keys
            .radio
            .map(|keys| keys.read(&table.inner("radio"), mtu))
            .transpose()?,
        handovers: keys
            .handover
            .map(|keys| keys.read(&table.inner("handover")))
            .transpose()?,
    };
    let direction = |key, keys: Option<PathKeys>| -> Result<PathSpec, ConfigError> {
        let example = format!("[{key}], with nothing in it if it impairs nothing");
        let keys = table.required(key, keys, &example)?;
        keys.read(&table.inner(key), mtu, shared.clone(), trace_text)
    };
    Ok(Network {
        name: name_of(file).to_owned(),
        about,
        source,
        basis: keys.basis,
        mtu,
        up: direction("up", keys.up)?,
        down: direction("down", keys.down)?,
        nat: keys
            .nat
            .map(|keys| keys.read(&table.inner("nat")))
            .transpose()?,
    })
}

/// Returns the name of the file without its folder and extension.
fn name_of(file: &str) -> &str {
    let file = file.rsplit('/').next().unwrap_or(file);
    file.strip_suffix(".toml").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_is_named_after_its_file() {
        assert_eq!(name_of("lan.toml"), "lan");
        assert_eq!(name_of("/tmp/my.networks/train.2.toml"), "train.2");
        assert_eq!(name_of("lan"), "lan");
    }

    #[test]
    fn oversized_files_are_not_parsed() {
        let text = " ".repeat(MAX_TEXT_BYTES + 1);
        let error = read("x.toml", &text, &|_| unreachable!()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.toml:1:1: the file is longer than 64 MiB; shorten its traces"
        );
    }
}
