//! The length of a response's body on the wire. The first line that gives a length wins:
//!
//! | value | who writes it | what it is |
//! |---|---|---|
//! | status 204, 205, 304 | all | no body (RFC 9110 section 6.4.1) |
//! | field `content-length` | all that keep fields, Playwright's minimal HARs too | the body as sent |
//! | `content.size`, not compressed | all; Playwright and Firefox -1 or nothing if unknown | the body |
//! | `bodySize` above 0 | Charles, Fiddler, mitmproxy, WebPageTest: the body; Firefox: with about 400 bytes of head; Chrome: -1 over HTTP/2 and HTTP/3 | the body, compressed |
//! | `_transferSize` above 0 | Chrome, Edge, Safari, chrome-har | head and body, less `headersSize` where that is known |
//! | `content.size`, compressed | as above | longer than what was sent; said in a note |
//! | all that are known are 0 | all | no body |

use super::format::Response;
use super::{bytes, named, stated};

/// A length on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnWire {
    Bytes(u64),
    /// Of a compressed body, only this decoded length.
    Decoded(u64),
    Unknown,
}

impl Response<'_> {
    pub(super) fn on_wire(&self) -> OnWire {
        let content = self.content.as_ref();
        let decoded = content.and_then(|content| content.size).map(bytes);
        let body = self.body_size.map(bytes);
        let head = self.headers_size.map_or(0, bytes);
        let transferred = self
            .transfer_size
            .map(|size| bytes(size).saturating_sub(head));
        let stated = stated(&self.headers);
        let positive = |n: Option<u64>| n.filter(|n| *n > 0);
        let is_compressed = self.compressed().is_some();
        if let Some(204 | 205 | 304) = self.status.map(|status| status as i64) {
            return OnWire::Bytes(0);
        }
        let plain = positive(decoded).filter(|_| !is_compressed);
        let sent = stated
            .or(plain)
            .or(positive(body))
            .or(positive(transferred));
        match (sent, positive(decoded)) {
            (Some(sent), _) => OnWire::Bytes(sent),
            (None, Some(decoded)) => OnWire::Decoded(decoded),
            (None, None) if decoded.or(body).is_some() => OnWire::Bytes(0),
            (None, None) => OnWire::Unknown,
        }
    }

    /// Returns how the body was compressed, if it was.
    pub(super) fn compressed(&self) -> Option<&str> {
        named(&self.headers, "content-encoding")
            .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_length_is_that_on_the_wire_whoever_wrote_it() {
        let br = json!([{"name": "content-encoding", "value": "br"}]);
        let length = json!([{"name": "Content-Length", "value": "48211"}]);
        let both = json!([{"name": "content-encoding", "value": "br"}, {"name": "content-length", "value": "900"}]);
        let none = json!([]);
        for (writer, response, on_wire) in [
            (
                "Chrome over HTTP/2, compressed",
                json!({"status": 200, "headers": br, "bodySize": -1, "headersSize": -1, "_transferSize": 66_972, "content": {"size": 222_285}}),
                OnWire::Bytes(66_972),
            ),
            (
                "Chrome over HTTP/1.1, compressed",
                json!({"status": 200, "headers": br, "bodySize": 900, "headersSize": 300, "_transferSize": 1_200, "content": {"size": 4_000}}),
                OnWire::Bytes(900),
            ),
            (
                "Safari, of which only the whole is known",
                json!({"status": 200, "headers": br, "bodySize": -1, "headersSize": 300, "_transferSize": 1_200, "content": {"size": 4_000}}),
                OnWire::Bytes(900),
            ),
            (
                "Firefox, whose body has a head",
                json!({"status": 200, "headers": none, "bodySize": 50_400, "content": {"size": 50_000}}),
                OnWire::Bytes(50_000),
            ),
            (
                "Playwright's minimal HAR",
                json!({"status": 200, "headers": length, "bodySize": -1, "content": {"size": -1}}),
                OnWire::Bytes(48_211),
            ),
            (
                "a proxy that decodes",
                json!({"status": 200, "headers": both, "bodySize": 4_000, "content": {"size": 4_000}}),
                OnWire::Bytes(900),
            ),
            (
                "compressed, of unknown length",
                json!({"status": 200, "headers": br, "bodySize": -1, "content": {"size": 4_000}}),
                OnWire::Decoded(4_000),
            ),
            (
                "nothing is known",
                json!({"status": 200, "headers": none, "bodySize": -1, "content": {"mimeType": "text/plain"}}),
                OnWire::Unknown,
            ),
            (
                "an empty body",
                json!({"status": 200, "headers": none, "bodySize": 0, "content": {"size": 0}}),
                OnWire::Bytes(0),
            ),
            (
                "no content",
                json!({"status": 204, "headers": none, "bodySize": -1}),
                OnWire::Bytes(0),
            ),
        ] {
            let text = response.to_string();
            let read: Response<'_> = serde_json::from_str(&text).unwrap();
            assert_eq!(read.on_wire(), on_wire, "{writer}");
        }
    }
}
