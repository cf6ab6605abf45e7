//! Header fields that a study can send.

use super::credential::{by_form, by_name};
use crate::notes::Notes;

/// Fields that a client or the lab sets by itself, and those of one connection or one part of a body.
const SET_BY_CLIENTS: &[&str] = &[
    "accept-encoding",
    "alt-used",
    "connection",
    "content-digest",
    "content-encoding",
    "content-length",
    "content-type",
    "dnt",
    "expect",
    "host",
    "http2-settings",
    "if-range",
    "keep-alive",
    "origin",
    "priority",
    "proxy-connection",
    "range",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
];
/// Fields whose values say nothing about the user.
const HARMLESS: &[&str] = &[
    "accept",
    "accept-language",
    "cache-control",
    "pragma",
    "x-requested-with",
];
/// The place of values, in notes.
const FIELDS: &str = "the header fields";
/// What a study may have.
const MAX_FIELDS_BYTES: usize = 8000;

/// Returns the header fields that a study can send, names in lower case.
pub(crate) fn headers(
    fields: &[(&str, &str)],
    keep_values: bool,
    notes: &mut Notes,
) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    let mut left_bytes = MAX_FIELDS_BYTES;
    for (name, value) in fields {
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        let set_by_clients = || {
            let of_others = name.starts_with("sec-") || name.starts_with("x-commute-");
            let of_grpc = name.starts_with("grpc-") || name.ends_with("-bin");
            of_others || of_grpc || SET_BY_CLIENTS.contains(&name.as_str())
        };
        if name.starts_with(':') || value.is_empty() || set_by_clients() {
            continue;
        }
        let is_name = http::HeaderName::from_bytes(name.as_bytes()).is_ok() && name.len() <= 64;
        let bytes = name.len() + value.len();
        if !is_name || bytes > left_bytes {
            notes.left_out("a header field that is too long, or whose name is not valid");
        } else if let Some(why) = by_name(&name).or_else(|| by_form(value)) {
            notes.left_out(format!("the header field {name}"));
            notes.value(FIELDS, name, value.len(), Some(why));
        } else if kept.iter().any(|(known, _)| *known == name) {
            notes.left_out(format!("a second header field {name}"));
        } else if keep_values || HARMLESS.contains(&name.as_str()) {
            let visible = |c: char| {
                if c == ' ' || c.is_ascii_graphic() {
                    c
                } else {
                    'x'
                }
            };
            left_bytes -= bytes;
            if keep_values {
                notes.value(FIELDS, name.clone(), value.len(), None);
            }
            kept.push((name, value.chars().map(visible).collect()));
        } else {
            notes.replaced(format!(
                "the value of the header field {name}, by x of the same length"
            ));
            left_bytes -= bytes;
            kept.push((name, "x".repeat(value.len())));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_and_other_values_are_replaced() {
        let fields = [
            (":authority", "a.example"),
            ("Accept", "application/json"),
            ("Cookie", "id=1"),
            ("Authorization", "Bearer abc"),
            ("X-Api-Key", "abc"),
            ("X-CSRF-Token", "abc"),
            ("sec-ch-ua", "x"),
            ("Host", "a.example"),
            ("X-Account", "jo 17"),
            ("x-account", "again"),
            ("bad name", "x"),
        ];
        let mut notes = Notes::default();
        let kept = headers(&fields, false, &mut notes);
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let expected = [
            pair("accept", "application/json"),
            pair("x-account", "xxxxx"),
        ];
        assert_eq!(kept, expected);
        assert_eq!(
            notes.lines(),
            [
                "left out: a header field that is too long, or whose name is not valid",
                "left out: a second header field x-account",
                "left out: the header field authorization",
                "left out: the header field cookie",
                "left out: the header field x-api-key",
                "left out: the header field x-csrf-token",
                "replaced: the value of the header field x-account, by x of the same length",
            ]
        );
        let kept = headers(&fields, true, &mut Notes::default());
        assert_eq!(kept[1], pair("x-account", "jo 17"));
        assert_eq!(kept.len(), 2);
    }
}
