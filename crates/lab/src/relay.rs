//! A relay: makes a TCP and UDP service that this host can reach reachable at the far end of a bench's
//! link.
//!
//! Sockets stay in the namespace they were created in, so one process can listen at the far end of
//! a bench and connect on the host, without further privileges. TCP is proxied: the link carries a
//! connection between the client and this relay, and the service sees another one, from this host.
//!
//! Each connection waits for the service by itself; where the service refuses one or does not answer,
//! the client's is reset. A flow holds at most two buffers of [`BUFFER_BYTES`]; beyond them, TCP's flow
//! control stops the sender.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pump::{Bench, BenchError, Side, SocketKind};
use rustix::net::sockopt::tcp_congestion;
use rustls::server::Acceptor;
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Bytes buffered per direction of a TCP flow.
const BUFFER_BYTES: usize = 64 << 10;
const MAX_DATAGRAM_BYTES: usize = 65_535;
/// Limit of parallel TCP connections, and of UDP flows.
const MAX_FLOWS: usize = 1024;
/// How many connections are noted: more than a cell opens, one per request at most.
const MAX_NOTED: usize = 8192;
/// The largest ClientHello that is waited for; those with post-quantum key shares have 2 kB.
const MAX_HELLO_BYTES: usize = 16 << 10;
/// How often a part of one is looked at again.
const PEEK_INTERVAL: Duration = Duration::from_micros(200);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for a descriptor when there is none left.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// How long to wait for the thread of a relay to end.
const END_LIMIT: Duration = Duration::from_secs(1);
/// RFC 4787 REQ-5 requires NATs to keep a mapping for at least two minutes.
const UDP_IDLE_LIMIT: Duration = Duration::from_secs(120);

/// A connection over TCP that a relay accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The client's port, as the far end saw it.
    pub(crate) port: u16,
    /// The protocols that its ClientHello offers, in its order (RFC 7301); empty if it offers none.
    pub(crate) protocols: Vec<String>,
    /// The congestion control that sends to the client, read from the socket.
    pub(crate) congestion: Option<String>,
}

/// The connections of a relay, in order of arrival.
type Connections = Arc<Mutex<Vec<Accepted>>>;

/// A running relay; it ends, with every flow, when it is dropped.
#[derive(Debug)]
pub struct Relay {
    /// None once it is being dropped.
    runtime: Option<Runtime>,
    accepted: Connections,
}

/// Sockets at the far end of a bench, for one service.
#[derive(Debug)]
pub struct FarEnd {
    /// Listening TCP sockets, one per address family.
    tcp: Vec<OwnedFd>,
    /// Bound UDP sockets, one per address family.
    udp: Vec<OwnedFd>,
}

impl FarEnd {
    /// Opens this port at both addresses of the far end, for TCP and UDP.
    pub fn open(bench: &mut Bench, port: u16) -> Result<FarEnd, BenchError> {
        let addresses = bench.facts().server.all();
        let mut bind = |kind| -> Result<Vec<OwnedFd>, BenchError> {
            let at = addresses.map(|address| SocketAddr::new(address, port));
            (at.into_iter())
                .map(|at| bench.bind(Side::Server, kind, at))
                .collect()
        };
        Ok(FarEnd {
            tcp: bind(SocketKind::Tcp)?,
            udp: bind(SocketKind::Udp)?,
        })
    }
}

impl Relay {
    /// Starts to relay between each far end and its service.
    pub fn start(services: Vec<(FarEnd, SocketAddr)>) -> io::Result<Relay> {
        Relay::with(services, false)
    }

    /// Starts to relay to a service over TLS, whose clients speak first, and notes what they offer.
    /// Nothing is delayed by that: a server has no answer to a part of a ClientHello.
    pub(crate) fn start_watching(far: FarEnd, to: SocketAddr) -> io::Result<Relay> {
        Relay::with(vec![(far, to)], true)
    }

    /// Returns the first [`MAX_NOTED`] connections over TLS that it has accepted so far, if it watches.
    pub(crate) fn accepted(&self) -> Vec<Accepted> {
        lock(&self.accepted).clone()
    }

    fn with(services: Vec<(FarEnd, SocketAddr)>, watches: bool) -> io::Result<Relay> {
        let accepted = Connections::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        for (far, to) in services {
            for fd in far.tcp {
                let accepted = watches.then(|| Arc::clone(&accepted));
                runtime.spawn(async move {
                    let Err(e) = relay_tcp(fd.into(), to, accepted).await;
                    tracing::warn!("relay to {to}: {e}");
                });
            }
            for fd in far.udp {
                runtime.spawn(async move {
                    let Err(e) = relay_udp(fd.into(), to).await;
                    tracing::warn!("relay to {to}: {e}");
                });
            }
        }
        Ok(Relay {
            runtime: Some(runtime),
            accepted,
        })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Its tasks only wait for sockets, so that nothing holds this up.
            runtime.shutdown_timeout(END_LIMIT);
        }
    }
}

async fn relay_tcp(
    listener: std::net::TcpListener,
    to: SocketAddr,
    accepted: Option<Connections>,
) -> io::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let slots = Arc::new(Semaphore::new(MAX_FLOWS));
    loop {
        let slot = Arc::clone(&slots)
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((far, client)) => {
                let accepted = accepted.clone();
                tokio::spawn(async move {
                    let noting = async {
                        if let Some(accepted) = accepted
                            && let Some(protocols) = offered(&far).await
                        {
                            let connection = Accepted {
                                port: client.port(),
                                protocols,
                                congestion: tcp_congestion(&far).ok(),
                            };
                            let mut noted = lock(&accepted);
                            if noted.len() < MAX_NOTED {
                                noted.push(connection);
                            }
                        }
                    };
                    let (near, ()) = tokio::join!(connect(to), noting);
                    match near {
                        Some(near) => relay_flow(far, near).await,
                        None => close_with_reset([far]),
                    }
                    drop(slot);
                });
            }
            Err(e) if is_transient(&e) => {}
            Err(e) if is_exhausted(&e) => tokio::time::sleep(RETRY_AFTER).await,
            Err(e) => return Err(e),
        }
    }
}

async fn connect(to: SocketAddr) -> Option<TcpStream> {
    let connected = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(to)).await;
    connected.ok()?.ok()
}

/// Returns the protocols that a client's ClientHello offers, without taking it from the socket; none
/// where it sends something else or too little.
async fn offered(far: &TcpStream) -> Option<Vec<String>> {
    let mut hello = vec![0; MAX_HELLO_BYTES];
    let (until, mut known) = (Instant::now() + CONNECT_LIMIT, 0);
    while Instant::now() < until && known < hello.len() {
        let length = tokio::time::timeout_at(until, far.peek(&mut hello)).await;
        match length.ok()?.ok()? {
            0 => return None,
            // A part: bytes that are left in the socket do not tell when more have come.
            length if length == known => tokio::time::sleep(PEEK_INTERVAL).await,
            length => {
                known = length;
                if let Some(protocols) = alpn(&hello[..length])? {
                    return Some(protocols);
                }
            }
        }
    }
    None
}

/// Returns the protocols that a ClientHello offers, `Some(None)` if there is more to come, and none if
/// this is no ClientHello.
fn alpn(bytes: &[u8]) -> Option<Option<Vec<String>>> {
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        acceptor.read_tls(&mut rest).ok()?;
    }
    let Some(accepted) = acceptor.accept().ok()? else {
        return Some(None);
    };
    let hello = accepted.client_hello();
    let names = hello.alpn().into_iter().flatten();
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    Some(Some(names.collect()))
}

async fn relay_flow(mut far: TcpStream, mut near: TcpStream) {
    // Either end may write a request in two pieces, and the relay must not delay the second.
    let nodelay = far.set_nodelay(true).and_then(|()| near.set_nodelay(true));
    let relayed =
        tokio::io::copy_bidirectional_with_sizes(&mut far, &mut near, BUFFER_BYTES, BUFFER_BYTES)
            .await;
    if nodelay.is_err() || relayed.is_err() {
        // A reset on one side must become a reset on the other, never an orderly close.
        close_with_reset([far, near]);
    }
}

/// Closes streams with RST (SO_LINGER of zero, tcp(7)).
fn close_with_reset<const N: usize>(streams: [TcpStream; N]) {
    for stream in streams {
        // An error means that it is closed already.
        stream.set_zero_linger().ok();
    }
}

async fn relay_udp(far: std::net::UdpSocket, to: SocketAddr) -> io::Result<Infallible> {
    far.set_nonblocking(true)?;
    let far = Arc::new(UdpSocket::from_std(far)?);
    let flows: Flows = Arc::default();
    let mut datagram = vec![0; MAX_DATAGRAM_BYTES];
    loop {
        let (len, client) = match far.recv_from(&mut datagram).await {
            Ok(received) => received,
            Err(e) if is_transient(&e) => continue,
            Err(e) => return Err(e),
        };
        let known = lock(&flows).get(&client).cloned();
        let near = match known {
            Some(near) => near,
            None if lock(&flows).len() >= MAX_FLOWS => continue,
            None => {
                // Without a socket the datagram is lost, and the next one tries again.
                let Ok(near) = connect_udp(to).await else {
                    continue;
                };
                let near = Arc::new(near);
                lock(&flows).insert(client, Arc::clone(&near));
                let back = (Arc::clone(&near), Arc::clone(&far), Arc::clone(&flows));
                tokio::spawn(async move {
                    relay_replies(&back.0, &back.1, client).await;
                    lock(&back.2).remove(&client);
                });
                near
            }
        };
        // A datagram that cannot be sent is lost, as on any network.
        drop(near.send(&datagram[..len]).await);
    }
}

async fn connect_udp(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() {
        (std::net::Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (std::net::Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let near = UdpSocket::bind(any).await?;
    near.connect(to).await?;
    Ok(near)
}

/// The host's socket of each flow, by the client's address.
type Flows = Arc<Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>>;

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Relays replies to the client until the flow has been idle for [`UDP_IDLE_LIMIT`].
async fn relay_replies(near: &UdpSocket, far: &UdpSocket, client: SocketAddr) {
    let mut datagram = vec![0; MAX_DATAGRAM_BYTES];
    loop {
        match tokio::time::timeout(UDP_IDLE_LIMIT, near.recv(&mut datagram)).await {
            Ok(Ok(len)) => {
                drop(far.send_to(&datagram[..len], client).await);
            }
            Ok(Err(e)) if is_transient(&e) => {}
            _ => return,
        }
    }
}

/// Returns whether an error concerns one datagram or connection rather than the socket.
fn is_transient(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::Interrupted
    )
}

/// Returns whether the process or the machine is out of descriptors or memory, which may pass.
fn is_exhausted(e: &io::Error) -> bool {
    let exhausted = [
        rustix::io::Errno::MFILE,
        rustix::io::Errno::NFILE,
        rustix::io::Errno::NOBUFS,
        rustix::io::Errno::NOMEM,
    ];
    exhausted
        .iter()
        .any(|errno| e.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::time::Instant;

    use super::*;

    fn relay_to(to: SocketAddr) -> (Relay, SocketAddr, SocketAddr) {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (at_tcp, at_udp) = (tcp.local_addr().unwrap(), udp.local_addr().unwrap());
        let far = FarEnd {
            tcp: vec![tcp.into()],
            udp: vec![udp.into()],
        };
        (Relay::start(vec![(far, to)]).unwrap(), at_tcp, at_udp)
    }

    #[test]
    fn relays_half_close() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let (_relay, tcp, _) = relay_to(service.local_addr().unwrap());
        let mut client = TcpStream::connect(tcp).unwrap();
        client.write_all(b"question").unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let (mut served, _) = service.accept().unwrap();
        let mut text = String::new();
        served.read_to_string(&mut text).unwrap();
        assert_eq!(text, "question");
        served.write_all(b"answer").unwrap();
        drop(served);
        text.clear();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "answer");
    }

    #[test]
    fn a_refused_connection_is_reset() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let (_relay, tcp, _) = relay_to(address);
        let mut client = TcpStream::connect(tcp).unwrap();
        let error = client.read(&mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn connections_wait_for_the_service_in_parallel() {
        // A service whose queue of connections is full: the kernel does not answer any more.
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&service, 0).unwrap();
        let address = service.local_addr().unwrap();
        let _queued = TcpStream::connect(address).unwrap();
        let (_relay, tcp, _) = relay_to(address);
        let _clients: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(tcp).unwrap()).collect();
        let until = Instant::now() + CONNECT_LIMIT / 2;
        while syns_sent(address.port()) < 3 {
            assert!(Instant::now() < until, "{}", syns_sent(address.port()));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the number of sockets that have sent a SYN to a port and have no answer.
    fn syns_sent(port: u16) -> usize {
        let state = format!(":{port:04X} 02 ");
        let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        sockets.lines().filter(|line| line.contains(&state)).count()
    }

    #[test]
    fn a_service_that_does_not_read_stops_the_sender() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let (_relay, tcp, _) = relay_to(service.local_addr().unwrap());
        let mut client = TcpStream::connect(tcp).unwrap();
        let (_never_read, _) = service.accept().unwrap();
        client.set_nonblocking(true).unwrap();
        let piece = vec![0; 64 << 10];
        let mut blocked_for = 0;
        let mut sent = 0;
        while blocked_for < 50 {
            match client.write(&piece) {
                Ok(n) => (sent, blocked_for) = (sent + n, 0),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    blocked_for += 1;
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(e) => panic!("{e}"),
            }
            assert!(sent < 64 << 20, "the relay buffers without bound");
        }
    }

    #[test]
    fn replies_reach_the_right_client() {
        let service = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (_relay, _, udp) = relay_to(service.local_addr().unwrap());
        let clients: Vec<UdpSocket> = (0..2)
            .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
            .collect();
        for (i, client) in clients.iter().enumerate() {
            client.send_to(&[i as u8], udp).unwrap();
        }
        for _ in &clients {
            let mut b = [0; 1];
            let (_, from) = service.recv_from(&mut b).unwrap();
            service.send_to(&b, from).unwrap();
        }
        for (i, client) in clients.iter().enumerate() {
            let mut b = [9; 1];
            client.recv(&mut b).unwrap();
            assert_eq!(b, [i as u8]);
        }
    }

    /// A ClientHello, by rustls.
    fn hello(alpn: &[&str]) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = "my.test".try_into().unwrap();
        let mut client = rustls::ClientConnection::new(config.into(), name).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn offers_are_read_and_passed_on() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = tcp.local_addr().unwrap();
        let far = FarEnd {
            tcp: vec![tcp.into()],
            udp: Vec::new(),
        };
        let relay = Relay::start_watching(far, service.local_addr().unwrap()).unwrap();
        let hello = hello(&["h2", "http/1.1"]);
        let mut client = TcpStream::connect(at).unwrap();
        let (first, rest) = hello.split_at(hello.len() / 2);
        client.write_all(first).unwrap();
        let (mut served, _) = service.accept().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        client.write_all(rest).unwrap();
        let mut received = vec![0; hello.len()];
        served.read_exact(&mut received).unwrap();
        assert_eq!(received, hello);
        let accepted = relay.accepted();
        let port = client.local_addr().unwrap().port();
        assert_eq!((accepted.len(), accepted[0].port), (1, port));
        assert_eq!(accepted[0].protocols, ["h2", "http/1.1"]);
        assert!(accepted[0].congestion.is_some());
    }

    #[test]
    fn what_is_no_client_hello_is_passed_on_unread() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = tcp.local_addr().unwrap();
        let far = FarEnd {
            tcp: vec![tcp.into()],
            udp: Vec::new(),
        };
        let relay = Relay::start_watching(far, service.local_addr().unwrap()).unwrap();
        let mut client = TcpStream::connect(at).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let (mut served, _) = service.accept().unwrap();
        let mut received = [0; 16];
        served.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"GET / HTTP/1.1\r\n");
        assert!(relay.accepted().is_empty());
    }

    #[test]
    fn flows_end_with_the_relay() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let (relay, tcp, _) = relay_to(service.local_addr().unwrap());
        let mut client = TcpStream::connect(tcp).unwrap();
        let (mut served, _) = service.accept().unwrap();
        drop(relay);
        assert_eq!(served.read(&mut [0; 1]).unwrap_or(0), 0);
        assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
        TcpStream::connect(tcp).unwrap_err();
    }
}
