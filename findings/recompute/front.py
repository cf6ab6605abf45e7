"""The front of the index: advice, and a table of figures with what to take."""

import re
import tomllib
from pathlib import Path
from typing import Any

from checks import PLACEHOLDER, Checks, Line, Row, plain
from kept import Object, Place, Run
from pages import exactly, version
from study import Study

FRONT = "front.toml"


class Front:
    """`findings/front.toml`, and what it printed."""

    def __init__(self, findings: Path, studies: list[Study], checks: Checks) -> None:
        self.front: Object = tomllib.loads((findings / FRONT).read_text())
        self.studies = {study.name: study for study in studies}
        self.checks = checks
        self.advice = list(enumerate(self.front["advice"], 1))
        self.measured = list({self.run_of(row).name: row for row in self.front["row"]}.values())
        # As the table prints them. Each is compared there.
        self.figures: dict[str, str] = {}
        self.later: list[tuple[int, str, str]] = []

    def head(self) -> tuple[str, ...]:
        return ("need", *self.front["columns"], "take", "why")

    def rows(self) -> list[tuple[Any, ...]]:
        return [(row,) for row in self.front["row"]]

    def run_of(self, row: Object) -> Run:
        study = self.studies[row["study"]]
        return study.runs[row.get("run", study.claims["runs"][0])]

    def line(self, line: Line) -> bool:
        """Compares a line of advice, or one that names a run. Reports whether it is one."""
        if found := re.fullmatch(r"(\d+)\. (.*)", line.text):
            number, template = self.advice.pop(0) if self.advice else (0, "")
            self.checks.copy(line.number, found[1], str(number))
            self.sentence(line.number, plain(found[2]), template)
            return True
        if line.text.startswith("- [") and self.measured:
            row = self.measured.pop(0)
            run = self.run_of(row)
            servers = sorted({server for arm in run.about["arms"] for server in arm["server"]})
            a_a = run.about["a_a"]["a_a"]
            undecided = f" ({'; '.join(run.about['a_a']['undecided'])})" if a_a == "inconclusive" else ""
            check = "" if a_a == "passed" else f"; A/A check {a_a}{undecided}"
            self.checks.copy(line.number, plain(line.text), f"- [{run.name}]({row['study']}/README.md): "
                             f"{run.about['date']}, {version(run)}, {run.about['blocks']} blocks; servers "
                             f"{', '.join(servers)}{check}")
            return True
        return False

    def row(self, printed: Row, row: Object) -> None:
        checks, (need, *figures, take, why) = self.checks, printed.cells
        checks.copy(printed.number, f"{need} | {take}", f"{row['need']} | {row['take']}")
        for column, (figure, network) in enumerate(zip(figures, row["networks"], strict=True), 1):
            self.figure(printed.number, figure, self.run_of(row), network, row)
            self.figures[f"{row.get('name')}.{column}"] = figure
        self.sentence(printed.number, why, row["why"])

    def figure(self, number: int, printed: str, run: Run, network: str, row: Object) -> None:
        checks, against = self.checks, row.get("against")
        if against is None:
            median = run.own_figure(network, row["measure"], row["arm"])
            checks.figure(number, printed, exactly(median.least) if median else None)
            return
        decided = run.comparison(Place(network, row["measure"], row["arm"], against, row["measure"]))
        if decided is None:
            checks.word(number, printed, "-")
        elif decided.verdict in ("faster", "slower"):
            size, _, verdict = printed.rpartition(" ")
            checks.word(number, verdict, decided.verdict)
            checks.figure(number, size, exactly(abs(decided.difference.least)))
        else:
            checks.word(number, printed, decided.verdict)

    def sentence(self, number: int, printed: str, template: str) -> None:
        """Compares a sentence, whose figures are those of the table. They stand below the advice."""
        if self.figures or "{" not in template:
            text = PLACEHOLDER.sub(lambda name: self.figures.get(name[1], name[0]), template)
            self.checks.copy(number, printed, text)
            return
        self.later.append((number, printed, template))

    def end(self) -> None:
        """Compares the advice, and looks for what was not printed."""
        for number, printed, template in self.later:
            self.sentence(number, printed, template)
        for missing in [*self.advice, *self.measured]:
            self.checks.problem(1, "the front", str(missing))
