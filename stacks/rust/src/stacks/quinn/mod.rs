//! quinn and h3: HTTP/3, with resumption and early data.

mod conn;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use driver::protocol::{
    Action, CallError, Capability, Clock, ErrorKind, Hello, Protocol, Reconnect, Setup, VERSION,
};
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectError, Endpoint, TransportConfig, VarInt};
use tokio::sync::watch;

use self::conn::{Requests, State, begin, broken, drive};
use crate::clock;
use crate::dial::Origin;
use crate::exchange::{CODECS, codecs};
use crate::failure::{by_status, failure};
use crate::request::HttpRequest;
use crate::stack::{Facts, Refused, Stack};
use crate::tls::{self, Tls};
use crate::trace::{Phase, Trace};

pub use self::conn::Conn;

/// quinn with h3, for one origin.
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
            ],
            clock: Clock::Monotonic,
            resolution_ns: clock::resolution_ns(),
            phases: phases(),
            settings: settings(),
            codecs: codecs(&CODECS),
        }
    }

    fn new(setup: &Setup) -> Result<Self, Refused> {
        let transport = Arc::new(transport(setup.congestion.as_deref())?);
        Ok(Self {
            origin: Origin::parse(&setup.url)?,
            tls: Tls::new(setup, b"h3")?,
            transport,
        })
    }

    fn shares_connection(&self) -> bool {
        true
    }

    fn prepare(&self, id: u32, action: &Action) -> Result<HttpRequest, Refused> {
        HttpRequest::new(id, action)
    }

    fn carrying(&self, request: &HttpRequest, codec: wire::Codec, message: Bytes) -> HttpRequest {
        request.carrying(codec, message)
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
        let mut early = *conn.handshake.borrow() == State::Under;
        let mut outcome = {
            let _stream = conn.early_streams.read().await;
            self.exchange(conn, http.requests, request, trace).await
        };
        if http.early && outcome.is_err() && conn.handshake_done().await.refused_early_data() {
            // The server took none of it, and what was begun with it is void.
            early = false;
            let http = conn.http().await?;
            outcome = self.exchange(conn, http.requests, request, trace).await;
        }
        let status = outcome?;
        if early && let State::Done { early_data, .. } = conn.handshake_done().await {
            trace.edit(|row| row.early_data = early_data);
        }
        by_status(status)
    }

    fn facts(&self, conn: &Conn) -> Facts {
        let state = *conn.handshake.borrow();
        let resumed = matches!(state, State::Done { resumed: true, .. });
        Facts {
            local_port: conn.local_port,
            protocol: Protocol::H3,
            resumed,
        }
    }

    fn usable(&self, conn: &Conn) -> bool {
        conn.quic.close_reason().is_none()
    }

    async fn close(&self, conn: Conn) {
        conn.quic.close(H3_NO_ERROR, b"");
        // quinn's tasks were woken before this one and so send the farewell before it
        // goes on; to wait for the end of draining would take three time-outs more.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }

    fn forget(&self) {
        self.tls.forget();
    }
}

impl Quinn {
    async fn connect_to(
        &self,
        address: SocketAddr,
        mode: Reconnect,
        trace: &Trace,
    ) -> Result<Conn, CallError> {
        let endpoint = endpoint(address).map_err(|e| failure(ErrorKind::Connect, &e))?;
        let local_port = endpoint.local_addr().map_or(0, |address| address.port());
        trace.edit(|row| row.local_port = Some(local_port));
        let early_data = mode == Reconnect::EarlyData;
        let chains = self.tls.chains_verified();
        let connecting = endpoint
            .connect_with(self.config(early_data)?, address, &self.origin.host)
            .map_err(|error| refused_to_connect(&error))?;
        let connecting = if early_data {
            connecting.into_0rtt()
        } else {
            Err(connecting)
        };
        let (report, handshake) = watch::channel(State::Under);
        match connecting {
            Ok((quic, accepted)) => {
                let (driver, http) = begin(&quic, true).await?;
                let (watched, trace, tls) = (quic.clone(), trace.clone(), self.tls.clone());
                tokio::spawn(async move {
                    let early_data = accepted.await;
                    if watched.close_reason().is_none() {
                        trace.stamp(Phase::Tls);
                    }
                    let resumed = tls.chains_verified() == chains;
                    report.send_replace(State::Done {
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
                let quic = connecting.await.map_err(|error| broken(&error))?;
                trace.stamp(Phase::Tls);
                let resumed = self.tls.chains_verified() == chains;
                report.send_replace(State::Done {
                    resumed,
                    early_data: false,
                });
                let (driver, http) = begin(&quic, false).await?;
                tokio::spawn(drive(driver));
                Ok(Conn::new(quic, http, handshake, local_port))
            }
        }
    }

    fn config(&self, early_data: bool) -> Result<ClientConfig, CallError> {
        let crypto = QuicClientConfig::try_from(self.tls.config(early_data))
            .map_err(|error| failure(ErrorKind::Tls, &error))?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::clone(&self.transport));
        Ok(config)
    }

    /// One request and its response; the status.
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
            let response = stream.recv_response().await?;
            trace.stamp(Phase::FirstByte);
            trace.edit(|row| row.status = Some(response.status().as_u16()));
            while let Some(mut chunk) = stream.recv_data().await? {
                trace.receive(chunk.copy_to_bytes(chunk.remaining()));
            }
            Ok(response)
        };
        let response = exchange.await.map_err(|error| conn.failure(&error))?;
        whole(response.headers(), trace)?;
        Ok(response.status())
    }
}

/// h3 leaves it to its caller to see that a body has the length its head promised
/// (RFC 9114 section 4.1.2).
fn whole(headers: &http::HeaderMap, trace: &Trace) -> Result<(), CallError> {
    let promised = headers.get(http::header::CONTENT_LENGTH);
    let promised: Option<u64> = promised.and_then(|length| length.to_str().ok()?.parse().ok());
    let mut got = 0;
    trace.edit(|row| got = row.response_bytes);
    match promised {
        Some(promised) if promised != got => Err(CallError {
            kind: ErrorKind::Protocol,
            detail: format!("{got} bytes of body, {promised} promised"),
        }),
        _ => Ok(()),
    }
}

/// A socket of its own for each connection, so that ports tell connections apart.
fn endpoint(address: SocketAddr) -> io::Result<Endpoint> {
    Endpoint::client(match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    })
}

fn transport(congestion: Option<&str>) -> Result<TransportConfig, Refused> {
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
            return Err(Refused::unsupported(format!("congestion {other}"), reason));
        }
    }
    Ok(transport)
}

fn refused_to_connect(error: &ConnectError) -> CallError {
    failure(ErrorKind::Connect, error)
}

fn phases() -> BTreeMap<String, String> {
    [
        ("dns", "getaddrinfo returned"),
        ("tls", "QUIC handshake done"),
        (
            "request_sent",
            "end of request taken by quinn's send buffer",
        ),
        ("first_byte", "response head handed up"),
        ("end", "end of body handed up"),
    ]
    .map(|(phase, source)| (phase.into(), source.into()))
    .into()
}

/// As the library ships them.
fn settings() -> BTreeMap<String, String> {
    [
        ("quic windows", "unbounded connection, 1.25 MB stream"),
        ("retries", "none"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}

/// RFC 9114 section 8.1.
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x0100);
