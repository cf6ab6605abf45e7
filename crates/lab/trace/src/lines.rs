//! The lines of a file that may be anything: bounded in length and number, with the line's number.

use std::borrow::Cow;
use std::io::{BufRead, Read as _};

use crate::error::ImportError;

/// Longest line in bytes, without its end: thousands of columns.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;
/// Most lines that are read.
pub(crate) const MAX_LINES: u64 = 20_000_000;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How files begin that are not text, and what to do with them.
const NOT_TEXT: [(&[u8], &str); 4] = [
    (
        b"\x1f\x8b",
        "is compressed; write gunzip -c FILE | commute trace import -",
    ),
    (b"PK\x03\x04", "is a ZIP archive; unpack it first"),
    (b"\xff\xfe", "is UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16; save it as UTF-8"),
];

/// Reads lines that end in LF or CRLF, without a byte order mark.
pub(crate) struct Lines<R> {
    input: R,
    bytes: Vec<u8>,
    number: u64,
    /// Whether the first line ended in CRLF.
    crlf: bool,
    /// The first line whose end differs from that of the first.
    mixed_at: Option<u64>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Lines<R> {
        Lines {
            input,
            bytes: Vec::new(),
            number: 0,
            crlf: false,
            mixed_at: None,
        }
    }

    /// Returns the next line that is not blank, and its number from 1. Bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Cow<'_, str>)>, ImportError> {
        loop {
            if !self.read()? {
                return Ok(None);
            }
            if !self.bytes.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some((self.number, String::from_utf8_lossy(&self.bytes))))
    }

    /// Returns the first line whose end differs from that of the first line, of those read.
    pub(crate) fn mixed_at(&self) -> Option<u64> {
        self.mixed_at
    }

    /// Reads a line without its end. Returns false at the end of the file.
    fn read(&mut self) -> Result<bool, ImportError> {
        self.bytes.clear();
        let mark = if self.number == 0 {
            BYTE_ORDER_MARK.len()
        } else {
            0
        };
        let most = (MAX_LINE_BYTES + 2 + mark) as u64;
        let mut input = (&mut self.input).take(most);
        if input.read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.number > MAX_LINES {
            return Err(ImportError::at(
                self.number,
                format!("the file has more than {MAX_LINES} lines; split it"),
            ));
        }
        if self.number == 1 {
            self.check_begin()?;
        }
        let has_end = self.bytes.pop_if(|byte| *byte == b'\n').is_some();
        let crlf = has_end && self.bytes.pop_if(|byte| *byte == b'\r').is_some();
        if self.bytes.len() > MAX_LINE_BYTES {
            let message = format!(
                "the line is longer than {MAX_LINE_BYTES} bytes, so the file is no trace or has other line ends than \
                 LF and CRLF"
            );
            return Err(ImportError::at(self.number, message));
        }
        if self.bytes.contains(&b'\r') {
            let message = "a carriage return is within the line; end lines with LF or CRLF, e.g. by tr '\\r' '\\n'";
            return Err(ImportError::at(self.number, message));
        }
        if self.bytes.contains(&0) {
            return Err(ImportError::at(
                self.number,
                "a zero byte is within the line; a trace is text in UTF-8",
            ));
        }
        if self.number == 1 {
            self.crlf = crlf;
        } else if has_end && crlf != self.crlf {
            self.mixed_at.get_or_insert(self.number);
        }
        Ok(true)
    }

    fn check_begin(&mut self) -> Result<(), ImportError> {
        if let Some((_, what)) = NOT_TEXT
            .iter()
            .find(|(begin, _)| self.bytes.starts_with(begin))
        {
            return Err(ImportError::whole(format!("the file {what}")));
        }
        if self.bytes.starts_with(BYTE_ORDER_MARK) {
            self.bytes.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with their numbers, and the first that ends otherwise.
    type Read = (Vec<(u64, String)>, Option<u64>);

    fn read(bytes: &[u8]) -> Result<Read, String> {
        let mut lines = Lines::new(bytes);
        let mut all = Vec::new();
        while let Some((number, text)) = lines.next().map_err(|e| e.to_string())? {
            all.push((number, text.into_owned()));
        }
        Ok((all, lines.mixed_at()))
    }

    #[test]
    fn lines_have_their_number_and_no_end() {
        let (lines, mixed) = read("\u{feff}a\r\n\r\n  \r\nb c\r\nd".as_bytes()).unwrap();
        let expected = [(1, "a"), (4, "b c"), (5, "d")];
        assert_eq!(lines, expected.map(|(n, text)| (n, text.to_owned())));
        assert_eq!(mixed, None, "the last line needs no end");
    }

    #[test]
    fn the_first_other_line_end_is_known() {
        assert_eq!(read(b"a\nb\nc\r\nd\r\n").unwrap().1, Some(3));
        assert_eq!(read(b"a\r\nb\r\nc\n").unwrap().1, Some(3));
        assert_eq!(read(b"a\nb\n").unwrap().1, None);
    }

    #[test]
    fn what_is_not_text_is_refused_with_its_line() {
        let wrong = |bytes: &[u8]| read(bytes).unwrap_err();
        assert!(wrong(b"1\n2\r3\n").starts_with("line 2: a carriage return is within"));
        assert!(wrong(b"1\n2\n\x003\n").starts_with("line 3: a zero byte"));
        assert!(wrong(b"\x1f\x8b\x08").contains("gunzip -c FILE"));
        assert!(wrong(b"PK\x03\x04abc").contains("unpack it"));
        assert!(wrong(b"\xff\xfe1\x00").contains("UTF-16"));
        assert!(wrong(b"\xfe\xff\x001").contains("UTF-16"));
    }

    #[test]
    fn lines_are_bounded() {
        let long = |bytes: usize, end: &str| "1".repeat(bytes) + end;
        for end in ["", "\n", "\r\n"] {
            let fits = read(long(MAX_LINE_BYTES, end).as_bytes());
            assert_eq!(fits.unwrap().0.len(), 1, "{end:?}");
            let marked = format!("\u{feff}{}7", long(MAX_LINE_BYTES, "\n"));
            assert_eq!(read(marked.as_bytes()).unwrap().0[1], (2, "7".to_owned()));
            let marked = format!("\u{feff}{}", long(MAX_LINE_BYTES + 1, end));
            assert!(
                read(marked.as_bytes())
                    .unwrap_err()
                    .starts_with("line 1: the line is longer")
            );
            let text = format!("0\n{}", long(MAX_LINE_BYTES + 1, end));
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.starts_with("line 2: the line is longer than 65536 bytes"));
        }
    }

    /// Nothing beyond the bound is read, so that memory is bounded.
    #[test]
    fn an_endless_line_is_not_read_to_its_end() {
        let endless = std::io::BufReader::new(std::io::repeat(b'7'));
        let error = Lines::new(endless).next().unwrap_err().to_string();
        assert!(error.starts_with("line 1: the line is longer"), "{error}");
    }

    #[test]
    fn the_number_of_lines_is_bounded() {
        let endless = std::io::BufReader::new(std::io::repeat(b'\n'));
        let error = Lines::new(endless).next().unwrap_err().to_string();
        assert!(
            error.ends_with("the file has more than 20000000 lines; split it"),
            "{error}"
        );
    }
}
