//! Errors of requests and of building an engine.

use route::{Fault, Reason};

use crate::limits::Phase;

/// The reason why a request has no response or an incomplete body.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL or a header is not one.
    #[error("{0}")]
    Invalid(String),
    /// No route led to a response.
    #[error("{fault}{}", if *.may_have_acted { "; the server may have acted on the request" } else { "" })]
    Failed {
        /// The last fault.
        fault: Fault,
        /// Whether the server may have acted on the request. If not, the request is safe to repeat.
        may_have_acted: bool,
    },
    /// A limit of the request passed. The server may have acted on it, unless there was no connection.
    #[error("{0} within the time limit")]
    TimedOut(Phase),
    /// The engine is off and does not take the request. Fall back to the app's own client.
    #[error("not by this engine: {0}")]
    FallBack(Reason),
    /// The app dropped the [`BodyWriter`](crate::BodyWriter) before the body's end.
    #[error("the body of the request was not finished")]
    Unfinished,
    /// The request has ended, or its response came, before all of its body was taken.
    #[error("no more of the request's body is taken")]
    BodyNotTaken,
    /// The server answered with this status, so there is nothing to download.
    #[error("the server answered {0}")]
    Refused(http::StatusCode),
    /// The file of a download cannot be written.
    #[error("{0}")]
    File(String),
    /// The engine has ended.
    #[error("the engine has ended")]
    Ended,
}

/// The reason why an engine cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A hint is not the URL of an origin.
    #[error("hint: {0}")]
    Hint(String),
    /// The roots contain no certificate.
    #[error("the roots contain no certificate")]
    NoRoots,
    /// The roots cannot be used.
    #[error("roots: {0}")]
    Roots(String),
    /// A PEM file is not one.
    #[error("PEM: {0:?}")]
    Pem(rustls::pki_types::pem::Error),
    /// A certificate or key cannot be used.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// The platform gives no thread, socket or random numbers.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<rustls::pki_types::pem::Error> for BuildError {
    fn from(error: rustls::pki_types::pem::Error) -> Self {
        Self::Pem(error)
    }
}
