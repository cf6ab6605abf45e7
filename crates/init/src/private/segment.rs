//! Parts of a path that are data.

use super::credential::without_credentials;
use crate::notes::Notes;
use crate::url::decoded;

/// A shorter part of a path is a word.
const TOKEN_CHARS: usize = 16;

/// A part of a path, or what stands for it.
pub(super) fn plain_segment(segment: &str, is_last: bool, notes: &mut Notes) -> String {
    let decoded = decoded(segment);
    // Hashes in the names of scripts and images are not secret.
    let is_file = is_last && has_extension(&decoded);
    match stand_in(&decoded, is_file) {
        Some((what, instead)) => {
            notes.replaced(format!("{what} in the path of a URL, by {instead}"));
            instead.to_owned()
        }
        None => without_credentials(segment, ';', "the path of a URL", notes),
    }
}

/// What a part of a path is, if requests or users differ in it, and what stands for it. Of a file, the name
/// may have a hash.
pub(super) fn stand_in(segment: &str, is_file: bool) -> Option<(&'static str, &'static str)> {
    let hex = |c: char| c.is_ascii_hexdigit();
    let digit = |c: char| c.is_ascii_digit();
    let is_uuid = || {
        let lengths = segment.split('-').map(str::len);
        lengths.eq([8, 4, 4, 4, 12]) && segment.chars().all(|c| c == '-' || hex(c))
    };
    // Phone numbers, dates, coordinates.
    let is_number =
        || segment.contains(digit) && segment.chars().all(|c| digit(c) || "+-.,:".contains(c));
    if segment.is_empty() {
        None
    } else if matches!(segment, "." | "..") {
        Some(("dots", "x"))
    } else if is_uuid() {
        Some(("a UUID", "00000000-0000-4000-8000-000000000000"))
    } else if is_number() {
        Some(("a number", "1"))
    } else if segment.contains('@') {
        Some(("an address", "someone"))
    } else if is_token(segment, is_file) {
        Some(("a token", "token"))
    } else {
        None
    }
}

/// A JWT begins with `{"` in base64. Other tokens are long and mix letters with digits, or capitals with small
/// letters more often than names in camel case do.
fn is_token(segment: &str, is_file: bool) -> bool {
    let count = |of: fn(&char) -> bool| segment.chars().filter(of).count();
    let upper = count(char::is_ascii_uppercase);
    let lower = count(char::is_ascii_lowercase);
    let has_digits = count(char::is_ascii_digit) > 0 && upper + lower > 0;
    let mixes_cases = 4 * upper.min(lower) > upper + lower;
    segment.starts_with("eyJ")
        || (!is_file && segment.len() >= TOKEN_CHARS && (has_digits || mixes_cases))
}

/// Whether a name ends like `app.js`, `font.woff2` or `film.mp4`.
fn has_extension(name: &str) -> bool {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    extension.len() <= 5
        && extension.starts_with(|c: char| c.is_ascii_lowercase())
        && extension.chars().all(valid)
}
