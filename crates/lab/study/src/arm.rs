//! An arm: one of the configurations that a study compares.

use driver::manifest::{Certificate, OWN_SERVER};
use driver::protocol::{Codec, Discovery, Policy, Protocol};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::behaviour::Behaviour;
use crate::fault::ServerFault;
use crate::origins::Origins;

/// One of the configurations that a study compares.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// The arm's name, unique in the study.
    pub name: String,
    /// The driver's name in its manifest.
    pub stack: String,
    /// The protocol to force, or to discover.
    pub protocol: Protocol,
    /// The encoding of exchanged messages.
    pub codec: Codec,
    /// The server's name; `commute` for commute's own. The URL of an external server.
    pub server: String,
    /// What is wrong with the server's HTTP/3; none if nothing is.
    pub fault: Option<ServerFault>,
    /// How many packets later than a lost one must be acknowledged before commute's QUIC server
    /// declares the loss; none for quinn's default, 3 (RFC 9002 section 6.1.1).
    pub packet_threshold: Option<u32>,
    /// After how many round trips commute's QUIC server declares a packet lost, above 1; none for
    /// quinn's default, 9/8 (RFC 9002 section 6.1.2).
    pub time_threshold: Option<f64>,
    /// How the connection is secured.
    pub security: Security,
    /// How every request proves who sends it; none if it does not.
    pub auth: Option<AuthScheme>,
    /// Congestion control of both ends; none for each stack's default.
    pub congestion: Option<String>,
    /// The kind of all keys; none for P-256, or for what the stack needs.
    pub key: Option<Certificate>,
    /// The length of the server's certificate chain.
    pub chain: Chain,
    /// Requests to another origin that warm the runtime up first; 0 for a cold process.
    pub warmup_calls: u32,
    /// `frame:HZ` if the application sees the end of a request at its next frame.
    pub observe: Option<String>,
    /// How HTTP/3 is discovered; none if it is forced.
    pub discovery: Option<Discovery>,
    /// How a client that decides does so; none if by what it has learnt.
    pub policy: Option<Policy>,
    /// What the arm does otherwise than the workload says.
    pub behaviour: Behaviour,
    /// The origins besides the first; steps to any other go to the first.
    pub origins: Origins,
    /// What the arm is compared for.
    pub role: ArmRole,
}

impl Arm {
    /// Returns an arm with the default of every other setting.
    pub fn plain(stack: &str, protocol: Protocol) -> Arm {
        Arm {
            name: format!("{stack} {}", protocol.name()),
            stack: stack.to_owned(),
            protocol,
            codec: Codec::plain(protocol),
            server: OWN_SERVER.to_owned(),
            fault: None,
            packet_threshold: None,
            time_threshold: None,
            security: Security::Tls,
            auth: None,
            congestion: None,
            key: None,
            chain: Chain::Typical,
            warmup_calls: 0,
            observe: None,
            discovery: None,
            policy: None,
            behaviour: Behaviour::default(),
            origins: Origins::new(),
            role: ArmRole::Candidate,
        }
    }

    /// Returns why the arm's server cannot serve it, if it cannot.
    pub fn not_with_its_server(&self) -> Option<String> {
        let server = &self.server;
        let cannot = |key: &str| {
            Some(format!(
                "the {server} server does not support `{key}` over HTTP/3; leave it out"
            ))
        };
        match self {
            _ if *server == OWN_SERVER => None,
            Arm { fault: Some(_), .. } => Some(format!(
                "only commute's own server has a `fault`, not {server}; leave it out"
            )),
            _ if self.protocol != Protocol::H3 => None,
            Arm {
                congestion: Some(_),
                ..
            } => cannot("congestion"),
            Arm {
                packet_threshold: Some(_),
                ..
            } => cannot("packet_threshold"),
            Arm {
                time_threshold: Some(_),
                ..
            } => cannot("time_threshold"),
            _ => None,
        }
    }
}

/// What an arm is compared for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArmRole {
    /// An app may take it: it can be recommended.
    #[default]
    Candidate,
    /// It shows a cause, and is never recommended.
    Control,
    /// It shows what no app should do, and is never recommended.
    AntiPattern,
}

impl ArmRole {
    /// Returns the name used in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            ArmRole::Candidate => "candidate",
            ArmRole::Control => "control",
            ArmRole::AntiPattern => "anti-pattern",
        }
    }
}

/// The length of the server's certificate chain, as `commute serve --chain` makes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Chain {
    /// 2.3 kB, about what public CAs send.
    #[default]
    Typical,
    /// 8 kB, more than a server may send over QUIC before the client's address is validated.
    Long,
}

impl Chain {
    /// Returns the name used in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            Chain::Typical => "typical",
            Chain::Long => "long",
        }
    }
}

/// How the connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// TLS with a server certificate.
    Tls,
    /// TLS with certificates of both ends.
    Mtls,
    /// Plaintext, over HTTP/1.1 and gRPC only: to show what a published comparison with it left out.
    None,
}

impl Security {
    /// Returns the name used in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            Security::Tls => "tls",
            Security::Mtls => "mtls",
            Security::None => "none",
        }
    }
}

/// How a request proves who sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthScheme {
    /// A bearer token, signed with RS256 (RFC 7519).
    Jwt,
    /// A signature of the request and its body with HMAC (RFC 9421).
    Hmac,
}

impl AuthScheme {
    /// Returns the name used in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            AuthScheme::Jwt => "jwt",
            AuthScheme::Hmac => "hmac",
        }
    }
}
