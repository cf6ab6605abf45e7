//! Random answers of servers whose truth is known, through the C interface and through C#.
//!
//! `COMMUTE_SEED` and `COMMUTE_CASES` choose the cases, as in the same test of the client.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

#[path = "../abi/mod.rs"]
mod abi;
mod c;
mod csharp;
#[path = "../unity/mod.rs"]
mod unity;

use std::sync::Arc;

use peers::{Case, Credentials, Protocol};

/// Cases for each version of HTTP.
const CASES: u64 = 300;

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_through_c_over_http_1() {
    all_are_true_through_c(Protocol::H1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_through_c_over_http_2() {
    all_are_true_through_c(Protocol::H2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_through_c_over_http_3() {
    all_are_true_through_c(Protocol::H3).await;
}

async fn all_are_true_through_c(protocol: Protocol) {
    let credentials = Arc::new(Credentials::new());
    let engine = c::Engine::open(protocol, &credentials.pem());
    let send = {
        let engine = Arc::clone(&engine);
        move |case, url| c::send(Arc::clone(&engine), case, url)
    };
    peers::check_outcomes(protocol, CASES, &credentials, send).await;
    engine.close();
}

/// One process for all versions of HTTP, since Mono takes long to start.
#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_through_csharp() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = unity::compiled(folder.path()) else {
        return;
    };
    let credentials = Arc::new(Credentials::new());
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, credentials.pem()).unwrap();
    let driver = csharp::Driver::start(&program, &roots);
    let run = async |protocol| {
        let driver = Arc::clone(&driver);
        let send = move |case, url| csharp::send(Arc::clone(&driver), case, url);
        peers::check_outcomes(protocol, CASES, &credentials, send).await;
    };
    tokio::join!(run(Protocol::H1), run(Protocol::H2), run(Protocol::H3));
    driver.end();
}

/// Reports whether the body of a case's request is streamed. It cannot be sent again then. So only requests that the
/// server takes at once stream theirs: those that have a connection for themselves, without refusals.
fn is_streamed(case: &Case) -> bool {
    case.method == "POST" && case.is_alone && case.refusals == 0 && case.seed.is_multiple_of(2)
}
