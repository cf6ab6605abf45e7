//! Checks of response heads and trailers.

use http::header::{CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Method, StatusCode, response};

use crate::{BodyLength, Version, Violation, check_fields, content_length};

/// The most interim responses (1xx) that may come before the final one.
pub const MAX_INTERIM_RESPONSES: u32 = 100;

/// The framing of a final response: how its body ends, and whether the connection is reusable.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    /// The length of the body.
    pub length: BodyLength,
    /// Whether the connection may carry another request (HTTP/1 only).
    pub reusable: bool,
    /// Whether the only transfer coding named was `identity` of RFC 2616, which is none. The length then stays in
    /// force, while by RFC 9112 only the connection's end would end the body.
    pub is_identity: bool,
}

/// Checks the head of a final response to a request with this method. Removes a `content-length` that
/// `transfer-encoding` overrides, or a `transfer-encoding` that says nothing.
///
/// # Errors
///
/// Returns the rule that the head breaks. The response is malformed then: nothing of it may be used, and the request
/// must not be sent again because of it.
pub fn check_response(
    version: Version,
    method: &Method,
    head: &mut response::Parts,
) -> Result<Framing, Violation> {
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Violation::SwitchingProtocols);
    }
    check_fields(version, &head.headers)?;
    let length = content_length(&head.headers)?;
    // RFC 9112 section 6.3: the transfer coding wins, and a peer that sends both may be trying to smuggle.
    let is_identity = names_identity(&head.headers);
    if is_identity {
        head.headers.remove(TRANSFER_ENCODING);
    }
    let is_coded = head.headers.contains_key(TRANSFER_ENCODING);
    if is_coded {
        head.headers.remove(CONTENT_LENGTH);
    }
    let has_no_body = *method == Method::HEAD
        || head.status == StatusCode::NO_CONTENT
        || head.status == StatusCode::NOT_MODIFIED;
    let length = match length.filter(|_| !is_coded) {
        _ if has_no_body => BodyLength::none(),
        length => BodyLength::new(length),
    };
    // What a peer of HTTP/1.0 keeps open it may not frame as HTTP/1.1 does (RFC 9112 sections 6.1 and 9.3).
    let reusable = head.version != http::Version::HTTP_10 && !is_identity;
    Ok(Framing {
        length,
        reusable,
        is_identity,
    })
}

/// Checks the fields of an interim response (1xx), which are used for nothing.
///
/// # Errors
///
/// Returns the rule that they break; the whole response is malformed then.
pub fn check_interim(version: Version, fields: &HeaderMap) -> Result<(), Violation> {
    check_fields(version, fields)
}

/// Reports whether transfer codings are named and all are `identity`.
fn names_identity(fields: &HeaderMap) -> bool {
    let mut values = fields.get_all(TRANSFER_ENCODING).iter().peekable();
    let is_identity = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    values.peek().is_some() && values.all(is_identity)
}

/// Checks trailers, and removes the fields that must not be in them (RFC 9110 section 6.5.1).
///
/// # Errors
///
/// Returns the rule that they break; the whole response is malformed then.
pub fn check_trailers(version: Version, fields: &mut HeaderMap) -> Result<(), Violation> {
    check_fields(version, fields)?;
    for name in [CONTENT_LENGTH, TRANSFER_ENCODING, TRAILER, TE, HOST] {
        fields.remove(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: u16, fields: &[(&str, &str)]) -> response::Parts {
        let mut response = http::Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, *value);
        }
        response.body(()).expect("the head is valid").into_parts().0
    }

    fn check(version: Version, method: &Method, status: u16, fields: &[(&str, &str)]) -> Checked {
        let mut head = head(status, fields);
        let framing = check_response(version, method, &mut head)?;
        let has = |name| head.headers.contains_key(name);
        assert!(!(has(CONTENT_LENGTH) && has(TRANSFER_ENCODING)));
        Ok(framing.length.missing())
    }

    const ALL: [Version; 3] = [Version::H1, Version::H2, Version::H3];

    type Checked = Result<Option<u64>, Violation>;

    #[test]
    fn lengths() {
        use Violation::{ConflictingLengths, InvalidLength};
        let cases: [(&[&str], Checked); 14] = [
            (&[], Ok(None)),
            (&["5"], Ok(Some(5))),
            (&["5", "5"], Ok(Some(5))),
            (&["5, 5"], Ok(Some(5))),
            (&["18446744073709551615"], Ok(Some(u64::MAX))),
            (&["5", "53"], Err(ConflictingLengths)),
            (&["5, 53"], Err(ConflictingLengths)),
            (&["18446744073709551616"], Err(InvalidLength)),
            (&["+5"], Err(InvalidLength)),
            (&["-5"], Err(InvalidLength)),
            (&["0x5"], Err(InvalidLength)),
            (&["5,"], Err(InvalidLength)),
            (&[""], Err(InvalidLength)),
            (&["5 5"], Err(InvalidLength)),
        ];
        for version in ALL {
            for (values, expected) in cases {
                let fields: Vec<_> = values
                    .iter()
                    .map(|value| ("content-length", *value))
                    .collect();
                assert_eq!(
                    check(version, &Method::GET, 200, &fields),
                    expected,
                    "{values:?}"
                );
            }
        }
    }

    #[test]
    fn responses_without_a_body() {
        for version in ALL {
            let length = [("content-length", "5")];
            assert_eq!(check(version, &Method::HEAD, 200, &length), Ok(Some(0)));
            assert_eq!(check(version, &Method::GET, 304, &length), Ok(Some(0)));
            assert_eq!(check(version, &Method::GET, 204, &[]), Ok(Some(0)));
            assert_eq!(check(version, &Method::POST, 205, &[]), Ok(None));
        }
    }

    #[test]
    fn connection_fields_belong_to_http_1() {
        for (name, value) in [
            ("connection", "close"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "close"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
        ] {
            assert_eq!(
                check(Version::H1, &Method::GET, 200, &[(name, value)]),
                Ok(None)
            );
            for version in [Version::H2, Version::H3] {
                let expected = Err(Violation::ConnectionField(name));
                assert_eq!(
                    check(version, &Method::GET, 200, &[(name, value)]),
                    expected
                );
                let mut trailers = head(200, &[(name, value)]).headers;
                let checked = check_trailers(version, &mut trailers);
                assert_eq!(checked, Err(Violation::ConnectionField(name)));
            }
        }
    }

    #[test]
    fn te_names_trailers_only() {
        for (value, legal) in [
            ("trailers", true),
            ("gzip", false),
            ("trailers, gzip", false),
        ] {
            for version in ALL {
                let expected = match legal || version == Version::H1 {
                    true => Ok(None),
                    false => Err(Violation::Te),
                };
                let checked = check(version, &Method::GET, 200, &[("te", value)]);
                assert_eq!(checked, expected, "{version:?} {value}");
            }
        }
    }

    #[test]
    fn a_transfer_coding_overrides_the_length() {
        let fields = [("content-length", "5"), ("transfer-encoding", "chunked")];
        assert_eq!(check(Version::H1, &Method::GET, 200, &fields), Ok(None));
    }

    #[test]
    fn identity_is_no_transfer_coding() {
        for value in ["identity", "Identity"] {
            let mut identity = head(
                200,
                &[("content-length", "5"), ("transfer-encoding", value)],
            );
            let framing = check_response(Version::H1, &Method::GET, &mut identity);
            let framing = framing.expect("it is valid");
            assert_eq!(framing.length.missing(), Some(5));
            assert!(framing.is_identity && !framing.reusable);
            assert!(!identity.headers.contains_key(TRANSFER_ENCODING));
        }
        for value in ["identity, chunked", "gzip"] {
            let mut coded = head(
                200,
                &[("content-length", "5"), ("transfer-encoding", value)],
            );
            let framing = check_response(Version::H1, &Method::GET, &mut coded);
            let framing = framing.expect("it is valid");
            assert_eq!(framing.length.missing(), None);
            assert!(!framing.is_identity && framing.reusable);
        }
    }

    #[test]
    fn nobody_asks_for_another_protocol() {
        for version in ALL {
            let expected = Err(Violation::SwitchingProtocols);
            assert_eq!(check(version, &Method::GET, 101, &[]), expected);
        }
    }

    #[test]
    fn a_connection_of_http_1_0_is_used_once() {
        let mut old = head(200, &[]);
        old.version = http::Version::HTTP_10;
        let framing = check_response(Version::H1, &Method::GET, &mut old).expect("it is valid");
        assert!(!framing.reusable);
        let framing = check_response(Version::H1, &Method::GET, &mut head(200, &[]));
        assert!(framing.expect("it is valid").reusable);
    }

    #[test]
    fn framing_fields_are_dropped_from_trailers() {
        let mut trailers = head(
            200,
            &[
                ("content-length", "5"),
                ("x-checksum", "abc"),
                ("te", "trailers"),
            ],
        )
        .headers;
        assert_eq!(check_trailers(Version::H2, &mut trailers), Ok(()));
        assert_eq!(trailers.len(), 1);
        assert!(trailers.contains_key("x-checksum"));
    }
}
