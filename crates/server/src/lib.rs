//! The server under test: HTTP/1.1, HTTP/2, HTTP/3 and gRPC on one name and port.
//!
//! # The life of a server
//!
//! [`Server::bind`] makes a certificate authority, a chain and keys, binds every address
//! over TCP and UDP on the same port number, and says in [`Facts`] what came of it.
//! [`Server::run`] then serves until told to stop, lets requests in flight finish and
//! writes the last line of the log.
//!
//! # The life of a request
//!
//! ```text
//!   tcp.rs  --\                                       /-- routes.rs   HTTP
//!              |                                      |-- exchange.rs codecs, HTTP and gRPC
//!              >-- connection.rs -> account.rs (in) -<--- grpc.rs     gRPC
//!   http3.rs -/                          |            \-- inject.rs   faults, by id
//!      ^      <------------------- account.rs (out) <-/
//!      |                                 |
//!   handshake.rs                    journal.rs -> the log
//! ```
//!
//! Transports differ in how a connection begins and ends, and that is all their files
//! hold: what follows a request's head is the same code for every protocol, so that arms
//! of a study differ in protocol only. The account counts and digests both bodies, and
//! writes one [`record::server_log::ServerEvent`] when the response has been handed over or has broken off.
//!
//! # What is kept alike
//!
//! Windows, timers and congestion control are what hyper, quinn and Linux ship. No `date`
//! header anywhere (hyper would send one over TCP, and HTTP/3 none), no compression, no
//! Retry (but to a crowd, [`Limits::half_open`]). TLS is rustls with ring on both
//! transports, with one chain: leaf and one intermediate.
//!
//! # Security
//!
//! The server is made to be run for minutes, by its owner. Still each client is bounded
//! ([`Limits`]), and keys never leave the process, except the client's own, which is
//! written for the driver to use. Early data can be replayed by whoever sees it; every
//! route here is safe to repeat.

mod account;
mod clock;
mod config;
mod connection;
mod credentials;
mod early;
mod exchange;
mod files;
mod grpc;
mod handshake;
mod http3;
mod inject;
mod journal;
mod quic;
mod routes;
mod server;
mod subject;
mod tcp;
mod tls;

pub use config::{Config, Congestion, KeyKind, Limits};
pub use credentials::CredentialsError;
pub use inject::{Fault, Faults, UnknownFault};
pub use server::{Facts, Server, ServerError};
pub use tls::TlsError;
