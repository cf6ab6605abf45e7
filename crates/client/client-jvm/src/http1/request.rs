//! Parses HTTP/1.1 requests.

use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::MAX_HEAD;

const MAX_HEADERS: usize = 256;
/// Bytes of a chunk's first line: 16 digits and its end.
const MAX_CHUNK_LINE: usize = 18;

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    /// The path and the query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    /// The app waits for `100 Continue` (RFC 9110 section 10.1.1).
    pub(crate) expects_continue: bool,
}

/// What is left of a request's body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Length(u64),
    Chunked(Chunked),
}

/// A place in a chunked body (RFC 9112 section 7.1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chunked {
    Size,
    Data(u64),
    DataEnd,
    End,
}

/// What came is not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Takes a head from `bytes`, nothing while it is incomplete.
pub(crate) fn head(bytes: &mut BytesMut) -> Result<Option<Head>, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    let parsed = request.parse(bytes);
    let length = match parsed.map_err(|_| Malformed("the request's head is malformed"))? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial if bytes.len() > MAX_HEAD => {
            return Err(Malformed("the request's head is too long"));
        }
        httparse::Status::Partial => return Ok(None),
    };
    let method = Method::from_bytes(request.method.unwrap_or_default().as_bytes())
        .map_err(|_| Malformed("the method is malformed"))?;
    let target = request.path.unwrap_or_default().to_owned();
    let mut headers = HeaderMap::with_capacity(request.headers.len());
    for field in request.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let value = HeaderValue::from_bytes(field.value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(Malformed("a header is malformed"));
        };
        headers.append(name, value);
    }
    bytes.advance(length);
    let body = body(&headers)?;
    let expects_continue = headers
        .get(EXPECT)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    Ok(Some(Head {
        method,
        target,
        headers,
        body,
        expects_continue,
    }))
}

fn body(headers: &HeaderMap) -> Result<Body, Malformed> {
    if let Some(coding) = headers.get(TRANSFER_ENCODING) {
        if coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return Ok(Body::Chunked(Chunked::Size));
        }
        return Err(Malformed("the transfer coding is not chunked"));
    }
    let Some(length) = headers.get(CONTENT_LENGTH) else {
        return Ok(Body::Length(0));
    };
    let length = length.to_str().ok().and_then(|text| text.parse().ok());
    length
        .map(Body::Length)
        .ok_or(Malformed("the content length is malformed"))
}

impl Body {
    /// Returns the length, if it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Length(length) => Some(*length),
            Self::Chunked(_) => None,
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunked::End))
    }

    /// Takes what `bytes` has of the body, nothing if more of them is needed, or at the end.
    pub(crate) fn take(&mut self, bytes: &mut BytesMut) -> Result<Option<Bytes>, Malformed> {
        match self {
            Self::Length(left) => Ok(take(left, bytes)),
            Self::Chunked(chunked) => chunked.take(bytes),
        }
    }
}

impl Chunked {
    fn take(&mut self, bytes: &mut BytesMut) -> Result<Option<Bytes>, Malformed> {
        loop {
            match self {
                Self::End => return Ok(None),
                Self::Data(0) => *self = Self::DataEnd,
                Self::Data(left) => return Ok(take(left, bytes)),
                Self::DataEnd => {
                    if bytes.len() < 2 {
                        return Ok(None);
                    }
                    if bytes[..2] != *b"\r\n" {
                        return Err(Malformed("a chunk has no end"));
                    }
                    bytes.advance(2);
                    *self = Self::Size;
                }
                Self::Size => match httparse::parse_chunk_size(bytes) {
                    Ok(httparse::Status::Complete((line, 0))) => {
                        // OkHttp sends no trailers.
                        let Some(end) = bytes.get(line..line + 2) else {
                            return Ok(None);
                        };
                        if end != b"\r\n" {
                            return Err(Malformed("the request has trailers"));
                        }
                        bytes.advance(line + 2);
                        *self = Self::End;
                    }
                    Ok(httparse::Status::Complete((line, size))) => {
                        bytes.advance(line);
                        *self = Self::Data(size);
                    }
                    Ok(httparse::Status::Partial) if bytes.len() <= MAX_CHUNK_LINE => {
                        return Ok(None);
                    }
                    _ => return Err(Malformed("a chunk has no size")),
                },
            }
        }
    }
}

fn take(left: &mut u64, bytes: &mut BytesMut) -> Option<Bytes> {
    let length = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
    if length == 0 {
        return None;
    }
    *left -= length as u64;
    Some(bytes.split_to(length).freeze())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn heads_come_in_pieces_of_any_length() {
        let text = b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nX-A: \xe2\x82\xac\r\n\
            Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabcREST";
        let end = text.len() - 7;
        for cut in 0..end {
            assert!(head(&mut BytesMut::from(&text[..cut])).unwrap().is_none());
        }
        let mut bytes = BytesMut::from(&text[..]);
        let mut head = head(&mut bytes).unwrap().unwrap();
        assert_eq!((head.method, head.target), (Method::POST, "/a?b=c".into()));
        let values: Vec<_> = head.headers.get_all("x-a").iter().collect();
        assert_eq!(values, ["1".as_bytes(), "€".as_bytes()]);
        assert!(head.expects_continue && head.body == Body::Length(3));
        assert_eq!(head.body.take(&mut bytes).unwrap().unwrap(), "abc");
        assert!(head.body.is_at_end() && bytes == "REST");
    }

    #[test]
    fn chunked_bodies_come_in_pieces_of_any_length() {
        let text = b"5\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n";
        for step in 1..text.len() {
            let (mut body, mut bytes) = (Body::Chunked(Chunked::Size), BytesMut::new());
            let mut got = Vec::new();
            for piece in text.chunks(step) {
                bytes.extend_from_slice(piece);
                while let Some(data) = body.take(&mut bytes).unwrap() {
                    got.extend_from_slice(&data);
                }
            }
            assert!(body.is_at_end() && bytes.is_empty(), "in steps of {step}");
            assert_eq!(got, b"helloabcdefghijklmnopqrstuvwxyz");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let heads = [
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\nA\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
            "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        ];
        for text in heads {
            assert!(head(&mut BytesMut::from(text)).is_err(), "{text}");
        }
        let long = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(MAX_HEAD));
        let longest = &long[..MAX_HEAD];
        assert!(head(&mut BytesMut::from(longest)).unwrap().is_none());
        assert!(head(&mut BytesMut::from(&long[..=MAX_HEAD])).is_err());
        for text in [
            "x\r\n",
            "1\r\naXX",
            "0\r\nA: b\r\n\r\n",
            "11111111111111111111",
            "1;extension=too-long",
        ] {
            let mut body = Body::Chunked(Chunked::Size);
            let mut bytes = BytesMut::from(text);
            let mut taken = body.take(&mut bytes);
            while let Ok(Some(_)) = taken {
                taken = body.take(&mut bytes);
            }
            assert!(taken.is_err(), "{text}");
        }
    }
}
