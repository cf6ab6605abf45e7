//! Text that others wrote, e.g. names from studies, records, drivers and servers, made harmless for outputs.
//!
//! Every output but JSON, which is data, passes such text through one of these functions, or replaces by itself what
//! [`is_interpreted`] finds:
//!
//! | function | for |
//! |---|---|
//! | [`plain`] | one line: a message, a cell of a table, a label |
//! | [`quoted`] | a name in a message that must not seem to be more than a name, e.g. of a file in a question |
//! | [`lines`] | a whole text with its line breaks, e.g. a page |
//! | [`file()`] | a file of theirs with its line breaks and tabs, e.g. a study |
//! | [`cell`] | a cell of CSV, which a spreadsheet may open |
//! | [`name_cell`] | the same for a name beside other names |
//!
//! What Markdown and HTML give a meaning to is escaped where these are written.

#![forbid(unsafe_code)]

/// What a spreadsheet takes for the beginning of a formula, also at full width. A tab and a carriage return, which it
/// skips, are replaced before.
const FORMULA_BEGINS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
/// What spreadsheets mark text with.
const TEXT_MARK: char = '\'';
/// What separates cells beside the comma: LibreOffice splits at both, Excel in many languages at this one only. To the
/// latter, the quotes around a cell are in the middle of its own cells, where they are text.
const SEPARATOR: char = ';';

/// Returns whether an output would not show a character but act on it, or show nothing: control characters, marks that
/// change the direction of writing, line separators, and characters without a width.
///
/// The last are Unicode's `Default_Ignorable_Code_Point` without the variation selectors of emoji.
pub fn is_interpreted(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Replaces every character that an output would act on ([`is_interpreted`]).
pub fn plain(text: &str) -> String {
    replaced(text, is_interpreted)
}

/// Returns text in quotes, with escapes for quotes, backslashes and what an output would act on, as Rust writes strings.
pub fn quoted(text: &str) -> String {
    plain(&format!("{text:?}"))
}

/// Replaces the same characters, but keeps line feeds.
pub fn lines(text: &str) -> String {
    replaced(text, |c| c != '\n' && is_interpreted(c))
}

/// Replaces the same characters, but keeps the line breaks and tabs of a file, so that TOML stays valid. A byte order
/// mark is left out.
pub fn file(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let kept = text.split_inclusive('\n').map(|line| {
        // A carriage return alone would let the rest overwrite the line.
        let end = ["\r\n", "\n"].into_iter().find(|end| line.ends_with(end));
        let end = end.unwrap_or("");
        let line = &line[..line.len() - end.len()];
        replaced(line, |c| c != '\t' && is_interpreted(c)) + end
    });
    kept.collect()
}

/// Returns text as a cell of CSV: as [`plain`] does, and with an apostrophe before what a spreadsheet would take for the
/// beginning of a formula. What follows a semicolon is taken for a cell of its own. Numbers stay as they are.
///
/// Of `1;-2`, the second number gets an apostrophe: where only semicolons separate, the next cell of the row follows it,
/// as in `-2,1*A1`.
pub fn cell(text: &str) -> String {
    let text = plain(text);
    map_formulas(&text, |formula| format!("{TEXT_MARK}{formula}"))
}

/// Returns a name as a cell of CSV: as [`cell`] does, but a number with a sign gets an apostrophe, too. Where only
/// semicolons separate, the next cell of the row follows it, and a name may stand there.
pub fn name_cell(name: &str) -> String {
    let cell = cell(name);
    match cell
        .trim_start_matches(is_skipped)
        .starts_with(FORMULA_BEGINS)
    {
        true => format!("{TEXT_MARK}{cell}"),
        false => cell,
    }
}

/// Returns the text of a cell that [`cell`] made.
pub fn from_cell(cell: &str) -> String {
    map_formulas(cell, |formula| {
        let text = formula.strip_prefix(TEXT_MARK).unwrap_or(formula);
        text.to_owned()
    })
}

/// Replaces what a spreadsheet would take for a formula, or would if the marks before it were not there: so that each mark
/// is known to be from [`cell`].
fn map_formulas(text: &str, map: impl Fn(&str) -> String) -> String {
    if is_number(text.trim_matches(|c| is_skipped(c) || c == TEXT_MARK)) {
        return text.to_owned();
    }
    let parts = text.split(SEPARATOR).map(|part| {
        let formula = part.trim_start_matches(is_skipped);
        let unmarked = formula.trim_start_matches(TEXT_MARK);
        match unmarked.starts_with(FORMULA_BEGINS) {
            true => part[..part.len() - formula.len()].to_owned() + &map(formula),
            false => part.to_owned(),
        }
    });
    let parts: Vec<String> = parts.collect();
    parts.join(&SEPARATOR.to_string())
}

/// Reports whether a spreadsheet may skip the character at the beginning of a cell.
fn is_skipped(c: char) -> bool {
    c.is_whitespace() || c == '"'
}

fn is_number(text: &str) -> bool {
    // `inf` and `nan` are numbers to Rust only.
    text.parse::<f64>().is_ok() && text.ends_with(|c: char| c.is_ascii_digit() || c == '.')
}

fn replaced(text: &str, is_bad: impl Fn(char) -> bool) -> String {
    let replace = |c| {
        if is_bad(c) {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().map(replace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_numbers_with_a_sign() {
        for (name, cell) in [
            ("-2", "'-2"),
            (" +3", "' +3"),
            ("2", "2"),
            ("=1", "'=1"),
            ("a-2", "a-2"),
        ] {
            assert_eq!(name_cell(name), cell);
        }
    }

    #[test]
    fn interpreted_characters_are_replaced() {
        let evil =
            "a\u{1b}[2J\r\u{9b}2J\u{202e}\u{2067}\u{61c}b\u{200b}\u{feff}\u{2028}\u{e0041}\n";
        let r = '\u{fffd}';
        let plain_text = format!("a{r}[2J{r}{r}2J{r}{r}{r}b{r}{r}{r}{r}");
        assert_eq!(plain(evil), format!("{plain_text}{r}"));
        assert_eq!(lines(evil), format!("{plain_text}\n"));
    }

    #[test]
    fn quoted_text_ends_where_it_seems_to() {
        assert_eq!(quoted("häuser.json"), "\"häuser.json\"");
        assert_eq!(
            quoted("a\". Continue?\n\u{1b}[2J\u{202e}\\"),
            r#""a\". Continue?\n\u{1b}[2J\u{202e}\\""#
        );
        assert!(!quoted("a\u{3164}\u{200b}\u{e0041}").contains(is_interpreted));
    }

    #[test]
    fn files_keep_their_line_breaks_and_tabs() {
        let kept = "a = 1\t# b\r\n\r\nc = 2\n";
        assert_eq!(file(kept), kept);
        assert_eq!(file("\u{feff}a\r"), "a\u{fffd}");
        let r = '\u{fffd}';
        let evil = "\u{1b}]0;a\u{7}\u{9b}8m\u{202e}b\rc\r\r\n";
        assert_eq!(file(evil), format!("{r}]0;a{r}{r}8m{r}b{r}c{r}\r\n"));
    }

    #[test]
    fn what_is_shown_is_kept() {
        for text in ["häuser 日本 ✔\u{fe0f} µs", "a b\u{a0}c\u{202f}d", ""] {
            assert_eq!(plain(text), text);
            assert_eq!(cell(text), text);
        }
    }

    #[test]
    fn formulas_are_marked_as_text_and_numbers_are_not() {
        for formula in [
            "=1+1",
            "+1+1",
            "-2+3",
            "@SUM(A1)",
            "-cmd|' /C calc'!A0",
            "--1",
            "-",
            "-inf",
            "+nan",
            "＝1+1",
            "- 5",
            "-1,5",
            "-1;2",
        ] {
            let marked = cell(formula);
            assert_eq!(marked, format!("'{formula}"));
            assert_eq!(from_cell(&marked), formula);
        }
        for number in [
            "-1.5", "+3", "-1e-5", "-.5", "-0", "-7.", "12", " -5", "\"-5\"",
        ] {
            assert_eq!(cell(number), number);
        }
        // A tab or carriage return before a formula is not skipped.
        assert_eq!(cell("\t=1"), "\u{fffd}=1");
        assert_eq!(cell("\r\n=1"), "\u{fffd}\u{fffd}=1");
    }

    #[test]
    fn a_semicolon_begins_a_cell() {
        for (text, marked) in [
            ("a;=1+1", "a;'=1+1"),
            ("=1;=2", "'=1;'=2"),
            ("a; -48 ms", "a; '-48 ms"),
            ("a;;@b;c", "a;;'@b;c"),
            ("a;\"=1\"", "a;\"'=1\""),
            ("\u{a0}\"=1", "\u{a0}\"'=1"),
            ("1;-2", "1;'-2"),
        ] {
            assert_eq!(cell(text), marked);
            assert_eq!(from_cell(marked), text);
        }
        for text in ["a; b", "a;b=1", "1;2", "a-;b", ";", "text/html; q=1"] {
            assert_eq!(cell(text), text);
        }
    }

    /// Every text of up to five characters that matter.
    #[test]
    fn every_cell_is_read_back_and_begins_no_formula() {
        let mut texts = vec![String::new()];
        let mut from = 0;
        for _ in 0..5 {
            let to = texts.len();
            for i in from..to {
                for c in [';', '=', '-', '\'', '"', ' ', '1', 'a'] {
                    texts.push(format!("{}{c}", texts[i]));
                }
            }
            from = to;
        }
        for text in texts {
            let cell = cell(&text);
            assert_eq!(from_cell(&cell), text);
            if is_number(text.trim_matches([' ', '"', '\''])) {
                continue;
            }
            let begins = |part: &str| part.trim_matches([' ', '"']).starts_with(['=', '-']);
            assert!(!cell.split(';').any(begins), "{text}: {cell}");
        }
    }
}
