//! Errors: why a server could not start, or did not end cleanly.

use std::io;
use std::net::SocketAddr;

use crate::credentials::CredentialsError;
use crate::tls::TlsError;

/// A server could not start, or did not end cleanly.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The configuration has no address.
    #[error("no address to listen on; give at least one, with port 0 for any free port")]
    NoAddress,
    /// Making or writing the credentials failed.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// Setting up TLS failed.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// An address could not be bound.
    #[error("cannot listen on {address} over {transport}: {source}{}", bind_hint(.source))]
    Bind {
        /// The address to listen on.
        address: SocketAddr,
        /// `TCP` or `UDP`.
        transport: &'static str,
        /// The error of the socket call.
        source: io::Error,
    },
    /// Writing the log failed.
    #[error("the request log is incomplete: {0}")]
    Log(io::Error),
}

fn bind_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; is another server running there?",
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need root or CAP_NET_BIND_SERVICE, others are free to all"
        }
        io::ErrorKind::AddrNotAvailable => "; give an address of this machine",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_bind_says_what_to_do_about_it() {
        for (kind, hint) in [
            (io::ErrorKind::AddrInUse, "another server"),
            (io::ErrorKind::PermissionDenied, "below 1024 need root"),
            (io::ErrorKind::AddrNotAvailable, "address of this machine"),
        ] {
            let error = ServerError::Bind {
                address: ([127, 0, 0, 1], 443).into(),
                transport: "TCP",
                source: kind.into(),
            };
            assert!(error.to_string().contains(hint), "{error}");
        }
    }
}
