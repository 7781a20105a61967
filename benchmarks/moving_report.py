"""The tables of `moving.py`: what each method lost beside the oracle in each world, and beside the default.

Sums of regret are means over seeds with 95 % intervals of a bootstrap over seeds. A ratio is the mean over the seeds that both
methods have, over the mean of the baseline on the same seeds; its interval draws seeds, the two methods of a seed together. The
last table takes geometric means of the ratios over worlds; its interval draws the seeds of each world.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from default_report import Ratio, logs, ratio
from numpy.typing import NDArray

Record = dict[str, Any]
Runs = dict[tuple[str, str], dict[int, Record]]  # by world and method, then by seed

DRAWS = 2000
# Worlds in which nothing moves for a method that is told no forecast.
STILL = ("still", "forecast-useless")
# The method's rows that know the truth.
TRUTHS = ("constant", "oracle")
# The columns of the table over the whole loop, beside the default: of several methods the one that is played in a world.
COLUMNS = {
    "learnt half-life": ("learnt half-life",),
    "at half a deviation": ("learnt half-life, half a deviation",),
    "drift of f": ("drift",),
    "calendar or forecast": ("calendar", "forecast"),
    "both": ("calendar, learnt half-life", "forecast, learnt half-life"),
    "time given": ("time given",),
    "weekday or forecast given": ("weekday given", "forecast as a given point"),
    "DRBO-KDE": ("drbo_kde",),
    "WDRBO": ("wdrbo",),
    "best constant": ("constant",),
}


def by_run(records: Sequence[Record]) -> Runs:
    """Return the runs by world and method."""
    found: Runs = defaultdict(dict)
    for record in records:
        if "refused" not in record:
            found[record["world"], record["method"]][record["seed"]] = record
    return found


def total(record: Record, first: int = 0) -> float:
    """Return the regret of the rounds after `first`."""
    return float(sum(record["regret"][first:]))


def paired(runs: Runs, world: str, method: str, baseline: str, first: int = 0) -> NDArray[np.float64]:
    """Return the regret of both methods on the seeds that both have; `"seeds 2"`."""
    mine, theirs = runs.get((world, method), {}), runs.get((world, baseline), {})
    rows = [(total(mine[seed], first), total(theirs[seed], first)) for seed in sorted(mine.keys() & theirs.keys())]
    return np.array(rows, dtype=float).reshape(-1, 2)


def summed(runs: dict[int, Record], first: int = 0) -> str:
    """Return the mean over seeds of the regret, with its interval."""
    values = np.array([total(record, first) for record in runs.values()])
    drawn = values[np.random.default_rng(0).integers(len(values), size=(DRAWS, len(values)))].mean(1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{values.mean():.4g} [{low:.4g}, {high:.4g}]" if len(values) > 1 else f"{values[0]:.4g}"


def beside(runs: Runs, world: str, method: str, baseline: str, first: int = 0) -> str:
    """Return the ratio to the baseline with its interval, nothing for what has no seeds in common."""
    pairs = paired(runs, world, method, baseline, first)
    if not len(pairs) or pairs[:, 0].min() <= 0.0:  # the oracle loses nothing
        return ""
    return str(ratio(pairs)) if len(pairs) > 1 else f"{pairs[0, 0] / pairs[0, 1]:.2f}"


def geometric(runs: Runs, worlds: Sequence[str], method: str, baseline: str) -> Ratio | None:
    """Return the geometric mean over worlds of the ratio, with its interval over seeds; None without worlds."""
    tables = [pairs for world in worlds if len(pairs := paired(runs, world, method, baseline))]
    if not tables or any(pairs.min() <= 0.0 for pairs in tables):
        return None
    chance = np.random.default_rng(0)
    drawn = np.stack([logs(pairs, chance) for pairs in tables]).mean(0)
    low, high = np.exp(np.quantile(drawn, [0.025, 0.975]))
    value = np.exp(np.mean([np.log(np.divide(*pairs.mean(0))) for pairs in tables]))
    return Ratio(float(value), float(low), float(high))


def seconds(runs: dict[int, Record]) -> str:
    """Return the median over runs of the median seconds of an ask past the tenth round."""
    kept = [record["ask_median"] for record in runs.values() if "ask_median" in record]
    fresh = [
        np.median(record["ask_seconds"][10:]) for record in runs.values() if len(record.get("ask_seconds", [])) > 10
    ]
    found = [*kept, *fresh]
    return f"{np.median(found):.3f}" if found else ""


def page(records: Sequence[Record], worlds: Sequence[str], methods: Sequence[str], baseline: str) -> str:
    """Return the report as Markdown."""
    runs = by_run(records)
    lengths = {record["rounds"] for record in records}
    if len(lengths) != 1:
        return (
            f"Records of {', '.join(map(str, sorted(lengths))) or 'no'} rounds; report those of one number of rounds.\n"
        )
    commits = ", ".join(sorted({record["commit"] for record in records}))
    half = lengths.pop() // 2
    present = [world for world in worlds if any(name == world for name, _ in runs)]
    known = [method for method in methods if any(name == method for _, name in runs)]
    lines = [f"# Regret in worlds that move\n\nCommits: {commits}. 95 % intervals; ratios are to `{baseline}`.\n"]
    for world in present:
        lines += table(runs, world, known, baseline, half)
    lines += together(runs, present, [name for name in known if name not in (baseline, *TRUTHS)], baseline)
    return "\n".join([*lines, *refusals(records)]) + "\n"


def table(runs: Runs, world: str, methods: Sequence[str], baseline: str, half: int) -> list[str]:
    """Return the table of one world."""
    lines = [f"## {world}\n", f"| method | regret | ratio | ratio after round {half} | s per ask | seeds |"]
    lines += ["| --- " * 6 + "|"]
    for method in methods:
        mine = runs.get((world, method), {})
        if mine:
            ratios = [beside(runs, world, method, baseline, first) for first in (0, half)]
            cells = [
                method,
                summed(mine),
                *(ratios if method != baseline else ["1", "1"]),
                seconds(mine),
                str(len(mine)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def together(runs: Runs, worlds: Sequence[str], methods: Sequence[str], baseline: str) -> list[str]:
    """Return the table over worlds: all of those a method plays, and those where nothing moves."""
    lines = ["## Over worlds\n", "| method | all its worlds | where something moves | where nothing moves | worlds |"]
    lines += ["| --- " * 5 + "|"]
    for method in methods:
        own = [world for world in worlds if runs.get((world, method))]
        parts = (own, [w for w in own if w not in STILL], [w for w in own if w in STILL])
        cells = [str(geometric(runs, part, method, baseline) or "") for part in parts]
        lines.append(f"| {method} | {' | '.join(cells)} | {len(own)} |")
    return [*lines, ""]


def whole_loop(records: Sequence[Record], worlds: Sequence[str]) -> str:
    """Return the table of the whole loop: what the default lost in each world, and the ratio of each column to it."""
    runs = by_run(records)
    known = {name for _, name in runs}
    columns = {title: names for title, names in COLUMNS.items() if known & set(names)}
    seeds = {len(runs[key]) for key in runs}
    oracle = max(
        (abs(loss) for (_, name), mine in runs.items() if name == "oracle" for loss in _losses(mine)), default=0.0
    )
    least = min(loss for mine in runs.values() for loss in _losses(mine))
    lines = [
        f"Rounds: {_few(record['rounds'] for record in records)}; seeds: {_few(seeds)}; commits: "
        f"{_few(record['commit'] for record in records)}. The oracle's largest regret of a round: {oracle:.1g}; "
        f"the least of anybody's: {least:.1g}.\n",
        f"| world | the default loses | {' | '.join(columns)} |",
        "| --- " * (2 + len(columns)) + "|",
    ]
    present = [world for world in worlds if (world, "default") in runs]
    for world in present:
        found = [beside(runs, world, _played(runs, world, names), "default") for names in columns.values()]
        lines.append(f"| {world} | {summed(runs[world, 'default'])} | {' | '.join(found)} |")
    means = [str(_over_worlds(runs, present, names) or "") for names in columns.values()]
    return "\n".join([*lines, f"| geometric mean | | {' | '.join(means)} |", ""])


def _played(runs: Runs, world: str, names: Sequence[str]) -> str:
    """Return which of some methods was played in a world, the first of them where none was."""
    return next((name for name in names if (world, name) in runs), names[0])


def _over_worlds(runs: Runs, worlds: Sequence[str], names: Sequence[str]) -> Ratio | None:
    """Return the geometric mean of a column's ratios over the worlds in which one of its methods was played."""
    one: Runs = {(world, "default"): runs[world, "default"] for world in worlds}
    one |= {(world, "column"): runs[world, name] for world in worlds for name in names if (world, name) in runs}
    return geometric(one, worlds, "column", "default")


def _losses(mine: dict[int, Record]) -> list[float]:
    return [loss for record in mine.values() for loss in record["regret"]]


def _few(values: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, set(values))))


def refusals(records: Sequence[Record]) -> list[str]:
    """Return who refused which worlds, and why."""
    found = {(record["method"], record["world"]): record["refused"] for record in records if "refused" in record}
    return [f"{method} refuses {world}: {why}" for (method, world), why in sorted(found.items())]
