"""The figure of a study, `findings/STUDY/figure.svg`: the printed factors, and where their marks are.

Curves, which join marks, are not compared.
"""

import html
import math
import re
from collections.abc import Callable

from checks import Checks
from kept import Object
from procedure import Decided
from study import Study, places

TICK = re.compile(r'<text class="soft" x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d.]+)x</text>')
TEXT = re.compile(r'<text[^>]* text-anchor="end">([^<]*)</text>')
DIAMOND = re.compile(r'<path class="published" d="M([\d.]+) ')
INTERVAL = re.compile(r'<line class="interval" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"')
CIRCLE = re.compile(r'<circle class="ours" cx="([\d.]+)"')
# Both ends of the plot, where an interval that is open ends.
LEFT, RIGHT = 220.0, 530.0
# Positions, of ticks too, have one decimal.
TOLERANCE = 0.2


class Chart:
    """Compares each row of a chart with its figures."""

    def __init__(self, study: Study, checks: Checks) -> None:
        self.study, self.checks = study, checks

    def compare(self, text: str) -> None:
        rows = [row for panel in self.study.claims["figure"]["panel"] for row in panel["rows"]]
        axis = axis_of(text)
        lines = [(number, html.unescape(line)) for number, line in enumerate(text.splitlines(), 1)
                 if len(TEXT.findall(line)) == 3]
        if len(lines) != len(rows):
            self.checks.problem(1, f"{len(lines)} rows", f"{len(rows)} rows")
        for (number, line), row in zip(lines, rows):
            label, published, ours = TEXT.findall(line)
            self.checks.copy(number, label, row["label"])
            self.published(number, published, DIAMOND.findall(line), axis, row)
            self.ours(number, ours, line, axis, row)

    def published(self, number: int, printed: str, marks: list[str], axis: Callable[[float], float],
                  row: Object) -> None:
        if "published" not in row:
            self.checks.copy(number, f"{printed}{marks}", "none[]")
            return
        value = float(self.study.select(row["published"])["value"])
        self.checks.number(number, printed, value, "x")
        self.marks(number, marks, [axis(value)])

    def ours(self, number: int, printed: str, line: str, axis: Callable[[float], float], row: Object) -> None:
        decided = self.comparison(row)
        if decided is None:
            self.checks.copy(number, printed, "not run")
            return
        factor = decided.factor
        self.checks.figure(number, printed, factor)
        low = axis(factor.low) if factor.low > 0 else LEFT
        high = axis(factor.high) if math.isfinite(factor.high) else RIGHT
        self.marks(number, [end for ends in INTERVAL.findall(line) for end in ends], [low, high])
        estimate = factor.most if math.isfinite(factor.most) else factor.least
        self.marks(number, CIRCLE.findall(line), [axis(estimate)] if estimate > 0 else [])

    def comparison(self, row: Object) -> Decided | None:
        ours = row.get("ours")
        run = self.study.run_of(ours) if ours else None
        return run.comparison(places({**ours, "networks": [ours["network"]]})[0]) if run else None

    def marks(self, number: int, printed: list[str], positions: list[float]) -> None:
        is_same = len(printed) == len(positions) and all(
            abs(float(text) - position) < TOLERANCE for text, position in zip(printed, positions))
        self.checks.matched += len(positions) if is_same else 0
        if not is_same:
            self.checks.problem(number, f"marks at {printed}", f"{[f'{position:.1f}' for position in positions]}")


def axis_of(text: str) -> Callable[[float], float]:
    """Returns the position of a factor on the logarithmic axis, from the first and the last tick."""
    ticks = sorted({(float(position), float(factor)) for position, factor in TICK.findall(text)})
    (left, least), (right, most) = ticks[0], ticks[-1]
    scale = (right - left) / math.log(most / least)
    return lambda factor: left + scale * math.log(factor / least)
