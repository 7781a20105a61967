"""The tables of `coverage.py`: coverage by class, the interval score, widths, probabilities, regret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from coverage_problems import problems

Record = dict[str, Any]
LEVELS = ("0.5", "0.8", "0.9", "0.95")
# Main sizes are pooled; fewer sightings of a category than this stand apart; a bin of fewer cases proves nothing.
MAIN, SIGHTINGS, FULL_BIN = (30, 60, 120), 3, 50
MOST_OFF = 10.0  # points
# What must be shown at 90 %: overall and in the worst class, by objective; the widest mean width in widths with f known.
EXPECTED, OTHER, WIDEST = (0.87, 0.94, 0.80), (0.80, 1.0, 0.70), 2.2


def page(title: str, records: Sequence[Record]) -> str:
    """Return every table of one file as Markdown, those of each caution apart."""
    commits = ", ".join(f"{name} ({count})" for name, count in Counter(r["commit"] for r in records).items())
    parts = [f"# Coverage: {title}", f"Commits (records): {commits}."]
    cautions = sorted({r["caution"] for r in records}, key=str)
    for caution in cautions:
        if caution is not None:
            parts.append(f"# Caution {caution}")
        parts += sections([r for r in records if r["caution"] == caution])
    if len(cautions) > 1:
        parts += ["# Regret by caution", regret_table(records, "caution")]
    return "\n\n".join(parts) + "\n"


def sections(records: Sequence[Record]) -> list[str]:
    """Return the tables of one caution; those that need references or comparisons where there are any."""
    main = [r for r in records if r["n"] in MAIN and not rare(r)]
    early, few = [r for r in records if r["n"] == 15], [r for r in records if r["n"] in MAIN and rare(r)]
    seen = [(f"seen {times} times", lambda r, times=times: r["least"] == times) for times in range(SIGHTINGS)]
    referred = [r for r in main if "references" in r]
    parts = [
        "## Classes: n = 30, 60, 120",
        "Coverage in per cent with its binomial standard error. Score and width at 90 %: over those of Dirichlet weights with "
        "f at its posterior mean, and over the width with f known.",
        class_table(main),
        "## Overall",
        pooled_table(main, ("n = 30, 60, 120", lambda r: True)),
        pooled_table(main, *((f"n = {n}", lambda r, n=n: r["n"] == n) for n in MAIN)),
    ]
    if early:
        parts += ["## n = 15", pooled_table(early, ("n = 15", lambda r: True)), reliability(early)]
    if few:
        parts += ["## A category seen fewer than three times", pooled_table(few, *seen)]
    if referred:
        parts += ["## References at 90 %", reference_table(referred)]
    parts += ["## Probability of improvement", reliability(main)]
    parts += ["## Regret", regret_table(records, "n"), seconds_line(records), "## What is missed", shortcomings(main)]
    return parts


def rare(record: Record) -> bool:
    return record["least"] is not None and record["least"] < SIGHTINGS


def kind_of(record: Record) -> str:
    return problems()[record["problem"]].kind


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def inside(record: Record, level: str) -> bool:
    low, high = record["intervals"][level]
    return bool(low <= record["truth"] <= high)


def covered(records: Sequence[Record], level: str) -> float:
    return float(np.mean([inside(r, level) for r in records]))


def share(hits: Sequence[bool]) -> str:
    """Return a share in per cent with its binomial standard error."""
    if not len(hits):
        return "-"
    p, n = float(np.mean(hits)), len(hits)
    return f"{100 * p:.0f} ({100 * np.sqrt(p * (1 - p) / n):.0f})"


def score(interval: Sequence[float], truth: float, level: float = 0.9) -> float:
    """Return the interval score: the width, and 2 / (1 - level) for each unit by which the truth is missed."""
    low, high = interval
    return high - low + 2.0 / (1.0 - level) * (max(low - truth, 0.0) + max(truth - high, 0.0))


def mean_score(records: Sequence[Record], of: str | None = None) -> float:
    """Return the mean interval score of the study, or of a reference."""
    return float(np.mean([score(r["references"][of] if of else r["intervals"]["0.9"], r["truth"]) for r in records]))


def mean_width(records: Sequence[Record], of: str | None = None) -> float:
    return float(np.mean([np.ptp(r["references"][of] if of else r["intervals"]["0.9"]) for r in records]))


def width_ratios(records: Sequence[Record], of: str = "known") -> list[float]:
    """Return the mean width of each class over that of a reference."""
    return [mean_width(some) / mean_width(some, of) for some in classes(records).values()]


def geometric(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def flattered(records: Sequence[Record]) -> str:
    """Return how often the truth was worse than the whole 90 % interval, and how often better, in per cent."""
    signs = [problems()[r["problem"]].sign for r in records]
    worse = [
        s * r["truth"] < min(s * end for end in r["intervals"]["0.9"]) for s, r in zip(signs, records, strict=True)
    ]
    better = [
        s * r["truth"] > max(s * end for end in r["intervals"]["0.9"]) for s, r in zip(signs, records, strict=True)
    ]
    return f"{100 * np.mean(worse):.0f} / {100 * np.mean(better):.0f}"


def regrets(records: Sequence[Record]) -> list[float]:
    """Return what each recommendation loses against the best decision, as a share of the problem's spread."""
    return [
        max(problems()[r["problem"]].sign * (r["best"] - r["truth"]), 0.0) / max(r["spread"], 1e-12) for r in records
    ]


def classes(records: Sequence[Record]) -> dict[tuple[str, str], list[Record]]:
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record["problem"], record["mode"]), []).append(record)
    order = list(problems())
    return dict(sorted(found.items(), key=lambda item: (item[0][1], order.index(item[0][0]))))


def figures(records: Sequence[Record]) -> list[str]:
    """Return the cells that every table of coverage has."""
    shares = [share([inside(r, level) for r in records]) for level in LEVELS]
    return [str(len(records)), *shares, flattered(records)]


COLUMNS = ("cases", "50", "80", "90", "95", "worse / better")


def class_table(records: Sequence[Record]) -> str:
    rows = []
    for (name, mode), some in classes(records).items():
        ratios = ["-", "-"]
        if all("references" in r for r in some):
            score_ratio = mean_score(some) / mean_score(some, "mean")
            ratios = [f"{score_ratio:.2f}", f"{mean_width(some) / mean_width(some, 'known'):.2f}"]
        rows.append([name, mode, kind_of(some[0]), *figures(some), *ratios, f"{np.mean(regrets(some)):.3f}"])
    return table(["problem", "mode", "objective", *COLUMNS, "score", "width", "regret"], rows)


def pooled_table(records: Sequence[Record], *groups: tuple[str, Callable[[Record], bool]]) -> str:
    """Return coverage by objective and mode for each group."""
    rows = []
    for label, belongs in groups:
        for kind in ("Expected", "CVaR", "Robust"):
            here = [r for r in records if belongs(r) and kind_of(r) == kind]
            modes = sorted({r["mode"] for r in here})
            rows += [[label, kind, mode, *figures([r for r in here if r["mode"] == mode])] for mode in modes]
            if len(modes) > 1:
                rows.append([label, kind, "both", *figures(here)])
    return table(["", "objective", "mode", *COLUMNS], rows)


def reference_table(records: Sequence[Record]) -> str:
    """Return how often each reference covers, and the study's own score and width over its, by class."""
    rows = []
    for kind in ("Expected", "CVaR", "Robust"):
        some = [r for r in records if kind_of(r) == kind]
        own = classes(some).values()
        for name in ("mean", "draws", "known") if some else ():
            hits = [r["references"][name][0] <= r["truth"] <= r["references"][name][1] for r in some]
            scores = [mean_score(one) / mean_score(one, name) for one in own]
            widths = width_ratios(some, name)
            cells = geometric(scores), max(scores), geometric(widths), float(np.mean(widths)), max(widths)
            rows.append([kind, name, share(hits), *(f"{cell:.2f}" for cell in cells)])
    head = ["objective", "Dirichlet weights, f by its", "it covers", "score, geometric mean", "worst class"]
    return table([*head, "width, geometric mean", "mean", "widest class"], rows)


@dataclass(frozen=True)
class Bin:
    """Stated probabilities of one kind of pair within a tenth, and how often they came true."""

    kind: str
    tenth: int
    stated: Sequence[float]
    true: Sequence[bool]

    @property
    def off(self) -> float:
        """How far, in points, the share that came true lies above what was said."""
        return 100.0 * (float(np.mean(self.true)) - float(np.mean(self.stated)))

    @property
    def wrong(self) -> bool:
        """Whether it is off by more than ten points on enough cases."""
        return abs(self.off) > MOST_OFF and len(self.true) >= FULL_BIN

    @property
    def label(self) -> str:
        """The tenth in words."""
        return f"{self.tenth / 10:.1f} to {self.tenth / 10 + 0.1:.1f}"


def stated_of(records: Sequence[Record]) -> dict[str, list[tuple[float, bool]]]:
    """Return what was said of each kind of pair, and whether the second was better; all of them last."""
    said: dict[str, list[tuple[float, bool]]] = {}
    for record in records:
        for one in record.get("comparisons", ()):
            said.setdefault(one["kind"], []).append((one["probability"], one["better"]))
    return said and {**said, "all": [one for each in said.values() for one in each]}


def bins(kind: str, some: Sequence[tuple[float, bool]]) -> list[Bin]:
    found = []
    for tenth in range(10):
        here = [one for one in some if min(int(one[0] * 10), 9) == tenth]
        if here:
            found.append(Bin(kind, tenth, *zip(*here, strict=True)))
    return found


def brier(some: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Return the Brier score of what was said, and that of the base rate."""
    stated, true = np.array([p for p, _ in some]), np.array([b for _, b in some], dtype=float)
    return float(np.mean((stated - true) ** 2)), float(true.mean() * (1 - true.mean()))


def reliability(records: Sequence[Record]) -> str:
    """Return stated probabilities in bins of 0.1 beside how often they came true, and Brier scores."""
    rows = []
    for kind, some in stated_of(records).items():
        for one in bins(kind, some):
            said = one.label, str(len(one.true)), f"{100 * np.mean(one.stated):.0f}"
            rows.append([kind, *said, share(one.true), f"{one.off:+.0f}{' (!)' if one.wrong else ''}"])
        score, base = brier(some)
        rows.append([kind, "Brier", str(len(some)), f"{score:.3f}", f"base rate {base:.3f}", ""])
    return table(["pair", "said", "cases", "mean said", "true", "off"], rows) if rows else "Nothing was compared."


def regret_table(records: Sequence[Record], by: str) -> str:
    """Return the mean regret by size or by caution, each class weighing the same, beside the status quo's."""
    rows = []
    for mode in ("history", "run"):
        some = [r for r in records if r["mode"] == mode]
        for step in sorted({r[by] for r in some}, key=lambda step: (isinstance(step, str), step or 0.0)):
            these = classes([r for r in some if r[by] == step]).values()
            means = [float(np.mean(regrets(one))) for one in these]
            usual = [float(np.mean(usual_regrets(one))) for one in these]
            worst = [float(np.quantile(regrets(one), 0.9)) for one in these]
            lost = np.mean([x > y for one in these for x, y in zip(regrets(one), usual_regrets(one), strict=True)])
            cells = np.mean(means), np.mean(worst), np.mean(usual)
            count = str(sum(map(len, these)))
            rows.append([mode, str(step), count, *(f"{cell:.4f}" for cell in cells), f"{100 * lost:.0f} %"])
    head = [
        "mode",
        by,
        "cases",
        "mean regret",
        "90 % quantile",
        "regret of the status quo",
        "worse than the status quo",
    ]
    return table(head, rows)


def usual_regrets(records: Sequence[Record]) -> list[float]:
    return regrets([r | {"truth": r["status_quo"]} for r in records])


def seconds_line(records: Sequence[Record]) -> str:
    times = [
        f"{np.median([r['seconds'] for r in records if r['n'] == n]):.2f} s at n = {n}"
        for n in sorted({r["n"] for r in records})
    ]
    return f"Median time of a recommendation: {', '.join(times)}."


def shortcomings(records: Sequence[Record]) -> str:
    """Return what falls short of what must be shown at 90 %."""
    lines = []
    for kinds, (low, high, worst) in ((("Expected",), EXPECTED), (("CVaR",), OTHER), (("Robust",), OTHER)):
        some = [r for r in records if kind_of(r) in kinds]
        wide = width_ratios([r for r in some if "references" in r])
        if wide and geometric(wide) > WIDEST:
            lines.append(f"{kinds[0]}: on average {geometric(wide):.2f} times the width with f known, above {WIDEST}.")
        if some and not low <= covered(some, "0.9") <= high:
            lines.append(
                f"{kinds[0]}: {100 * covered(some, '0.9'):.1f} % overall, not {100 * low:.0f} to {100 * high:.0f}."
            )
        for (name, mode), one in classes(some).items():
            if covered(one, "0.9") < worst:
                lines.append(f"{name}, {mode}: {100 * covered(one, '0.9'):.0f} %, below {100 * worst:.0f}.")
            if all("references" in r for r in one) and mean_score(one) >= mean_score(one, "mean"):
                lines.append(f"{name}, {mode}: the score is not better than with Dirichlet weights alone.")
    for kind, some in stated_of(records).items():
        for one in bins(kind, some):
            if one.wrong:
                lines.append(f"{kind}, said {one.label}: off by {one.off:+.0f} points in {len(one.true)} cases.")
        score, base = brier(some)
        if score >= base:
            lines.append(f"{kind}: Brier score {score:.3f}, not below the base rate's {base:.3f}.")
    return "\n".join(f"- {line}" for line in lines) or "Nothing."
