//! A NAT that drops its mappings between real endpoints: what each of them sees.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use common::{RECEIVE_WITHIN, receive, udp};
use link::tap::{Fate, TapRecord};
use link::{NatSpec, Network};
use pump::{Bench, Side, SocketKind};

/// Enough to open a connection before it on any machine.
const REBIND_AFTER: Duration = Duration::from_secs(2);
/// For packets that must not arrive; the link has no delay.
const NOTHING_FOR: Duration = Duration::from_millis(200);
const PORT: u16 = 4433;

/// Begins a window with a rebinding, and returns when that is certainly over.
fn begin(bench: &mut Bench) -> Instant {
    let nat = NatSpec {
        rebind_at_ns: vec![REBIND_AFTER.as_nanos() as u64],
        ..NatSpec::default()
    };
    let network = Network {
        nat: Some(nat),
        ..common::delay_ms(0)
    };
    bench.set_network(&network, 1).unwrap();
    bench.begin_cell().unwrap();
    Instant::now() + REBIND_AFTER
}

fn sleep_until(at: Instant) {
    std::thread::sleep(at.saturating_duration_since(Instant::now()));
}

#[test]
fn udp_goes_on_from_another_port_that_leads_back() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let [client, server] = [Side::Client, Side::Server].map(Side::addresses);
    for (from, to) in [
        (IpAddr::from(client.v4), IpAddr::from(server.v4)),
        (client.v6.into(), server.v6.into()),
    ] {
        let near = udp(&mut bench, Side::Client, from, 0);
        let far = udp(&mut bench, Side::Server, to, PORT);
        let rebound_at = begin(&mut bench);
        let own = near.local_addr().unwrap();
        // A QUIC Initial, which opens a connection.
        let initial = [0xc3, 0, 0, 0, 1, 0, 1, 7];
        near.send_to(&initial, (to, PORT)).unwrap();
        assert_eq!(receive(&far), (initial.to_vec(), own));
        far.send_to(b"before", own).unwrap();
        assert_eq!(receive(&near).0, b"before");

        sleep_until(rebound_at);
        far.send_to(b"lost", own).unwrap();
        near.set_read_timeout(Some(NOTHING_FOR)).unwrap();
        let nothing = near.recv_from(&mut [0; 64]).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        near.set_read_timeout(Some(RECEIVE_WITHIN)).unwrap();

        near.send_to(b"rebound", (to, PORT)).unwrap();
        let (datagram, external) = receive(&far);
        assert_eq!((datagram, external.ip()), (b"rebound".to_vec(), from));
        assert_ne!(external.port(), own.port());
        far.send_to(b"after", external).unwrap();
        assert_eq!(receive(&near), (b"after".to_vec(), (to, PORT).into()));

        let window = bench.end_window().unwrap();
        assert_eq!(
            (window.down.dropped.nat, window.down.dropped.total()),
            (1, 1)
        );
        assert_eq!((window.up.in_flight(), window.down.in_flight()), (0, 0));
        assert_eq!(window.foreign_drops.total(), 0);
        // To the tap it is one flow.
        let tap = bench.tap().unwrap();
        let fates: Vec<_> = tap.iter().map(|p| (p.stray, p.fate)).collect();
        let passes = (false, Fate::Delivered);
        let lost = (false, Fate::Unmapped);
        assert_eq!(fates, [passes, passes, lost, passes, passes]);
        let is_own = |p: &TapRecord| p.client_port() == own.port();
        assert!(tap.iter().all(is_own), "{tap:?}");
    }
}

#[test]
fn tcp_is_reset_by_a_server_that_does_not_know_the_port() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    for address in [
        IpAddr::from(Side::Server.addresses().v4),
        Side::Server.addresses().v6.into(),
    ] {
        let address = SocketAddr::new(address, PORT);
        let listener = bench.bind(Side::Server, SocketKind::Tcp, address).unwrap();
        let listener = TcpListener::from(listener);
        let rebound_at = begin(&mut bench);
        let mut near = TcpStream::from(bench.connect(Side::Client, address).unwrap());
        let (mut far, seen) = listener.accept().unwrap();
        assert_eq!(seen, near.local_addr().unwrap());
        near.set_read_timeout(Some(RECEIVE_WITHIN)).unwrap();
        far.write_all(b"before").unwrap();
        near.read_exact(&mut [0; 6]).unwrap();

        sleep_until(rebound_at);
        near.write_all(b"rebound").unwrap();
        let reset = near.read(&mut [0; 6]).unwrap_err();
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);

        // The next connection is as any other.
        let mut next = TcpStream::from(bench.connect(Side::Client, address).unwrap());
        let (mut far, seen) = listener.accept().unwrap();
        assert_eq!(seen, next.local_addr().unwrap());
        far.write_all(b"after").unwrap();
        next.read_exact(&mut [0; 5]).unwrap();
        bench.end_window().unwrap();
    }
}

#[test]
fn all_tests_pass_without_privileges() {
    common::rerun_without_privileges("all_tests_pass_without_privileges");
}
