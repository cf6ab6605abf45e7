//! Faults of HTTP/3 on an arm's server; TCP keeps working.

use driver::protocol::Discovery;
use schemars::JsonSchema;
use serde::Deserialize;

/// Nobody listens here: the ports of origins are above.
const NOBODYS_PORT: u16 = 8442;

/// What is wrong with the HTTP/3 of commute's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerFault {
    /// Nothing listens over UDP.
    NoQuic,
    /// Handshakes succeed and requests are accepted, then nothing comes back.
    QuicStall,
    /// Every datagram is answered with random bytes.
    QuicGarbage,
    /// Handshakes succeed, and every request is reset.
    QuicReset,
    /// Alt-Svc offers HTTP/3 on a port where nobody listens; on the server's own it works.
    FalseAltSvc,
}

impl ServerFault {
    /// Returns the name used in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoQuic => "no-quic",
            Self::QuicStall => "quic-stall",
            Self::QuicGarbage => "quic-garbage",
            Self::QuicReset => "quic-reset",
            Self::FalseAltSvc => "false-alt-svc",
        }
    }
}

/// Returns the arguments of `commute serve` that offer HTTP/3 and make it fail.
pub fn server_args(fault: Option<ServerFault>, discovery: Option<Discovery>) -> Vec<String> {
    if fault == Some(ServerFault::FalseAltSvc) {
        return vec!["--alt-svc".to_owned(), NOBODYS_PORT.to_string()];
    }
    let fault = fault.map(|fault| format!("--{}", fault.name()));
    let offer = discovery.map(|Discovery::AltSvc| "--alt-svc".to_owned());
    fault.into_iter().chain(offer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_offer_takes_the_place_of_the_true_one() {
        let found = Some(Discovery::AltSvc);
        assert_eq!(server_args(None, None), [""; 0]);
        assert_eq!(server_args(None, found), ["--alt-svc"]);
        let stall = Some(ServerFault::QuicStall);
        assert_eq!(server_args(stall, found), ["--quic-stall", "--alt-svc"]);
        let elsewhere = Some(ServerFault::FalseAltSvc);
        assert_eq!(server_args(elsewhere, found), ["--alt-svc", "8442"]);
        assert_eq!(server_args(elsewhere, None), ["--alt-svc", "8442"]);
    }
}
