//! Replies that fit on one line.

use driver::codec_runner::Reply;

/// Keeps a reply below the protocol's limit of 64 KiB.
const REASON_LIMIT_CHARS: usize = 1_000;

pub(crate) fn refused(error: &impl ToString) -> Reply {
    let error = one_line(error);
    Reply::Refused { error }
}

pub(crate) fn unsupported(what: &str, reason: &impl ToString) -> Reply {
    Reply::Unsupported {
        what: one_line(&what),
        reason: one_line(reason),
    }
}

pub(crate) fn failed(reason: &impl ToString) -> Reply {
    let reason = one_line(reason);
    Reply::Failed { reason }
}

/// Joins the lines of a text, since libraries quote their input over several, and cuts it.
fn one_line(text: &impl ToString) -> String {
    let text = text.to_string();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(REASON_LIMIT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_short_line() {
        assert_eq!(one_line(&"a\n  b\tc "), "a b c");
        assert_eq!(one_line(&"ä".repeat(2_000)).chars().count(), 1_000);
    }
}
