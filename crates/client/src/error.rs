//! Why a request has no response.

use route::{Fault, Why};

/// Why a request has no response, or its body no end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL or a header is not one.
    #[error("{0}")]
    Invalid(String),
    /// No route led to a response.
    #[error("{fault}{}", if *.may_have_acted { "; the server may have acted on the request" } else { "" })]
    Failed {
        /// What went wrong last.
        fault: Fault,
        /// Whether the server may have acted on the request. If not, it is safe to ask again.
        may_have_acted: bool,
    },
    /// The request's time limit passed.
    #[error("no response within the time limit")]
    TimedOut,
    /// This engine does not take the request; the app's own client may.
    #[error("not by this engine: {0}")]
    Plain(Why),
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
