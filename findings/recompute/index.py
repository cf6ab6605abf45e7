"""The index of `findings/`, the tables in a page that people write, and the figures of studies."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from checks import Checks, Row, Table, elements, plain
from front import Front
from kept import Object, Place, Run
from pages import block_count, exactly, version
from procedure import Decided
from study import CONTRADICTIONS, Study, words

FIGURES = re.compile(r"(?<![\w/.-])\d")
BY_HAND = "lines by hand, outside of the tables"
# Two verdicts that no difference can have both.
CONTRADICTING = [{"faster", "slower"}, {"faster", "no difference"}, {"faster", "not faster"},
                 {"slower", "no difference"}, {"slower", "not slower"}]


class ExpectedTable(NamedTuple):
    """The columns of a table, what its rows are about, and how a row is compared."""

    head: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    compare: Callable[..., None]


class Index:
    """`findings/README.md`."""

    def __init__(self, studies: list[Study], front: Front | None, checks: Checks) -> None:
        self.checks, self.front = checks, front
        self.by_name = {study.name: study for study in studies}
        self.published = [study for study in studies if study.relation != "promises"]
        self.own = [study for study in studies if study.relation == "promises"]

    def compare(self, text: str) -> None:
        """Compares the tables in their order. Other lines have no figures."""
        expected = iter(self.expected())
        for element in elements(text):
            if not isinstance(element, Table):
                is_of_front = self.front is not None and self.front.line(element)
                if not is_of_front and FIGURES.search(element.text):
                    self.checks.problem(element.number, element.text, "a line without figures")
                continue
            table = next(expected, None)
            if table is None or element.head != table.head:
                head = " | ".join(table.head) if table else "no table"
                self.checks.problem(element.number, " | ".join(element.head), head)
                return
            for row, of in self.checks.rows(element, table.rows):
                table.compare(row, *of)
        for table in expected:
            self.checks.problem(len(text.splitlines()), "the end of the page", " | ".join(table.head))
        if self.front:
            self.front.end()

    def expected(self) -> list[ExpectedTable]:
        needs = ("network", "need", "use", "spread in the lab", "study")
        studies = ("study", "question", "measured", "claims", "outcomes")
        cause = "what is known of the cause"
        tables = [ExpectedTable(self.front.head(), self.front.rows(), self.front.row)] if self.front else []
        tables.append(ExpectedTable(needs, list(self.needs()), self.need))
        for column, group in (("published claim", self.published), ("promise", self.own)):
            tables += [ExpectedTable(studies, [(study,) for study in group], self.study),
                       ExpectedTable(("study", column, "ours", cause), list(self.contradicted(group)),
                                     self.contradiction)]
        return [table for table in tables if table.rows]

    def needs(self) -> Iterator[tuple[Study, Run, Object, Object, Object | None]]:
        for study in self.published:
            for wanted in study.claims.get("need", []):
                run = study.run_of(wanted)
                for network in run.about["networks"] if run else []:
                    found = next((need for need in network["needs"] if need["label"] == wanted["measure"]), None)
                    found = without(found, wanted.get("except", [])) if found else None
                    if found or network["advice"]["advice"] == "invalid":
                        yield study, run, network, wanted, found

    def contradicted(self, studies: list[Study]) -> Iterator[tuple[Study, Object]]:
        for study in studies:
            for claim in study.list_of_claims if study.runs else []:
                if study.outcome(claim) in CONTRADICTIONS:
                    yield study, claim

    def study(self, row: Row, study: Study) -> None:
        checks, (name, question, measured, claims, outcomes) = self.checks, row.cells
        checks.copy(row.number, name, f"[{study.name}]({study.name}/{'README.md' if study.runs else 'claims.toml'})")
        checks.copy(row.number, question, study.claims["title"])
        checks.copy(row.number, measured, ", ".join(study.dates()) or "not run yet")
        checks.word(row.number, claims, str(len(study.list_of_claims)))
        tally = Counter(study.outcome(claim) for claim in study.list_of_claims) if study.runs else {}
        # An outcome may have a comma, too.
        printed = re.split(r", (?=\d)", outcomes) if outcomes else []
        recomputed = [f"{number} {outcome}" for outcome, number in tally.items()]
        checks.word(row.number, ", ".join(sorted(printed)), ", ".join(sorted(recomputed)))

    def contradiction(self, row: Row, study: Study, claim: Object) -> None:
        checks, (name, says, outcome, because) = self.checks, row.cells
        checks.copy(row.number, name, study.name)
        checks.sentence(row.number, says, claim["says"], study)
        checks.word(row.number, outcome, study.outcome(claim))
        checks.sentence(row.number, because, claim["because"], study)

    def need(self, row: Row, study: Study, run: Run, network: Object, wanted: Object, need: Object | None) -> None:
        checks, (place, asked, use, spread, name) = self.checks, row.cells
        checks.copy(row.number, place, f"{network['name']} ({network['numbers']})")
        checks.copy(row.number, asked, wanted["words"])
        ranges = [one for one in wanted.get("sender", []) if one["network"] == network["name"]]
        if need is None or network["advice"]["advice"] == "invalid":
            checks.copy(row.number, f"{use} {spread} {name}", f"- the results must not be used {study.name}")
            return
        servers = " and ".join(sorted({one["study"] for one in ranges}))
        check = run.check_of(network["name"], wanted["measure"])
        if ranges:
            found = re.fullmatch(r"(?:(.*); by server )?(.*)", spread)
            together = self.servers(row.number, found[2], network["name"], ranges)
            if together != "the same":
                checks.copy(row.number, f"{use} {found[1]} {name}", f"{together} None {servers}")
                return
            checks.copy(row.number, name, f"{study.name} and {servers}")
            spread = found[1] or ""
        else:
            checks.copy(row.number, name, study.name)
            if (wanted.get("bulk") or wanted.get("sender")) and run.has_one_sender():
                check += "; one sender for each protocol"
        if not spread.endswith(check):
            checks.problem(row.number, spread, f"...{check}")
        spread = spread.removesuffix(check)
        best = " or ".join(need["best"])
        if not best:
            checks.copy(row.number, f"{use} {spread}", f"undecided among {', '.join(need['undecided'])}")
            return
        if leaning := need.get("leaning"):
            arms = ", ".join(f"{one['arm']} {one['lower_percent']} %" for one in leaning)
            checks.copy(row.number, f"{use} {spread}", f"undecided so far {arms} lower than {best}")
            return
        checks.copy(row.number, use, best)
        verdict, _, undecided = spread.partition("; undecided: ")
        checks.copy(row.number, undecided, ", ".join(need["undecided"]))
        self.spread(row.number, verdict, run, network["name"], need)

    def servers(self, number: int, printed: str, network: str, ranges: list[Object]) -> str:
        """Compares the slowest and the fastest server. Returns what the verdicts of all say together."""
        decided = []
        rivals = sorted({one["against"] for one in ranges})
        for one in ranges:
            run = self.by_name[one["study"]].runs[one["run"]]
            for arm in one["arms"]:
                named = one.get("named", network)
                found = run.comparison(Place(named, one["measure"], arm, one["against"], one["measure"]))
                label = arm if len(rivals) == 1 else f"{arm} against {one['against']}"
                decided.append((found.difference.least, label, found))
        decided.sort(key=lambda one: -one[0])
        checks = {self.by_name[one["study"]].runs[one["run"]].check_of(one.get("named", network), one["measure"])
                  for one in ranges}
        end = (f", against {rivals[0]}" if len(rivals) == 1 else "") + max(checks)
        if not printed.endswith(end):
            self.checks.problem(number, printed, f"...{end}")
        printed = printed.removesuffix(end)
        named = f" ({decided[0][1]}) to "
        first, _, last = printed.partition(named)
        if not last:
            self.checks.problem(number, printed, f"a range from {decided[0][1]} to {decided[-1][1]}")
            return ""
        last = last.removesuffix(f" ({decided[-1][1]})")
        for text, (_, _, found) in ((first, decided[0]), (last, decided[-1])):
            size, _, verdict = text.rpartition(" ") if found.verdict in ("faster", "slower") else ("", "", text)
            self.checks.word(number, verdict, found.verdict)
            if size:
                self.checks.figure(number, size, exactly(abs(found.difference.least)))
        verdicts = {found.verdict for _, _, found in decided}
        if any(pair <= verdicts for pair in CONTRADICTING):
            return "depends on the server"
        is_one = len(verdicts) == 1 and verdicts != {"cannot tell"}
        return "the same" if is_one else "not decided for every server"

    def spread(self, number: int, printed: str, run: Run, network: str, need: Object) -> None:
        """Compares the lead of the first arm that is named and is not the baseline."""
        checks, baseline, measure = self.checks, run.about["baseline"], need["label"]

        def against_baseline(arm: str) -> Decided | None:
            return run.comparison(Place(network, measure, arm, baseline, measure))

        rival = next((arm for arm in need["best"] if arm != baseline), None)
        decided = against_baseline(rival) if rival else None
        if decided is None:
            leads = [(arm["name"], against_baseline(arm["name"])) for arm in run.about["arms"]]
            faster = [arm for arm, lead in leads if lead and lead.verdict == "faster"]
            checks.word(number, printed, f"{', '.join(faster) or 'no other'} is faster")
            return
        lead, _, blocks = printed.rpartition(", ")
        checks.word(number, blocks, block_count([decided.blocks]))
        if decided.verdict == "faster":
            figure, _, other = lead.partition(" as fast as ")
            checks.copy(number, other, baseline)
            checks.figure(number, figure, decided.factor)
        elif decided.verdict == "not slower":
            words, _, margin = lead.partition(" by more than ")
            checks.copy(number, words, f"{rival} is not slower than {baseline}")
            checks.figure(number, margin, exactly(decided.margin))
        else:
            verdict, _, margin = lead.partition(" within ")
            checks.word(number, verdict, decided.verdict)
            checks.figure(number, margin, exactly(decided.margin))


def without(need: Object, excepted: list[str]) -> Object:
    """Returns a need without arms that no app should take."""
    kept = {key: [arm for arm in need[key] if arm not in excepted] for key in ("best", "undecided")}
    leaning = [one for one in need.get("leaning", []) if one["arm"] not in excepted]
    return need | kept | {"leaning": leaning}


class Tables:
    """The tables of a study in a page that people write."""

    def __init__(self, study: Study, checks: Checks) -> None:
        self.study, self.checks = study, checks

    def compare(self, text: str) -> None:
        missing = {table["name"]: table for table in self.study.claims.get("table", [])}
        table: Object | None = None
        for element in elements(text):
            if isinstance(element, Table):
                if table is None:
                    self.checks.problem(element.number, " | ".join(element.head), "no table here")
                else:
                    self.rows(element, table)
            elif begins := re.fullmatch(r"<!-- findings: (.*) -->", element.text):
                table = missing.pop(begins[1])
            elif element.text == "<!-- end -->":
                table = None
            elif table:
                self.note(element.number, plain(element.text), table)
            elif FIGURES.search(element.text):
                self.checks.skip(BY_HAND)
        for name in missing:
            self.checks.problem(len(text.splitlines()), "the end of the page", f"table {name}")

    def rows(self, printed: Table, table: Object) -> None:
        keys = [(network, measure) for network in table["networks"] for measure in table["measures"]]
        self.checks.copy(printed.number, " | ".join(printed.head), " | ".join(["network", "measure", *table["arms"]]))
        for row, (network, measure) in self.checks.rows(printed, keys):
            self.checks.copy(row.number, " | ".join(row.cells[:2]), f"{network} | {measure}")
            for cell, arm in zip(row.cells[2:], table["arms"]):
                place = Place(network, measure, arm, table["arms"][0], measure)
                self.cell(row.number, cell, self.study.run_of(table), place)

    def cell(self, number: int, printed: str, run: Run, place: Place) -> None:
        """Compares a median and, behind a comma, the verdict against the first arm."""
        decided = run.comparison(place) if place.arm != place.against else None
        if decided:
            figure, _, verdict = printed.rpartition(", ")
            invalid = run.network(place.network)["advice"]["advice"] == "invalid"
            recomputed = words(decided.verdict, place.measure)
            self.checks.word(number, verdict, "not decided" if invalid else recomputed)
            printed = figure
        self.checks.figure(number, printed, run.own_figure(place.network, place.measure, place.arm))

    def note(self, number: int, printed: str, table: Object) -> None:
        run = self.study.run_of(table)
        blocks = [len(run.medians[network, measure, arm]) for network in table["networks"]
                  for measure in table["measures"] for arm in table["arms"] if (network, measure, arm) in run.medians]
        self.checks.word(number, printed, f"Run {run.name}, {run.about['date']}, {version(run)}. Medians of "
                         f"{block_count(blocks)} with 95 % intervals; verdicts against {table['arms'][0]}.")
