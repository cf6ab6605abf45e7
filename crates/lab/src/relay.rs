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
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pump::{Bench, BenchError, Side, SocketKind};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// Bytes buffered per direction of a TCP flow.
const BUFFER_BYTES: usize = 64 << 10;
const MAX_DATAGRAM_BYTES: usize = 65_535;
/// Limit of parallel TCP connections, and of UDP flows.
const MAX_FLOWS: usize = 1024;
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for a descriptor when there is none left.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// How long to wait for the thread of a relay to end.
const END_LIMIT: Duration = Duration::from_secs(1);
/// RFC 4787 REQ-5 requires NATs to keep a mapping for at least two minutes.
const UDP_IDLE_LIMIT: Duration = Duration::from_secs(120);

/// A running relay; it ends, with every flow, when it is dropped.
#[derive(Debug)]
pub struct Relay {
    /// None once it is being dropped.
    runtime: Option<Runtime>,
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
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        for (far, to) in services {
            for fd in far.tcp {
                runtime.spawn(async move {
                    let Err(e) = relay_tcp(fd.into(), to).await;
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

async fn relay_tcp(listener: std::net::TcpListener, to: SocketAddr) -> io::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let slots = Arc::new(Semaphore::new(MAX_FLOWS));
    loop {
        let slot = Arc::clone(&slots)
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((far, _)) => {
                tokio::spawn(async move {
                    connect_and_relay(far, to).await;
                    drop(slot);
                });
            }
            Err(e) if is_transient(&e) => {}
            Err(e) if is_exhausted(&e) => tokio::time::sleep(RETRY_AFTER).await,
            Err(e) => return Err(e),
        }
    }
}

async fn connect_and_relay(far: TcpStream, to: SocketAddr) {
    match tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(to)).await {
        Ok(Ok(near)) => relay_flow(far, near).await,
        _ => close_with_reset([far]),
    }
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

fn lock(flows: &Flows) -> std::sync::MutexGuard<'_, HashMap<SocketAddr, Arc<UdpSocket>>> {
    flows.lock().unwrap_or_else(PoisonError::into_inner)
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
