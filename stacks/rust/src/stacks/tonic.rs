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
use sign::Chunks;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tower::Service;
use wire::v1::bench_client::BenchClient;
use wire::v1::{Chunk, DownloadRequest, EchoReply, EchoRequest};
use wire::{Echo, PassThrough};

use crate::auth::{Auth, Proof};
use crate::body::{CHUNK_BYTES, Content};
use crate::call_error::{call_error, transport_error};
use crate::dial::{Dialer, conn_info};
use crate::exchange::{codecs, find_kind};
use crate::send_tracker::{SendTracker, TrackedStream};
use crate::stack::{ConnInfo, Stack, StackError};
use crate::tls;
use crate::trace::{Phase, Trace};

const SUBMIT_STREAM: &str = "/commute.bench.v1.Submit/DiagStream";

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
#[derive(Clone)]
pub struct GrpcRequest {
    id: u32,
    method: Method,
    proof: Option<Proof>,
}

#[derive(Clone)]
enum Method {
    Echo(EchoRequest),
    Download(DownloadRequest),
    Upload(Content),
    Chat {
        message: EchoRequest,
        messages: u32,
    },
    /// An exchange, or a submission of one message.
    Unary {
        path: PathAndQuery,
        message: Bytes,
    },
    Submit(Vec<Bytes>),
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
                Capability::Plaintext,
                Capability::Jwt,
                Capability::Hmac,
                Capability::Submit,
                Capability::Until,
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
            Action::Put { bytes } => Method::Upload(Content::upload(*bytes)),
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
                Method::Unary {
                    path: path.expect("every kind's name is valid in a path"),
                    message: Bytes::new(),
                }
            }
            Action::Submit {
                chunk_bytes: Some(_),
                ..
            } => Method::Submit(Vec::new()),
            Action::Submit { kind, .. } => {
                let path = format!("{}/{}", wire::SUBMIT, find_kind(kind)?.name());
                let path = PathAndQuery::try_from(path);
                Method::Unary {
                    path: path.expect("every kind's name is valid in a path"),
                    message: Bytes::new(),
                }
            }
            Action::Pause { .. } | Action::Reconnect { .. } => {
                return Err(StackError::Failed(format!(
                    "step {} is not a call",
                    action.name()
                )));
            }
        };
        Ok(GrpcRequest {
            id,
            method,
            proof: None,
        })
    }

    fn with_messages(
        &self,
        request: &GrpcRequest,
        _: wire::Codec,
        messages: Vec<Bytes>,
    ) -> GrpcRequest {
        let method = match &request.method {
            Method::Unary { path, .. } => Method::Unary {
                path: path.clone(),
                message: messages.into_iter().next().unwrap_or_default(),
            },
            Method::Submit(_) => Method::Submit(messages),
            _ => unreachable!("the engine calls it for exchanges and submissions only"),
        };
        GrpcRequest {
            method,
            ..request.clone()
        }
    }

    fn with_proof(&self, request: &GrpcRequest, auth: &Auth) -> GrpcRequest {
        let whole = |message: Vec<u8>| Some(Content::Bytes(message.into()));
        let (path, content) = match &request.method {
            Method::Echo(message) => ("/commute.v1.Bench/Echo", whole(message.encode_to_vec())),
            Method::Download(range) => ("/commute.v1.Bench/Download", whole(range.encode_to_vec())),
            Method::Upload(_) => ("/commute.v1.Bench/Upload", None),
            Method::Chat { .. } => ("/commute.v1.Bench/Chat", None),
            Method::Unary { path, message } => {
                (path.as_str(), Some(Content::Bytes(message.clone())))
            }
            Method::Submit(_) => (SUBMIT_STREAM, None),
        };
        let origin = self.dialer.origin();
        GrpcRequest {
            proof: Some(auth.prove("POST", origin, path, content.as_ref())),
            ..request.clone()
        }
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        let stream = self.dialer.dial(mode, trace).await?;
        let info = conn_info(&stream, Protocol::Grpc);
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
        let grpc = Grpc::with_origin(traced, origin);
        let outcome = match &request.method {
            Method::Echo(message) => echo(client, request, message, trace).await,
            Method::Download(range) => download(client, request, range, trace).await,
            Method::Upload(file) => upload(client, request, file, trace).await,
            Method::Chat { message, messages } => {
                chat(client, request, message, *messages, trace).await
            }
            Method::Unary { path, message } => unary(grpc, request, path, message, trace).await,
            Method::Submit(parts) => submit(grpc, request, parts, trace).await,
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
    request: &GrpcRequest,
    message: &EchoRequest,
    trace: &Trace,
) -> Result<(), Status> {
    count_sent(trace, message.encoded_len());
    let reply = client.echo(request.wrap(message.clone())).await?;
    trace.receive(reply.into_inner().encode_to_vec().into());
    Ok(())
}

async fn download(
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

async fn upload(
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
async fn chat(
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
async fn unary(
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
async fn submit(
    mut grpc: Grpc<TracedChannel>,
    request: &GrpcRequest,
    parts: &[Bytes],
    trace: &Trace,
) -> Result<(), Status> {
    ready(&mut grpc).await?;
    let (mut codes, counted) = (request.codes(), trace.clone());
    let mut parts = parts.to_vec().into_iter();
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

impl GrpcRequest {
    /// Returns content with the metadata of this request.
    fn wrap<T>(&self, content: T) -> Request<T> {
        let mut request = Request::new(content);
        if let Some(proof) = &self.proof {
            *request.metadata_mut() = MetadataMap::from_headers(proof.headers.clone());
        }
        request
            .metadata_mut()
            .insert("x-commute-id", MetadataValue::from(self.id));
        request
    }

    /// Returns what makes the codes of its chunks, if they are signed.
    fn codes(&self) -> Option<Chunks> {
        let (key, head) = self.proof.as_ref()?.chunks.as_ref()?;
        Some(Chunks::new(key, *head))
    }
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
        ("signed", "digest and signature computed"),
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
