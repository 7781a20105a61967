"""What guards keep and what they cost: asks whose true value is below the floor, and regret, with and without a guard.

    python benchmarks/guards.py run runs.json --seeds 20            # goes on where it stopped; --look for the other problems
    python benchmarks/guards.py table runs.json --out benchmarks/results/guards.json

Every run plays a study of 40 rounds on a world with a known truth (`guarded_problems.py`): `sbo_kde`, by the tail's average
where the world is judged by it, from the status quo on. An ask is below the floor where its true objective value is,
whatever noise and contexts brought. Regret is the truth of the best decision less that of the asked one, summed over the
rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import torch
from guarded_problems import WORLDS, World, reported

import windward as ww

ROUNDS = 40
CONFIDENCES = (0.8, 0.9)


@cache
def world_of(name: str) -> World:
    """Return a world; what it knows of its truth is kept from run to run."""
    return WORLDS[name]()


def guards_of(world: World) -> dict[str, ww.Policy]:
    """Return the policies that are played: without a guard, with a floor of each kind, and with a largest step."""
    plain = replace(ww.papers.sbo_kde(samples=48), objective=world.objective)
    value = world.sign * world.floor
    found = {"none": plain}
    for confidence in CONFIDENCES:
        found[f"floor {confidence}"] = replace(plain, guard=ww.Floor(value, confidence=confidence))
        found[f"slack {confidence}"] = replace(plain, guard=ww.Floor(slack=world.slack, confidence=confidence))
    found["step 0.1 last"] = replace(plain, guard=ww.LargestStep(0.1, "last"))
    return found


def play(name: str, label: str, seed: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return one run's record."""
    world = world_of(name)
    policy = guards_of(world)[label]
    study = ww.Study(
        world.space,
        policy,
        seed=seed,
        direction=world.direction,
        status_quo=world.status_quo,  # type: ignore[arg-type]
    )
    chance, began = Random(f"{name} {seed}"), time.perf_counter()
    truths, kinds = [], []
    for _ in range(rounds):
        one = study.ask()
        came = world.evaluate(one.decision, chance)
        study.tell(one.id, came.value, context=came.context)
        truths.append(world.truth(one.decision))
        kinds.append(one.reason.kind if one.reason is not None else None)
    best = max(world.range[1], *truths)
    below = [truth < world.floor - 1e-12 for truth in truths]
    return {
        "below": sum(below) / rounds,
        "when": [turn for turn, wrong in enumerate(below) if wrong],
        "regret": sum(best - truth for truth in truths) / (world.range[1] - world.range[0]),
        "last": mean(best - truth for truth in truths[-5:]) / (world.range[1] - world.range[0]),
        "status_quo": kinds.count("status_quo"),
        "seconds": time.perf_counter() - began,
    }


def cases(seeds: range, look: bool, labels: list[str] | None) -> Iterator[tuple[str, str, int]]:
    """Yield what is to be played."""
    for seed in seeds:
        for name in WORLDS:
            if reported(name) != look:
                for label in guards_of(world_of(name)):
                    if labels is None or label in labels:
                        yield name, label, seed


def run(out: Path, seeds: range, look: bool, labels: list[str] | None, seconds: float) -> None:
    """Play what is not there yet, for so many seconds at most."""
    made: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    began = time.perf_counter()
    for name, label, seed in cases(seeds, look, labels):
        key = f"{name} | {label} | {seed}"
        if key not in made:
            if time.perf_counter() - began > seconds:
                print("more to play")
                break
            made[key] = play(name, label, seed)
            out.write_text(json.dumps(made) + "\n")


def table(runs: Path, out: Path | None) -> None:
    """Print the shares below the floor and the regrets; write them where `out` says."""
    made: dict[str, Any] = json.loads(runs.read_text())
    rows: dict[str, dict[str, Any]] = {}
    for key, one in made.items():
        name, label, _ = key.split(" | ")
        rows.setdefault(name, {}).setdefault(label, []).append(one)
    found: dict[str, Any] = {}
    for name, by in sorted(rows.items()):
        for label, runs_of in by.items():
            found.setdefault(name, {})[label] = {
                "runs": len(runs_of),
                **{
                    field: round(mean(one[field] for one in runs_of), 4)
                    for field in ("below", "regret", "last", "status_quo")
                },
            }
    labels = list(dict.fromkeys(label for by in found.values() for label in by))
    found["all"] = {
        label: {
            field: round(mean(by[label][field] for by in found.values() if label in by), 4)
            for field in ("below", "regret", "last", "status_quo")
        }
        for label in labels
    }
    for name, by in found.items():
        for label, entry in by.items():
            print(f"{name:10s} {label:15s} " + "  ".join(f"{field} {value:.4g}" for field, value in entry.items()))
    if out is not None:
        out.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="play")
    running.add_argument("runs", type=Path)
    running.add_argument("--seeds", type=int, default=20)
    running.add_argument("--first-seed", type=int, default=0)
    running.add_argument("--look", action="store_true", help="the problems that may be tuned on")
    running.add_argument("--labels", nargs="+")
    running.add_argument("--seconds", type=float, default=1e9)
    tabling = commands.add_parser("table", help="print the table")
    tabling.add_argument("runs", type=Path)
    tabling.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.command == "table":
        table(arguments.runs, arguments.out)
    else:
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        run(arguments.runs, seeds, arguments.look, arguments.labels, arguments.seconds)


if __name__ == "__main__":
    main()
