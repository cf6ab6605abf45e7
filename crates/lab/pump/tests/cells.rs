//! Windows of cells: packets of earlier connections take no part in them, and endpoints that were
//! cleared send none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use link::tap::{Fate, SYN, Sack, TapRecord};
use link::{LossSpec, Network, PathSpec};
use pump::{Bench, Side, SocketKind};

/// A deadline against hanging: the networks delay packets by 20 ms at most.
const SETTLE_WITHIN: Duration = Duration::from_secs(5);
/// Three round trips over 250 ms each way.
const EXCHANGE: Duration = Duration::from_millis(1500);
/// Longer than a retransmission timeout of Linux at this round trip (RFC 6298: srtt + 4 rttvar).
const RETRANSMISSIONS: Duration = Duration::from_millis(2500);
const LISTEN: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(198, 18, 0, 2)),
    4433,
);

/// A TCP connection from the client's end to the server's.
struct Connection {
    client: TcpStream,
    server: TcpStream,
}

fn connect(bench: &mut Bench, listener: &TcpListener) -> Connection {
    let client = bench.connect(Side::Client, LISTEN).unwrap();
    Connection {
        client: client.into(),
        server: listener.accept().unwrap().0,
    }
}

fn listen(bench: &mut Bench) -> TcpListener {
    bench
        .bind(Side::Server, SocketKind::Tcp, LISTEN)
        .unwrap()
        .into()
}

/// Sends bytes down a connection and reads them all.
fn download(connection: &mut Connection, bytes: usize) {
    let mut server = connection.server.try_clone().unwrap();
    let sender = std::thread::spawn(move || server.write_all(&vec![7; bytes]).unwrap());
    connection.client.read_exact(&mut vec![0; bytes]).unwrap();
    sender.join().unwrap();
}

#[test]
fn packets_of_earlier_connections_are_stray() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    bench.set_network(&common::delay_ms(5), 1).unwrap();
    let listener = listen(&mut bench);
    let mut earlier = connect(&mut bench, &listener);
    assert!(bench.settle(SETTLE_WITHIN).unwrap());
    bench.begin_cell().unwrap();
    earlier.client.write_all(b"late").unwrap();
    drop(earlier);
    assert!(bench.settle(SETTLE_WITHIN).unwrap());
    let window = bench.end_window().unwrap();
    for totals in [&window.up, &window.down] {
        assert!(totals.stray.sent.packets > 0, "{totals:?}");
        assert_eq!(totals.stray.delivered, totals.stray.sent);
        assert_eq!((totals.sent.total().packets, totals.in_flight()), (0, 0));
    }
    let tap = bench.tap().unwrap();
    assert!(!tap.is_empty() && tap.iter().all(|p| p.stray), "{tap:?}");

    bench.begin_cell().unwrap();
    drop(connect(&mut bench, &listener));
    assert!(bench.settle(SETTLE_WITHIN).unwrap());
    let window = bench.end_window().unwrap();
    for totals in [&window.up, &window.down] {
        assert_eq!(totals.stray.sent.packets, 0, "{totals:?}");
        assert!(totals.sent.tcp.packets > 0);
    }
}

/// Returns a network with a round trip of 20 ms and 3 % loss.
fn lossy() -> Network {
    common::network(PathSpec {
        delay_ns: 10_000_000,
        loss: Some(LossSpec::Iid { ppb: 30_000_000 }),
        ..PathSpec::default()
    })
}

/// Runs a download in a cell, after packets of an earlier connection if `late_packets`. Returns
/// whether each full-size packet down was lost, and the number of stray packets.
fn losses(bench: &mut Bench, listener: &TcpListener, late_packets: bool) -> (Vec<bool>, u64) {
    bench.set_network(&common::delay_ms(1), 1).unwrap();
    let mut earlier = connect(bench, listener);
    bench.set_network(&lossy(), 7).unwrap();
    bench.begin_cell().unwrap();
    if late_packets {
        earlier.client.write_all(b"late").unwrap();
        earlier.server.write_all(b"late").unwrap();
        assert!(bench.settle(SETTLE_WITHIN).unwrap());
    }
    let mut connection = connect(bench, listener);
    let port = connection.client.local_addr().unwrap().port();
    download(&mut connection, 1_000_000);
    let window = bench.end_window().unwrap();
    bench.clear_endpoints().unwrap();
    let full = |p: &&TapRecord| p.dst_port == port && p.ip_bytes > 1000;
    let lost = |p: &TapRecord| matches!(p.fate, Fate::Dropped(_));
    let tap = bench.tap().unwrap();
    let strays = window.up.stray.sent.packets + window.down.stray.sent.packets;
    (tap.iter().filter(full).map(lost).collect(), strays)
}

/// Returns how many packets that both have were lost in one of the two only.
fn differences(a: &[bool], b: &[bool]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

#[test]
fn late_packets_of_an_earlier_connection_change_no_loss() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let listener = listen(&mut bench);
    let (without, none) = losses(&mut bench, &listener, false);
    let (with, some) = losses(&mut bench, &listener, true);
    assert!(none == 0 && some > 0, "{none} and {some} stray packets");
    let lost = without.iter().filter(|lost| **lost).count();
    assert_eq!(differences(&without, &with), 0, "{lost} lost");
    assert!(lost > 5, "{lost} lost");
    // Where every flow is numbered, the earlier connection takes the number of the later one.
    bench.number_every_flow().unwrap();
    let (shifted, none) = losses(&mut bench, &listener, true);
    assert!(none == 0 && differences(&without, &shifted) > 0);
}

#[test]
fn the_tap_shows_windows_and_selective_acknowledgements() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let listener = listen(&mut bench);
    bench.set_network(&lossy(), 7).unwrap();
    bench.begin_cell().unwrap();
    let mut connection = connect(&mut bench, &listener);
    download(&mut connection, 1_000_000);
    bench.end_window().unwrap();
    bench.clear_endpoints().unwrap();
    let tap = bench.tap().unwrap();
    let (syns, rest): (Vec<&TapRecord>, Vec<&TapRecord>) =
        tap.iter().partition(|p| p.tcp_flags & SYN != 0);
    assert!(syns.len() >= 2);
    for syn in syns {
        assert!(syn.options.window_shift.is_some(), "{syn:?}");
        assert_eq!(syn.options.sack, Sack::Permitted, "{syn:?}");
    }
    assert!(rest.iter().all(|p| p.options.window_shift.is_none()));
    assert!(rest.iter().any(|p| p.window > 0));
    // A gap is reported with what came after it; a duplicate with what had been acknowledged (RFC 2883).
    let is_beyond = |p: &&TapRecord| match p.options.sack {
        Sack::UpTo(end) => (1..1_000_000).contains(&end.wrapping_sub(p.ack)),
        _ => false,
    };
    assert!(rest.iter().any(is_beyond));
}

#[test]
fn cleared_endpoints_send_nothing_into_the_next_cell() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    for address in ["198.18.0.2:443", "[2001:2::2]:443"] {
        let strays = strays_after(&mut bench, true, address);
        assert_eq!(strays, 0, "stray packets to {address}");
    }
    // Otherwise there are some, unless a busy machine was so slow that the link had become empty.
    let mut tries = 0..5;
    assert!(tries.any(|_| strays_after(&mut bench, false, "198.18.0.2:443") > 0));
}

/// Returns how many packets of a cell's connection come to the link in the next cell, where the endpoints were cleared
/// in between or only their processes killed.
fn strays_after(bench: &mut Bench, clears: bool, address: &str) -> u64 {
    // So far that the RST of a killed client is still on the link when the next cell restarts it.
    let far = common::delay_ms(250);
    bench.set_network(&far, 1).unwrap();
    let listen = address.replace("198.18.0.2", "0.0.0.0");
    let listen = listen.replace("2001:2::2", "::");
    let (mut server, _server_output) = common::serve(bench, &listen);
    bench.begin_cell().unwrap();
    let fetch = ["fetch", address, "1000000000"];
    let (mut client, _output) = common::spawn_peer(bench, Side::Client, &fetch);
    std::thread::sleep(EXCHANGE);
    let window = bench.end_window().unwrap();
    assert!(window.down.sent.tcp.packets > 5, "{window:?}");
    if clears {
        bench.clear_endpoints().unwrap();
    } else {
        client.kill(9).unwrap();
        server.kill(9).unwrap();
    }
    for process in [&mut client, &mut server] {
        assert!(process.wait(Some(SETTLE_WITHIN)).unwrap().is_some());
    }
    bench.set_network(&far, 1).unwrap();
    bench.begin_cell().unwrap();
    std::thread::sleep(RETRANSMISSIONS);
    let window = bench.end_window().unwrap();
    window.up.stray.sent.packets + window.down.stray.sent.packets
}

#[test]
fn all_tests_pass_without_privileges() {
    common::rerun_without_privileges("all_tests_pass_without_privileges");
}
