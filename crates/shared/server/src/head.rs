//! The server's view of a request's head, over every protocol.

use http::header::{CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Version, request};

/// The header (gRPC: metadata) that carries the request's id.
const REQUEST_ID: &str = "x-commute-id";
/// How the log names gRPC.
const GRPC: &str = "grpc";

/// Returns the request's id, unless it is absent or not a number below 2^32.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<u32> {
    headers.get(REQUEST_ID)?.to_str().ok()?.parse().ok()
}

/// Returns whether the content type is gRPC's: `application/grpc`, perhaps with `+` and a subtype. gRPC-Web,
/// `application/grpc-web`, is another protocol.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let rest = kind.and_then(|kind| kind.strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// Returns `:authority`, or else the `Host` header, as sent.
pub(crate) fn authority(head: &request::Parts) -> Option<&str> {
    let host = || head.headers.get(HOST)?.to_str().ok();
    let sent = head.uri.authority().map(Authority::as_str);
    sent.or_else(host)
}

/// Returns the protocol by its name in the log.
pub(crate) fn protocol(head: &request::Parts) -> &'static str {
    match head.version {
        _ if is_grpc(&head.headers) => GRPC,
        Version::HTTP_3 => "h3",
        Version::HTTP_2 => "h2",
        _ => "http/1.1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_is_told_from_its_neighbours() {
        for (kind, expected) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/grpc-web+proto", false),
            ("application/grpcx", false),
            ("application/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            assert_eq!(is_grpc(&headers), expected, "{kind}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }
}
