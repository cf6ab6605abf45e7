//! Parts of a path that are data.

use super::credential::without_credentials;
use crate::notes::Notes;
use crate::url::decoded;

/// A shorter part of a path is a word.
const TOKEN_CHARS: usize = 16;

/// Returns a part of a path, or its stand-in if requests or users differ in it. Credentials in the part are replaced.
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

/// Returns what a part of a path is and its stand-in, if requests or users differ in it. A file may have a hash in its
/// name.
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

/// Reports whether a part of a path is a token. A JWT begins with `{"` in base64. Other tokens are long and mix letters
/// with digits, or mix cases more often than camel case does. Of files, only JWTs are tokens.
fn is_token(segment: &str, is_file: bool) -> bool {
    let count = |of: fn(&char) -> bool| segment.chars().filter(of).count();
    let upper = count(char::is_ascii_uppercase);
    let lower = count(char::is_ascii_lowercase);
    let has_digits =
        count(char::is_ascii_digit) > 0 && upper + lower > 0 && !is_versioned_name(segment);
    let mixes_cases = 4 * upper.min(lower) > upper + lower;
    segment.starts_with("eyJ")
        || (!is_file && segment.len() >= TOKEN_CHARS && (has_digits || mixes_cases))
}

/// Reports whether the digits are those of a name in camel case like `getHomepageFeedV2`. There are one or two, each at
/// the end of a word that can be pronounced.
fn is_versioned_name(segment: &str) -> bool {
    const MAX_CONSONANTS: usize = 4;
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let mut chars = segment.chars().peekable();
    let mut consonants = 0;
    let mut ends_words = true;
    let mut longest = 0;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        if c.is_ascii_digit() {
            let goes_on = |c: char| c.is_ascii_lowercase();
            ends_words &= !next.is_some_and(goes_on);
        }
        consonants = match c.to_ascii_lowercase() {
            'a' | 'e' | 'i' | 'o' | 'u' | 'y' => 0,
            _ if !c.is_ascii_lowercase() => 0,
            _ => consonants + 1,
        };
        longest = longest.max(consonants);
    }
    digits <= 2 && ends_words && longest <= MAX_CONSONANTS
}

/// Reports whether a name ends like `app.js`, `font.woff2` or `film.mp4`.
fn has_extension(name: &str) -> bool {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    extension.len() <= 5
        && extension.starts_with(|c: char| c.is_ascii_lowercase())
        && extension.chars().all(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_version_are_no_tokens() {
        for name in [
            "getHomepageFeedV2",
            "getCheckoutCartV3",
            "listOrdersByCustomer2",
            "products2-by-category",
        ] {
            assert_eq!(stand_in(name, false), None, "{name}");
        }
        for token in [
            "Zm9vYmFyYmF6cXV4MTIz",
            "k3jh5k2j3h4k5j2h3k4j5",
            "wxkzqvbnmtrplkjh7",
            "a1b2c3d4e5f6a7b8",
            "abcdefghijklmno12345",
        ] {
            assert!(stand_in(token, false).is_some(), "{token}");
        }
    }
}
