//! Helpers for tests that start benches.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses some of these helpers"
)]

pub mod prober;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use link::{Network, PathSpec};
use pump::{Bench, BenchError, BenchOptions, Init, Process, Side, SocketKind, Spawn};

/// A user without privileges.
const NOBODY: u32 = 65534;
/// A deadline against hanging.
const EXIT_WITHIN: Duration = Duration::from_secs(30);
/// Likewise, for a datagram.
pub const RECEIVE_WITHIN: Duration = Duration::from_secs(10);

/// Returns the program that runs inside benches.
pub fn peer() -> PathBuf {
    env!("CARGO_BIN_EXE_pump-peer").into()
}

/// Starts a bench whose server has the name `server.test`.
pub fn try_bench() -> Result<Bench, BenchError> {
    Bench::start(&BenchOptions {
        init: Init {
            program: peer(),
            args: vec!["init".into()],
        },
        names: vec!["server.test".into()],
        jobs: 1,
        visible: Vec::new(),
        hidden: Vec::new(),
    })
}

/// Starts a bench, or skips the test where this machine does not allow one.
pub fn bench() -> Option<Bench> {
    match try_bench() {
        Ok(bench) => Some(bench),
        Err(e) => {
            testing::skip(&format!("this machine cannot start a bench: {e}"));
            None
        }
    }
}

/// Returns a network with the same delay in both directions.
pub fn delay_ms(ms: u64) -> Network {
    network(PathSpec {
        delay_ns: ms * 1_000_000,
        ..PathSpec::default()
    })
}

/// Returns a network with the same path in both directions.
pub fn network(path: PathSpec) -> Network {
    Network {
        name: "test".into(),
        about: String::new(),
        source: String::new(),
        basis: None,
        mtu: 1500,
        up: path.clone(),
        down: path,
        nat: None,
    }
}

/// Starts a verb of `pump-peer`, with its output piped.
pub fn spawn_peer(bench: &mut Bench, side: Side, args: &[&str]) -> (Process, BufReader<File>) {
    spawn(bench, side, peer(), args)
}

/// Starts a program, with its output piped.
pub fn spawn(
    bench: &mut Bench,
    side: Side,
    program: PathBuf,
    args: &[&str],
) -> (Process, BufReader<File>) {
    let (output, input) = std::io::pipe().unwrap();
    let stderr = std::io::stderr();
    let process = bench
        .spawn(
            side,
            Spawn {
                program,
                args: args.iter().map(Into::into).collect(),
                env: vec![("PATH".into(), "/usr/sbin:/usr/bin:/bin".into())],
                fds: vec![
                    (OwnedFd::from(input), 1),
                    (
                        std::os::fd::AsFd::as_fd(&stderr)
                            .try_clone_to_owned()
                            .unwrap(),
                        2,
                    ),
                ],
                ..Spawn::default()
            },
        )
        .unwrap();
    (process, BufReader::new(File::from(OwnedFd::from(output))))
}

/// Starts a server at the server end and waits until it listens.
pub fn serve(bench: &mut Bench, address: &str) -> (Process, BufReader<File>) {
    let (process, mut output) = spawn_peer(bench, Side::Server, &["serve", address]);
    expect_line(&mut output, "ready");
    (process, output)
}

/// Opens a UDP socket in an endpoint's namespace, which waits for datagrams with a deadline against hanging.
pub fn udp(bench: &mut Bench, side: Side, address: IpAddr, port: u16) -> UdpSocket {
    let address = SocketAddr::new(address, port);
    let socket: UdpSocket = bench.bind(side, SocketKind::Udp, address).unwrap().into();
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(RECEIVE_WITHIN)).unwrap();
    socket
}

/// Returns the next datagram and its sender.
pub fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut datagram = [0; 64];
    let (len, from) = socket.recv_from(&mut datagram).unwrap();
    (datagram[..len].to_vec(), from)
}

/// Reads one line and asserts that it is the expected one.
pub fn expect_line(output: &mut BufReader<File>, expected: &str) {
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), expected);
}

/// Waits for a process, asserts that it succeeded, and returns its output.
pub fn output(process: (Process, BufReader<File>)) -> String {
    let (mut process, mut output) = process;
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    let exit = process
        .wait(Some(EXIT_WITHIN))
        .unwrap()
        .expect("the process should have ended");
    assert!(exit.status.success(), "{:?}: {text}", exit.status);
    text
}

/// What a process printed of `/proc/self/status`.
pub struct ProcStatus(pub String);

impl ProcStatus {
    /// Returns a field, e.g. `Uid`, without the space around it.
    pub fn field(&self, name: &str) -> &str {
        let mut lines = self.0.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value
            .unwrap_or_else(|| panic!("no {name} in {}", self.0))
            .trim()
    }

    /// Asserts that the process has no capability and cannot gain one.
    pub fn assert_no_capabilities(&self) {
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(self.field(set), "0000000000000000", "{set}");
        }
        assert_eq!(self.field("NoNewPrivs"), "1");
    }
}

/// Runs the other tests of this file as an unprivileged user, if the user is root. `caller` is the
/// name of the calling test.
pub fn rerun_without_privileges(caller: &str) {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let rerun = std::os::unix::process::CommandExt::uid(
        &mut std::process::Command::new(std::env::current_exe().unwrap()),
        NOBODY,
    )
    .args(["--skip", caller, "--nocapture"])
    .current_dir("/")
    .status();
    match rerun {
        Ok(status) => assert!(status.success(), "without privileges: {status}"),
        Err(e) => testing::skip(&format!("user {NOBODY} cannot execute this test: {e}")),
    }
}
