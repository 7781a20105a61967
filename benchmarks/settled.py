"""Whether `Settled` stops where it may: runs of invented problems, stopped by themselves, beside what is true of them.

A run of `coverage.py` is told again, result by result. After the design each result is followed by a look: is the probability
that no decision is better by more than delta as high as wanted, in as many looks in a row as `Settled` wants? It stops there,
and the true gap between the best decision and the recommended one is compared with delta. delta is a share of the problem's
spread, which `coverage.py` has: best value less average value.

    python benchmarks/settled.py run --half choose --seeds 6 --out FILE.jsonl [--trails TRAILS.jsonl]
    python benchmarks/settled.py report FILE.jsonl
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from coverage import TRAILS, commit, know_the_best, records_in
from coverage_cases import Trails, feed
from coverage_problem import Problem
from coverage_problems import HALVES, chosen, problems
from side_by_side import done_by

import windward as ww

SHARES = (0.1, 0.25)
PROBABILITIES = (0.8, 0.9, 0.95)
MOST = 60
DESIGN = 10


def looked(problem: Problem, seed: int, trails: Trails) -> dict[str, Any]:
    """Return, for each share and probability, where the run stopped and the true gap there."""
    rows = trails.rows(problem, seed, MOST)
    study = ww.Study(
        problem.space, replace(problem.policy, design=ww.RandomDesign()), seed=seed, direction=problem.direction
    )
    _, best, spread = problem.best
    looks: list[list[float]] = []
    feed(problem, study, "run", rows[:DESIGN])
    for place in range(DESIGN, MOST):
        feed(problem, study, "run", rows[place : place + 1])
        gap = problem.sign * (best - problem.truth.value(dict(study.recommend().decision))) / spread
        looks.append([place + 1, gap, *(study.settled(share * spread) for share in SHARES)])
    return {
        "problem": problem.name,
        "seed": seed,
        "commit": trails.commit,
        "looks": looks,  # results so far, the true gap, what is said of each share
        "stopped": stops(looks),
    }


def stops(looks: list[list[float]]) -> dict[str, Any]:
    """Return where a run would have stopped, for each share and probability, and the true gap there."""
    stopped: dict[str, Any] = {}
    for place, share in enumerate(SHARES):
        for p in PROBABILITIES:
            in_a_row = 0
            for results, gap, *said in looks:
                in_a_row = in_a_row + 1 if said[place] >= p else 0
                if in_a_row >= ww.Settled(1.0).looks:
                    stopped[f"{share}/{p}"] = {"after": results, "gap": gap}
                    break
    return stopped


@dataclass(frozen=True)
class Looking:
    """One run to look at, in a process of its own or not."""

    problem: str
    seed: int
    trails: Path
    commit: str

    def __call__(self) -> dict[str, Any]:
        """Return where it stopped."""
        return looked(problems()[self.problem], self.seed, Trails(self.trails, self.commit))


def run(arguments: argparse.Namespace) -> None:
    """Look at what is not in the file yet."""
    began = time.perf_counter()
    done = {(record["problem"], record["seed"]) for record in records_in(arguments.out)}
    some = [one for one in chosen(arguments.half, arguments.only) if one.kind == "Expected" and not one.given]
    know_the_best(arguments.processes, some)
    tasks = [
        Looking(problem.name, seed, arguments.trails, commit())
        for seed in range(arguments.seeds)
        for problem in some
        if (problem.name, seed) not in done
    ]
    for record in done_by(arguments.processes, Looking.__call__, tasks):
        with arguments.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        if time.perf_counter() - began > arguments.seconds:
            print("more to look at", flush=True)
            break


def report(arguments: argparse.Namespace) -> None:
    """Print how often the true gap was at most delta, and how many of the rounds were spared."""
    records = [record for path in arguments.files for record in records_in(path)]
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        for key, stop in record["stopped"].items():
            found[key].append(stop)
    print("| delta, share of the spread | probability | runs stopped | true gap at most delta | trials spared |")
    print("| --- | --- | --- | --- | --- |")
    for key, stops in sorted(found.items()):
        share, p = key.split("/")
        held = sum(stop["gap"] <= float(share) for stop in stops)
        spared = sum(MOST - stop["after"] for stop in stops) / (MOST * len(records))
        print(f"| {share} | {p} | {len(stops)} of {len(records)} | {held} ({held / len(stops):.2f}) | {spared:.0%} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help=run.__doc__)
    running.add_argument("--half", choices=HALVES, required=True)
    running.add_argument("--seeds", type=int, default=6)
    running.add_argument("--only", nargs="+", default=[], choices=sorted(problems()))
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--trails", type=Path, default=TRAILS)
    running.add_argument("--processes", type=int, default=1)
    running.add_argument("--seconds", type=float, default=float("inf"), help="nothing more is begun after that")
    running.set_defaults(work=run)
    reporting = commands.add_parser("report", help=report.__doc__)
    reporting.add_argument("files", type=Path, nargs="+")
    reporting.set_defaults(work=report)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.work(arguments)


if __name__ == "__main__":
    main()
