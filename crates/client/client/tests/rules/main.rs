//! Every rule of HTTP messages: what breaks it over each version of HTTP, and what does not.
//!
//! A response that breaks a rule is an error and is requested only once. The app gets nothing of it but a part of its
//! body. A request that breaks a rule is refused before a connection is opened.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod legal;
mod requests;
mod responses;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use client::{Engine, Error, Policy, Response, Trust};
use http::Method;
use http_rules::{Version, Violation};
use peers::{Credentials, Options, Protocol, Script, Server};

/// No answer takes a tenth of this.
const LIMIT: Duration = Duration::from_secs(20);

/// Numbers the rules. A new one does not compile until it has a number, and fails until it has a row.
fn number(violation: Violation) -> usize {
    match violation {
        Violation::Connect => 0,
        Violation::TraceContent => 1,
        Violation::Target => 2,
        Violation::ConnectionField(_) => 3,
        Violation::Te => 4,
        Violation::Host => 5,
        Violation::InvalidLength => 6,
        Violation::ConflictingLengths => 7,
        Violation::WrongLength { .. } => 8,
        Violation::LengthOfStream => 9,
        Violation::TooManyFields(_) => 10,
        Violation::HeadTooLong(_) => 11,
        Violation::SwitchingProtocols => 12,
        Violation::TooManyInterim(_) => 13,
        Violation::BodyTooLong => 14,
        Violation::BodyTooShort => 15,
        Violation::UnexpectedBody => 16,
        Violation::PseudoField => 17,
        Violation::OneHost => 18,
        Violation::Authority => 19,
        Violation::HostDiffers => 20,
        Violation::WhiteSpace => 21,
        Violation::SeveralLengths => 22,
    }
}

const RULES: usize = 23;

#[test]
fn every_rule_has_a_row_for_each_version_that_can_break_it() {
    let (requests, responses) = (requests::rows(), responses::rows());
    let of_requests = requests.iter().map(|row| row.violation);
    let of_responses = responses.iter().map(|row| row.violation);
    let all: Vec<Violation> = of_requests.chain(of_responses).collect();
    for rule in 0..RULES {
        let mut known = all.iter().chain(requests::INEXPRESSIBLE);
        let has_row = known.any(|violation| number(*violation) == rule);
        assert!(has_row, "rule {rule} has no row");
    }
    for violation in all {
        assert!(violation.section().starts_with("RFC 9"), "{violation}");
        for (protocol, version) in VERSIONS {
            let is_broken = responses.iter().any(|row| {
                number(row.violation) == number(violation) && row.protocols.contains(&protocol)
            });
            let can_break = violation.concerns_responses(version);
            assert_eq!(
                is_broken, can_break,
                "responses over {protocol:?}: {violation}"
            );
        }
    }
}

const VERSIONS: [(Protocol, Version); 3] = [
    (Protocol::H1, Version::H1),
    (Protocol::H2, Version::H2),
    (Protocol::H3, Version::H3),
];

fn policy(protocol: Protocol) -> Policy {
    match protocol {
        Protocol::H1 => Policy::H1,
        Protocol::H2 => Policy::H2,
        Protocol::H3 => Policy::H3,
    }
}

/// Starts a server that answers everything with this script, and an engine that trusts it.
async fn answering(protocol: Protocol, script: Script) -> (Server, Engine) {
    let credentials = Arc::new(Credentials::new());
    let engine = Engine::builder()
        .trust(Trust::Roots(credentials.pem().into_bytes()))
        .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()])
        .policy(policy(protocol));
    let choose = move |_: &peers::Request, _| script.clone();
    let server = Server::start(protocol, &credentials, Options::default(), choose).await;
    (server, engine.build().unwrap())
}

/// Sends a request and reads its response to the end.
async fn whole(engine: &Engine, method: Method, url: &str) -> Result<(Response, Vec<u8>), Error> {
    let read = async {
        let mut response = engine.request(method, url).send().await?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await? {
            body.extend(piece);
        }
        Ok((response, body))
    };
    let read = tokio::time::timeout(LIMIT, read).await;
    read.unwrap_or_else(|_| panic!("{url} hangs"))
}
