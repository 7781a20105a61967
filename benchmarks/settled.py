"""Whether `Settled` stops where it may: runs of invented problems that stop by themselves, beside what is true of them.

A run asks, tells and looks as `Study.run(until=ww.Settled(delta, probability, checks=k))` does: once enough looks in a row say
that it is settled it asks decisions far from all others, one for each check, and stops where it still says so. The true gap
between the best decision and the recommended one is then compared with delta. delta is a share of the problem's spread, which
`coverage.py` has: best value less average value.

A run with 8 checks is at first the run with 0, 1, ... 7 of them, and a run with a higher probability is at first one with a
lower. So all of them are branches of one run, and what they share is computed once.

    python benchmarks/settled.py run --half choose --seeds 4 --out FILE.jsonl [--policy default]
    python benchmarks/settled.py report FILE.jsonl
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from coverage import commit, know_the_best, records_in
from coverage_cases import chance_of, evaluated
from coverage_problem import Problem
from coverage_problems import HALVES, chosen, problems
from side_by_side import done_by

import windward as ww

SHARES = (0.1, 0.25)
PROBABILITIES = (0.8, 0.9, 0.95)
MOST = 60
MOST_CHECKS = 8
LOOKS = ww.Settled(1.0).looks
NAME = "run"
# Whose asks they are: the papers' that `coverage.py` measures, or those of a study where nothing else was said.
POLICIES = {"sbo": lambda problem: problem.policy, "default": lambda problem: ww.auto()}


@dataclass
class Branch:
    """A run so far, in a file, and how many looks in a row have agreed, for each share and probability it is the run of."""

    path: Path
    agreed: dict[str, int]
    looked: int = -1

    def __post_init__(self) -> None:
        self.study = ww.Study.open(NAME, journal=f"sqlite:///{self.path}")

    def parted(self, keys: list[str], path: Path) -> Branch:
        """Return a branch that goes on with these of the keys, from a copy of the file."""
        shutil.copy(self.path, path)
        return Branch(path, {key: self.agreed.pop(key) for key in keys}, self.looked)


def played(problem: Problem, seed: int, policy: str, folder: Path) -> dict[str, dict[int, dict[str, float]]]:
    """Return where the run of each share and probability would have stopped with 0, 1, ... checks, and the true gap there."""
    chance = chance_of(problem, "run", seed)
    columns = problem.contexts(MOST, chance)
    contexts, luck = problem.rows(columns), chance.integers(2**63, size=MOST)
    _, best, spread = problem.best
    first = folder / "0.db"
    journal = ww.SqlJournal(f"sqlite:///{first}")
    ww.Study(
        problem.space, POLICIES[policy](problem), name=NAME, seed=seed, direction=problem.direction, journal=journal
    )
    journal.close()
    keys = [f"{share}/{p}" for share in SHARES for p in PROBABILITIES]
    branches, parts = [Branch(first, dict.fromkeys(keys, 0))], 0
    stopped: dict[str, dict[int, dict[str, float]]] = {key: {} for key in keys}
    for place in range(MOST + 1):
        for branch in list(branches):
            study = branch.study
            settled = look(branch, spread)
            checked = sum(trial.far for trial in study.trials)
            if settled:
                gap = problem.sign * (best - problem.truth.value(dict(study.recommend().decision))) / spread
                for key in settled:
                    stopped[key].setdefault(checked, {"after": place, "gap": gap})
            if checked >= MOST_CHECKS:
                for key in settled:
                    del branch.agreed[key]
                settled = []
            if not branch.agreed:
                branches.remove(branch)
                continue
            if settled and len(settled) < len(branch.agreed):
                parts += 1
                other = branch.parted(settled, folder / f"{parts}.db")
                branches.append(other)
                forward(other, problem, place, columns, contexts, luck, far=True)
                settled = []
            forward(branch, problem, place, columns, contexts, luck, far=bool(settled))
    return stopped


def look(branch: Branch, spread: float) -> list[str]:
    """Return the shares and probabilities for which enough looks in a row say that the branch is settled."""
    study, trials = branch.study, branch.study.trials
    if not study.policy.past_design(trials):
        return []
    said = {share: study.settled(share * spread) for share in SHARES}
    for key in branch.agreed:
        share, p = map(float, key.split("/"))
        branch.agreed[key] = branch.agreed[key] + 1 if said[share] >= p else 0
    return [key for key, count in branch.agreed.items() if count >= LOOKS]


def forward(
    branch: Branch,
    problem: Problem,
    place: int,
    columns: dict[str, Any],
    contexts: list[dict[str, Any]],
    luck: Any,
    *,
    far: bool,
) -> None:
    """Ask one decision, far from all others or not, and tell what came of it."""
    if place == MOST:
        return
    asked = branch.study.ask(far=far)
    told = evaluated(problem, asked.decision, columns, place, np.random.default_rng(int(luck[place])))
    branch.study.tell(asked.id, told, context=contexts[place])


@dataclass(frozen=True)
class Looking:
    """One run to look at, in a process of its own or not."""

    problem: str
    seed: int
    policy: str
    commit: str

    def __call__(self) -> dict[str, Any]:
        """Return where it stopped."""
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            stopped = played(problems()[self.problem], self.seed, self.policy, Path(folder))
        return {**vars(self), "seconds": round(time.perf_counter() - began, 1), "stopped": stopped}


def run(arguments: argparse.Namespace) -> None:
    """Play what is not in the file yet."""
    began = time.perf_counter()
    done = {(record["problem"], record["seed"], record["policy"]) for record in records_in(arguments.out)}
    some = [one for one in chosen(arguments.half, arguments.only) if one.kind == "Expected" and not one.given]
    know_the_best(arguments.processes, some)
    tasks = [
        Looking(problem.name, seed, arguments.policy, commit())
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        for problem in some
        if (problem.name, seed, arguments.policy) not in done
    ]
    for record in done_by(arguments.processes, Looking.__call__, tasks):
        with arguments.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
        if time.perf_counter() - began > arguments.seconds:
            print("more to look at", flush=True)
            break


def stops(records: list[dict[str, Any]], key: str, checks: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the problem and the stop of each run that stopped by this rule."""
    for record in records:
        found = record["stopped"][key].get(str(checks))
        if found is not None:
            yield record["problem"], found


def report(arguments: argparse.Namespace) -> None:
    """Print how often the true gap was at most delta, and how many of the rounds were spared."""
    records = [record for path in arguments.files for record in records_in(path)]
    print(
        "| checks | delta, share of the spread | probability | runs stopped | true gap at most delta | trials spared |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for checks in arguments.checks:
        wrong: dict[str, int] = defaultdict(int)
        for key in (f"{share}/{p}" for share in SHARES for p in PROBABILITIES):
            share, p = key.split("/")
            found = list(stops(records, key, checks))
            held = 0
            for problem, stop in found:
                held += stop["gap"] <= float(share)
                wrong[problem] += stop["gap"] > float(share)
            spared = sum(MOST - stop["after"] for _, stop in found) / (MOST * len(records))
            right = f"{held} ({held / len(found):.2f})" if found else "0"
            print(f"| {checks} | {share} | {p} | {len(found)} of {len(records)} | {right} | {spared:.0%} |")
        print(f"\nwrong with {checks}:", ", ".join(f"{name} {count}" for name, count in wrong.items() if count), "\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help=run.__doc__)
    running.add_argument("--half", choices=HALVES, required=True)
    running.add_argument("--seeds", type=int, default=4)
    running.add_argument("--first-seed", type=int, default=0)
    running.add_argument("--only", nargs="+", default=[], choices=sorted(problems()))
    running.add_argument("--policy", choices=sorted(POLICIES), default="sbo")
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--processes", type=int, default=1)
    running.add_argument("--seconds", type=float, default=float("inf"), help="nothing more is begun after that")
    running.set_defaults(work=run)
    reporting = commands.add_parser("report", help=report.__doc__)
    reporting.add_argument("files", type=Path, nargs="+")
    reporting.add_argument("--checks", type=int, nargs="+", default=[0, ww.Settled(1.0).checks])
    reporting.set_defaults(work=report)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.work(arguments)


if __name__ == "__main__":
    main()
