//! Attempts at sockets: of the machine, of its network, and of rare families.

use std::fs;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use crate::attempt::{Machine, Tried, check, tried};

/// The loopback, and the lab's ends of the link.
const BENCH_DEVICES: [&str; 3] = ["lo", "client", "server"];
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

pub(crate) fn attempts(machine: &Machine) -> Vec<Tried> {
    let socket = |family, kind| {
        let fd = unsafe { libc::socket(family, kind, 0) };
        check(fd)
    };
    let connect = |address: &str| {
        let address = address.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| io::Error::other("no address"))?;
        TcpStream::connect_timeout(&address, CONNECT_LIMIT).map(drop)
    };
    let abstract_name = SocketAddr::from_abstract_name(&machine.abstract_name);
    let bus = UnixStream::connect("/run/dbus/system_bus_socket");
    vec![
        tried(
            "connect to a Unix socket of the machine",
            UnixStream::connect(&machine.socket).map(drop),
        ),
        tried("connect to the machine's D-Bus", bus.map(drop)),
        tried(
            "connect to an abstract Unix socket of the machine",
            abstract_name
                .and_then(|name| UnixStream::connect_addr(&name))
                .map(drop),
        ),
        tried(
            "connect to the machine's loopback",
            connect(&machine.address),
        ),
        tried("connect to another machine", connect("192.0.2.1:80")),
        tried(
            "find a network device of the machine (`/sys`)",
            other_device(),
        ),
        tried("open a raw socket", socket(libc::AF_INET, libc::SOCK_RAW)),
        tried(
            "open a packet socket",
            socket(libc::AF_PACKET, libc::SOCK_RAW),
        ),
        tried(
            "open a socket to the hypervisor (vsock)",
            socket(libc::AF_VSOCK, libc::SOCK_STREAM),
        ),
        tried(
            "open a socket to the kernel's ciphers",
            socket(libc::AF_ALG, libc::SOCK_SEQPACKET),
        ),
    ]
}

/// Finds a network device besides those of the bench.
fn other_device() -> io::Result<()> {
    for entry in fs::read_dir("/sys/class/net")? {
        let name = entry?.file_name();
        if BENCH_DEVICES.iter().all(|device| name != *device) {
            return Ok(());
        }
    }
    Err(io::Error::other("none"))
}
