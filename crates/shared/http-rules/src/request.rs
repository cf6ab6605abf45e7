//! Checks of request heads.

use http::header::{CONTENT_LENGTH, HOST};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderValue, Method, Uri, request};

use crate::{FIELD_BYTES, Violation, check_te, connection_field, content_length, fields_bytes};

/// The most fields of a request.
pub const MAX_REQUEST_FIELDS: usize = 1_024;
/// The longest head of a request in bytes: target, names and values.
pub const MAX_REQUEST_HEAD_BYTES: usize = 256 << 10;

/// Checks the head of a request whose body has this many bytes, if that is known, and writes it as every version sends
/// it. `host` becomes the authority, and `content-length` is that of the body. The path begins with a slash and is
/// ASCII, and values have no blanks around them.
///
/// # Errors
///
/// Returns the rule that the head breaks. Such a request must not be sent: on some version of HTTP it would be another
/// request, or part of one.
pub fn check_request(head: &mut request::Parts, body_bytes: Option<u64>) -> Result<(), Violation> {
    if head.method == Method::CONNECT {
        return Err(Violation::Connect);
    }
    if head.method == Method::TRACE && body_bytes != Some(0) {
        return Err(Violation::TraceContent);
    }
    trim_values(&mut head.headers);
    if let Some(name) = connection_field(&head.headers) {
        return Err(Violation::ConnectionField(name));
    }
    check_te(&head.headers)?;
    let authority = host(&mut head.headers)?;
    set_length(&mut head.headers, &head.method, body_bytes)?;
    set_target(&mut head.uri, &head.method, authority)?;
    if head.headers.len() > MAX_REQUEST_FIELDS {
        return Err(Violation::TooManyFields(MAX_REQUEST_FIELDS));
    }
    if head_bytes(head) > MAX_REQUEST_HEAD_BYTES {
        return Err(Violation::HeadTooLong(MAX_REQUEST_HEAD_BYTES));
    }
    Ok(())
}

/// Returns the length of a head as RFC 9113 section 6.5.2 and RFC 9114 section 4.2.2 count it. These are names and
/// values, and 32 bytes for each field.
pub fn head_bytes(head: &request::Parts) -> usize {
    let authority = head
        .uri
        .authority()
        .map_or(0, |authority| authority.as_str().len());
    let path = head
        .uri
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    let pseudo = ":method:scheme:authority:path".len() + "https".len() + 4 * FIELD_BYTES;
    fields_bytes(&head.headers) + head.method.as_str().len() + authority + path + pseudo
}

/// Removes blanks around values. They are no part of a value over HTTP/1.1 (RFC 9110 section 5.5), and malformed over
/// HTTP/2 (RFC 9113 section 8.2.1).
fn trim_values(fields: &mut HeaderMap) {
    for value in fields.values_mut() {
        let trimmed = value.as_bytes().trim_ascii();
        if trimmed.len() < value.len()
            && let Ok(mut trimmed) = HeaderValue::from_bytes(trimmed)
        {
            trimmed.set_sensitive(value.is_sensitive());
            *value = trimmed;
        }
    }
}

/// Takes `host` from the fields: HTTP/2 and HTTP/3 have the authority instead (RFC 9113 section 8.3.1).
fn host(fields: &mut HeaderMap) -> Result<Option<Authority>, Violation> {
    let mut values = fields.get_all(HOST).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Violation::Host);
    }
    let text = value.to_str().map_err(|_| Violation::Host)?;
    let authority: Authority = text.parse().map_err(|_| Violation::Host)?;
    // http takes a port that is no number, and a user's name.
    let port = text
        .rsplit_once(':')
        .filter(|(_, port)| !port.ends_with(']'));
    let port_fits = port.is_none_or(|(_, port)| port.parse::<u16>().is_ok());
    if authority.host().is_empty() || text.contains('@') || !port_fits {
        return Err(Violation::Host);
    }
    fields.remove(HOST);
    Ok(Some(authority))
}

/// Sets `content-length` where the length is known; an empty body is said where one is expected (RFC 9110 section
/// 8.6).
fn set_length(
    fields: &mut HeaderMap,
    method: &Method,
    body_bytes: Option<u64>,
) -> Result<(), Violation> {
    match (content_length(fields)?, body_bytes) {
        (Some(_), None) => return Err(Violation::LengthOfStream),
        (Some(field), Some(body)) if field != body => {
            return Err(Violation::WrongLength { field, body });
        }
        _ => {}
    }
    fields.remove(CONTENT_LENGTH);
    let is_expected = [Method::POST, Method::PUT, Method::PATCH].contains(method);
    if let Some(body) = body_bytes.filter(|bytes| is_expected || *bytes > 0) {
        fields.insert(CONTENT_LENGTH, body.into());
    }
    Ok(())
}

fn set_target(
    uri: &mut Uri,
    method: &Method,
    authority: Option<Authority>,
) -> Result<(), Violation> {
    let mut parts = std::mem::take(uri).into_parts();
    if authority.is_some() {
        parts.authority = authority;
    }
    let target = parts
        .path_and_query
        .as_ref()
        .map_or("", PathAndQuery::as_str);
    let target = match target {
        "*" if *method == Method::OPTIONS => "*".to_owned(),
        target if target.is_empty() || target.starts_with('?') => format!("/{}", ascii(target)),
        target if target.starts_with('/') => ascii(target),
        _ => return Err(Violation::Target),
    };
    parts.path_and_query = Some(target.parse().map_err(|_| Violation::Target)?);
    *uri = Uri::from_parts(parts).map_err(|_| Violation::Target)?;
    Ok(())
}

/// Encodes what is not ASCII (RFC 3986 section 2.5), as browsers do.
fn ascii(target: &str) -> String {
    let mut encoded = String::with_capacity(target.len());
    for character in target.chars() {
        if character.is_ascii() {
            encoded.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
