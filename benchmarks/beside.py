"""Whether a suggestion has become slower: its processor time beside that of another version of the code, in turn.

Every method of the papers with n observations at Sobol decisions, as in `suggest.py`: `refit` searches hyper-parameters from
the last fit, `kept` does not. Both versions run in processes of their own, and take turns. Printed, for each method and
problem: the least milliseconds of several runs here, and over those of the other version. Processor time moves little with
what else a machine does; a ratio of 1.05 is nothing yet, several of one method are.

    git worktree add ../before COMMIT
    python benchmarks/beside.py ../before [--observations 100] [--problems ...] [--only ...] [--repeats 8]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from observations import PROBLEMS, methods, observed

import windward as ww
from windward.surrogate import Start

try:
    from windward.suggest.prepare import Request
    from windward.suggest.suggest import suggest
except ImportError:  # a version of before the rooms
    from windward.policy import Request, suggest  # type: ignore[attr-defined, no-redef]

KINDS = ("refit", "kept")


def work() -> None:
    """Answer with seconds what is asked on standard input: a method on a problem, then runs of it."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        asked = json.loads(line)
        if "method" in asked:
            name, n = asked["problem"], asked["observations"]
            policy, trials = methods(name)[asked["method"]], observed(name, n, 0)
            # A running study holds the fit and the posterior of its last ask, one observation ago.
            before = suggest(policy, observed(name, n - 1, 0), Request(), torch.Generator().manual_seed(0))
            fit = before.hyperparameters
            starts = {"refit": Start(fit), "kept": Start(fit, keep=True, fitted=n - 2, previous=before.posterior)}
            print("ready", flush=True)
            continue
        generator, began = torch.Generator().manual_seed(asked["seed"]), time.process_time()
        suggest(policy, trials, Request(start=starts[asked["kind"]]), generator)
        print(time.process_time() - began, flush=True)


class Worker:
    """A process that has one version of the code."""

    def __init__(self, code: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(code), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, what: dict[str, Any]) -> str:
        """Send a line; return the line that comes back."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()


def compared(here: Worker, other: Worker, kind: str, repeats: int) -> tuple[float, float]:
    """Return the least seconds of both; who begins alternates, and the first turn warms up."""
    seconds: dict[Worker, list[float]] = {here: [], other: []}
    for turn in range(repeats + 1):
        for worker in (here, other) if turn % 2 else (other, here):
            took = float(worker.ask({"kind": kind, "seed": turn}))
            seconds[worker] += [took] if turn else []
    return min(seconds[here]), min(seconds[other])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the folder of the other version")
    parser.add_argument("--observations", type=int, default=100)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--only", nargs="+", help="these methods alone")
    parser.add_argument("--repeats", type=int, default=8)
    options = parser.parse_args()
    here, other = Worker(Path(ww.__file__).parents[1]), Worker(options.other.resolve())
    ratios: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for name in options.problems:
        for label in methods(name):
            if options.only and label not in options.only:
                continue
            for worker in (here, other):
                worker.ask({"problem": name, "method": label, "observations": options.observations})
            said = []
            for kind in KINDS:
                mine, theirs = compared(here, other, kind, options.repeats)
                ratios[kind].append(mine / theirs)
                said.append(f"{kind} {1e3 * mine:7.1f} ms, {mine / theirs:5.2f}")
            print(f"{name:>13} {label:<17} {'   '.join(said)}", flush=True)
    for kind, found in ratios.items():
        print(f"{kind}: median {statistics.median(found):.2f}, {min(found):.2f} to {max(found):.2f}")


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main()
