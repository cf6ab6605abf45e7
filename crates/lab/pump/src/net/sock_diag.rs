//! Closes TCP sockets that no process holds any more, by sock_diag(7).

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::net::netlink;

use super::request::{NLM_F_DUMP, open, request};

// linux/sock_diag.h, linux/inet_diag.h
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SOCK_DESTROY: u16 = 21;
/// Place and length of `struct inet_diag_sockid` in a `struct inet_diag_msg`.
const ID_AT: usize = 4;
const ID_LEN: usize = 48;
/// Place of the local address in it, whatever its family.
const SOURCE_AT: usize = 4;
/// TCP_LISTEN.
const LISTEN: u32 = 10;

/// Closes all TCP sockets in the calling thread's namespace but those that listen, whatever their
/// state and owner, so that none retransmits any more. Those that are connected send a
/// RST now. Does nothing where the kernel cannot (it lacks CONFIG_INET_DIAG_DESTROY).
pub(crate) fn close_tcp_sockets() -> io::Result<()> {
    match close(|_, _| true) {
        Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        other => other,
    }
}

/// Closes the TCP sockets in the calling thread's namespace that are bound to this address and do not listen, as
/// [`close_tcp_sockets`] does. Fails where there are some and the kernel cannot.
pub(crate) fn close_tcp_sockets_at(address: IpAddr) -> io::Result<()> {
    close(|family, id| source(family, id) == address).map_err(unsupported)
}

/// Names what the kernel lacks if it cannot close sockets.
fn unsupported(e: io::Error) -> io::Error {
    match e.raw_os_error() {
        Some(libc::EOPNOTSUPP) => io::Error::new(
            io::ErrorKind::Unsupported,
            "abort_tcp: this kernel cannot close TCP sockets, since it lacks CONFIG_INET_DIAG_DESTROY",
        ),
        _ => e,
    }
}

/// Closes the sockets that are wanted by their family and id.
fn close(is_wanted: impl Fn(i32, &[u8; ID_LEN]) -> bool) -> io::Result<()> {
    let socket = open(netlink::SOCK_DIAG)?;
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut found = sockets(&socket, family as u8)?;
        found.retain(|id| is_wanted(family, id));
        for id in found {
            let closed = request(&socket, SOCK_DESTROY, 0, &about(family as u8, 0, &id));
            match closed.map_err(|e| (e.raw_os_error(), e)) {
                // Closed meanwhile.
                Ok(_) | Err((Some(libc::ENOENT), _)) => {}
                Err((_, e)) => return Err(e),
            }
        }
    }
    Ok(())
}

/// Returns a socket's local address. One of both families may have an IPv4 address within IPv6.
fn source(family: i32, id: &[u8; ID_LEN]) -> IpAddr {
    let mut v6 = [0; 16];
    v6.copy_from_slice(&id[SOURCE_AT..SOURCE_AT + 16]);
    match family {
        libc::AF_INET => IpAddr::from([v6[0], v6[1], v6[2], v6[3]]),
        _ => IpAddr::from(v6).to_canonical(),
    }
}

/// Returns the kernel's ids of the sockets that do not listen.
fn sockets(socket: &OwnedFd, family: u8) -> io::Result<Vec<[u8; ID_LEN]>> {
    let any = [0; ID_LEN];
    let dump = about(family, !(1 << LISTEN), &any);
    let found = request(socket, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &dump)?;
    Ok(found
        .iter()
        .filter_map(|body| body.get(ID_AT..)?.first_chunk().copied())
        .collect())
}

/// Encodes a `struct inet_diag_req_v2`.
fn about(family: u8, states: u32, id: &[u8; ID_LEN]) -> Vec<u8> {
    let mut body = vec![family, libc::IPPROTO_TCP as u8, 0, 0];
    body.extend(states.to_ne_bytes());
    body.extend(id);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_cannot_close_sockets_is_named() {
        let of = |number| unsupported(io::Error::from_raw_os_error(number));
        let lacking = of(libc::EOPNOTSUPP).to_string();
        assert!(lacking.contains("CONFIG_INET_DIAG_DESTROY"), "{lacking}");
        assert_eq!(of(libc::EPERM).raw_os_error(), Some(libc::EPERM));
    }
}
