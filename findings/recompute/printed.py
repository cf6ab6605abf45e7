"""Printed figures, e.g. `-462 ms [-546, -242]`, and whether they are what was recomputed.

The pages choose the digits (docs/findings.md). An estimate is rounded to its last digit; the ends of an interval are
rounded outwards, and so is a bound.
"""

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from procedure import Figure

NUMBER = r"-?\d+(?:\.\d+)?"
UNITS: dict[str, int | Fraction] = {
    "x": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9,
    "J": 1, "mJ": Fraction(1, 1000)}
FIGURE = re.compile(rf"(?P<bound>[≥≤] )?(?P<estimate>{NUMBER}) ?(?P<unit>{'|'.join(UNITS)})"
                    rf"(?: \[(?P<low>{NUMBER}), (?P<high>{NUMBER})\])?")
# In units of the last digit. Values are decimal fractions that floating point does not have.
NOISE = 1e-6


def steps(printed: str, unit: int | Fraction, value: float) -> float:
    """Returns how far the value is above the printed number, in units of its last digit."""
    digit = Fraction(unit, 10 ** len(printed.partition(".")[2]))
    return float((Fraction(value) - Fraction(printed) * unit) / digit)


def is_rounded(printed: str, unit: int | Fraction, value: float) -> bool:
    return math.isfinite(value) and abs(steps(printed, unit, value)) <= 0.5 + NOISE


def is_rounded_down(printed: str, unit: int | Fraction, value: float) -> bool:
    return math.isfinite(value) and -NOISE <= steps(printed, unit, value) < 1 + NOISE


def is_rounded_up(printed: str, unit: int | Fraction, value: float) -> bool:
    return is_rounded_down(printed.removeprefix("-") if printed.startswith("-") else f"-{printed}", unit, -value)


def mismatches(printed: str, figure: Figure) -> Iterator[str]:
    """Yields what was recomputed, where it differs from a printed figure."""
    found = FIGURE.fullmatch(printed)
    if not found:
        if printed != "unknown" or math.isfinite(figure.least) or math.isfinite(figure.most):
            yield shown(figure.least, figure.most, 1)
        return
    unit = UNITS[found["unit"]]
    if not is_estimate(found["bound"], found["estimate"], unit, figure):
        yield shown(figure.least, figure.most, unit)
    # An interval without width is not printed, nor is one with an open end.
    if math.isfinite(figure.low) and math.isfinite(figure.high) and figure.low < figure.high:
        if not (found["low"] and is_rounded_down(found["low"], unit, figure.low)
                and is_rounded_up(found["high"], unit, figure.high)):
            yield shown(figure.low, figure.high, unit)
    elif found["low"]:
        yield f"no interval, which is {shown(figure.low, figure.high, unit)}"


def is_estimate(bound: str | None, printed: str, unit: int | Fraction, figure: Figure) -> bool:
    if figure.least == figure.most:
        return bound is None and is_rounded(printed, unit, figure.least)
    if math.isinf(figure.most):
        return bound == "≥ " and is_rounded_down(printed, unit, figure.least)
    return bound == "≤ " and is_rounded_up(printed, unit, figure.most)


def shown(low: float, high: float, unit: int | Fraction) -> str:
    name = next(name for name, size in UNITS.items() if size == unit) if unit > 1 else ""
    ends = [f"{value / unit:.7g}" for value in (low, high)]
    return " ".join(filter(None, [ends[0] if low == high else f"[{ends[0]}, {ends[1]}]", name]))


def count(printed: str) -> int:
    """Returns how many numbers a text has."""
    return len(re.findall(NUMBER, printed))
