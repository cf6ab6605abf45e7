//! Bodies that are parts of the seeded file, and `Range` headers.

use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http::header::{IF_RANGE, RANGE};
use http_body::{Body, Frame, SizeHint};

/// Bytes generated per frame.
const CHUNK_BYTES: u64 = 32 << 10;

/// A part of the seeded file, generated while it is sent.
#[derive(Debug)]
pub(crate) struct FileBody {
    remaining: Range<u64>,
}

impl FileBody {
    pub(crate) fn new(range: Range<u64>) -> Self {
        Self { remaining: range }
    }
}

impl Iterator for FileBody {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let len = (self.remaining.end - self.remaining.start).min(CHUNK_BYTES) as usize;
        if len == 0 {
            return None;
        }
        let mut chunk = vec![0; len];
        messages::fill(self.remaining.start, &mut chunk);
        self.remaining.start += len as u64;
        Some(chunk.into())
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining.end - self.remaining.start)
    }
}

/// The part of a file that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    /// The whole file: there is no range, or one that RFC 9110 section 14.2 lets a server ignore
    /// (several ranges, another unit, malformed).
    Whole,
    Part(Range<u64>),
    /// A range that does not overlap the file.
    Unsatisfiable,
}

/// Reads the `Range` header (RFC 9110 section 14.1.2) of a request for a file of `len` bytes. It is
/// ignored if `If-Range` names another file (section 13.1.5).
pub(crate) fn requested_range(headers: &HeaderMap, len: u64, etag: &str) -> RequestedRange {
    if headers.get(IF_RANGE).is_some_and(|named| named != etag) {
        return RequestedRange::Whole;
    }
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
    match range.and_then(|range| parse(range, len)) {
        None => RequestedRange::Whole,
        Some(range) if range.is_empty() => RequestedRange::Unsatisfiable,
        Some(range) => RequestedRange::Part(range),
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

/// Accepts digits only: `parse` alone would accept a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_header_is_parsed() {
        let cases = [
            ("bytes=0-0", RequestedRange::Part(0..1)),
            ("bytes=5-", RequestedRange::Part(5..10)),
            ("bytes=5-100", RequestedRange::Part(5..10)),
            ("bytes=-3", RequestedRange::Part(7..10)),
            ("bytes=-30", RequestedRange::Part(0..10)),
            ("bytes=9-9", RequestedRange::Part(9..10)),
            ("bytes=10-", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=3-2", RequestedRange::Whole),
            ("bytes=0-1,3-4", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
            ("lines=1-2", RequestedRange::Whole),
            ("bytes=0-18446744073709551615", RequestedRange::Part(0..10)),
            ("bytes=0-18446744073709551616", RequestedRange::Whole),
        ];
        for (header, expected) in cases {
            let headers = HeaderMap::from_iter([(RANGE, header.parse().unwrap())]);
            assert_eq!(requested_range(&headers, 10, "\"a\""), expected, "{header}");
        }
        assert_eq!(
            requested_range(&HeaderMap::new(), 10, "\"a\""),
            RequestedRange::Whole
        );
        for (named, expected) in [
            ("\"a\"", RequestedRange::Part(5..10)),
            ("\"b\"", RequestedRange::Whole),
        ] {
            let fields = [(RANGE, "bytes=5-"), (IF_RANGE, named)];
            let headers =
                HeaderMap::from_iter(fields.map(|(name, value)| (name, value.parse().unwrap())));
            assert_eq!(requested_range(&headers, 10, "\"a\""), expected, "{named}");
        }
    }

    #[test]
    fn chunks_add_up_to_the_file() {
        let whole: Vec<u8> = FileBody::new(0..100_000).flatten().collect();
        let mut expected = vec![0; 100_000];
        messages::fill(0, &mut expected);
        assert_eq!(whole, expected);
        assert_eq!(FileBody::new(40..40).next(), None);
    }
}
