//! The calls of each method, and the channel that they use.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use driver::protocol::{CallError, ErrorKind};
use http::uri::PathAndQuery;
use messages::PassThrough;
use messages::v1::bench_client::BenchClient;
use messages::v1::{Chunk, DownloadRequest, EchoReply, EchoRequest};
use prost::Message;
use sign::Chunks;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tower::Service;

use super::request::{GrpcRequest, SUBMIT_STREAM};
use crate::body::{CHUNK_BYTES, Content};
use crate::call_error::{call_error, transport_error};
use crate::send_tracker::SendTracker;
use crate::trace::{Phase, Trace};

type Client = BenchClient<TracedChannel>;

pub(super) async fn echo(
    mut client: Client,
    request: &GrpcRequest,
    message: &EchoRequest,
    trace: &Trace,
) -> Result<(), Status> {
    count_sent(trace, message.encoded_len());
    let reply = client.echo(request.wrap(message.clone())).await?;
    trace.receive(reply.into_inner().encode_to_vec().into());
    Ok(())
}

pub(super) async fn download(
    mut client: Client,
    request: &GrpcRequest,
    range: &DownloadRequest,
    trace: &Trace,
) -> Result<(), Status> {
    count_sent(trace, range.encoded_len());
    let mut chunks = client.download(request.wrap(*range)).await?.into_inner();
    while let Some(chunk) = chunks.message().await? {
        trace.receive(chunk.data);
    }
    Ok(())
}

pub(super) async fn upload(
    mut client: Client,
    request: &GrpcRequest,
    file: &Content,
    trace: &Trace,
) -> Result<(), Status> {
    let mut codes = request.codes();
    let (mut remaining, counted) = (Some(file.clone()), trace.clone());
    let signed = codes.is_some();
    let chunks = std::iter::from_fn(move || {
        let mut rest = remaining.take()?;
        // An empty file has no chunk, unless one must carry the code of the last.
        if rest.length() == 0 && !signed {
            return None;
        }
        let data = rest.take(CHUNK_BYTES);
        count_sent(&counted, data.len());
        let code = code(&mut codes, &data, rest.length() == 0);
        remaining = Some(rest).filter(|rest| rest.length() > 0);
        Some(Chunk { data, code })
    });
    let chunks = request.wrap(tokio_stream::iter(chunks));
    let reply = client.upload(chunks).await?;
    trace.receive(reply.into_inner().encode_to_vec().into());
    Ok(())
}

/// Keeps one message in flight: each is sent when the last has been answered.
pub(super) async fn chat(
    mut client: Client,
    request: &GrpcRequest,
    message: &EchoRequest,
    messages: u32,
    trace: &Trace,
) -> Result<(), Status> {
    let (sender, outgoing) = mpsc::channel(1);
    let send = || {
        count_sent(trace, message.encoded_len());
        // If the stream has ended, the next read returns the reason.
        sender.try_send(message.clone()).ok();
    };
    send();
    let mut replies = client
        .chat(request.wrap(ReceiverStream::new(outgoing)))
        .await?
        .into_inner();
    for received in 1..=messages {
        let reply: EchoReply = replies.message().await?.ok_or_else(ended_early)?;
        trace.receive(reply.encode_to_vec().into());
        if received < messages {
            send();
        }
    }
    drop(sender);
    while replies.message().await?.is_some() {}
    Ok(())
}

/// Sends a message that the engine has encoded. The engine also decodes the response, so that it
/// can time both.
pub(super) async fn unary(
    mut grpc: Grpc<TracedChannel>,
    request: &GrpcRequest,
    path: &PathAndQuery,
    message: &Bytes,
    trace: &Trace,
) -> Result<(), Status> {
    ready(&mut grpc).await?;
    count_sent(trace, message.len());
    let request = request.wrap(message.clone());
    let response = grpc.unary(request, path.clone(), PassThrough).await?;
    trace.receive(response.into_inner());
    Ok(())
}

/// Sends a message in parts that the engine has encoded.
pub(super) async fn submit(
    mut grpc: Grpc<TracedChannel>,
    request: &GrpcRequest,
    parts: Vec<Bytes>,
    trace: &Trace,
) -> Result<(), Status> {
    ready(&mut grpc).await?;
    let (mut codes, counted) = (request.codes(), trace.clone());
    let mut parts = parts.into_iter();
    let parts = std::iter::from_fn(move || {
        let data = parts.next()?;
        count_sent(&counted, data.len());
        let code = code(&mut codes, &data, parts.len() == 0);
        // A chunk of an upload has the form of a part, and does not copy its data.
        Some(Bytes::from(Chunk { data, code }.encode_to_vec()))
    });
    let request = request.wrap(tokio_stream::iter(parts));
    let path = PathAndQuery::from_static(SUBMIT_STREAM);
    let response = grpc.client_streaming(request, path, PassThrough).await?;
    trace.receive(response.into_inner());
    Ok(())
}

async fn ready(grpc: &mut Grpc<TracedChannel>) -> Result<(), Status> {
    let ready = grpc.ready().await;
    ready.map_err(|error| Status::from_error(error.into()))
}

/// Returns the code of a signed stream's next chunk; none, of any other.
fn code(codes: &mut Option<Chunks>, data: &[u8], last: bool) -> Bytes {
    let code = codes.as_mut().map(|codes| codes.sign(data, last));
    code.map_or_else(Bytes::new, |code| Bytes::copy_from_slice(&code))
}

/// The channel as one call uses it: records the call's times.
#[derive(Clone)]
pub(super) struct TracedChannel {
    pub(super) channel: Channel,
    pub(super) tracker: SendTracker,
    pub(super) trace: Trace,
}

impl Service<http::Request<Body>> for TracedChannel {
    type Response = http::Response<Body>;
    type Error = tonic::transport::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.trace.edit(|row| row.attempts += 1);
        let request = request.map(|body| Body::new(self.tracker.wrap(body, &self.trace)));
        let (response, trace) = (self.channel.call(request), self.trace.clone());
        Box::pin(async move {
            let response = response.await?;
            trace.stamp(Phase::FirstByte);
            Ok(response)
        })
    }
}

/// Counts content without gRPC's framing, as the server's log does.
fn count_sent(trace: &Trace, bytes: usize) {
    trace.edit(|row| row.request_bytes += bytes as u64);
}

pub(super) fn status_error(status: &Status, trace: &Trace) -> CallError {
    match status.source() {
        Some(source) => transport_error(source),
        None => {
            // Without a cause on this side, the status came from the server.
            trace.edit(|row| row.status = Some(status.code() as u16));
            call_error(ErrorKind::Status, status)
        }
    }
}

fn ended_early() -> Status {
    Status::from_error("the server ended the stream before its last reply".into())
}
