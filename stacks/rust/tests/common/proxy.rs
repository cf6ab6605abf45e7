//! A relay in front of the server that fails its first connection in mid-answer.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

/// What becomes of the first connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is closed.
    Closes,
    /// It stays open, and no more bytes come.
    Stalls,
}

/// Relays TCP to `server`; the first connection meets `fate` after `bytes` of answer.
pub fn tcp(server: SocketAddr, bytes: u64, fate: Fate) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (place, client) in listener.incoming().enumerate() {
            let client = client.unwrap();
            let upstream = TcpStream::connect(server).unwrap();
            client.set_nodelay(true).unwrap();
            upstream.set_nodelay(true).unwrap();
            let (from, to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            // Ends with the client's connection.
            std::thread::spawn(move || relay(from, to, u64::MAX, Fate::Closes));
            let bytes = if place == 0 { bytes } else { u64::MAX };
            std::thread::spawn(move || relay(upstream, client, bytes, fate));
        }
    });
    address
}

fn relay(mut from: TcpStream, mut to: TcpStream, bytes: u64, fate: Fate) {
    let mut left = bytes;
    let mut buffer = [0; 8192];
    while left > 0
        && let Ok(n @ 1..) = from.read(&mut buffer)
        && to.write_all(&buffer[..n]).is_ok()
    {
        left = left.saturating_sub(n as u64);
    }
    if left == 0 && fate == Fate::Stalls {
        while let Ok(1..) = from.read(&mut buffer) {}
        return;
    }
    to.shutdown(Shutdown::Both).ok();
    from.shutdown(Shutdown::Both).ok();
}

/// Relays UDP between one client address at a time and `server`; the first client gets
/// nothing more after `packets` of answer.
pub fn udp(server: SocketAddr, packets: u64) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut upstreams: Vec<(SocketAddr, UdpSocket)> = Vec::new();
        let mut buffer = [0; 65_536];
        while let Ok((n, client)) = socket.recv_from(&mut buffer) {
            if !upstreams.iter().any(|(known, _)| *known == client) {
                let upstream = UdpSocket::bind("127.0.0.1:0").unwrap();
                upstream.connect(server).unwrap();
                upstream
                    .set_read_timeout(Some(Duration::from_secs(30)))
                    .unwrap();
                let limit = if upstreams.is_empty() {
                    packets
                } else {
                    u64::MAX
                };
                let (answers, back) = (upstream.try_clone().unwrap(), socket.try_clone().unwrap());
                std::thread::spawn(move || {
                    let mut buffer = [0; 65_536];
                    let mut left = limit;
                    while let Ok(n) = answers.recv(&mut buffer) {
                        if left > 0 {
                            back.send_to(&buffer[..n], client).ok();
                            left -= 1;
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
