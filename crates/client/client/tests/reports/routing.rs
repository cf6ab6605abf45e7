//! Answers that choose the route of later requests.

use std::sync::Arc;

use client::{Network, NetworkId, NetworkKind, Policy, Protocol as Route};
use peers::{Close, Credentials, Options, Protocol, Script, Server, Step};

use crate::{ok, trusting, whole};

/// Starts a server over TCP that offers HTTP/3 on this port.
async fn offering(credentials: &Credentials, port: u16) -> Server {
    let offer = format!("h3=\":{port}\"; ma=86400");
    Server::start(
        Protocol::H2,
        credentials,
        Options::default(),
        move |_, _| {
            let head = Step::head(200, &[("alt-svc", &offer)]);
            Script::new([head, Step::data("tcp"), Step::End])
        },
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn misdirected_over_http_3_ends_the_offer() {
    let credentials = Credentials::new();
    let quic = Server::start(Protocol::H3, &credentials, Options::default(), |_, _| {
        Script::new([Step::head(421, &[]), Step::data("no"), Step::End])
    });
    let quic = quic.await;
    // It offers nothing after the first answer, so that a later offer does not count.
    let offer = format!("h3=\":{}\"; ma=86400", quic.port);
    let tcp = Server::start(
        Protocol::H2,
        &credentials,
        Options::default(),
        move |request, _| {
            let of: &[_] = match &request.path[..] {
                "/1" => &[("alt-svc", &offer[..])],
                _ => &[],
            };
            Script::new([Step::head(200, of), Step::data("tcp"), Step::End])
        },
    );
    let tcp = tcp.await;
    let engine = trusting(&credentials).policy(Policy::Race).build().unwrap();
    let mut misdirected = 0;
    for path in ["/1", "/2", "/3", "/4", "/5"] {
        if path == "/2" {
            engine.disconnect().await;
        }
        let (response, _) = whole(engine.get(&tcp.url(path))).await.unwrap();
        misdirected += usize::from(response.status() == 421);
    }
    let post = engine.request(http::Method::POST, &tcp.url("/6")).body("x");
    assert_eq!(whole(post).await.unwrap().0.status(), 200);
    assert!(misdirected <= 1, "{misdirected} requests got 421");
    assert!(quic.connections() <= 1, "HTTP/3 was tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn clear_beside_other_alternatives_leaves_none() {
    for value in [
        "alt-svc: h3=\":1\"\r\nalt-svc: clear",
        "alt-svc: clear, h3=\":1\"",
        "alt-svc: h3=\":1\", clear",
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n{value}\r\n\r\nok");
        let credentials = Credentials::new();
        let server = Server::start(
            Protocol::H1,
            &credentials,
            Options::default(),
            move |_, _| Script::new([Step::Raw(answer.clone().into_bytes())]),
        );
        let server = server.await;
        let engine = trusting(&credentials).policy(Policy::Race).build().unwrap();
        whole(engine.get(&server.url("/"))).await.unwrap();
        let explained = engine.explain(&server.url("/")).await;
        assert!(
            explained.contains("HTTP/3 here: unknown"),
            "{value}: {explained}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_1_1_required_leads_to_http_1_1() {
    let code = 13;
    let refuses = true;
    for refusal in [
        vec![Step::Reset(code.into())],
        vec![Step::GoAway { refuses, code }, Step::Close(Close::Notify)],
    ] {
        let credentials = Credentials::new();
        let options = Options {
            offers_h1: true,
            ..Options::default()
        };
        let what = format!("{refusal:?}");
        let server = Server::start(Protocol::H2, &credentials, options, move |request, _| {
            let is_h2 = request.fields.iter().any(|(name, _)| name == ":path");
            match is_h2 {
                true => Script::new(refusal.clone()),
                false => ok("text"),
            }
        });
        let server = server.await;
        let engine = trusting(&credentials).policy(Policy::H2).build().unwrap();
        for method in [http::Method::GET, http::Method::POST] {
            let request = engine.request(method, &server.url("/"));
            let (response, body) = whole(request).await.unwrap();
            assert_eq!(body, b"text", "{what}");
            assert_eq!(response.report().protocol, Route::H1, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_the_apps_does_not_break_http_3() {
    let credentials = Credentials::new();
    let quic = Server::start(Protocol::H3, &credentials, Options::default(), |_, _| {
        ok("quic")
    });
    let quic = quic.await;
    let tcp = offering(&credentials, quic.port).await;
    let url = tcp.url("/");
    let engine = trusting(&credentials).policy(Policy::Race);
    let engine = engine.hint_h3_on(&url, quic.port).build().unwrap();
    for host in [None, Some("other.example"), None] {
        let mut request = engine.get(&url);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        whole(request).await.unwrap();
    }
    let explained = engine.explain(&url).await;
    assert!(!explained.contains("HTTP/3 here: broken"), "{explained}");
    for request in quic.requests("/").iter().chain(&tcp.requests("/")) {
        let has_host = request.fields.iter().any(|(name, _)| name == "host");
        assert!(!has_host, "{:?}", request.fields);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_length_of_the_apps_takes_no_other_request_for_a_body() {
    let credentials = Credentials::new();
    let server = Server::start(Protocol::H1, &credentials, Options::default(), |_, _| {
        ok("ok")
    });
    let server = server.await;
    let engine = trusting(&credentials).build().unwrap();
    let first = engine
        .get(&server.url("/first"))
        .header("content-length", "99");
    assert!(matches!(whole(first).await, Err(client::Error::Invalid(_))));
    whole(engine.get(&server.url("/second"))).await.unwrap();
    let second = server.requests("/second");
    assert_eq!((second.len(), &second[0].body[..]), (1, &b""[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_must_not_migrate_is_left_on_another_network() {
    let credentials = Credentials::new();
    let options = Options {
        forbids_migration: true,
        ..Options::default()
    };
    let server = Server::start(Protocol::H3, &credentials, options, |_, _| ok("quic"));
    let server = Arc::new(server.await);
    let engine = trusting(&credentials).policy(Policy::H3).build().unwrap();
    let network = |id: &[u8; 16]| {
        let id = NetworkId(*id);
        let (kind, metered) = (NetworkKind::Wifi, false);
        engine.network(Some(Network { id, kind, metered }));
    };
    network(b"the one at home.");
    whole(engine.get(&server.url("/"))).await.unwrap();
    network(b"the one outside.");
    whole(engine.get(&server.url("/"))).await.unwrap();
    let connections: Vec<_> = server
        .requests("/")
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_eq!(connections, [0, 1]);
}
