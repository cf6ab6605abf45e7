//! 0-RTT, which rustls supports only on servers that store sessions.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use bytes::Bytes;
use common::{Options, Pair};
use h3_quic::{Connection, OpenStreams};
use http::{Request, Response};

#[tokio::test]
async fn early_data_is_accepted_with_stored_sessions_and_reported() {
    let pair = Pair::new(&Options::default());
    let server = tokio::spawn(serve(pair.server.clone()));
    let first = pair.connecting().await.unwrap();
    call(&mut open(&first).await).await;
    first.close(0u32.into(), b"");
    let (second, accepted) = pair.connecting().into_0rtt().ok().unwrap();
    let mut requests = open(&second).await;
    call(&mut requests).await;
    assert!(accepted.await);
    // The same connection, after its handshake.
    call(&mut requests).await;
    second.close(0u32.into(), b"");
    pair.server.close(0u32.into(), b"");
    assert_eq!(server.await.unwrap(), [false, true, false]);
}

#[tokio::test]
async fn early_data_is_rejected_with_stateless_tickets() {
    let pair = Pair::new(&Options {
        stateless_tickets: true,
        ..Options::default()
    });
    let server = tokio::spawn(serve(pair.server.clone()));
    let first = pair.connecting().await.unwrap();
    call(&mut open(&first).await).await;
    first.close(0u32.into(), b"");
    let second = match pair.connecting().into_0rtt() {
        // The ticket does not allow early data, so the client does not try.
        Err(connecting) => connecting.await.unwrap(),
        Ok((connection, accepted)) => {
            assert!(!accepted.await);
            connection
        }
    };
    call(&mut open(&second).await).await;
    second.close(0u32.into(), b"");
    pair.server.close(0u32.into(), b"");
    assert_eq!(server.await.unwrap(), [false, false]);
}

type Requests = h3::client::SendRequest<OpenStreams, Bytes>;

async fn open(quic: &quinn::Connection) -> Requests {
    let (mut driver, requests) = h3::client::new(Connection::new(quic.clone()))
        .await
        .unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    requests
}

async fn call(requests: &mut Requests) {
    let request = Request::get("https://localhost/").body(()).unwrap();
    let mut stream = requests.send_request(request).await.unwrap();
    stream.finish().await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
}

/// Serves until the endpoint is closed. Returns for each request, in order, whether it was early
/// data.
async fn serve(endpoint: quinn::Endpoint) -> Vec<bool> {
    let mut early = Vec::new();
    while let Some(incoming) = endpoint.accept().await {
        let (quic, _) = incoming.accept().unwrap().into_0rtt().ok().unwrap();
        let (connection, accepted) = Connection::with_accepted_requests(quic);
        let Ok(mut h3) = h3::server::builder().build::<_, Bytes>(connection).await else {
            break;
        };
        while let Ok(Some(resolver)) = h3.accept().await {
            let (_, mut stream) = resolver.resolve_request().await.unwrap();
            early.push(accepted.take(stream.id()).unwrap().early_data);
            stream.send_response(Response::new(())).await.unwrap();
            stream.finish().await.unwrap();
        }
    }
    early
}
