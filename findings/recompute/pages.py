"""What the pages of `findings/` consist of, each element with its comparison."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from checks import Checks, Table, elements, plain
from kept import BYTES, ENERGY, Object, Run
from printed import is_rounded
from procedure import Figure
from study import Answer, CodecAnswer, Size, Study, date_of, words

COMPARISONS = ("network", "measure", "arm", "against", "difference", "factor", "verdict", "expected", "outcome")
CODECS = ("message", "runtime", "part", "arm", "against", "per", "factor", "expected", "outcome")
ARMS = ("arm", "stack", "asked for", "negotiated", "client", "server", "requests", "caveats")
ENERGIES = "energy per request (model)"
SHOWN = {"same": "shown", "not the same": "not shown"}


class Words(NamedTuple):
    """The words of a page, by the relation of its runs to the study."""

    lead: str
    claim: str
    result: str


WORDS = {"repeats": Words("Repeats", "published claim", "the published result"),
         "answers": Words("Answers", "published claim", "the result"),
         "promises": Words("Tests the promises of", "promise", "the result")}


class Expected(NamedTuple):
    """A line with a pattern, or a table with columns. `compare` gets the pattern's groups, or the table."""

    is_it: str | tuple[str, ...]
    compare: Callable[..., None]


def version(run: Run) -> str:
    commits = run.about["commits"]
    return f"commute {run.about['commute']}" + (f" (commit {' and '.join(commits)})" if commits else "")


def block_count(counts: list[int]) -> str:
    fewest, most = min(counts), max(counts)
    return f"{fewest} to {most} blocks" if fewest < most else f"{most} block{'s' if most > 1 else ''}"


def compare_all(text: str, expected: Iterator[Expected], checks: Checks) -> None:
    """Compares a page that has just these elements. An element that is another one ends the comparison."""
    for element in elements(text):
        wanted = next(expected, None)
        is_it = wanted.is_it if wanted else "the end of the page"
        if isinstance(element, Table):
            if element.head != is_it:
                checks.problem(element.number, " | ".join(element.head), str(is_it))
                return
            wanted.compare(element)
        else:
            groups = re.fullmatch(is_it, element.text) if isinstance(is_it, str) else None
            if not groups:
                checks.problem(element.number, element.text, str(is_it))
                return
            wanted.compare(element.number, *groups.groups())
    if wanted := next(expected, None):
        checks.problem(len(text.splitlines()), "the end of the page", str(wanted.is_it))


class StudyPage:
    """`findings/STUDY/README.md`."""

    def __init__(self, study: Study, checks: Checks) -> None:
        self.study, self.checks = study, checks
        self.words = WORDS[study.relation]

    def copy(self, pattern: str, *kept: str) -> Expected:
        """Expects a line whose groups are copies."""
        def compare(number: int, *groups: str) -> None:
            for printed, text in zip(groups, kept, strict=True):
                self.checks.copy(number, plain(printed), text)
        return Expected(pattern, compare)

    def sentence(self, pattern: str, template: str) -> Expected:
        def compare(number: int, printed: str) -> None:
            self.checks.sentence(number, plain(printed), template, self.study)
        return Expected(pattern, compare)

    def expected(self) -> Iterator[Expected]:
        study, claims = self.study, self.study.claims
        yield self.copy("<!-- Made by .*")
        yield self.copy("# (.*)", claims["title"])
        yield self.copy(self.words.lead + r" \[(.*?)\]\((.*?)\)\. (.*)", claims["study"], claims["link"], self.dates())
        for run in study.runs.values():
            for warning in self.warnings(run):
                yield self.copy(r"\*\*(.*)\*\*", warning)
        yield Expected(("", self.words.claim, "ours"), self.summary)
        if "figure" in claims:
            yield self.copy(r"!\[(.*)\]\(figure\.svg\)", claims["figure"]["title"])
        for number, claim in enumerate(study.list_of_claims, 1):
            yield from self.claim(number, claim)
        if study.bench:
            yield from self.codecs(study.bench)
        for run in study.runs.values():
            yield from self.method(run)
        yield self.copy("## Repeat it")
        commands = [run.about["repeat"] for run in study.runs.values() if run.about.get("repeat")]
        for line in ["```sh", *commands, "```"] if commands else []:
            yield self.copy(re.escape(line))
        yield self.copy("What is kept of the runs is in .*")
        if not_repeated := claims.get("not_repeated"):
            yield self.copy("## Not repeated")
            rows = [[row["what"], row["why"], ", ".join(row["tables"])] for row in not_repeated]
            yield Expected(("published", "why not", "tables"), partial(self.copies, rows))

    def dates(self) -> str:
        runs = self.study.runs.values()
        texts = [f"Run {run.name} was measured on {run.about['date']} with {version(run)}." for run in runs]
        missing = [name for name in self.study.claims["runs"] if name not in self.study.runs]
        texts += [f"Run {name} was not made yet." for name in missing]
        if bench := self.study.bench:
            commit = f" (commit {bench['git'][:12]})" if bench.get("git") else ""
            texts.append(f"The codecs were measured on {date_of(bench)} with commute {bench['commute']}{commit}.")
        return " ".join(texts)

    def warnings(self, run: Run) -> list[str]:
        lines = [f"Invalid: {line}." for line in run.about["invalid"]]
        if run.about["a_a"]["a_a"] == "failed":
            lines.append(f"The A/A check failed: {'; '.join(run.about['a_a']['objections'])}.")
        return lines

    def copies(self, rows: list[list[str]], table: Table) -> None:
        """Compares a table whose cells are copies."""
        for row, kept in self.checks.rows(table, rows):
            for printed, text in zip(row.cells, kept, strict=True):
                self.checks.copy(row.number, printed, text)

    def summary(self, table: Table) -> None:
        for row, (number, claim) in self.checks.rows(table, enumerate(self.study.list_of_claims, 1)):
            self.checks.copy(row.number, row.cells[0], str(number))
            self.checks.sentence(row.number, row.cells[1], claim["says"], self.study)
            self.checks.word(row.number, row.cells[2], self.study.outcome(claim))

    def claim(self, number: int, claim: Object) -> Iterator[Expected]:
        yield self.sentence(rf"## {number}\. (.*)", claim["says"])

        def ours(line: int, outcome: str, because: str) -> None:
            self.checks.word(line, outcome, self.study.outcome(claim))
            self.checks.sentence(line, plain(because), claim["because"], self.study)

        yield Expected(r"Ours: \*\*(.*?)\*\*\. (.*)", ours)
        yield from self.table_of(self.study.answers(claim.get("answer", [])), {})
        if codecs := self.study.codec_answers(claim):
            yield self.copy("Warm codecs:")
            yield Expected(CODECS, partial(self.codec_comparisons, codecs))
            yield self.copy("Intervals of times cover 95 % within one process and one message, those of factors at least "
                            "90 %. A factor above 1 favours the arm; per byte it is of rates in bytes of each encoding.")
        if confounds := self.study.answers(claim.get("confound", [])):
            yield self.copy(f"What {self.words.result} rests on:")
            yield from self.table_of(confounds, SHOWN)
        yield self.sentence("What would change this: (.*)", claim["changes"])

    def table_of(self, answers: list[Answer], shown: dict[str, str]) -> Iterator[Expected]:
        """Expects a table of comparisons and the note below it."""
        if not answers:
            return
        has_shows = any("shows" in answer.question for answer in answers)
        head = (*COMPARISONS, "shows") if has_shows else COMPARISONS
        yield Expected(head, partial(self.comparisons, answers, shown))
        decided = [answer.decided for answer in answers if answer.decided]
        if decided:
            def note(number: int, coverages: str, blocks: str) -> None:
                self.coverages(number, coverages, {one.coverage for one in decided})
                self.checks.word(number, blocks, block_count([one.blocks for one in decided]))
            yield Expected(r"Intervals of differences and factors cover (.*), those of an arm 95 %; (.*)\. "
                           r"A factor above 1 favours the arm\.", note)
        yield from self.reasons(answers)

    def reasons(self, answers: list[Answer]) -> Iterator[Expected]:
        """Expects the measured parts of differences from the baseline, which the run keeps as words."""
        lines = []
        for answer in answers:
            place, run = answer.place, answer.run
            if place.against != run.about["baseline"] or place.measure != place.against_measure:
                continue
            key = (place.network, place.measure, place.arm)
            kept = {(one["network"], one["measure"], one["arm"]): one["words"] for one in run.about.get("reasons", [])}
            if key in kept:
                lines.append(f"- {place.arm}, {place.network}, {place.measure}: {kept[key]}")
        if lines:
            yield self.copy("Measured parts of these differences:")
        for line in lines:
            yield self.copy("(.*)", line)

    def coverages(self, number: int, printed: str, coverages: set[float]) -> None:
        """Compares the coverages of a table. Two that round to the same are printed once."""
        left = set(coverages)
        for text in printed.split(" or "):
            rounded = {one for one in coverages if is_rounded(text.removesuffix(" %"), 1, 100 * one)}
            self.checks.number(number, text, 100 * min(rounded or coverages), " %")
            left -= rounded
        for coverage in left:
            self.checks.problem(number, printed, f"{100 * coverage:.4g} %")

    def comparisons(self, answers: list[Answer], shown: dict[str, str], table: Table) -> None:
        for row, answer in self.checks.rows(table, answers):
            self.comparison(row.number, row.cells, answer, shown)

    def comparison(self, number: int, cells: list[str], answer: Answer, shown: dict[str, str]) -> None:
        checks, (network, measure, arm, against, against_measure) = self.checks, answer.place
        decided = answer.decided
        checks.copy(number, cells[0], network)
        checks.copy(number, cells[1], measure)
        self.took(number, cells[2], arm, answer.run, (network, measure, arm))
        other = against if against_measure == measure else f"{against}, {against_measure}"
        self.took(number, cells[3], other, answer.run, (network, against_measure, against))
        checks.figure(number, cells[4], decided and decided.difference)
        checks.figure(number, cells[5], decided and decided.factor)
        checks.word(number, cells[6], words(decided.verdict, measure) if decided else "-")
        self.claimed(number, cells[7], answer)
        checks.word(number, cells[8], shown.get(answer.outcome, answer.outcome))
        for text in cells[9:]:
            checks.copy(number, text, answer.question.get("shows", ""))

    def took(self, number: int, printed: str, name: str, run: Run, key: tuple[str, str, str]) -> None:
        """Compares an arm's name and its figure."""
        figure = run.own_figure(*key)
        self.checks.copy(number, printed[:len(name)], name)
        if figure or printed != name:
            self.checks.figure(number, printed[len(name):].removeprefix(": "), figure)

    def codec_comparisons(self, answers: list[CodecAnswer], table: Table) -> None:
        for row, answer in self.checks.rows(table, answers):
            checks, question = self.checks, answer.question
            *places, arm, against, per, factor, expected, outcome = row.cells
            checks.copy(row.number, per, question.get("per", "message"))
            for text, key in zip(places, ("message", "runtime", "part"), strict=True):
                checks.copy(row.number, text, question[key])
            for text, codec, library, time, size in (
                    (arm, "arm", "library", answer.arm, answer.arm_bytes),
                    (against, "against", "against_library", answer.against, answer.against_bytes)):
                name = f"{question[codec]}, {question[library]}, {size} B: "
                checks.copy(row.number, text[:len(name)], name)
                checks.figure(row.number, text[len(name):], time)
            checks.figure(row.number, factor, answer.factor)
            direction, _, sizes = expected.partition(", ")
            checks.copy(row.number, direction, question["expect"])
            self.sizes(row.number, sizes, answer.size)
            checks.word(row.number, outcome, answer.outcome)

    def codecs(self, bench: Object) -> Iterator[Expected]:
        """Expects how the codecs were measured."""
        yield self.copy("## How the codecs were measured")
        costs = [row[part] for row in bench["rows"] for part in ("encode", "decode") if row.get(part)]
        fewest = min(cost["samples"] for cost in costs)
        yield Expected(r"- Each figure is a median of (\d+) samples or more, .*", partial(self.word, str(fewest)))
        yield self.copy("- Machine: (.*)", bench["machine"])
        if twice := bench.get("aa"):
            pairs = f"{twice['agreeing']} of {twice['pairs']}"
            yield Expected(r"- Measured twice: of (.*) pairs of figures .*", partial(self.word, pairs))
        for line in ["```sh", bench["command"], "```"]:
            yield self.copy(re.escape(line))
        yield self.copy("What is kept is in .*")

    def claimed(self, number: int, printed: str, answer: Answer) -> None:
        """Compares what a claim expects, e.g. `faster, 0.98x to 2.21x`."""
        question, size = answer.question, answer.size
        expect = words(question["expect"].replace("_", " "), answer.place.measure)
        if expect == "within":
            self.checks.figure(number, printed.removeprefix("within "), exactly(question["within_ms"] * 1e6))
            return
        verdict, _, sizes = printed.partition(", ")
        self.checks.copy(number, verdict, expect)
        self.sizes(number, sizes, size)

    def sizes(self, number: int, sizes: str, size: Size | None) -> None:
        """Compares the sizes that a claim allows, e.g. `0.98x to 2.21x`."""
        ends = [] if size is None else [size.least] if size.most == float("inf") else [*size]
        texts = sizes.removeprefix("at least ").split(" to ") if sizes else []
        if len(texts) != len(ends):
            self.checks.problem(number, sizes, f"{len(ends)} sizes")
        for text, end in zip(texts, ends):
            self.checks.number(number, text, end, "x")

    def method(self, run: Run) -> Iterator[Expected]:
        """Expects how a run was measured, its arms and what they cost."""
        yield self.copy(f"## How {re.escape(run.name)} was measured")
        decided = run.of_report()
        of = f"{sum(one.verdict != 'cannot tell' for one in decided)} of {len(decided)} comparisons decided"
        for fact in facts(run):
            if re.match(r"\d+ of \d+ comparisons", fact):
                yield Expected(r"- (\d+ of \d+ comparisons decided)\. .*", partial(self.word, of))
            else:
                yield self.copy("- (.*)", fact)
        yield Expected(ARMS, partial(self.copies, [arm_cells(arm) for arm in run.about["arms"]]))
        rows = [(network["name"], arm["name"]) for network in run.about["networks"] for arm in run.about["arms"]]
        rows = [key for key in rows if any((key[0], measure, key[1]) in run.medians for measure in cost_measures(run))]
        if rows:
            yield self.copy("What it cost. .*")
            energies = (ENERGIES,) if energies_of(run) else ()
            yield Expected(("network", "arm", BYTES, *energies), partial(self.costs, run, rows))

    def word(self, recomputed: str, number: int, printed: str) -> None:
        self.checks.word(number, printed, recomputed)

    def costs(self, run: Run, keys: list[tuple[str, str]], table: Table) -> None:
        for row, (network, arm) in self.checks.rows(table, keys):
            self.checks.copy(row.number, row.cells[0], network)
            self.checks.copy(row.number, row.cells[1], arm)
            self.checks.figure(row.number, row.cells[2], run.own_figure(network, BYTES, arm))
            for printed in row.cells[3:]:
                figures = [run.own_figure(network, label, arm) for label in energies_of(run)]
                self.energy(row.number, printed, sorted(figure.least for figure in figures if figure))

    def energy(self, number: int, printed: str, joules: list[float]) -> None:
        """Compares the least and the most energy of all phones."""
        if not joules:
            self.checks.word(number, printed, "-")
            return
        low, to, high = printed.partition(" to ")
        if to:
            self.checks.number(number, low, joules[0], "")
        self.checks.number(number, high or low, joules[-1], " J")


def exactly(value: float) -> Figure:
    return Figure(value, value, value, value)


def cost_measures(run: Run) -> set[str]:
    return {BYTES} | energies_of(run)


def energies_of(run: Run) -> set[str]:
    """Returns the labels of the energies by phone."""
    return {measure for _, measure, _ in run.medians if measure.startswith(ENERGY)}


def arm_cells(arm: Object) -> list[str]:
    return [arm["name"], arm["stack"], arm["asked"], " and ".join(arm["protocols"]), ", ".join(arm["client"]),
            ", ".join(arm["server"]), f"{arm['calls']} ({arm['lost']} lost)", "; ".join(arm["caveats"])]


def facts(run: Run) -> list[str]:
    """Returns how a run was measured, as its file has it."""
    about, a_a = run.about, run.about["a_a"]
    passed, checks = about["self_test"]
    undecided = f" ({'; '.join(a_a['undecided'])})" if "undecided" in a_a else ""
    return [f"Question of the run: {about['question']}",
            f"{block_count([about['blocks']])} per network planned, seed {about['seed']}, baseline {about['baseline']}",
            f"{cells_line(about['cells'])}; self-test {passed}/{checks}; A/A check: {a_a['a_a']}{undecided}",
            f"Machine: {'; and '.join(about['hosts'])}",
            *(note.rstrip(".") for note in about["notes"]),
            *(f"Network {network['name']}: {network['numbers']}" for network in about["networks"])]


def cells_line(cells: dict[str, int]) -> str:
    """Returns how the cells ended. Each has one end, so that the counts add up."""
    ends = {name: number for name, number in cells.items() if name not in ("planned", "superseded")}
    if sum(ends.values()) != cells["planned"]:
        return f"{sum(ends.values())} cells, of {cells['planned']}"
    always = ("clean", "clean_on_retry", "failed", "unsupported")
    counts = [f"{cells[name]} {name.replace('_', ' ')}" for name in always]
    others = {"given_up": "given up", "noisy": "noisy", "not_run": "not run", "superseded": "superseded records"}
    counts += [f"{cells[name]} {words}" for name, words in others.items() if cells.get(name)]
    return f"{cells['planned']} cells: {', '.join(counts)}"
