//! The NAPI instances of an interface, by generic netlink (family "netdev", Linux 6.8).
//!
//! Written by hand because neither `neli` (0.7) nor `netlink-packet-generic` (0.5) knows that
//! family: only the lookup of its id would be shorter.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netlink;

use super::request::{NLM_F_DUMP, open, request};

// linux/netlink.h, linux/genetlink.h
const NLA_TYPE_MASK: u16 = 0x3fff;
const GENERIC_HEADER_LEN: usize = 4;
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
    let socket = open(netlink::GENERIC)?;
    let name = attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0");
    let replies = send(&socket, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, &name)?;
    let family = replies
        .iter()
        .find_map(|message| find(message, CTRL_ATTR_FAMILY_ID))
        .and_then(|value| value.first_chunk().map(|b| u16::from_ne_bytes(*b)));
    let Some(family) = family else {
        return Ok(Vec::new());
    };
    let device = attribute(NAPI_IFINDEX, &index.to_ne_bytes());
    let replies = send(&socket, family, NAPI_GET, NLM_F_DUMP, &device)?;
    let ids = replies.iter().filter_map(|message| find(message, NAPI_ID));
    Ok(ids
        .filter_map(|id| id.first_chunk().map(|id| u32::from_ne_bytes(*id)))
        .collect())
}

/// Sends one request and returns the attributes of all replies.
fn send(
    socket: &OwnedFd,
    family: u16,
    command: u8,
    flags: u16,
    attributes: &[u8],
) -> io::Result<Vec<Vec<u8>>> {
    let mut body = vec![command, 1, 0, 0];
    body.extend(attributes);
    let replies = request(socket, family, flags, &body)?;
    Ok(replies
        .iter()
        .filter_map(|reply| reply.get(GENERIC_HEADER_LEN..))
        .map(<[u8]>::to_vec)
        .collect())
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
