//! HTTP/3 over quinn, safe to cancel.
//!
//! The crate [`h3`] implements HTTP/3 over any QUIC library that implements its `quic` traits.
//! This is that implementation for quinn (h3 0.0.8, quinn 0.11). Wrap a connection with
//! [`Connection::new`] and hand it to `h3::client::new` or `h3::server::builder().build`.
//!
//! # The life of a stream
//!
//! A bidirectional stream carries a request in one direction and its response in the other. The
//! side that opened it has the sending half of the *request*, its peer that of the *response*; a
//! unidirectional stream has one direction only. How a half behaves when an exchange is cut short
//! depends on which of the three roles its direction has:
//!
//! | event | request | response | unidirectional |
//! |---|---|---|---|
//! | sending half dropped early | reset, `H3_REQUEST_CANCELLED` | reset, `H3_INTERNAL_ERROR` or why the request was refused; h3's own 431 is finished | reset, `H3_INTERNAL_ERROR` |
//! | receiving half dropped early | stop, `H3_NO_ERROR` | stop, `H3_REQUEST_CANCELLED` | stop, `H3_NO_ERROR` |
//! | peer sends STOP_SENDING | the rest is discarded, no error | error | error |
//!
//! First row: quinn *finishes* a stream that is dropped, so that half an upload looks complete; here only `poll_finish`
//! finishes it. Second row: quinn stops with code 0, which is not an HTTP/3 code. A server that has answered without
//! reading the whole request sends `H3_NO_ERROR` (RFC 9114 section 4.1). Third row: the response of such a server may
//! be complete, and the client must not discard it (same section). If the response fails too, reading it returns the
//! error.
//!
//! # Cancelling
//!
//! A caller may abandon any poll, and poll for something else next. A read has no state except quinn's own, so it can
//! be dropped, stopped or repeated at any time. Waiting to accept or open a stream does have state, a place in quinn's
//! queue. That state is part of the connection and not of the caller's future.
//!
//! # Messages
//!
//! h3 ends a body at a DATA frame without bytes and does not check the place of pseudo-fields. It buffers any other
//! frame up to its declared length, without bound. Here the frames of requests, responses and the control stream are
//! checked as they arrive. Empty DATA frames are dropped, and a peer that breaks a rule gets the error that RFC 9114
//! asks for. The caller gets a [`Refused`] as the source of `StreamError::Undefined`.
//!
//! On a server's side, push streams, push IDs and the instructions of QPACK are checked too, which h3 ignores. The
//! caller gets the [`Refused`] as the source of `ConnectionErrorIncoming::Undefined`.
//!
//! [`Connection::go_away`] reports which streams the peer will not process, [`Connection::reserve`] whether it allows
//! another one; h3 reports neither.
//!
//! # Early data
//!
//! [`Connection::with_accepted_requests`] also keeps what h3 does not expose of accepted requests: whether one
//! arrived before the handshake was over, and a future of its delivery. A client whose early data is rejected gets a
//! connection error on all its streams. It has to start again with `Connection::new` on a new QUIC connection.
//!
//! # Resumption
//!
//! quinn does not report whether a handshake resumed a session. [`CountingVerifier`] does: such a handshake verifies no
//! certificates.

#![forbid(unsafe_code)]

mod accepted;
mod connection;
mod control;
mod convert;
mod incoming;
mod messages;
mod qpack;
mod recv;
mod refused;
mod reserve;
mod role;
mod section;
mod send;
mod varint;
mod verifier;

pub use accepted::{AcceptedRequests, Delivery, RequestInfo};
pub use connection::{Connection, MAX_FRAME_BYTES, OpenStreams};
pub use control::GoAway;
pub use recv::RecvStream;
pub use refused::Refused;
pub use reserve::Reserve;
pub use send::{BidiStream, SendStream};
pub use verifier::CountingVerifier;
