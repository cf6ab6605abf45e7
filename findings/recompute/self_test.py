"""Shows that the comparison fails: changes copies of pages and of kept values, and expects every change to be found."""

import contextlib
import csv
import io
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from chart import TEXT
from checks import Checks
from kept import BYTES, Object
from study import Study, places

Compare = Callable[[Path], list[Checks]]
CompareStudy = Callable[[Path, Study], list[Checks]]
DIGIT = re.compile(r"\d")
# Lines outside of tables whose first number is recomputed.
COMPARED = re.compile(r"Intervals of differences|- \d+ of \d+ comparisons|- Each figure is|- Measured twice")


def self_test(root: Path, compare: Compare, compare_study: CompareStudy) -> int:
    """Prints the changes that the comparison missed, and how many it found."""
    changed, missed = 0, []
    for change in (change_digits, drop_rows, repeat_tables):
        with copy_of(root) as copy:
            places = list(change(copy))
            problems = [problem for checks in compare(copy) for problem in checks.problems]
            changed += len(places)
            missed += [f"{change.__name__} {place}" for place in places
                       if not any(problem.startswith(f"{place}:") for problem in problems)]
    with copy_of(root) as copy:
        for claims in sorted(copy.glob("findings/*/claims.toml")):
            for place in change_values(claims.parent):
                changed += 1
                if not any(checks.problems for checks in compare_study(copy, Study(claims.parent))):
                    missed.append(f"{change_values.__name__} {place}")
    print(*(f"self-test: not found: {place}" for place in missed),
          f"self-test: {changed - len(missed)} of {changed} changes to pages and values found", sep="\n")
    return bool(missed)


@contextlib.contextmanager
def copy_of(root: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        for part in ("findings", "docs"):
            shutil.copytree(root / part, Path(folder, part))
        yield Path(folder)


def pages(root: Path) -> list[Path]:
    """Returns the pages with figures, and the figures of studies."""
    claims = root.glob("findings/*/claims.toml")
    studies = [page for path in claims for page in (path.with_name("README.md"), path.with_name("figure.svg"))]
    own = [root / "findings/README.md", root / "docs/reference/client-figures.md", root / "docs/client.md"]
    return [page for page in own + studies if page.exists()]


def change_digits(root: Path) -> Iterator[str]:
    """Changes a digit in each row of each table and chart: the first, in the next row the second, and so on."""
    for page in pages(root):
        lines, rows = page.read_text().splitlines(), 0
        for i, line in enumerate(lines):
            digits = [digit.start() for digit in DIGIT.finditer(line)]
            if page.suffix == ".svg":
                digits = [i for text in TEXT.finditer(line) for i in digits if text.start(1) <= i < text.end(1)]
                digits = digits if len(TEXT.findall(line)) == 3 else []
            if digits and (page.suffix == ".svg" or is_row(lines, i) or COMPARED.match(line)):
                at, rows = digits[0 if COMPARED.match(line) else rows % len(digits)], rows + 1
                lines[i] = f"{line[:at]}{(int(line[at]) + 5) % 10}{line[at + 1:]}"
                yield f"{page.relative_to(root)}:{i + 1}"
        page.write_text("\n".join(lines) + "\n")


def is_row(lines: list[str], i: int) -> bool:
    return lines[i].startswith("| ") and not lines[i].startswith("| ---") and lines[i - 1].startswith("|")


def drop_rows(root: Path) -> Iterator[str]:
    """Drops the last row of the first table of each page."""
    for page in pages(root):
        lines = page.read_text().splitlines()
        last = next((i for i, line in enumerate(lines) if is_row(lines, i) and lines[i + 1:i + 2] in ([], [""])), None)
        if last is not None:
            del lines[last]
            page.write_text("\n".join(lines) + "\n")
            yield f"{page.relative_to(root)}"


def repeat_tables(root: Path) -> Iterator[str]:
    """Adds a table to the end of each page."""
    for page in pages(root):
        if page.suffix == ".md":
            with page.open("a") as file:
                file.write("\n| arm | time |\n| --- | --- |\n| h3 | 1.5 s |\n")
            yield f"{page.relative_to(root)}"


def change_values(folder: Path) -> Iterator[str]:
    """Changes more than half of a row's values, so that its median is another one.

    It does so for an answer of each run and for the bytes of an arm, one at a time.
    """
    study = Study(folder)
    for run in study.runs.values():
        answers = [place for question in study.questions() if study.run_of(question) is run
                   for place in places(question)]
        kept = [place for one in answers for place in (one, one.reversed()) if place in run.margins]
        changes = [(place.network, place.measure, place.arm, place.against, "difference") for place in kept[:1]]
        changes += [(network, measure, arm, "", "median") for network, measure, arm in run.medians
                    if measure == BYTES][:1]
        file = folder / f"{run.name}.csv"
        text = file.read_text()
        for change in changes:
            file.write_text(with_other_values(text, change))
            yield f"{file.name}: {', '.join(change)}"
        file.write_text(text)
    yield from change_codecs(folder, study)


def change_codecs(folder: Path, study: Study) -> Iterator[str]:
    """Changes the times of the codecs that claims compare, one at a time, and once their ends and lengths."""
    file = folder / "codec.json"
    for claim in study.list_of_claims:
        for i, question in enumerate(claim.get("codec", []) if study.bench else []):
            for codec, library in (("arm", "library"), ("against", "against_library")):
                of_part = ["ns"] if i else ["ns", "low_ns", "high_ns"]
                for key in of_part + ([] if i else ["bytes"]):
                    text = file.read_text()
                    file.write_text(with_other_cost(text, question, (codec, library, key)))
                    yield f"{file.name}: {question['message']}, {question[codec]}, {question[library]}, {key}"
                    file.write_text(text)


def with_other_cost(text: str, question: Object, at: tuple[str, str, str]) -> str:
    codec, library, key = at
    bench = json.loads(text)
    wanted = (question["message"], question["runtime"], question[codec], question[library])
    for row in bench["rows"]:
        if (row["message"], row["runtime"], row["codec"], row["library"]) == wanted:
            changed = row if key == "bytes" else row[question["part"]]
            changed[key] *= 2
    return json.dumps(bench)


def with_other_values(text: str, row: tuple[str, ...]) -> str:
    head, *rows = csv.reader(io.StringIO(text))
    for cells in rows:
        if tuple(cells[1:6]) == row:
            blocks = [i for i, name in enumerate(head) if name.startswith("block ") and cells[i]]
            for i in blocks[:len(blocks) // 2 + 1]:
                cells[i] = "1e15"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()
