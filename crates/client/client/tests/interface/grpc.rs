//! Calls of tonic's client over HTTP/2 and HTTP/3, against the gRPC server on loopback.

use std::time::Duration;

use crate::common::{TestServer, start};
use bytes::Bytes;
use client::{Builder, Engine, GrpcChannel, Policy, Protocol, Report};
use futures_util::{Stream, StreamExt, stream};
use messages::v1::bench_client::BenchClient;
use messages::v1::{Chunk, DownloadRequest, EchoRequest};
use server::{Config, Fault};
use tokio::sync::mpsc::Sender;
use tonic::{Code, Request, Status};

const PROTOCOLS: [(Policy, Protocol); 2] = [(Policy::H2, Protocol::H2), (Policy::H3, Protocol::H3)];

fn bench(server: &TestServer, policy: Policy) -> (Engine, BenchClient<GrpcChannel>) {
    let engine = server.trusting().hint_h3(&server.url("/")).policy(policy);
    bench_at(&server.url(""), engine)
}

fn bench_at(url: &str, engine: Builder) -> (Engine, BenchClient<GrpcChannel>) {
    let engine = engine.build().expect("the server made its roots");
    let bench = BenchClient::with_origin(engine.grpc(), url.parse().expect("it is a URL"));
    (engine, bench)
}

fn echo(bytes: usize) -> EchoRequest {
    EchoRequest {
        start_ts: 7,
        padding: "x".repeat(bytes),
    }
}

/// Creates a stream of messages that are sent one by one.
fn messages() -> (Sender<EchoRequest>, impl Stream<Item = EchoRequest>) {
    let (say, mut said) = tokio::sync::mpsc::channel(1);
    (say, stream::poll_fn(move |context| said.poll_recv(context)))
}

#[tokio::test(flavor = "multi_thread")]
async fn unary_calls_and_streams_in_both_directions() {
    let server = start(Config::default()).await;
    for (policy, protocol) in PROTOCOLS {
        let (_engine, mut bench) = bench(&server, policy);
        // The second is longer than what is sent whole.
        for bytes in [10, 100_000] {
            let reply = bench.echo(echo(bytes)).await.unwrap();
            let report = reply.extensions().get::<Report>().unwrap();
            assert_eq!(report.protocol, protocol, "{}", report.reason);
            assert_eq!(reply.get_ref().padding.len(), bytes);
            assert_eq!(reply.metadata().get("grpc-status").unwrap(), "0");
        }

        let download = DownloadRequest { bytes: 3_000_000 };
        let mut chunks = bench.download(download).await.unwrap().into_inner();
        let mut bytes = 0;
        while let Some(chunk) = chunks.message().await.unwrap() {
            bytes += chunk.data.len();
        }
        assert_eq!(bytes, 3_000_000);
        // What is left of the end is the server's trailers.
        assert!(chunks.trailers().await.unwrap().is_some());

        let chunks = stream::iter(0..64).then(async |_| {
            tokio::task::yield_now().await;
            let data = Bytes::from(vec![7; 50_000]);
            Chunk {
                data,
                ..Chunk::default()
            }
        });
        let uploaded = bench.upload(Request::new(chunks)).await.unwrap();
        assert_eq!(uploaded.get_ref().bytes, 64 * 50_000);

        // Each message waits for the reply to the one before.
        let (say, said) = messages();
        say.send(echo(1)).await.unwrap();
        let mut replies = bench.chat(Request::new(said)).await.unwrap().into_inner();
        for bytes in 1..10 {
            let reply = replies.message().await.unwrap().unwrap();
            assert_eq!(reply.padding.len(), bytes);
            say.send(echo(bytes + 1)).await.unwrap();
        }
        drop(say);
        assert_eq!(replies.message().await.unwrap().unwrap().padding.len(), 10);
        assert!(replies.message().await.unwrap().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_has_a_status() {
    let faults = [
        (1, Fault::Stall),
        (2, Fault::Truncate),
        (3, Fault::Unavailable),
    ];
    let server = start(Config {
        faults: faults.into(),
        ..Config::default()
    })
    .await;
    for (policy, _) in PROTOCOLS {
        let (_engine, mut bench) = bench(&server, policy);
        let too_much = DownloadRequest { bytes: u64::MAX };
        let refused = bench.download(too_much).await.unwrap_err();
        assert_eq!(refused.code(), Code::OutOfRange, "the server's: {refused}");

        let mut faulty = async |id: &'static str, limit: Duration| -> Status {
            let mut request = Request::new(echo(10));
            request
                .metadata_mut()
                .insert("x-commute-id", id.parse().unwrap());
            request.set_timeout(limit);
            bench.echo(request).await.unwrap_err()
        };
        let late = faulty("1", Duration::from_millis(300)).await;
        assert_eq!(late.code(), Code::DeadlineExceeded, "{late}");
        assert_eq!(
            faulty("3", Duration::from_secs(20)).await.code(),
            Code::Unavailable
        );
        let cut_off = faulty("2", Duration::from_secs(20)).await;
        assert_eq!(cut_off.code(), Code::Internal, "{cut_off}");
    }
    let (_engine, mut nobody) = bench_at("https://localhost:1", server.trusting());
    let unreachable = nobody.echo(echo(1)).await.unwrap_err();
    assert_eq!(unreachable.code(), Code::Unavailable, "{unreachable}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let server = start(Config::default()).await;
    for (policy, _) in PROTOCOLS {
        let (_engine, mut bench) = bench(&server, policy);
        let (say, said) = messages();
        say.send(echo(1)).await.unwrap();
        let mut replies = bench.chat(Request::new(said)).await.unwrap().into_inner();
        replies.message().await.unwrap().unwrap();
        drop(replies);
        // The channel's other end, which the engine holds, goes as well.
        let gone = tokio::time::timeout(Duration::from_secs(10), say.closed());
        gone.await.expect("nobody listens any more");
        // The connection is still good.
        bench.echo(echo(1)).await.unwrap();
    }
    let log = server.stop().await;
    let broken = log.iter().filter(|request| request.broken);
    assert_eq!(broken.count(), 2, "{log:#?}");
}
