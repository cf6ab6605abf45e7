//! Names that a person recognises, one for each group.

use std::collections::BTreeMap;

use http::Method;

use super::template::template;
use crate::seen::Seen;
use crate::slug::slug;
use crate::url::decoded;

const MAX_NAME_CHARS: usize = 40;

/// Returns a free name for a request's group: the last word of its path, or its operation. If a request of another
/// method has that name, the method is put before it. Any other taken name gets as many of the words before it as make
/// it unique, or else the response's subtype, the method or a number.
pub(super) fn name_of(request: &Seen, taken: &BTreeMap<String, Method>) -> String {
    let path = template(request).path;
    let is_word = |part: &String| part.chars().any(|c| c.is_ascii_alphabetic());
    let parts = path.split('/').map(decoded).filter(is_word);
    let mut words: Vec<String> = parts.map(|part| slug(&part)).collect();
    words.extend(request.operation.clone());
    words.retain(|word| !word.is_empty());
    let last = match words.last() {
        Some(word) => word.clone(),
        None if path == "/" => "root".to_owned(),
        // In another script than names have here.
        None => "other".to_owned(),
    };
    let method = request.method.as_str().to_ascii_lowercase();
    let with_method = format!("{method}-{last}");
    let is_others = taken.get(&last).is_some_and(|m| *m != request.method);
    let first = [last.clone()]
        .into_iter()
        .chain(is_others.then(|| with_method.clone()));
    let longer = (2..=words.len()).map(|count| words[words.len() - count..].join("-"));
    let by_answer = subtype(request).map(|subtype| format!("{last}-{subtype}"));
    let mut candidates = first.chain(longer).chain(by_answer).chain([with_method]);
    candidates
        .find(|name| name.len() <= MAX_NAME_CHARS && !taken.contains_key(name))
        .unwrap_or_else(|| unique(&last, |name| taken.contains_key(name)))
}

/// Returns the subtype of the response's media type, e.g. `html`.
fn subtype(request: &Seen) -> Option<String> {
    let (_, subtype) = request.response.content_type.as_deref()?.split_once('/')?;
    Some(slug(subtype))
}

pub(super) fn unique(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = if name.is_empty() { "other" } else { name };
    let numbered = (2_u64..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

/// Returns a free name for a group of responses of this length, e.g. `file-js-118kb`.
pub(super) fn with_length(name: &str, bytes: u64, taken: &BTreeMap<String, Method>) -> String {
    let length = match bytes {
        0..1_000 => format!("{bytes}b"),
        1_000..999_500 => format!("{}kb", (bytes + 500) / 1_000),
        _ => format!("{}mb", (bytes + 500_000) / 1_000_000),
    };
    let short: String = name
        .chars()
        .take(MAX_NAME_CHARS - 1 - length.len())
        .collect();
    unique(&format!("{short}-{length}"), |name| {
        taken.contains_key(name)
    })
}
