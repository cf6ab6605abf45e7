//! A QUIC connection, HTTP/3 on it, and the outcome of its handshake.

use std::cell::RefCell;

use bytes::Bytes;
use driver::protocol::{CallError, ErrorKind};
use h3::client::SendRequest;
use h3::error::StreamError;
use quinn::ConnectionError;
use tokio::sync::{RwLock, watch};

use crate::call_error::call_error;

/// A QUIC connection with HTTP/3 on it.
pub struct Conn {
    pub(super) quic: quinn::Connection,
    http: RefCell<Http>,
    /// Locked for reading by every call on a stream that may be rejected as early data, for writing by the call that
    /// starts HTTP/3 again. After a rejection quinn numbers streams from 0 again and keeps one waker per number. Every
    /// old stream must therefore be gone before a new one is opened.
    pub(super) early_streams: RwLock<()>,
    pub(super) handshake: Handshake,
    pub(super) local_port: u16,
}

#[derive(Clone)]
pub(super) struct Http {
    pub(super) requests: Requests,
    /// Whether it was started before the handshake was complete.
    pub(super) early: bool,
}

/// The state of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeState {
    Pending,
    Done { resumed: bool, early_data: bool },
}

pub(super) type Handshake = watch::Receiver<HandshakeState>;

impl Conn {
    pub(super) fn new(
        quic: quinn::Connection,
        http: Http,
        handshake: Handshake,
        local_port: u16,
    ) -> Self {
        let (http, early_streams) = (RefCell::new(http), RwLock::new(()));
        Self {
            quic,
            http,
            early_streams,
            handshake,
            local_port,
        }
    }

    /// Waits for the handshake to complete. Returns `Pending` only if the connection breaks first.
    pub(super) async fn handshake_done(&self) -> HandshakeState {
        let mut handshake = self.handshake.clone();
        match handshake
            .wait_for(|state| *state != HandshakeState::Pending)
            .await
        {
            Ok(state) => *state,
            Err(_) => HandshakeState::Pending,
        }
    }

    /// Returns HTTP/3 on this connection. Starts it again if it was started with early data that
    /// was rejected.
    pub(super) async fn http(&self) -> Result<Http, CallError> {
        let is_void = || self.http.borrow().early && self.handshake.borrow().rejected_early_data();
        if is_void() {
            let _no_early_streams = self.early_streams.write().await;
            if is_void() {
                let (driver, http) = start_http3(&self.quic, false).await?;
                tokio::spawn(drive(driver));
                self.http.replace(http);
            }
        }
        Ok(self.http.borrow().clone())
    }

    /// Converts an error of a stream. If the connection has ended, the reason for that takes
    /// precedence.
    pub(super) fn stream_error(&self, error: &StreamError) -> CallError {
        if let Some(reason) = self.quic.close_reason() {
            return connection_error(&reason);
        }
        let kind = match error {
            StreamError::RemoteTerminate { .. } | StreamError::RemoteClosing => ErrorKind::Reset,
            StreamError::StreamError { .. } | StreamError::HeaderTooBig { .. } => {
                ErrorKind::Protocol
            }
            _ => ErrorKind::Other,
        };
        call_error(kind, error)
    }
}

impl HandshakeState {
    pub(super) fn rejected_early_data(&self) -> bool {
        matches!(
            self,
            Self::Done {
                early_data: false,
                ..
            }
        )
    }
}

pub(super) type Requests = SendRequest<h3_quic::OpenStreams, Bytes>;
type Driver = h3::client::Connection<h3_quic::Connection, Bytes>;

/// Starts HTTP/3 on a connection, `early` if its handshake is not complete.
pub(super) async fn start_http3(
    quic: &quinn::Connection,
    early: bool,
) -> Result<(Driver, Http), CallError> {
    let transport = h3_quic::Connection::new(quic.clone());
    let mut builder = h3::client::builder();
    // h3 would put a reserved frame on each request's stream, which HAProxy 3.0 and Jetty 12 do not pass over.
    builder.send_grease(false);
    let (driver, requests) = builder.build(transport).await.map_err(|error| {
        quic.close_reason().map_or_else(
            || call_error(ErrorKind::Protocol, &error),
            |reason| connection_error(&reason),
        )
    })?;
    Ok((driver, Http { requests, early }))
}

/// Drives HTTP/3 until the connection ends. The error is ignored, because the streams report it.
pub(super) async fn drive(mut driver: Driver) {
    driver.wait_idle().await;
}

/// Converts the reason for which a connection ended.
pub(super) fn connection_error(error: &ConnectionError) -> CallError {
    let kind = match error {
        ConnectionError::TransportError(error) if is_crypto(error.code) => ErrorKind::Tls,
        ConnectionError::ConnectionClosed(close) if is_crypto(close.error_code) => ErrorKind::Tls,
        ConnectionError::TimedOut => ErrorKind::Timeout,
        ConnectionError::VersionMismatch | ConnectionError::TransportError(_) => {
            ErrorKind::Protocol
        }
        ConnectionError::CidsExhausted => ErrorKind::Other,
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::Reset
        | ConnectionError::LocallyClosed => ErrorKind::Reset,
    };
    call_error(kind, error)
}

/// Reports whether an error is a TLS alert: QUIC error codes 0x0100 to 0x01ff (RFC 9000 section 20.1).
fn is_crypto(code: quinn::TransportErrorCode) -> bool {
    u64::from(code) >> 8 == 1
}
