//! How the sockets of an endpoint are set, read from the sockets themselves: what a client
//! library says of itself is not asked.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::costs;
use crate::sys;
use crate::window::Socket;

/// Every connected TCP socket and every UDP socket of the processes in a network namespace,
/// given by its inode. What may not be looked at, or goes away meanwhile, is left out.
pub(super) fn open_in(netns: u64) -> Vec<Socket> {
    let processes = costs::processes_in(netns).unwrap_or_default();
    let mut sockets: Vec<Socket> = processes.into_iter().flat_map(of_process).collect();
    // One socket may be held by several processes and descriptors.
    sockets.sort_by_key(|s| (s.local_port, s.peer_port, s.nodelay.is_none()));
    sockets.dedup();
    sockets.truncate(MOST);
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

/// A crowd's sockets are all alike.
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn our_own_sockets_are_read() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        near.set_nodelay(true).unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let sockets = open_in(own);
        let find = |port| sockets.iter().find(|s| s.local_port == port).unwrap();
        let tcp = find(near.local_addr().unwrap().port());
        assert_eq!(tcp.nodelay, Some(true));
        assert!(tcp.mss_bytes.is_some_and(|mss| mss > 0) && tcp.congestion.is_some());
        let datagrams = find(udp.local_addr().unwrap().port());
        assert_eq!((datagrams.nodelay, datagrams.udp_gro), (None, Some(false)));
    }
}
