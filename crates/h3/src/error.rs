//! quinn's errors in the terms of h3.

use std::sync::Arc;

use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use quinn::{ConnectionError, ReadError, WriteError};

pub(crate) fn of_connection(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into_inner(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

pub(crate) fn of_stream(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: of_connection(error),
    }
}

pub(crate) fn of_read(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        ReadError::ConnectionLost(error) => of_stream(error),
        error @ ReadError::ZeroRttRejected => refused_early_data(error),
        error @ (ReadError::ClosedStream | ReadError::IllegalOrderedRead) => {
            StreamErrorIncoming::Unknown(Box::new(error))
        }
    }
}

pub(crate) fn of_write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated {
            error_code: code.into_inner(),
        },
        WriteError::ConnectionLost(error) => of_stream(error),
        error @ WriteError::ZeroRttRejected => refused_early_data(error),
        error @ WriteError::ClosedStream => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

/// All streams opened before the refusal are void, the control stream among them, so
/// nothing of the HTTP/3 connection is left.
fn refused_early_data(
    error: impl std::error::Error + Send + Sync + 'static,
) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}
