"""From records to numbers: curves over seeds, their means and errors, and paired differences for claimed orders.

A difference is paired: the same seed is the same world for both methods. Its interval is mean +- t * s / sqrt(n), t the 97.5 %
quantile of Student's distribution with n - 1 degrees of freedom. A claimed order holds where the interval lies on its side of
zero, does not hold where it lies on the other, and is undecided otherwise. Two methods are level where the interval lies
within a fifth of their mean size around zero, not level where it lies outside. The first is near the second where the interval
lies above minus that fifth, not near where it lies below.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windward.basics.errors import ArgumentError
from windward.bench.experiment import Claim, Curve, Experiment, Panel, Record

Array: TypeAlias = NDArray[np.float64]
Verdict: TypeAlias = Literal["holds", "does not hold", "undecided", "not run"]


# Curves that differ by less than this share of their size are drawn upon each other: "about as good".
LEVEL = 0.2
# Nobody runs more seeds than this to decide a claim.
MOST_SEEDS = 1000


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs behind one curve: `values[seed, place]` at the rounds `at`, by seed."""

    curve: Curve
    seeds: tuple[int, ...]
    at: tuple[int, ...]
    values: Array

    def mean(self) -> Array:
        """Return the mean over seeds at each place, NaN where one of them has no value yet."""
        result: Array = self.values.mean(0)
        return result

    def error(self) -> Array:
        """Return the standard error of the mean, NaN for one seed."""
        if len(self.seeds) < 2:
            return np.full(len(self.at), math.nan)
        result: Array = self.values.std(0, ddof=1) / math.sqrt(len(self.seeds))
        result[np.ptp(self.values, axis=0) == 0.0] = 0.0  # and not what rounding leaves of it
        return result

    def column(self, mark: int) -> Array | None:
        """Return the values of all seeds at a mark, None where the runs do not reach it."""
        return self.values[:, self.at.index(mark)] if mark in self.at else None


@dataclass(frozen=True)
class Difference:
    """How much better the first method is than the second, at a mark: the mean over pairs and its 95 % interval.

    `needed` is how many seeds would decide an undecided claim if mean and spread stayed as they are.
    """

    claim: Claim
    mark: int
    pairs: int
    mean: float
    low: float
    high: float
    verdict: Verdict
    needed: int | None = None


def of_experiment(experiment: Experiment, records: Iterable[Record]) -> list[Record]:
    """Return the records that belong to an experiment's world, cases and methods."""
    methods = {case.name: experiment.runs_on(case) for case in experiment.cases}
    return [r for r in records if r["world"] == experiment.world and r["method"] in methods.get(r["problem"], ())]


def is_long(experiment: Experiment, record: Record) -> bool:
    """Whether a record has all rounds of its method on its problem."""
    case = experiment.case(record["problem"])
    return bool(record["rounds"] >= experiment.rounds_of(case, record["method"]))


def longest(experiment: Experiment, records: Sequence[Record]) -> list[Record]:
    """Return, for each problem, the records of all rounds, else those with the most: sizes do not mix.

    All rounds may be fewer for some methods. Of records with more rounds, of a longer figure of the same world, those with the
    fewest are taken.
    """
    most: dict[str, int] = {}
    least: dict[tuple[str, str], int] = {}
    for record in records:
        problem, kind, rounds = record["problem"], (record["problem"], record["method"]), record["rounds"]
        most[problem] = max(most.get(problem, 0), rounds)
        if is_long(experiment, record):
            least[kind] = min(least.get(kind, rounds), rounds)
    long = {problem for problem, _ in least}
    return [
        record
        for record in records
        if record["rounds"]
        == (least.get((record["problem"], record["method"])) if record["problem"] in long else most[record["problem"]])
    ]


def runs_of(panel: Panel, records: Sequence[Record]) -> dict[str, Runs]:
    """Return the runs of a panel's curves by label; a curve without runs is left out."""
    found = {}
    for curve in panel.curves:
        series = curve.series or panel.metric.name
        rows = {
            record["seed"]: record
            for record in records
            if (record["problem"], record["method"]) == (curve.case, curve.method) and series in record["series"]
        }
        if not rows:
            continue
        seeds = tuple(sorted(rows))
        lengths = {len(rows[seed]["series"][series]) for seed in seeds}
        if len(lengths) > 1:
            raise ArgumentError(
                f"runs of {curve.method} on {curve.case} have series {series!r} of different lengths, {sorted(lengths)}; "
                "give records of one size, or run them again."
            )
        values = np.array([rows[seed]["series"][series] for seed in seeds], dtype=np.float64)
        at = rows[seeds[0]].get("at") or range(1, values.shape[1] + 1)
        shown = [place for place, mark in enumerate(at) if panel.upto is None or mark <= panel.upto]
        found[curve.label] = Runs(curve, seeds, tuple(at[place] for place in shown), values[:, shown])
    return found


def marks_of(panel: Panel, runs: Mapping[str, Runs]) -> list[int]:
    """Return the panel's marks that its runs reach, and their last round where that is none of them."""
    if not runs:
        return []
    last = min(found.at[-1] for found in runs.values())
    reached = [mark for mark in panel.marks if mark < last and all(mark in found.at for found in runs.values())]
    return [*reached, last]


@dataclass(frozen=True, eq=False)
class Gaps:
    """How much better the first method of a claim is at a mark, by seed; `size` is the mean size of the two methods.

    `sizes` is what each seed says of that size.
    """

    mark: int
    by_seed: Mapping[int, float]
    size: float
    sizes: Mapping[int, float] = field(default_factory=dict)


def gaps_of(claim: Claim, panel: Panel, runs: Mapping[str, Runs]) -> Gaps | None:
    """Return the paired gaps behind a claim, at the last mark; None where one of its methods was not run."""
    marks = marks_of(panel, runs)
    first, second = runs.get(claim.first), runs.get(claim.second)
    if not marks or first is None or second is None:
        return None
    mark, sign = marks[-1], -1.0 if panel.metric.lower else 1.0
    ours, theirs = first.column(mark), second.column(mark)
    if ours is None or theirs is None:
        return Gaps(mark, {}, math.nan)
    other = dict(zip(second.seeds, theirs.tolist(), strict=True))
    gaps = {
        seed: sign * (value - other[seed])
        for seed, value in zip(first.seeds, ours.tolist(), strict=True)
        if seed in other
    }
    size = 0.5 * (abs(float(ours.mean())) + abs(float(theirs.mean())))
    signs = math.copysign(0.5, ours.mean()), math.copysign(0.5, theirs.mean())
    sizes = {
        seed: signs[0] * value + signs[1] * other[seed]
        for seed, value in zip(first.seeds, ours.tolist(), strict=True)
        if seed in other
    }
    return Gaps(mark, gaps, size, sizes)


@functools.cache
def quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's distribution; a page asks for the same few thousands of times."""
    from scipy.stats import t  # here: its import takes half a second

    return float(t.ppf(0.975, freedom))


def difference(claim: Claim, panel: Panel, runs: Mapping[str, Runs]) -> Difference:
    """Return the paired difference behind a claim, at the last mark, and what it says of the claim."""
    found = gaps_of(claim, panel, runs)
    if found is None:
        return Difference(claim, 0, 0, math.nan, math.nan, math.nan, "not run")
    mark, gaps = found.mark, np.array(list(found.by_seed.values()), dtype=np.float64)
    if len(gaps) < 2 or not np.isfinite(gaps).all():
        mean = float(gaps.mean()) if len(gaps) else math.nan
        return Difference(claim, mark, len(gaps), mean, math.nan, math.nan, "undecided")
    half = float(quantile(len(gaps) - 1) * gaps.std(ddof=1) / math.sqrt(len(gaps)))
    mean, margin = float(gaps.mean()), LEVEL * found.size
    verdict = judged(claim, mean - half, mean + half, margin)
    needed = seeds_needed(claim, gaps, margin) if verdict == "undecided" else None
    return Difference(claim, mark, len(gaps), mean, mean - half, mean + half, verdict, needed)


def seeds_needed(claim: Claim, gaps: Array, margin: float) -> int | None:
    """Return how many seeds would bring the interval clear of what it lies across; None beyond `MOST_SEEDS`."""
    mean, spread = float(gaps.mean()), float(gaps.std(ddof=1))
    edges = {"ahead": (0.0,), "level": (-margin, margin), "near": (-margin,)}[claim.relation]
    distance = min(abs(mean - edge) for edge in edges)
    for count in range(len(gaps) + 1, MOST_SEEDS + 1):
        if quantile(count - 1) * spread < distance * math.sqrt(count):
            return count
    return None


def judged(claim: Claim, low: float, high: float, margin: float) -> Verdict:
    """Return what an interval of the first method's advantage says of a claim; `margin` is what counts as level."""
    if claim.relation == "level":
        if -margin <= low and high <= margin:
            return "holds"
        return "does not hold" if low > margin or high < -margin else "undecided"
    if claim.relation == "near":
        return "holds" if low >= -margin else "does not hold" if high < -margin else "undecided"
    if low > 0.0:
        return "holds"
    return "does not hold" if high < 0.0 else "undecided"
