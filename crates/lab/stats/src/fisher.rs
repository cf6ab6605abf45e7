//! Fisher's exact test of two shares.

/// Tables whose probabilities differ by less count as equally probable: they differ by rounding.
const TOLERANCE: f64 = 1e-9;

/// Returns the two-sided p-value of Fisher's exact test: how probable it is that two groups with one
/// common share of hits differ at least as much, given the (hits, all) of each. All ways to spread the
/// hits over both groups that are no more probable than the observed one are added up.
///
/// Hits must not exceed all.
pub fn fisher_exact((hits, all): (usize, usize), (other_hits, other_all): (usize, usize)) -> f64 {
    let total = hits + other_hits;
    let (fewest, most) = (total.saturating_sub(other_all), total.min(all));
    // The hypergeometric probability of k + 1 hits in the first group over that of k.
    let ratio = |k: usize| {
        let (hits, misses) = ((all - k) as f64, (k + 1) as f64);
        let (left, other) = ((total - k) as f64, (other_all + k + 1 - total) as f64);
        hits / misses * (left / other)
    };
    // Probabilities are relative to that of the observed numbers.
    let (mut sum, mut as_extreme) = (1.0, 1.0);
    let mut add = |weight: f64| {
        sum += weight;
        if weight <= 1.0 + TOLERANCE {
            as_extreme += weight;
        }
    };
    let mut weight = 1.0;
    for k in hits..most {
        weight *= ratio(k);
        add(weight);
    }
    weight = 1.0;
    for k in (fewest..hits).rev() {
        weight /= ratio(k);
        add(weight);
    }
    as_extreme / sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fisher's tea: of 8 cups, all 4 with milk first were recognised.
    #[test]
    fn lady_tasting_tea() {
        assert!((fisher_exact((4, 4), (0, 4)) - 2.0 / 70.0).abs() < 1e-15);
        assert!((fisher_exact((3, 4), (1, 4)) - 34.0 / 70.0).abs() < 1e-15);
    }

    #[test]
    fn equal_shares_and_empty_groups_show_nothing() {
        for (one, other) in [
            ((0, 0), (0, 0)),
            ((0, 0), (3, 9)),
            ((0, 14), (0, 60)),
            ((14, 14), (60, 60)),
            ((5, 10), (10, 20)),
        ] {
            assert!((fisher_exact(one, other) - 1.0).abs() < 1e-12, "{one:?}");
        }
    }

    #[test]
    fn order_of_groups_does_not_matter() {
        for (one, other) in [
            ((17, 20), (3, 75)),
            ((0, 14), (9, 70)),
            ((400, 900), (1, 800)),
        ] {
            let (a, b) = (fisher_exact(one, other), fisher_exact(other, one));
            assert!((a - b).abs() <= 1e-9 * a, "{a} {b}");
        }
    }

    #[test]
    fn huge_differences_have_no_chance() {
        assert!(fisher_exact((9_000, 9_000), (0, 9_000)) < 1e-300);
    }
}
