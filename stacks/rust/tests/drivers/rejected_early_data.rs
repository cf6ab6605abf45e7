//! A server that issues tickets and does not accept them, so that it rejects early data.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Driver, TIMEOUT_NS, concurrent, deadline, rust_driver, sequential};
use bytes::Bytes;
use driver::RunAnswer;
use driver::protocol::{Action, Protocol, Reconnect, Row, Step};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::StoresServerSessions;

/// Pretends to store every session and returns none.
#[derive(Debug)]
struct RejectTickets;

impl StoresServerSessions for RejectTickets {
    fn put(&self, _key: Vec<u8>, _value: Vec<u8>) -> bool {
        true
    }

    fn get(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn can_cache(&self) -> bool {
        true
    }
}

struct Server {
    ca: tempfile::NamedTempFile,
    url: String,
    served: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

fn server() -> Server {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), certified.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.session_storage = Arc::new(RejectTickets);
    tls.max_early_data_size = u32::MAX;
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(tls).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let served = Arc::new(AtomicUsize::new(0));
    let _guard = runtime.enter();
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!(
        "https://localhost:{}",
        endpoint.local_addr().unwrap().port()
    );
    let counter = Arc::clone(&served);
    runtime.spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(serve(incoming, Arc::clone(&counter)));
        }
    });
    Server {
        ca,
        url,
        served,
        _runtime: runtime,
    }
}

/// Answers every request with one byte.
async fn serve(incoming: quinn::Incoming, served: Arc<AtomicUsize>) {
    let quic = h3_quic::Connection::new(incoming.await.unwrap());
    let mut http = h3::server::Connection::<_, Bytes>::new(quic).await.unwrap();
    while let Ok(Some(resolver)) = http.accept().await {
        served.fetch_add(1, Ordering::Relaxed);
        let (_, mut stream) = resolver.resolve_request().await.unwrap();
        stream.send_response(http::Response::new(())).await.unwrap();
        stream.send_data(Bytes::from_static(b"x")).await.unwrap();
        stream.finish().await.unwrap();
    }
}

fn run(server: &Server, steps: &[Step]) -> Vec<Row> {
    let mut driver = Driver::start(&rust_driver("quinn"));
    driver.host.hello(deadline()).unwrap();
    let setup = crate::common::setup(
        &server.url,
        server.ca.path().to_str().unwrap(),
        Protocol::H3,
    );
    driver.host.setup(&setup, deadline()).unwrap();
    let RunAnswer::Rows(rows) = driver.host.run(steps, deadline()).unwrap() else {
        panic!()
    };
    driver.close();
    rows
}

const BYTE: Action = Action::Get { bytes: 1 };
const EARLY: Action = Action::Reconnect {
    mode: Reconnect::EarlyData,
};

#[test]
fn rejected_call_is_sent_again_on_the_same_connection() {
    let server = server();
    let rows = run(&server, &sequential([BYTE, EARLY, BYTE, BYTE]));
    assert!(
        rows.iter()
            .all(|row| row.error.is_none() && !row.early_data),
        "{rows:?}"
    );
    let attempts: Vec<_> = rows
        .iter()
        .map(|row| (row.connection, row.attempts))
        .collect();
    assert_eq!(attempts, [(1, 1), (2, 2), (2, 1)]);
    assert!(
        rows[1].resumed == Some(false) && rows[1].request_sent_ns > rows[1].tls_ns,
        "{rows:?}"
    );
    assert_eq!(
        server.served.load(Ordering::Relaxed),
        3,
        "the server must see each call once"
    );
}

#[test]
fn concurrent_rejected_calls_are_sent_again() {
    let server = server();
    let mut steps = sequential([BYTE, EARLY]);
    let tail = concurrent([BYTE, BYTE, BYTE]).into_iter().map(|step| Step {
        id: step.id + 2,
        start: Some(driver::protocol::Start::After(2)),
        ..step
    });
    steps.extend(tail);
    let rows = run(&server, &steps);
    assert!(
        rows.iter()
            .all(|row| row.error.is_none() && !row.early_data),
        "{rows:?}"
    );
    let attempts: Vec<_> = rows
        .iter()
        .map(|row| (row.connection, row.attempts))
        .collect();
    assert_eq!(attempts, [(1, 1), (2, 2), (2, 2), (2, 2)]);
    // After a lost wake-up only the timeout would end the call, so half of that is the bound.
    let longest_ns = rows
        .iter()
        .map(|row| row.end_ns - row.start_ns)
        .max()
        .unwrap();
    assert!(longest_ns < TIMEOUT_NS / 2, "{longest_ns} ns");
    assert_eq!(server.served.load(Ordering::Relaxed), 4);
}
