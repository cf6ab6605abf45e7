//! The options of a TCP header that the tap keeps: window scale and selective acknowledgement.

use serde::{Deserialize, Serialize};

/// Kinds of options (RFC 9293 section 3.2, RFC 7323 section 2.2, RFC 2018 sections 2 and 3).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
/// Larger shifts count as this one (RFC 7323 section 2.3).
pub(crate) const MAX_WINDOW_SHIFT: u8 = 14;

/// What a segment's options say of windows and losses. Options that cannot be parsed count as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpOptions {
    /// In a SYN: the left shift of later windows of its sender, 14 at most. Windows are scaled only if both SYNs have
    /// this option.
    pub window_shift: Option<u8>,
    /// What the segment says of selective acknowledgement.
    pub sack: Sack,
}

/// Selective acknowledgement (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sack {
    /// The segment has no such option.
    #[default]
    Absent,
    /// A SYN whose sender accepts the option. It is used if both SYNs have this.
    Permitted,
    /// The end of the highest block: the sender has the byte before this sequence number.
    UpTo(u32),
}

impl TcpOptions {
    /// Parses the options of a segment, which follow the fixed 20 bytes of its header. `ack` is its acknowledgement
    /// number. Everything behind the first malformed option is ignored.
    pub fn parse(options: &[u8], is_syn: bool, ack: u32) -> TcpOptions {
        let mut parsed = TcpOptions::default();
        let mut rest = options;
        while let Some((kind, value, after)) = split_option(rest) {
            match (kind, value) {
                (WINDOW_SCALE, &[shift]) if is_syn => {
                    parsed.window_shift = Some(shift.min(MAX_WINDOW_SHIFT));
                }
                (SACK_PERMITTED, []) if is_syn => parsed.sack = Sack::Permitted,
                (SACK, blocks) if !is_syn => parsed.sack = highest(blocks, ack),
                _ => {}
            }
            rest = after;
        }
        parsed
    }
}

/// Returns kind and value of the first option with a length, and what follows it. `None` at the end of the list, and for
/// an option that is shorter than its own header or longer than the list.
fn split_option(options: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let padding = options.iter().take_while(|&&kind| kind == NO_OPERATION);
    let options = &options[padding.count()..];
    match *options {
        [] | [END, ..] | [_] => None,
        [kind, length, ..] => {
            let (option, after) = options.split_at_checked(usize::from(length))?;
            Some((kind, option.get(2..)?, after))
        }
    }
}

/// Returns the end of the highest block. Sequence numbers are compared modulo 2^32, from the acknowledgement on.
fn highest(blocks: &[u8], ack: u32) -> Sack {
    let (blocks, rest) = blocks.as_chunks::<8>();
    let ends = blocks
        .iter()
        .map(|&[.., a, b, c, d]| u32::from_be_bytes([a, b, c, d]));
    match ends.max_by_key(|end| end.wrapping_sub(ack) as i32) {
        Some(end) if rest.is_empty() => Sack::UpTo(end),
        _ => Sack::Absent,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scaled(shift: u8) -> TcpOptions {
        TcpOptions {
            window_shift: Some(shift),
            ..TcpOptions::default()
        }
    }

    fn up_to(end: u32) -> TcpOptions {
        TcpOptions {
            sack: Sack::UpTo(end),
            ..TcpOptions::default()
        }
    }

    #[test]
    fn a_syn_has_the_shift_and_permits_sack() {
        // What Linux sends: MSS, SACK permitted, timestamps, no operation, window scale.
        let linux = [
            2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7,
        ];
        let expected = TcpOptions {
            sack: Sack::Permitted,
            ..scaled(7)
        };
        assert_eq!(TcpOptions::parse(&linux, true, 0), expected);
        // Only a SYN may have them (RFC 7323 section 2.2, RFC 2018 section 2).
        assert_eq!(TcpOptions::parse(&linux, false, 9), TcpOptions::default());
        assert_eq!(TcpOptions::parse(&[3, 3, 15], true, 0), scaled(14));
    }

    #[test]
    fn the_highest_block_counts_also_where_sequence_numbers_wrap() {
        let block = |start: u32, end: u32| [start.to_be_bytes(), end.to_be_bytes()].concat();
        let sack = |blocks: &[Vec<u8>]| {
            let blocks = blocks.concat();
            [vec![1, 1, 5, 2 + blocks.len() as u8], blocks].concat()
        };
        let later = sack(&[block(300, 400), block(100, 200)]);
        assert_eq!(TcpOptions::parse(&later, false, 50), up_to(400));
        let wrapped = sack(&[block(u32::MAX - 9, u32::MAX), block(5, 20)]);
        assert_eq!(TcpOptions::parse(&wrapped, false, u32::MAX - 99), up_to(20));
        let four = sack(&[block(9, 10), block(7, 8), block(5, 6), block(3, 4)]);
        assert_eq!(TcpOptions::parse(&four, false, 1), up_to(10));
        // A SYN reports nothing that was received.
        assert_eq!(TcpOptions::parse(&later, true, 50), TcpOptions::default());
    }

    #[test]
    fn malformed_options_are_absent() {
        for malformed in [
            &[3, 0, 7][..],
            &[3, 1, 7],
            &[3, 2],
            &[3, 3],
            &[3],
            &[3, 4, 7, 7],
            &[3, 9, 7],
            // The end of the list, or an option without a length, stands before it.
            &[0, 3, 3, 7],
            &[8, 0, 3, 3, 7],
        ] {
            assert_eq!(TcpOptions::parse(malformed, true, 0), TcpOptions::default());
        }
        // Blocks of less than eight bytes, and none.
        for blocks in [&[5, 9, 0, 0, 0, 1, 0, 0, 0][..], &[5, 2], &[5, 10, 0, 0]] {
            assert_eq!(TcpOptions::parse(blocks, false, 0), TcpOptions::default());
        }
        // What stands before a malformed option counts.
        assert_eq!(TcpOptions::parse(&[3, 3, 7, 4, 0], true, 0), scaled(7));
    }

    proptest! {
        #[test]
        fn any_options_are_parsed(
            options in prop::collection::vec(any::<u8>(), 0..64),
            is_syn in any::<bool>(),
            ack in any::<u32>(),
        ) {
            let parsed = TcpOptions::parse(&options, is_syn, ack);
            prop_assert!(parsed.window_shift.is_none_or(|shift| shift <= MAX_WINDOW_SHIFT));
        }
    }
}
