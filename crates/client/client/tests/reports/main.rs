//! Failures that users reported of this client or of others, each with a server that provokes it.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod bodies;
mod links;
mod room;
mod routing;

use std::net::Ipv4Addr;
use std::time::Duration;

use client::{Builder, Engine, Error, Policy, Response, Trust};
use peers::{Credentials, Protocol, Script, Step};

/// No answer takes a fifth of this.
const LIMIT: Duration = Duration::from_secs(60);

fn policy(protocol: Protocol) -> Policy {
    match protocol {
        Protocol::H1 => Policy::H1,
        Protocol::H2 => Policy::H2,
        Protocol::H3 => Policy::H3,
    }
}

/// Begins an engine that trusts servers with these credentials.
fn trusting(credentials: &Credentials) -> Builder {
    Engine::builder()
        .trust(Trust::Roots(credentials.pem().into_bytes()))
        .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()])
}

/// Answers with this body and its length.
fn ok(body: &'static str) -> Script {
    let length = body.len().to_string();
    let head = Step::head(200, &[("content-length", &length)]);
    Script::new([head, Step::data(body), Step::End])
}

/// Sends a request and reads its response to the end.
async fn whole(request: client::Request) -> Result<(Response, Vec<u8>), Error> {
    let read = async {
        let mut response = request.send().await?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await? {
            body.extend(piece);
        }
        Ok((response, body))
    };
    let read = tokio::time::timeout(LIMIT, read).await;
    read.expect("the request hangs")
}
