//! Words that the page, the index and sentences share.

use report::{Kind, Quantity};
use stats::Verdict;

use crate::expect::Size;
use crate::published::digits;

/// Returns a factor with its interval and without spaces before its unit, e.g. `1.8x [1.7, 1.9]`.
pub(crate) fn factor(q: &Quantity) -> String {
    report::with_interval(q).replacen(" x", "x", 1)
}

/// Returns the factors that a claim allows, as they follow its direction, e.g. `, 2x to 4.5x`; empty without a size.
pub(crate) fn sizes(size: Size) -> String {
    match size {
        Some((least, most)) if most.is_finite() => {
            format!(", {}x to {}x", digits(least), digits(most))
        }
        Some((least, _)) => format!(", at least {}x", digits(least)),
        None => String::new(),
    }
}

/// Returns the version of commute and its commits.
pub(crate) fn version(commute: &str, commits: &[String]) -> String {
    match commits.is_empty() {
        true => format!("commute {commute}"),
        false => format!("commute {commute} (commit {})", commits.join(" and ")),
    }
}

/// Returns the words, or a dash where nothing is known.
pub(crate) fn or_unknown(words: Option<String>) -> String {
    words.unwrap_or_else(|| "-".to_owned())
}

/// Returns the fewest and the most blocks, e.g. `6 to 8 blocks`; `None` without figures.
pub(crate) fn block_count(blocks: &[usize]) -> Option<String> {
    let (fewest, most) = (*blocks.iter().min()?, *blocks.iter().max()?);
    Some(match fewest == most {
        true => report::count(most, "block"),
        false => format!("{fewest} to {most} blocks"),
    })
}

/// Returns the words for a verdict on times, bytes or energies.
pub(crate) fn verdict(verdict: Verdict, kind: Kind) -> &'static str {
    match (kind, verdict) {
        (Kind::Bytes, Verdict::Faster) => "fewer",
        (Kind::Bytes, Verdict::Slower) => "more",
        (Kind::Bytes, Verdict::NotSlower) => "not more",
        (Kind::Bytes, Verdict::NotFaster) => "not fewer",
        (Kind::Energy, Verdict::Faster) => "less",
        (Kind::Energy, Verdict::Slower) => "more",
        (Kind::Energy, Verdict::NotSlower) => "not more",
        (Kind::Energy, Verdict::NotFaster) => "not less",
        _ => report::verdict_words(verdict),
    }
}

/// Returns text for a Markdown table or sentence: nothing in it is a column, emphasis, link, character reference or
/// HTML.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let one_line = text.replace(['\n', '\t'], " ");
    for c in neutral::plain(&one_line).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '|' | '*' | '`' | '<' | '>' | '\\' => out.extend(['\\', c]),
            // Brackets alone are those of intervals.
            '(' | '[' | ':' if before == ']' => out.extend(['\\', c]),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Returns a Markdown table.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.iter().map(|cell| (*cell).to_owned()).collect());
    text += &line(head.iter().map(|_| "---".to_owned()).collect());
    for row in rows {
        text += &line(row.iter().map(|cell| plain(cell)).collect());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_a_table() {
        let rows = vec![vec!["a|b\n<i>".to_owned()]];
        assert_eq!(table(&["x"], &rows), "| x |\n| --- |\n| a\\|b \\<i\\> |\n");
    }

    #[test]
    fn names_are_neither_links_nor_interpreted() {
        for (name, shown) in [
            ("[a](http://b) [1.7, 1.9]", "[a]\\(http://b) [1.7, 1.9]"),
            ("![a][b]", "![a]\\[b]"),
            ("[a]: b", "[a]\\: b"),
            ("&#8238;x", "&amp;#8238;x"),
            (
                "a\u{202e}b\u{1b}[2J\u{200b}",
                "a\u{fffd}b\u{fffd}[2J\u{fffd}",
            ),
        ] {
            assert_eq!(plain(name), shown);
        }
    }
}
