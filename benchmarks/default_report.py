"""The tables of `default.py`: every method beside a baseline, problem by problem and over all of them.

Regrets are divided by the run's spread (the best value less the average over the decisions), so that problems, and the draws
of one problem, count alike. A ratio is the mean over the seeds that both methods have, over the mean of the baseline. Each
regret of an advice is raised to at least `FLOOR` of the spread before the mean, and each sum of regrets to `FLOOR` for each
round, so that a regret of zero is no trouble.

Intervals are 95 % of a bootstrap: for one problem over its seeds, the two methods of a seed together; for the geometric mean
over problems, problems are drawn again and then the seeds of each.

A run is stuck when its advice after the last round loses more than a fifth of the spread, and so does every one of its last
twenty rounds (`windward.bench.suite.stuck`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windward.bench import suite

Record = dict[str, Any]
Array = NDArray[np.float64]
Runs = dict[tuple[str, str], dict[int, Record]]  # by method and problem, then by seed

FLOOR = 1e-3
DRAWS = 2000
# Above this a problem counts as one on which the method does worse.
WORSE = 1.15


@dataclass(frozen=True)
class Measure:
    """One number of a run, in spreads; None where the run does not have it."""

    title: str
    of: Callable[[Record], float | None]
    rounds: int


def total(first: int, last: int) -> Callable[[Record], float | None]:
    """Return what sums the regrets of the rounds after `first` up to `last`."""

    def of(record: Record) -> float | None:
        if len(record["regret"]) < last:
            return None
        return max(sum(record["regret"][first:last]) / record["scale"], FLOOR * (last - first))

    return of


def advice(mark: int) -> Callable[[Record], float | None]:
    """Return what reads the regret of the advice after a round."""

    def of(record: Record) -> float | None:
        found = record["advice"].get(str(mark))
        return None if found is None else max(found / record["scale"], FLOOR)

    return of


def measures(after: int) -> list[Measure]:
    """Return the columns of the tables."""
    return [
        Measure("total at 15", total(0, 15), 15),
        Measure("total at 60", total(0, 60), 60),
        Measure(f"rounds {after + 1} to 60", total(after, 60), 60),
        Measure("advice at 15", advice(15), 15),
        Measure("advice at 30", advice(30), 60),
        Measure("advice at 60", advice(60), 60),
    ]


@dataclass(frozen=True)
class Ratio:
    """A ratio to the baseline with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def usable(record: Record, rounds: int) -> bool:
    """Whether a run counts for a measure over so many rounds: one that was told its horizon only for that horizon."""
    return record["horizon"] is None or record["horizon"] == rounds


def by_run(records: Sequence[Record], rounds: int) -> Runs:
    """Return the runs that count for so many rounds; of two for the same seed, the longer one."""
    found: Runs = defaultdict(dict)
    for record in records:
        if "refused" in record or not usable(record, rounds):
            continue
        place = found[record["method"], record["problem"]]
        other = place.get(record["seed"])
        if other is None or other["rounds"] < record["rounds"]:
            place[record["seed"]] = record
    return found


def paired(runs: Runs, measure: Measure, method: str, baseline: str, problem: str) -> Array:
    """Return the measure of both methods on the seeds that both have; `"seeds 2"`."""
    mine, theirs = runs.get((method, problem), {}), runs.get((baseline, problem), {})
    rows = []
    for seed in sorted(mine.keys() & theirs.keys()):
        pair = measure.of(mine[seed]), measure.of(theirs[seed])
        if None not in pair:
            rows.append(pair)
    return np.array(rows, dtype=float).reshape(-1, 2)


def logs(pairs: Array, chance: np.random.Generator) -> Array:
    """Return bootstrap draws of the logarithm of the ratio of means."""
    rows = pairs[chance.integers(len(pairs), size=(DRAWS, len(pairs)))].mean(1)
    return np.log(rows[:, 0] / rows[:, 1])


def ratio(pairs: Array) -> Ratio:
    """Return the ratio of means on one problem."""
    means = pairs.mean(0)
    low, high = np.exp(np.quantile(logs(pairs, np.random.default_rng(0)), [0.025, 0.975]))
    return Ratio(float(means[0] / means[1]), float(low), float(high))


def overall(tables: Sequence[Array]) -> Ratio:
    """Return the geometric mean of the ratios of several problems, its interval over problems and seeds."""
    chance = np.random.default_rng(0)
    drawn = np.stack([logs(pairs, chance) for pairs in tables])
    places = chance.integers(len(tables), size=(DRAWS, len(tables)))
    means = drawn[places, chance.integers(DRAWS, size=places.shape)].mean(1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    value = np.exp(np.mean([np.log(np.divide(*pairs.mean(0))) for pairs in tables]))
    return Ratio(float(value), float(low), float(high))


def share_stuck(runs: Runs, method: str, other: str, problems: Sequence[str]) -> tuple[int, int, int]:
    """Return how many of the runs are stuck, of the method and of the other on the same problems and seeds, and of how many."""
    counts = [0, 0, 0]
    for problem in problems:
        mine, theirs = runs.get((method, problem), {}), runs.get((other, problem), {})
        for seed in mine.keys() & theirs.keys():
            pair = mine[seed], theirs[seed]
            if any(str(len(r["regret"])) not in r["advice"] or len(r["regret"]) < 60 for r in pair):
                continue
            counts[2] += 1
            for place, r in enumerate(pair):
                counts[place] += suite.stuck(r["regret"], r["advice"][str(len(r["regret"]))], r["scale"])
    return counts[0], counts[1], counts[2]


def seconds(records: Sequence[Record], method: str) -> float:
    """Return the median over runs of the median seconds of an ask past the tenth round."""
    found = [
        np.median(r["ask_seconds"][10:])
        for r in records
        if r["method"] == method and len(r.get("ask_seconds", [])) > 10
    ]
    return float(np.median(found)) if found else float("nan")


def page(records: Sequence[Record], baseline: str, only: tuple[str, ...] = (), *, after: int = 10) -> str:
    """Return the report as Markdown."""
    present = sorted({record["method"] for record in records})
    if baseline not in present:
        return f"No run of the baseline {baseline!r}; there are {', '.join(present) or 'no runs'}.\n"
    names = [name for name in (only or present) if name in present and name != baseline]
    columns = measures(after)
    runs = {each.rounds: by_run(records, each.rounds) for each in columns}
    problems = sorted({record["problem"] for record in records})
    lines = [heading(records, baseline), *summary(records, runs, columns, names, baseline, problems)]
    for name in names:
        lines += detail(runs, columns, name, baseline, problems)
    lines += refusals(records)
    return "\n".join(lines) + "\n"


def heading(records: Sequence[Record], baseline: str) -> str:
    commits = ", ".join(sorted({record["commit"] for record in records}))
    return (
        f"# Regret beside {baseline}\n\nObjective: {records[0]['objective']}. Ratios below 1 are better than {baseline}; "
        f"regrets in spreads, floored at {FLOOR:g}; 95 % intervals. Commits: {commits}.\n"
    )


def summary(
    records: Sequence[Record],
    runs: dict[int, Runs],
    columns: Sequence[Measure],
    names: Sequence[str],
    baseline: str,
    problems: Sequence[str],
) -> list[str]:
    """Return the table over all problems."""
    own = seconds(records, baseline)
    lines = [
        "| method | "
        + " | ".join(each.title for each in columns)
        + " | stuck | s per ask | problems, seeds | worse on |",
        "| --- " * (len(columns) + 5) + "|",
    ]
    for name in names:
        cells, size, worse = [], "", []
        for each in columns:
            tables = {p: paired(runs[each.rounds], each, name, baseline, p) for p in problems}
            tables = {p: pairs for p, pairs in tables.items() if len(pairs)}
            cells.append(str(overall(list(tables.values()))) if tables else "")
            if each.title == "total at 60" or not size:
                seeds = [len(pairs) for pairs in tables.values()]
                size = f"{len(tables)}, {min(seeds, default=0)} to {max(seeds, default=0)}"
                worse = [p for p, pairs in tables.items() if ratio(pairs).low > WORSE]
        mine, theirs, count = share_stuck(runs[60], name, baseline, problems)
        stuck = f"{mine} against {theirs} of {count}"
        lines.append(
            f"| {name} | {' | '.join(cells)} | {stuck} | {seconds(records, name):.3f} against {own:.3f} | {size} | "
            f"{', '.join(worse) or 'none'} |"
        )
    return [*lines, "", f"*Worse on*: problems whose interval of the total lies above {WORSE}.", ""]


def detail(
    runs: dict[int, Runs], columns: Sequence[Measure], name: str, baseline: str, problems: Sequence[str]
) -> list[str]:
    """Return the table of one method."""
    lines = [f"## {name} beside {baseline}", ""]
    lines += ["| problem | " + " | ".join(each.title for each in columns) + " | stuck | seeds |"]
    lines += ["| --- " * (len(columns) + 3) + "|"]
    for problem in problems:
        found = [paired(runs[each.rounds], each, name, baseline, problem) for each in columns]
        if not any(len(pairs) for pairs in found):
            continue
        cells = [str(ratio(pairs)) if len(pairs) else "" for pairs in found]
        mine, theirs, _ = share_stuck(runs[60], name, baseline, [problem])
        lines.append(f"| {problem} | {' | '.join(cells)} | {mine} against {theirs} | {max(map(len, found))} |")
    return [*lines, ""]


def refusals(records: Sequence[Record]) -> list[str]:
    """Return who refused which problems."""
    refused: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if "refused" in record:
            refused[record["method"]].add(record["problem"])
    return [f"{name} refuses {', '.join(sorted(which))}." for name, which in sorted(refused.items())]
