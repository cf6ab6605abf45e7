//! Connections without room for another request.

use std::time::Duration;

use client::Policy;
use peers::{Credentials, Options, Protocol, Script, Server, Step};

use crate::{ok, policy, trusting, whole};

/// Makes a request whose response is not read, and other requests meanwhile.
async fn others_are_answered(protocol: Protocol, unread: usize, options: Options, bytes: usize) {
    let credentials = Credentials::new();
    let server = Server::start(protocol, &credentials, options, move |request, _| {
        if request.path == "/short" {
            return ok("short");
        }
        // It has no end.
        Script::new([Step::head(200, &[]), Step::data(vec![b'x'; bytes])])
    });
    let server = server.await;
    let engine = trusting(&credentials)
        .policy(policy(protocol))
        .build()
        .unwrap();
    let mut open = Vec::new();
    for _ in 0..unread {
        open.push(engine.get(&server.url("/long")).send().await.unwrap());
    }
    for _ in 0..3 {
        let (_, body) = whole(engine.get(&server.url("/short"))).await.unwrap();
        assert_eq!(body, b"short", "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_stays_open_does_not_hold_others_up_where_one_is_allowed() {
    let options = Options {
        max_streams: Some(1),
        ..Options::default()
    };
    others_are_answered(Protocol::H1, 1, Options::default(), 1).await;
    others_are_answered(Protocol::H2, 1, options, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_that_nobody_reads_do_not_hold_others_up() {
    for protocol in [Protocol::H1, Protocol::H2, Protocol::H3] {
        // As much as a stream's window allows.
        let unread = if protocol == Protocol::H1 { 3 } else { 40 };
        others_are_answered(protocol, unread, Options::default(), 2 << 20).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_takes_the_place_of_one_that_the_app_lets_go_of() {
    let credentials = Credentials::new();
    let options = Options {
        max_streams: Some(1),
        ..Options::default()
    };
    let server = Server::start(Protocol::H2, &credentials, options, |request, _| {
        if request.path == "/short" {
            return ok("short");
        }
        // It has no end.
        Script::new([Step::head(200, &[]), Step::data("x")])
    });
    let server = server.await;
    let engine = trusting(&credentials).policy(Policy::H2).build().unwrap();
    let mut open = Vec::new();
    // As many connections as there may be.
    for _ in 0..6 {
        open.push(engine.get(&server.url("/long")).send().await.unwrap());
    }
    let waits = tokio::spawn(whole(engine.get(&server.url("/short"))));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(server.requests("/short").is_empty(), "it waits for room");
    open.pop();
    assert_eq!(waits.await.unwrap().unwrap().1, b"short");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_no_ping_while_it_works_is_asked_once() {
    let credentials = Credentials::new();
    let options = Options {
        ignores_pings: true,
        ..Options::default()
    };
    let server = Server::start(Protocol::H2, &credentials, options, |_, _| {
        let mut script = ok("done");
        script.steps.insert(0, Step::Pause(Duration::from_secs(8)));
        script
    });
    let server = server.await;
    let engine = trusting(&credentials).policy(Policy::H2).build().unwrap();
    let post = engine
        .request(http::Method::POST, &server.url("/post"))
        .body("x");
    let get = engine.get(&server.url("/get"));
    let (post, get) = tokio::join!(whole(post), whole(get));
    assert_eq!(post.unwrap().1, b"done");
    assert_eq!(get.unwrap().1, b"done");
    for path in ["/post", "/get"] {
        assert_eq!(server.requests(path).len(), 1, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_bodies_leave_a_window_for_another_one() {
    let credentials = Credentials::new();
    let server = Server::start(
        Protocol::H2,
        &credentials,
        Options::default(),
        |request, _| {
            if request.path == "/short" {
                return ok("short");
            }
            // It has no end.
            Script::new([Step::head(200, &[]), Step::data(vec![b'x'; 2 << 20])])
        },
    );
    let server = server.await;
    let engine = trusting(&credentials).policy(Policy::H2).build().unwrap();
    let mut unread = Vec::new();
    // The connection has sixteen windows.
    for _ in 0..15 {
        unread.push(engine.get(&server.url("/long")).send().await.unwrap());
    }
    let full = unread[0].report().connection;
    assert!(unread.iter().all(|body| body.report().connection == full));
    let elsewhere = async {
        loop {
            let (response, _) = whole(engine.get(&server.url("/short"))).await.unwrap();
            if response.report().connection != full {
                return;
            }
            // The bodies are still coming.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(30), elsewhere).await;
    assert!(found.is_ok(), "no request got another connection");
}
