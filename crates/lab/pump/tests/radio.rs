//! A radio that both directions share, between real endpoints.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use link::{Begins, Network, RadioSpec, RadioState, RadioStateSpec};
use pump::{Bench, Side, SocketKind};

const PROMOTION: Duration = Duration::from_millis(300);
/// The phone listens so seldom that a packet to it would be late if nothing else woke the radio up.
const CYCLE: Duration = Duration::from_secs(30);
/// A deadline against hanging, and far below the cycle.
const WITHIN: Duration = Duration::from_secs(10);
const PORT: u16 = 4433;

fn network() -> Network {
    let state = |name: &str| RadioStateSpec {
        name: name.to_owned(),
        ..RadioStateSpec::default()
    };
    let idle = RadioStateSpec {
        after_ns: CYCLE.as_nanos() as u64,
        down_cycle_ns: CYCLE.as_nanos() as u64,
        promotion_ns: PROMOTION.as_nanos() as u64,
        ..state("idle")
    };
    let radio = RadioSpec::new(Begins::Idle, vec![state("connected"), idle]).unwrap();
    let mut network = common::delay_ms(0);
    network.up.radio = Some(radio.clone());
    network.down.radio = Some(radio);
    network
}

fn udp(bench: &mut Bench, side: Side, port: u16) -> UdpSocket {
    let address = SocketAddr::new(side.addresses().v4.into(), port);
    let socket: UdpSocket = bench.bind(side, SocketKind::Udp, address).unwrap().into();
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(WITHIN)).unwrap();
    socket
}

#[test]
fn an_answer_finds_the_radio_that_the_request_woke_up() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let near = udp(&mut bench, Side::Client, 0);
    let far = udp(&mut bench, Side::Server, PORT);
    bench.set_network(&network(), 1).unwrap();
    bench.begin_cell().unwrap();
    let begun = Instant::now();
    let initial = [0xc3, 0, 0, 0, 1, 0, 1, 7];
    near.send_to(&initial, far.local_addr().unwrap()).unwrap();
    let (_, from) = far.recv_from(&mut [0; 64]).unwrap();
    assert!(begun.elapsed() >= PROMOTION, "{:?}", begun.elapsed());
    far.send_to(b"answer", from).unwrap();
    near.recv_from(&mut [0; 64]).unwrap();

    let window = bench.end_window().unwrap();
    let states: Vec<RadioState> = window.radio.changes.iter().map(|c| c.state).collect();
    // It falls asleep after the window.
    assert_eq!(
        states,
        [
            RadioState::At(1),
            RadioState::Promoting,
            RadioState::At(0),
            RadioState::At(1)
        ]
    );
    assert!(!window.radio.is_cut);
}
