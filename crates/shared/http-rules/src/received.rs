//! Checks of requests that a server has received.

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, request};

use crate::{BodyLength, Version, Violation, check_fields, check_trailers, content_length};

/// Checks the head of a request that a server has received. Returns how long its body must be.
///
/// # Errors
///
/// Returns the rule that the head breaks. The request is malformed then: over HTTP/1.1 it is answered with status 400,
/// over later versions not at all.
pub fn check_received(version: Version, head: &request::Parts) -> Result<BodyLength, Violation> {
    let fields = &head.headers;
    check_fields(version, fields)?;
    if version == Version::H1 {
        check_host(head)?;
        // RFC 9112 section 6.3: a transfer coding overrides the length.
        let is_coded = fields.contains_key(TRANSFER_ENCODING);
        let length = if is_coded {
            None
        } else {
            content_length(fields)?
        };
        return Ok(BodyLength::new(length));
    }
    check_white_space(fields)?;
    check_authority(head)?;
    let length = content_length(fields)?;
    let mut lengths = fields.get_all(CONTENT_LENGTH).iter();
    let is_list = |value: &HeaderValue| value.as_bytes().contains(&b',');
    if lengths.next().is_some_and(is_list) || lengths.next().is_some() {
        return Err(Violation::SeveralLengths);
    }
    Ok(BodyLength::new(length))
}

/// Checks trailers that a server has received, and removes the fields that must not be in them.
///
/// # Errors
///
/// Returns the rule that they break; the whole request is malformed then.
pub fn check_received_trailers(version: Version, fields: &mut HeaderMap) -> Result<(), Violation> {
    check_trailers(version, fields)?;
    match version {
        // Parsers of HTTP/1.1 remove what is around a value.
        Version::H1 => Ok(()),
        Version::H2 | Version::H3 => check_white_space(fields),
    }
}

/// Checks that no value begins or ends with white space.
fn check_white_space(fields: &HeaderMap) -> Result<(), Violation> {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let mut values = fields.values().map(HeaderValue::as_bytes);
    match values.any(|value| is_blank(value.first()) || is_blank(value.last())) {
        true => Err(Violation::WhiteSpace),
        false => Ok(()),
    }
}

/// Checks `host` over HTTP/1.1, which may be empty.
fn check_host(head: &request::Parts) -> Result<(), Violation> {
    let mut values = head.headers.get_all(HOST).iter();
    let host = values.next();
    if values.next().is_some() || host.is_none() && head.version == http::Version::HTTP_11 {
        return Err(Violation::OneHost);
    }
    match host.is_none_or(|host| host.is_empty() || is_host(host.as_bytes())) {
        true => Ok(()),
        false => Err(Violation::Host),
    }
}

/// Checks `:authority` and `host` of a later version.
fn check_authority(head: &request::Parts) -> Result<(), Violation> {
    let authority = head.uri.authority().map(Authority::as_str);
    if authority.is_some_and(|authority| !is_host(authority.as_bytes())) {
        return Err(Violation::Authority);
    }
    let mut values = head.headers.get_all(HOST).iter();
    let Some(host) = values.next() else {
        return Ok(());
    };
    if values.next().is_some() || !is_host(host.as_bytes()) {
        return Err(Violation::Host);
    }
    let scheme = head.uri.scheme_str();
    match authority.is_none_or(|authority| is_same(authority.as_bytes(), host.as_bytes(), scheme)) {
        true => Ok(()),
        false => Err(Violation::HostDiffers),
    }
}

/// Compares two authorities as RFC 3986 section 6.2 normalizes them.
fn is_same(one: &[u8], other: &[u8], scheme: Option<&str>) -> bool {
    let default_port = match scheme {
        Some("http") => ":80",
        _ => ":443",
    };
    let [one, other] = [one, other].map(|authority| {
        let host = authority.strip_suffix(default_port.as_bytes());
        host.unwrap_or(authority)
    });
    one.eq_ignore_ascii_case(other)
}

/// Reports whether this is a host with an optional port (RFC 3986 section 3.2), and has no user.
fn is_host(text: &[u8]) -> bool {
    let end = match text.iter().position(|byte| *byte == b']') {
        Some(end) => end + 1,
        None => text.iter().position(|b| *b == b':').unwrap_or(text.len()),
    };
    let (host, port) = text.split_at(end);
    let address = host
        .strip_prefix(b"[")
        .and_then(|host| host.strip_suffix(b"]"));
    let is_valid = match address {
        Some(address) => address.iter().all(|byte| is_of_name(byte) || *byte == b':'),
        None => host.iter().all(is_of_name),
    };
    let is_number = |port: &[u8]| port.iter().all(u8::is_ascii_digit);
    let has_port = port.strip_prefix(b":").is_some_and(is_number);
    is_valid && !address.unwrap_or(host).is_empty() && (port.is_empty() || has_port)
}

/// Reports whether a registered name may have this byte: unreserved, percent-encoded or a sub-delimiter.
fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn head(uri: &str, fields: &[(&str, &str)]) -> request::Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).expect("the head is valid").into_parts().0
    }

    type Checked = Result<Option<u64>, Violation>;
    type Fields = &'static [(&'static str, &'static str)];

    fn check(version: Version, uri: &str, fields: &[(&str, &str)]) -> Checked {
        check_received(version, &head(uri, fields)).map(|length| length.missing())
    }

    const LATER: [Version; 2] = [Version::H2, Version::H3];

    #[test]
    fn fields_are_checked() {
        let cases: [(Fields, Checked); 11] = [
            (
                &[("connection", "close")],
                Err(Violation::ConnectionField("connection")),
            ),
            (&[("te", "gzip")], Err(Violation::Te)),
            (&[("te", "trailers")], Ok(None)),
            (&[("content-length", "5")], Ok(Some(5))),
            (&[("content-length", "+5")], Err(Violation::InvalidLength)),
            (
                &[("content-length", "5, 5")],
                Err(Violation::SeveralLengths),
            ),
            (
                &[("content-length", "5"), ("content-length", "5")],
                Err(Violation::SeveralLengths),
            ),
            (
                &[("content-length", "5"), ("content-length", "6")],
                Err(Violation::ConflictingLengths),
            ),
            (&[("a", " b")], Err(Violation::WhiteSpace)),
            (&[("a", "b\t")], Err(Violation::WhiteSpace)),
            (&[("a", "b \t c"), ("d", "")], Ok(None)),
        ];
        for (fields, expected) in cases {
            for version in LATER {
                let checked = check(version, "https://a.example/", fields);
                assert_eq!(checked, expected, "{fields:?}");
            }
        }
        let over_http1 = |fields: &[(&str, &str)]| {
            check(
                Version::H1,
                "/",
                &[&[("host", "a.example")], fields].concat(),
            )
        };
        assert_eq!(over_http1(&[("connection", "close")]), Ok(None));
        assert_eq!(over_http1(&[("content-length", "5, 5")]), Ok(Some(5)));
        let coded = [("content-length", "x"), ("transfer-encoding", "chunked")];
        assert_eq!(over_http1(&coded), Ok(None));
    }

    #[test]
    fn hosts_of_http1() {
        for (host, is_valid) in [
            ("", true),
            ("a.example", true),
            ("a.example:", true),
            ("a.example:8080", true),
            ("a_b-c~%20!", true),
            ("127.0.0.1:1", true),
            ("[::1]", true),
            ("[::1]:443", true),
            (":80", false),
            ("a b/c@d", false),
            ("u@a.example", false),
            ("a/b", false),
            ("a.example:x", false),
            ("a:1:2", false),
            ("[::1", false),
            ("[::1]80", false),
            ("x[::1]", false),
            ("[]", false),
        ] {
            let expected = if is_valid {
                Ok(None)
            } else {
                Err(Violation::Host)
            };
            let checked = check(Version::H1, "/", &[("host", host)]);
            assert_eq!(checked, expected, "{host}");
        }
        let two = [("host", "a"), ("host", "a")];
        assert_eq!(check(Version::H1, "/", &two), Err(Violation::OneHost));
        assert_eq!(check(Version::H1, "/", &[]), Err(Violation::OneHost));
        let mut old = head("/", &[]);
        old.version = http::Version::HTTP_10;
        assert!(check_received(Version::H1, &old).is_ok());
    }

    #[test]
    fn authorities_of_later_versions() {
        let cases: [(&str, Fields, Result<(), Violation>); 13] = [
            ("https://a.example/", &[], Ok(())),
            ("https://a.example/", &[("host", "a.example")], Ok(())),
            ("https://a.example/", &[("host", "A.example:443")], Ok(())),
            ("http://a.example:80/", &[("host", "a.example")], Ok(())),
            ("/", &[("host", "a.example")], Ok(())),
            ("/", &[], Ok(())),
            ("https://u@a.example/", &[], Err(Violation::Authority)),
            (
                "https://a.example/",
                &[("host", "b.example")],
                Err(Violation::HostDiffers),
            ),
            (
                "https://a.example/",
                &[("host", "a.example:80")],
                Err(Violation::HostDiffers),
            ),
            ("/", &[("host", "u@a.example")], Err(Violation::Host)),
            ("/", &[("host", "")], Err(Violation::Host)),
            ("https://a.example/", &[("host", "")], Err(Violation::Host)),
            (
                "/",
                &[("host", "a.example"), ("host", "a.example")],
                Err(Violation::Host),
            ),
        ];
        for (uri, fields, expected) in cases {
            for version in LATER {
                let checked = check(version, uri, fields).map(drop);
                assert_eq!(checked, expected, "{uri} {fields:?}");
            }
        }
    }

    #[test]
    fn trailers_are_checked() {
        let check = |version, value: &'static str| {
            let mut fields = head("/", &[("a", value), ("content-length", "5")]).headers;
            check_received_trailers(version, &mut fields).map(|()| fields.len())
        };
        for version in LATER {
            assert_eq!(check(version, "b"), Ok(1));
            assert_eq!(check(version, "b "), Err(Violation::WhiteSpace));
        }
        assert_eq!(check(Version::H1, "b "), Ok(1));
    }
}
