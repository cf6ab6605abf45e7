//! Protobuf names for JSON keys.

use std::collections::BTreeSet;

/// An object with at least this many keys is taken for a map if all of them look like ids. Fewer
/// might be fields that happen to be named so.
const MIN_MAP_KEYS: usize = 8;

/// The names taken in one scope.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// Takes a name for a message: `preferred`, else with `scope` as a prefix, else numbered.
    pub(crate) fn message(&mut self, scope: &str, preferred: &str) -> String {
        let mut preferred = preferred.to_owned();
        // Protobuf itself names the entries of a map `users` `UsersEntry`.
        if preferred.ends_with("Entry") {
            preferred.push_str("Message");
        }
        let longer = [preferred.clone(), format!("{scope}{preferred}")];
        let numbered = (2..).map(|number| format!("{preferred}{number}"));
        self.first_free(longer.into_iter().chain(numbered), str::to_owned)
    }

    /// Takes a name for the field of a key, in lower snake case.
    pub(crate) fn field(&mut self, key: &str, number: u32) -> String {
        let name = snake(key);
        let name = match name.chars().next() {
            None => format!("field_{number}"),
            Some(first) if first.is_ascii_digit() => format!("field_{name}"),
            Some(_) => name,
        };
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        // Protobuf requires field names to differ in ProtoJSON too, where `a_b` is `aB`.
        self.first_free(std::iter::once(name.clone()).chain(numbered), |name| {
            name.replace('_', "")
        })
    }

    /// Takes the ProtoJSON name of a key's field: the key, except for a few that protoc rejects.
    pub(crate) fn json(&mut self, key: &str) -> String {
        let rejected = key.contains('\0') || key.starts_with('[') && key.ends_with(']');
        let name = if rejected {
            format!("key {}", key.replace('\0', "\u{fffd}"))
        } else {
            key.to_owned()
        };
        let longer = (0..).map(|length| format!("{name}{}", "_".repeat(length)));
        self.first_free(longer, str::to_owned)
    }

    /// Takes the first candidate whose `key` is not taken.
    fn first_free(
        &mut self,
        mut candidates: impl Iterator<Item = String>,
        key: impl Fn(&str) -> String,
    ) -> String {
        candidates
            .find(|name| self.0.insert(key(name)))
            .unwrap_or_default()
    }
}

/// Returns the message name for a key, e.g. `LineItems` for `line items`.
pub(crate) fn pascal(key: &str) -> String {
    let words = snake(key);
    let name: String = words.split('_').map(capital).collect();
    match name.chars().next() {
        None => "Message".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("Message{name}"),
        Some(_) => name,
    }
}

/// Returns the ProtoJSON name that Protobuf derives from a field name.
pub(crate) fn default_json(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &capital(word))
}

/// Returns whether these keys look like data, not like field names: many, and all of them numbers,
/// UUIDs, hexadecimal ids, dates, or one word with numbers appended.
pub(crate) fn are_ids(keys: &[&str]) -> bool {
    let stem = |key: &str| key.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let first = keys.first().map_or("", |key| &key[..stem(key)]);
    let counted = |key: &&str| stem(key) < key.len() && key[..stem(key)] == *first;
    keys.len() >= MIN_MAP_KEYS && (keys.iter().all(counted) || keys.iter().all(|key| is_id(key)))
}

fn is_id(key: &str) -> bool {
    let allowed = |c: char| c.is_ascii_hexdigit() || "-_:.".contains(c);
    key.chars().all(allowed) && key.chars().any(|c| c.is_ascii_digit())
}

fn snake(key: &str) -> String {
    let chars: Vec<char> = key.chars().collect();
    let mut name = String::new();
    for (index, &c) in chars.iter().enumerate() {
        let before = index.checked_sub(1).map_or('_', |before| chars[before]);
        let after = chars.get(index + 1).copied().unwrap_or('_');
        let word = c.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || before.is_ascii_uppercase() && after.is_ascii_lowercase());
        if !c.is_ascii_alphanumeric() || word {
            name.push('_');
        }
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        }
    }
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    words.join("_")
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_snake_case_fields() {
        for (key, name) in [
            ("userId", "user_id"),
            ("user_id", "user_id_2"),
            ("HTTPServer", "http_server"),
            ("2fa", "field_2fa"),
            ("日本", "field_7"),
            ("", "field_7_2"),
            ("line items", "line_items"),
            ("_private__x_", "private_x"),
            ("ip4Address", "ip4_address"),
        ]
        .iter()
        .scan(Names::default(), |names, (key, name)| {
            Some((names.field(key, 7), *name))
        }) {
            assert_eq!(key, name);
        }
        assert_eq!(pascal("line items"), "LineItems");
        assert_eq!(pascal("日本"), "Message");
        assert_eq!(default_json("user_id_2"), "userId2");
    }

    #[test]
    fn message_names_avoid_each_other_and_map_entries() {
        let mut names = Names::default();
        let mut name = |preferred| names.message("Order", preferred);
        assert_eq!(name("Lines"), "Lines");
        assert_eq!(name("Lines"), "OrderLines");
        assert_eq!(name("Lines"), "Lines2");
        assert_eq!(name("UsersEntry"), "UsersEntryMessage");
    }

    #[test]
    fn json_names_that_protoc_rejects_are_changed() {
        let mut names = Names::default();
        assert_eq!(names.json("a"), "a");
        assert_eq!(names.json("[a]"), "key [a]");
        assert_eq!(names.json("key [a]"), "key [a]_");
    }

    #[test]
    fn eight_id_like_keys_are_a_map() {
        let counted: Vec<String> = (0..8).map(|number| format!("user_{number}")).collect();
        let counted: Vec<&str> = counted.iter().map(String::as_str).collect();
        assert!(are_ids(&counted));
        assert!(!are_ids(&counted[1..]), "seven may be fields");
        let eight = |key| are_ids(&[key; 8]);
        assert!(eight("6f1e1a2c-7d3b-4a55-9d8f-0c5e2f7b1a90"));
        assert!(eight("2026-11-22"));
        assert!(!eight("face"), "a word");
        assert!(!are_ids(&[]));
        assert!(!are_ids(&["a", "b", "c", "d", "e", "f", "created1", "x2"]));
    }
}
