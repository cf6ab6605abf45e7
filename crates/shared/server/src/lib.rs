//! The server under test: HTTP/1.1, HTTP/2, HTTP/3 and gRPC on one name and port.
//!
//! # The life of a server
//!
//! [`Server::bind`] generates a certificate authority, a chain and keys, and binds every address over TCP and UDP on
//! the same port number. It reports the resulting [`Settings`]. [`Server::run`] then serves until it is asked to shut
//! down, finishes the requests in flight and writes the last line of the log.
//!
//! # The life of a request
//!
//! ```text
//!   tcp.rs --\                                           /-- routes.rs    HTTP
//!             >-- shared.rs --> accounting.rs, body.rs --+-- exchange.rs, submit.rs  codecs, HTTP and gRPC
//! http3.rs --/                        |                  |-- answers.rs   a study's own, HTTP and gRPC
//!    |                                |                  \-- grpc.rs      gRPC
//!    |                                |         through auth.rs (who sends it), inject.rs (faults by id)
//!  quic.rs                          log.rs
//!  stall.rs, garbage.rs (QUIC that fails)
//! ```
//!
//! Transports differ in how a connection begins and ends, and their files hold nothing else.
//! Everything after a request's head is the same code for every protocol, so that the arms of a
//! study differ in protocol only. Both bodies are counted and digested, and one
//! [`server_log::ServerEvent`] is written when the response has been handed to the
//! transport or has failed.
//!
//! # What the protocols have in common
//!
//! Windows, timers and congestion control are the defaults of hyper, quinn and Linux. There is no `date` header: hyper
//! would send one, HTTP/3 would not. There is no compression except in exchanges, and no Retry except under load
//! ([`Limits::half_open`]). TLS is rustls with ring on both transports, with one chain of a leaf and one intermediate.
//! The chain is padded to a typical length or beyond what QUIC's first flight may carry ([`Chain`]).
//!
//! # Security
//!
//! The server is meant to be run for minutes, by its owner. Still, the resources of clients are
//! bounded ([`Limits`]), and no key leaves the process except the client's, which is written for
//! the driver. Anyone who can see early data can replay it; every route is safe to repeat.

mod accounting;
mod admission;
mod answers;
mod auth;
mod body;
mod certificate;
mod clock;
mod codec_pool;
mod config;
mod connection;
mod credentials;
mod early;
mod error;
mod exchange;
mod files;
mod garbage;
mod grpc;
mod handshake;
mod head;
mod http1;
mod http2;
mod http3;
mod inject;
mod json;
mod key_log;
mod linux_cubic;
mod log;
mod port;
mod qlog;
mod quic;
mod refusal_log;
mod refusal_reasons;
mod rejection;
mod routes;
mod scheme;
mod server;
mod settings;
mod shared;
mod stall;
mod submit;
mod tcp;
mod tcp_info;
mod tls;
mod token;
mod watched;
mod window_log;

pub use answers::{Answers, AnswersError};
pub use auth::KEY_ID;
pub use config::{Chain, Config, Congestion, KeyKind, Limits, QuicFault, Validity};
pub use credentials::CredentialsError;
pub use error::ServerError;
pub use inject::{Fault, Faults, UnknownFault};
pub use refusal_reasons::refusal_reasons;
pub use scheme::AuthScheme;
pub use server::Server;
pub use settings::{LIBRARIES, Settings, UdpBuffers};
pub use tls::TlsError;
