//! Servers that play scripts byte by byte, for tests of clients.
//!
//! A [`Server`] accepts connections over TLS or QUIC, reads each request to its end and plays the [`Script`] that a
//! function chooses for it. Frames, chunks and field blocks are written by hand, so that a script may break every rule.
//! [`Case`] makes scripts from a seed together with their [`Truth`]: what a correct client makes of them.
//! [`check_outcomes`] compares what a client makes of many cases with that.

#![forbid(unsafe_code)]

mod case;
mod credentials;
mod fields;
mod h1;
mod h2;
mod h3;
mod malformed;
mod message;
mod outcome;
mod rng;
mod run;
mod script;
mod server;
mod shared;
mod truncated;

pub use case::{Case, Truth};
pub use credentials::Credentials;
pub use outcome::{Failure, FailureKind, Outcome};
pub use rng::Rng;
pub use run::check_outcomes;
pub use script::{Close, Data, Field, Head, Script, Split, Step, fields};
pub use server::Server;
pub use shared::{Options, Request};

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1 over TLS.
    H1,
    /// HTTP/2 over TLS.
    H2,
    /// HTTP/3 over QUIC.
    H3,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::H1, Self::H2, Self::H3];

    /// Returns the name in ALPN.
    pub const fn alpn(self) -> &'static str {
        match self {
            Self::H1 => "http/1.1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }
}
