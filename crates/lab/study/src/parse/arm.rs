//! The arms of a study: their keys, and what is wrong with one by itself.

use config::Bytes;
use driver::manifest::Certificate;
use driver::protocol::{Codec, Discovery, Policy, Protocol};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::RawStudy;
use crate::arm_setting::{CONGESTION, is_congestion};
use crate::external::{RawServer, ServerUrl};
use crate::origins::{self, ArmOrigins};
use crate::{
    Access, Arm, ArmRole, AuthScheme, Behaviour, Chain, Connections, Security, ServerFault,
};

/// quinn's own default; RFC 9002 section 6.1.1 forbids fewer.
const MIN_PACKET_THRESHOLD: u32 = 3;
/// Round trips. Beyond this threshold the probe timeout has fired.
const MAX_TIME_THRESHOLD: f64 = 10.0;
/// A JIT compiles hot code after some ten thousand calls; more would only take time.
const MAX_WARMUP_CALLS: u32 = 20_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawArm {
    /// Unique in the study; stack and protocol by default.
    name: Option<String>,
    /// A driver's name: `commute stacks` lists them.
    stack: String,
    /// The protocol, or `auto`: as the client decides for each request.
    protocol: Protocol,
    /// Codec of exchanges, e.g. `msgpack` or `json+gzip-6`.
    codec: Option<Codec>,
    /// The server at the far end: `commute`, `go`, `envoy` or `envoy-l4`.
    server: Option<String>,
    /// What is wrong with HTTP/3 of the server, while TCP works.
    fault: Option<ServerFault>,
    /// How many later packets must be acknowledged before the server declares one lost: at least 3.
    packet_threshold: Option<u32>,
    /// After how many round trips the server declares a packet lost: above 1.
    time_threshold: Option<f64>,
    /// How the connection is secured.
    #[serde(default = "default_security")]
    security: Security,
    /// How every request proves who sends it.
    auth: Option<AuthScheme>,
    /// Congestion control of both ends: `cubic`, `bbr`, or `linux-cubic`, with which the server's QUIC behaves as TCP.
    congestion: Option<String>,
    /// Kind of all keys.
    key: Option<Certificate>,
    /// Length of the server's certificate chain.
    #[serde(default)]
    chain: Chain,
    /// Requests to another origin that warm the runtime up; 0 is a cold process.
    warmup_calls: Option<u32>,
    /// `frame:60`: the application sees the end of a request at its next frame.
    observe: Option<String>,
    /// HTTP/3 is discovered instead of being forced.
    discovery: Option<Discovery>,
    /// How a client with `protocol = "auto"` decides.
    policy: Option<Policy>,
    /// Whether requests share connections.
    #[serde(default)]
    connections: Connections,
    /// New connections use the session tickets of the last one.
    #[serde(default)]
    resumption: bool,
    /// New connections use the session tickets of the last one, and 0-RTT.
    #[serde(default)]
    early_data: bool,
    /// How the requests of a step with `times` follow each other: `sequential`, `paused:3000ms`, `parallel` or `first-alone`.
    #[serde(default)]
    #[schemars(with = "String")]
    access: Access,
    /// gRPC: the payload's bytes in each part of a submitted message.
    chunk_bytes: Option<Bytes>,
    /// Where all origins of the study are.
    origins: Option<ArmOrigins>,
    /// What the arm is compared for.
    #[serde(default)]
    role: ArmRole,
}

fn default_security() -> Security {
    Security::Tls
}

impl RawArm {
    /// Converts to an arm. Its default name shows its server where that is not the study's.
    pub(super) fn to_arm(&self, study: &RawStudy) -> Arm {
        let plain = Arm::plain(&self.stack, self.protocol);
        let name = match &self.server {
            Some(other) if *other != study.server_name() => {
                format!("{} ({other} server)", plain.name)
            }
            _ => plain.name,
        };
        Arm {
            name: self.name.clone().unwrap_or(name),
            codec: self.codec.clone().unwrap_or(plain.codec),
            server: (self.server.clone()).unwrap_or_else(|| study.server_name()),
            fault: self.fault,
            packet_threshold: self.packet_threshold,
            time_threshold: self.time_threshold,
            security: self.security,
            auth: self.auth,
            congestion: self.congestion.clone(),
            key: self.key.or(study.key),
            chain: self.chain,
            warmup_calls: self.warmup_calls.unwrap_or(study.warmup_calls),
            observe: self.observe.clone(),
            discovery: self.discovery,
            policy: self.policy,
            behaviour: Behaviour {
                connections: self.connections,
                resumption: self.resumption,
                early_data: self.early_data,
                access: self.access,
                chunk_bytes: self.chunk_bytes.map(u64::from),
            },
            origins: origins::of_arm(&study.origins, self.origins),
            role: self.role,
            stack: plain.stack,
            protocol: plain.protocol,
        }
    }

    /// Returns what is wrong with the server that the arm names.
    pub(super) fn wrong_server(&self, study: &RawStudy) -> Option<String> {
        let name = self.server.as_deref()?;
        let external = matches!(
            study.server.as_ref().map(Spanned::get_ref),
            Some(RawServer::External(_))
        );
        (external || ServerUrl::looks_like(name)).then(|| {
            "a server of your own, [server] with `url`, is every arm's; leave the arm's `server` out"
                .to_owned()
        })
    }
}

/// Returns what is wrong with an arm by itself.
pub(super) fn contradiction(arm: &Arm) -> Option<String> {
    let codec = arm.codec.name();
    if let Err(e) = codec.parse::<messages::Codec>() {
        return Some(e.to_string());
    }
    let out_of_range = |round_trips: f64| !(round_trips > 1.0 && round_trips <= MAX_TIME_THRESHOLD);
    let too_few = |packets| packets < MIN_PACKET_THRESHOLD;
    let bad_frames = |observe: &str| frame_hz(observe).is_none();
    match arm.protocol {
        Protocol::Grpc if codec != "protobuf" => {
            Some("gRPC always uses Protobuf here; leave `codec` out".to_owned())
        }
        _ if arm.discovery.is_some() && !matches!(arm.protocol, Protocol::H3 | Protocol::Auto) => {
            Some(
                "`discovery` says how HTTP/3 is found; use it with protocol = \"h3\" or \"auto\""
                    .to_owned(),
            )
        }
        _ if arm.policy.is_some() && arm.protocol != Protocol::Auto => Some(
            "`policy` says how a client decides; use it with protocol = \"auto\"".to_owned(),
        ),
        _ if arm.protocol != Protocol::H3
            && (arm.packet_threshold.is_some() || arm.time_threshold.is_some()) =>
        {
            Some(
                "`packet_threshold` and `time_threshold` are QUIC's; use them with \
                 protocol = \"h3\""
                    .to_owned(),
            )
        }
        _ if arm.congestion.as_deref().is_some_and(is_unknown_congestion) => {
            Some(format!("congestion: {CONGESTION}"))
        }
        _ if arm.time_threshold.is_some_and(out_of_range) => {
            Some("time_threshold: above 1, and at most 10 round trips".to_owned())
        }
        _ if arm.packet_threshold.is_some_and(too_few) => Some(format!(
            "packet_threshold: at least {MIN_PACKET_THRESHOLD}, the default of QUIC"
        )),
        _ if arm.observe.as_deref().is_some_and(bad_frames) => {
            Some("observe: write e.g. \"frame:60\", with 1 to 1000 frames per second".to_owned())
        }
        Protocol::H2 | Protocol::H3 | Protocol::Auto if arm.security == Security::None => Some(
            "security = \"none\" is for h1 and grpc only: no client has HTTP/2 or HTTP/3 without TLS"
                .to_owned(),
        ),
        _ if arm.behaviour.chunk_bytes.is_some() && arm.protocol != Protocol::Grpc => {
            Some("`chunk_bytes` is for gRPC's streams; use it with protocol = \"grpc\"".to_owned())
        }
        _ if arm.behaviour.chunk_bytes == Some(0) => {
            Some("chunk_bytes = 0; at least 1".to_owned())
        }
        _ if arm.warmup_calls > MAX_WARMUP_CALLS => Some(format!(
            "warmup_calls = {}; at most {MAX_WARMUP_CALLS}",
            arm.warmup_calls
        )),
        _ => None,
    }
}

fn is_unknown_congestion(name: &str) -> bool {
    !is_congestion(name)
}

/// Returns the frames per second of `frame:HZ`, if they are 1 to 1000.
fn frame_hz(observe: &str) -> Option<u32> {
    let hz = observe.strip_prefix("frame:")?.parse().ok()?;
    (1..=1000).contains(&hz).then_some(hz)
}
