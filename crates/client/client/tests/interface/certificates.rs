//! Certificates: which of the server's are accepted, and the client's own.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::by_hand::{Listener, self_signed};
use crate::common::{await_closed, start};
use crate::quic::quic;
use bytes::Bytes;
use client::{CheckChain, Error, Fault, Identity, Policy, Protocol, Trust};
use http::Response;
use http_body_util::Empty;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use server::Config;
use tokio::sync::Notify;

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_is_refused_over_both_transports() {
    let (server, other) = (
        start(Config::default()).await,
        start(Config::default()).await,
    );
    for policy in [Policy::H2, Policy::H3, Policy::Adaptive] {
        let engine = other.trusting().hint_h3(&server.url("/")).build().unwrap();
        let refused = engine
            .get(&server.url("/health"))
            .policy(policy)
            .send()
            .await
            .unwrap_err();
        let expected = Error::Failed {
            fault: Fault::Certificate,
            may_have_acted: false,
        };
        assert_eq!(refused, expected, "{policy:?}");
    }
    assert!(server.stop().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_name_is_refused_over_both_transports() {
    let config = Config {
        names: vec!["other.example".into()],
        ..Config::default()
    };
    let server = start(config).await;
    for policy in [Policy::H2, Policy::H3] {
        let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
        let refused = engine
            .get(&server.url("/health"))
            .policy(policy)
            .send()
            .await
            .unwrap_err();
        assert!(
            matches!(
                refused,
                Error::Failed {
                    fault: Fault::Certificate,
                    ..
                }
            ),
            "{refused}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_may_check_chains_itself() {
    let server = start(Config::default()).await;
    let health = server.url("/health");
    for accepts in [true, false] {
        let seen = Arc::new(Seen {
            accepts,
            hosts: Mutex::default(),
        });
        let trust = Trust::App(Arc::clone(&seen) as Arc<dyn CheckChain>);
        let engine = server.trusting().trust(trust).build().unwrap();
        for policy in [Policy::H2, Policy::H3] {
            let answer = engine.get(&health).policy(policy).send().await;
            match answer {
                Ok(response) => assert!(accepts && response.status() == 200),
                Err(Error::Failed { fault, .. }) => {
                    assert!(!accepts && fault == Fault::Certificate);
                }
                Err(error) => panic!("{error}"),
            }
        }
        let hosts = seen.hosts.lock().unwrap();
        assert_eq!(hosts.len(), 2, "once for each handshake");
        assert!(hosts.iter().all(|host| health.contains(host.as_str())));
    }
}

#[derive(Debug)]
struct Seen {
    accepts: bool,
    hosts: Mutex<Vec<String>>,
}

impl CheckChain for Seen {
    fn accepts(&self, chain: &[&[u8]], host: &str) -> bool {
        assert!(!chain.is_empty() && chain.iter().all(|der| der[0] == 0x30));
        self.hosts
            .lock()
            .expect("no other check panicked")
            .push(host.to_owned());
        self.accepts
    }
}

#[derive(Debug)]
struct Panicking;

impl CheckChain for Panicking {
    fn accepts(&self, _chain: &[&[u8]], _host: &str) -> bool {
        panic!("this check panics on purpose");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_panics_refuses() {
    let server = start(Config::default()).await;
    let trust = Trust::App(Arc::new(Panicking));
    let engine = server.trusting().trust(trust).build().unwrap();
    let url = server.url("/health");
    for policy in [Policy::H2, Policy::H3] {
        let refused = engine.get(&url).policy(policy).send().await.unwrap_err();
        let expected = Error::Failed {
            fault: Fault::Certificate,
            may_have_acted: false,
        };
        assert_eq!(refused, expected, "{policy:?}");
    }
}

/// Accepts until the test makes it refuse, and counts.
#[derive(Debug, Default)]
struct Changing {
    refuses: AtomicBool,
    asked: Mutex<u32>,
}

impl CheckChain for Changing {
    fn accepts(&self, chain: &[&[u8]], _host: &str) -> bool {
        assert!(!chain.is_empty());
        *self.asked.lock().expect("no other check panicked") += 1;
        !self.refuses.load(Ordering::Relaxed)
    }
}

/// Answers one request and closes the connection once the client has read the response.
async fn answer_one(incoming: quinn::Incoming, read: &Notify) {
    let Ok(quic) = incoming.await else { return };
    let connection = h3_quic::Connection::new(quic.clone());
    let server = h3::server::Connection::<_, Bytes>::new(connection).await;
    let mut server = server.unwrap();
    let Ok(Some(request)) = server.accept().await else {
        return;
    };
    let (_, mut stream) = request.resolve_request().await.unwrap();
    stream.send_response(Response::new(())).await.unwrap();
    stream.finish().await.unwrap();
    read.notified().await;
    quic.close(0x100_u32.into(), b"");
}

/// Opens three connections: one with a full handshake, and two that resume its session; the app refuses the last.
/// Reports to the server when a response has been read. The tickets of the session came before it.
async fn resumes(builder: client::Builder, url: &str, policy: Policy, read: &Notify) {
    let check = Arc::new(Changing::default());
    let trust = Trust::App(Arc::clone(&check) as Arc<dyn CheckChain>);
    let engine = builder.trust(trust).policy(policy).build().unwrap();
    let mut resumed = Vec::new();
    for _ in 0..2 {
        let response = engine.get(url).send().await.unwrap();
        resumed.push(response.report().resumed);
        assert!(!response.report().reused);
        response.bytes(0).await.unwrap();
        read.notify_one();
        await_closed(&engine, url).await;
    }
    assert_eq!(resumed, [false, true], "{policy:?}");
    assert_eq!(*check.asked.lock().unwrap(), 2);
    check.refuses.store(true, Ordering::Relaxed);
    let refused = engine.get(url).send().await.unwrap_err();
    let expected = Error::Failed {
        fault: Fault::Certificate,
        may_have_acted: false,
    };
    assert_eq!(refused, expected, "{policy:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_is_asked_of_a_session_that_is_resumed_over_tcp_too() {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    tokio::spawn(async move {
        loop {
            let io = TokioIo::new(listener.accept().await);
            let answer = service_fn(|_| async {
                let response = Response::builder().header("connection", "close");
                response.body(Empty::<Bytes>::new())
            });
            let server = hyper::server::conn::http1::Builder::new();
            tokio::spawn(server.serve_connection(io, answer));
        }
    });
    // The server closes the connection without being told.
    resumes(engine, &url, Policy::H2, &Notify::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_is_asked_of_a_session_that_is_resumed_over_quic_too() {
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    let read = Arc::new(Notify::new());
    let has_read = Arc::clone(&read);
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            answer_one(incoming, &has_read).await;
        }
    });
    resumes(engine, &url, Policy::H3, &read).await;
}

/// Accepts all hosts but one, once the test makes it refuse that.
#[derive(Debug, Default)]
struct Withdrawn {
    refused: Mutex<Option<&'static str>>,
    asked: Mutex<Vec<String>>,
}

impl CheckChain for Withdrawn {
    fn accepts(&self, _chain: &[&[u8]], host: &str) -> bool {
        self.asked.lock().unwrap().push(host.to_owned());
        *self.refused.lock().unwrap() != Some(host)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_is_asked_of_a_session_that_is_resumed_beside_another_handshake() {
    for refuses in [true, false] {
        let (config, engine) = self_signed(&[b"h3"]);
        let (endpoint, url) = quic(config.clone());
        let (other_endpoint, other) = quic(config);
        let other = other.replace("localhost", "other.example");
        let (said, begun) = tokio::sync::oneshot::channel();
        let (go_on, gone_on) = tokio::sync::oneshot::channel();
        let read = Arc::new(Notify::new());
        let has_read = Arc::clone(&read);
        tokio::spawn(async move {
            answer_one(endpoint.accept().await.unwrap(), &has_read).await;
            let resuming = endpoint.accept().await.unwrap();
            said.send(()).unwrap();
            gone_on.await.unwrap();
            answer_one(resuming, &has_read).await;
        });
        tokio::spawn(async move {
            let other = other_endpoint.accept().await.unwrap();
            answer_one(other, &Notify::new()).await;
        });
        let check = Arc::new(Withdrawn::default());
        let engine = engine
            .trust(Trust::App(Arc::clone(&check) as Arc<dyn CheckChain>))
            .resolve("other.example", vec![Ipv4Addr::LOCALHOST.into()])
            .policy(Policy::H3)
            .build()
            .unwrap();
        let first = engine.get(&url).send().await.unwrap();
        first.bytes(0).await.unwrap();
        read.notify_one();
        await_closed(&engine, &url).await;
        *check.refused.lock().unwrap() = refuses.then_some("localhost");
        let resuming = tokio::spawn(engine.get(&url).send());
        begun.await.unwrap();
        let full = engine.get(&other).send().await.unwrap();
        assert!(!full.report().resumed);
        go_on.send(()).unwrap();
        match resuming.await.unwrap() {
            Ok(response) => assert!(!refuses && response.report().resumed),
            Err(Error::Failed { fault, .. }) => assert!(refuses && fault == Fault::Certificate),
            Err(error) => panic!("{error}"),
        }
        let asked = check.asked.lock().unwrap();
        assert_eq!(*asked, ["localhost", "other.example", "localhost"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_demands_a_certificate_gets_the_apps_and_no_other() {
    let server = start(Config {
        mtls_listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        ..Config::default()
    })
    .await;
    let read = |name: &str| std::fs::read(server.folder.path().join(name)).unwrap();
    let identity = Identity {
        chain_pem: read("client.pem"),
        key_pem: read("client.key"),
    };
    let url = format!(
        "https://localhost:{}/health",
        server.mtls_address.unwrap().port()
    );
    for (policy, protocol) in [(Policy::H2, Protocol::H2), (Policy::H3, Protocol::H3)] {
        let known = server.trusting().identity(identity.clone()).policy(policy);
        let response = known.build().unwrap().get(&url).send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.report().protocol),
            (200, protocol)
        );
        let unknown = server.trusting().policy(policy).build().unwrap();
        let refused = unknown.get(&url).send().await.unwrap_err();
        assert!(
            matches!(refused, Error::Failed { .. }),
            "{policy:?} {refused}"
        );
    }
    assert!(!format!("{identity:?}").contains("PRIVATE"));
}
