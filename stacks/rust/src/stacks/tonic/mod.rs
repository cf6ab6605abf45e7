//! tonic: gRPC over HTTP/2, unary calls and streams, over tonic's own channel.

mod calls;

use std::collections::BTreeMap;

use bytes::Bytes;
use driver::clock::monotonic_resolution_ns;
use driver::protocol::{
    Action, CallError, Capability, Clock, Hello, Protocol, Reconnect, Setup, VERSION,
};
use http::HeaderMap;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use prost::Message;
use tonic::Code;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use wire::Echo;
use wire::v1::bench_client::BenchClient;
use wire::v1::{DownloadRequest, EchoRequest};

use self::calls::{TracedChannel, chat, download, echo, status_error, submit, unary, upload};
use crate::auth::{Auth, Proof};
use crate::body::Content;
use crate::call_error::transport_error;
use crate::dial::{Dialer, conn_info};
use crate::exchange::{codecs, find_kind};
use crate::request::header_map;
use crate::send_tracker::{SendTracker, TrackedStream};
use crate::stack::{ConnInfo, Stack, StackError};
use crate::tls;
use crate::trace::Trace;

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
    /// Those of its step.
    headers: HeaderMap,
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
    /// An exchange, a submission of one message, or a request of the study's own.
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
                Capability::Origins,
                Capability::Fetch,
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

    fn prepare(&self, id: u32, action: &Action, payload: Bytes) -> Result<GrpcRequest, StackError> {
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
            Action::Fetch { path, .. } => {
                let parsed = PathAndQuery::try_from(path.as_str());
                let invalid = |error| StackError::Failed(format!("{path:?}: {error}"));
                Method::Unary {
                    path: parsed.map_err(invalid)?,
                    message: payload,
                }
            }
            Action::Pause { .. } | Action::Reconnect { .. } => {
                return Err(StackError::Failed(format!(
                    "step {} is not a call",
                    action.name()
                )));
            }
        };
        let headers = match action {
            Action::Fetch { headers, .. } => header_map(headers)?,
            _ => HeaderMap::new(),
        };
        Ok(GrpcRequest {
            id,
            method,
            headers,
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
            Method::Submit(parts) => submit(grpc, request, parts.clone(), trace).await,
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
