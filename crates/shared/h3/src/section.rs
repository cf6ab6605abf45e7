//! Pseudo-fields of encoded field sections (RFC 9204 section 4.5).
//!
//! h3 0.0.8 keeps the last of repeated pseudo-fields, takes them anywhere and ignores them in trailers. It returns a
//! map, which no longer shows them. Therefore sections are examined before h3 decodes them. Nothing is decoded here:
//! representations are walked, and a pseudo-field shows by its index or by the bytes of its name.

use crate::refused::Refused;

/// What a section must be, by its place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    RequestHead,
    ResponseHead,
    Trailers,
}

/// The pseudo-fields of RFC 9114 section 4.3 and RFC 9220.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pseudo {
    Authority,
    Path,
    Method,
    Scheme,
    Status,
    Protocol,
    /// Any other name with a colon in front.
    Unknown,
}

/// Names as literals, and the same with the Huffman code of RFC 7541 appendix B.
const LITERAL_NAMES: [(Pseudo, &[u8], &[u8]); 6] = [
    (
        Pseudo::Authority,
        b":authority",
        b"\xb8\x3b\x53\x39\xec\x32\x7d\x7f",
    ),
    (Pseudo::Path, b":path", b"\xb9\x58\xd3\x3f"),
    (Pseudo::Method, b":method", b"\xb9\x49\x53\x39\xe4"),
    (Pseudo::Scheme, b":scheme", b"\xb8\x82\x4e\x5a\x4b"),
    (Pseudo::Status, b":status", b"\xb8\x84\x8d\x36\xa3"),
    (
        Pseudo::Protocol,
        b":protocol",
        b"\xb9\x5d\x87\x49\xc8\x7a\x3f",
    ),
];

/// The last entry of the static table (RFC 9204 appendix A).
const LAST_STATIC_INDEX: u64 = 98;
/// Its entries with an interim status: 103 and 100.
const INTERIM_INDEXES: [u64; 2] = [24, 63];

/// Examines the pseudo-fields of a section. Returns whether it is the head of an interim response (1xx).
pub(crate) fn check(section: &[u8], kind: Kind) -> Result<bool, Refused> {
    let mut seen = [false; 6];
    let mut regular = false;
    let mut interim = false;
    let mut lines = Lines::new(section)?;
    while let Some(line) = lines.next()? {
        let Some(pseudo) = line.pseudo else {
            regular = true;
            continue;
        };
        let is_allowed = match kind {
            Kind::RequestHead => !matches!(pseudo, Pseudo::Status | Pseudo::Unknown),
            Kind::ResponseHead => pseudo == Pseudo::Status,
            Kind::Trailers => false,
        };
        let is_first = is_allowed && !std::mem::replace(&mut seen[pseudo as usize], true);
        if !is_first || regular {
            return Err(Refused::PseudoField);
        }
        interim |= line.is_interim;
    }
    if kind == Kind::ResponseHead && !seen[Pseudo::Status as usize] {
        return Err(Refused::PseudoField);
    }
    Ok(interim)
}

/// A field line.
struct Line {
    pseudo: Option<Pseudo>,
    /// Whether its value is an interim status, provided that it is a status.
    is_interim: bool,
}

/// The field lines of a section, from its first to its last.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    fn new(section: &'a [u8]) -> Result<Self, Refused> {
        let mut lines = Self { rest: section };
        // Required Insert Count: not 0 if the section needs the dynamic table.
        if lines.integer(8)? != 0 {
            return Err(Refused::Undecodable);
        }
        lines.integer(7)?;
        Ok(lines)
    }

    fn next(&mut self) -> Result<Option<Line>, Refused> {
        let Some(&first) = self.rest.first() else {
            return Ok(None);
        };
        let line = match first {
            // Indexed, static table.
            0xc0.. => {
                let index = self.index(6)?;
                Line {
                    pseudo: static_name(index),
                    is_interim: INTERIM_INDEXES.contains(&index),
                }
            }
            // A literal with a name of the static table.
            0x50..=0x5f | 0x70..=0x7f => {
                let index = self.index(4)?;
                Line {
                    pseudo: static_name(index),
                    is_interim: is_interim(self.string(7)?),
                }
            }
            // A literal with a literal name.
            0x20..=0x3f => {
                let pseudo = literal_name(self.string(3)?);
                Line {
                    pseudo,
                    is_interim: is_interim(self.string(7)?),
                }
            }
            // The dynamic table.
            _ => return Err(Refused::Undecodable),
        };
        Ok(Some(line))
    }

    /// Takes an index of the static table.
    fn index(&mut self, prefix_bits: u32) -> Result<u64, Refused> {
        let index = self.integer(prefix_bits)?;
        if index > LAST_STATIC_INDEX {
            return Err(Refused::Undecodable);
        }
        Ok(index)
    }

    /// Takes a string and whether it is coded: a bit, then the length with this prefix, then the bytes.
    fn string(&mut self, prefix_bits: u32) -> Result<(bool, &'a [u8]), Refused> {
        let first = *self.rest.first().ok_or(Refused::Undecodable)?;
        let is_coded = first >> prefix_bits & 1 == 1;
        let length = usize::try_from(self.integer(prefix_bits)?);
        let length = length.map_err(|_| Refused::Undecodable)?;
        let split = self.rest.split_at_checked(length);
        let (string, rest) = split.ok_or(Refused::Undecodable)?;
        self.rest = rest;
        Ok((is_coded, string))
    }

    /// Takes an integer with a prefix of `prefix_bits` bits (RFC 7541 section 5.1).
    fn integer(&mut self, prefix_bits: u32) -> Result<u64, Refused> {
        let mask = u8::MAX >> (8 - prefix_bits);
        let mut value = u64::from(self.byte()? & mask);
        if value < u64::from(mask) {
            return Ok(value);
        }
        // RFC 9204 section 4.1.1: integers of 62 bits at least; nothing here is as long as 2^31.
        for shift in (0..28).step_by(7) {
            let byte = self.byte()?;
            value += u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Refused::Undecodable)
    }

    fn byte(&mut self) -> Result<u8, Refused> {
        let (&byte, rest) = self.rest.split_first().ok_or(Refused::Undecodable)?;
        self.rest = rest;
        Ok(byte)
    }
}

/// Returns the pseudo-field of an entry of the static table (RFC 9204 appendix A).
fn static_name(index: u64) -> Option<Pseudo> {
    Some(match index {
        0 => Pseudo::Authority,
        1 => Pseudo::Path,
        15..=21 => Pseudo::Method,
        22..=23 => Pseudo::Scheme,
        24..=28 | 63..=71 => Pseudo::Status,
        _ => return None,
    })
}

fn literal_name((is_coded, name): (bool, &[u8])) -> Option<Pseudo> {
    let known = LITERAL_NAMES.iter().find(|(_, plain, coded)| {
        let expected = if is_coded { coded } else { plain };
        *expected == name
    });
    if let Some((pseudo, ..)) = known {
        return Some(*pseudo);
    }
    // A colon is 1011100 in the Huffman code.
    let first = name.first()?;
    let is_pseudo = if is_coded {
        first >> 1 == 0b101_1100
    } else {
        *first == b':'
    };
    is_pseudo.then_some(Pseudo::Unknown)
}

/// Reports whether a status begins with 1, which is 00001 in the Huffman code.
fn is_interim((is_coded, status): (bool, &[u8])) -> bool {
    status.first().is_some_and(|first| {
        if is_coded {
            first >> 3 == 0b0_0001
        } else {
            *first == b'1'
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a section with these lines.
    fn section(lines: &[&[u8]]) -> Vec<u8> {
        [&[&[0, 0][..]], lines].concat().concat()
    }

    /// Lines: entries of the static table, and literals.
    const STATUS_200: &[u8] = &[0xc0 | 25];
    const STATUS_103: &[u8] = &[0xc0 | 24];
    const STATUS_100: &[u8] = &[0xff, 0x00];
    const METHOD_GET: &[u8] = &[0xc0 | 17];
    const SCHEME: &[u8] = &[0xc0 | 23];
    const PATH: &[u8] = &[0xc0 | 1];
    const AUTHORITY: &[u8] = b"\x50\x01a";
    const REGULAR: &[u8] = b"\x21a\x01b";
    const STATUS_LITERAL: &[u8] = b"\x27\x00:status\x03200";
    const STATUS_CODED: &[u8] = b"\x2d\xb8\x84\x8d\x36\xa3\x03200";
    const UNKNOWN: &[u8] = b"\x22:x\x00";
    /// ":xy" with the Huffman code.
    const UNKNOWN_CODED: &[u8] = b"\x2b\xb9\xf3\xd7\x00";

    type Checked = Result<bool, Refused>;

    #[test]
    fn heads_of_responses() {
        use Refused::PseudoField;
        let cases: [(&[&[u8]], Checked); 16] = [
            (&[STATUS_200], Ok(false)),
            (&[STATUS_200, REGULAR, REGULAR], Ok(false)),
            (&[STATUS_103, REGULAR], Ok(true)),
            (&[STATUS_100], Ok(true)),
            (&[STATUS_LITERAL, REGULAR], Ok(false)),
            (&[STATUS_CODED], Ok(false)),
            (&[b"\x5f\x09\x03103"], Ok(true)),
            (&[b"\x5f\x09\x82\x08\x1f"], Ok(true)),
            (&[], Err(PseudoField)),
            (&[REGULAR], Err(PseudoField)),
            (&[REGULAR, STATUS_200], Err(PseudoField)),
            (&[STATUS_200, STATUS_200], Err(PseudoField)),
            (&[STATUS_200, STATUS_LITERAL], Err(PseudoField)),
            (&[STATUS_CODED, STATUS_LITERAL], Err(PseudoField)),
            (&[STATUS_200, PATH], Err(PseudoField)),
            (&[STATUS_200, UNKNOWN], Err(PseudoField)),
        ];
        for (lines, expected) in cases {
            let checked = check(&section(lines), Kind::ResponseHead);
            assert_eq!(checked, expected, "{lines:?}");
        }
        // 300 bytes, a length in three: RFC 7541 section 5.1.
        let long = [b"\x21a\x7f\xad\x01", &[b'b'; 300][..]].concat();
        let checked = |lines: &[&[u8]]| check(&section(lines), Kind::ResponseHead);
        assert_eq!(checked(&[STATUS_200, &long, REGULAR]), Ok(false));
        assert_eq!(checked(&[STATUS_200, &long, STATUS_200]), Err(PseudoField));
        // The last entry of the static table: x-frame-options: sameorigin.
        assert_eq!(checked(&[STATUS_200, b"\xff\x23"]), Ok(false));
    }

    #[test]
    fn heads_of_requests() {
        use Refused::PseudoField;
        let request = [METHOD_GET, SCHEME, AUTHORITY, PATH];
        let with = |line| [&request[..], &[line]].concat();
        assert_eq!(check(&section(&request), Kind::RequestHead), Ok(false));
        let regular = with(REGULAR);
        assert_eq!(check(&section(&regular), Kind::RequestHead), Ok(false));
        for again in [
            METHOD_GET,
            SCHEME,
            AUTHORITY,
            PATH,
            STATUS_200,
            UNKNOWN,
            UNKNOWN_CODED,
        ] {
            let checked = check(&section(&with(again)), Kind::RequestHead);
            assert_eq!(checked, Err(PseudoField), "{again:?}");
        }
        let late = [REGULAR, METHOD_GET, SCHEME, AUTHORITY, PATH];
        assert_eq!(check(&section(&late), Kind::RequestHead), Err(PseudoField));
    }

    #[test]
    fn trailers_have_none() {
        assert_eq!(check(&section(&[REGULAR]), Kind::Trailers), Ok(false));
        for line in [
            STATUS_200,
            STATUS_LITERAL,
            STATUS_CODED,
            PATH,
            UNKNOWN,
            UNKNOWN_CODED,
        ] {
            for lines in [[line, REGULAR], [REGULAR, line]] {
                let checked = check(&section(&lines), Kind::Trailers);
                assert_eq!(checked, Err(Refused::PseudoField), "{lines:?}");
            }
        }
    }

    #[test]
    fn the_dynamic_table_and_cut_sections_cannot_be_decoded() {
        let cases: [&[u8]; 11] = [
            b"",
            b"\x00",
            b"\x02\x00\xd9",
            b"\x00\x00\x80",
            b"\x00\x00\x10",
            b"\x00\x00\x00",
            b"\x00\x00\x40\x00",
            // An index past the static table, a name and a value longer than the section, an endless integer.
            b"\x00\x00\xff\x24",
            b"\x00\x00\x22a",
            b"\x00\x00\x21a\x02b",
            b"\x00\x00\xff\xff\xff\xff\xff\xff",
        ];
        for cut in cases {
            let checked = check(cut, Kind::Trailers);
            assert_eq!(checked, Err(Refused::Undecodable), "{cut:?}");
        }
    }
}
