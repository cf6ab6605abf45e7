//! tonic: gRPC over HTTP/2, unary calls and streams, over tonic's own channel.

mod calls;
mod request;

use std::collections::BTreeMap;

use driver::clock::monotonic_resolution_ns;
use driver::protocol::{CallError, Capability, Clock, Hello, Protocol, Reconnect, Setup, VERSION};
use hyper_util::rt::TokioIo;
use messages::v1::bench_client::BenchClient;
use tonic::Code;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};

use self::calls::{TracedChannel, chat, download, echo, status_error, submit, unary, upload};
use self::request::Method;
use crate::call_error::transport_error;
use crate::dial::{Dialer, conn_info};
use crate::exchange::codecs;
use crate::origin::Origin;
use crate::send_tracker::{SendTracker, TrackedStream};
use crate::stack::{ConnInfo, Stack};
use crate::stack_error::StackError;
use crate::tls;
use crate::trace::Trace;

pub use self::request::GrpcRequest;

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
                Capability::Coding,
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

    fn origin(&self) -> &Origin {
        self.dialer.origin()
    }

    fn shares_connection(&self) -> bool {
        true
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

/// Returns the library's defaults.
fn settings() -> BTreeMap<String, String> {
    [
        ("h2 windows", "5 MiB connection, 2 MiB stream"),
        ("tcp_nodelay", "on"),
        ("retries", "none"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}
