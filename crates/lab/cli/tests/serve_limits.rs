//! `commute serve` with few descriptors: one client cannot lock out others, and a warning is logged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use common::command::Running;
use common::{Sandbox, User};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

const GREEDY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const GREEDY_TOO: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 4);
const OF_ONE_ADDRESS: &str = "the most of one address";

/// Starts a server without TLS behind `ulimit`, with these options of it.
fn start(sandbox: &Sandbox, ulimit: &str) -> (Running, SocketAddr) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut command = Command::new("sh");
    let script = format!("ulimit {ulimit} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_commute"), "serve"]);
    command.args(["--listen", "127.0.0.1:0", "--plaintext-listen"]);
    command.arg(address.to_string());
    sandbox.configure(&mut command, User::Caller);
    let running = Running::start(command);
    common::command::wait_until("it listens", || TcpStream::connect(address).is_ok());
    (running, address)
}

fn connect_from(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let client = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&client, &SocketAddr::from((from, 0))).unwrap();
    connect(&client, &to).unwrap();
    let client = TcpStream::from(client);
    client
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    client
}

/// Opens idle connections, and returns those that the server did not close at once.
fn hold(from: Ipv4Addr, to: SocketAddr, count: usize) -> Vec<TcpStream> {
    let opened: Vec<TcpStream> = (0..count).map(|_| connect_from(from, to)).collect();
    // The connection after the last one is answered or closed, so the server has seen all before it.
    drop(health(from, to));
    let is_open = |client: &TcpStream| {
        client.set_nonblocking(true).unwrap();
        let read = (&*client).read(&mut [0]);
        read.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock)
    };
    opened.into_iter().filter(is_open).collect()
}

fn health(from: Ipv4Addr, to: SocketAddr) -> std::io::Result<String> {
    let mut client = connect_from(from, to);
    client.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    client.read_to_string(&mut response)?;
    Ok(response)
}

#[test]
fn one_address_takes_half_of_the_descriptors_at_most() {
    let sandbox = Sandbox::new();
    let (server, address) = start(&sandbox, "-n 256");
    // 64 of 256 are for other files.
    let held = hold(GREEDY, address, 300);
    assert_eq!(held.len(), (256 - 64) / 2);
    let response = health(OTHER, address).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    server.wait_for_stderr(OF_ONE_ADDRESS);
    // Two addresses take all places, but descriptors are left.
    let _held_too = hold_in_queue(GREEDY_TOO, address, 150);
    server.wait_for_stderr("connections are taken");
    drop(held);
    let response = health(OTHER, address).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    server.signal(rustix::process::Signal::TERM);
    let output = server.finish().exits_with(0);
    assert_eq!(output.stderr.matches(OF_ONE_ADDRESS).count(), 1, "{output}");
    assert!(!output.stderr.contains("cannot accept"), "{output}");
}

/// Opens connections that the server may leave in the kernel's queue.
fn hold_in_queue(from: Ipv4Addr, to: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| connect_from(from, to)).collect()
}

#[test]
fn the_soft_limit_of_descriptors_is_raised() {
    let sandbox = Sandbox::new();
    // `sh` sets both limits without -S.
    let (server, address) = start(&sandbox, "-n 600 && ulimit -S -n 80");
    let held = hold(GREEDY, address, 300);
    assert_eq!(held.len(), (600 - 64) / 2);
    assert!(health(OTHER, address).unwrap().starts_with("HTTP/1.1 200"));
    drop(held);
    server.signal(rustix::process::Signal::TERM);
    server
        .finish()
        .exits_with(0)
        .stderr_contains(OF_ONE_ADDRESS);
}
