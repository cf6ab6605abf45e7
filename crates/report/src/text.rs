//! Text for a terminal: safe, measured and wrapped.

pub(crate) const INDENT: &str = "  ";

/// Without what a terminal would obey: control characters and marks that turn the line round.
pub(crate) fn plain(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| if obeyed(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Broken at spaces to `width`, every line behind `indent`.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && chars(indent) + chars(&line) + 1 + chars(word) > width {
            out += &format!("{indent}{}\n", line.trim_end());
            line.clear();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    out + &format!("{indent}{}\n", line.trim_end())
}

/// How many places a text takes; names are taken to be of single width.
pub(crate) fn chars(text: &str) -> usize {
    text.chars().count()
}
