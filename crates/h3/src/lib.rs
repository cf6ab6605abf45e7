//! HTTP/3 over quinn, safe to cancel.
//!
//! The crate [`h3`] speaks HTTP/3 over any QUIC library that implements its `quic` traits.
//! This is that implementation for quinn (h3 0.0.8, quinn 0.11). Wrap a connection with
//! [`Connection::new`] and hand it to `h3::client::new` or `h3::server::builder().build`.
//!
//! # The life of a stream
//!
//! A bidirectional stream carries one request one way and its response the other. Whoever
//! opened it holds the sending half of the *request*, its peer that of the *response*; a
//! unidirectional stream has one half. What a half does when something goes wrong depends
//! on which of the three it is (`Half`):
//!
//! | event | request | response | unidirectional |
//! |---|---|---|---|
//! | dropped before its end, sending | reset, `H3_REQUEST_CANCELLED` | reset, `H3_INTERNAL_ERROR` | reset, `H3_INTERNAL_ERROR` |
//! | dropped before its end, receiving | stop, `H3_NO_ERROR` | stop, `H3_REQUEST_CANCELLED` | stop, `H3_NO_ERROR` |
//! | peer sends STOP_SENDING | the rest is discarded, no error | error | error |
//!
//! The first line: quinn *finishes* a stream that is dropped, so that half an upload looks
//! whole; here only `poll_finish` finishes. The second: quinn stops with code 0, which is
//! no HTTP/3 code; a server that has answered without reading the request says
//! `H3_NO_ERROR` (RFC 9114 section 4.1). The third is the client's duty towards such a
//! server: a response may be complete though the request was not wanted whole, and it must
//! not be discarded (same section). If the response fails too, reading it says so.
//!
//! # Cancelling
//!
//! Every poll may be the last one, and the next may ask for something else. A read holds
//! no state but quinn's own, so that it can be dropped, stopped or repeated at any time.
//! Waiting for a stream to be accepted or opened does hold state (a place in quinn's
//! queue), which lives in the connection and not in the caller's future.
//!
//! # Early data
//!
//! [`Connection::recorded`] also keeps, for each accepted request, what h3 does not show:
//! whether it came before the handshake was over, and a future of its delivery.
//! A client whose early data is refused gets a connection error on all its streams and has
//! to begin again with `Connection::new` on a new QUIC connection.

mod accepted;
mod connection;
mod error;
mod recv;
mod send;

pub use accepted::{Accepted, Delivered, Facts};
pub use connection::{Connection, OpenStreams};
pub use recv::RecvStream;
pub use send::{BidiStream, SendStream};

/// Which half of an exchange a stream's one direction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    /// From the client, on a stream the client opened.
    Request,
    /// From the server, on a stream the client opened.
    Response,
    /// The only direction there is: control, QPACK, grease.
    Unidirectional,
}

/// quinn's stream id as h3's.
fn stream_id(id: quinn::StreamId) -> h3::quic::StreamId {
    quinn::VarInt::from(id)
        .into_inner()
        .try_into()
        .expect("both libraries take the variable-length integers of RFC 9000")
}

/// An HTTP/3 error code as QUIC carries it. Codes of this house and of h3 always fit; one
/// that does not is sent as the largest, for a reset must not fail.
fn error_code(code: u64) -> quinn::VarInt {
    quinn::VarInt::from_u64(code).unwrap_or(quinn::VarInt::MAX)
}
