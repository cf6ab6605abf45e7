//! tonic: gRPC over HTTP/2, unary calls and streams, over tonic's own channel.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use driver::clock::monotonic_resolution_ns;
use driver::protocol::{
    Action, CallError, Capability, Clock, ErrorKind, Hello, Protocol, Reconnect, Setup, VERSION,
};
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tower::Service;
use wire::v1::bench_client::BenchClient;
use wire::v1::{Chunk, DownloadRequest, EchoReply, EchoRequest};
use wire::{Echo, PassThrough};

use crate::call_error::{call_error, transport_error};
use crate::dial::{Dialer, is_resumed};
use crate::exchange::{codecs, find_kind};
use crate::request::{CHUNK_BYTES, upload_body};
use crate::send_tracker::{SendTracker, TrackedStream};
use crate::stack::{ConnInfo, Stack, StackError};
use crate::tls;
use crate::trace::{Phase, Trace};

/// tonic, set up for one origin.
pub struct Tonic {
    dialer: Dialer,
    endpoint: Endpoint,
}

/// A channel over one connection, which the channel cannot replace.
pub struct Conn {
    channel: Channel,
    tracker: SendTracker,
    info: ConnInfo,
}

/// The gRPC request of a step.
pub struct GrpcRequest {
    id: u32,
    method: Method,
}

enum Method {
    Echo(EchoRequest),
    Download(DownloadRequest),
    Upload(Bytes),
    Chat { message: EchoRequest, messages: u32 },
    Exchange { path: PathAndQuery, message: Bytes },
}

impl Stack for Tonic {
    type Conn = Conn;
    type Request = GrpcRequest;

    fn hello() -> Hello {
        Hello {
            version: VERSION,
            stack: "tonic".into(),
            stack_version: concat!(env!("TONIC_VERSION"), ", hyper ", env!("HYPER_VERSION")).into(),
            tls: tls::VERSION.into(),
            protocols: vec![Protocol::Grpc],
            capabilities: vec![
                Capability::Mtls,
                Capability::Resume,
                Capability::Stream,
                Capability::Parallel,
                Capability::Protobuf,
                Capability::Congestion,
                Capability::Cancel,
            ],
            clock: Clock::Monotonic,
            resolution_ns: monotonic_resolution_ns(),
            phases: phases(),
            settings: settings(),
            codecs: codecs(&["protobuf"]),
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        let endpoint = Endpoint::from_shared(setup.url.clone())
            .map_err(|error| StackError::Failed(format!("{:?}: {error}", setup.url)))?;
        Ok(Self {
            dialer: Dialer::new(setup, b"h2")?,
            endpoint,
        })
    }

    fn shares_connection(&self) -> bool {
        true
    }

    fn prepare(&self, id: u32, action: &Action) -> Result<GrpcRequest, StackError> {
        let message = |body: &str| {
            let echo = Echo::from_json(body.as_bytes());
            echo.map(EchoRequest::from)
                .map_err(|error| StackError::Failed(error.to_string()))
        };
        let method = match action {
            Action::Call { body } => Method::Echo(message(body)?),
            Action::Get { bytes } => Method::Download(DownloadRequest { bytes: *bytes }),
            Action::Put { bytes } => Method::Upload(upload_body(*bytes)?),
            Action::Stream { messages: 0, .. } => {
                return Err(StackError::Failed(format!(
                    "step {id} is a stream without messages"
                )));
            }
            Action::Stream { body, messages } => Method::Chat {
                message: message(body)?,
                messages: *messages,
            },
            Action::Exchange { kind, .. } => {
                let path = format!("{}/{}", wire::EXCHANGE, find_kind(kind)?.name());
                let path = PathAndQuery::try_from(path);
                Method::Exchange {
                    path: path.expect("every kind's name is valid in a path"),
                    message: Bytes::new(),
                }
            }
            Action::Submit { .. } => {
                return Err(StackError::unsupported("step submit", "not yet offered"));
            }
            Action::Pause { .. } | Action::Reconnect { .. } => {
                return Err(StackError::Failed(format!(
                    "step {} is not a call",
                    action.name()
                )));
            }
        };
        Ok(GrpcRequest { id, method })
    }

    fn with_message(&self, request: &GrpcRequest, _: wire::Codec, message: Bytes) -> GrpcRequest {
        let method = match &request.method {
            Method::Exchange { path, .. } => Method::Exchange {
                path: path.clone(),
                message,
            },
            _ => unreachable!("the engine calls it for exchanges only"),
        };
        GrpcRequest {
            id: request.id,
            method,
        }
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        let stream = self.dialer.dial(mode, trace).await?;
        let info = ConnInfo {
            local_port: stream
                .get_ref()
                .0
                .local_addr()
                .map_or(0, |address| address.port()),
            protocol: Protocol::Grpc,
            resumed: is_resumed(&stream),
        };
        let (stream, tracker) = TrackedStream::new(stream);
        // The channel takes it for its first connection and cannot open another.
        let mut stream = Some(TokioIo::new(stream));
        let connector = tower::service_fn(move |_| {
            let stream = stream
                .take()
                .ok_or_else(|| std::io::Error::other("the connection has ended"));
            async { stream }
        });
        let channel = self.endpoint.connect_with_connector(connector).await;
        Ok(Conn {
            channel: channel.map_err(|error| transport_error(&error))?,
            tracker,
            info,
        })
    }

    async fn call(
        &self,
        conn: &Conn,
        request: &GrpcRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let traced = TracedChannel {
            channel: conn.channel.clone(),
            tracker: conn.tracker.clone(),
            trace: trace.clone(),
        };
        let origin = self.endpoint.uri().clone();
        let client = BenchClient::with_origin(traced.clone(), origin.clone());
        let outcome = match &request.method {
            Method::Echo(message) => echo(client, request.id, message, trace).await,
            Method::Download(range) => download(client, request.id, range, trace).await,
            Method::Upload(file) => upload(client, request.id, file, trace).await,
            Method::Chat { message, messages } => {
                chat(client, request.id, message, *messages, trace).await
            }
            Method::Exchange { path, message } => {
                let grpc = Grpc::with_origin(traced, origin);
                exchange(grpc, request.id, path, message, trace).await
            }
        };
        match outcome {
            Ok(()) => trace.edit(|row| row.status = Some(Code::Ok as u16)),
            Err(status) => return Err(status_error(&status, trace)),
        }
        Ok(())
    }

    fn conn_info(&self, conn: &Conn) -> ConnInfo {
        conn.info
    }

    fn is_usable(&self, conn: &Conn) -> bool {
        !conn.tracker.is_closed()
    }

    async fn close(&self, conn: Conn) {
        drop(conn.channel);
        conn.tracker.wait_closed().await;
    }

    fn discard_tickets(&self) {
        self.dialer.discard_tickets();
    }
}

type Client = BenchClient<TracedChannel>;

async fn echo(
    mut client: Client,
    id: u32,
    message: &EchoRequest,
    trace: &Trace,
) -> Result<(), Status> {
    count_sent(trace, message.encoded_len());
    let reply = client.echo(with_id(id, message.clone())).await?;
    trace.receive(reply.into_inner().encode_to_vec().into());
    Ok(())
}

async fn download(
    mut client: Client,
    id: u32,
    range: &DownloadRequest,
    trace: &Trace,
) -> Result<(), Status> {
    count_sent(trace, range.encoded_len());
    let mut chunks = client.download(with_id(id, *range)).await?.into_inner();
    while let Some(chunk) = chunks.message().await? {
        trace.receive(chunk.data);
    }
    Ok(())
}

async fn upload(mut client: Client, id: u32, file: &Bytes, trace: &Trace) -> Result<(), Status> {
    let (mut remaining, counted) = (file.clone(), trace.clone());
    let chunks = std::iter::from_fn(move || {
        let length = remaining.len().min(CHUNK_BYTES);
        count_sent(&counted, length);
        (length > 0).then(|| Chunk {
            data: remaining.split_to(length),
            ..Chunk::default()
        })
    });
    let reply = client
        .upload(with_id(id, tokio_stream::iter(chunks)))
        .await?;
    trace.receive(reply.into_inner().encode_to_vec().into());
    Ok(())
}

/// Keeps one message in flight: each is sent when the last has been answered.
async fn chat(
    mut client: Client,
    id: u32,
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
        .chat(with_id(id, ReceiverStream::new(outgoing)))
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
async fn exchange(
    mut grpc: Grpc<TracedChannel>,
    id: u32,
    path: &PathAndQuery,
    message: &Bytes,
    trace: &Trace,
) -> Result<(), Status> {
    grpc.ready()
        .await
        .map_err(|e| Status::from_error(e.into()))?;
    count_sent(trace, message.len());
    let request = with_id(id, message.clone());
    let response = grpc.unary(request, path.clone(), PassThrough).await?;
    trace.receive(response.into_inner());
    Ok(())
}

/// The channel as one call uses it: records the call's times.
#[derive(Clone)]
struct TracedChannel {
    channel: Channel,
    tracker: SendTracker,
    trace: Trace,
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

fn with_id<T>(id: u32, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request
        .metadata_mut()
        .insert("x-commute-id", MetadataValue::from(id));
    request
}

/// Counts content without gRPC's framing, as the server's log does.
fn count_sent(trace: &Trace, bytes: usize) {
    trace.edit(|row| row.request_bytes += bytes as u64);
}

fn status_error(status: &Status, trace: &Trace) -> CallError {
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

fn phases() -> BTreeMap<String, String> {
    [
        ("dns", "getaddrinfo returned"),
        ("connect", "TCP connect returned"),
        ("tls", "rustls handshake complete"),
        ("request_sent", "last bytes written to the socket"),
        ("first_byte", "response head delivered"),
        ("end", "status delivered"),
    ]
    .map(|(phase, source)| (phase.into(), source.into()))
    .into()
}

/// The library's defaults.
fn settings() -> BTreeMap<String, String> {
    [
        ("h2 windows", "5 MiB connection, 2 MiB stream"),
        ("tcp_nodelay", "on"),
        ("retries", "none"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}
