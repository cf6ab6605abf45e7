//! quinn and h3: HTTP/3, with resumption and early data.

mod conn;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Buf;
use driver::clock::monotonic_resolution_ns;
use driver::protocol::{
    CallError, Capability, Clock, ErrorKind, Hello, Protocol, Reconnect, Setup, VERSION,
};
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectError, Endpoint, TransportConfig, VarInt};
use tokio::sync::watch;

use self::conn::{HandshakeState, Requests, connection_error, drive, start_http3};
use crate::call_error::{call_error, check_status};
use crate::exchange::{CODECS, codecs};
use crate::origin::Origin;
use crate::request::HttpRequest;
use crate::stack::{ConnInfo, Stack};
use crate::stack_error::StackError;
use crate::tls::{self, Tls};
use crate::trace::{Phase, Trace};

pub use self::conn::Conn;

/// RFC 9114 section 8.1.
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x0100);

/// quinn and h3, set up for one origin.
pub struct Quinn {
    origin: Origin,
    tls: Tls,
    transport: Arc<TransportConfig>,
}

impl Stack for Quinn {
    type Conn = Conn;
    type Request = HttpRequest;

    fn hello() -> Hello {
        Hello {
            version: VERSION,
            stack: "quinn".into(),
            stack_version: concat!(
                env!("QUINN_PROTO_VERSION"),
                " (quinn-proto), h3 ",
                env!("H3_VERSION")
            )
            .into(),
            tls: tls::VERSION.into(),
            protocols: vec![Protocol::H3],
            capabilities: vec![
                Capability::Mtls,
                Capability::Resume,
                Capability::EarlyData,
                Capability::Parallel,
                Capability::Congestion,
                Capability::Cancel,
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
            codecs: codecs(&CODECS),
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        let transport = Arc::new(transport(setup.congestion.as_deref())?);
        let origin = Origin::parse(&setup.url)?;
        if !origin.tls {
            return Err(StackError::unsupported("plaintext", "QUIC always has TLS"));
        }
        Ok(Self {
            origin,
            tls: Tls::new(setup, b"h3")?,
            transport,
        })
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn shares_connection(&self) -> bool {
        true
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        let mut last = CallError {
            kind: ErrorKind::Dns,
            detail: "no address".into(),
        };
        for address in self.origin.resolve(trace).await? {
            match self.connect_to(address, mode, trace).await {
                Ok(conn) => return Ok(conn),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn call(
        &self,
        conn: &Conn,
        request: &HttpRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let http = conn.http().await?;
        let mut early = *conn.handshake.borrow() == HandshakeState::Pending;
        let mut outcome = {
            let _stream = conn.early_streams.read().await;
            self.exchange(conn, http.requests, request, trace).await
        };
        if http.early && outcome.is_err() && conn.handshake_done().await.rejected_early_data() {
            // The server rejected all early data, and the HTTP/3 state started with it is void.
            early = false;
            let http = conn.http().await?;
            outcome = self.exchange(conn, http.requests, request, trace).await;
        }
        let status = outcome?;
        if early && let HandshakeState::Done { early_data, .. } = conn.handshake_done().await {
            trace.edit(|row| row.early_data = early_data);
        }
        check_status(status)
    }

    fn conn_info(&self, conn: &Conn) -> ConnInfo {
        let state = *conn.handshake.borrow();
        let resumed = matches!(state, HandshakeState::Done { resumed: true, .. });
        ConnInfo {
            local_port: conn.local_port,
            protocol: Protocol::H3,
            resumed,
        }
    }

    fn is_usable(&self, conn: &Conn) -> bool {
        conn.quic.close_reason().is_none()
    }

    async fn close(&self, conn: Conn) {
        conn.quic.close(H3_NO_ERROR, b"");
        // quinn's tasks were woken before this one, so they send the close frame before it goes
        // on. Waiting for the connection to drain would take three probe timeouts (RFC 9000
        // section 10.2).
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }

    fn discard_tickets(&self) {
        self.tls.discard_tickets();
    }
}

impl Quinn {
    async fn connect_to(
        &self,
        address: SocketAddr,
        mode: Reconnect,
        trace: &Trace,
    ) -> Result<Conn, CallError> {
        let endpoint = endpoint(address).map_err(|e| call_error(ErrorKind::Connect, &e))?;
        let local_port = endpoint.local_addr().map_or(0, |address| address.port());
        trace.edit(|row| row.local_port = Some(local_port));
        let early_data = mode == Reconnect::EarlyData;
        let chains = self.tls.chains_verified();
        let connecting = endpoint
            .connect_with(self.config(early_data)?, address, &self.origin.host)
            .map_err(|error| connect_error(&error))?;
        let connecting = if early_data {
            connecting.into_0rtt()
        } else {
            Err(connecting)
        };
        let (report, handshake) = watch::channel(HandshakeState::Pending);
        match connecting {
            Ok((quic, accepted)) => {
                let (driver, http) = start_http3(&quic, true).await?;
                let (connection, trace, tls) = (quic.clone(), trace.clone(), self.tls.clone());
                tokio::spawn(async move {
                    let early_data = accepted.await;
                    if connection.close_reason().is_none() {
                        trace.stamp(Phase::Tls);
                    }
                    let resumed = tls.chains_verified() == chains;
                    report.send_replace(HandshakeState::Done {
                        resumed,
                        early_data,
                    });
                    if early_data {
                        drive(driver).await;
                    }
                });
                Ok(Conn::new(quic, http, handshake, local_port))
            }
            Err(connecting) => {
                let quic = connecting.await.map_err(|error| connection_error(&error))?;
                trace.stamp(Phase::Tls);
                let resumed = self.tls.chains_verified() == chains;
                report.send_replace(HandshakeState::Done {
                    resumed,
                    early_data: false,
                });
                let (driver, http) = start_http3(&quic, false).await?;
                tokio::spawn(drive(driver));
                Ok(Conn::new(quic, http, handshake, local_port))
            }
        }
    }

    fn config(&self, early_data: bool) -> Result<ClientConfig, CallError> {
        let crypto = QuicClientConfig::try_from(self.tls.config(early_data))
            .map_err(|error| call_error(ErrorKind::Tls, &error))?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::clone(&self.transport));
        Ok(config)
    }

    /// Sends one request, receives its response and returns the status.
    async fn exchange(
        &self,
        conn: &Conn,
        mut requests: Requests,
        request: &HttpRequest,
        trace: &Trace,
    ) -> Result<http::StatusCode, CallError> {
        let exchange = async {
            trace.edit(|row| (row.attempts, row.request_bytes) = (row.attempts + 1, 0));
            let mut stream = requests.send_request(request.head(&self.origin)).await?;
            for chunk in request.body(trace) {
                stream.send_data(chunk).await?;
            }
            stream.finish().await?;
            trace.stamp(Phase::RequestSent);
            let mut response = stream.recv_response().await?;
            // h3 hands interim responses to its caller.
            while response.status().is_informational() {
                response = stream.recv_response().await?;
            }
            trace.stamp(Phase::FirstByte);
            trace.edit(|row| row.status = Some(response.status().as_u16()));
            while let Some(mut chunk) = stream.recv_data().await? {
                trace.receive(chunk.copy_to_bytes(chunk.remaining()));
            }
            Ok(response)
        };
        let response = exchange.await.map_err(|error| conn.stream_error(&error))?;
        check_length(response.headers(), trace)?;
        Ok(response.status())
    }
}

/// Checks that the body has the length that the head gives, which h3 leaves to its caller
/// (RFC 9114 section 4.1.2).
fn check_length(headers: &http::HeaderMap, trace: &Trace) -> Result<(), CallError> {
    let expected = headers.get(http::header::CONTENT_LENGTH);
    let expected: Option<u64> = expected.and_then(|length| length.to_str().ok()?.parse().ok());
    let mut received = 0;
    trace.edit(|row| received = row.response_bytes);
    match expected {
        Some(expected) if expected != received => Err(CallError {
            kind: ErrorKind::Protocol,
            detail: format!("{received} bytes of body instead of {expected}"),
        }),
        _ => Ok(()),
    }
}

/// Opens a socket for one connection, so that each connection has a port of its own.
fn endpoint(address: SocketAddr) -> io::Result<Endpoint> {
    Endpoint::client(match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    })
}

fn transport(congestion: Option<&str>) -> Result<TransportConfig, StackError> {
    let mut transport = TransportConfig::default();
    match congestion {
        None => {}
        Some("cubic") => {
            transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
        }
        Some("reno") => {
            transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
        }
        Some("bbr") => {
            transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
        }
        Some(other) => {
            let reason = "quinn has cubic, reno and bbr";
            return Err(StackError::unsupported(
                format!("congestion {other}"),
                reason,
            ));
        }
    }
    Ok(transport)
}

fn connect_error(error: &ConnectError) -> CallError {
    call_error(ErrorKind::Connect, error)
}

fn phases() -> BTreeMap<String, String> {
    [
        ("dns", "getaddrinfo returned"),
        ("tls", "QUIC handshake complete"),
        (
            "request_sent",
            "end of request accepted by quinn's send buffer",
        ),
        ("signed", "digest and signature computed"),
        ("first_byte", "response head delivered"),
        ("end", "end of body delivered"),
    ]
    .map(|(phase, source)| (phase.into(), source.into()))
    .into()
}

/// Returns the library's defaults.
fn settings() -> BTreeMap<String, String> {
    [
        ("quic windows", "unbounded connection, 1.25 MB stream"),
        ("retries", "none"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}
