"""Compares a page with what was recomputed, line by line."""

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from printed import NUMBER, count, is_rounded, mismatches
from procedure import Figure
from study import Answer, Study, words

Subject = TypeVar("Subject")

ESCAPE = re.compile(r"\\([|*`<>\\(\[:])")
COLUMN = re.compile(r"(?<!\\)\|")
PLACEHOLDER = re.compile(r"\{([^}]+)\}")
# As published figures are printed, by their unit.
PUBLISHED_UNITS = {"ms": " ms", "ratio": "x", "percent": " %", "per_s": "/s", "bytes": " B", "kbit_s": " kbit/s",
                   "count": ""}


class Line(NamedTuple):
    number: int
    text: str


class Row(NamedTuple):
    number: int
    cells: list[str]


class Table(NamedTuple):
    number: int
    head: tuple[str, ...]
    rows: list[Row]


def plain(text: str) -> str:
    return ESCAPE.sub(r"\1", text)


def row_of(line: Line) -> Row:
    return Row(line.number, [plain(cell.strip()) for cell in COLUMN.split(line.text.strip())[1:-1]])


def elements(text: str) -> Iterator[Line | Table]:
    """Yields the lines of a page that are not empty, and its tables."""
    lines = [Line(number, line) for number, line in enumerate(text.splitlines(), 1)]
    while lines:
        line = lines.pop(0)
        if not line.text.startswith("|"):
            if line.text.strip():
                yield Line(line.number, line.text)
            continue
        rows = []
        while lines and lines[0].text.startswith("|"):
            rows.append(row_of(lines.pop(0)))
        yield Table(line.number, tuple(row_of(line).cells), rows[1:])


class Checks:
    """The results of a page: figures and copied texts that match, those that do not, and what was not compared."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.matched = self.copied = 0
        self.problems: list[str] = []
        self.skipped: Counter[str] = Counter()

    def problem(self, number: int, printed: str, recomputed: str) -> None:
        self.problems.append(f"{self.file}:{number}: printed `{printed}`, recomputed `{recomputed}`")

    def skip(self, why: str) -> None:
        self.skipped[why] += 1

    def figure(self, number: int, printed: str, figure: Figure | None) -> None:
        """Compares an estimate and its interval; without a figure a dash is printed."""
        if figure is None:
            self.word(number, printed, "-")
            return
        differences = list(mismatches(printed, figure))
        self.matched += count(printed) if not differences else 0
        for difference in differences:
            self.problem(number, printed, difference)

    def word(self, number: int, printed: str, recomputed: str) -> None:
        """Compares a verdict, an outcome or a count."""
        self.matched += printed == recomputed
        if printed != recomputed:
            self.problem(number, printed, recomputed)

    def number(self, number: int, printed: str, value: float, unit: str) -> None:
        """Compares a number without an interval; `unit` is what follows it."""
        found = re.fullmatch(f"({NUMBER}){re.escape(unit)}", printed)
        is_same = found is not None and is_rounded(found[1], 1, value)
        self.matched += is_same
        if not is_same:
            self.problem(number, printed, f"{value:.7g}{unit}")

    def value(self, number: int, kept: float, recomputed: float, noise: float, share: float) -> None:
        """Compares a kept value with one that follows from others, but for noise or a share of them."""
        is_same = math.isclose(kept, recomputed, abs_tol=noise, rel_tol=share)
        self.matched += is_same
        if not is_same:
            self.problem(number, f"{kept:.10g}", f"{recomputed:.10g}")

    def copy(self, number: int, printed: str, kept: str) -> None:
        """Compares a text that the page takes from a kept file."""
        self.copied += printed == kept
        if printed != kept:
            self.problem(number, printed, kept)

    def rows(self, table: Table, subjects: Iterable[Subject]) -> Iterator[tuple[Row, Subject]]:
        """Yields each row with what it is about. Rows may not be missing, nor may cells."""
        wanted = list(subjects)
        if len(table.rows) != len(wanted):
            self.problem(table.number, f"{len(table.rows)} rows", f"{len(wanted)} rows")
        for row, subject in zip(table.rows, wanted):
            if len(row.cells) == len(table.head):
                yield row, subject
            else:
                self.problem(row.number, f"{len(row.cells)} cells", f"{len(table.head)} cells")

    def sentence(self, number: int, printed: str, template: str, study: Study) -> None:
        """Compares a sentence of `claims.toml` and the figures in place of its placeholders."""
        pieces = PLACEHOLDER.split(template)
        pattern = "".join(re.escape(piece) if i % 2 == 0 else "(.+?)" for i, piece in enumerate(pieces))
        found = re.fullmatch(pattern, printed)
        if not found:
            self.problem(number, printed, template)
            return
        self.copied += 1
        for name, text in zip(pieces[1::2], found.groups(), strict=True):
            self.placeholder(number, text, name, study)

    def placeholder(self, number: int, printed: str, name: str, study: Study) -> None:
        named, dot, field = name.partition(".")
        if not dot:
            row = study.figure(name)
            self.number(number, printed, float(row["value"]), PUBLISHED_UNITS[row["unit"]])
        elif answer := study.named(named):
            self.result(number, printed, answer, field)
        else:
            self.copy(number, printed, "not run yet")

    def result(self, number: int, printed: str, answer: Answer, field: str) -> None:
        """Compares a result of ours in a sentence."""
        place, run, decided = answer.place, answer.run, answer.decided
        if field == "outcome":
            self.word(number, printed, answer.outcome)
        elif field == "arm":
            self.figure(number, printed, run.own_figure(place.network, place.measure, place.arm))
        elif field == "against":
            self.figure(number, printed, run.own_figure(place.network, place.against_measure, place.against))
        elif field == "verdict":
            self.word(number, printed, words(decided.verdict, place.measure) if decided else "-")
        else:
            figures = {"difference": decided.difference, "speedup": decided.factor} if decided else {}
            self.figure(number, printed, figures.get(field))
