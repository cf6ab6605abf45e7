//! Errors: why a request has no response.

use route::{Fault, Why};

use crate::limits::Phase;

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
    /// A limit of the request passed. The server may have acted on it, unless there was no connection.
    #[error("{0} within the time limit")]
    TimedOut(Phase),
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
