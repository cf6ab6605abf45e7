//! Text for a terminal: measured and wrapped.

use unicode_width::UnicodeWidthStr as _;

pub(crate) const INDENT: &str = "  ";

/// Returns a text with its first letter in upper case.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// Returns names as one says them, e.g. `a, b or c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// Breaks text at spaces into lines of at most `width` characters, each behind `indent`.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && width_of(indent) + width_of(&line) + 1 + width_of(word) > width {
            out += &format!("{indent}{}\n", line.trim_end());
            line.clear();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    out + &format!("{indent}{}\n", line.trim_end())
}

/// Returns the width of a text in columns of a terminal.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(
            [width_of("µs"), width_of("日本"), width_of("e\u{301}")],
            [2, 4, 1]
        );
    }
}
