//! Text for a terminal: measured, wrapped, and without what a terminal would act on.

use neutral::plain;
use unicode_width::UnicodeWidthStr as _;

pub(crate) const INDENT: &str = "  ";
pub(crate) const GREEN: &str = "\x1b[32m";
pub(crate) const RED: &str = "\x1b[31m";
pub(crate) const DIM: &str = "\x1b[2m";
pub(crate) const RESET: &str = "\x1b[0m";
const CODES: [&str; 4] = [GREEN, RED, DIM, RESET];
const ESCAPE: char = '\x1b';

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

/// Returns a whole text as it may be written to a terminal: with line feeds and, if `color`, the colours of this module,
/// but nothing else that a terminal would act on. Every format for a terminal ends with this.
///
/// It cannot tell apart whose line feeds these are: texts of others pass through [`plain`] before they become parts of
/// lines.
pub(crate) fn finished(text: &str, color: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        out += &neutral::lines(&rest[..at]);
        rest = &rest[at..];
        let code = CODES
            .into_iter()
            .find(|code| color && rest.starts_with(code));
        out += code.unwrap_or("\u{fffd}");
        rest = &rest[code.map_or(ESCAPE.len_utf8(), str::len)..];
    }
    out + &neutral::lines(rest)
}

/// Breaks text at spaces into lines of at most `width` characters, each behind `indent`. Line feeds of the text itself and
/// whatever else a terminal would act on are replaced.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let text = plain(text);
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
    fn only_own_colours_remain_in_a_finished_text() {
        let text = format!("{GREEN}a{RESET}\n\x1b[8mb\x1b]0;t\x07\u{202e}\x1b");
        let r = '\u{fffd}';
        let harmless = format!("\n{r}[8mb{r}]0;t{r}{r}{r}");
        assert_eq!(finished(&text, true), format!("{GREEN}a{RESET}{harmless}"));
        assert_eq!(finished(&text, false), format!("{r}[32ma{r}[0m{harmless}"));
    }

    #[test]
    fn wrapped_text_has_no_lines_of_its_own() {
        let r = '\u{fffd}';
        assert_eq!(
            wrapped("a\nb \x1b[2J", "  ", 4),
            format!("  a{r}b\n  {r}[2J\n")
        );
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(
            [width_of("µs"), width_of("日本"), width_of("e\u{301}")],
            [2, 4, 1]
        );
    }
}
