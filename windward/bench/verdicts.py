"""What records say of an experiment as a whole: which of them are shown, at which size, and the verdict in a word.

A claim is judged in `windward.bench.compare`. An experiment *matches* where every judged claim holds, *differs* where more do
not hold than hold, is *undecided* where most are undecided, and matches *partly* otherwise. Without claims its published
numbers are judged: one agrees where it lies within t sqrt(e^2 + s^2 / n) of the mean here, e its printed standard error; where
none is printed, the paper's mean counts as uncertain as ours. Seconds are another machine's and have no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from windward.bench.compare import Difference, Runs, Verdict, is_long, longest, of_experiment, quantile, runs_of
from windward.bench.experiment import Experiment, Panel, Record
from windward.bench.summary import claimed

Word: TypeAlias = Literal["matches", "partly", "differs", "undecided", "timing", "not run at full size", "not run"]


@dataclass(frozen=True)
class Agreement:
    """A published number beside the mean here; `half` is how far apart two such means lie in 95 of 100 cases."""

    panel: str
    curve: str
    mark: int
    published: float
    mean: float
    half: float

    @property
    def agrees(self) -> bool:
        """Whether the two are as near as chance would have them."""
        return abs(self.published - self.mean) <= self.half


@dataclass(frozen=True, eq=False)
class Reproduction:
    """An experiment's records that are shown, and what they say."""

    experiment: Experiment
    records: list[Record]
    shown: Sequence[tuple[Panel, Mapping[str, Runs]]]
    claims: list[Difference]
    agreements: list[Agreement]

    @property
    def full(self) -> bool:
        """Whether what was run has the paper's data and rounds; of how many of its problems and seeds, the page says."""
        return bool(self.records) and all(_is_full(self.experiment, record) for record in self.records)

    def count(self, verdict: Verdict, *, own: bool | None = None) -> int:
        """Return how many claims have this verdict; `own`: of the paper's own sentences alone, or of our readings alone."""
        return sum(entry.verdict == verdict and (own is None or bool(entry.claim.said) == own) for entry in self.claims)

    @property
    def instead(self) -> list[str]:
        """What data stood in for the paper's in these records, each once."""
        always = {case.name: case.instead for case in self.experiment.cases if case.instead}
        found = {f"{r['stand_in']} for {r['problem']}" for r in self.records if r.get("stand_in")}
        return sorted(found | {always[r["problem"]] for r in self.records if r["problem"] in always})

    @property
    def agreeing(self) -> int:
        """How many published numbers agree."""
        return sum(entry.agrees for entry in self.agreements)

    @property
    def word(self) -> Word:
        """The verdict in a word."""
        if not self.records:
            return "not run"
        if not self.full:
            return "not run at full size"
        if self.experiment.timing:
            return "timing"
        return self._judged()

    def _judged(self) -> Word:
        if self.experiment.claims:
            return in_a_word(*(self.count(verdict) for verdict in ("holds", "does not hold", "undecided")))
        return in_a_word(self.agreeing, len(self.agreements) - self.agreeing, 0)


def in_a_word(holding: int, failing: int, open: int) -> Word:
    """Return the verdict for the numbers of claims that hold, do not hold and are undecided.

    >>> in_a_word(3, 0, 0), in_a_word(3, 1, 2), in_a_word(1, 2, 0), in_a_word(1, 0, 2), in_a_word(0, 0, 0)
    ('matches', 'partly', 'differs', 'undecided', 'undecided')
    """
    if failing > holding:
        return "differs"
    if open > holding + failing or not holding:
        return "undecided"
    return "matches" if not failing and not open else "partly"


def reproduction_of(experiment: Experiment, records: Sequence[Record]) -> Reproduction:
    """Return the reproduction of an experiment from the records of all: of its full size where that tells anything."""
    own = of_experiment(experiment, records)
    found = [_reproduction(experiment, part) for part in _sizes(experiment, own)]
    telling = [one for one in found if not experiment.claims or one.count("not run") < len(one.claims)]
    return [*telling, *found, _reproduction(experiment, [])][0]


def _sizes(experiment: Experiment, records: Sequence[Record]) -> Iterator[list[Record]]:
    """Yield the records of the full size, then smaller and smaller ones: sizes never mix."""
    full = [record for record in records if _is_full(experiment, record)]
    if full:
        yield longest(experiment, full)
    rest = [record for record in records if not _is_full(experiment, record)]
    while rest:
        part = longest(experiment, rest)
        yield part
        taken = {id(record) for record in part}
        rest = [record for record in rest if id(record) not in taken]


def _reproduction(experiment: Experiment, records: list[Record]) -> Reproduction:
    every = [(panel, runs_of(panel, records)) for panel in experiment.panels]
    shown = [(panel, runs) for panel, runs in every if runs]
    # Published numbers are of the paper's data.
    same = [record for record in records if not record.get("stand_in")]
    comparable = [(panel, runs_of(panel, same)) for panel, _ in shown]
    return Reproduction(experiment, records, shown, claimed(experiment, shown), _agreements(experiment, comparable))


def _is_full(experiment: Experiment, record: Record) -> bool:
    if record.get("stand_in"):  # other data
        return False
    return is_long(experiment, record)


def _agreements(experiment: Experiment, shown: Sequence[tuple[Panel, Mapping[str, Runs]]]) -> list[Agreement]:
    panels, result = {panel.title: runs for panel, runs in shown}, []
    for entry in experiment.published:
        runs = panels.get(entry.panel, {}).get(entry.curve)
        if runs is None or not entry.same_data or len(runs.seeds) < 2:
            continue
        for mark, value in entry.values.items():
            if mark not in runs.at:
                continue
            place = runs.at.index(mark)
            own = float(runs.error()[place])
            # Where the paper prints no error, its mean is taken to be as uncertain as one of as many seeds here.
            theirs = entry.errors.get(mark, own * math.sqrt(len(runs.seeds) / len(experiment.seeds)))
            half = quantile(len(runs.seeds) - 1) * math.hypot(own, theirs)
            mean = float(runs.mean()[place])
            if math.isfinite(mean):
                result.append(Agreement(entry.panel, entry.curve, mark, value, mean, half))
    return result
