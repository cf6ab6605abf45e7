//! Bodies made of the seeded file.

use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http::header::RANGE;
use http_body::{Body, Frame, SizeHint};

/// A part of the seeded file, made as it is sent.
#[derive(Debug)]
pub(crate) struct FileBody {
    left: Range<u64>,
}

impl FileBody {
    pub(crate) fn new(range: Range<u64>) -> Self {
        Self { left: range }
    }
}

impl Iterator for FileBody {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let len = (self.left.end - self.left.start).min(PIECE) as usize;
        if len == 0 {
            return None;
        }
        let mut piece = vec![0; len];
        wire::fill(self.left.start, &mut piece);
        self.left.start += len as u64;
        Some(piece.into())
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.end - self.left.start)
    }
}

/// What a `Range` header asks of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// No range, or one that RFC 9110 section 14.2 lets a server ignore: several, another
    /// unit, malformed.
    Whole,
    /// This part.
    Part(Range<u64>),
    /// A part that the file does not have.
    Beyond,
}

/// Reads a `Range` header (RFC 9110 section 14.1.2).
pub(crate) fn wanted(headers: &HeaderMap, len: u64) -> Wanted {
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
    match range.and_then(|range| parse(range, len)) {
        None => Wanted::Whole,
        Some(range) if range.is_empty() => Wanted::Beyond,
        Some(range) => Wanted::Part(range),
    }
}

fn parse(range: &str, len: u64) -> Option<Range<u64>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    if first.is_empty() {
        return Some(len.saturating_sub(number(last)?)..len);
    }
    let first = number(first)?;
    let last = if last.is_empty() {
        u64::MAX
    } else {
        number(last)?
    };
    (first <= last).then(|| first..last.saturating_add(1).min(len))
}

/// Digits only: `parse` alone would take a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// Made and handed over at a time.
const PIECE: u64 = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let cases = [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=5-", Wanted::Part(5..10)),
            ("bytes=5-100", Wanted::Part(5..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=9-9", Wanted::Part(9..10)),
            ("bytes=10-", Wanted::Beyond),
            ("bytes=-0", Wanted::Beyond),
            ("bytes=3-2", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
            ("bytes=0-18446744073709551615", Wanted::Part(0..10)),
            ("bytes=0-18446744073709551616", Wanted::Whole),
        ];
        for (header, expected) in cases {
            let headers = HeaderMap::from_iter([(RANGE, header.parse().unwrap())]);
            assert_eq!(wanted(&headers, 10), expected, "{header}");
        }
        assert_eq!(wanted(&HeaderMap::new(), 10), Wanted::Whole);
    }

    #[test]
    fn pieces_are_the_file() {
        let whole: Vec<u8> = FileBody::new(0..100_000).flatten().collect();
        let mut expected = vec![0; 100_000];
        wire::fill(0, &mut expected);
        assert_eq!(whole, expected);
        assert_eq!(FileBody::new(40..40).next(), None);
    }
}
