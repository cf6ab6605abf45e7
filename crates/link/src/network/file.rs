//! A network file: the keys above its directions. Those of a direction are in [`PathKeys`].

use std::ops::RangeInclusive;

use config::{ConfigError, Source};
use serde::Deserialize;

use super::Network;
use crate::{
    nat,
    spec::PathSpec,
    stage::{PathKeys, TraceText},
    table::Table,
};

/// From the smallest MTU that carries IPv6 (RFC 8200, section 5), since the lab uses both IP
/// versions.
pub(super) const MTU: RangeInclusive<u32> = 1280..=9000;
/// Ethernet's MTU, for networks that do not set one.
pub(super) const DEFAULT_MTU: u32 = 1500;
/// Longest text that is parsed: far above any network with its traces inlined.
const MAX_TEXT_BYTES: usize = 64 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    about: Option<String>,
    source: Option<String>,
    mtu: Option<u32>,
    up: Option<PathKeys>,
    down: Option<PathKeys>,
    nat: Option<nat::Keys>,
}

pub(super) fn read(
    file: &str,
    text: &str,
    trace_text: TraceText<'_>,
) -> Result<Network, ConfigError> {
    let source = Source::new(file, text);
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
    let direction = |key, keys: Option<PathKeys>| -> Result<PathSpec, ConfigError> {
        let example = format!("[{key}], with nothing in it if it impairs nothing");
        let keys = table.required(key, keys, &example)?;
        keys.read(&table.inner(key), mtu, trace_text)
    };
    Ok(Network {
        name: name_of(file).to_owned(),
        about,
        source,
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
            "x.toml:1: the file is longer than 64 MiB; shorten its traces"
        );
    }
}
