//! A driver that sends malformed requests, for the test of the conformance suite: hyper's or quinn's, which sends raw
//! bytes on a connection of its own before each call.
//!
//! The first argument names the bytes, as `h1:two-hosts`. With `and-dies` as the second, the driver dies after the bytes;
//! with `and-lies`, it reports calls that it does not make.

use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Hello, Protocol, Reconnect, Setup};
use engine::origin::Origin;
use engine::serve::serve;
use engine::stack::{ConnInfo, Stack};
use engine::stack_error::StackError;
use engine::stacks::hyper::Hyper;
use engine::stacks::quinn::Quinn;
use engine::tls::Tls;
use engine::trace::{Phase, Trace};
use quinn::crypto::rustls::QuicClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Far above the few round trips that the server needs to refuse a message.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read at most.
const MAX_ANSWER_BYTES: usize = 4096;

/// The connection's preface, and empty SETTINGS (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const FRAME_HEADER_BYTES: usize = 9;

/// Requests of HTTP/1.1. Each breaks one rule.
const H1: [(&str, &[u8]); 5] = [
    (
        "two-hosts",
        b"GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    ),
    ("no-host", b"GET /health HTTP/1.1\r\n\r\n"),
    (
        "bad-length",
        b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\nx",
    ),
    (
        "two-lengths",
        b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy",
    ),
    (
        "bad-chunk",
        b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nmany\r\n",
    ),
];
/// Header blocks of HTTP/2: `GET https://a/` by the static table (RFC 7541 appendix A), then what breaks a rule.
const H2: [(&str, &[u8]); 4] = [
    (
        "connection-field",
        b"\x82\x87\x84\x01\x01a\0\x0aconnection\x05close",
    ),
    ("upper-case", b"\x82\x87\x84\x01\x01a\0\x01A\x01b"),
    ("no-path", b"\x82\x87\x01\x01a"),
    ("length-without-body", b"\x83\x87\x84\x01\x01a\x0f\x0d\x011"),
];
/// The same for HTTP/3 (RFC 9204 appendix A).
const H3: [(&str, &[u8]); 4] = [
    (
        "connection-field",
        b"\0\0\xd1\xd7\xc1\x50\x01a\x27\x03connection\x05close",
    ),
    ("upper-case", b"\0\0\xd1\xd7\xc1\x50\x01a\x21A\x01b"),
    ("no-path", b"\0\0\xd1\xd7\x50\x01a"),
    ("length-without-body", b"\0\0\xd4\xd7\xc1\x50\x01a\x54\x011"),
];

/// What this process sends, and what it does next.
static FAULT: OnceLock<Fault> = OnceLock::new();

struct Fault {
    protocol: Protocol,
    request: &'static [u8],
    then: Then,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Call,
    Die,
    Lie,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let then = match arguments.next().as_deref() {
        Some("and-dies") => Then::Die,
        Some("and-lies") => Then::Lie,
        _ => Then::Call,
    };
    let requests = [
        (Protocol::H1, &H1[..]),
        (Protocol::H2, &H2),
        (Protocol::H3, &H3),
    ];
    let found = requests.into_iter().find_map(|(protocol, requests)| {
        let wanted = name.strip_prefix(protocol.name())?.strip_prefix(':')?;
        let (_, request) = requests.iter().find(|(name, _)| *name == wanted)?;
        Some((protocol, *request))
    });
    let Some((protocol, request)) = found else {
        eprintln!("give a protocol and a request as the argument, e.g. h1:two-hosts");
        return ExitCode::FAILURE;
    };
    FAULT.get_or_init(|| Fault {
        protocol,
        request,
        then,
    });
    match protocol {
        Protocol::H3 => serve::<Malformed<Quinn>>(),
        _ => serve::<Malformed<Hyper>>(),
    }
}

/// A stack beside which malformed requests are sent.
struct Malformed<S> {
    stack: S,
    tls: Tls,
}

impl<S> Malformed<S>
where
    S: Stack,
{
    /// Sends the malformed request on a new connection, and waits until the server has refused it.
    async fn send_malformed(&self, fault: &Fault) -> io::Result<()> {
        let addresses = self.stack.origin().resolve(&Trace::new(0)).await;
        let address = addresses.ok().and_then(|found| found.first().copied());
        let address = address.ok_or(io::ErrorKind::NotFound)?;
        match fault.protocol {
            Protocol::H3 => self.send_over_quic(address, fault.request).await,
            protocol => self.send_over_tls(address, protocol, fault.request).await,
        }
    }

    async fn send_over_tls(
        &self,
        address: SocketAddr,
        protocol: Protocol,
        request: &[u8],
    ) -> io::Result<()> {
        let config = Arc::new(self.tls.config(false));
        let name = self.stack.origin().server_name.clone();
        let tcp = TcpStream::connect(address).await?;
        let mut tls = TlsConnector::from(config).connect(name, tcp).await?;
        if protocol == Protocol::H1 {
            tls.write_all(request).await?;
            tls.flush().await?;
            // The server answers and, for most errors, closes.
            return match tls.read(&mut [0; MAX_ANSWER_BYTES]).await? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(()),
            };
        }
        // HEADERS with END_STREAM and END_HEADERS, on the first stream.
        let length = request.len() as u8;
        let head = [&[0, 0, length, 1, 5, 0, 0, 0, 1], request].concat();
        tls.write_all(&[PREFACE, &head].concat()).await?;
        tls.flush().await?;
        loop {
            let mut header = [0; FRAME_HEADER_BYTES];
            tls.read_exact(&mut header).await?;
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
            let mut payload = vec![0; length as usize];
            tls.read_exact(&mut payload).await?;
            if matches!(header[3], RST_STREAM | GOAWAY) {
                return Ok(());
            }
        }
    }

    async fn send_over_quic(&self, address: SocketAddr, block: &[u8]) -> io::Result<()> {
        let crypto =
            QuicClientConfig::try_from(self.tls.config(false)).map_err(io::Error::other)?;
        let local = match address {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let endpoint = quinn::Endpoint::client(local)?;
        let config = quinn::ClientConfig::new(Arc::new(crypto));
        let host = &self.stack.origin().host;
        let connecting = endpoint.connect_with(config, address, host);
        let quic = connecting.map_err(io::Error::other)?.await?;
        let (mut send, mut recv) = quic.open_bi().await?;
        let head = [&[1, block.len() as u8], block].concat();
        send.write_all(&head).await?;
        send.finish().map_err(io::Error::other)?;
        let refused = recv.read_to_end(MAX_ANSWER_BYTES).await;
        eprintln!("the answer: {refused:?}");
        Ok(())
    }
}

impl<S> Stack for Malformed<S>
where
    S: Stack,
{
    type Conn = S::Conn;
    type Request = S::Request;

    fn hello() -> Hello {
        Hello {
            stack: "malformed".into(),
            protocols: FAULT
                .get()
                .map(|fault| fault.protocol)
                .into_iter()
                .collect(),
            ..S::hello()
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        let alpn: &[u8] = match setup.protocol {
            Protocol::H1 => b"http/1.1",
            Protocol::H3 => b"h3",
            _ => b"h2",
        };
        Ok(Self {
            stack: S::new(setup)?,
            tls: Tls::new(setup, alpn)?,
        })
    }

    fn origin(&self) -> &Origin {
        self.stack.origin()
    }

    fn shares_connection(&self) -> bool {
        self.stack.shares_connection()
    }

    fn prepare(&self, id: u32, action: &Action, payload: Bytes) -> Result<S::Request, StackError> {
        self.stack.prepare(id, action, payload)
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<S::Conn, CallError> {
        self.stack.connect(mode, trace).await
    }

    async fn call(
        &self,
        conn: &S::Conn,
        request: &S::Request,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let then = match FAULT.get() {
            Some(fault) => {
                let sent = tokio::time::timeout(PATIENCE, self.send_malformed(fault)).await;
                eprintln!("malformed: {sent:?}");
                fault.then
            }
            None => Then::Call,
        };
        match then {
            Then::Call => self.stack.call(conn, request, trace).await,
            Then::Die => std::process::abort(),
            Then::Lie => {
                trace.edit(|row| (row.attempts, row.status) = (1, Some(200)));
                trace.stamp(Phase::FirstByte);
                Ok(())
            }
        }
    }

    fn conn_info(&self, conn: &S::Conn) -> ConnInfo {
        self.stack.conn_info(conn)
    }

    fn is_usable(&self, conn: &S::Conn) -> bool {
        self.stack.is_usable(conn)
    }

    async fn close(&self, conn: S::Conn) {
        self.stack.close(conn).await;
    }

    fn discard_tickets(&self) {
        self.stack.discard_tickets();
    }
}
