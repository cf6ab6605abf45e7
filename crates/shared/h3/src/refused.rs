//! Errors of streams that were refused before h3 saw the offending bytes.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A rule that a peer's stream breaks. h3 hands it to its caller as the source of `StreamError::Undefined`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A pseudo-field is repeated, follows a regular field, is missing, is in trailers or belongs to the other kind of
    /// message (RFC 9114 section 4.3).
    PseudoField,
    /// A frame is not allowed at this place (RFC 9114 sections 4.1 and 7.2).
    UnexpectedFrame,
    /// The stream ended inside a frame (RFC 9114 section 7.1).
    IncompleteFrame,
    /// The stream ended before a final response (RFC 9114 section 4.1).
    NoResponse,
    /// A frame other than DATA is longer than this side accepts (RFC 9114 section 10.5).
    FrameTooLong,
    /// A field section refers to the dynamic table, which this side does not offer, or is cut short (RFC 9204
    /// section 2.2).
    Undecodable,
}

impl Refused {
    /// Reports whether the rule concerns the connection, so that all its streams end.
    pub(crate) fn ends_connection(self) -> bool {
        match self {
            Self::UnexpectedFrame | Self::IncompleteFrame | Self::Undecodable => true,
            Self::PseudoField | Self::NoResponse | Self::FrameTooLong => false,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::PseudoField => "a pseudo-field is repeated, missing or out of place",
            Self::UnexpectedFrame => "a frame is not allowed here",
            Self::IncompleteFrame => "the stream ended inside a frame",
            Self::NoResponse => "the stream ended before a final response",
            Self::FrameTooLong => "frame too long",
            Self::Undecodable => "a field section cannot be decoded",
        }
    }
}

/// Whether a request was refused; both halves of its stream share it, so that its response is reset with the same code.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedRequest(Arc<OnceLock<Refused>>);

impl RefusedRequest {
    /// Notes why.
    pub(crate) fn set(&self, refused: Refused) {
        self.0.get_or_init(|| refused);
    }

    pub(crate) fn get(&self) -> Option<Refused> {
        self.0.get().copied()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Error for Refused {}
