//! A relay in front of the server that breaks its first connection during a response.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// How long a relay outlives its last packet; longer than any test.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

const BUFFER_BYTES: usize = 8192;
const DATAGRAM_BYTES: usize = 65_536;

/// How the first connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is closed.
    Close,
    /// It stays open, but no more bytes arrive.
    Stall,
}

/// Relays TCP to `server`. The first connection fails after `bytes` of response.
pub fn tcp(server: SocketAddr, bytes: u64, failure: Failure) -> SocketAddr {
    accept(server, move |is_first, [client, upstream]| {
        let (from, to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
        // Ends with the client's connection.
        std::thread::spawn(move || relay(from, to, u64::MAX, Failure::Close));
        let bytes = if is_first { bytes } else { u64::MAX };
        std::thread::spawn(move || relay(upstream, client, bytes, failure));
    })
}

/// Relays TCP to `server`. On the first connection, data after a silence is dropped, and the connection closes `later`
/// after it.
pub fn tcp_lost_in_silence(server: SocketAddr, silence: Duration, later: Duration) -> SocketAddr {
    accept(server, move |is_first, [client, upstream]| {
        let (from, to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
        std::thread::spawn(move || relay(upstream, client, u64::MAX, Failure::Close));
        let silence = if is_first { silence } else { Duration::MAX };
        std::thread::spawn(move || relay_until_silence(from, to, silence, later));
    })
}

/// Connects to `server` for each client, and passes both connections on with whether they are the first.
fn accept(server: SocketAddr, begin: impl Fn(bool, [TcpStream; 2]) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (index, client) in listener.incoming().enumerate() {
            let both = [client.unwrap(), TcpStream::connect(server).unwrap()];
            for stream in &both {
                stream.set_nodelay(true).unwrap();
            }
            begin(index == 0, both);
        }
    });
    address
}

fn relay_until_silence(mut from: TcpStream, mut to: TcpStream, silence: Duration, later: Duration) {
    let mut buffer = [0; BUFFER_BYTES];
    let mut last = Instant::now();
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if last.elapsed() > silence {
            std::thread::sleep(later);
            break;
        }
        last = Instant::now();
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
    from.shutdown(Shutdown::Both).ok();
}

fn relay(mut from: TcpStream, mut to: TcpStream, bytes: u64, failure: Failure) {
    let mut remaining = bytes;
    let mut buffer = [0; BUFFER_BYTES];
    while remaining > 0
        && let Ok(n @ 1..) = from.read(&mut buffer)
        && to.write_all(&buffer[..n]).is_ok()
    {
        remaining = remaining.saturating_sub(n as u64);
    }
    if remaining == 0 && failure == Failure::Stall {
        while let Ok(1..) = from.read(&mut buffer) {}
        return;
    }
    to.shutdown(Shutdown::Both).ok();
    from.shutdown(Shutdown::Both).ok();
}

/// Relays UDP between clients and `server`. The first client address gets nothing more after
/// `packets` of response.
pub fn udp(server: SocketAddr, packets: u64) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut upstreams: Vec<(SocketAddr, UdpSocket)> = Vec::new();
        let mut buffer = [0; DATAGRAM_BYTES];
        while let Ok((n, client)) = socket.recv_from(&mut buffer) {
            if !upstreams.iter().any(|(known, _)| *known == client) {
                let upstream = UdpSocket::bind("127.0.0.1:0").unwrap();
                upstream.connect(server).unwrap();
                upstream.set_read_timeout(Some(IDLE_TIMEOUT)).unwrap();
                let limit = if upstreams.is_empty() {
                    packets
                } else {
                    u64::MAX
                };
                let (responses, back) =
                    (upstream.try_clone().unwrap(), socket.try_clone().unwrap());
                std::thread::spawn(move || {
                    let mut buffer = [0; DATAGRAM_BYTES];
                    let mut remaining = limit;
                    while let Ok(n) = responses.recv(&mut buffer) {
                        if remaining > 0 {
                            back.send_to(&buffer[..n], client).ok();
                            remaining -= 1;
                        }
                    }
                });
                upstreams.push((client, upstream));
            }
            let (_, upstream) = upstreams
                .iter()
                .find(|(known, _)| *known == client)
                .unwrap();
            upstream.send(&buffer[..n]).ok();
        }
    });
    address
}
