use std::fmt;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Of a longer message only the two ends are kept, this many characters each.
const MESSAGE_END_CHARS: usize = 500;
/// What is shown of a line, before the mark and from it on, fits a terminal of 80 columns.
const BEFORE_CHARS: usize = 34;
const AFTER_CHARS: usize = 36;

/// A mistake in a TOML file.
///
/// Printed as `file:line:column: message` and, below it, the line with a mark under the mistake;
/// with `{:#}` in colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub message: String,
    /// None if the mistake is in no line, as where something is missing from the file.
    excerpt: Option<Excerpt>,
}

/// The part of a line that is shown, and what is marked in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    /// In bytes of `text`.
    marked: Range<usize>,
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConfigError {
            file,
            line,
            column,
            message,
            excerpt,
        } = self;
        let file: String = file.chars().map(printable).collect();
        write!(f, "{file}:{line}:{column}: {message}")?;
        let Some(Excerpt { text, marked }) = excerpt else {
            return Ok(());
        };
        let snippet = Snippet::source(text)
            .line_start(*line)
            .annotation(AnnotationKind::Primary.span(marked.clone()));
        let renderer = match f.alternate() {
            true => Renderer::styled(),
            false => Renderer::plain(),
        };
        let renderer = renderer.decor_style(DecorStyle::Ascii);
        let shown = renderer.render(&[Group::with_level(Level::ERROR).element(snippet)]);
        write!(f, "\n{shown}")
    }
}

impl ConfigError {
    /// Returns an error at the same place that shows nothing of the file, with another message: for files whose content
    /// is not to be printed.
    pub fn without_text(self, message: &str) -> ConfigError {
        ConfigError {
            message: bounded(message),
            excerpt: None,
            ..self
        }
    }

    /// Creates an error at a span of a text; `0..0` is the file as a whole.
    pub(crate) fn new(file: &str, text: &str, span: &Range<usize>, message: &str) -> ConfigError {
        let start = text.floor_char_boundary(span.start);
        let (before, from) = text.split_at(start);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let before_in_line = &before[line_start..];
        let rest_of_line = from.lines().next().unwrap_or("");
        let end = text
            .floor_char_boundary(span.end)
            .clamp(start, start + rest_of_line.len());
        ConfigError {
            file: file.to_owned(),
            line: 1 + before.matches('\n').count(),
            column: 1 + before_in_line.chars().count(),
            message: bounded(message),
            excerpt: (*span != (0..0)).then(|| {
                let (marked, after) = rest_of_line.split_at(end - start);
                Excerpt::new(before_in_line, marked, after)
            }),
        }
    }
}

impl Excerpt {
    /// Creates an excerpt: of a long line, what is near the mark.
    fn new(before: &str, marked: &str, after: &str) -> Excerpt {
        let skipped = before.chars().count().saturating_sub(BEFORE_CHARS);
        let mut text: String = before.chars().skip(skipped).map(printable).collect();
        if skipped > 0 {
            text.insert_str(0, "...");
        }
        let start = text.len();
        text.extend(marked.chars().take(AFTER_CHARS).map(printable));
        let end = text.len();
        let left = AFTER_CHARS.saturating_sub(marked.chars().count());
        text.extend(after.chars().take(left).map(printable));
        if marked
            .chars()
            .chain(after.chars())
            .nth(AFTER_CHARS)
            .is_some()
        {
            text.push_str("...");
        }
        Excerpt {
            text,
            marked: start..end,
        }
    }
}

fn printable(c: char) -> char {
    if neutral::is_interpreted(c) { ' ' } else { c }
}

/// Returns a message without control characters; of a long one the beginning and the end.
fn bounded(message: &str) -> String {
    let length = message.chars().count();
    if length <= 2 * MESSAGE_END_CHARS {
        return message.chars().map(printable).collect();
    }
    let begin = message.chars().take(MESSAGE_END_CHARS);
    let end = message.chars().skip(length - MESSAGE_END_CHARS);
    begin
        .chain(" ... ".chars())
        .chain(end)
        .map(printable)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    /// Returns everything below the first line of an error.
    fn shown(text: &str, span: Range<usize>) -> String {
        let error = Source::new("a.toml", text).error(&span, "no").to_string();
        let (first, shown) = error.split_once('\n').unwrap_or((&error, ""));
        assert!(first.ends_with(": no"), "{first}");
        shown.to_owned()
    }

    #[test]
    fn the_line_is_shown_with_a_mark_under_the_span() {
        assert_eq!(
            Source::new("a.toml", "x = 1\ny = 25\n")
                .error(&(10..12), "no")
                .to_string(),
            "a.toml:2:5: no\n  |\n2 | y = 25\n  |     ^^"
        );
    }

    #[test]
    fn the_file_as_a_whole_has_no_mark() {
        assert_eq!(shown("x = 1\n", 0..0), "");
    }

    #[test]
    fn a_span_of_several_lines_is_marked_in_its_first() {
        assert_eq!(
            shown("[[arm]]\nname = 1\n", 0..16),
            "  |\n1 | [[arm]]\n  | ^^^^^^^"
        );
    }

    #[test]
    fn the_end_of_a_line_can_be_marked() {
        assert_eq!(shown("x =\ny = 1", 3..3), "  |\n1 | x =\n  |    ^");
        assert_eq!(shown("x =", 3..3), "  |\n1 | x =\n  |    ^");
    }

    #[test]
    fn of_a_long_line_only_what_is_near_the_mark_is_shown() {
        let text = format!("x = '{}!{}'", "a".repeat(1000), "b".repeat(1000));
        let at = text.find('!').unwrap();
        let (a, b) = ("a".repeat(BEFORE_CHARS), "b".repeat(AFTER_CHARS - 1));
        assert_eq!(
            shown(&text, at..at + 1),
            format!(
                "  |\n1 | ...{a}!{b}...\n  | {}^",
                " ".repeat(BEFORE_CHARS + 3)
            )
        );
        let marked = shown(&text, 4..text.len());
        assert!(
            marked.ends_with(&format!("\n  |     {}", "^".repeat(AFTER_CHARS))),
            "{marked}"
        );
    }

    #[test]
    fn columns_and_marks_count_characters() {
        let text = "x = ['ä', 'ö', 5]";
        let at = text.find('5').unwrap();
        let error = Source::new("a.toml", text).error(&(at..at + 1), "no");
        assert_eq!(error.column, 16);
        assert!(
            error.to_string().ends_with("\n  |                ^"),
            "{error}"
        );
    }

    #[test]
    fn colours_are_for_those_who_ask() {
        let error = Source::new("a.toml", "x = 1").error(&(4..5), "no");
        assert!(!error.to_string().contains('\u{1b}'));
        assert!(format!("{error:#}").contains('\u{1b}'));
    }

    #[test]
    fn control_characters_of_the_line_are_not_printed() {
        let text = "x = '\u{1b}[2J\u{9b}2J\t\u{202e}' 7";
        let at = text.find('7').unwrap();
        let shown = shown(text, at..at + 1);
        assert!(
            !shown.contains(|c: char| c.is_control() && c != '\n'),
            "{shown:?}"
        );
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
        let error = Source::new("a\nb\u{1b}.toml", text).error(&(0..0), "no");
        assert_eq!(error.to_string(), "a b .toml:1:1: no");
    }
}
