"""The statistics of docs/explanation/verdicts.md and docs/reference/report.md, from the papers that they cite.

A block's value is a pair of bounds, which are equal unless a request timed out. An array has a row for each block.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

ERROR = 0.05
FEWEST_BLOCKS = 6
# An error and a level may be the same fraction, but for floating point.
NOISE = 1 + 1e-9

Numbers = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)


class Figure(NamedTuple):
    """An estimate and the ends of its interval. Any of them may be infinite."""

    least: float
    most: float
    low: float
    high: float

    def reversed(self, by: Callable[[float], float]) -> "Figure":
        return Figure(by(self.most), by(self.least), by(self.high), by(self.low))


def negative(value: float) -> float:
    return -value


def reciprocal(value: float) -> float:
    return 1 / value if value else math.inf


def median(blocks: Numbers) -> tuple[float, float]:
    """Returns bounds of the median over blocks."""
    least, most = np.median(blocks, axis=0)
    return float(least), float(most)


def median_factor(blocks: Numbers) -> tuple[float, float]:
    """Returns bounds of the median over blocks on a logarithmic scale, which is the same whichever way round."""
    with np.errstate(divide="ignore"):
        least, most = np.exp(np.median(np.log(blocks), axis=0))
    return float(least), float(most)


def order_statistics(blocks: Numbers, rank: int) -> tuple[float, float]:
    """Returns the rank-th smallest and the rank-th largest block, each as the bound that lies further out."""
    lows, highs = np.sort(blocks, axis=0).T
    return float(lows[rank - 1]), float(highs[len(highs) - rank])


@cache
def sign_test(blocks: int, rank: int) -> float:
    """Returns the probability that the interval between two order statistics misses the median."""
    return min(1.0, float(2 * stats.binom.cdf(rank - 1, blocks, 0.5)))


@cache
def mixture_of_sign_tests(blocks: int, rank: int) -> float:
    """Returns the same for an interval that may be looked at after each block (Robbins, 1970).

    The chance of a positive difference is mixed with the weights of a beta distribution with both parameters 1/2.
    """
    below = rank - 1
    mixture = special.betaln(below + 0.5, blocks - below + 0.5) - special.betaln(0.5, 0.5)
    return min(1.0, math.exp(-blocks * math.log(2) - mixture))


def rank_at(level: float, blocks: int, error: Callable[[int, int], float]) -> int:
    """Returns the largest rank whose interval misses with at most this probability, 0 without one."""
    return max((rank for rank in range(1, blocks // 2 + 1) if error(blocks, rank) <= level * NOISE), default=0)


def own_figure(blocks: Numbers) -> Figure:
    """Returns an arm's median with its 95 % interval, after Hettmansperger and Sheather (1986)."""
    n = len(blocks)
    rank = rank_at(ERROR, n, sign_test)
    if n < FEWEST_BLOCKS or rank == 0:
        return Figure(*median(blocks), *order_statistics(blocks, 1))
    outer, inner = sign_test(n, rank), sign_test(n, rank + 1)
    share = (ERROR - outer) / (inner - outer)
    weight = (n - rank) * share / (rank + (n - 2 * rank) * share)
    ends = zip(order_statistics(blocks, rank), order_statistics(blocks, rank + 1))
    low, high = ((1 - weight) * end + weight * next_end if math.isfinite(end) else end for end, next_end in ends)
    return Figure(*median(blocks), low, high)


@dataclass(frozen=True)
class Comparison:
    """An arm against another: differences and factors by block, and the margin of the differences."""

    differences: Numbers
    factors: Numbers
    margin: float

    def verdict_at(self, rank: int) -> str:
        """Returns the verdict of the interval with this rank, by the table in verdicts.md."""
        low, high = order_statistics(self.differences, rank)
        least, most = median(self.differences)
        if high < 0 and most < -self.margin:
            return "faster"
        if low > 0 and least > self.margin:
            return "slower"
        begins_within, ends_within = low >= -self.margin, high <= self.margin
        if begins_within and ends_within:
            return "no difference"
        return "not slower" if ends_within else "not faster" if begins_within else "cannot tell"

    def p_value(self, error: Callable[[int, int], float]) -> float:
        """Returns the smallest error at which there is a verdict, 1 without one."""
        n = len(self.differences)
        if n < FEWEST_BLOCKS:
            return 1.0
        ranks = (rank for rank in range(1, n // 2 + 1) if self.verdict_at(rank) != "cannot tell")
        return min((error(n, rank) for rank in ranks), default=1.0)


@dataclass(frozen=True)
class Decided:
    """A comparison with its verdict and its intervals, which have the same coverage."""

    verdict: str
    difference: Figure
    factor: Figure
    coverage: float
    blocks: int
    margin: float

    def reversed(self) -> "Decided":
        """Returns the comparison of the second arm with the first."""
        opposites = [("faster", "slower"), ("not faster", "not slower")]
        opposite = dict(opposites + [(other, one) for one, other in opposites])
        return Decided(opposite.get(self.verdict, self.verdict), self.difference.reversed(negative),
                       self.factor.reversed(reciprocal), self.coverage, self.blocks, self.margin)


def rejections(p_values: Numbers, level: float) -> int:
    """Returns how many hypotheses the procedure of Benjamini and Hochberg (1995) rejects."""
    steps = level * np.arange(1, len(p_values) + 1) / len(p_values)
    below = np.flatnonzero(np.sort(p_values) <= steps * NOISE)
    return int(below[-1]) + 1 if len(below) else 0


def simes(p_values: Numbers) -> float:
    """Returns the p-value of Simes (1986) that a family has no verdict."""
    return float(np.min(np.sort(p_values) * len(p_values) / np.arange(1, len(p_values) + 1)))


def decide(families: list[dict[Key, Comparison]], sequential: bool) -> dict[Key, Decided]:
    """Decides the families of a report.

    Families are selected by their p-values, and tested at a level that is smaller the fewer are selected (Benjamini and
    Bogomolov, 2014). Intervals have a level that is smaller the fewer comparisons of the family are decided (Benjamini
    and Yekutieli, 2005).
    """
    error = mixture_of_sign_tests if sequential else sign_test
    p_values = [np.array([one.p_value(error) for one in family.values()]) for family in families]
    selected = rejections(np.array([simes(p) for p in p_values]), ERROR) if families else 0
    decided: dict[Key, Decided] = {}
    for family, p in zip(families, p_values):
        in_family = ERROR * max(selected, 1) / len(families)
        level = in_family * max(rejections(p, in_family), 1) / len(family)
        decided |= {key: at_level(comparison, level, error) for key, comparison in family.items()}
    return decided


def at_level(comparison: Comparison, level: float, error: Callable[[int, int], float]) -> Decided:
    """Returns the verdict and the intervals of a level. With too few blocks for it, the intervals are the range."""
    n = len(comparison.differences)
    rank = rank_at(level, n, error)
    verdict = comparison.verdict_at(rank) if rank and n >= FEWEST_BLOCKS else "cannot tell"
    shown = max(rank, 1)
    difference = Figure(*median(comparison.differences), *order_statistics(comparison.differences, shown))
    factor = Figure(*median_factor(comparison.factors), *order_statistics(comparison.factors, shown))
    return Decided(verdict, difference, factor, 1 - error(n, shown), n, comparison.margin)
