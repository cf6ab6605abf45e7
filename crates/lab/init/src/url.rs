//! URLs as recordings have them: browsers write what a user typed, with characters that no request has.

/// The parts of a URL of http or https.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// Scheme, host in lower case, and port.
    pub(crate) origin: String,
    pub(crate) is_plaintext: bool,
    /// With a slash at its beginning, and in ASCII.
    pub(crate) path: String,
    /// Without its question mark, and in ASCII.
    pub(crate) query: Option<String>,
}

impl Url {
    /// Splits a URL, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Url, &'static str> {
        let not_http = "its URL is not one of http or https";
        let (scheme, rest) = text.trim().split_once("://").ok_or(not_http)?;
        let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => ("http", 80),
            "https" => ("https", 443),
            _ => return Err(not_http),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        // Who asked is private.
        let host_and_port = authority.rsplit('@').next().unwrap_or_default();
        let (host, port) = match host_and_port.rsplit_once(':') {
            Some((host, "")) => (host, default_port),
            // The colons of an IPv6 address are inside its brackets.
            Some((host, port)) if !port.ends_with(']') => (
                host,
                port.parse::<u16>()
                    .map_err(|_| "its URL has no valid port")?,
            ),
            _ => (host_and_port, default_port),
        };
        if host.is_empty() || host.contains(|c: char| c.is_ascii_whitespace() || c.is_control()) {
            return Err("its URL has no valid host");
        }
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(ascii(query))),
            None => (path, None),
        };
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Url {
            origin: format!("{scheme}://{}:{port}", host.to_lowercase()),
            is_plaintext: scheme == "http",
            path: without_dots(&format!("{slash}{}", ascii(path))),
            query,
        })
    }
}

/// Removes `.` and `..` from a path, as clients do before they send it (RFC 3986 section 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        match part {
            "." => {}
            ".." => {
                kept.pop();
            }
            part => kept.push(part),
        }
        if parts.peek().is_none() && matches!(part, "." | "..") {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// Encodes a text as a client does before it sends a URL: spaces and all that is not ASCII become percent escapes (RFC
/// 3986 section 2.1).
fn ascii(text: &str) -> String {
    let encoded = |b: u8| match b {
        b'!'..=b'~' => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// Escapes all bytes but letters, digits and those that are `kept`, as `%XX`.
pub(crate) fn percent_encoded(text: &[u8], kept: &[u8]) -> String {
    let encoded = |b: &u8| match b {
        b if b.is_ascii_alphanumeric() || kept.contains(b) => char::from(*b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.iter().map(encoded).collect()
}

/// Returns a text with its percent-encoded bytes decoded, as far as they are UTF-8.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_as_clients_send_them() {
        for (text, origin, path, query) in [
            ("https://a.example", "https://a.example:443", "/", None),
            (
                "HTTP://A.example:8080/x#y",
                "http://a.example:8080",
                "/x",
                None,
            ),
            (
                "https://jo:pw@a.example?q",
                "https://a.example:443",
                "/",
                Some("q"),
            ),
            (
                "http://[2001:db8::5]/v6",
                "http://[2001:db8::5]:80",
                "/v6",
                None,
            ),
            (
                "https://a.example/a/../b",
                "https://a.example:443",
                "/b",
                None,
            ),
            (
                "https://a.example/a/./b/..?q",
                "https://a.example:443",
                "/a/",
                Some("q"),
            ),
            (
                "https://a.example/../../a",
                "https://a.example:443",
                "/a",
                None,
            ),
            (
                "http://[2001:db8::5]:81/",
                "http://[2001:db8::5]:81",
                "/",
                None,
            ),
            (
                "https://bücher.example/lä den?q=ü |",
                "https://bücher.example:443",
                "/l%C3%A4%20den",
                Some("q=%C3%BC%20|"),
            ),
        ] {
            let url = Url::parse(text).unwrap();
            let got = (url.origin.as_str(), url.path.as_str(), url.query.as_deref());
            assert_eq!(got, (origin, path, query), "{text}");
        }
    }

    #[test]
    fn other_urls_are_refused() {
        for (text, reason) in [
            ("data:image/png;base64,AAAA", "not one of http or https"),
            ("ftp://a.example/", "not one of http or https"),
            ("https:///x", "no valid host"),
            ("https://a b/x", "no valid host"),
            ("https://a.example:99999/", "no valid port"),
        ] {
            let error = Url::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn percent_encoded_text_is_decoded() {
        assert_eq!(decoded("l%C3%A4den-%zz%4"), "läden-%zz%4");
        assert_eq!(decoded("%ff"), "\u{fffd}");
    }
}
