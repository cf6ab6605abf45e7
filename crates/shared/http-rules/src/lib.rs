//! Rules for valid HTTP messages (RFC 9110), on HTTP/1.1 (RFC 9112), HTTP/2 (RFC 9113) and HTTP/3 (RFC 9114).
//!
//! The rules of requests and responses stand here once, for every version. A server calls [`check_received`] for the head
//! of a request, [`BodyLength`] for each piece of its body and [`check_received_trailers`] at its end. A client calls
//! [`check_request`] before it chooses a connection. Then it calls [`check_response`] for each head, [`BodyLength`] for each piece of a body and
//! [`check_trailers`] at its end. Frames, chunks and field syntax are left to the libraries that parse them; this crate
//! sees what they hand over.
//!
//! Each [`Violation`] names the section that it breaks.

#![forbid(unsafe_code)]

mod body;
mod received;
mod request;
mod response;
mod violation;

pub use body::BodyLength;
pub use received::{check_received, check_received_trailers};
pub use request::{MAX_REQUEST_FIELDS, MAX_REQUEST_HEAD_BYTES, check_request, head_bytes};
pub use response::{Framing, MAX_INTERIM_RESPONSES, check_interim, check_response, check_trailers};
pub use violation::Violation;

use http::header::{CONTENT_LENGTH, TE};

/// A version of HTTP, as far as the rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.0 and HTTP/1.1: messages are text.
    H1,
    /// HTTP/2: messages are frames on a stream.
    H2,
    /// HTTP/3: messages are frames on a QUIC stream.
    H3,
}

/// Fields that concern one connection (RFC 9110 section 7.6.1), which HTTP/2 and HTTP/3 forbid (RFC 9113 section
/// 8.2.2, RFC 9114 section 4.2). `te` is the one with an exception, so that it is not listed.
const CONNECTION_FIELDS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// Bytes that a field counts for beside its name and value (RFC 9113 section 6.5.2, RFC 9114 section 4.2.2).
const FIELD_BYTES: usize = 32;

/// Returns the length of fields as HTTP/2 and HTTP/3 count it: names and values, and 32 bytes for each field.
pub fn fields_bytes(fields: &http::HeaderMap) -> usize {
    let fields = fields.iter();
    fields
        .map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES)
        .sum()
}

/// Checks `te`: over HTTP/2 and HTTP/3 it may have one value only, which HTTP/1.1 understands as well.
fn check_te(fields: &http::HeaderMap) -> Result<(), Violation> {
    let mut values = fields.get_all(TE).iter();
    match values.all(|value| value.as_bytes().eq_ignore_ascii_case(b"trailers")) {
        true => Ok(()),
        false => Err(Violation::Te),
    }
}

/// Checks the fields of a head or of trailers that were received.
fn check_fields(version: Version, fields: &http::HeaderMap) -> Result<(), Violation> {
    if version == Version::H1 {
        return Ok(());
    }
    if let Some(name) = connection_field(fields) {
        return Err(Violation::ConnectionField(name));
    }
    check_te(fields)
}

/// Returns the first field of these that concerns one connection.
fn connection_field(fields: &http::HeaderMap) -> Option<&'static str> {
    let mut names = CONNECTION_FIELDS.into_iter();
    names.find(|name| fields.contains_key(*name))
}

/// Returns the length that `content-length` gives; equal values count once (RFC 9110 section 8.6).
fn content_length(fields: &http::HeaderMap) -> Result<Option<u64>, Violation> {
    let mut length = None;
    for value in fields.get_all(CONTENT_LENGTH) {
        let text = value.to_str().map_err(|_| Violation::InvalidLength)?;
        for item in text.split(',') {
            let item = item.trim_matches([' ', '\t']);
            // `parse` would take a sign.
            if item.is_empty() || !item.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(Violation::InvalidLength);
            }
            let item: u64 = item.parse().map_err(|_| Violation::InvalidLength)?;
            if length.is_some_and(|length| length != item) {
                return Err(Violation::ConflictingLengths);
            }
            length = Some(item);
        }
    }
    Ok(length)
}
