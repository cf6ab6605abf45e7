//! A server that the lab does not start: the user's own.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use driver::protocol::Protocol;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::{Arm, Chain, Security, Step};

/// The longest name in DNS (RFC 1035 section 2.3.4).
const MAX_NAME_BYTES: usize = 253;
const HTTPS_PORT: u16 = 443;

/// The user's own server, which every arm of a study then talks to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalServer {
    /// What clients are given.
    pub url: ServerUrl,
    /// `HOST:PORT` to connect to instead of the URL's, e.g. of one machine behind the name.
    pub address: Option<String>,
    /// The trust anchors that its certificate is checked against.
    pub trust: Trust,
}

/// The certificate authorities that clients trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The system's.
    System,
    /// Those in this PEM file, which the user names.
    File(PathBuf),
    /// Those in this PEM file, which the study names relative to its folder.
    OfStudy(PathBuf),
    /// These, in PEM.
    Pem(String),
}

/// The URL of a server: `https://NAME` or `https://NAME:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// A name in DNS, in lower case.
    pub name: String,
    /// The port, 443 if the URL has none.
    pub port: u16,
}

impl ExternalServer {
    /// Returns the server of a run that is continued, or what is wrong with its URL.
    pub fn of_record(recorded: &record::ExternalServer) -> Result<ExternalServer, String> {
        Ok(ExternalServer {
            url: recorded.url.parse()?,
            address: recorded.address.clone(),
            trust: recorded.ca_pem.clone().map_or(Trust::System, Trust::Pem),
        })
    }

    /// Returns the server as `run.json` has it.
    pub fn recorded(&self) -> record::ExternalServer {
        record::ExternalServer {
            url: self.url.to_string(),
            address: self.address.clone(),
            ca_pem: match &self.trust {
                Trust::Pem(pem) => Some(pem.clone()),
                Trust::System | Trust::File(_) | Trust::OfStudy(_) => None,
            },
        }
    }

    /// Returns why cells of an arm are unsupported, if they are. The study may be one that others can run.
    pub fn unsupported(arm: &Arm) -> Option<&'static str> {
        (arm.protocol == Protocol::Grpc).then_some(
            "gRPC to a server of your own: its messages have your service's schema, and the lab's the one \
             inferred from JSON",
        )
    }

    /// Returns what of an arm only a server of the lab can do, if there is something.
    pub fn not_for_arm(&self, arm: &Arm) -> Option<String> {
        let only_ours = |key: &str| {
            Some(format!(
                "`{key}` chooses or sets up a server of the lab, and has no effect on your own; leave it out"
            ))
        };
        match arm {
            _ if arm.server != self.url.to_string() => only_ours("server"),
            _ if arm.security != Security::Tls => only_ours("security"),
            _ if arm.auth.is_some() => only_ours("auth"),
            _ if arm.fault.is_some() => only_ours("fault"),
            _ if arm.key.is_some() => only_ours("key"),
            _ if arm.chain != Chain::Typical => only_ours("chain"),
            _ if arm.packet_threshold.is_some() => only_ours("packet_threshold"),
            _ if arm.time_threshold.is_some() => only_ours("time_threshold"),
            _ if !arm.origins.is_empty() => only_ours("origins"),
            _ if arm.congestion.is_some() && arm.protocol == Protocol::H3 => {
                only_ours("congestion")
            }
            _ => None,
        }
    }
}

impl ServerUrl {
    /// Returns whether `text` is meant as a URL, and not as the name of a server of the lab.
    pub fn looks_like(text: &str) -> bool {
        text.contains("://")
    }

    /// Returns `NAME:PORT`.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.name, self.port)
    }
}

impl std::fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "https://{}", self.authority())
    }
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerUrl, String> {
        let wrong = |what: &str| format!("`{text}` {what}; write e.g. https://api.example.com");
        let rest = text
            .strip_prefix("https://")
            .ok_or_else(|| wrong("does not begin with https://"))?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) {
            return Err(wrong(
                "has more than a name and a port: paths are for steps",
            ));
        }
        let is_address = authority.starts_with('[')
            || (authority.split(':').next()).is_some_and(|host| host.parse::<IpAddr>().is_ok());
        if is_address || authority.split(':').next() == Some("localhost") {
            return Err(format!(
                "`{text}`: behind the emulated link, clients know the server by name only, and localhost is \
                 their own; use a name of its certificate as the URL, and say where it is by `address` \
                 (--server-address), e.g. 127.0.0.1:8443"
            ));
        }
        let (name, port) = match authority.split_once(':') {
            None => (authority, HTTPS_PORT),
            Some((name, port)) => match port.parse() {
                Ok(0) | Err(_) => return Err(wrong("has no valid port")),
                Ok(port) => (name, port),
            },
        };
        let name = name.to_ascii_lowercase();
        if !is_host_name(&name) {
            return Err(wrong("has no valid host name"));
        }
        Ok(ServerUrl { name, port })
    }
}

/// Reports whether a name has labels of letters, digits and hyphens, as RFC 1123 section 2.1 has them, or underscores.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && (label.bytes()).all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.len() <= MAX_NAME_BYTES && name.split('.').all(is_label)
}

/// `server` as written: the name of one of the lab's, or the table of the user's own.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(super) enum RawServer {
    /// `commute`, `go`, `envoy` or `envoy-l4`.
    Named(String),
    /// A server of your own.
    External(RawExternal),
}

/// `[server]`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExternal {
    /// Where it is, e.g. `https://api.app.example`.
    #[schemars(with = "String")]
    url: Spanned<String>,
    /// `HOST:PORT` to connect to instead of the URL's.
    #[schemars(with = "Option<String>")]
    address: Option<Spanned<String>>,
    /// The file of the authority that signed its certificate, relative to the study.
    ca: Option<PathBuf>,
}

impl<'de> Deserialize<'de> for RawServer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawServer, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = RawServer;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a server, or a table with `url`")
            }

            fn visit_str<E>(self, name: &str) -> Result<RawServer, E> {
                Ok(RawServer::Named(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawServer, A::Error> {
                RawExternal::deserialize(MapAccessDeserializer::new(map)).map(RawServer::External)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl RawExternal {
    /// Checks the table.
    pub(super) fn check(
        &self,
        source: &config::Source<'_>,
    ) -> Result<ExternalServer, config::ConfigError> {
        let url = (self.url.get_ref())
            .parse()
            .map_err(|e| source.error(&self.url.span(), format!("url: {e}")))?;
        let address = match &self.address {
            None => None,
            Some(address) => {
                let checked = check_address(address.get_ref());
                checked.map_err(|e| source.error(&address.span(), format!("address: {e}")))?;
                Some(address.get_ref().clone())
            }
        };
        Ok(ExternalServer {
            url,
            address,
            trust: self.ca.clone().map_or(Trust::System, Trust::OfStudy),
        })
    }
}

/// Checks that an address has a host and a port; whether it leads anywhere shows when a run begins.
pub fn check_address(text: &str) -> Result<(), String> {
    let port =
        |(host, port): (&str, &str)| !host.is_empty() && port.parse().is_ok_and(|n: u16| n > 0);
    match text.rsplit_once(':').is_some_and(port) {
        true => Ok(()),
        false => Err(format!(
            "`{text}` is not HOST:PORT; write e.g. 127.0.0.1:8443"
        )),
    }
}

/// Returns the group of a step that asks for what only the lab's servers answer, and what it asks for.
pub fn not_for_step(step: &Step) -> Option<(&str, String)> {
    let (group, action) = match step {
        Step::Call { group, .. } => (group, "a `call` without `path`"),
        Step::Exchange { group, .. } => (group, "`exchange`"),
        Step::Submit { group, .. } => (group, "`submit`"),
        Step::Get { group, .. } => (group, "`get`"),
        Step::Put { group, .. } => (group, "`put`"),
        Step::Stream { group, .. } => (group, "`stream`"),
        Step::Load { request: step, .. } | Step::At { step, .. } => return not_for_step(step),
        Step::Repeat { steps, .. } | Step::Parallel(steps) => {
            return steps.iter().find_map(not_for_step);
        }
        Step::Own { .. } | Step::Pause { .. } | Step::WaitUntil { .. } => return None,
        Step::Reconnect(_) | Step::Restart => return None,
    };
    Some((
        group,
        format!(
            "{action} asks for what only the lab's servers answer; your own needs `call` with `method` and \
             `path`, e.g. call = \"orders\", path = \"/v1/orders\""
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_name_and_perhaps_a_port() {
        for (text, name, port) in [
            ("https://api.example.com", "api.example.com", 443),
            ("https://API.example.com:8443/", "api.example.com", 8443),
            ("https://my-server", "my-server", 443),
        ] {
            let url: ServerUrl = text.parse().unwrap();
            assert_eq!((url.name.as_str(), url.port), (name, port));
            assert_eq!(url.to_string(), format!("https://{name}:{port}"));
        }
    }

    #[test]
    fn other_urls_are_refused_with_what_would_be_right() {
        for (text, reason) in [
            ("http://a.test", "does not begin with https://"),
            ("https://a.test/v1", "paths are for steps"),
            ("https://me:pw@a.test", "more than a name and a port"),
            ("https://a.test:0", "no valid port"),
            ("https://a.test:x", "no valid port"),
            ("https://", "no valid host name"),
            ("https://a b", "no valid host name"),
            ("https://a.test\n198.18.0.2 b.test", "no valid host name"),
            ("https://-a.test", "no valid host name"),
            ("https://127.0.0.1:8443", "--server-address"),
            ("https://[::1]:8443", "--server-address"),
            ("https://localhost:8443", "--server-address"),
        ] {
            let error = text.parse::<ServerUrl>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn addresses_have_host_and_port() {
        for right in ["127.0.0.1:8443", "[::1]:443", "staging.example.com:443"] {
            assert_eq!(check_address(right), Ok(()));
        }
        for wrong in ["127.0.0.1", ":443", "a:0", "a:b"] {
            assert!(check_address(wrong).unwrap_err().contains("HOST:PORT"));
        }
    }
}
