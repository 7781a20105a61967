"""Write the tables of docs/performance.md anew from benchmarks/results/*.json: between `<!-- NAME -->` and `<!-- end -->`.

python benchmarks/tables.py
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scipy.stats import t

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"


def results(name: str) -> dict[str, Any]:
    """Return what a benchmark wrote."""
    found: dict[str, Any] = json.loads((HERE / "results" / f"{name}.json").read_text())
    return found


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    heads = list(heads)
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def machine(found: dict[str, Any]) -> str:
    """Return the machine of a run in one line."""
    told = found["machine"]
    device = f"{told['device']}; " if "device" in told else ""
    return device + (
        f"{told['processor']}, dgemm {told['dgemm_gflops']:g} GFLOP/s on {told['threads']} thread(s), torch {told['torch']}, "
        f"Python {told['python']}, {told['date']}."
    )


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return distinct values in order of appearance."""
    return list(dict.fromkeys(values))


def peers(name: str = "peers") -> str:
    found = results("suggest")[name]
    rows = []
    methods = ("sbo_kde", "sbo_kde_small", "erbo", "wdrbo")
    keys = ordered((r["problem"], r["method"], r["observations"]) for r in found["rows"])
    for key in sorted(keys, key=lambda key: (methods.index(key[1]), key[0], key[2])):
        runs = [r for r in found["rows"] if (r["problem"], r["method"], r["observations"]) == key]

        def median(part: str, runs: list[dict[str, Any]] = runs) -> float:
            return statistics.median(run[part] for run in runs)

        gains = [run["windward_score"] - run["botorch_score"] for run in runs]
        same = "-"
        if "botorch_same_evaluations_seconds" in runs[0]:
            same = f"{median('botorch_same_evaluations_seconds') / median('windward_same_evaluations_seconds'):.0f}"
        rows.append(
            (
                *key,
                len(runs),
                f"{median('windward_seconds'):.3f}",
                f"{median('windward_search_seconds'):.3f}",
                f"{median('botorch_seconds'):.2f}",
                f"{median('botorch_seconds') / median('windward_seconds'):.0f}",
                same,
                f"{statistics.median(gains):.1e}",
                f"{min(gains):.1e}",
            )
        )
    heads = ("problem", "method", "n", "seeds", "Windward, s", "of it search", "BoTorch, s", "end to end")
    return f"{machine(found)}\n\n" + table((*heads, "same evaluations", "score, median", "score, least"), rows)


def _timed(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in found["rows"] if "problem" in row]


def methods() -> str:
    found = results("suggest")["methods"]
    rows = _timed(found)
    n, threads = 100, 1
    problems = ordered(row["problem"] for row in rows)
    cells = {(r["problem"], r["method"]): r for r in rows if (r["observations"], r["threads"]) == (n, threads)}
    lines = []
    for method in ordered(row["method"] for row in rows):
        line: list[object] = [method]
        for problem in problems:
            row = cells.get((problem, method))
            if row is None:
                line += ["-", "-"]
            else:
                line += [
                    f"{row['refit']:.3f}" if "refit" in row else "-",
                    f"{row['kept']:.3f}" if "kept" in row else "-",
                ]
        split = cells.get((problems[0], method), {})
        parts = ("fit", "contexts", "factor", "search")
        line += [f"{1000 * split[part]:.1f}" if part in split else "-" for part in parts]
        lines.append(line)
    heads = ["method", *(f"{p}, {k}" for p in problems for k in ("refit", "kept"))]
    heads += [f"{part}, ms" for part in ("fit", "contexts", "factor", "search")]
    return f"{machine(found)}\n\n" + table(heads, lines)


def growth() -> str:
    rows = _timed(results("suggest")["methods"])
    return "\n\n".join(_growth(rows, problem) for problem in ordered(row["problem"] for row in rows))


def _growth(rows: list[dict[str, Any]], problem: str) -> str:
    rows = [row for row in rows if row["problem"] == problem]
    places = sorted({(row["threads"], row["observations"]) for row in rows})
    lines = []
    for method in ordered(row["method"] for row in rows):
        cells = {
            (row["threads"], row["observations"]): row.get("kept", row.get("refit"))
            for row in rows
            if row["method"] == method
        }
        line: list[object] = [method, *(f"{cells[place]:.3f}" if place in cells else "-" for place in places)]
        if {(1, 300), (1, 1000)} <= set(cells):
            line.append(f"{math.log(cells[1, 1000] / cells[1, 300]) / math.log(1000 / 300):.2f}")
        else:
            line.append("-")
        lines.append(line)
    heads = [f"n = {n}" if threads == 1 else f"n = {n}, {threads} threads" for threads, n in places]
    return f"{problem}:\n\n" + table(["method", *heads, "power of n"], lines)


def grid() -> str:
    rows = [row for row in results("suggest")["methods"]["rows"] if "problem" not in row]
    return table(("objective", "seconds"), [(r["method"].split("(")[1].rstrip(")"), f"{r['kept']:.3f}") for r in rows])


def worst_cases() -> str:
    found = results("worst_case")
    rows = [
        (
            r["divergence"],
            r["contexts"],
            f"{r['windward_microseconds']:.1f}",
            f"{r['cvxpy_microseconds']:.0f}",
            f"{r['ratio']:.0f}",
            f"{r['wanted']:.0f}",
            f"{r['largest_difference']:.0e}",
        )
        for r in found["rows"]
    ]
    heads = ("divergence", "contexts", "Windward, us", "CVXPY, us", "ratio", "aimed at", "difference")
    return f"{machine(found)}\n\n" + table(heads, rows)


def refits() -> str:
    found = results("refits")
    runs, lines = found["runs"], []
    for problem in ordered(run["problem"] for run in runs):
        shares = ordered(run["share"] for run in runs)
        regrets = {
            share: {r["seed"]: r["regret"] for r in runs if (r["problem"], r["share"]) == (problem, share)}
            for share in shares
        }
        base = regrets[shares[0]]
        for share in shares:
            size = statistics.mean(base.values())
            gaps = [(regrets[share][seed] - base[seed]) / size for seed in base]
            half = t.ppf(0.975, len(gaps) - 1) * statistics.stdev(gaps) / math.sqrt(len(gaps))
            seconds = statistics.mean(
                r["seconds_per_ask"] for r in runs if (r["problem"], r["share"]) == (problem, share)
            )
            gap = "-" if share == shares[0] else f"{statistics.mean(gaps):+.1%} +- {half:.1%}"
            lines.append(
                (
                    problem,
                    f"{share:g}",
                    len(gaps),
                    f"{statistics.mean(regrets[share].values()):.2f}",
                    gap,
                    f"{seconds:.3f}",
                )
            )
    heads = ("problem", "share", "seeds", "regret", "to every time", "s per ask")
    return f"{machine(found)} {found['rounds']} rounds.\n\n" + table(heads, lines)


def accelerator() -> str:
    found = results("gpu")
    rows = [
        (r["where"], r["work"], f"{r['seconds']:.3f}", f"{r['count']:.4g} {r['unit']}", f"{r['share']:.1%}")
        for r in found["rows"]
    ]
    return table(("where", "work", "seconds", "count", "share of the ceiling"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "peers": peers,
    "peers on a device": lambda: peers("peers_cuda"),
    "methods": methods,
    "growth": growth,
    "grid": grid,
    "worst cases": worst_cases,
    "refits": refits,
    "accelerator": accelerator,
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    text = PAGE.read_text()
    for name, make in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{PAGE} has no place for {name!r}.")
        made = make()
        text = pattern.sub(lambda match, made=made: f"{match[1]}{made}\n{match[2]}", text)
    PAGE.write_text(text)
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
