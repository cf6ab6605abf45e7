//! Checks of request heads.

use http::header::{CONTENT_LENGTH, HOST};
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, HeaderValue, Method, Uri, request};

use crate::{
    BodyLength, FIELD_BYTES, Version, Violation, check_fields, check_te, connection_field,
    content_length, fields_bytes,
};

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

/// Checks the fields of a request that a server has received. Returns how long its body must be.
///
/// # Errors
///
/// Returns the rule that the head breaks. The request is malformed then, and must not be answered.
pub fn check_received(version: Version, fields: &HeaderMap) -> Result<BodyLength, Violation> {
    check_fields(version, fields)?;
    Ok(BodyLength::new(content_length(fields)?))
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
mod tests {
    use super::*;

    fn head(method: Method, url: &str, fields: &[(&str, &str)]) -> request::Parts {
        let mut request = http::Request::builder().method(method).uri(url);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).expect("the head is valid").into_parts().0
    }

    fn check(
        method: Method,
        fields: &[(&str, &str)],
        body_bytes: Option<u64>,
    ) -> Result<request::Parts, Violation> {
        let mut head = head(method, "https://a.example/x", fields);
        check_request(&mut head, body_bytes)?;
        Ok(head)
    }

    fn field(head: &request::Parts, name: &str) -> Option<String> {
        let value = head.headers.get(name)?;
        Some(value.to_str().expect("it is text").to_owned())
    }

    #[test]
    fn targets() {
        for (method, url, expected) in [
            (Method::GET, "https://a.example", "/"),
            (Method::GET, "https://a.example?x=1", "/?x=1"),
            (Method::GET, "https://a.example/", "/"),
            (Method::GET, "https://a.example/?x=1", "/?x=1"),
            (
                Method::GET,
                "https://a.example/\u{e9}?\u{4e2d}=1",
                "/%C3%A9?%E4%B8%AD=1",
            ),
            (Method::GET, "https://a.example/%c3%a9", "/%c3%a9"),
            (Method::OPTIONS, "https://a.example/*", "/*"),
        ] {
            let mut head = head(method, url, &[]);
            assert_eq!(check_request(&mut head, Some(0)), Ok(()), "{url}");
            let target = head.uri.path_and_query().map(PathAndQuery::as_str);
            assert_eq!(target, Some(expected), "{url}");
            assert_eq!(head.uri.scheme_str(), Some("https"));
        }
    }

    #[test]
    fn received_requests_are_checked() {
        let received = |version, name, value: &'static str| {
            let fields = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
            check_received(version, &fields).map(|length| length.missing())
        };
        for version in [Version::H2, Version::H3] {
            let closes = received(version, http::header::CONNECTION, "close");
            assert_eq!(closes, Err(Violation::ConnectionField("connection")));
            let coded = received(version, http::header::TE, "gzip");
            assert_eq!(coded, Err(Violation::Te));
            let none = received(version, http::header::TE, "trailers");
            assert_eq!(none, Ok(None));
            assert_eq!(received(version, CONTENT_LENGTH, "5"), Ok(Some(5)));
            let signed = received(version, CONTENT_LENGTH, "+5");
            assert_eq!(signed, Err(Violation::InvalidLength));
        }
        let closes = received(Version::H1, http::header::CONNECTION, "close");
        assert_eq!(closes, Ok(None));
    }

    #[test]
    fn connection_fields_are_refused() {
        for (name, value) in [
            ("connection", "close"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "close"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
        ] {
            let refused = check(Method::GET, &[(name, value)], Some(0)).err();
            assert_eq!(refused, Some(Violation::ConnectionField(name)));
        }
        for (value, expected) in [
            ("trailers", None),
            ("Trailers", None),
            ("gzip", Some(Violation::Te)),
            ("trailers, gzip", Some(Violation::Te)),
        ] {
            let refused = check(Method::GET, &[("te", value)], Some(0)).err();
            assert_eq!(refused, expected, "{value}");
        }
        let twice = [("te", "trailers"), ("te", "gzip")];
        assert_eq!(
            check(Method::GET, &twice, Some(0)).err(),
            Some(Violation::Te)
        );
    }

    #[test]
    fn host_is_the_authority() {
        for host in [
            "other.example",
            "other.example:8443",
            "[::1]:1",
            "[::1]",
            "127.0.0.1",
        ] {
            let head = check(Method::GET, &[("host", host)], Some(0)).expect(host);
            assert_eq!(head.uri.authority().map(Authority::as_str), Some(host));
            assert_eq!(field(&head, "host"), None);
        }
        for host in [
            "",
            "a b",
            "user@a.example",
            "a.example:x",
            "a.example:",
            "a.example:99999",
            "/",
            "\u{e9}",
        ] {
            let mut head = head(Method::GET, "https://a.example/", &[]);
            let value = HeaderValue::from_bytes(host.as_bytes()).expect("it is a value");
            head.headers.insert(HOST, value);
            assert_eq!(
                check_request(&mut head, Some(0)),
                Err(Violation::Host),
                "{host}"
            );
        }
        let twice = [("host", "a.example"), ("host", "a.example")];
        assert_eq!(
            check(Method::GET, &twice, Some(0)).err(),
            Some(Violation::Host)
        );
    }

    #[test]
    fn lengths_are_those_of_the_body() {
        let with = |value| [("content-length", value)];
        let sent = |method, value, body| {
            check(method, &with(value), body).map(|head| field(&head, "content-length"))
        };
        assert_eq!(sent(Method::POST, "5", Some(5)), Ok(Some("5".to_owned())));
        assert_eq!(
            sent(Method::POST, "5, 5", Some(5)),
            Ok(Some("5".to_owned()))
        );
        assert_eq!(sent(Method::GET, "0", Some(0)), Ok(None));
        let wrong = |field, body| Err(Violation::WrongLength { field, body });
        assert_eq!(sent(Method::GET, "99", Some(0)), wrong(99, 0));
        assert_eq!(sent(Method::POST, "1", Some(3)), wrong(1, 3));
        assert_eq!(sent(Method::POST, "4", Some(3)), wrong(4, 3));
        assert_eq!(
            sent(Method::POST, "x", Some(3)),
            Err(Violation::InvalidLength)
        );
        assert_eq!(
            sent(Method::POST, "3", None),
            Err(Violation::LengthOfStream)
        );
        let without = |method, body| {
            let head = check(method, &[], body).expect("it is valid");
            field(&head, "content-length")
        };
        for method in [Method::POST, Method::PUT, Method::PATCH] {
            assert_eq!(without(method.clone(), Some(0)).as_deref(), Some("0"));
            assert_eq!(without(method, None), None);
        }
        assert_eq!(without(Method::GET, Some(0)), None);
        assert_eq!(without(Method::DELETE, Some(2)).as_deref(), Some("2"));
    }

    #[test]
    fn methods() {
        assert_eq!(
            check(Method::CONNECT, &[], Some(0)).err(),
            Some(Violation::Connect)
        );
        assert!(check(Method::TRACE, &[], Some(0)).is_ok());
        for body in [Some(1), None] {
            assert_eq!(
                check(Method::TRACE, &[], body).err(),
                Some(Violation::TraceContent)
            );
        }
    }

    #[test]
    fn heads_are_bounded() {
        let with_fields = |count: usize| {
            let mut head = head(Method::GET, "https://a.example/", &[]);
            for i in 0..count {
                let name = http::HeaderName::try_from(format!("x-{i}")).expect("it is a name");
                head.headers.insert(name, HeaderValue::from_static("y"));
            }
            check_request(&mut head, Some(0))
        };
        assert_eq!(with_fields(MAX_REQUEST_FIELDS), Ok(()));
        let too_many = Err(Violation::TooManyFields(MAX_REQUEST_FIELDS));
        assert_eq!(with_fields(MAX_REQUEST_FIELDS + 1), too_many);
        let with_bytes = |extra: usize| {
            let mut head = head(Method::GET, "https://a.example/", &[("x", "")]);
            let rest = MAX_REQUEST_HEAD_BYTES - head_bytes(&head) + extra;
            let value = HeaderValue::try_from("y".repeat(rest)).expect("it is a value");
            head.headers.insert("x", value);
            check_request(&mut head, Some(0))
        };
        assert_eq!(with_bytes(0), Ok(()));
        let too_long = Err(Violation::HeadTooLong(MAX_REQUEST_HEAD_BYTES));
        assert_eq!(with_bytes(1), too_long);
    }

    proptest::proptest! {
        #[test]
        fn what_passes_passes_unchanged_once_more(
            path in "[/?*a-z\u{e9}\u{4e2d}%]{0,12}",
            body in proptest::option::of(0..3_u64),
            length in proptest::option::of("[0-3 ,]{0,4}"),
            host in proptest::option::of("[a-c:1@.]{0,6}"),
        ) {
            let mut request = http::Request::builder().method(Method::POST);
            request = request.uri(format!("https://a.example/{path}"));
            for (name, value) in [("content-length", length), ("host", host)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let Ok(request) = request.body(()) else { return Ok(()) };
            let mut head = request.into_parts().0;
            if check_request(&mut head, body).is_ok() {
                let before = (head.uri.clone(), head.headers.clone());
                proptest::prop_assert!(head.uri.to_string().is_ascii());
                proptest::prop_assert_eq!(check_request(&mut head, body), Ok(()));
                proptest::prop_assert_eq!(before, (head.uri, head.headers));
            }
        }
    }
}
