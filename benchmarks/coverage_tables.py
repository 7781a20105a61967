"""The tables of docs/trust.md from the records of `coverage.py`, what falls short of the aims, and a summary as JSON.

    python benchmarks/coverage_tables.py FILE.jsonl [--out benchmarks/results/coverage_third.json]

`coverage.py report` shows the same records at more length.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from coverage import records_in
from coverage_problems import half_of, problems
from coverage_report import (
    LEVELS,
    MAIN,
    WIDEST,
    Record,
    bins,
    brier,
    classes,
    covered,
    geometric,
    inside,
    kind_of,
    mean_score,
    mean_width,
    rare,
    regrets,
    shortcomings,
    stated_of,
    table,
    usual_regrets,
    width_ratios,
)

KINDS, MODES = ("Expected", "CVaR", "Robust"), ("history", "run")
NAMES = {"advice": "recommended against status quo", "anywhere": "two decisions at random"}


def percent(records: Sequence[Record], digits: int) -> list[str]:
    return [f"{100 * covered(records, level):.{digits}f}" for level in LEVELS]


def overall(records: Sequence[Record]) -> str:
    """Return coverage by objective and mode."""
    rows = []
    for mode in MODES:
        for kind in KINDS:
            some = [r for r in records if r["mode"] == mode and kind_of(r) == kind]
            if some:
                rows.append([kind, mode, str(len(some)), *percent(some, 1)])
    for kind in KINDS:
        some = [r for r in records if kind_of(r) == kind]
        if some:
            rows.append([kind, "both", str(len(some)), *percent(some, 1)])
    return table(["objective", "mode", "cases", "50 %", "80 %", "90 %", "95 %"], rows)


def by_class(records: Sequence[Record]) -> str:
    """Return coverage, scores and widths of each problem and mode."""
    found = sorted(
        classes(records).items(), key=lambda item: (KINDS.index(kind_of(item[1][0])), item[0][0], item[0][1])
    )
    rows = []
    for (name, mode), some in found:
        score, width = mean_score(some) / mean_score(some, "mean"), mean_width(some) / mean_width(some, "known")
        cells = str(len(some)), *percent(some, 0), f"{100 * worse_than(some):.0f}", f"{score:.2f}", f"{width:.2f}"
        rows.append([name, kind_of(some[0]), mode, *cells])
    head = ["problem", "objective", "mode", "cases", "50 %", "80 %", "90 %", "95 %", "worse than the 90 % interval"]
    return table([*head, "score", "width"], rows)


def worse_than(records: Sequence[Record]) -> float:
    """Return how often the truth was worse than the whole 90 % interval."""
    signs = [problems()[r["problem"]].sign for r in records]
    return float(
        np.mean(
            [
                s * r["truth"] < min(s * end for end in r["intervals"]["0.9"])
                for s, r in zip(signs, records, strict=True)
            ]
        )
    )


def improvement(records: Sequence[Record]) -> str:
    """Return stated probabilities beside how often they came true, for each kind of pair."""
    parts = []
    for kind, some in stated_of(records).items():
        if kind not in NAMES:
            continue
        score, base = brier(some)
        rows = [
            [one.label, str(len(one.true)), f"{np.mean(one.stated):.2f}", f"{np.mean(one.true):.2f}", f"{one.off:+.0f}"]
            for one in bins(kind, some)
        ]
        better = float(np.mean([true for _, true in some]))
        head = f"{NAMES[kind]}: {len(some)} pairs, {better:.0%} better, Brier {score:.3f} beside {base:.3f} by the base rate"
        parts += [head, table(["said", "pairs", "mean said", "were better", "off"], rows)]
    for mode in MODES:
        some = stated_of([r for r in records if r["mode"] == mode]).get("advice")
        if some:
            parts.append(f"recommended against status quo, {mode}: {'{:.3f} beside {:.3f}'.format(*brier(some))}")
    return "\n\n".join(parts)


def shortfalls(records: Sequence[Record]) -> str:
    """Return what falls short of the aims, on these records."""
    wide = width_ratios(records)
    lines = [
        f"- Mean width over that with f known, {len(wide)} classes: {np.mean(wide):.2f} (geometric {geometric(wide):.2f}); "
        f"at most {WIDEST} is wanted."
    ]
    few = [f"{name}, {mode}: {len(some)}" for (name, mode), some in classes(records).items() if len(some) < 200]
    lines.append("- Classes with fewer than 200 cases: " + ("; ".join(few) or "none") + ".")
    return "\n".join([*lines, shortcomings(records)])


def summary(records: Sequence[Record], every: Sequence[Record]) -> dict[str, Any]:
    """Return what is kept of the records."""
    found: dict[str, Any] = {
        "commit": sorted({r["commit"] for r in records}),
        "half": half_of(records[0]["problem"]),
        "sizes": list(MAIN),
        "classes": [],
        "comparisons": {},
    }
    for (name, mode), some in classes(records).items():
        few = [r for r in every if (r["problem"], r["mode"]) == (name, mode) and r["n"] in MAIN and rare(r)]
        found["classes"].append(
            {
                "problem": name,
                "objective": kind_of(some[0]),
                "mode": mode,
                "cases": len(some),
                "held": {level: sum(inside(r, level) for r in some) for level in LEVELS},
                "few_seen": {"cases": len(few), "held_90": sum(inside(r, "0.9") for r in few)},
                "regret": float(np.mean(regrets(some))),
                "regret_of_status_quo": float(np.mean(usual_regrets(some))),
                "truth_worse_than_90": round(worse_than(some) * len(some)),
                "score_over_dirichlet": mean_score(some) / mean_score(some, "mean"),
                "width_over_known": mean_width(some) / mean_width(some, "known"),
            }
        )
    for kind, pairs in stated_of(records).items():
        if kind in NAMES:
            score, base = brier(pairs)
            found["comparisons"][kind] = {
                "pairs": len(pairs),
                "better": float(np.mean([true for _, true in pairs])),
                "said": float(np.mean([said for said, _ in pairs])),
                "brier": score,
                "base_rate": base,
                "bins": [
                    {
                        "tenth": one.tenth,
                        "cases": len(one.true),
                        "said": float(np.mean(one.stated)),
                        "true": float(np.mean(one.true)),
                    }
                    for one in bins(kind, pairs)
                ],
            }
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    every = [record for path in arguments.files for record in records_in(path)]
    records = [r for r in every if r["n"] in MAIN and not rare(r)]
    few = [r for r in every if r["n"] in MAIN and rare(r)]
    print("## Overall", overall(records), "## By problem", by_class(records), sep="\n\n")
    print("\n## Better or not", improvement(records), sep="\n\n")
    print(
        f"\n## A category seen fewer than three times: {len(few)} cases",
        f"90 %: {percent(few, 0)[2]}" if few else "",
        sep="\n\n",
    )
    print("\n## What falls short", shortfalls(records), sep="\n\n")
    if arguments.out:
        arguments.out.write_text(json.dumps(summary(records, every), indent=1) + "\n")


if __name__ == "__main__":
    main()
