"""The studies: claims, the comparisons that answer them, and their outcomes by the rules of docs/findings.md."""

import csv
import json
import math
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from kept import LEAST_MARGIN_NS, Object, Place, Run, kind_of
from procedure import Decided, Figure, reciprocal

# The words for verdicts on what is no time.
WORDS = {
    "bytes": {"faster": "fewer", "slower": "more", "not faster": "not fewer", "not slower": "not more"},
    "energy": {"faster": "less", "slower": "more", "not faster": "not less", "not slower": "not more"},
}
OPPOSITES = {"faster": "slower", "slower": "faster"}
# A published figure is reproduced if ours is at most this many times as large or as small.
NEAR = 1.5
NO_DIFFERENCE_SHARE = 0.05

NOT_RUN = "not run"
CONTRADICTIONS = {"not the same", "same direction, other size", "other size, direction not decided",
                  "contradicted in part"}


class Size(NamedTuple):
    """How many times as fast, or as slow, an arm is claimed to be."""

    least: float
    most: float


class Answer(NamedTuple):
    """One network of an answer or of a confound. `decided` is None where no block has both arms."""

    question: Object
    run: Run
    place: Place
    decided: Decided | None
    size: Size | None
    outcome: str


class CodecAnswer(NamedTuple):
    """What the bench of codecs answers to a claim: the times of both, and the factor between the ends of both."""

    question: Object
    arm: Figure
    arm_bytes: int
    against: Figure
    against_bytes: int
    factor: Figure
    size: Size | None
    outcome: str


def words(verdict: str, measure: str) -> str:
    return WORDS.get(kind_of(measure), {}).get(verdict, verdict)


class Study:
    """A folder of `findings/` with claims, published figures and runs."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.claims: Object = tomllib.loads((folder / "claims.toml").read_text())
        with (folder.parent / "published" / f"{self.name}.csv").open(newline="") as file:
            self.published = list(csv.DictReader(file))
        bench = folder / "codec.json"
        self.bench: Object | None = json.loads(bench.read_text()) if bench.exists() else None
        made = sorted(name for name in self.claims["runs"] if (folder / f"{name}.json").exists())
        first = self.claims["runs"][0]
        sums = self.claims.get("sum", [])
        self.runs = {name: Run(folder, name, [one for one in sums if one.get("run", first) == name]) for name in made}
        for run in self.runs.values():
            run.decide_measures({place for question in self.questions() if self.run_of(question) is run
                                 for place in places(question) if "against_measure" in question})

    @property
    def relation(self) -> str:
        """What the runs do with the claims: `repeats`, `answers` or `promises`."""
        return self.claims.get("relation", "answers")

    @property
    def list_of_claims(self) -> list[Object]:
        return self.claims.get("claim", [])

    def run_of(self, question: Object) -> Run | None:
        return self.runs.get(question.get("run", self.claims["runs"][0]))

    def questions(self) -> Iterator[Object]:
        for claim in self.list_of_claims:
            yield from claim.get("answer", [])
            yield from claim.get("confound", [])

    def figure(self, name: str) -> dict[str, str]:
        return self.select(self.claims["figures"][name])

    def select(self, keys: Object) -> dict[str, str]:
        """Returns the published figure with these keys."""
        columns = {"param_value" if key == "param" else key: value for key, value in keys.items()}
        rows = [row for row in self.published if all(row[column] == value for column, value in columns.items())]
        if len(rows) != 1:
            raise ValueError(f"{self.name}/claims.toml: {len(rows)} published figures have {keys}")
        return rows[0]

    def size(self, question: Object) -> Size | None:
        if "near" in question:
            value = float(self.figure(question["near"])["value"])
            return Size(value / NEAR, value * NEAR)
        if "at_least" in question or "at_most" in question:
            return Size(question.get("at_least", 0.0), question.get("at_most", math.inf))
        return None

    def answers(self, questions: list[Object]) -> list[Answer]:
        """Returns an answer for each question and network."""
        answers = []
        for question in questions:
            run, size = self.run_of(question), self.size(question)
            for place in places(question) if run else []:
                decided = run.comparison(place)
                judged = outcome(question, place, run, decided, size)
                answers.append(Answer(question, run, place, decided, size, judged))
        return answers

    def codec_answers(self, claim: Object) -> list[CodecAnswer]:
        """Returns an answer for each comparison of codecs that a claim asks for."""
        answers = []
        for question in claim.get("codec", []) if self.bench else []:
            arm, arm_bytes = self.cost(question, "arm", "library")
            against, against_bytes = self.cost(question, "against", "against_library")
            of_bytes = arm_bytes / against_bytes if question.get("per") == "byte" else 1.0
            estimate = of_bytes * against.least / arm.least
            factor = Figure(estimate, estimate, of_bytes * against.low / arm.high, of_bytes * against.high / arm.low)
            size = self.size(question)
            outcome = of_factor(factor if question["expect"] == "faster" else factor.reversed(reciprocal), size)
            answers.append(CodecAnswer(question, arm, arm_bytes, against, against_bytes, factor, size, outcome))
        return answers

    def cost(self, question: Object, codec: str, library: str) -> tuple[Figure, int]:
        """Returns the time of a codec and the length of its encoding, as they are kept."""
        wanted = (question["message"], question["runtime"], question[codec], question[library])
        keys = ("message", "runtime", "codec", "library")
        row = next(row for row in self.bench["rows"] if tuple(row[key] for key in keys) == wanted)
        cost = row[question["part"]]
        return Figure(cost["ns"], cost["ns"], cost["low_ns"], cost["high_ns"]), row["bytes"]

    def dates(self) -> list[str]:
        """Returns the days on which the study was measured."""
        dates = {run.about["date"] for run in self.runs.values()}
        return sorted(dates | {date_of(self.bench)} if dates and self.bench else dates)

    def named(self, name: str) -> Answer | None:
        """Returns the answer with a name; None before its run."""
        return next(iter(self.answers([one for one in self.questions() if one.get("name") == name])), None)

    def outcome(self, claim: Object) -> str:
        """Returns the outcome of a claim, from those of its answers."""
        outcomes = {answer.outcome for answer in self.answers(claim.get("answer", []))}
        outcomes |= {answer.outcome for answer in self.codec_answers(claim)}
        if len(outcomes) <= 1:
            return outcomes.pop() if outcomes else NOT_RUN
        return "contradicted in part" if outcomes & CONTRADICTIONS else "not decided in part"


def places(question: Object) -> list[Place]:
    """Returns the comparison that a question asks for on each of its networks."""
    measure = question["measure"]
    return [Place(network, measure, question["arm"], question["against"], question.get("against_measure", measure))
            for network in question["networks"]]


def outcome(question: Object, place: Place, run: Run, decided: Decided | None, size: Size | None) -> str:
    """Judges a comparison by what the claim expects."""
    if decided is None:
        return NOT_RUN
    if run.network(place.network)["advice"]["advice"] == "invalid":
        return "not decided"
    expected = question["expect"]
    if expected == "within":
        bound = question["within_ms"] * 1e6
        return of_ends(*(math.copysign(1, end) if abs(end) > bound else 0 for end in decided.difference[2:]))
    if expected == "no_difference" and kind_of(place.measure) in WORDS:
        return {"no difference": "same", "faster": "not the same", "slower": "not the same"}.get(
            decided.verdict, "not decided")
    if expected == "no_difference":
        return no_difference(decided)
    return directed({"fewer": "faster", "less": "faster", "more": "slower"}.get(expected, expected), decided, size)


def no_difference(decided: Decided) -> str:
    """Judges a claim of no difference: each end of the interval is within 2 ms or, by the factor, within 5 %."""
    shares = decided.factor.reversed(reciprocal)

    def side(difference: float, share: float) -> float:
        beyond = abs(difference) > LEAST_MARGIN_NS and abs(share - 1) > NO_DIFFERENCE_SHARE
        return math.copysign(1, difference) if beyond else 0

    return of_ends(side(decided.difference.low, shares.low), side(decided.difference.high, shares.high))


def of_ends(low: float, high: float) -> str:
    """Judges an interval by where its ends lie: below (-1), within (0) or above (1) what is claimed."""
    if low == high:
        return "not the same" if low else "same"
    return "not decided"


def of_factor(factor: Figure, size: Size | None) -> str:
    """Judges a factor in the expected direction by the ends of its interval."""
    if factor.high < 1:
        return "not the same"
    excluded = size is not None and (factor.high < size.least or factor.low > size.most)
    if factor.low <= 1:
        return "other size, direction not decided" if excluded else "not decided"
    fits = size is None or (size.least <= factor.low and factor.high <= size.most)
    return "same" if fits else f"same direction, {'other size' if excluded else 'size not decided'}"


def directed(expected: str, decided: Decided, size: Size | None) -> str:
    """Judges a claim that an arm is faster, or slower, and by how much."""
    factor = decided.factor if expected == "faster" else decided.factor.reversed(reciprocal)
    fits = size is None or (size.least <= factor.low and factor.high <= size.most)
    excluded = size is not None and (factor.high < size.least or factor.low > size.most)
    if decided.verdict == expected:
        return "same" if fits else f"same direction, {'other size' if excluded else 'size not decided'}"
    if decided.verdict in (OPPOSITES[expected], "no difference", f"not {expected}"):
        return "not the same"
    return "other size, direction not decided" if excluded else "not decided"


def date_of(bench: Object) -> str:
    """Returns the day on which the bench of codecs began."""
    return datetime.fromtimestamp(bench["started_unix_ns"] // 10**9, UTC).date().isoformat()
