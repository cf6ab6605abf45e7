//! Random answers of servers whose truth is known, over HTTP/1.1, HTTP/2 and HTTP/3: what the client makes of each must
//! be true.
//!
//! `COMMUTE_SEED` sets the first seed, and `COMMUTE_CASES` the number of cases for each version of HTTP. A failure names
//! the seed of its case, so that `COMMUTE_SEED=seed COMMUTE_CASES=1` repeats it alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use client::{Engine, Error, Fault, Policy, Trust};
use http::Method;
use peers::{Case, Credentials, Failure, FailureKind, Outcome, Protocol, Rng};

/// Cases for each version of HTTP.
const CASES: u64 = 2_000;

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_over_http_1() {
    all_are_true(Protocol::H1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_over_http_2() {
    all_are_true(Protocol::H2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_over_http_3() {
    all_are_true(Protocol::H3).await;
}

/// Checks the outcomes of generated cases over one version of HTTP. The gate runs the same cases each time;
/// `make answers` runs others.
async fn all_are_true(protocol: Protocol) {
    let credentials = Arc::new(Credentials::new());
    let engine = Engine::builder()
        .trust(Trust::Roots(credentials.pem().into_bytes()))
        .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()]);
    let engine = engine.build().unwrap();
    let send = move |case, url| send(engine.clone(), case, url);
    peers::check_outcomes(protocol, CASES, &credentials, send).await;
}

async fn send(engine: Engine, case: Arc<Case>, url: String) -> Outcome {
    let mut outcome = Outcome::default();
    let received = receive(&engine, &case, &url, &mut outcome).await;
    outcome.failure = received.err().map(|error| {
        let (kind, may_have_acted) = match error {
            Error::Failed {
                fault,
                may_have_acted,
            } => (kind(fault), may_have_acted),
            _ => (FailureKind::Other, true),
        };
        let text = error.to_string();
        Failure {
            kind,
            may_have_acted,
            text,
        }
    });
    outcome
}

async fn receive(
    engine: &Engine,
    case: &Case,
    url: &str,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let policy = match case.protocol {
        Protocol::H1 => Policy::H1,
        Protocol::H2 => Policy::H2,
        Protocol::H3 => Policy::H3,
    };
    let method = Method::from_bytes(case.method.as_bytes()).unwrap();
    let request = engine.request(method, url);
    let request = request.body(case.request.clone()).policy(policy);
    let mut response = request.send().await?;
    outcome.status = response.status().as_u16();
    while let Some(piece) = response.chunk().await? {
        outcome.body.extend(piece);
        // A reader that is slower than its connection.
        if Rng::new(case.seed).chance(10) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let trailers = response.trailers().into_iter().flatten();
    let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    outcome.trailers = Some(trailers.map(field).collect());
    Ok(())
}

fn kind(fault: Fault) -> FailureKind {
    match fault {
        Fault::Malformed | Fault::Protocol => FailureKind::Malformed,
        Fault::Reset => FailureKind::Reset,
        _ => FailureKind::Other,
    }
}
