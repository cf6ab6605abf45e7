//! The settings of all arms that a sweep may vary.

use driver::manifest::Certificate;
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error, StrDeserializer};

use super::{Arm, AuthScheme, Chain, Security, ServerFault};

/// CUBIC of Linux's TCP, over QUIC as well.
pub const LINUX_CUBIC: &str = "linux-cubic";
/// The congestion controls of arms, in words.
pub(crate) const CONGESTION: &str = "cubic, linux-cubic or bbr";

/// Each setting's name, as in `[[arm]]`, and what its values may be.
const SETTINGS: [(&str, &str); 7] = [
    ("auth", "none, jwt or hmac"),
    ("chain", "typical or long"),
    ("congestion", CONGESTION),
    (
        "fault",
        "none, no-quic, quic-stall, quic-garbage, quic-reset or false-alt-svc",
    ),
    ("key", "p256 or rsa-2048"),
    ("security", "tls, mtls or none"),
    ("server", "the name of a server, e.g. go"),
];

/// Returns whether arms have this setting, so that a sweep can vary it.
pub(super) fn is_arm_setting(name: &str) -> bool {
    SETTINGS.iter().any(|(setting, _)| *setting == name)
}

/// Reports whether arms can have a congestion control.
pub(crate) fn is_congestion(name: &str) -> bool {
    ["cubic", LINUX_CUBIC, "bbr"].contains(&name)
}

/// Returns the names of all settings.
pub(super) fn names() -> String {
    SETTINGS.map(|(name, _)| name).join(", ")
}

/// Sets a setting of an arm. Fails with what would be right.
pub(super) fn set(arm: &mut Arm, name: &str, value: &str) -> Result<(), String> {
    match name {
        "auth" if value == "none" => arm.auth = None,
        "auth" => arm.auth = Some(parse::<AuthScheme>(name, value)?),
        "chain" => arm.chain = parse::<Chain>(name, value)?,
        "congestion" if is_congestion(value) => {
            arm.congestion = Some(value.to_owned());
        }
        "fault" if value == "none" => arm.fault = None,
        "fault" => arm.fault = Some(parse::<ServerFault>(name, value)?),
        "key" => arm.key = Some(parse::<Certificate>(name, value)?),
        "security" => arm.security = parse::<Security>(name, value)?,
        "server" => value.clone_into(&mut arm.server),
        _ => return Err(wrong(name, value)),
    }
    Ok(())
}

fn parse<'de, T: Deserialize<'de>>(name: &str, value: &'de str) -> Result<T, String> {
    let value_of: StrDeserializer<'de, Error> = value.into_deserializer();
    T::deserialize(value_of).map_err(|_| wrong(name, value))
}

fn wrong(name: &str, value: &str) -> String {
    let known = SETTINGS.iter().find(|(setting, _)| *setting == name);
    let values = known.map_or("", |(_, values)| values);
    format!("{name} cannot be {value:?}; write {values}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use driver::protocol::Protocol;

    #[test]
    fn every_setting_can_be_set_and_refuses_nonsense() {
        for (name, value) in [
            ("auth", "hmac"),
            ("chain", "long"),
            ("congestion", "bbr"),
            ("fault", "quic-stall"),
            ("key", "rsa-2048"),
            ("security", "mtls"),
            ("server", "go"),
        ] {
            let plain = Arm::plain("hyper", Protocol::H2);
            let mut arm = plain.clone();
            set(&mut arm, name, value).unwrap();
            assert_ne!(arm, plain, "{name}");
            if name != "server" {
                let refused = set(&mut arm, name, "x").unwrap_err();
                assert!(
                    refused.starts_with(&format!("{name} cannot be \"x\"")),
                    "{refused}"
                );
            }
        }
    }
}
