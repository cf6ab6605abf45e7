//! `--forward`: services of this host at the far end of the link, by [`lab::Relay`].

use std::io;
use std::net::SocketAddr;

use anyhow::Context as _;
use lab::{FarEnd, Relay};
use pump::Bench;

use super::FAR;
use crate::{descriptors, progress};

/// The argument `PORT=HOST:PORT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forward {
    /// The port at the far end.
    pub(crate) port: u16,
    /// The service.
    pub(crate) to: SocketAddr,
}

impl std::str::FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Forward, String> {
        let wrong =
            |what: String| format!("{what}; write PORT=HOST:PORT, e.g. 8443=127.0.0.1:8443");
        let (port, to) = text
            .split_once('=')
            .ok_or_else(|| wrong(format!("`{text}` has no =")))?;
        let port = match port.parse() {
            Ok(0) | Err(_) => return Err(wrong(format!("`{port}` is not a port"))),
            Ok(port) => port,
        };
        let to = std::net::ToSocketAddrs::to_socket_addrs(to)
            .map_err(|e| match e.kind() {
                io::ErrorKind::InvalidInput => wrong(format!("`{to}`: {e}")),
                _ => format!("cannot look up `{to}`: {e}"),
            })?
            .next()
            .ok_or_else(|| wrong(format!("`{to}` has no address")))?;
        Ok(Forward { port, to })
    }
}

/// Starts to relay, and prints how to reach each service.
pub(super) fn start(bench: &mut Bench, forwards: &[Forward]) -> anyhow::Result<Relay> {
    let mut services = Vec::new();
    for Forward { port, to } in forwards {
        let far = FarEnd::open(bench, *port);
        let far = far.with_context(|| format!("--forward: port {port} at the far end"))?;
        let address = bench.facts().server.v4;
        progress::line(&format!(
            "forward: {FAR}:{port} ({address}:{port}) -> {to}, TCP and UDP, proxied"
        ));
        services.push((far, *to));
    }
    if !services.is_empty() {
        // Each of a relay's flows needs two. The command, which the bench starts, keeps the old limit.
        descriptors::raise_limit();
    }
    Relay::start(services).context("--forward")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_are_answered_with_an_example() {
        let f: Forward = "8443=127.0.0.1:443".parse().unwrap();
        assert_eq!((f.port, f.to), (8443, "127.0.0.1:443".parse().unwrap()));
        for wrong in ["8443", "0=127.0.0.1:1", "x=127.0.0.1:1", "1=127.0.0.1"] {
            assert!(
                wrong
                    .parse::<Forward>()
                    .unwrap_err()
                    .contains("8443=127.0.0.1:8443")
            );
        }
    }
}
