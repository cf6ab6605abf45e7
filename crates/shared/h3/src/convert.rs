//! Conversions of quinn's stream ids, codes and errors to those of h3, and back.

use std::sync::Arc;

use h3::error::Code;
use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming, StreamId};
use quinn::{ConnectionError, ReadError, VarInt, WriteError};

use crate::refused::Refused;

/// Converts a stream id.
pub(crate) fn stream_id(id: quinn::StreamId) -> StreamId {
    VarInt::from(id)
        .into_inner()
        .try_into()
        .expect("both libraries use the variable-length integers of RFC 9000")
}

/// Converts an HTTP/3 error code for QUIC. The codes of this crate and of h3 always fit; one that
/// does not is sent as the largest, because a reset must not fail.
pub(crate) fn error_code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

// Here and not beside the rules, which the fuzz targets include without h3.
impl Refused {
    /// Returns the error code that the peer gets.
    pub fn code(self) -> Code {
        match self {
            Self::PseudoField | Self::NoResponse => Code::H3_MESSAGE_ERROR,
            Self::UnexpectedFrame => Code::H3_FRAME_UNEXPECTED,
            Self::IncompleteFrame => Code::H3_FRAME_ERROR,
            Self::FrameTooLong => Code::H3_EXCESSIVE_LOAD,
            Self::PushStream | Self::SecondStream => Code::H3_STREAM_CREATION_ERROR,
            Self::PushId => Code::H3_ID_ERROR,
            Self::EncoderInstruction => Code::QPACK_ENCODER_STREAM_ERROR,
            Self::DecoderInstruction => Code::QPACK_DECODER_STREAM_ERROR,
            Self::Undecodable => Code::QPACK_DECOMPRESSION_FAILED,
        }
    }
}

pub(crate) fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into_inner(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

/// Converts a connection error met on a stream.
pub(crate) fn stream_error(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: connection_error(error),
    }
}

pub(crate) fn read_error(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        ReadError::ConnectionLost(error) => stream_error(error),
        error @ ReadError::ZeroRttRejected => rejected_early_data(error),
        error @ (ReadError::ClosedStream | ReadError::IllegalOrderedRead) => {
            StreamErrorIncoming::Unknown(Box::new(error))
        }
    }
}

pub(crate) fn write_error(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        WriteError::ConnectionLost(error) => stream_error(error),
        error @ WriteError::ZeroRttRejected => rejected_early_data(error),
        error @ WriteError::ClosedStream => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

/// Returns the error for rejected early data. A rejection voids every stream opened before it,
/// including the control stream, so it ends the HTTP/3 connection.
fn rejected_early_data(
    error: impl std::error::Error + Send + Sync + 'static,
) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}
