//! Writes responses.

use std::io::Write as _;

use bytes::{BufMut as _, BytesMut};
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode};

/// How the end of a response's body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none (RFC 9112 section 6.3).
    None,
    /// By its length.
    Length(u64),
    /// By its last chunk.
    Chunked,
}

impl Framing {
    /// How the body of this response is framed; none if its content length is not a number.
    pub(crate) fn of(method: &Method, status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let without = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED];
        if method == Method::HEAD || without.contains(&status) {
            return Some(Self::None);
        }
        let Some(length) = headers.get(CONTENT_LENGTH) else {
            return Some(Self::Chunked);
        };
        Some(Self::Length(length.to_str().ok()?.parse().ok()?))
    }
}

/// Appends a head. A reason is only sent where the server's protocol has one.
pub(crate) fn head(
    into: &mut BytesMut,
    status: StatusCode,
    with_reason: bool,
    headers: &HeaderMap,
    framing: Framing,
) {
    let reason = status.canonical_reason().filter(|_| with_reason);
    let line = format_args!(
        "HTTP/1.1 {} {}\r\n",
        status.as_str(),
        reason.unwrap_or_default()
    );
    // Writing to memory cannot fail.
    write!(into.writer(), "{line}").ok();
    fields(into, headers);
    if framing == Framing::Chunked {
        into.put_slice(b"transfer-encoding: chunked\r\n");
    }
    into.put_slice(b"\r\n");
}

/// Appends a piece of a chunked body.
pub(crate) fn chunk(into: &mut BytesMut, data: &[u8]) {
    // A chunk without data would be the last one.
    if !data.is_empty() {
        write!(into.writer(), "{:x}\r\n", data.len()).ok();
        into.put_slice(data);
        into.put_slice(b"\r\n");
    }
}

/// Appends the end of a chunked body, with its trailers.
pub(crate) fn last_chunk(into: &mut BytesMut, trailers: Option<&HeaderMap>) {
    into.put_slice(b"0\r\n");
    if let Some(trailers) = trailers {
        fields(into, trailers);
    }
    into.put_slice(b"\r\n");
}

fn fields(into: &mut BytesMut, headers: &HeaderMap) {
    for (name, value) in headers {
        // The framing is this connection's own.
        if name != TRANSFER_ENCODING {
            into.put_slice(name.as_str().as_bytes());
            into.put_slice(b": ");
            into.put_slice(value.as_bytes());
            into.put_slice(b"\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn text(bytes: &BytesMut) -> &str {
        std::str::from_utf8(bytes).unwrap_or("not UTF-8")
    }

    #[test]
    fn bodies_are_framed_as_the_method_and_the_status_say() {
        let mut headers = HeaderMap::new();
        let of = |method: &Method, status, headers: &HeaderMap| {
            Framing::of(method, StatusCode::from_u16(status).ok()?, headers)
        };
        assert_eq!(of(&Method::GET, 200, &headers), Some(Framing::Chunked));
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("5"));
        assert_eq!(of(&Method::GET, 200, &headers), Some(Framing::Length(5)));
        assert_eq!(of(&Method::HEAD, 200, &headers), Some(Framing::None));
        assert_eq!(of(&Method::GET, 304, &headers), Some(Framing::None));
        assert_eq!(of(&Method::POST, 204, &headers), Some(Framing::None));
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("5, 5"));
        assert_eq!(of(&Method::GET, 200, &headers), None);
    }

    #[test]
    fn heads_keep_repeated_fields_and_only_this_connections_framing() {
        let mut headers = HeaderMap::new();
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("gzip, chunked"));
        headers.append("set-cookie", HeaderValue::from_static("a=1"));
        headers.append("set-cookie", HeaderValue::from_static("b=2"));
        let mut bytes = BytesMut::new();
        head(
            &mut bytes,
            StatusCode::OK,
            false,
            &headers,
            Framing::Chunked,
        );
        let expected = "HTTP/1.1 200 \r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\
            transfer-encoding: chunked\r\n\r\n";
        assert_eq!(text(&bytes), expected);
        bytes.clear();
        head(
            &mut bytes,
            StatusCode::NOT_FOUND,
            true,
            &HeaderMap::new(),
            Framing::None,
        );
        assert_eq!(text(&bytes), "HTTP/1.1 404 Not Found\r\n\r\n");
    }

    #[test]
    fn chunks_end_with_the_trailers() {
        let mut bytes = BytesMut::new();
        chunk(&mut bytes, b"0123456789abcdef");
        chunk(&mut bytes, b"");
        let trailers = HeaderMap::from_iter([(
            http::HeaderName::from_static("x-sum"),
            HeaderValue::from_static("1"),
        )]);
        last_chunk(&mut bytes, Some(&trailers));
        assert_eq!(
            text(&bytes),
            "10\r\n0123456789abcdef\r\n0\r\nx-sum: 1\r\n\r\n"
        );
    }
}
