//! tonic: gRPC over HTTP/2, unary calls and streams, on its own channel.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
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

use crate::dial::{Dialer, resumed};
use crate::exchange::{self, codecs};
use crate::failure::{failure, in_call};
use crate::request::{CHUNK_BYTES, file};
use crate::sent::{Flushed, Sent};
use crate::stack::{Facts, Refused, Stack};
use crate::trace::{Phase, Trace};
use crate::{clock, tls};

/// tonic, for one origin.
pub struct Tonic {
    dialer: Dialer,
    endpoint: Endpoint,
}

/// A channel over one connection that is never replaced behind our back.
pub struct Conn {
    channel: Channel,
    sent: Sent,
    facts: Facts,
}

/// A step as gRPC.
pub struct GrpcRequest {
    id: u32,
    kind: Kind,
}

enum Kind {
    Echo(EchoRequest),
    Download(DownloadRequest),
    Upload(Bytes),
    Chat {
        message: EchoRequest,
        messages: u32,
    },
    Exchange {
        method: PathAndQuery,
        message: Bytes,
    },
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
            resolution_ns: clock::resolution_ns(),
            phases: phases(),
            settings: settings(),
            codecs: codecs(&["protobuf"]),
        }
    }

    fn new(setup: &Setup) -> Result<Self, Refused> {
        let endpoint = Endpoint::from_shared(setup.url.clone())
            .map_err(|error| Refused::Failed(format!("{:?}: {error}", setup.url)))?;
        Ok(Self {
            dialer: Dialer::new(setup, b"h2")?,
            endpoint,
        })
    }

    fn shares_connection(&self) -> bool {
        true
    }

    fn prepare(&self, id: u32, action: &Action) -> Result<GrpcRequest, Refused> {
        let message = |body: &str| {
            let echo = Echo::from_json(body.as_bytes());
            echo.map(EchoRequest::from)
                .map_err(|error| Refused::Failed(error.to_string()))
        };
        let kind = match action {
            Action::Call { body } => Kind::Echo(message(body)?),
            Action::Get { bytes } => Kind::Download(DownloadRequest { bytes: *bytes }),
            Action::Put { bytes } => Kind::Upload(file(*bytes)?),
            Action::Stream { messages: 0, .. } => {
                return Err(Refused::Failed(format!(
                    "step {id} is a stream of no messages"
                )));
            }
            Action::Stream { body, messages } => Kind::Chat {
                message: message(body)?,
                messages: *messages,
            },
            Action::Exchange { kind, .. } => {
                let method = format!("{}/{}", wire::EXCHANGE, exchange::kind(kind)?.name());
                let method = PathAndQuery::try_from(method);
                Kind::Exchange {
                    method: method.expect("every kind's name is valid in a path"),
                    message: Bytes::new(),
                }
            }
            Action::Pause { .. } | Action::Reconnect { .. } => {
                return Err(Refused::Failed(format!(
                    "step {} is no call",
                    action.name()
                )));
            }
        };
        Ok(GrpcRequest { id, kind })
    }

    fn carrying(&self, request: &GrpcRequest, _: wire::Codec, message: Bytes) -> GrpcRequest {
        let kind = match &request.kind {
            Kind::Exchange { method, .. } => Kind::Exchange {
                method: method.clone(),
                message,
            },
            _ => unreachable!("the engine asks it of exchanges only"),
        };
        GrpcRequest {
            id: request.id,
            kind,
        }
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        let stream = self.dialer.dial(mode, trace).await?;
        let facts = Facts {
            local_port: stream
                .get_ref()
                .0
                .local_addr()
                .map_or(0, |address| address.port()),
            protocol: Protocol::Grpc,
            resumed: resumed(&stream),
        };
        let (stream, sent) = Flushed::new(stream);
        // Taken by the channel's first and only connection.
        let mut stream = Some(TokioIo::new(stream));
        let connector = tower::service_fn(move |_| {
            let stream = stream
                .take()
                .ok_or_else(|| std::io::Error::other("connection is over"));
            async { stream }
        });
        let channel = self.endpoint.connect_with_connector(connector).await;
        Ok(Conn {
            channel: channel.map_err(|error| in_call(&error))?,
            sent,
            facts,
        })
    }

    async fn call(
        &self,
        conn: &Conn,
        request: &GrpcRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let watched = Watched {
            channel: conn.channel.clone(),
            sent: conn.sent.clone(),
            trace: trace.clone(),
        };
        let origin = self.endpoint.uri().clone();
        let client = BenchClient::with_origin(watched.clone(), origin.clone());
        let outcome = match &request.kind {
            Kind::Echo(message) => echo(client, request.id, message, trace).await,
            Kind::Download(range) => download(client, request.id, range, trace).await,
            Kind::Upload(file) => upload(client, request.id, file, trace).await,
            Kind::Chat { message, messages } => {
                chat(client, request.id, message, *messages, trace).await
            }
            Kind::Exchange { method, message } => {
                let grpc = Grpc::with_origin(watched, origin);
                unary(grpc, request.id, method, message, trace).await
            }
        };
        match outcome {
            Ok(()) => trace.edit(|row| row.status = Some(Code::Ok as u16)),
            Err(status) => return Err(explain(&status, trace)),
        }
        Ok(())
    }

    fn facts(&self, conn: &Conn) -> Facts {
        conn.facts
    }

    fn usable(&self, conn: &Conn) -> bool {
        !conn.sent.is_closed()
    }

    async fn close(&self, conn: Conn) {
        drop(conn.channel);
        conn.sent.closed().await;
    }

    fn forget(&self) {
        self.dialer.forget();
    }
}

type Client = BenchClient<Watched>;

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
    let (mut left, counted) = (file.clone(), trace.clone());
    let chunks = std::iter::from_fn(move || {
        let length = left.len().min(CHUNK_BYTES);
        count_sent(&counted, length);
        (length > 0).then(|| Chunk {
            data: left.split_to(length),
        })
    });
    let reply = client
        .upload(with_id(id, tokio_stream::iter(chunks)))
        .await?;
    trace.receive(reply.into_inner().encode_to_vec().into());
    Ok(())
}

/// One message in flight: the next goes when the last has been answered.
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
        // When the stream is over, the next read says why.
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

/// The engine has encoded the message and will decode the answer, so that it knows when.
async fn unary(
    mut grpc: Grpc<Watched>,
    id: u32,
    method: &PathAndQuery,
    message: &Bytes,
    trace: &Trace,
) -> Result<(), Status> {
    grpc.ready()
        .await
        .map_err(|e| Status::from_error(e.into()))?;
    count_sent(trace, message.len());
    let request = with_id(id, message.clone());
    let answer = grpc.unary(request, method.clone(), PassThrough).await?;
    trace.receive(answer.into_inner());
    Ok(())
}

/// The channel, for one call.
#[derive(Clone)]
struct Watched {
    channel: Channel,
    sent: Sent,
    trace: Trace,
}

impl Service<http::Request<Body>> for Watched {
    type Response = http::Response<Body>;
    type Error = tonic::transport::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.trace.edit(|row| row.attempts += 1);
        let request = request.map(|body| Body::new(self.sent.wrap(body, &self.trace)));
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

/// What counts is content, not gRPC's framing: as in the server's log.
fn count_sent(trace: &Trace, bytes: usize) {
    trace.edit(|row| row.request_bytes += bytes as u64);
}

fn explain(status: &Status, trace: &Trace) -> CallError {
    match status.source() {
        Some(source) => in_call(source),
        None => {
            // No cause on our side: the server said so.
            trace.edit(|row| row.status = Some(status.code() as u16));
            failure(ErrorKind::Status, status)
        }
    }
}

fn ended_early() -> Status {
    Status::from_error("the server ended the stream before it had answered".into())
}

fn phases() -> BTreeMap<String, String> {
    [
        ("dns", "getaddrinfo returned"),
        ("connect", "TCP connect returned"),
        ("tls", "rustls handshake done"),
        ("request_sent", "last bytes flushed into the socket"),
        ("first_byte", "response head handed up"),
        ("end", "status handed up"),
    ]
    .map(|(phase, source)| (phase.into(), source.into()))
    .into()
}

/// As the library ships them.
fn settings() -> BTreeMap<String, String> {
    [
        ("h2 windows", "5 MiB connection, 2 MiB stream"),
        ("tcp_nodelay", "on"),
        ("retries", "none"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}
