//! An HTTP client that takes the fastest route: HTTP/3, HTTP/2 or HTTP/1.1, by measurement.
//!
//! ```no_run
//! # async fn get() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = client::Engine::builder().hint_h3("https://api.example").build()?;
//! let response = engine.get("https://api.example/v1/list").send().await?;
//! println!("{} {}", response.status(), response.report().reason);
//! let body = response.bytes(1 << 20).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Make one [`Engine`] for the app and clone it wherever requests are made. It has a thread of its own that does all
//! I/O, so the futures need no runtime of their own. Dropping the last clone ends the thread.
//!
//! # Which route a request takes
//!
//! The first request to an origin races QUIC against TCP where HTTP/3 is known to be offered. The offer comes from a
//! [hint](Builder::hint_h3), from `Alt-Svc` of an earlier response, or from an [HTTPS record](Engine::https_record).
//! With [`Builder::memory`] the response may be that of an earlier process. A network that blocks UDP costs 10 ms once.
//! Later requests take the connection that is open; if both transports have one, that which was faster for requests of
//! their [kind](Request::kind). The crate [`route`] decides, and its documentation has the rules; this crate executes
//! its commands. [`Response::report`] says what happened and why, [`Engine::explain`] what is known of an origin, and
//! [`Request::policy`] leaves no choice.
//!
//! # Errors
//!
//! A response is whatever the server answered, also with status 500. Everything else is an [`Error`]:
//!
//! | error | may the server have acted? | then |
//! |---|---|---|
//! | [`Failed`](Error::Failed), [`Fault::Name`], [`Fault::Connect`], [`Fault::Handshake`] | no | ask again later |
//! | [`Failed`](Error::Failed), [`Fault::Certificate`] | no | tell the user: somebody may be listening |
//! | [`Failed`](Error::Failed), [`Fault::Reset`], [`Fault::Protocol`] | `may_have_acted` says it | ask again if not, or if that does no harm |
//! | [`Failed`](Error::Failed), [`Fault::Malformed`] | yes | report it: the server's response breaks a rule of HTTP |
//! | [`Failed`](Error::Failed), [`Fault::HeadTooLarge`], [`Fault::Http11Required`] | no | shorten the head; allow HTTP/1.1 |
//! | [`Failed`](Error::Failed), [`Fault::Offline`] | `may_have_acted` says it | wait for a network |
//! | [`TimedOut`](Error::TimedOut) | yes, but for [`Phase::Connect`] | as for a reset |
//! | [`FallBack`](Error::FallBack) | no | fall back to the app's own client: the engine is off |
//! | [`Invalid`](Error::Invalid), [`File`](Error::File) | no | correct the request |
//! | [`Refused`](Error::Refused) | yes | of downloads: there is nothing to download |
//! | [`Unfinished`](Error::Unfinished), [`BodyNotTaken`](Error::BodyNotTaken) | yes | of streamed bodies |
//! | [`Ended`](Error::Ended) | yes | the engine was dropped, or has panicked: make another one |
//!
//! The engine itself sends a request again where that is safe. If the server cannot have acted on the request, the
//! engine goes on while the server answers others. If the server may have acted, the engine sends it again at most
//! twice, provided that it is [idempotent](Request::idempotent) and has no streamed body. Requests beyond 512 at a time
//! wait for their turn.
//!
//! # Limits
//!
//! There are none unless they are set: [`Request::time_limit`], [`Request::connect_limit`],
//! [`Request::first_byte_limit`] and [`Request::idle_limit`]. Dropping a request's future, or its response, cancels
//! it on the server, too. The heads of requests and responses may have 256 KiB, and 1,024 fields (responses over HTTP/2
//! and HTTP/3 any number).
//!
//! # Bodies
//!
//! A request's body is [held whole](Request::body), or [streamed](Request::streamed) while it is written:
//!
//! ```no_run
//! # async fn upload(engine: client::Engine) -> Result<(), Box<dyn std::error::Error>> {
//! let upload = engine.request(http::Method::PUT, "https://files.example/log");
//! let (request, mut body) = upload.streamed(None);
//! let write = async {
//!     body.write("first line\n".into()).await?;
//!     body.finish().await
//! };
//! let (response, written) = futures_util::join!(request.send(), write);
//! written?;
//! println!("{}", response?.status());
//! # Ok(())
//! # }
//! ```
//!
//! A response's body is read [piece by piece](Response::chunk) or [at once, up to a limit](Response::bytes). An app
//! that reads slowly makes the server wait once 2 MiB of a body have come, or 32 MiB on a connection. A body that breaks
//! off goes on over another connection where the server has ranges and a strong `ETag`. [`Request::download`] keeps
//! one in a file, and goes on where it broke off even in another process:
//!
//! ```no_run
//! # async fn download(engine: client::Engine) -> Result<(), client::Error> {
//! let maps = engine.get("https://files.example/maps.pak").download("maps.pak").await?;
//! println!("{} bytes, {} of them from before", maps.bytes, maps.kept_bytes);
//! # Ok(())
//! # }
//! ```
//!
//! # Trust and identity
//!
//! [`Builder::trust`] takes Mozilla's roots (the default), roots of the app's own, or a [check](CheckChain) of the
//! app's own, e.g. the platform's. [`Builder::identity`] is the app's certificate, for servers that demand one.
//! [`Request::sign`] signs requests (RFC 9421); each copy gets a signature of its own.
//!
//! # Networks
//!
//! Report each change of the default network to the engine. Connections over QUIC move to the new network with the
//! requests on them, and what was learnt there counts again. The number is the app's, e.g. a digest of operator or
//! gateway.
//!
//! ```no_run
//! # fn changed(engine: client::Engine) {
//! use client::{Network, NetworkId, NetworkKind};
//! let (id, kind) = (NetworkId(*b"the one at home."), NetworkKind::Wifi);
//! engine.network(Some(Network { id, kind, metered: false }));
//! # }
//! ```
//!
//! Without that, all networks count as one, and a change looks like a path that failed: requests are a second late.
//!
//! # What outlives the process
//!
//! With [`Builder::memory`], what was learnt of networks and origins: in one file of at most 64 KiB, without names,
//! addresses, paths or bodies. [`Engine::save`] writes it now, e.g. when the app goes to the background. TLS sessions
//! are kept for as long as the engine lives; with [`Builder::early_data`] they save another round trip.
//!
//! # Roll-out and monitoring
//!
//! [`Engine::switches`] turns the engine, HTTP/3 for a share of installations, or learning off at any time. Call
//! [`Engine::fallback_succeeded`] when a request that failed in the engine succeeded in the app's own client. If that
//! happens often, the engine turns itself off. [`Engine::metrics`] has the last 1,024 requests: as values, as a
//! summary, and as the CSV that `commute import` compares.
//!
//! # gRPC
//!
//! tonic's clients take the same routes, with the feature `grpc`:
//! `EchoClient::with_origin(engine.grpc(), "https://api.example".parse()?)`.
//!
//! # Features
//!
//! - `sign`: requests are signed with a key that the server shares (RFC 9421).
//! - `grpc`: [`Engine::grpc`](Engine#method.grpc) is a channel for tonic's clients.
//! - `https-records`: name servers that the app names are asked whether a server supports HTTP/3. Without it the app can
//!   still [report](Engine::https_record) what its own resolver answered.
//! - `quiet`: leaves all log messages out.
//!
//! # What it does not do
//!
//! Redirects, cookies, caches, proxies and decompression are left to the app.

mod actor;
mod body;
mod conn;
mod download;
mod engine;
mod error;
mod file_identity;
#[cfg(feature = "grpc")]
mod grpc;
mod https_records;
mod limits;
mod mailbox;
mod memory;
mod message;
mod metrics;
mod origin;
mod report;
mod request;
mod resolver;
mod response;
mod resume;
#[cfg(feature = "sign")]
mod signature;
mod tcp_info;
mod tls;

pub use body::BodyWriter;
pub use download::Downloaded;
pub use engine::{Builder, Engine};
pub use error::{BuildError, Error};
#[cfg(feature = "grpc")]
pub use grpc::GrpcChannel;
pub use limits::Phase;
pub use metrics::{Arms, Metrics, Outcome, RequestMeasurement};
pub use report::{Connected, Phases, Progress, Report};
pub use request::Request;
pub use response::Response;
pub use route::{
    Fault, Network, NetworkId, NetworkKind, Policy, Protocol, Reason, Switches, Transport,
};
#[cfg(feature = "sign")]
pub use sign::Key;
pub use tls::{CheckChain, Identity, Trust};

/// The code of pages, compiled as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/tutorials/client-rust.md")]
#[doc = include_str!("../../../../docs/client.md")]
struct Pages;
