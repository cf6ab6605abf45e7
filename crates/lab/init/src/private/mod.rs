//! Removes private data from requests: it must not leave the user's machine, and stand-ins take its place.

mod credential;
mod fields;
mod segment;

use crate::json;
use crate::notes::Notes;
use crate::url::{Url, decoded};
use credential::{by_form, by_name, is_secret, shown, without_credentials};
use segment::{plain_segment, stand_in};

pub(crate) use fields::headers;

/// The place of values, in notes.
const JSON: &str = "a JSON body";
/// What a study may have, with room for what tells two origins apart.
const MAX_PATH_BYTES: usize = 1900;
/// Paths that begin like routes of the lab's server.
const ROUTES: &[&str] = &[
    "/health",
    "/echo",
    "/upload",
    "/bytes/",
    "/exchange/",
    "/submit/",
    "/commute.",
];

/// Returns the path with stand-ins for numbers, UUIDs, tokens and addresses, so that requests of one template get one
/// path. The values of the query get stand-ins of the same length.
pub(crate) fn path(url: &Url, notes: &mut Notes) -> String {
    let segments: Vec<&str> = url.path.split('/').collect();
    let segments: Vec<String> = (segments.iter().enumerate())
        .map(|(at, segment)| plain_segment(segment, at + 1 == segments.len(), notes))
        .collect();
    let mut path = origin_form(&segments.join("/"), |_| "x".to_owned());
    if ROUTES.iter().any(|route| path.starts_with(route)) {
        path.insert_str(0, "/app");
        notes.replaced(format!("a path that is the lab's own, by {path}"));
    }
    if let Some(query) = &url.query {
        let parts: Vec<String> = query
            .split('&')
            .map(|part| query_part(part, notes))
            .collect();
        path = format!("{path}?{}", parts.join("&"));
    }
    if path.len() > MAX_PATH_BYTES {
        path.truncate(MAX_PATH_BYTES);
        // Half an escape is none.
        if let Some(escape) = path[MAX_PATH_BYTES - 2..].find('%') {
            path.truncate(MAX_PATH_BYTES - 2 + escape);
        }
    }
    path
}

/// Returns path and query as they were, but for credentials.
pub(crate) fn kept_path(url: &Url, notes: &mut Notes) -> Result<String, &'static str> {
    let escaped = |b: u8| format!("%{b:02X}");
    let without = |part: &str| {
        if is_secret(&decoded(part)) {
            notes.left_out("a credential in the path of a URL");
            return "x".repeat(part.len());
        }
        without_credentials(part, ';', "the path of a URL", notes)
    };
    let segments: Vec<String> = url.path.split('/').map(without).collect();
    let mut path = origin_form(&segments.join("/"), escaped);
    if ROUTES.iter().any(|route| path.starts_with(route)) {
        notes.remark(format!(
            "{path} is a path of the lab's own server: only a server of your own can answer it (--server)"
        ));
    }
    if let Some(query) = &url.query {
        let query = without_credentials(query, '&', "the query of a URL", notes);
        path = format!(
            "{path}?{}",
            allowed(&query, escaped).replace("//", "%2F%2F")
        );
    }
    match path.len() > MAX_PATH_BYTES {
        true => Err("its URL is too long for a study"),
        false => Ok(path),
    }
}

/// Returns a path with only the bytes that a path may have (RFC 3986 section 3.3). `other` replaces each other byte,
/// and two slashes become one.
fn origin_form(path: &str, other: impl Fn(u8) -> String) -> String {
    let mut plain = format!("/{}", allowed(path, other));
    // Some servers and clients make one slash of two.
    while plain.contains("//") {
        plain = plain.replace("//", "/");
    }
    plain
}

/// Returns a text in which `other` replaces each byte that neither a path nor a query may have.
fn allowed(text: &str, other: impl Fn(u8) -> String) -> String {
    let bytes = text.as_bytes();
    let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let plain = |(at, b): (usize, &u8)| match b {
        b'%' if is_hex(at + 1) && is_hex(at + 2) => "%".to_owned(),
        b if b.is_ascii_alphanumeric() || b"-._~!$&()*+,;=:@/".contains(b) => {
            char::from(*b).to_string()
        }
        b => other(*b),
    };
    bytes.iter().enumerate().map(plain).collect()
}

/// Replaces the value in a part of a query by x: `name=abc` becomes `name=xxx`. A part that does not begin with a name
/// is a value.
fn query_part(part: &str, notes: &mut Notes) -> String {
    let is_name = |name: &str| {
        let valid = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        name.len() <= 32 && name.chars().all(valid) && stand_in(name, false).is_none()
    };
    let (name, value) = match part.split_once('=') {
        Some((name, value)) if is_name(name) => (format!("{name}="), value),
        None if is_name(part) => (part.to_owned(), ""),
        _ => (String::new(), part),
    };
    if !value.is_empty() {
        notes.replaced("values in the query of a URL, by x of the same length");
    }
    format!("{name}{}", "x".repeat(value.len()))
}

/// Returns the text if it is a form's, without the values that are credentials.
pub(crate) fn form(text: &str, notes: &mut Notes) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._~*+%[]".contains(c);
    let is_pair = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => !name.is_empty() && name.chars().all(is_name),
        None => false,
    };
    (text.split('&').all(is_pair)).then(|| without_credentials(text, '&', "a form", notes))
}

/// Returns the text if it is JSON, with its values replaced; if they are to be kept, only the credentials.
pub(crate) fn json(text: &str, keep_values: bool, notes: &mut Notes) -> Option<String> {
    if text.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return None;
    }
    if keep_values {
        let mut values = Vec::new();
        let is_secret_name = |key: &str| {
            let why = by_name(key);
            if why.is_some() {
                notes.left_out(format!("the value of `{}` in {JSON}", shown(key)));
                notes.value(JSON, shown(key), 0, why.clone());
            }
            why.is_some()
        };
        let plain = json::without_secrets(text, is_secret_name, |key, value| {
            let why = by_form(value);
            let is_secret = why.is_some();
            values.push((key.map(shown), value.len(), why));
            is_secret
        });
        for (key, bytes, why) in values {
            if why.is_some() {
                notes.left_out("a value in a JSON body that is a credential by its form");
            }
            match key {
                Some(key) => notes.value(JSON, key, bytes, why),
                None if why.is_some() => notes.value(JSON, String::new(), bytes, why),
                None => {}
            }
        }
        return Some(plain);
    }
    notes.replaced("the values in a JSON body, by others of the same length");
    Some(json::without_values(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_path(url: &str) -> String {
        path(&Url::parse(url).unwrap(), &mut Notes::default())
    }

    #[test]
    fn kept_paths_are_as_they_were_without_credentials() {
        for (url, kept) in [
            (
                "https://a.example/orders/17?page=2&q=a b",
                "/orders/17?page=2&q=a%20b",
            ),
            (
                "https://a.example/a?access_token=abc&ids[]=1",
                "/a?access_token=xxx&ids%5B%5D=1",
            ),
            (
                "https://a.example/a;sid=abc?p%77d=abc&zipcode=1",
                "/a;sid=xxx?p%77d=xxx&zipcode=1",
            ),
            (
                "https://a.example//a/../b'?next=https://b",
                "/b%27?next=https:%2F%2Fb",
            ),
            ("https://a.example/health", "/health"),
            (
                "https://a.example/v/eyJhbGciOiJ9.eyJz.dozj/x?a=Bearer+0123456789&author=jo&country_code=TH",
                "/v/xxxxxxxxxxxxxxxxxxxxxx/x?a=xxxxxxxxxxxxxxxxx&author=jo&country_code=TH",
            ),
            ("https://a.example/l%C3%A4den/\u{e4}", "/l%C3%A4den/%C3%A4"),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(kept_path(&url, &mut Notes::default()).unwrap(), kept);
        }
        let long = Url::parse(&format!("https://a.example/{}", "a".repeat(2000))).unwrap();
        assert!(kept_path(&long, &mut Notes::default()).is_err());
    }

    #[test]
    fn requests_of_one_template_get_one_path() {
        for (url, plain) in [
            ("https://a.example", "/"),
            ("https://a.example/v1/orders", "/v1/orders"),
            ("https://a.example/orders/17/items/4", "/orders/1/items/1"),
            ("https://a.example/orders/20000", "/orders/1"),
            (
                "https://a.example/u/3F2504E0-4F89-11D3-9A0C-0305E82C3301",
                "/u/00000000-0000-4000-8000-000000000000",
            ),
            ("https://a.example/u/jo%40b.example/x", "/u/someone/x"),
            ("https://a.example/s/Zm9vYmFyYmF6cXV4MTIz/x", "/s/token/x"),
            (
                "https://a.example/verify/eyJhbGciOiJ9.eyJz.dozj",
                "/verify/token",
            ),
            (
                "https://a.example/reset/Zm9vYmFyYmF6cXV.4MTIz",
                "/reset/token",
            ),
            (
                "https://a.example/invite/AbCdEfGhIjKlMnOpQrStUvWxYz",
                "/invite/token",
            ),
            (
                "https://a.example/getUserNotificationSettings",
                "/getUserNotificationSettings",
            ),
            ("https://a.example/users/+491701234567/x", "/users/1/x"),
            ("https://a.example/weather/52.5200,13.4050", "/weather/1"),
            ("https://a.example/ssn/123-45-6789", "/ssn/1"),
            ("https://a.example/a;sid=abc;v=2/b", "/a;sid=xxx;v=2/b"),
            (
                "https://a.example/app-1a2b3c4d5e6f7a8b.js",
                "/app-1a2b3c4d5e6f7a8b.js",
            ),
            (
                "https://a.example/app.4f3a2b1c9d8e7f6a.js",
                "/app.4f3a2b1c9d8e7f6a.js",
            ),
            (
                "https://a.example/a?page=2&q=caf%C3%A9",
                "/a?page=x&q=xxxxxxxxx",
            ),
            ("https://a.example/a?flag&17&=v", "/a?flag&xx&=x"),
            ("https://a.example//a///b/", "/a/b/"),
            ("https://a.example/a'b/../c%zz", "/cxzz"),
            ("https://a.example/echo", "/app/echo"),
        ] {
            assert_eq!(plain_path(url), plain, "{url}");
            let again = plain_path(&format!("https://a.example{plain}"));
            assert_eq!(again, plain, "not stable");
        }
    }

    #[test]
    fn what_is_replaced_in_a_path_is_listed() {
        let url = "https://a.example/u/17/jo@b.example/Zm9vYmFyYmF6cXV4MTIz/x";
        let mut notes = Notes::default();
        path(&Url::parse(url).unwrap(), &mut notes);
        assert_eq!(
            notes.lines(),
            [
                "replaced: a number in the path of a URL, by 1",
                "replaced: a token in the path of a URL, by token",
                "replaced: an address in the path of a URL, by someone",
            ]
        );
    }
}
