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
    /// A client opened a push stream (RFC 9114 section 6.2.2).
    PushStream,
    /// A second stream of QPACK instructions of one kind (RFC 9204 section 4.2).
    SecondStream,
    /// A push that was never promised is cancelled, or the largest push ID is reduced (RFC 9114 sections 7.2.3 and
    /// 7.2.7).
    PushId,
    /// An instruction for the dynamic table, which this side does not offer (RFC 9204 section 4.3).
    EncoderInstruction,
    /// An instruction about the dynamic table, which this side does not use (RFC 9204 section 4.4).
    DecoderInstruction,
    /// A field section refers to the dynamic table, which this side does not offer, or is cut short (RFC 9204
    /// section 2.2).
    Undecodable,
}

impl Refused {
    /// Reports whether the rule concerns the connection, so that all its streams end.
    pub(crate) fn ends_connection(self) -> bool {
        match self {
            Self::UnexpectedFrame
            | Self::IncompleteFrame
            | Self::PushStream
            | Self::SecondStream
            | Self::PushId
            | Self::EncoderInstruction
            | Self::DecoderInstruction
            | Self::Undecodable => true,
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
            Self::PushStream => "a client cannot push",
            Self::SecondStream => "a second stream of QPACK instructions",
            Self::PushId => "a push ID that is not promised or is reduced",
            Self::EncoderInstruction => {
                "an instruction exceeds the dynamic table, which has no room"
            }
            Self::DecoderInstruction => {
                "an instruction concerns the dynamic table, which is not used"
            }
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
