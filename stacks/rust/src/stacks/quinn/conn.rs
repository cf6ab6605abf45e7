//! One QUIC connection, the HTTP/3 on it, and what became of its handshake.

use std::cell::RefCell;

use bytes::Bytes;
use driver::protocol::{CallError, ErrorKind};
use h3::client::SendRequest;
use h3::error::StreamError;
use quinn::ConnectionError;
use tokio::sync::{RwLock, watch};

use crate::failure::failure;

/// A QUIC connection and HTTP/3 on it.
pub struct Conn {
    pub(super) quic: quinn::Connection,
    http: RefCell<Http>,
    /// Read by each call with a stream that may be refused as early data, written by the one
    /// that begins HTTP/3 anew. quinn counts streams from 0 again after a refusal and keeps
    /// one waker for each number, so an old stream must be gone before a new one is opened.
    pub(super) early_streams: RwLock<()>,
    pub(super) handshake: Handshake,
    pub(super) local_port: u16,
}

#[derive(Clone)]
pub(super) struct Http {
    pub(super) requests: Requests,
    /// Begun before the handshake was over.
    pub(super) early: bool,
}

/// What became of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Under,
    Done { resumed: bool, early_data: bool },
}

pub(super) type Handshake = watch::Receiver<State>;

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

    /// What the handshake came to; `Under` only if the connection broke before.
    pub(super) async fn handshake_done(&self) -> State {
        let mut handshake = self.handshake.clone();
        match handshake.wait_for(|state| *state != State::Under).await {
            Ok(state) => *state,
            Err(_) => State::Under,
        }
    }

    /// HTTP/3 on this connection, begun anew if the early data it was begun with was refused.
    pub(super) async fn http(&self) -> Result<Http, CallError> {
        let void = || self.http.borrow().early && self.handshake.borrow().refused_early_data();
        if void() {
            let _turn = self.early_streams.write().await;
            if void() {
                let (driver, http) = begin(&self.quic, false).await?;
                tokio::spawn(drive(driver));
                self.http.replace(http);
            }
        }
        Ok(self.http.borrow().clone())
    }

    /// An error of a stream; when the connection has ended, why it has.
    pub(super) fn failure(&self, error: &StreamError) -> CallError {
        if let Some(reason) = self.quic.close_reason() {
            return broken(&reason);
        }
        let kind = match error {
            StreamError::RemoteTerminate { .. } | StreamError::RemoteClosing { .. } => {
                ErrorKind::Reset
            }
            StreamError::StreamError { .. } | StreamError::HeaderTooBig { .. } => {
                ErrorKind::Protocol
            }
            _ => ErrorKind::Other,
        };
        failure(kind, error)
    }
}

impl State {
    pub(super) fn refused_early_data(&self) -> bool {
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

pub(super) async fn begin(
    quic: &quinn::Connection,
    early: bool,
) -> Result<(Driver, Http), CallError> {
    let transport = h3_quic::Connection::new(quic.clone());
    let (driver, requests) = h3::client::new(transport).await.map_err(|error| {
        quic.close_reason().map_or_else(
            || failure(ErrorKind::Protocol, &error),
            |reason| broken(&reason),
        )
    })?;
    Ok((driver, Http { requests, early }))
}

pub(super) async fn drive(mut driver: Driver) {
    // How it ended, the streams have been told.
    driver.wait_idle().await;
}

pub(super) fn broken(error: &ConnectionError) -> CallError {
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
    failure(kind, error)
}

/// TLS alerts are QUIC error codes 0x0100 to 0x01ff (RFC 9000 section 20.1).
fn is_crypto(code: quinn::TransportErrorCode) -> bool {
    u64::from(code) >> 8 == 1
}
