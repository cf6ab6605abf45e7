//! HTTP/2 and HTTP/1.1 over rustls and TCP.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use route::{Fault, PathSample, Protocol};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{HandshakeKind, ProtocolVersion};
use socket2::{SockRef, Socket, TcpKeepalive};
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Exchange, Opened, Target, h1, h2};
use crate::message::{Event, Message};
use crate::tcp_info;
use crate::tls::Tls;

/// The shortest time without a segment after which kernels ask for one.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// Kernels give a connection up after so many without an answer, 9 by default: later than the router.
const KEEP_ALIVES: u32 = 60;
/// Bytes that a system call reads at most. rustls asks for 4 KiB at a time, a quarter of the longest record.
const READ_BYTES: usize = 16 << 10;

pub(crate) struct Conn {
    requests: Requests,
    /// The same socket, for queries to the kernel.
    socket: Arc<ProbedSocket>,
    segments: tcp_info::SegmentCounter,
    /// Segments that had come when keep-alive was turned on; nothing if it was not.
    asked: Option<u64>,
    is_tls13: bool,
    chain: Vec<CertificateDer<'static>>,
}

/// A socket whose peer TCP keep-alive probes while it is on.
struct ProbedSocket {
    socket: Socket,
    keep_alive: AtomicBool,
}

#[derive(Clone)]
enum Requests {
    H1(h1::Requests),
    H2(h2::Requests),
}

pub(crate) async fn open(target: Target, tls: &Tls) -> Result<Opened, Fault> {
    let began = Instant::now();
    let tcp = TcpStream::connect(target.address)
        .await
        .map_err(|_| Fault::Connect)?;
    let (conn, at) = (target.id, Instant::now());
    let first_packet = Event::FirstPacket {
        conn,
        rtt: at - began,
        at: Some(at),
    };
    target.messages.send(Message::Event(first_packet)).ok();
    set_options(&tcp);
    let local_port = tcp.local_addr().map_or(0, |address| address.port());
    let socket = SockRef::from(&tcp)
        .try_clone()
        .map_err(|_| Fault::Connect)?;
    let name = ServerName::try_from(target.origin.host.to_string());
    let name = name.map_err(|_| Fault::Name)?;
    let stream = TlsConnector::from(tls.tcp(target.http1))
        .connect(name, BufReader::with_capacity(READ_BYTES, tcp))
        .await;
    let stream = stream.map_err(|error| handshake_fault(&error))?;
    let session = stream.get_ref().1;
    let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
    let chain = session.peer_certificates().unwrap_or_default().to_vec();
    if resumed && !tls.accepts_resumed(&chain, &target.origin.host) {
        return Err(Fault::Certificate);
    }
    let tls = Instant::now();
    let h2 = session.alpn_protocol() == Some(b"h2");
    let is_tls13 = session.protocol_version() == Some(ProtocolVersion::TLSv1_3);
    let messages = target.messages;
    let requests = if h2 {
        Requests::H2(h2::start(stream, conn, messages).await?)
    } else {
        Requests::H1(h1::start(stream, conn, messages).await?)
    };
    let conn = Conn {
        requests,
        socket: Arc::new(ProbedSocket {
            socket,
            keep_alive: AtomicBool::new(false),
        }),
        segments: tcp_info::SegmentCounter::default(),
        asked: None,
        is_tls13,
        chain,
    };
    Ok(Opened {
        conn: super::Conn::Tcp(conn),
        local_port,
        resumed,
        tls: Some(tls),
        early_taken: None,
    })
}

impl Conn {
    pub(crate) fn protocol(&self) -> Protocol {
        match self.requests {
            Requests::H1(_) => Protocol::H1,
            Requests::H2(_) => Protocol::H2,
        }
    }

    pub(crate) fn security(&self) -> (bool, Vec<Vec<u8>>) {
        let chain = self.chain.iter().map(|der| der.to_vec());
        (self.is_tls13, chain.collect())
    }

    /// Returns how many requests the server takes at a time.
    pub(crate) fn limit(&self) -> usize {
        match &self.requests {
            Requests::H1(_) => 1,
            Requests::H2(requests) => requests.limit(),
        }
    }

    /// Sends a request and reports its response.
    pub(crate) fn exchange(&self, exchange: Exchange) -> impl Future<Output = ()> + use<> {
        let (requests, kept_alive) = (self.requests.clone(), KeptAlive(Arc::clone(&self.socket)));
        async move {
            let outcome = match requests {
                Requests::H1(requests) => {
                    let run = requests.run(&exchange, || shut_down(&kept_alive.0.socket));
                    run.await
                }
                Requests::H2(requests) => requests.run(&exchange).await,
            };
            exchange.ended(outcome);
            drop(kept_alive);
        }
    }

    pub(crate) fn sample(&mut self) -> PathSample {
        let sample = self.segments.sample(&self.socket.socket);
        if self
            .asked
            .is_some_and(|received| received < sample.received)
        {
            // Once is enough for now; the kernel would go on.
            self.asked = None;
            self.socket.keep_alive(false);
        }
        sample
    }

    /// Turns on TCP keep-alive, which probes the peer. Data that is not acknowledged is repeated anyway. A peer that
    /// has acknowledged the request and is silent must answer the probe.
    pub(crate) fn probe(&mut self) {
        self.asked = Some(self.segments.count());
        self.socket.keep_alive(true);
    }

    /// Ends the requests under way; each holds the socket. A connection without
    /// any ends in good order when it is dropped.
    pub(crate) fn close(&self) {
        if Arc::strong_count(&self.socket) > 1 {
            shut_down(&self.socket.socket);
        }
    }
}

impl ProbedSocket {
    /// Turns keep-alive on, or off if it is on.
    fn keep_alive(&self, on: bool) {
        let was_on = self.keep_alive.swap(on, Ordering::Relaxed);
        if on || was_on {
            keep_alive(&self.socket, on);
        }
    }
}

fn shut_down(socket: &Socket) {
    // It may have ended by itself.
    socket.shutdown(Shutdown::Both).ok();
}

/// Turns off the keep-alive of [`Conn::probe`] when a request ends: an idle connection must not wake the device. If
/// another request waits, its next probe turns it on again.
struct KeptAlive(Arc<ProbedSocket>);

impl Drop for KeptAlive {
    fn drop(&mut self) {
        self.0.keep_alive(false);
    }
}

/// Sets options for low latency. No segment waits until it is full, and the kernel takes no more than it can soon send.
/// So a small request need not wait behind a large one's body.
fn set_options(tcp: &TcpStream) {
    let options = SockRef::from(tcp);
    options.set_tcp_nodelay(true).ok();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    options
        .set_tcp_notsent_lowat(crate::body::PIECE_BYTES as u32)
        .ok();
}

fn keep_alive(socket: &Socket, on: bool) {
    let set = if on {
        let often = TcpKeepalive::new()
            .with_time(KEEP_ALIVE)
            .with_interval(KEEP_ALIVE)
            .with_retries(KEEP_ALIVES);
        socket.set_tcp_keepalive(&often)
    } else {
        socket.set_keepalive(false)
    };
    // Without it a path that fails is noticed later.
    set.ok();
}

fn handshake_fault(error: &std::io::Error) -> Fault {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => Fault::Certificate,
        Some(_) => Fault::Handshake,
        None => Fault::Connect,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_gives_a_silent_connection_up_later_than_the_router() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let socket = Socket::from(TcpStream::connect(address).expect("it listens"));
        keep_alive(&socket, true);
        let interval = socket.tcp_keepalive_interval().expect("it is set");
        let retries = socket.tcp_keepalive_retries().expect("it is set");
        assert!(interval * retries > Duration::from_secs(30));
    }
}
