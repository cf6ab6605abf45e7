//! Writes responses as HTTP/1.1.

use std::io::Write as _;

use bytes::{BufMut as _, BytesMut};
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode};

/// How the end of a response's body is known to the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The body is empty (RFC 9112 section 6.3).
    None,
    /// By its length.
    Length(u64),
    /// By its last chunk, which may carry trailers.
    Chunked,
}

/// How a response is written: its framing and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponsePlan {
    pub(crate) framing: Framing,
    /// The length that the server gave, which the head repeats.
    pub(crate) content_length: Option<u64>,
    /// Bytes of the body, if the server's head gives them.
    pub(crate) body_bytes: Option<u64>,
}

/// The server's content lengths conflict, or one is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidLength;

impl ResponsePlan {
    /// Decides how a response is passed on. Over HTTP/2 and HTTP/3, trailers may follow a body of any length; HTTP/1.1
    /// carries them in chunked bodies only.
    pub(crate) fn of(
        method: &Method,
        status: StatusCode,
        over_h1: bool,
        headers: &HeaderMap,
    ) -> Result<Self, InvalidLength> {
        let content_length = content_length(headers)?;
        let has_no_body = *method == Method::HEAD
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED;
        // OkHttp would wait for a body of this length, which does not come (RFC 9110 section 15.4.5).
        let ends_by_chunk = *method != Method::HEAD
            && status == StatusCode::NOT_MODIFIED
            && content_length.is_some_and(|length| length > 0);
        let framing = match content_length {
            _ if ends_by_chunk => Framing::Chunked,
            _ if has_no_body => Framing::None,
            Some(length) if over_h1 => Framing::Length(length),
            _ => Framing::Chunked,
        };
        let body_bytes = match has_no_body {
            true => Some(0),
            false => content_length,
        };
        Ok(Self {
            framing,
            content_length,
            body_bytes,
        })
    }
}

/// Returns the length that all values give. Two lengths would let a server choose which bytes are the next response
/// (RFC 9110 section 8.6).
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, InvalidLength> {
    let mut length = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        for item in value.to_str().map_err(|_| InvalidLength)?.split(',') {
            let item = item.trim_matches([' ', '\t']);
            // `parse` would take a sign.
            if !item.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(InvalidLength);
            }
            let item: u64 = item.parse().map_err(|_| InvalidLength)?;
            if length.is_some_and(|length| length != item) {
                return Err(InvalidLength);
            }
            length = Some(item);
        }
    }
    Ok(length)
}

/// Appends a head. A reason is only sent where the server's protocol has one.
pub(crate) fn head(
    into: &mut BytesMut,
    status: StatusCode,
    with_reason: bool,
    headers: &HeaderMap,
    plan: ResponsePlan,
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
    if let Some(length) = plan.content_length {
        write!(into.writer(), "content-length: {length}\r\n").ok();
    }
    if plan.framing == Framing::Chunked {
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
        if name != TRANSFER_ENCODING && name != CONTENT_LENGTH {
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

    fn plan(method: &Method, status: u16, over_h1: bool, lengths: &[&'static str]) -> Planned {
        let mut headers = HeaderMap::new();
        for length in lengths {
            headers.append(CONTENT_LENGTH, HeaderValue::from_static(length));
        }
        let status = StatusCode::from_u16(status).unwrap_or_default();
        let plan = ResponsePlan::of(method, status, over_h1, &headers)?;
        Ok((plan.framing, plan.body_bytes))
    }

    type Planned = Result<(Framing, Option<u64>), InvalidLength>;

    #[test]
    fn bodies_are_framed_so_that_trailers_can_follow() {
        use Framing::{Chunked, Length, None as NoBody};
        let get = |status, over_h1, lengths: &[&'static str]| {
            plan(&Method::GET, status, over_h1, lengths)
        };
        for over_h1 in [true, false] {
            assert_eq!(get(200, over_h1, &[]), Ok((Chunked, None)));
            assert_eq!(get(204, over_h1, &[]), Ok((NoBody, Some(0))));
            assert_eq!(get(304, over_h1, &[]), Ok((NoBody, Some(0))));
            assert_eq!(get(304, over_h1, &["0"]), Ok((NoBody, Some(0))));
            assert_eq!(get(304, over_h1, &["5"]), Ok((Chunked, Some(0))));
            let head = plan(&Method::HEAD, 200, over_h1, &["5"]);
            assert_eq!(head, Ok((NoBody, Some(0))));
            let head = plan(&Method::HEAD, 304, over_h1, &["5"]);
            assert_eq!(head, Ok((NoBody, Some(0))));
        }
        assert_eq!(get(200, true, &["5"]), Ok((Length(5), Some(5))));
        assert_eq!(get(200, false, &["5"]), Ok((Chunked, Some(5))));
        assert_eq!(get(200, false, &["0"]), Ok((Chunked, Some(0))));
    }

    #[test]
    fn lengths_that_conflict_are_refused() {
        for over_h1 in [true, false] {
            for lengths in [
                &["53", "5"][..],
                &["5, 53"],
                &["+5"],
                &[""],
                &["5,"],
                &["5 5"],
            ] {
                for (method, status) in
                    [(Method::GET, 200), (Method::HEAD, 200), (Method::GET, 304)]
                {
                    let planned = plan(&method, status, over_h1, lengths);
                    assert_eq!(planned, Err(InvalidLength), "{lengths:?}");
                }
            }
        }
    }

    #[test]
    fn heads_keep_repeated_fields_and_have_one_length() {
        let mut headers = HeaderMap::new();
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("gzip, chunked"));
        headers.append("set-cookie", HeaderValue::from_static("a=1"));
        headers.append("set-cookie", HeaderValue::from_static("b=2"));
        headers.append(CONTENT_LENGTH, HeaderValue::from_static("5"));
        headers.append(CONTENT_LENGTH, HeaderValue::from_static("5, 5"));
        let text_of = |status, over_h1, headers: &HeaderMap| {
            let mut bytes = BytesMut::new();
            if let Ok(plan) = ResponsePlan::of(&Method::GET, status, over_h1, headers) {
                head(&mut bytes, status, over_h1, headers, plan);
            }
            text(&bytes).to_owned()
        };
        let expected = "HTTP/1.1 200 \r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\
            content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n";
        assert_eq!(text_of(StatusCode::OK, false, &headers), expected);
        let expected = "HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(
            text_of(StatusCode::NO_CONTENT, true, &HeaderMap::new()),
            expected
        );
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
