//! Field blocks of HPACK (RFC 7541) and QPACK (RFC 9204): responses as literals only, requests as the client's encoders
//! write them.

use crate::script::Field;

/// Encodes fields for HTTP/2 as literals without indexing.
pub(crate) fn hpack(fields: &[Field]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        string(&mut block, 0, 7, name);
        string(&mut block, 0, 7, value);
    }
    block
}

/// Encodes fields for HTTP/3 as literals with literal names.
pub(crate) fn qpack(fields: &[Field]) -> Vec<u8> {
    let mut block = vec![0, 0];
    for (name, value) in fields {
        string(&mut block, 0x20, 3, name);
        string(&mut block, 0, 7, value);
    }
    block
}

fn string(into: &mut Vec<u8>, bits: u8, prefix: u32, text: &str) {
    let most = (1 << prefix) - 1;
    if text.len() < most {
        into.push(bits | text.len() as u8);
    } else {
        into.push(bits | most as u8);
        let mut rest = text.len() - most;
        while rest >= 128 {
            into.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        into.push(rest as u8);
    }
    into.extend_from_slice(text.as_bytes());
}

/// Decodes the heads of one connection over HTTP/2. Entries are never evicted from the table, which no index notices.
#[derive(Debug, Default)]
pub(crate) struct Hpack {
    table: Vec<Field>,
}

impl Hpack {
    /// Decodes a block; nothing if it is cut off.
    pub(crate) fn decode(&mut self, mut block: &[u8]) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        while let Some(&first) = block.first() {
            match first {
                0x80.. => {
                    let index = integer(&mut block, 7)?;
                    fields.push(self.entry(index));
                }
                0x20..0x40 => {
                    integer(&mut block, 5)?;
                }
                _ => {
                    let index = integer(&mut block, if first & 0x40 != 0 { 6 } else { 4 })?;
                    let name = match index {
                        0 => text(&mut block, 7)?,
                        _ => self.entry(index).0,
                    };
                    let field = (name, text(&mut block, 7)?);
                    if first & 0x40 != 0 {
                        self.table.insert(0, field.clone());
                    }
                    fields.push(field);
                }
            }
        }
        Some(fields)
    }

    fn entry(&self, index: usize) -> Field {
        const STATIC: usize = 61;
        if index > STATIC {
            return self
                .table
                .get(index - STATIC - 1)
                .cloned()
                .unwrap_or_default();
        }
        let (name, value) = match index {
            1 => (":authority", ""),
            2 => (":method", "GET"),
            3 => (":method", "POST"),
            4 => (":path", "/"),
            7 => (":scheme", "https"),
            28 => ("content-length", ""),
            38 => ("host", ""),
            _ => ("another", ""),
        };
        (name.to_owned(), value.to_owned())
    }
}

/// Decodes the head of a request over HTTP/3, which has no dynamic table; nothing if it is cut off.
pub(crate) fn decode_qpack(block: &[u8]) -> Option<Vec<Field>> {
    let mut block = block.get(2..)?;
    let mut fields = Vec::new();
    while let Some(&first) = block.first() {
        fields.push(match first {
            0x80.. => qpack_entry(integer(&mut block, 6)?),
            0x40.. => {
                let name = qpack_entry(integer(&mut block, 4)?).0;
                (name, text(&mut block, 7)?)
            }
            _ => (text(&mut block, 3)?, text(&mut block, 7)?),
        });
    }
    Some(fields)
}

fn qpack_entry(index: usize) -> Field {
    let (name, value) = match index {
        0 => (":authority", ""),
        1 => (":path", "/"),
        4 => ("content-length", "0"),
        16 => (":method", "DELETE"),
        17 => (":method", "GET"),
        18 => (":method", "HEAD"),
        19 => (":method", "OPTIONS"),
        20 => (":method", "POST"),
        21 => (":method", "PUT"),
        23 => (":scheme", "https"),
        _ => ("another", ""),
    };
    (name.to_owned(), value.to_owned())
}

/// Takes an integer with a prefix of `prefix` bits.
fn integer(block: &mut &[u8], prefix: u32) -> Option<usize> {
    let (&first, mut rest) = block.split_first()?;
    let most = (1 << prefix) - 1;
    let mut value = usize::from(first) & most;
    let mut shift = 0;
    while value >= most {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        value += usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    *block = rest;
    Some(value)
}

/// Takes a string whose length has a prefix of `prefix` bits, with the bit of Huffman's code before it.
fn text(block: &mut &[u8], prefix: u32) -> Option<String> {
    let is_coded = block.first()? & (1 << prefix) != 0;
    let length = integer(block, prefix)?;
    let (bytes, rest) = block.split_at_checked(length)?;
    *block = rest;
    Some(match is_coded {
        true => huffman(bytes),
        false => String::from_utf8_lossy(bytes).into_owned(),
    })
}

/// Decodes Huffman's code (RFC 7541 appendix B) up to the first code of more than ten bits: what URLs and the client's
/// fields consist of.
fn huffman(bytes: &[u8]) -> String {
    /// Bits of a code, the first code, and the characters of the codes.
    const CODES: [(usize, usize, &str); 5] = [
        (5, 0x00, "012aceiost"),
        (6, 0x14, " %-./3456789=A_bdfghlmnpru"),
        (7, 0x5c, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
        (8, 0xf8, "&*,;XZ"),
        (10, 0x3f8, "!\"()?"),
    ];
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .map_or(1, |byte| usize::from(byte >> (7 - at % 8) & 1))
    };
    let (mut text, mut at) = (String::new(), 0);
    'next: while at < bytes.len() * 8 {
        for (bits, first, characters) in CODES {
            let code = (at..at + bits).fold(0, |code, at| code << 1 | bit(at));
            let index = code.checked_sub(first);
            if let Some(character) = index.and_then(|index| characters.chars().nth(index)) {
                text.push(character);
                at += bits;
                continue 'next;
            }
        }
        break;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_decoded_as_the_rfc_has_it() {
        // RFC 7541 appendix C.4.
        let mut hpack = Hpack::default();
        let first = b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
        let fields = hpack.decode(first).expect("it is whole");
        assert_eq!(fields[3], (":authority".into(), "www.example.com".into()));
        let second = hpack.decode(b"\x82\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf");
        let second = second.expect("it is whole");
        assert_eq!(second[2].1, "www.example.com");
        assert_eq!(second[3].1, "no-cache");
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let long = "v".repeat(300);
        let fields: Vec<Field> = vec![(":status".into(), "200".into()), ("x".into(), long)];
        assert_eq!(
            Hpack::default().decode(&hpack(&fields)),
            Some(fields.clone())
        );
        assert_eq!(decode_qpack(&qpack(&fields)), Some(fields));
    }
}
