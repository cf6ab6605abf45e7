//! Credentials, known by their names.

use crate::notes::Notes;
use crate::url::decoded;

/// What has one of these in its name is a credential.
const CREDENTIALS: &[&str] = &[
    "auth",
    "cookie",
    "credential",
    "csrf",
    "jwt",
    "key",
    "passcode",
    "passphrase",
    "passw",
    "secret",
    "sessid",
    "session",
    "signature",
    "token",
    "xsrf",
];
/// What has one of these as a word of its name is a credential, too; they are parts of many other words.
const CREDENTIAL_WORDS: &[&str] = &["code", "otp", "pass", "pin", "pwd", "sess", "sid", "sig"];

/// Whether a name is that of a credential.
pub(super) fn is_credential(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = words(name).into_iter();
    CREDENTIALS.iter().any(|part| lower.contains(part))
        || words.any(|word| CREDENTIAL_WORDS.contains(&word.as_str()))
}

/// Pairs like `name=value`, with x for the values that are credentials by their names.
pub(super) fn without_credentials(
    pairs: &str,
    separator: char,
    of: &str,
    notes: &mut Notes,
) -> String {
    let plain = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_credential(&decoded(name)) => {
            notes.left_out(format!("the value of `{}` in {of}", shown(&decoded(name))));
            format!("{name}={}", "x".repeat(value.len()))
        }
        _ => pair.to_owned(),
    };
    let plain: Vec<String> = pairs.split(separator).map(plain).collect();
    plain.join(&separator.to_string())
}

/// A name for the terminal: whoever made the recording chose it.
pub(super) fn shown(name: &str) -> String {
    name.escape_debug().take(64).collect()
}

/// The words of a name like `user-pin`, `user_pin` or `userPin`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (after_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_credentials_as_whole_words() {
        for name in [
            "password",
            "client_secret",
            "access_token",
            "X-Api-Key",
            "PHPSESSID",
            "pwd",
            "userPin",
            "x-otp",
            "SID",
            "sess",
            "sig",
            "auth.code",
            "pass",
        ] {
            assert!(is_credential(name), "{name}");
        }
        for name in [
            "zipcode", "mapping", "user", "compass", "side", "signal", "decode", "possess", "page",
        ] {
            assert!(!is_credential(name), "{name}");
        }
    }

    #[test]
    fn names_are_shown_without_what_a_terminal_obeys() {
        let mut notes = Notes::default();
        let plain = without_credentials("a=1&p%77d%1b[2J=hunter2", '&', "a form", &mut notes);
        assert_eq!(plain, "a=1&p%77d%1b[2J=xxxxxxx");
        assert_eq!(
            notes.lines(),
            ["left out: the value of `pwd\\u{1b}[2J` in a form"]
        );
    }
}
