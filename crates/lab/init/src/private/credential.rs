//! Credentials, known by their names, or by what their values look like.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::notes::Notes;
use crate::url::decoded;

/// What has one of these in a word of its name is a credential.
const CREDENTIALS: &[&str] = &[
    "assertion",
    "auth",
    "bearer",
    "cookie",
    "credential",
    "csrf",
    "hmac",
    "jwt",
    "kennwort",
    "key",
    "passcode",
    "passphrase",
    "passw",
    "saml",
    "secret",
    "sessid",
    "session",
    "signature",
    "token",
    "xsrf",
];
/// What has one of these as a word of its name is a credential, too; they are parts of many other words.
const CREDENTIAL_WORDS: &[&str] = &[
    "contrasena",
    "cred",
    "creds",
    "cvc",
    "cvv",
    "haslo",
    "heslo",
    "iban",
    "mfa",
    "otp",
    "pan",
    "pass",
    "pin",
    "pswd",
    "pw",
    "pwd",
    "senha",
    "sess",
    "sid",
    "sig",
    "ssn",
    "tkn",
    "totp",
    "verifier",
    "wachtwoord",
];
/// Several words that are one.
const CREDENTIAL_PHRASES: &[&str] = &["cardnumber", "ccnumber", "creditcard", "motdepasse"];
/// Words that have a credential in them and are none.
const HARMLESS_WORDS: &[&str] = &[
    "author",
    "authors",
    "authored",
    "hotkey",
    "hotkeys",
    "keyboard",
    "keyframe",
    "keyframes",
    "keynote",
    "keypad",
    "keyword",
    "keywords",
    "monkey",
    "turkey",
];
/// A code is a credential, but for those of these.
const HARMLESS_CODES: &[&str] = &[
    "area", "color", "colour", "country", "currency", "error", "exit", "http", "iso", "lang",
    "language", "locale", "postal", "product", "qr", "region", "response", "state", "status",
    "zip",
];
/// How tokens of well-known services begin.
const TOKEN_BEGINNINGS: &[&str] = &[
    "-----BEGIN ",
    "AIza",
    "AKIA",
    "ASIA",
    "SG.",
    "dop_v1_",
    "gho_",
    "ghp_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pypi-",
    "rk_live_",
    "shpat_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "whsec_",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "ya29.",
];
/// A shorter text that begins like a token is a word.
const TOKEN_CHARS: usize = 16;

/// Returns why a name is that of a credential, if it is: the part of it that says so.
pub(super) fn by_name(name: &str) -> Option<String> {
    let words = words(name);
    let secret_part = |word: &String| {
        let word = word.as_str();
        let parts = CREDENTIALS.iter().filter(|part| word.contains(*part));
        let whole = CREDENTIAL_WORDS.iter().filter(|known| **known == word);
        match HARMLESS_WORDS.contains(&word) {
            true => None,
            false => whole.chain(parts).next().copied(),
        }
    };
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let is_code = has("code") && !HARMLESS_CODES.iter().any(|word| has(word));
    let joined = words.concat();
    let phrase = || {
        CREDENTIAL_PHRASES
            .iter()
            .copied()
            .find(|phrase| joined.contains(phrase))
    };
    let part = words.iter().find_map(secret_part);
    let part = part.or(is_code.then_some("code")).or_else(phrase)?;
    Some(format!("its name has `{part}`"))
}

/// Returns why a value is a credential by its form, whatever its name. Such a value is a JWT (RFC 7519), the value of
/// an `authorization` field (RFC 7617, RFC 6750), or a token of a well-known service.
pub(super) fn by_form(value: &str) -> Option<String> {
    let value = value.trim();
    let is_scheme = value.split_once(' ').is_some_and(|(scheme, rest)| {
        let rest = rest.trim();
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => !rest.is_empty() && !rest.contains(' '),
            "basic" => STANDARD.decode(rest).is_ok_and(|pair| pair.contains(&b':')),
            "digest" => rest.contains('='),
            "negotiate" => rest.len() >= TOKEN_CHARS && !rest.contains(' '),
            _ => false,
        }
    });
    let parts: Vec<&str> = value.split('.').collect();
    let is_base64 = |part: &&str| {
        part.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_=".contains(&b))
    };
    let is_jwt =
        value.starts_with("eyJ") && (3..=5).contains(&parts.len()) && parts.iter().all(is_base64);
    let mut beginnings = TOKEN_BEGINNINGS.iter();
    let beginning = beginnings.find(|beginning| value.starts_with(**beginning));
    match beginning.filter(|_| value.len() >= TOKEN_CHARS) {
        _ if is_scheme => Some("it is what an authorization field has".to_owned()),
        _ if is_jwt => Some("it is a JWT".to_owned()),
        Some(beginning) => Some(format!("it begins with `{}`", beginning.trim())),
        None => None,
    }
}

/// Reports whether a value is a credential by its form, whatever its name.
pub(super) fn is_secret(value: &str) -> bool {
    by_form(value).is_some()
}

/// Replaces the values of pairs like `name=value` by x where they are credentials by name or by form.
pub(super) fn without_credentials(
    pairs: &str,
    separator: char,
    of: &str,
    notes: &mut Notes,
) -> String {
    let mut plain = |pair: &str| {
        let text = |part: &str| decoded(&part.replace('+', " "));
        let (name, value) = match pair.split_once('=') {
            // A token may end in `=`.
            Some((name, value)) if !is_secret(&text(pair)) => (name, value),
            _ => ("", pair),
        };
        let shown_name = shown(&decoded(name));
        let why = by_name(&decoded(name)).or_else(|| by_form(&text(value)));
        match why {
            _ if value.is_empty() => pair.to_owned(),
            Some(why) => {
                notes.left_out(match name {
                    "" => format!("a value without a name in {of}"),
                    _ => format!("the value of `{shown_name}` in {of}"),
                });
                notes.value(of, shown_name, value.len(), Some(why));
                let x = "x".repeat(value.len());
                pair.strip_suffix(value).unwrap_or_default().to_owned() + &x
            }
            None => {
                // A part of a path is no value.
                if pair.contains('=') || separator == '&' {
                    notes.value(of, shown_name, value.len(), None);
                }
                pair.to_owned()
            }
        }
    };
    let plain: Vec<String> = pairs.split(separator).map(&mut plain).collect();
    plain.join(&separator.to_string())
}

/// Returns a name as it is safe to print. Whoever made the recording chose the name, and it may be a credential itself.
pub(super) fn shown(name: &str) -> String {
    match is_secret(name) {
        true => "(a credential)".to_owned(),
        false => name.escape_debug().take(64).collect(),
    }
}

/// Splits a name like `user-pin`, `user_pin` or `userPin` into its words, in lower case.
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
    words.retain(|word| !word.is_empty());
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
            "code",
            "deviceCode",
            "2fa_code",
            "one_time_code",
            "SAMLResponse",
            "client_assertion",
            "cvv2",
            "card_number",
            "cardNumber",
            "totp",
            "tkn",
            "senha",
            "code_verifier",
            "authorization",
            "apikey",
        ] {
            assert!(by_name(name).is_some(), "{name}");
        }
        for name in [
            "zipcode",
            "mapping",
            "user",
            "compass",
            "side",
            "signal",
            "decode",
            "possess",
            "page",
            "author",
            "keyword",
            "country_code",
            "statusCode",
            "keyboardLayout",
            "monkey",
            "panel",
            "company",
        ] {
            assert!(by_name(name).is_none(), "{name}");
        }
    }

    #[test]
    fn credentials_are_known_by_their_values_too() {
        for secret in [
            "eyJhbGciOiJ9.eyJzIjoxfQ.dozjgNryP4J3jVmNHl0w5N",
            "Bearer abc",
            "Digest username=\"x\", realm=\"y\"",
            "basic am86aHVudGVyMg==",
            "ghp_0123456789abcdef0123",
            "sk_live_0123456789abcdef",
            "AKIA0123456789ABCDEF",
            concat!("-----BEGIN ", "PRIVATE KEY-----"),
        ] {
            assert!(is_secret(secret), "{secret}");
        }
        for harmless in [
            "basic plan",
            "Basic membership",
            "Digest newsletter",
            "Bearer of bad news today",
            "eyJ",
            "sk-ip",
            "a.b.c",
            "",
            "Basic english course",
        ] {
            assert!(!is_secret(harmless), "{harmless}");
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
