//! The NAPI instances of an interface, by generic netlink (family "netdev", Linux 6.8).
//!
//! Written by hand because neither `neli` (0.7) nor `netlink-packet-generic` (0.5) knows that
//! family: only the lookup of its id would be shorter.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send,
    socket_with,
};

// linux/netlink.h, linux/genetlink.h
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLA_TYPE_MASK: u16 = 0x3fff;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
// linux/netdev.h
const NAPI_GET: u8 = 11;
const NAPI_IFINDEX: u16 = 1;
const NAPI_ID: u16 = 2;

/// Returns the ids of the NAPI instances of interface `index` in the calling thread's namespace.
/// The kernel threads that receive for the interface are named after them.
pub(crate) fn napi_ids(index: u32) -> io::Result<Vec<u32>> {
    let socket = open()?;
    let name = attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let replies = request(&socket, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, &name)?;
    let family = replies
        .iter()
        .find_map(|message| find(message, CTRL_ATTR_FAMILY_ID))
        .and_then(|value| value.first_chunk().map(|b| u16::from_ne_bytes(*b)));
    let Some(family) = family else {
        return Ok(Vec::new());
    };
    let device = attribute(NAPI_IFINDEX, &index.to_ne_bytes());
    let replies = request(&socket, family, NAPI_GET, NLM_F_DUMP, &device)?;
    let ids = replies.iter().filter_map(|message| find(message, NAPI_ID));
    Ok(ids
        .filter_map(|id| id.first_chunk().map(|id| u32::from_ne_bytes(*id)))
        .collect())
}

fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        flags,
        Some(netlink::GENERIC),
    )?;
    bind(socket.as_fd(), &netlink::SocketAddrNetlink::new(0, 0))?;
    Ok(socket)
}

/// Sends one request and returns the bodies (after the generic header) of all replies.
fn request(
    socket: &OwnedFd,
    family: u16,
    command: u8,
    flags: u16,
    attributes: &[u8],
) -> io::Result<Vec<Vec<u8>>> {
    let mut message = Vec::new();
    message.extend((20 + attributes.len() as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
    message.extend([0; 8]);
    message.extend([command, 1, 0, 0]);
    message.extend(attributes);
    send(socket.as_fd(), &message, SendFlags::empty())?;

    let mut bodies = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (len, _) = recv(socket.as_fd(), &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..len];
        while let Some((header, _)) = rest.split_first_chunk::<16>() {
            let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            let Some(message) = rest.get(..len).filter(|m| m.len() >= 20) else {
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
                _ => bodies.push(message[20..].to_vec()),
            }
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        }
    }
}

/// Encodes an attribute, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Returns the value of an attribute.
fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some((header, _)) = attributes.split_first_chunk::<4>() {
        let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & NLA_TYPE_MASK;
        let value = attributes.get(4..len)?;
        if kind == wanted {
            return Some(value);
        }
        attributes = attributes.get(len.next_multiple_of(4)..).unwrap_or(&[]);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_after_padding_and_malformed_ones_end_the_search() {
        let mut bytes = attribute(7, b"abc");
        bytes.extend(attribute(9, &5u32.to_ne_bytes()));
        assert_eq!(find(&bytes, 9), Some(&5u32.to_ne_bytes()[..]));
        assert_eq!(find(&bytes, 8), None);
        assert_eq!(find(&[0, 0, 0, 0], 1), None);
        assert_eq!(find(&[99, 0, 1, 0], 1), None);
    }
}
