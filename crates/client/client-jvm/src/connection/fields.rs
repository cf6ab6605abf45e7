//! Fields of requests that OkHttp writes for its connection.

use http::header::{CONNECTION, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Returns whether a field is for the server rather than for this connection (RFC 9110 section 7.6.1).
pub(super) fn is_end_to_end(name: &HeaderName, headers: &HeaderMap) -> bool {
    let hop = [HOST, CONNECTION, TRANSFER_ENCODING, UPGRADE, EXPECT];
    if hop.contains(name)
        || matches!(
            name.as_str(),
            "keep-alive" | "proxy-connection" | "http2-settings"
        )
    {
        return false;
    }
    if name == TE {
        return headers.get(TE).is_some_and(|value| value == "trailers");
    }
    !options(headers).any(|option| option.eq_ignore_ascii_case(name.as_str()))
}

/// Returns whether the request asks for something that only its own connection can do: to be closed after the response,
/// or to change its protocol.
pub(super) fn concerns_connection(headers: &HeaderMap) -> bool {
    let own = ["close", "upgrade"];
    headers.contains_key(UPGRADE)
        || options(headers).any(|option| own.iter().any(|name| option.eq_ignore_ascii_case(name)))
}

/// Returns whether a `Host` field names this origin, which begins with `https://`.
pub(super) fn names_origin(host: &HeaderValue, origin: &str) -> bool {
    let authority = origin.trim_start_matches("https://");
    let host = host.as_bytes();
    let host = host.strip_suffix(b":443").unwrap_or(host);
    host.eq_ignore_ascii_case(authority.as_bytes())
}

fn options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CONNECTION).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn fields_of_this_connection_stay_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "Keep-Alive, x-hop"),
            ("te", "gzip"),
            ("x-hop", "1"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        let passes = |name: &'static str, headers: &HeaderMap| {
            is_end_to_end(&HeaderName::from_static(name), headers)
        };
        for name in [
            "host",
            "connection",
            "x-hop",
            "te",
            "keep-alive",
            "transfer-encoding",
        ] {
            assert!(!passes(name, &headers), "{name}");
        }
        headers.insert("te", "trailers".parse().unwrap());
        for name in ["te", "accept-encoding", "content-length", "cookie"] {
            assert!(passes(name, &headers), "{name}");
        }
    }

    #[test]
    fn requests_about_their_connection_are_found() {
        let concerns = |name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )]);
            concerns_connection(&headers)
        };
        for value in [
            "close",
            "Close",
            "keep-alive, close",
            "Upgrade",
            "TE,upgrade",
        ] {
            assert!(concerns("connection", value), "{value}");
        }
        assert!(concerns("upgrade", "websocket"));
        assert!(!concerns("connection", "Keep-Alive"));
        assert!(!concerns("x-connection", "close"));
    }

    #[test]
    fn a_host_is_compared_with_the_origin() {
        let names =
            |host: &'static str, origin| names_origin(&HeaderValue::from_static(host), origin);
        assert!(names("a.example", "https://a.example"));
        assert!(names("A.example:443", "https://a.example"));
        assert!(names("a.example:8443", "https://a.example:8443"));
        assert!(names("[::1]:1", "https://[::1]:1"));
        assert!(!names("other.example", "https://a.example"));
        assert!(!names("a.example", "https://a.example:8443"));
        assert!(!names("a.example:8443", "https://a.example"));
    }
}
