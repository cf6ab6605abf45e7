//! The frames of a capture file: pcap and pcapng (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).

use pcap_parser::pcapng::{
    Block, EnhancedPacketBlock, InterfaceDescriptionBlock, parse_block_be, parse_block_le,
};
use pcap_parser::{
    LegacyPcapBlock, OptionCode, PcapError, PcapHeader, parse_pcap_frame, parse_pcap_frame_be,
    parse_pcap_frame_modified, parse_pcap_header,
};

use crate::error::{CaptureError, Place};

const PCAPNG: &[u8] = &[0x0a, 0x0d, 0x0d, 0x0a];
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The type of a pcapng block that Enhanced Packet Blocks have replaced.
const OLD_PACKET_BLOCK: u32 = 2;
/// What a section of pcapng begins its header with, in its own byte order.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const SECOND_NS: i128 = 1_000_000_000;
/// Set in `if_tsresol` where the unit is a power of 2, and not of 10.
const BINARY_UNIT: u8 = 0x80;
/// Microseconds, where an interface names no unit.
const DEFAULT_UNIT: u8 = 6;

/// A frame of a capture.
pub(crate) struct Frame<'a> {
    /// Its number, counted from 1.
    pub(crate) number: u32,
    /// Time since the Unix epoch.
    pub(crate) at_ns: u64,
    /// The type of its first header, a LINKTYPE of tcpdump.org.
    pub(crate) link: u16,
    /// The interface in the section of pcapng; 0 in pcap.
    pub(crate) interface: u32,
    /// How long it was.
    pub(crate) original_bytes: u32,
    /// What was kept of it.
    pub(crate) bytes: &'a [u8],
}

/// Passes each frame of a file to a function, in the file's order.
pub(crate) fn frames<'a>(
    file: &str,
    bytes: &'a [u8],
    each: impl FnMut(Frame<'a>) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    let mut reader = Reader {
        file,
        bytes,
        number: 0,
        each,
    };
    if bytes.starts_with(PCAPNG) {
        return reader.pcapng();
    }
    match parse_pcap_header(bytes) {
        Ok((_, header)) => reader.pcap(&header),
        Err(nom) if is_cut(&nom) && !bytes.is_empty() => {
            Err(reader.at(0, "the file's header is cut off: capture again"))
        }
        Err(_) if bytes.starts_with(GZIP) => {
            Err(reader.at(0, "compressed: decompress the file with gunzip"))
        }
        Err(_) if bytes.starts_with(ZSTD) => {
            Err(reader.at(0, "compressed: decompress the file with unzstd"))
        }
        Err(_) => Err(reader.at(
            0,
            "neither pcap nor pcapng: write one with `tcpdump -w FILE tcp`",
        )),
    }
}

struct Reader<'n, 'f, F> {
    file: &'n str,
    bytes: &'f [u8],
    /// Of the last frame.
    number: u32,
    each: F,
}

/// An interface of a section of pcapng.
struct Interface {
    link: u16,
    units_per_second: u64,
    offset_seconds: i64,
}

impl<'f, F> Reader<'_, 'f, F>
where
    F: FnMut(Frame<'f>) -> Result<(), CaptureError>,
{
    fn pcap(&mut self, header: &PcapHeader) -> Result<(), CaptureError> {
        let parse = match (header.is_modified_format(), header.is_bigendian()) {
            (true, _) => parse_pcap_frame_modified,
            (false, true) => parse_pcap_frame_be,
            (false, false) => parse_pcap_frame,
        };
        let units_per_second = match header.is_nanosecond_precision() {
            true => 1_000_000_000,
            false => 1_000_000,
        };
        // The upper half says how long the frames' check sequences are.
        let link = header.network.0 as u16;
        let mut rest = &self.bytes[header.size()..];
        while !rest.is_empty() {
            self.number += 1;
            let (after, frame) = parse(rest).map_err(|nom| self.broken(&nom, "frame"))?;
            let at_ns = self.legacy_time(&frame, units_per_second)?;
            let lengths = [frame.caplen, frame.origlen];
            self.pass((link, 0), at_ns, lengths, frame.data)?;
            rest = after;
        }
        Ok(())
    }

    fn legacy_time(&self, frame: &LegacyPcapBlock<'_>, units: u32) -> Result<u64, CaptureError> {
        if frame.ts_usec >= units {
            let problem = format!(
                "its time has {} parts of a second, of which there are {units}: the file is damaged",
                frame.ts_usec
            );
            return Err(self.in_packet(problem));
        }
        let unit_ns = 1_000_000_000 / units;
        Ok(u64::from(frame.ts_sec) * 1_000_000_000 + u64::from(frame.ts_usec * unit_ns))
    }

    fn pcapng(&mut self) -> Result<(), CaptureError> {
        let mut rest = self.bytes;
        let mut is_big_endian = false;
        let mut interfaces: Vec<Interface> = Vec::new();
        while !rest.is_empty() {
            let offset = self.bytes.len() - rest.len();
            if rest.starts_with(PCAPNG)
                && let Some(order) = rest.get(8..12)
            {
                is_big_endian = order == BYTE_ORDER.to_be_bytes();
                if !is_big_endian && order != BYTE_ORDER.to_le_bytes() {
                    return Err(self.at(
                        offset,
                        "the section's byte order is unknown: the file is damaged",
                    ));
                }
            }
            let parse = match is_big_endian {
                true => parse_block_be,
                false => parse_block_le,
            };
            let (after, block) = parse(rest).map_err(|nom| match is_cut(&nom) {
                true => self.at(
                    offset,
                    "the file ends within a block: keep what is whole with `editcap IN OUT`",
                ),
                false => self.at(offset, "a block is malformed: the file is damaged"),
            })?;
            match block {
                Block::SectionHeader(_) => interfaces.clear(),
                Block::InterfaceDescription(interface) => {
                    interfaces.push(self.interface(&interface, offset, is_big_endian)?);
                }
                Block::EnhancedPacket(packet) => {
                    self.number += 1;
                    self.enhanced(&packet, &interfaces)?;
                }
                Block::SimplePacket(_) => {
                    self.number += 1;
                    return Err(self.in_packet(
                        "it has no time, as in all Simple Packet Blocks: capture with tcpdump or dumpcap",
                    ));
                }
                Block::Unknown(unknown) if unknown.block_type == OLD_PACKET_BLOCK => {
                    self.number += 1;
                    return Err(self.in_packet(
                        "an obsolete Packet Block: rewrite the file with `editcap IN OUT`",
                    ));
                }
                _ => {}
            }
            rest = after;
        }
        Ok(())
    }

    fn interface(
        &self,
        block: &InterfaceDescriptionBlock<'_>,
        offset: usize,
        is_big_endian: bool,
    ) -> Result<Interface, CaptureError> {
        let value = |code| {
            let option = block.options.iter().find(|option| option.code == code);
            option.map(pcap_parser::PcapNGOption::value)
        };
        let unit = value(OptionCode::IfTsresol).and_then(|value| value.first().copied());
        let unit = unit.unwrap_or(DEFAULT_UNIT);
        let exponent = u32::from(unit & !BINARY_UNIT);
        let units_per_second = match unit & BINARY_UNIT {
            0 => 10_u64.checked_pow(exponent),
            _ => 2_u64.checked_pow(exponent),
        };
        let Some(units_per_second) = units_per_second else {
            let problem = format!(
                "the interface's unit of time, {unit:#x}, is too small: at most 10^-19 or 2^-63 s"
            );
            return Err(self.at(offset, problem));
        };
        let seconds = value(OptionCode::IfTsoffset).and_then(|value| value.first_chunk::<8>());
        let seconds = seconds.map(|bytes| match is_big_endian {
            true => i64::from_be_bytes(*bytes),
            false => i64::from_le_bytes(*bytes),
        });
        Ok(Interface {
            link: block.linktype.0 as u16,
            units_per_second,
            offset_seconds: seconds.unwrap_or(0),
        })
    }

    fn enhanced(
        &mut self,
        packet: &EnhancedPacketBlock<'f>,
        interfaces: &[Interface],
    ) -> Result<(), CaptureError> {
        let Some(interface) = interfaces.get(packet.if_id as usize) else {
            let problem = format!(
                "it is of interface {}, and the section describes {}: the file is damaged",
                packet.if_id,
                interfaces.len()
            );
            return Err(self.in_packet(problem));
        };
        let units = i128::from(packet.ts_high) << 32 | i128::from(packet.ts_low);
        let ns = units * SECOND_NS / i128::from(interface.units_per_second);
        let ns = ns + i128::from(interface.offset_seconds) * SECOND_NS;
        let at_ns = u64::try_from(ns).map_err(|_| {
            self.in_packet("its time is before 1970 or after 2554: the file is damaged")
        })?;
        let lengths = [packet.caplen, packet.origlen];
        self.pass((interface.link, packet.if_id), at_ns, lengths, packet.data)
    }

    fn pass(
        &mut self,
        (link, interface): (u16, u32),
        at_ns: u64,
        [kept, original_bytes]: [u32; 2],
        data: &'f [u8],
    ) -> Result<(), CaptureError> {
        let Some(bytes) = data.get(..kept as usize).filter(|_| kept <= original_bytes) else {
            let problem = format!(
                "{kept} bytes of {original_bytes} are said to be kept: the file is damaged"
            );
            return Err(self.in_packet(problem));
        };
        (self.each)(Frame {
            number: self.number,
            at_ns,
            link,
            interface,
            original_bytes,
            bytes,
        })
    }

    fn broken(&self, nom: &pcap_parser::nom::Err<PcapError<&[u8]>>, what: &str) -> CaptureError {
        self.in_packet(match is_cut(nom) {
            true => {
                format!("the file ends within the {what}: keep what is whole with `editcap IN OUT`")
            }
            false => format!("the {what} is malformed: the file is damaged"),
        })
    }

    fn at(&self, offset: usize, problem: impl Into<String>) -> CaptureError {
        CaptureError::new(self.file, Place::Offset(offset), problem)
    }

    fn in_packet(&self, problem: impl Into<String>) -> CaptureError {
        CaptureError::new(self.file, Place::Packet(self.number), problem)
    }
}

fn is_cut<E>(error: &pcap_parser::nom::Err<E>) -> bool {
    matches!(error, pcap_parser::nom::Err::Incomplete(_))
}
