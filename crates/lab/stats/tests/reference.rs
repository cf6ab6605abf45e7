//! Agreement with SciPy and NumPy. `data/reference.py` writes the expected values.

use std::collections::BTreeMap;

use stats::{
    Differences, Family, FamilyResult, Level, Quantile, Ranks, Requests, Span, TwoRuns, Verdict,
    compare_reliability, decide, decide_changes, estimate, fisher_exact, quantile,
    rank_correlation,
};

/// Returns the fields of every line but the first.
fn rows(csv: &str) -> impl Iterator<Item = Vec<&str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

fn number(field: &str) -> f64 {
    field.parse().expect("a number")
}

fn count(field: &str) -> usize {
    field.parse().expect("a whole number")
}

fn spans(field: &str) -> Vec<Span> {
    let values = field.split(' ').map(number);
    values.map(Span::exact).collect()
}

fn assert_close(got: f64, expected: f64, context: &str) {
    let tolerance = 1e-9 * expected.abs();
    assert!(
        (got - expected).abs() <= tolerance,
        "{got} is not {expected}: {context}"
    );
}

#[test]
fn ranks_and_their_errors() {
    for row in rows(include_str!("data/ranks.csv")) {
        let ranks = match row[0] {
            "fixed" => Ranks::Fixed,
            _ => Ranks::Anytime,
        };
        let (blocks, rank) = (count(row[1]), count(row[3]));
        let level = Level::of_error(number(row[2]));
        assert_eq!(ranks.rank(blocks, level), rank, "{row:?}");
        assert_close(
            ranks.error(blocks, rank),
            number(row[4]),
            &format!("{row:?}"),
        );
    }
}

#[test]
fn differences_between_two_runs() {
    for row in rows(include_str!("data/shifts.csv")) {
        let runs = TwoRuns {
            old: spans(row[0]),
            new: spans(row[1]),
            margin: 0.0,
        };
        let got = decide_changes(&[vec![runs]], 0.05)[0][0].difference;
        let expected = row[2..].iter().map(|field| number(field));
        let interval = got.interval;
        let of_ours = [got.value.lo, interval.lo, interval.hi, interval.coverage];
        for (ours, expected) in of_ours.into_iter().zip(expected) {
            assert_close(ours, expected, row[1]);
        }
    }
}

#[test]
fn interpolated_intervals() {
    for row in rows(include_str!("data/intervals.csv")) {
        let got = estimate(&spans(row[0]), Level::NINETY_FIVE).unwrap();
        assert_close(got.value.lo, number(row[1]), row[0]);
        assert_close(got.interval.lo, number(row[2]), row[0]);
        assert_close(got.interval.hi, number(row[3]), row[0]);
    }
}

#[test]
fn spearman_correlations() {
    for row in rows(include_str!("data/correlations.csv")) {
        let pairs: Vec<_> = spans(row[0]).into_iter().zip(spans(row[1])).collect();
        assert_close(rank_correlation(&pairs).unwrap(), number(row[2]), row[0]);
    }
}

#[test]
fn sample_quantiles() {
    for row in rows(include_str!("data/quantiles.csv")) {
        let got = quantile(&[spans(row[1])], number(row[0]), Level::NINETY_FIVE);
        let Some(Quantile::WithinBlocks(got)) = got else {
            panic!("{row:?} has enough requests");
        };
        assert_close(got.value.lo, number(row[2]), row[1]);
    }
}

#[test]
fn sign_tests() {
    for row in rows(include_str!("data/sign_tests.csv")) {
        let requests = |failed| Requests { made: 10, failed };
        let mut blocks = vec![(requests(1), requests(0)); count(row[0])];
        blocks.extend(vec![(requests(0), requests(1)); count(row[1])]);
        let got = compare_reliability(&[blocks], 0.05)[0];
        assert_close(got.p_value, number(row[2]), &format!("{row:?}"));
    }
}

#[test]
fn exact_tests_of_shares() {
    for row in rows(include_str!("data/fisher.csv")) {
        let got = fisher_exact(
            (count(row[0]), count(row[1])),
            (count(row[2]), count(row[3])),
        );
        assert_close(got, number(row[4]), &format!("{row:?}"));
    }
}

#[test]
fn families() {
    // Report, then family, then comparisons.
    let mut reports: BTreeMap<usize, BTreeMap<usize, Vec<Vec<&str>>>> = BTreeMap::new();
    for row in rows(include_str!("data/families.csv")) {
        let families = reports.entry(count(row[0])).or_default();
        families.entry(count(row[1])).or_default().push(row);
    }
    for report in reports.values() {
        let family = |rows: &Vec<Vec<&str>>| Family {
            comparisons: rows.iter().map(|row| differences(row)).collect(),
        };
        let families: Vec<Family> = report.values().map(family).collect();
        let results = decide(&families, 0.05, Ranks::Fixed);
        for (rows, result) in report.values().zip(&results) {
            check_family(rows, result);
        }
    }
}

fn differences(row: &[&str]) -> Differences {
    Differences {
        by_block: spans(row[3]),
        margin: number(row[2]),
    }
}

fn check_family(rows: &[Vec<&str>], result: &FamilyResult) {
    assert_eq!(
        result.selected,
        rows.iter().any(|row| row[8] != "cannot_tell")
    );
    for (row, comparison) in rows.iter().zip(&result.comparisons) {
        let context = format!("{row:?}");
        assert_close(result.level.alpha(), number(row[5]), &context);
        assert_close(comparison.difference.interval.lo, number(row[6]), &context);
        assert_close(comparison.difference.interval.hi, number(row[7]), &context);
        match comparison.p_value {
            Some(p) => assert_close(p, number(row[4]), &context),
            None => assert_eq!(row[4], "inf", "{context}"),
        }
        let verdict = match comparison.verdict {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifference => "no_difference",
            Verdict::NotSlower => "not_slower",
            Verdict::NotFaster => "not_faster",
            Verdict::CannotTell { .. } => "cannot_tell",
        };
        assert_eq!(verdict, row[8], "{context}");
    }
}
