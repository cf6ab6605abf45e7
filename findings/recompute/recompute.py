#!/usr/bin/env python3
"""Recomputes the figures that `findings/` prints from the values by block, and compares.

It follows docs/explanation/verdicts.md, docs/reference/report.md, docs/findings.md and the papers that they cite, and
shares no code with `commute findings`. Prints a line for each page. Texts that have no values by block are compared
with `RUN.json` or `claims.toml`: how cells ended, the A/A check, recommended arms, caveats, versions.
"""

import sys
from pathlib import Path

from chart import Chart
from checks import Checks
from front import FRONT, Front
from index import Index, Tables
from kept import Place, Run, array, has_one_value, kind_of
from pages import StudyPage, compare_all
from self_test import self_test
from study import Study

ROOT = Path(__file__).parents[2]
# Values are kept with one decimal.
TENTHS = 0.051
# Energies are kept to the µJ.
MICROJOULES = 0.51e-6
# A factor is kept with five decimals.
FACTOR_ROUNDING = 0.51e-5
# Values of a few microseconds have as many digits.
FACTOR_NOISE = 1e-4


def studies_in(findings: Path) -> list[Study]:
    return [Study(claims.parent) for claims in sorted(findings.glob("*/claims.toml"))]


def compare(root: Path) -> list[Checks]:
    """Compares every page and figure in `findings/`, and the pages beside it that have its tables."""
    findings = root / "findings"
    studies = studies_in(findings)
    results = [compare_index(root, studies)]
    for study in studies:
        results += [compare_kept(study.name, run) for run in study.runs.values()]
        if study.runs:
            results += compare_study(root, study)
    return results


def compare_index(root: Path, studies: list[Study]) -> Checks:
    checks = Checks("findings/README.md")
    findings = root / "findings"
    front = Front(findings, studies, checks) if (findings / FRONT).exists() else None
    Index(studies, front, checks).compare((root / checks.file).read_text())
    return checks


def compare_study(root: Path, study: Study) -> list[Checks]:
    """Compares the page of a study, its figure, and its tables in another page."""
    page = Checks(f"findings/{study.name}/README.md")
    compare_all((root / page.file).read_text(), StudyPage(study, page).expected(), page)
    results = [page]
    if "figure" in study.claims:
        chart = Checks(f"findings/{study.name}/figure.svg")
        Chart(study, chart).compare((root / chart.file).read_text())
        results.append(chart)
    if "page" in study.claims:
        path = (root / "findings" / study.claims["page"]).resolve()
        tables = Checks(str(path.relative_to(root.resolve())))
        Tables(study, tables).compare(path.read_text())
        results.append(tables)
    return results


def compare_kept(study: str, run: Run) -> Checks:
    """Compares the margins of a run, and the differences and factors that follow from other values."""
    checks = Checks(f"findings/{study}/{run.name}.csv")
    for place, kept in run.margins.items():
        recomputed = run.margin(place)
        if kept > recomputed + TENTHS and kind_of(place.measure) == "time":
            checks.skip("margins above the study's, where a clock may be coarser")
        else:
            checks.value(run.lines[place], kept, recomputed, noise_of(place), 0)
        if has_one_value(place.measure):
            compare_blocks(checks, run, place)
        else:
            checks.skip("comparisons request by request, whose times are not kept")
    return checks


def noise_of(place: Place) -> float:
    """Returns how far a kept value may be off, in its unit."""
    return MICROJOULES if kind_of(place.measure) == "energy" else TENTHS


def compare_blocks(checks: Checks, run: Run, place: Place) -> None:
    """Compares differences and factors with the values of both arms, from which they follow."""
    comparison = run.of_medians(place)
    for value, blocks, noise, share in (("difference", comparison.differences, 2 * noise_of(place), 0),
                                        ("speedup", comparison.factors, FACTOR_ROUNDING, FACTOR_NOISE)):
        kept = array(run.by_block[value][place])
        if kept.shape != blocks.shape:
            checks.problem(run.lines[place], f"{len(kept)} blocks", f"{len(blocks)} blocks")
            continue
        for one, recomputed in dict.fromkeys(zip(kept.flat, blocks.flat)):
            checks.value(run.lines[place], one, recomputed, noise, share)


def report(checks: Checks) -> str:
    skipped = "".join(f"; not compared: {number} {what}" for what, number in checks.skipped.items())
    copied = f", {checks.copied} copied texts match" if checks.copied else ""
    return f"{checks.file}: {checks.matched} figures match{copied}{skipped}"


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test(ROOT, compare, compare_study)
    results = compare(ROOT)
    for checks in results:
        print(*checks.problems, report(checks), sep="\n")
    return any(checks.problems for checks in results)


if __name__ == "__main__":
    sys.exit(main())
