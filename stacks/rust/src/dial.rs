//! Opens a TLS or TCP stream to a name, with the time of each phase.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use driver::protocol::{CallError, ErrorKind, Reconnect, Setup};
use rustls::HandshakeKind;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use crate::call_error::{call_error, handshake_error};
use crate::origin::Origin;
use crate::stack::ConnInfo;
use crate::stack_error::StackError;
use crate::tls::Tls;
use crate::trace::{Phase, Trace};

/// TLS over TCP, or TCP alone.
pub type Stream = Either<TlsStream<TcpStream>, TcpStream>;

/// Opens streams to one origin.
pub struct Dialer {
    origin: Origin,
    tls: Tls,
    congestion: Option<String>,
}

impl Dialer {
    /// Creates a dialer for the origin of `setup` and the ALPN protocol `alpn`.
    pub fn new(setup: &Setup, alpn: &[u8]) -> Result<Self, StackError> {
        if let Some(name) = &setup.congestion {
            // Tried on an unconnected socket: only the kernel knows which algorithms it has.
            Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))
                .and_then(|socket| socket.set_tcp_congestion(name.as_bytes()))
                .map_err(|e| {
                    StackError::unsupported(format!("congestion {name}"), e.to_string())
                })?;
        }
        let origin = Origin::parse(&setup.url)?;
        Ok(Self {
            origin,
            tls: Tls::new(setup, alpn)?,
            congestion: setup.congestion.clone(),
        })
    }

    /// Returns the origin that it dials.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Opens a stream to the first of the origin's addresses that accepts one.
    pub async fn dial(&self, mode: Reconnect, trace: &Trace) -> Result<Stream, CallError> {
        let tcp = self.connect(&self.origin.resolve(trace).await?).await;
        let tcp = tcp.map_err(|error| call_error(ErrorKind::Connect, &error))?;
        trace.stamp(Phase::Connect);
        let local_port = tcp.local_addr().ok().map(|address| address.port());
        trace.edit(|row| row.local_port = local_port);
        if !self.origin.tls {
            return Ok(Either::Right(tcp));
        }
        let config = Arc::new(self.tls.config(mode == Reconnect::EarlyData));
        let name = self.origin.server_name.clone();
        let stream = TlsConnector::from(config).connect(name, tcp).await;
        let stream = stream.map_err(|error| handshake_error(&error))?;
        trace.stamp(Phase::Tls);
        Ok(Either::Left(stream))
    }

    /// Discards all session tickets.
    pub fn discard_tickets(&self) {
        self.tls.discard_tickets();
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for &address in addresses {
            match self.socket(address)?.connect(address).await {
                Ok(tcp) => return Ok(tcp),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn socket(&self, address: SocketAddr) -> io::Result<TcpSocket> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(name) = &self.congestion {
            socket.set_tcp_congestion(name.as_bytes())?;
        }
        Ok(TcpSocket::from_std_stream(socket.into()))
    }
}

/// Returns what is known about a connection on this stream.
pub fn conn_info(stream: &Stream, protocol: driver::protocol::Protocol) -> ConnInfo {
    let (tcp, handshake) = match stream {
        Either::Left(stream) => {
            let (tcp, tls) = stream.get_ref();
            (tcp, tls.handshake_kind())
        }
        Either::Right(tcp) => (tcp, None),
    };
    ConnInfo {
        local_port: tcp.local_addr().map_or(0, |address| address.port()),
        protocol,
        resumed: handshake == Some(HandshakeKind::Resumed),
    }
}
