//! Builds the URL that curl sends from its URL argument and the options that add to the query.

use super::CurlError;
use crate::url::percent_encoded;

/// Appends to the query of a URL.
pub(super) fn with_query(url: &str, part: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let separator = match url.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{url}{separator}{part}")
}

/// Returns the data of `--data-urlencode`: `content`, `=content`, `name=content`, `@file` or `name@file`.
pub(super) fn url_encoded(
    value: &str,
    content: impl Fn(&str) -> Result<Vec<u8>, CurlError>,
) -> Result<Vec<u8>, CurlError> {
    // A file's name begins where there is no `=`.
    let (name, bytes) = match (value.split_once('='), value.find('@')) {
        (Some((name, text)), _) => (name, text.as_bytes().to_vec()),
        (None, Some(at)) => (&value[..at], content(&value[at..])?),
        (None, None) => ("", value.as_bytes().to_vec()),
    };
    let encoded = percent_encoded(&bytes, b"-._~").replace("%20", "+");
    Ok(match name {
        "" => encoded.into_bytes(),
        name => format!("{name}={encoded}").into_bytes(),
    })
}

/// Returns a URL as curl sends it: braces and brackets behind a backslash are part of it, and so are empty brackets and those
/// of an IPv6 address. Fails with the first pattern that curl would make several requests of.
pub(super) fn without_glob(url: &str) -> Result<String, String> {
    let after_host = url.find("://").map_or(0, |at| at + 3);
    let after_host = after_host + url[after_host..].find(['/', '?']).unwrap_or(0);
    let (host, mut rest) = url.split_at(after_host);
    let mut plain = host.to_owned();
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\\' if rest[1..].starts_with(['{', '}', '[', ']']) => {
                plain.push_str(&rest[1..2]);
                2
            }
            '[' if rest.starts_with("[]") => {
                plain.push_str("[]");
                2
            }
            '{' | '[' => {
                let length = rest.find(['}', ']']).map_or(1, |at| at + 1);
                return Err(rest[..length].to_owned());
            }
            c => {
                plain.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    Ok(plain)
}
