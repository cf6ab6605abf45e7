"""What `findings/` keeps of a run: facts and the values by block, in the formats of docs/findings.md."""

import csv
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from procedure import Comparison, Decided, Figure, Numbers, decide, median, own_figure

BYTES = "bytes on the wire"
# What the label of an energy begins with, before the phone.
ENERGY = "energy, "
LEAST_MARGIN_NS = 2e6
SHARE_OF_BASELINE = {"time": 0.05, "bytes": 0.02, "part": 0.05, "energy": 0.05}

Object = dict[str, Any]
Blocks = dict[str, tuple[float, float]]


class Place(NamedTuple):
    """A comparison. The measures differ where different requests are compared."""

    network: str
    measure: str
    arm: str
    against: str
    against_measure: str

    def reversed(self) -> "Place":
        return self._replace(arm=self.against, against=self.arm)


def kind_of(measure: str) -> str:
    if measure == BYTES:
        return "bytes"
    if measure.startswith(ENERGY):
        return "energy"
    return "part" if measure.startswith(("encode, ", "decode, ")) else "time"


def has_one_value(measure: str) -> bool:
    """Reports whether a block has one value of the measure, so that the values of two arms can be subtracted."""
    return kind_of(measure) != "time" or re.match(r"(all|both|p[\d.]+ of) ", measure) is not None


def bounds(text: str) -> tuple[float, float]:
    """Reads a block's value: a number, or `low..high` where timeouts leave it open."""
    low, dots, high = text.partition("..")
    return (float(low or -math.inf), float(high or math.inf)) if dots else (float(text), float(text))


class Run:
    """A run with its comparisons, decided as docs/findings.md says."""

    def __init__(self, folder: Path, name: str, sums: list[Object]) -> None:
        self.name = name
        self.about: Object = json.loads((folder / f"{name}.json").read_text())
        for network in self.about["networks"]:
            # Older labels do not say what the basis at their end is about.
            network["numbers"] = re.sub(r" · (measured|derived)$", r" · rates and RTT \1", network["numbers"])
        self.medians: dict[tuple[str, str, str], Blocks] = {}
        self.by_block: dict[str, dict[Place, Blocks]] = {"difference": {}, "speedup": {}}
        self.margins: dict[Place, float] = {}
        self.lines: dict[Place, int] = {}
        with (folder / f"{name}.csv").open(newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                self.add(row, reader.line_num)
        for one in sums:
            self.add_sum(one["measure"], one["of"])
        self.decided = self.decide_kept()

    def add_sum(self, name: str, measures: list[str]) -> None:
        """Adds the medians of measures block by block, as a measure of its own."""
        for network, measure, arm in list(self.medians):
            parts = [self.medians.get((network, part, arm), {}) for part in measures]
            if measure == measures[0]:
                blocks = [block for block in parts[0] if all(block in part for part in parts)]
                ends = {block: np.sum([part[block] for part in parts], axis=0) for block in blocks}
                self.medians[network, name, arm] = {block: (float(low), float(high)) for block, (low, high) in ends.items()}

    def add(self, row: dict[str, str], line: int) -> None:
        blocks = {key: bounds(value) for key, value in row.items() if key.startswith("block ") and value}
        if not blocks:
            return
        if row["value"] == "median":
            self.medians[row["network"], row["measure"], row["arm"]] = blocks
            return
        place = Place(row["network"], row["measure"], row["arm"], row["against"], row["measure"])
        self.by_block[row["value"]][place] = blocks
        if row["value"] == "difference":
            self.margins[place], self.lines[place] = float(row["margin"]), line

    def network(self, name: str) -> Object:
        return next(network for network in self.about["networks"] if network["name"] == name)

    def has_one_sender(self) -> bool:
        """Reports whether no arm sets a server or a congestion control."""
        settings = [setting for arm in self.about["arms"] for setting in arm["asked"].split(", ")]
        return not any(setting.startswith(("server ", "congestion ")) for setting in settings)

    def check_of(self, network: str, measure: str) -> str:
        """Returns what follows a result whose A/A check is inconclusive."""
        undecided = self.about["a_a"].get("undecided", [])
        return "; A/A check inconclusive" if f"{network}: {measure}" in undecided else ""

    def own_figure(self, network: str, measure: str, arm: str) -> Figure | None:
        blocks = self.medians.get((network, measure, arm))
        return own_figure(array(blocks)) if blocks else None

    def margin(self, place: Place) -> float:
        """Returns the study's margin, or a share of the median of what the arm is compared with."""
        against = self.medians[place.network, place.against_measure, place.against]
        share = SHARE_OF_BASELINE[kind_of(place.measure)] * median(array(against))[0]
        if kind_of(place.measure) != "time":
            return share
        return float(self.about.get("margin_ns") or max(LEAST_MARGIN_NS, share))

    def kept(self, place: Place) -> Comparison:
        """Returns a comparison of the same requests, whose values by block are kept."""
        factors = self.by_block["speedup"][place]
        return Comparison(array(self.by_block["difference"][place]), array(factors), self.margins[place])

    def of_medians(self, place: Place) -> Comparison | None:
        """Compares different requests. Only their medians can be compared, block by block."""
        arm = self.medians.get((place.network, place.measure, place.arm), {})
        against = self.medians.get((place.network, place.against_measure, place.against), {})
        pairs = np.array([(*arm[block], *against[block]) for block in arm if block in against])
        if len(pairs) == 0:
            return None
        low, high, against_low, against_high = pairs.T
        differences = np.column_stack([low - against_high, high - against_low])
        return Comparison(differences, np.column_stack([against_low / high, against_high / low]), self.margin(place))

    def decide(self, families: Iterable[dict[Place, Comparison]]) -> dict[Place, Decided]:
        return decide(list(families), self.about["looked_at_results"])

    def decide_kept(self) -> dict[Place, Decided]:
        """Decides the comparisons of the same requests.

        Those of times with the baseline are the report's. Bytes, energies and parts are decided apart from times, and
        pairs without the baseline apart from those with it. The comparisons of a measure on a network are a family.
        """
        reports: dict[tuple[str, bool], dict[tuple[str, str], dict[Place, Comparison]]] = defaultdict(
            lambda: defaultdict(dict))
        for place in self.margins:
            report = reports[kind_of(place.measure), place.against == self.about["baseline"]]
            report[place.network, place.measure][place] = self.kept(place)
        decided: dict[Place, Decided] = {}
        for families in reports.values():
            decided |= self.decide(families.values())
        return decided

    def decide_measures(self, places: Iterable[Place]) -> None:
        """Decides comparisons of medians by block, together and each as a family of its own."""
        comparisons = {place: self.of_medians(place) for place in places}
        self.decided |= self.decide({place: one} for place, one in comparisons.items() if one)

    def comparison(self, place: Place) -> Decided | None:
        """Returns a comparison whichever way round it is kept."""
        if place in self.decided:
            return self.decided[place]
        other_way = self.decided.get(place.reversed())
        return other_way.reversed() if other_way and place.measure == place.against_measure else None

    def of_report(self) -> list[Decided]:
        """Returns the comparisons of the run's report: times, with the baseline."""
        return [decided for place, decided in self.decided.items() if place.against == self.about["baseline"]
                and place in self.margins and kind_of(place.measure) == "time"]


def array(blocks: Blocks) -> Numbers:
    return np.array(list(blocks.values()))
