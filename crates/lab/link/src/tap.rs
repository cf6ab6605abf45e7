//! The tap: a record of 48 bytes for every packet that reached the link. `pump` writes it, `proof` and `explain` read it.

use serde::{Deserialize, Serialize};

use crate::tcp_options::MAX_WINDOW_SHIFT;
pub use crate::tcp_options::{Sack, TcpOptions};
use crate::{Cause, Direction};

/// TCP's number in [`TapRecord::protocol`].
pub const TCP: u8 = 6;
/// UDP's number in [`TapRecord::protocol`].
pub const UDP: u8 = 17;
/// The flag FIN in [`TapRecord::tcp_flags`] (RFC 9293 section 3.1).
pub const FIN: u8 = 0x01;
/// The flag SYN.
pub const SYN: u8 = 0x02;
/// The flag ACK.
pub const ACK: u8 = 0x10;

/// The fixed bit of QUIC's headers, which either end may clear once it knows that the other allows it (RFC 9287).
pub const QUIC_FIXED_BIT: u8 = 0x40;

/// One packet, as seen by the link. Times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapRecord {
    /// When it arrived from the sender.
    pub arrival_ns: u64,
    /// Just before it was handed to the receiver, so that every answer arrives later, or when the
    /// model dropped it; 0 while in flight.
    pub departure_ns: u64,
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
    /// Size of the IP packet.
    pub ip_bytes: u16,
    /// Source port; 0 when the packet has none. Of a packet from the client its own, also when the
    /// server sees another through a NAT.
    pub src_port: u16,
    /// Destination port; 0 when the packet has none. Of a packet to the client its own.
    pub dst_port: u16,
    /// Bytes of TCP or UDP payload.
    pub payload_bytes: u16,
    /// IP protocol number: 6 is TCP, 17 is UDP.
    pub protocol: u8,
    /// TCP flags, as on the wire.
    pub tcp_flags: u8,
    /// First payload byte: the type of a TLS record (RFC 8446 section 5.1) or the first byte of a
    /// QUIC header (RFC 9000 section 17).
    pub first_byte: u8,
    /// Client to server, or back.
    pub direction: Direction,
    /// Delivered, dropped, or neither.
    pub fate: Fate,
    /// 4, 6, or 0 for anything that is not IP.
    pub ip_version: u8,
    /// Explicit congestion notification bits (RFC 3168).
    pub ecn: u8,
    /// Belongs to a connection that opened before the window ([`Stray`](crate::window::Stray)).
    pub stray: bool,
    /// TCP's window as on the wire, not scaled (RFC 9293 section 3.1).
    pub window: u16,
    /// TCP options.
    pub options: TcpOptions,
}

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Still on the link when the window ended.
    InFlight,
    /// Handed to the receiver.
    Delivered,
    /// Dropped by the model.
    Dropped(Cause),
    /// Not offered to the model: longer than the MTU, or truncated. Makes a cell unusable.
    Refused,
    /// Not offered to the model: sent to a mapping that the NAT had dropped, or from or to an address that the client
    /// had left.
    Unmapped,
    /// Dropped at the end of the link, because the client had left the address meanwhile.
    Left,
}

impl TapRecord {
    /// Length of an encoded record.
    pub const LEN: usize = 48;

    /// Returns the client's port; 0 when the packet has none.
    pub fn client_port(&self) -> u16 {
        match self.direction {
            Direction::Up => self.src_port,
            Direction::Down => self.dst_port,
        }
    }

    /// Returns how many of TCP's sequence numbers it uses: one for each byte, SYN and FIN (RFC 9293 section 3.4).
    pub fn sequence_length(&self) -> u32 {
        u32::from(self.payload_bytes) + (self.tcp_flags & (SYN | FIN)).count_ones()
    }

    /// Returns the form and the type of a packet of QUIC version 1 by its first byte, whose low half is protected: 0xc0 of
    /// an Initial, 0xd0 of 0-RTT, 0xe0 of a Handshake packet, 0xf0 of a Retry (RFC 9000 section 17.2); `None` for short
    /// headers, other protocols and without payload.
    pub fn quic_type(&self) -> Option<u8> {
        let is_long = self.protocol == UDP && self.first_byte & 0x80 != 0;
        is_long.then_some((self.first_byte | QUIC_FIXED_BIT) & 0xf0)
    }

    /// Encodes the record: the fields in order of declaration, little-endian. The last six bytes are the options: the
    /// window's shift plus one, or 0 without; 0 without SACK, 1 where it is permitted, or 2 with a block; the end of the
    /// highest block.
    pub fn to_bytes(&self) -> [u8; TapRecord::LEN] {
        let mut bytes = [0; TapRecord::LEN];
        bytes[0..8].copy_from_slice(&self.arrival_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.departure_ns.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.seq.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.ack.to_le_bytes());
        bytes[24..26].copy_from_slice(&self.ip_bytes.to_le_bytes());
        bytes[26..28].copy_from_slice(&self.src_port.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.dst_port.to_le_bytes());
        bytes[30..32].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[32] = self.protocol;
        bytes[33] = self.tcp_flags;
        bytes[34] = self.first_byte;
        bytes[35] = match self.direction {
            Direction::Up => 0,
            Direction::Down => 1,
        };
        bytes[36] = self.fate.code();
        bytes[37] = self.ip_version;
        bytes[38] = self.ecn;
        bytes[39] = u8::from(self.stray);
        bytes[40..42].copy_from_slice(&self.window.to_le_bytes());
        bytes[42] = self.options.window_shift.map_or(0, |shift| shift + 1);
        let (sack, end) = match self.options.sack {
            Sack::Absent => (0, 0),
            Sack::Permitted => (1, 0),
            Sack::UpTo(end) => (2, end),
        };
        bytes[43] = sack;
        bytes[44..48].copy_from_slice(&end.to_le_bytes());
        bytes
    }

    /// Decodes a record; `None` when a field has a value that is never encoded.
    pub fn from_bytes(bytes: &[u8; TapRecord::LEN]) -> Option<TapRecord> {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        Some(TapRecord {
            arrival_ns: u64_at(0),
            departure_ns: u64_at(8),
            seq: u32_at(16),
            ack: u32_at(20),
            ip_bytes: u16_at(24),
            src_port: u16_at(26),
            dst_port: u16_at(28),
            payload_bytes: u16_at(30),
            protocol: bytes[32],
            tcp_flags: bytes[33],
            first_byte: bytes[34],
            direction: match bytes[35] {
                0 => Direction::Up,
                1 => Direction::Down,
                _ => return None,
            },
            fate: Fate::from_code(bytes[36])?,
            ip_version: bytes[37],
            ecn: bytes[38],
            stray: match bytes[39] {
                0 => false,
                1 => true,
                _ => return None,
            },
            window: u16_at(40),
            options: TcpOptions {
                window_shift: match bytes[42].checked_sub(1) {
                    Some(shift) if shift > MAX_WINDOW_SHIFT => return None,
                    shift => shift,
                },
                sack: match bytes[43] {
                    0 => Sack::Absent,
                    1 => Sack::Permitted,
                    2 => Sack::UpTo(u32_at(44)),
                    _ => return None,
                },
            },
        })
    }
}

impl Fate {
    fn code(self) -> u8 {
        match self {
            Fate::InFlight => 0,
            Fate::Delivered => 1,
            Fate::Refused => 2,
            Fate::Unmapped => 3,
            Fate::Left => 4,
            Fate::Dropped(Cause::Policy) => 16,
            Fate::Dropped(Cause::Gate) => 17,
            Fate::Dropped(Cause::Queue) => 18,
            Fate::Dropped(Cause::Loss) => 19,
            Fate::Dropped(Cause::Aqm) => 20,
        }
    }

    fn from_code(code: u8) -> Option<Fate> {
        Some(match code {
            0 => Fate::InFlight,
            1 => Fate::Delivered,
            2 => Fate::Refused,
            3 => Fate::Unmapped,
            4 => Fate::Left,
            16 => Fate::Dropped(Cause::Policy),
            17 => Fate::Dropped(Cause::Gate),
            18 => Fate::Dropped(Cause::Queue),
            19 => Fate::Dropped(Cause::Loss),
            20 => Fate::Dropped(Cause::Aqm),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_survives_encoding() {
        let record = TapRecord {
            arrival_ns: 1,
            departure_ns: u64::MAX,
            seq: 2,
            ack: 3,
            ip_bytes: 4,
            src_port: 5,
            dst_port: 6,
            payload_bytes: 7,
            protocol: 8,
            tcp_flags: 9,
            first_byte: 10,
            direction: Direction::Down,
            fate: Fate::Dropped(Cause::Queue),
            ip_version: 6,
            ecn: 2,
            stray: true,
            window: 11,
            options: TcpOptions {
                window_shift: Some(14),
                sack: Sack::UpTo(12),
            },
        };
        for options in [
            record.options,
            TcpOptions::default(),
            TcpOptions {
                window_shift: Some(0),
                sack: Sack::Permitted,
            },
        ] {
            let record = TapRecord { options, ..record };
            assert_eq!(TapRecord::from_bytes(&record.to_bytes()), Some(record));
        }
    }

    #[test]
    fn ports_and_sequence_numbers_are_those_of_the_packet() {
        let up = TapRecord {
            direction: Direction::Up,
            src_port: 4000,
            dst_port: 443,
            payload_bytes: 10,
            tcp_flags: FIN | ACK,
            ..TapRecord::from_bytes(&[0; TapRecord::LEN]).unwrap()
        };
        let down = TapRecord {
            direction: Direction::Down,
            tcp_flags: SYN,
            ..up
        };
        assert_eq!((up.client_port(), down.client_port()), (4000, 443));
        assert_eq!((up.sequence_length(), down.sequence_length()), (11, 11));
        assert_eq!(
            TapRecord {
                tcp_flags: ACK,
                ..up
            }
            .sequence_length(),
            10
        );
    }

    #[test]
    fn unknown_codes_are_refused() {
        let bytes = [0; TapRecord::LEN];
        assert!(TapRecord::from_bytes(&bytes).is_some());
        for at in [35, 36, 39, 42, 43] {
            let mut bytes = bytes;
            bytes[at] = 99;
            assert_eq!(TapRecord::from_bytes(&bytes), None);
        }
        for code in 0..=255 {
            assert!(Fate::from_code(code).is_none_or(|fate| fate.code() == code));
        }
    }
}
