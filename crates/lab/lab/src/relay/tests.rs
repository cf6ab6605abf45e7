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

/// Returns a ClientHello, made by rustls.
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
