//! JSON with the same shape and length, and other values.

use std::collections::BTreeMap;

/// A number of this many digits may exceed 64 bits.
const DIGITS_OF_U64: usize = 19;

/// Returns valid JSON with other values: strings of the same length in bytes, numbers of as many
/// digits. Keys stay, except those that are data: numbers, addresses and tokens. Equal values get
/// equal ones, and letters are random, so that the text compresses about as well as it did.
pub(crate) fn without_values(json: &str) -> String {
    with_stand_ins(json, Some(0), |_| false, |_, _| false)
}

/// Returns valid JSON with other values under the keys that are `secret`, at any depth. Strings and numbers that are
/// `secret_value` get other values, too: it takes the key above a value, or none for a key itself.
pub(crate) fn without_secrets(
    json: &str,
    secret: impl FnMut(&str) -> bool,
    secret_value: impl FnMut(Option<&str>, &str) -> bool,
) -> String {
    with_stand_ins(json, None, secret, secret_value)
}

/// Replaces the values within `replaced_at`, a depth of braces and brackets, those under keys that are `secret`, and
/// strings and numbers that are `secret_value`.
fn with_stand_ins(
    json: &str,
    mut replaced_at: Option<u32>,
    mut secret: impl FnMut(&str) -> bool,
    mut secret_value: impl FnMut(Option<&str>, &str) -> bool,
) -> String {
    let mut out = String::with_capacity(json.len());
    let mut stand_ins = StandIns::default();
    let mut depth = 0;
    let mut key = String::new();
    let mut outer_keys = Vec::new();
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string_bytes(rest),
            '-' | '0'..='9' => number_bytes(rest),
            // White space, braces, `true`: one character at a time.
            _ => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match c {
            '{' | '[' => {
                depth += 1;
                outer_keys.push(key.clone());
            }
            '}' | ']' => {
                depth -= 1;
                key = outer_keys.pop().unwrap_or_default();
            }
            _ => {}
        }
        // The value of a secret key ends before the next key beside it, or with what holds both.
        if replaced_at.is_some_and(|at| depth < at || (depth == at && c == ',')) {
            replaced_at = None;
        }
        let is_key = c == '"' && after.trim_start().starts_with(':');
        let text = || serde_json::from_str::<String>(token).unwrap_or_else(|_| token.to_owned());
        let is_value = matches!(c, '"' | '-' | '0'..='9');
        let is_kept = match (is_key, replaced_at) {
            (true, Some(_)) => !is_data(token),
            (true, None) => !secret_value(None, &text()),
            (false, None) => !is_value || !secret_value(Some(&key), &text()),
            (false, Some(_)) => false,
        };
        match is_value && !is_kept {
            true => out.push_str(stand_ins.of(token)),
            false => out.push_str(token),
        }
        if is_key {
            key = text();
            if replaced_at.is_none() {
                replaced_at = secret(&key).then_some(depth);
            }
        }
    }
    out
}

/// Reports whether a key is data: a word that programs use has at most three digits, no `@`, no space and at most 48
/// bytes.
fn is_data(key: &str) -> bool {
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    digits >= 4 || key.contains(['@', ' ']) || key.len() > 48
}

/// Returns the length of the string at the beginning, with its quotes.
fn string_bytes(text: &str) -> usize {
    let mut escaped = false;
    for (at, b) in text.bytes().enumerate().skip(1) {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of the number at the beginning.
fn number_bytes(text: &str) -> usize {
    let part = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
    text.bytes().take_while(part).count().max(1)
}

/// What stands for each string and number, as they are written.
#[derive(Default)]
struct StandIns<'a> {
    known: BTreeMap<&'a str, String>,
    random: Random,
}

impl<'a> StandIns<'a> {
    fn of(&mut self, token: &'a str) -> &str {
        let random = &mut self.random;
        self.known
            .entry(token)
            .or_insert_with(|| match token.strip_prefix('"') {
                Some(_) => string(token, random),
                None => number(token, random),
            })
    }
}

/// Replaces letters by letters and digits by digits. Escapes stay, but none names a character.
fn string(token: &str, random: &mut Random) -> String {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('u') => {
                    chars.by_ref().take(4).for_each(drop);
                    out.push_str("\\u00e9");
                }
                Some(escaped) => out.extend(['\\', escaped]),
                None => {}
            },
            'a'..='z' => out.push(random.letter(b'a')),
            'A'..='Z' => out.push(random.letter(b'A')),
            '0'..='9' => out.push(random.digit()),
            c if c.is_ascii() => out.push(c),
            c => out.push(match c.len_utf8() {
                2 => 'é',
                3 => '中',
                _ => '😀',
            }),
        }
    }
    out
}

/// Returns a number of as many digits, with the sign and the exponent of `token`. It begins with 0 only where `token`
/// does.
fn number(token: &str, random: &mut Random) -> String {
    let whole = token.bytes().take_while(|b| *b != b'.').count();
    let exponent = token.find(['e', 'E']);
    // The largest numbers of their length would not fit.
    let is_large = whole >= DIGITS_OF_U64 || exponent.is_some();
    let mut digits = 0;
    let other = |(at, c): (usize, char)| {
        if !c.is_ascii_digit() || exponent.is_some_and(|e| at >= e) {
            return c;
        }
        digits += 1;
        match (digits, c) {
            (1, '0') => '0',
            (1, _) if is_large => '1',
            (1, _) => char::from(b'1' + (random.next() % 9) as u8),
            (2, _) if is_large => '0',
            _ => random.digit(),
        }
    };
    token.char_indices().map(other).collect()
}

/// Marsaglia's xorshift64: the same values for the same file.
struct Random(u64);

impl Default for Random {
    fn default() -> Random {
        Random(0x9e37_79b9_7f4a_7c15)
    }
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn letter(&mut self, first: u8) -> char {
        char::from(first + (self.next() % 26) as u8)
    }

    fn digit(&mut self) -> char {
        char::from(b'0' + (self.next() % 10) as u8)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn values_change_and_the_shape_stays() {
        let json = r#"{ "name": "Jo Smith", "age": 42, "ok": true, "tags": ["Jo Smith", null],
            "2026-11-23": -1.50e3, "say": "a\"b\u00fc\\" }"#;
        let plain = without_values(json);
        assert_eq!(plain.len(), json.len());
        for value in ["Jo Smith", "42", "2026-11-23", "1.50", "\\u00fc"] {
            assert!(!plain.contains(value), "{value} in {plain}");
        }
        for kept in [
            "\"name\": ",
            "\"age\": ",
            "true",
            "null",
            "e3",
            "\\\"",
            "\\\\",
        ] {
            assert!(plain.contains(kept), "{kept} not in {plain}");
        }
        let value: Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(value["name"], value["tags"][0], "equal values stay equal");
    }

    #[test]
    fn only_the_values_of_secret_keys_change() {
        let json = r#"{"a": 1, "pw": {"pw": [770011, "deep"], "on": true}, "b": "stays",
            "l": [{"p\u0077": "escaped"}, "also", "Bearer x\u0079z"], "pw": "hunter2"}"#;
        let plain = without_secrets(json, |key| key == "pw", |_, value| value == "Bearer xyz");
        assert_eq!(plain.len(), json.len());
        for secret in ["770011", "deep", "escaped", "hunter2", "Bearer"] {
            assert!(!plain.contains(secret), "{secret} in {plain}");
        }
        for kept in ["\"a\": 1", "\"on\": true", "stays", "also"] {
            assert!(plain.contains(kept), "{kept} not in {plain}");
        }
    }

    #[test]
    fn the_longest_numbers_stay_within_64_bits() {
        for number in [
            "18446744073709551615",
            "9223372036854775807",
            "1234567890123456789",
        ] {
            let plain = without_values(number);
            assert_eq!(plain.len(), number.len());
            assert!(plain.parse::<u64>().is_ok(), "{plain}");
        }
        assert_eq!(without_values("0"), "0");
        assert!(without_values("-0.5").starts_with("-0."));
    }

    /// Generates any JSON of a small depth.
    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("\\PC{0,12}", inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    fn shape(value: &Value) -> String {
        match value {
            Value::Null | Value::Bool(_) => value.to_string(),
            Value::Number(_) => "0".to_owned(),
            Value::String(_) => "''".to_owned(),
            Value::Array(values) => {
                format!("{:?}", values.iter().map(shape).collect::<Vec<_>>())
            }
            // Keys that are data may change, and with them their order.
            Value::Object(fields) => {
                let mut shapes: Vec<String> = fields.values().map(shape).collect();
                shapes.sort();
                format!("{shapes:?}")
            }
        }
    }

    proptest! {
        #[test]
        fn any_json_keeps_its_shape_and_length(value in json(), pretty: bool) {
            let text = match pretty {
                true => serde_json::to_string_pretty(&value).unwrap(),
                false => value.to_string(),
            };
            let plain = without_values(&text);
            prop_assert_eq!(plain.len(), text.len());
            let read: Value = serde_json::from_str(&plain).unwrap();
            // Two keys that are data can become one.
            if !text.contains(|c: char| c.is_ascii_digit() || c == '@' || c == ' ') {
                prop_assert_eq!(shape(&read), shape(&value));
            }
        }
    }
}
