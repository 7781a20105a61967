"""What a recommendation costs in several versions of the library, one after the other in turn: seconds and memory.

    python benchmarks/recommend.py BEFORE AFTER [--repeats 5] [--out FILE.json]

BEFORE and AFTER are checkouts. Each measurement is a process of its own with one thread: 100 results of an invented shop are
added, one recommendation of another study warms up, then a first recommendation is timed. The least of the repeats counts;
seconds are the processor's, so what else the machine does matters little. `peak` is the process's largest memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

CASES = ("default", "cvar", "robust", "points", "points-cvar")
MANY = 10_000


def measured(case: str) -> dict[str, float]:
    """Return the seconds and the peak memory of one recommendation by the library on the path."""
    import torch

    import windward as ww

    torch.set_num_threads(1)
    space = ww.Space({"price": ww.Real(1, 6), "stock": ww.Real(0, 100)}, {"demand": ww.Real(0), "mood": ww.Real(-3, 3)})
    base = ww.Policy(context_model=ww.KernelDensity())
    policies: dict[str, Any] = {
        "default": None,
        "cvar": replace(base, objective=ww.CVaR(0.2)),
        "robust": replace(base, objective=ww.Robust(ww.TotalVariation(), 0.2), context_model=ww.KernelDensity(128, 64)),
        "points": replace(base, context_model=ww.KernelDensity(MANY)),
        "points-cvar": replace(base, objective=ww.CVaR(0.2), context_model=ww.KernelDensity(MANY)),
    }

    def study(count: int, seed: int) -> ww.Study:
        policy = policies[case]
        made = ww.Study(space, seed=seed) if policy is None else ww.Study(space, policy, seed=seed)
        chance = Random(seed)
        for _ in range(count):
            price, stock = chance.uniform(2, 4), chance.uniform(20, 80)
            demand, mood = chance.lognormvariate(4.0, 0.4), chance.uniform(-2, 2)
            sold = min(stock, demand * (1.3 - 0.2 * price + 0.05 * mood))
            value = price * sold - 0.8 * stock + chance.gauss(0, 4)
            made.add({"price": price, "stock": stock}, value, context={"demand": demand, "mood": mood})
        return made

    study(12, 1).recommend()
    made = study(100, 0)
    began = time.process_time()
    made.recommend()
    seconds = time.process_time() - began
    return {"seconds": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0}


def run(paths: list[Path], cases: list[str], repeats: int) -> list[dict[str, Any]]:
    """Measure every case of every version, the versions in turn."""
    rows = []
    for case in cases:
        found: dict[Path, list[dict[str, float]]] = {path: [] for path in paths}
        for _ in range(repeats):
            for path in paths:
                environment = {**os.environ, "PYTHONPATH": str(path.resolve()), "OMP_NUM_THREADS": "1"}
                words = [sys.executable, str(Path(__file__).resolve()), "--case", case]
                said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
                found[path].append(json.loads(said))
        for path, some in found.items():
            head = ["git", "rev-parse", "--short", "HEAD"]
            commit = subprocess.run(head, cwd=path, capture_output=True, text=True, check=True).stdout.strip()
            seconds, peak = min(each["seconds"] for each in some), min(each["peak"] for each in some)
            rows.append({"case": case, "commit": commit, "repeats": repeats, "seconds": seconds, "peak": peak})
            print(f"{case:12} {commit}  {seconds:8.3f} s  {peak / 2**30:6.2f} GiB", flush=True)
    return rows


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", type=Path, nargs="*")
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measured(arguments.case)))
        return
    rows = run(arguments.versions, arguments.cases, arguments.repeats)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
