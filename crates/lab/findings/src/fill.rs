//! Sentences whose numbers are placeholders, so that no sentence contradicts its data.
//!
//! `{name}` is a published figure; `{name.speedup}`, `{name.difference}`, `{name.arm}`,
//! `{name.against}`, `{name.verdict}` and `{name.outcome}` are those of a named answer.

use std::collections::BTreeMap;

use config::did_you_mean;
use report::Quantity;

use crate::answer::Answer;
use crate::words::{factor, or_unknown, verdict};

/// What stands in place of a result before the run.
const NOT_RUN: &str = "not run yet";

/// What placeholders stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// Adds a published figure.
    pub(crate) fn figure(&mut self, name: &str, words: &str) {
        self.0.insert(name.to_owned(), words.to_owned());
    }

    /// Adds a result of ours.
    pub(crate) fn answer(&mut self, name: &str, answer: &Answer<'_>) {
        let comparison = answer.comparison.as_ref();
        let figure = |q: Option<&Quantity>| or_unknown(q.map(report::with_interval));
        for (field, words) in [
            (
                "speedup",
                or_unknown(comparison.and_then(|c| c.speedup.as_ref()).map(factor)),
            ),
            ("difference", figure(comparison.map(|c| &c.difference))),
            ("arm", figure(answer.arm)),
            ("against", figure(answer.against)),
            (
                "verdict",
                or_unknown(comparison.map(|c| verdict(c.verdict, answer.kind).to_owned())),
            ),
            ("outcome", answer.outcome.words().to_owned()),
        ] {
            self.0.insert(format!("{name}.{field}"), words);
        }
    }
}

/// Returns the text with its placeholders filled. A placeholder with a dot is a result of ours:
/// before the run, if not `measured`, any is accepted.
pub(crate) fn fill(text: &str, names: &Names, measured: bool) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("a `{` without its `}`")?;
        filled += before;
        filled += match names.0.get(name) {
            Some(words) => words,
            None if !measured && name.contains('.') => NOT_RUN,
            None => {
                let near = did_you_mean(name, names.0.keys().map(String::as_str));
                return Err(format!("nothing is named `{name}`{near}"));
            }
        };
        rest = after;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_their_words() {
        let mut names = Names::default();
        names.figure("gain", "1.6x");
        assert_eq!(
            fill("It is {gain} faster.", &names, true).unwrap(),
            "It is 1.6x faster."
        );
        let error = fill("It is {gian} faster.", &names, true).unwrap_err();
        assert_eq!(error, "nothing is named `gian` (did you mean `gain`?)");
        assert!(fill("It is {gain faster.", &names, true).is_err());
        assert_eq!(fill("{ours.speedup}", &names, false).unwrap(), NOT_RUN);
        assert!(fill("{ours.speedup}", &names, true).is_err());
    }
}
