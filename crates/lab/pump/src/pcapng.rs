//! Writes the frames that one interface saw as a pcapng file (draft-ietf-opsawg-pcapng), with timestamps in nanoseconds.
//!
//! Written by hand because three block types need 40 lines; `pcap-file` (2.0) would also allocate a
//! `Vec` of options per frame.

use std::io::{self, Write};

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Interfaces are numbered in the order of their blocks.
const FIRST_INTERFACE: u32 = 0;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
const END: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// A frame as seen at one end of the link.
pub(crate) struct CapturedFrame<'a> {
    /// Time since the Unix epoch.
    pub(crate) at_ns: u64,
    /// Received by that end rather than sent.
    pub(crate) inbound: bool,
    pub(crate) bytes: &'a [u8],
}

/// Writes a complete file: one section, one interface, its frames in the given order.
pub(crate) fn write<'a>(
    out: &mut impl Write,
    interface: &str,
    frames: impl Iterator<Item = CapturedFrame<'a>>,
) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend(BYTE_ORDER.to_le_bytes());
    section.extend(1u16.to_le_bytes());
    section.extend(0u16.to_le_bytes());
    section.extend((-1i64).to_le_bytes());
    block(out, SECTION_HEADER, &section)?;
    let mut description = Vec::new();
    description.extend(ETHERNET.to_le_bytes());
    description.extend([0; 6]);
    option(&mut description, IF_NAME, interface.as_bytes());
    option(&mut description, IF_TSRESOL, &[9]);
    option(&mut description, END, &[]);
    block(out, INTERFACE, &description)?;
    let mut packet = Vec::new();
    for frame in frames {
        packet.clear();
        packet.extend(FIRST_INTERFACE.to_le_bytes());
        packet.extend(((frame.at_ns >> 32) as u32).to_le_bytes());
        packet.extend((frame.at_ns as u32).to_le_bytes());
        let len = (frame.bytes.len() as u32).to_le_bytes();
        packet.extend(len);
        packet.extend(len);
        packet.extend(frame.bytes);
        packet.resize(packet.len().next_multiple_of(4), 0);
        let direction: u32 = if frame.inbound { 1 } else { 2 };
        option(&mut packet, EPB_FLAGS, &direction.to_le_bytes());
        option(&mut packet, END, &[]);
        block(out, ENHANCED_PACKET, &packet)?;
    }
    Ok(())
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len)?;
    out.write_all(body)?;
    out.write_all(&len)
}

fn option(into: &mut Vec<u8>, code: u16, value: &[u8]) {
    into.extend(code.to_le_bytes());
    into.extend((value.len() as u16).to_le_bytes());
    into.extend(value);
    into.resize(into.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_end_with_their_length() {
        let mut file = Vec::new();
        let frame = CapturedFrame {
            at_ns: 0x1_0000_0002,
            inbound: true,
            bytes: b"abcde",
        };
        write(&mut file, "longer", [frame].into_iter()).unwrap();
        let mut kinds = Vec::new();
        let mut rest = &file[..];
        while !rest.is_empty() {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let len = word(4) as usize;
            assert_eq!((len % 4, word(len - 4) as usize), (0, len));
            if word(0) == ENHANCED_PACKET {
                assert_eq!(
                    [word(8), word(12), word(16), word(20), word(24)],
                    [FIRST_INTERFACE, 1, 2, 5, 5]
                );
                assert_eq!(&rest[28..36], b"abcde\0\0\0");
            }
            kinds.push(word(0));
            rest = &rest[len..];
        }
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE, ENHANCED_PACKET]);
    }
}
