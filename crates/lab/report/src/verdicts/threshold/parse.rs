//! The text of thresholds.

use std::str::FromStr;

use super::{Figure, Operator, Subject, Threshold};
use crate::summary::quantity::Unit;

const SUBJECTS: [(&str, Subject); 6] = [
    ("first", Subject::First),
    ("warm", Subject::Warm),
    ("whole", Subject::Whole),
    ("load", Subject::Load),
    ("goodput", Subject::Goodput),
    ("errors", Subject::Errors),
];

const FIGURES: [(&str, Figure); 6] = [
    (".median", Figure::Median),
    (".p50", Figure::Percentile(50.0)),
    (".p90", Figure::Percentile(90.0)),
    (".p95", Figure::Percentile(95.0)),
    (".p99", Figure::Percentile(99.0)),
    (".p99.9", Figure::Percentile(99.9)),
];

/// Longer operators before those that they begin with.
const OPERATORS: [(&str, Operator); 4] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
];

const UNITS: [(&str, Unit, f64); 10] = [
    ("ns", Unit::Ns, 1.0),
    ("us", Unit::Ns, 1e3),
    ("µs", Unit::Ns, 1e3),
    ("ms", Unit::Ns, 1e6),
    ("s", Unit::Ns, 1e9),
    ("bit/s", Unit::BitsPerSecond, 1.0),
    ("kbit/s", Unit::BitsPerSecond, 1e3),
    ("Mbit/s", Unit::BitsPerSecond, 1e6),
    ("Gbit/s", Unit::BitsPerSecond, 1e9),
    ("%", Unit::Percent, 1.0),
];

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold, String> {
        let (at, (sign, operator)) = (text.char_indices())
            .find_map(|(at, _)| {
                let starts = |(sign, _): &&(&str, Operator)| text[at..].starts_with(sign);
                Some((at, *OPERATORS.iter().find(starts)?))
            })
            .ok_or("there is no <, <=, > or >= in it; write e.g. first.p95 > 300ms")?;
        let (left, right) = (text[..at].trim(), text[at + sign.len()..].trim());
        let (value, network) = match right.split_once(" on ") {
            Some((value, network)) => (value.trim(), Some(network.trim().to_owned())),
            None => (right, None),
        };
        let has_suffix =
            |(name, figure): &(&str, Figure)| Some((left.strip_suffix(name)?, *figure));
        let named = FIGURES.iter().find_map(has_suffix);
        let (path, figure) = named.unwrap_or((left, Figure::Median));
        let begin = path.rfind(['.', '/']).map_or(0, |separator| separator + 1);
        let (scope, word) = path.split_at(begin);
        let subject = SUBJECTS.iter().find(|(name, _)| *name == word);
        let &(_, subject) = subject.ok_or_else(|| {
            format!(
                "`{word}` is neither a measure (first, warm, whole, load, goodput, errors) nor a \
                 figure of one (median, p50, p90, p95, p99, p99.9)"
            )
        })?;
        if named.is_some() && subject == Subject::Errors {
            return Err("errors are a share of the requests: write e.g. errors > 1%".into());
        }
        let single = matches!(subject, Subject::Whole | Subject::Goodput);
        if single && figure != Figure::Median {
            return Err(format!(
                "{word} is one figure per block, which has only a median"
            ));
        }
        if subject != Subject::Load && figure == Figure::Percentile(99.9) {
            return Err(format!(
                "{word} has no p99.9, which reports give of load only: write e.g. {word}.p99"
            ));
        }
        let limit = parse_value(value, subject.unit())?;
        Ok(Threshold {
            text: text.trim().to_owned(),
            scope: scope.to_owned(),
            subject,
            figure,
            operator,
            limit,
            network,
        })
    }
}

/// Returns a number with a unit, in `wanted`.
fn parse_value(text: &str, wanted: Unit) -> Result<f64, String> {
    let example = match wanted {
        Unit::BitsPerSecond => "a goodput is a rate, e.g. 5Mbit/s",
        Unit::Percent => "errors are a percentage, e.g. 1%",
        _ => "times need ns, us, ms or s, e.g. 300ms",
    };
    let wrong = || format!("`{text}`: {example}");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let known =
        (UNITS.iter()).find(|(name, unit_of, _)| *name == unit.trim() && *unit_of == wanted);
    let (_, _, factor) = known.ok_or_else(wrong)?;
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Ok(number * factor)
}

/// Returns the word for a measure.
pub(super) fn word(subject: Subject) -> &'static str {
    let named = SUBJECTS.iter().find(|(_, named)| *named == subject);
    named.map_or("", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_figures_are_parsed() {
        for (text, subject, figure, operator, limit) in [
            (
                "first > 300ms",
                Subject::First,
                Figure::Median,
                Operator::More,
                3e8,
            ),
            (
                "warm.p95>=1.5 s",
                Subject::Warm,
                Figure::Percentile(95.0),
                Operator::AtLeast,
                1.5e9,
            ),
            (
                "load.p99.9 > 1s",
                Subject::Load,
                Figure::Percentile(99.9),
                Operator::More,
                1e9,
            ),
            (
                "goodput < 5Mbit/s",
                Subject::Goodput,
                Figure::Median,
                Operator::Less,
                5e6,
            ),
            (
                "errors <= 1%",
                Subject::Errors,
                Figure::Median,
                Operator::AtMost,
                1.0,
            ),
            (
                "whole.median > 2s on 4g-tether",
                Subject::Whole,
                Figure::Median,
                Operator::More,
                2e9,
            ),
        ] {
            let got = text.parse::<Threshold>().unwrap();
            assert_eq!(
                (got.subject, got.figure, got.operator, got.limit),
                (subject, figure, operator, limit),
                "{text}"
            );
            assert_eq!(got.to_string(), text);
        }
    }

    #[test]
    fn mistakes_are_answered_with_what_is_right() {
        for (text, answer) in [
            ("first.p95 300ms", "first.p95 > 300ms"),
            ("", "first.p95 > 300ms"),
            ("frist > 300ms", "`frist` is neither a measure (first,"),
            ("first.p97 > 300ms", "p90, p95, p99"),
            ("first > 300", "e.g. 300ms"),
            ("first > fast", "e.g. 300ms"),
            ("first > 1.2.3ms", "e.g. 300ms"),
            ("first > 5Mbit/s", "e.g. 300ms"),
            ("goodput < 300ms", "e.g. 5Mbit/s"),
            ("errors > 0.01", "e.g. 1%"),
            ("errors.p95 > 1%", "errors > 1%"),
            ("whole.p95 > 2s", "only a median"),
            ("warm.p99.9 > 2s", "warm has no p99.9"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(answer), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "[a-z0-9/. ]{0,9}(.|<|>|>=)[0-9.]{0,9}(ms|s|%| |.){0,3}") {
            if let Ok(threshold) = text.parse::<Threshold>() {
                proptest::prop_assert!(threshold.limit.is_finite() && threshold.limit >= 0.0);
            }
        }
    }
}
