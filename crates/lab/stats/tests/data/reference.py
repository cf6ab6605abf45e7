#!/usr/bin/env python3
"""Writes the expected values next to this file, computed with SciPy and NumPy.

Run it to regenerate them: pip install scipy && python3 reference.py
"""

import csv
import math
from pathlib import Path

import numpy as np
from scipy import special, stats

HERE = Path(__file__).parent
ERROR = 0.05
MIN_BLOCKS = 6
RANDOM = np.random.default_rng(20)


def write(name, header, rows):
    with (HERE / name).open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        out.writerows(rows)


def numbers(values):
    return " ".join(repr(float(value)) for value in values)


def fixed_error(n, rank):
    """Two-sided p-value of the sign test with rank - 1 of n values on one side."""
    return stats.binomtest(rank - 1, n, 0.5).pvalue


def anytime_error(n, rank):
    k = rank - 1
    log_e = n * math.log(2) + special.betaln(k + 0.5, n - k + 0.5) - math.log(math.pi)
    return min(1.0, math.exp(-log_e))


def rank_at(n, error, error_of=fixed_error):
    """The largest rank whose interval misses with at most this probability, 0 if there is none."""
    rank = 0
    while 2 * (rank + 1) <= n and error_of(n, rank + 1) <= error * (1 + 1e-9):
        rank += 1
    return rank


def ranks():
    rows = []
    for n in [6, 7, 10, 13, 20, 31, 64, 101, 400, 1000]:
        for error in [0.2, 0.05, 0.0125, 0.002, 1e-5]:
            for name, error_of in [("fixed", fixed_error), ("anytime", anytime_error)]:
                rank = rank_at(n, error, error_of)
                achieved = error_of(n, rank) if rank else 0.0
                rows.append([name, n, error, rank, repr(float(achieved))])
    write("ranks.csv", ["ranks", "blocks", "level", "rank", "error"], rows)


def intervals():
    """Interpolated intervals, by the formula of Hettmansperger and Sheather (1986)."""
    rows = []
    for n in [6, 7, 8, 9, 10, 15, 20, 29, 30]:
        values = np.round(RANDOM.lognormal(size=n), 4)
        x = np.sort(values)
        rank = rank_at(n, ERROR)
        outer, inner = 1 - fixed_error(n, rank), 1 - fixed_error(n, rank + 1)
        share = (outer - (1 - ERROR)) / (outer - inner)
        weight = (n - rank) * share / (rank + (n - 2 * rank) * share)
        low = (1 - weight) * x[rank - 1] + weight * x[rank]
        high = (1 - weight) * x[n - rank] + weight * x[n - rank - 1]
        rows.append([numbers(values), repr(np.median(x).item()), repr(low.item()), repr(high.item())])
    write("intervals.csv", ["values", "median", "low", "high"], rows)


def correlations():
    rows = []
    for n in [6, 9, 14, 30]:
        for decimals in [4, 0]:
            a = RANDOM.normal(size=n)
            b = a + RANDOM.normal(size=n)
            a, b = np.round(a, decimals), np.round(b, decimals)
            rows.append([numbers(a), numbers(b), repr(float(stats.spearmanr(a, b).statistic))])
    write("correlations.csv", ["arm", "baseline", "spearman"], rows)


def quantiles():
    """Sample quantiles of definition 8 of Hyndman and Fan."""
    rows = []
    for n in [20, 21, 30, 57]:
        for q in [0.5, 0.9, 0.95]:
            values = np.round(RANDOM.lognormal(size=n), 4)
            expected = np.quantile(values, q, method="median_unbiased")
            rows.append([q, numbers(values), repr(float(expected))])
    write("quantiles.csv", ["q", "values", "quantile"], rows)


def sign_tests():
    rows = []
    for more, fewer in [(1, 0), (6, 0), (5, 1), (8, 2), (2, 13), (40, 22), (3, 3)]:
        p = stats.binomtest(more, more + fewer, 0.5).pvalue
        rows.append([more, fewer, repr(float(p))])
    write("sign_tests.csv", ["more", "fewer", "p"], rows)


def fisher():
    rows = []
    for hits, n, other_hits, other in [
        (17, 20, 3, 75), (1, 14, 0, 70), (0, 14, 20, 70), (3, 28, 30, 140), (5, 28, 9, 140),
        (8, 14, 2, 14), (2, 2, 0, 10), (400, 900, 310, 800), (30, 30, 470, 990), (1, 1, 1, 2),
    ]:
        table = [[hits, n - hits], [other_hits, other - other_hits]]
        rows.append([hits, n, other_hits, other, repr(float(stats.fisher_exact(table).pvalue))])
    write("fisher.csv", ["hits", "all", "other_hits", "other_all", "p"], rows)


def verdict_at(differences, rank, margin):
    x, middle = np.sort(differences), np.median(differences)
    low, high = x[rank - 1], x[len(x) - rank]
    if high < 0 and middle < -margin:
        return "faster"
    if low > 0 and middle > margin:
        return "slower"
    if low >= -margin and high <= margin:
        return "no_difference"
    if high <= margin:
        return "not_slower"
    if low >= -margin:
        return "not_faster"
    return None


def p_value(differences, margin):
    """The smallest error at which the comparison is decided, infinite if there is none."""
    n = len(differences)
    if n < MIN_BLOCKS:
        return math.inf
    errors = [
        fixed_error(n, rank)
        for rank in range(1, n // 2 + 1)
        if verdict_at(differences, rank, margin)
    ]
    return min(errors, default=math.inf)


def families():
    """Families after Benjamini and Bogomolov (2014), with intervals after Benjamini and Yekutieli
    (2005)."""
    rows = []
    for report in range(6):
        margin = 1.0
        columns = []
        for column in range(5):
            arms = int(RANDOM.integers(1, 8))
            n = int(RANDOM.integers(5, 16))
            scale = [0.3, 1.0, 4.0][column % 3]
            truths = RANDOM.choice([0.0, 0.0, 3.0, -6.0], size=arms)
            columns.append([np.round(t + scale * RANDOM.standard_t(3, size=n), 3) for t in truths])
        p_values = [np.array([p_value(d, margin) for d in column]) for column in columns]
        capped = [np.minimum(p, 1.0) for p in p_values]
        simes = np.array([stats.false_discovery_control(p).min() for p in capped])
        adjusted = stats.false_discovery_control(simes)
        selected = int((adjusted <= ERROR * (1 + 1e-9)).sum())
        of_family = ERROR * max(selected, 1) / len(columns)
        for number, (column, p) in enumerate(zip(columns, p_values)):
            below = stats.false_discovery_control(np.minimum(p, 1.0)) <= of_family * (1 + 1e-9)
            level = of_family * max(int(below.sum()), 1) / len(column)
            for differences, p_one in zip(column, p):
                n = len(differences)
                rank = rank_at(n, level)
                decided = n >= MIN_BLOCKS and rank > 0
                verdict = verdict_at(differences, rank, margin) if decided else None
                x = np.sort(differences)
                rows.append(
                    [
                        report,
                        number,
                        margin,
                        numbers(differences),
                        repr(float(p_one)),
                        repr(float(level)),
                        repr(float(x[max(rank, 1) - 1])),
                        repr(float(x[n - max(rank, 1)])),
                        verdict or "cannot_tell",
                    ]
                )
    header = ["report", "family", "margin", "differences", "p", "level", "low", "high", "verdict"]
    write("families.csv", header, rows)


def at_most(u, m, n):
    """The probability of a Mann-Whitney statistic of at most u, from samples that have just that."""
    above_all, above_some = divmod(u, n)
    old = np.arange(n, dtype=float)
    new = np.full(m, -1.0) - np.arange(m) / 1000
    new[:above_all] = n + np.arange(above_all)
    if above_some:
        new[above_all] = above_some - 0.5
    return stats.mannwhitneyu(new, old, alternative="less", method="exact").pvalue


def shifts():
    """Hodges-Lehmann estimates with 95 % intervals of two samples without pairs."""
    rows = []
    for m, n in [(3, 4), (4, 4), (6, 9), (10, 12), (14, 14), (30, 8)]:
        old = np.round(100 + 10 * RANDOM.standard_t(3, size=n), 3)
        new = np.round(110 + 10 * RANDOM.standard_t(3, size=m), 3)
        differences = np.sort(np.subtract.outer(new, old).ravel())
        rank = 0
        while 2 * at_most(rank, m, n) <= ERROR:
            rank += 1
        shown = max(rank, 1)
        rows.append(
            [
                numbers(old),
                numbers(new),
                repr(float(np.median(differences))),
                repr(float(differences[shown - 1])),
                repr(float(differences[m * n - shown])),
                repr(float(1 - 2 * at_most(shown - 1, m, n))),
            ]
        )
    write("shifts.csv", ["old", "new", "estimate", "low", "high", "coverage"], rows)


if __name__ == "__main__":
    ranks()
    intervals()
    correlations()
    quantiles()
    sign_tests()
    fisher()
    families()
    shifts()
