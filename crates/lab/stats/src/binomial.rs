//! Binomial probabilities, computed so that neither large numbers of blocks nor small probabilities
//! lose precision.

/// Arguments of [`ln_gamma`] from which Stirling's series is exact to the last digits.
const STIRLING_FROM: f64 = 12.0;

/// Returns the probability of at least `hits` in `trials` independent trials, each of which is a hit with probability
/// `p`, 0 < p < 1.
pub fn at_least(hits: usize, trials: usize, p: f64) -> f64 {
    match hits.checked_sub(1) {
        None => 1.0,
        Some(fewer) => 1.0 - cdf(trials, fewer, p),
    }
}

/// Returns P(X <= k) for X binomial (n, p) with 0 < p < 1.
pub(crate) fn cdf(n: usize, k: usize, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let odds = p / (1.0 - p);
    // Summed away from the mode, so that every further term is smaller.
    if (k as f64) < p * n as f64 {
        let ratio = |i: usize| i as f64 / ((n - i + 1) as f64 * odds);
        sum(pmf(n, k, p), (1..=k).rev().map(ratio))
    } else {
        let ratio = |i: usize| (n - i) as f64 * odds / (i + 1) as f64;
        1.0 - sum(pmf(n, k + 1, p), (k + 1..n).map(ratio))
    }
}

/// Returns P(X = k) for X binomial (n, p).
fn pmf(n: usize, k: usize, p: f64) -> f64 {
    let ln_factorial = |n: usize| ln_gamma(n as f64 + 1.0);
    let ln_choose = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    (ln_choose + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()).exp()
}

/// Returns the sum of `term` and the terms that follow it, each the previous one times a ratio.
fn sum(mut term: f64, ratios: impl Iterator<Item = f64>) -> f64 {
    let mut sum = term;
    for ratio in ratios {
        term *= ratio;
        sum += term;
        if term < sum * f64::EPSILON {
            break;
        }
    }
    sum
}

/// Returns the natural logarithm of the gamma function at `x` > 0: Stirling's series (Abramowitz and
/// Stegun 6.1.41) after a shift by the recurrence where `x` is small.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let mut shift = 1.0;
    let mut x = x;
    while x < STIRLING_FROM {
        shift *= x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - inverse * (1.0 / 360.0 - inverse * (1.0 / 1_260.0 - inverse * (1.0 / 1_680.0))))
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - shift.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_function_matches_known_values() {
        let half = std::f64::consts::PI.sqrt().ln();
        for (x, expected) in [
            (0.5, half),
            (1.0, 0.0),
            (5.0, 24f64.ln()),
            (11.0, 3_628_800f64.ln()),
            (101.0, 363.739_375_555_563_5),
        ] {
            let got = ln_gamma(x);
            assert!(
                (got - expected).abs() < 1e-12 * expected.max(1.0),
                "{x}: {got}"
            );
        }
    }

    #[test]
    fn probabilities_add_up() {
        for (n, p) in [(1, 0.3), (10, 0.5), (57, 0.08), (400, 0.93)] {
            let mut below = 0.0;
            for k in 0..=n {
                let got = cdf(n, k, p);
                assert!((got - below - pmf(n, k, p)).abs() < 1e-12, "{n} {k} {p}");
                below = got;
            }
            assert_eq!(below, 1.0);
        }
    }

    #[test]
    fn fair_coins_have_exact_tails() {
        for (hits, expected) in [(0, 8.0), (1, 7.0), (2, 4.0), (3, 1.0), (4, 0.0)] {
            assert!(
                (at_least(hits, 3, 0.5) * 8.0 - expected).abs() < 1e-12,
                "{hits}"
            );
        }
        assert!((cdf(10, 1, 0.5) * 1_024.0 - 11.0).abs() < 1e-11);
        assert!((cdf(6, 0, 0.5) * 64.0 - 1.0).abs() < 1e-12);
        // 2^-10000 is far below the smallest number; the middle is not.
        assert_eq!(cdf(10_000, 0, 0.5), 0.0);
        assert!((cdf(10_001, 5_000, 0.5) - 0.5).abs() < 1e-9);
    }
}
