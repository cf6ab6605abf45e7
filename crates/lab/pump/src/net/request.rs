//! Requests by netlink with hand-written messages.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send,
    socket_with,
};

// linux/netlink.h
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
pub(super) const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const HEADER_LEN: usize = 16;

/// Opens a socket to the kernel, for the calling thread's namespace.
pub(super) fn open(protocol: Protocol) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        flags,
        Some(protocol),
    )?;
    bind(socket.as_fd(), &SocketAddrNetlink::new(0, 0))?;
    Ok(socket)
}

/// Sends one request and returns the bodies of all replies.
pub(super) fn request(
    socket: &OwnedFd,
    kind: u16,
    flags: u16,
    body: &[u8],
) -> io::Result<Vec<Vec<u8>>> {
    let mut message = Vec::new();
    message.extend((HEADER_LEN as u32 + body.len() as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(socket.as_fd(), &message, SendFlags::empty())?;

    let mut bodies = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (len, _) = recv(socket.as_fd(), &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..len];
        while let Some((header, _)) = rest.split_first_chunk::<HEADER_LEN>() {
            let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            let Some(message) = rest.get(..len).filter(|m| m.len() >= HEADER_LEN + 4) else {
                break;
            };
            match kind {
                NLMSG_ERROR | NLMSG_DONE => {
                    let code =
                        i32::from_ne_bytes([message[16], message[17], message[18], message[19]]);
                    return if code == 0 {
                        Ok(bodies)
                    } else {
                        Err(io::Error::from_raw_os_error(-code))
                    };
                }
                _ => bodies.push(message[HEADER_LEN..].to_vec()),
            }
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        }
    }
}
