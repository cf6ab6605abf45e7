//! "Did you mean": the nearest known name, for messages.

/// ` (did you mean `x`?)`, or nothing when no name is near.
pub(crate) fn name<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(wanted, k), k))
        .filter(|(distance, k)| *distance <= 1 + k.len() / 3)
        .min()
        .map_or_else(String::new, |(_, k)| format!(" (did you mean `{k}`?)"))
}

/// serde's "unknown field `x`, expected one of `a`, `b`" with the nearest of them added.
pub(crate) fn with_hint(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = match quoted.next() {
        Some(wanted) if message.starts_with("unknown ") => name(wanted, quoted),
        _ => String::new(),
    };
    // The type's name says nothing to who writes a study.
    let message = ["u32", "u64"]
        .iter()
        .fold(message.to_owned(), |m, unsigned| {
            m.replace(
                &format!("expected {unsigned}"),
                "expected a whole number, 0 or more",
            )
        });
    format!("{message}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        assert_eq!(
            with_hint("unknown field `blcks`, expected one of `blocks`, `seed`"),
            "unknown field `blcks`, expected one of `blocks`, `seed` (did you mean `blocks`?)"
        );
        assert_eq!(with_hint("invalid type: `x`"), "invalid type: `x`");
        assert_eq!(
            with_hint("invalid value: integer `-2`, expected u32"),
            "invalid value: integer `-2`, expected a whole number, 0 or more"
        );
        assert_eq!(name("zzz", ["hyper", "quinn"]), "");
    }
}
