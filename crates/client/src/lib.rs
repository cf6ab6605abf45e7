//! An HTTP client that takes the fastest route: HTTP/3, HTTP/2 or HTTP/1.1, by measurement.
//!
//! ```no_run
//! # async fn get() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = client::Engine::builder().hint_h3("https://api.example").build()?;
//! let response = engine.get("https://api.example/v1/list").send().await?;
//! println!("{} {}", response.status(), response.report().why);
//! let body = response.bytes(1 << 20).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The first request to an origin races QUIC against TCP where HTTP/3 is known to be offered (by a
//! hint or by `Alt-Svc`), so a network that blocks UDP costs 10 ms once. Later ones take the
//! connection that is open; if both are, the one that was faster for requests of their kind. What
//! decides is the crate [`route`], whose documentation has the rules; this crate does what it says.
//!
//! tonic's clients take the same routes, with the feature `grpc`:
//! `EchoClient::with_origin(engine.grpc(), "https://api.example".parse()?)`.
//!
//! The futures need no runtime of their own: all I/O happens on the engine's thread.
//!
//! # Features
//!
//! - `sign`: requests are signed with a key that the server shares (RFC 9421), each copy anew.
//! - `grpc`: [`Engine::grpc`](Engine#method.grpc) is a channel for tonic's clients.
//! - `https-records`: name servers that the app names are asked whether a server speaks HTTP/3.
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
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(feature = "https-records")]
mod https_records;
mod limits;
mod mailbox;
mod memory;
mod message;
mod metrics;
mod names;
mod report;
mod request;
mod response;
mod resume;
#[cfg(feature = "sign")]
mod signature;
mod tcp_info;
mod tls;

pub use body::BodyWriter;
pub use download::Downloaded;
pub use engine::{BuildError, Builder, Engine};
pub use error::Error;
#[cfg(feature = "grpc")]
pub use grpc::GrpcChannel;
pub use limits::Phase;
pub use metrics::{Arms, Measured, Metrics, Outcome};
pub use report::{Connected, Phases, Progress, Report};
pub use request::Request;
pub use response::Response;
pub use route::{Fault, Network, NetworkId, Policy, Protocol, Switches, Transport, Why};
#[cfg(feature = "sign")]
pub use sign::Key;
pub use tls::{CheckChain, Identity, Trust};
