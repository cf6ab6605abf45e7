//! Where a stack sends its requests.

use std::net::{IpAddr, SocketAddr};

use driver::protocol::{CallError, ErrorKind};
use rustls::pki_types::ServerName;

use crate::call_error::call_error;
use crate::stack_error::StackError;
use crate::trace::{Phase, Trace};

/// An origin with or without TLS.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Host name or IP address, without brackets.
    pub host: String,
    /// TCP or UDP port.
    pub port: u16,
    /// Value of `Host` and `:authority`.
    pub authority: http::uri::Authority,
    /// Whether it has TLS, that is, the scheme is `https`.
    pub tls: bool,
    /// Name that the certificate must have.
    pub server_name: ServerName<'static>,
}

impl Origin {
    /// Parses `https://name:port` or `http://name:port`.
    pub fn parse(url: &str) -> Result<Self, StackError> {
        let invalid = || {
            StackError::Failed(format!(
                "{url:?} is not https://name:port or http://name:port"
            ))
        };
        let uri: http::Uri = url.parse().map_err(|_| invalid())?;
        let authority = uri.authority().ok_or_else(invalid)?.clone();
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().ok_or_else(invalid)?;
        let server_name = ServerName::try_from(host.clone()).map_err(|_| invalid())?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid()),
        };
        Ok(Self {
            host,
            port,
            authority,
            tls,
            server_name,
        })
    }

    /// Returns the scheme of its URLs.
    pub fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// Returns the host's addresses in the order of `getaddrinfo`. An IP address is returned as it
    /// is, and no time is recorded.
    pub async fn resolve(&self, trace: &Trace) -> Result<Vec<SocketAddr>, CallError> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let addresses: Vec<_> = found
            .map_err(|error| call_error(ErrorKind::Dns, &error))?
            .collect();
        trace.stamp(Phase::Dns);
        Ok(addresses)
    }
}
