//! A client that moves to other addresses between real endpoints: what each of them sees.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use common::{RECEIVE_WITHIN, receive, udp};
use link::tap::{Fate, TapRecord};
use link::{NatSpec, Network};
use pump::{Addresses, Bench, Families, MAX_MOVES, Side, SocketKind};

/// For packets that must not arrive.
const NOTHING_FOR: Duration = Duration::from_millis(200);
const PORT: u16 = 4433;
/// A QUIC Initial, which opens a connection.
const INITIAL: [u8; 8] = [0xc3, 0, 0, 0, 1, 0, 1, 7];
/// A QUIC packet with a short header.
const SHORT: [u8; 4] = [0x43, 1, 2, 3];

fn begin(bench: &mut Bench, delay_ms: u64) {
    bench.set_network(&common::delay_ms(delay_ms), 1).unwrap();
    bench.begin_cell().unwrap();
}

fn assert_nothing_arrives(socket: &UdpSocket) {
    socket.set_read_timeout(Some(NOTHING_FOR)).unwrap();
    let nothing = socket.recv_from(&mut [0; 64]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    socket.set_read_timeout(Some(RECEIVE_WITHIN)).unwrap();
}

#[test]
fn a_socket_of_no_address_goes_on_from_the_next_one() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let server = Side::Server.addresses();
    let (first, next) = (Addresses::of_client(0), Addresses::of_client(1));
    let v4 = (Ipv4Addr::UNSPECIFIED.into(), server.v4.into());
    let v6 = (Ipv6Addr::UNSPECIFIED.into(), server.v6.into());
    for (index, (any, to)) in [v4, v6].into_iter().enumerate() {
        begin(&mut bench, 0);
        let near = udp(&mut bench, Side::Client, any, 0);
        let far = udp(&mut bench, Side::Server, to, PORT);
        let port = near.local_addr().unwrap().port();
        let own = |addresses: Addresses| SocketAddr::new(addresses.all()[index], port);
        assert_eq!(bench.sent_by_client().unwrap(), 0);
        near.send_to(&INITIAL, (to, PORT)).unwrap();
        assert_eq!(receive(&far), (INITIAL.to_vec(), own(first)));
        assert_eq!(bench.sent_by_client().unwrap(), 1);

        bench.move_client(Families::Both).unwrap();
        near.send_to(&SHORT, (to, PORT)).unwrap();
        assert_eq!(receive(&far), (SHORT.to_vec(), own(next)));
        // Both addresses work until the first is left.
        for address in [first, next] {
            far.send_to(b"down", own(address)).unwrap();
            assert_eq!(receive(&near), (b"down".to_vec(), (to, PORT).into()));
        }
        bench.leave_addresses(false).unwrap();
        far.send_to(b"lost", own(first)).unwrap();
        assert_nothing_arrives(&near);
        far.send_to(b"down", own(next)).unwrap();
        assert_eq!(receive(&near).0, b"down");

        let window = bench.end_window().unwrap();
        assert_eq!(
            (window.down.dropped.nat, window.down.dropped.total()),
            (1, 1)
        );
        assert_eq!(window.foreign_drops.total(), 0);
        assert_eq!(window.up.foreign_frames, 0);
        let tap = bench.tap().unwrap();
        let fates: Vec<_> = tap.iter().map(|p| (p.stray, p.fate)).collect();
        let (passes, lost) = ((false, Fate::Delivered), (false, Fate::Unmapped));
        assert_eq!(fates, [passes, passes, passes, passes, lost, passes]);
        let is_own = |p: &TapRecord| p.client_port() == port;
        assert!(tap.iter().all(is_own), "{tap:?}");
    }
}

#[test]
fn a_nat_maps_the_next_address_anew() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let to = Side::Server.addresses().v4.into();
    let network = Network {
        nat: Some(NatSpec {
            rebind_at_ns: vec![0],
            ..NatSpec::default()
        }),
        ..common::delay_ms(0)
    };
    bench.set_network(&network, 1).unwrap();
    bench.begin_cell().unwrap();
    let near = udp(&mut bench, Side::Client, Ipv4Addr::UNSPECIFIED.into(), 0);
    let far = udp(&mut bench, Side::Server, to, PORT);
    let mut seen = Vec::new();
    for (moves, packet) in [&INITIAL[..], &SHORT].into_iter().enumerate() {
        near.send_to(packet, (to, PORT)).unwrap();
        let (received, from) = receive(&far);
        assert_eq!(received, packet);
        assert_eq!(from.ip(), Addresses::of_client(moves).v4);
        far.send_to(b"down", from).unwrap();
        assert_eq!(receive(&near).0, b"down");
        seen.push(from);
        bench.move_client(Families::Both).unwrap();
        bench.leave_addresses(false).unwrap();
    }
    bench.end_window().unwrap();
    let port = near.local_addr().unwrap().port();
    let tap = bench.tap().unwrap();
    let is_own = |p: &TapRecord| p.client_port() == port && !p.stray;
    assert!(tap.len() == 4 && tap.iter().all(is_own), "{seen:?} {tap:?}");
}

#[test]
fn what_is_under_way_to_an_address_that_is_left_is_dropped() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let to = Side::Server.addresses().v4.into();
    begin(&mut bench, 150);
    let near = udp(&mut bench, Side::Client, Ipv4Addr::UNSPECIFIED.into(), 0);
    let far = udp(&mut bench, Side::Server, to, PORT);
    near.send_to(&INITIAL, (to, PORT)).unwrap();
    let (_, from) = receive(&far);
    far.send_to(b"under way", from).unwrap();
    bench.move_client(Families::Both).unwrap();
    bench.leave_addresses(false).unwrap();
    assert_nothing_arrives(&near);
    let window = bench.end_window().unwrap();
    assert_eq!(
        (window.down.dropped.nat, window.down.dropped.total()),
        (1, 1)
    );
    let last = bench.tap().unwrap().pop().unwrap();
    assert_eq!(last.fate, Fate::Left);
}

/// Opens a TCP connection, and returns both ends.
fn connect(bench: &mut Bench, to: SocketAddr) -> (TcpStream, TcpStream) {
    let listener = bench.bind(Side::Server, SocketKind::Tcp, to).unwrap();
    let near: OwnedFd = bench.connect(Side::Client, to).unwrap();
    let (near, (far, _)) = (
        TcpStream::from(near),
        TcpListener::from(listener).accept().unwrap(),
    );
    for end in [&near, &far] {
        end.set_nonblocking(false).unwrap();
        end.set_read_timeout(Some(NOTHING_FOR)).unwrap();
    }
    (near, far)
}

#[test]
fn tcp_stays_where_it_was_and_is_silent_or_aborted_once_that_is_left() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let server = Side::Server.addresses();
    for to in [IpAddr::from(server.v4), server.v6.into()] {
        for abort_tcp in [false, true] {
            begin(&mut bench, 0);
            let (mut near, mut far) = connect(&mut bench, SocketAddr::new(to, PORT));
            bench.move_client(Families::Both).unwrap();
            near.write_all(b"x").unwrap();
            far.read_exact(&mut [0]).unwrap();
            bench.leave_addresses(abort_tcp).unwrap();
            far.write_all(b"lost").unwrap();
            let error = near.read(&mut [0]).unwrap_err().kind();
            let expected = match abort_tcp {
                false => ErrorKind::WouldBlock,
                true => ErrorKind::ConnectionAborted,
            };
            assert_eq!(error, expected, "{to}");
            // Another connection comes from the next address, and from a port of its own.
            let (next, _) = connect(&mut bench, SocketAddr::new(to, PORT + 1));
            let own = next.local_addr().unwrap();
            assert!(Addresses::of_client(1).all().contains(&own.ip()), "{own}");
            assert!((20_000..21_500).contains(&own.port()), "{own}");
            bench.end_window().unwrap();
            bench.clear_endpoints().unwrap();
        }
    }
}

#[test]
fn a_client_moves_on_and_begins_anew_with_each_network() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let to = SocketAddr::new(Side::Server.addresses().v4.into(), PORT);
    for leaves in [true, false] {
        begin(&mut bench, 0);
        for moves in 0..=MAX_MOVES {
            let (near, _) = connect(&mut bench, to);
            let own = near.local_addr().unwrap().ip();
            assert_eq!(own, Addresses::of_client(moves).v4);
            if moves < MAX_MOVES {
                bench.move_client(Families::Both).unwrap();
            }
            if leaves {
                bench.leave_addresses(false).unwrap();
            }
        }
        let error = bench.move_client(Families::Both).unwrap_err().to_string();
        assert!(error.contains("at most 8 times"), "{error}");
        bench.clear_endpoints().unwrap();
    }
    begin(&mut bench, 0);
    let (near, _) = connect(&mut bench, to);
    let own = near.local_addr().unwrap();
    assert_eq!(own.ip(), Addresses::of_client(0).v4);
    assert!(own.port() >= 32_768, "{own}");
}

#[test]
fn a_network_of_one_family_has_no_route_for_the_other() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let to = Side::Server.addresses();
    let [v4, v6] = to.all().map(|address| SocketAddr::new(address, PORT));
    begin(&mut bench, 0);
    let far = [v4, v6].map(|to| udp(&mut bench, Side::Server, to.ip(), PORT));
    let any = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let near = any.map(|any: IpAddr| udp(&mut bench, Side::Client, any, 0));
    for (moves, families, reached) in [
        (1, Families::V6, [false, true]),
        (2, Families::V4, [true, false]),
        (3, Families::Both, [true, true]),
    ] {
        bench.move_client(families).unwrap();
        bench.leave_addresses(false).unwrap();
        for (index, to) in [v4, v6].into_iter().enumerate() {
            let sent = near[index].send_to(&SHORT, to);
            let refused = sent.as_ref().map_err(std::io::Error::kind).err();
            if reached[index] {
                assert!(sent.is_ok(), "{to}: {sent:?}");
                let (_, from) = receive(&far[index]);
                assert_eq!(from.ip(), Addresses::of_client(moves).all()[index]);
            } else {
                assert_eq!(refused, Some(ErrorKind::NetworkUnreachable), "{to}");
            }
        }
    }
    bench.end_window().unwrap();
    begin(&mut bench, 0);
    for (index, to) in [v4, v6].into_iter().enumerate() {
        near[index].send_to(&INITIAL, to).unwrap();
        let (_, from) = receive(&far[index]);
        assert_eq!(from.ip(), Addresses::of_client(0).all()[index]);
    }
}
