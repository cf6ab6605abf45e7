//! The settings of an endpoint's sockets, read from the sockets themselves rather than reported by
//! a client library.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use link::window::Socket;
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::costs;
use crate::sys;

/// A bound on the result: sockets in such numbers share their settings.
const SOCKETS_MAX: usize = 256;

/// Returns the connected TCP sockets and the UDP sockets of all processes in a network namespace,
/// given by its inode. Omits sockets that are inaccessible or closed meanwhile, and all beyond
/// [`SOCKETS_MAX`].
pub(super) fn open_in(netns: u64) -> Vec<Socket> {
    let processes = costs::processes_in(netns).unwrap_or_default();
    let mut sockets: Vec<Socket> = processes.into_iter().flat_map(of_process).collect();
    // Several processes and descriptors may share a socket.
    sockets.sort_by_key(|s| (s.local_port, s.peer_port, s.nodelay.is_none()));
    sockets.dedup();
    sockets.truncate(SOCKETS_MAX);
    sockets
}

fn of_process(pid: i32) -> Vec<Socket> {
    let Some(process) = Pid::from_raw(pid).and_then(|p| pidfd_open(p, PidfdFlags::empty()).ok())
    else {
        return Vec::new();
    };
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    descriptors
        .filter_map(Result::ok)
        .filter(|entry| {
            fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok())
        .filter_map(|socket| read(&socket))
        .collect()
}

fn read(socket: &OwnedFd) -> Option<Socket> {
    let family = sockopt::socket_domain(socket).ok()?;
    if family != AddressFamily::INET && family != AddressFamily::INET6 {
        return None;
    }
    let tcp = sockopt::socket_type(socket).ok()? == SocketType::STREAM;
    let port = |address: SocketAddr| address.port();
    let local = rustix::net::getsockname(socket).ok()?;
    let peer = rustix::net::getpeername(socket).ok().flatten();
    let peer_port = peer.and_then(|a| SocketAddr::try_from(a).ok()).map(port);
    if tcp && peer_port.is_none() {
        return None;
    }
    let option = |level, name| sys::socket_option(socket, level, name).ok();
    Some(Socket {
        local_port: SocketAddr::try_from(local).map(port).ok()?,
        peer_port,
        send_buffer_bytes: sockopt::socket_send_buffer_size(socket).ok()? as u64,
        receive_buffer_bytes: sockopt::socket_recv_buffer_size(socket).ok()? as u64,
        nodelay: sockopt::tcp_nodelay(socket).ok().filter(|_| tcp),
        congestion: sockopt::tcp_congestion(socket).ok().filter(|_| tcp),
        mss_bytes: option(libc::IPPROTO_TCP, libc::TCP_MAXSEG).filter(|_| tcp),
        udp_gro: option(libc::IPPROTO_UDP, libc::UDP_GRO)
            .filter(|_| !tcp)
            .map(|on| on != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn sockets_of_this_process_are_read() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let sockets = open_in(own);
        let find = |port| sockets.iter().find(|s| s.local_port == port).unwrap();
        let tcp = find(stream.local_addr().unwrap().port());
        assert_eq!(tcp.nodelay, Some(true));
        assert!(tcp.mss_bytes.is_some_and(|mss| mss > 0) && tcp.congestion.is_some());
        let datagrams = find(udp.local_addr().unwrap().port());
        assert_eq!((datagrams.nodelay, datagrams.udp_gro), (None, Some(false)));
    }
}
