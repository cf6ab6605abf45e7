//! The tags of XML that a program wrote. Text, comments and CDATA are skipped.

use std::collections::BTreeMap;

use super::Mistake;

/// A tag.
pub(super) enum Tag<'a> {
    /// Its name and attributes, and whether it closes itself.
    Open(&'a str, BTreeMap<&'a str, String>, bool),
    /// Its name.
    Close(&'a str),
}

/// What is no element: how it begins, and how it ends.
const SKIPPED: [(&str, &str); 4] = [
    ("<!--", "-->"),
    ("<![CDATA[", "]]>"),
    ("<?", "?>"),
    ("<!", ">"),
];

/// The longest entity is a number, e.g. `&#x10FFFF;`.
const MAX_ENTITY_BYTES: usize = 12;

/// Calls `take` for each tag with its line. Fails where a tag breaks off.
pub(super) fn each_tag<'a>(
    text: &'a str,
    mut take: impl FnMut(usize, Tag<'a>) -> Result<(), String>,
) -> Result<(), Mistake> {
    let mut line = 1;
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        line += breaks(&rest[..at]);
        rest = &rest[at..];
        let skipped = SKIPPED.iter().find(|(begin, _)| rest.starts_with(begin));
        let end = match skipped {
            Some((begin, end)) => rest[begin.len()..]
                .find(end)
                .map(|at| begin.len() + at + end.len()),
            None => end_of_tag(rest),
        };
        let Some(end) = end else {
            return Err((line, "the file breaks off within a tag".to_owned()));
        };
        if skipped.is_none() {
            let tag =
                tag(&rest[1..end - 1]).ok_or_else(|| (line, "this is no tag of XML".to_owned()))?;
            take(line, tag).map_err(|message| (line, message))?;
        }
        line += breaks(&rest[..end]);
        rest = &rest[end..];
    }
    Ok(())
}

fn breaks(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}

/// Returns where a tag ends: at the first `>` outside quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('>', None) => return Some(at + 1),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            _ => {}
        }
    }
    None
}

/// Reads what is between `<` and `>`.
fn tag(inner: &str) -> Option<Tag<'_>> {
    if let Some(name) = inner.strip_prefix('/') {
        return Some(Tag::Close(name.trim()));
    }
    let (inner, is_empty) = match inner.strip_suffix('/') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let (name, mut rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
    let mut attributes = BTreeMap::new();
    while !rest.trim().is_empty() {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| "\"'".contains(*c))?;
        let (value, after) = after[1..].split_once(quote)?;
        attributes.insert(name.trim(), unescaped(value));
        rest = after;
    }
    Some(Tag::Open(name, attributes, is_empty))
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut near = rest.bytes().take(MAX_ENTITY_BYTES);
        let end = near.position(|b| b == b';').unwrap_or(0);
        match character(rest.get(1..end).unwrap_or_default()) {
            Some(c) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// Returns the character of an entity that XML predefines, or of a number.
fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}
