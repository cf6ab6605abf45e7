//! Networks and their directions in records and messages: JSON and TOML that no network file was read into.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Network, file::MTU};
use crate::{spec::PathSpec, stage, text::clip};

impl<'de> Deserialize<'de> for PathSpec {
    /// Checks a direction by the smallest valid MTU: only a network knows its own.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PathSpec, D::Error> {
        // The derived function; that of the trait is this one.
        let spec = PathSpec::deserialize(deserializer)?;
        stage::check(&spec, *MTU.start()).map_err(D::Error::custom)?;
        match spec.aqm {
            Some(aqm) if !MTU.contains(&aqm.mtu) => {
                let (least, most) = (MTU.start(), MTU.end());
                let wrong = format!("aqm: mtu: {} is out of range, {least} to {most}", aqm.mtu);
                Err(D::Error::custom(wrong))
            }
            _ => Ok(spec),
        }
    }
}

impl Serialize for PathSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PathSpec::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Network, D::Error> {
        let network = Network::deserialize(deserializer)?;
        let is_named = |wrong: String| format!("network `{}`: {wrong}", clip(&network.name));
        check(&network).map_err(|wrong| D::Error::custom(is_named(wrong)))?;
        Ok(network)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Network::serialize(self, serializer)
    }
}

/// Returns what is wrong with a network, and where.
fn check(network: &Network) -> Result<(), String> {
    let Network { up, down, mtu, .. } = network;
    if !MTU.contains(mtu) {
        let (least, most) = (MTU.start(), MTU.end());
        return Err(format!("mtu: {mtu} is out of range, {least} to {most}"));
    }
    for (direction, spec) in [("up", up), ("down", down)] {
        stage::check(spec, *mtu).map_err(|wrong| format!("{direction}.{wrong}"))?;
        if let Some(aqm) = spec.aqm.filter(|aqm| aqm.mtu != *mtu) {
            let wrong = format!("{direction}.aqm: its mtu is {}, not {mtu}", aqm.mtu);
            return Err(wrong);
        }
    }
    if up.radio != down.radio {
        return Err("up.radio and down.radio differ; both directions share one".to_owned());
    }
    if up.handovers != down.handovers {
        let message = "up.handovers and down.handovers differ; both directions share them";
        return Err(message.to_owned());
    }
    Ok(())
}
