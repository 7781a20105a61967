"""What a refit schedule costs and saves: regret and seconds of SBO-KDE when hyper-parameters are searched less often.

The observations must grow by a share before the next search: 0 searches at every suggestion. On four problems with
contexts, the cumulative regret of the expected value after 100 rounds; paired over seeds (same contexts, same noise), the
difference to searching every time with its 95 % interval, as a share of that regret.

    python benchmarks/refits.py [--shares 0 0.05 0.1] [--seeds 10] [--rounds 100] [--workers 2] [--out ...]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from machine import described
from scipy.stats import t

import windward as ww
from windward.bench.problems import problem

PROBLEMS = ("ackley-2-1", "branin-2-2", "hartmann-5-1", "newsvendor")


def one_run(name: str, share: float, seed: int, rounds: int) -> dict[str, object]:
    """Return the cumulative regret and the seconds spent asking."""
    torch.set_num_threads(1)
    world = problem(name)
    policy = replace(ww.papers.sbo_kde(), surrogate=ww.GaussianProcess(refit=share))
    study = ww.Study(world.space, policy, seed=seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    contexts = torch.stack([world.draw(turn, generator) for turn in range(rounds)])
    decisions, asking = [], 0.0
    for turn in range(rounds):
        began = time.perf_counter()
        suggestion = study.ask()
        asking += time.perf_counter() - began
        x = torch.tensor([list(suggestion.decision.values())], dtype=torch.float64)
        decisions.append(x)
        value = float(world.value(x, contexts[turn : turn + 1]))
        context = dict(zip(world.space.context, contexts[turn].tolist(), strict=True))
        study.tell(suggestion.id, value, context=context)
    best = world.optimum(ww.Expected()).value
    regret = float((best - world.worth(ww.Expected(), torch.cat(decisions))).sum())
    return {"problem": name, "share": share, "seed": seed, "regret": regret, "seconds_per_ask": asking / rounds}


def report(runs: list[dict[str, object]], shares: list[float]) -> None:
    print(f"\n{'problem':>14} {'share':>6} {'regret':>9} {'to every time':>22} {'s per ask':>10}")
    for name in PROBLEMS:
        rows = {
            share: sorted((r for r in runs if (r["problem"], r["share"]) == (name, share)), key=lambda r: r["seed"])
            for share in shares
        }
        base = np.array([r["regret"] for r in rows[shares[0]]], dtype=float)
        for share in shares:
            regret = np.array([r["regret"] for r in rows[share]], dtype=float)
            gap = (regret - base) / base.mean()
            half = t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / math.sqrt(len(gap))
            seconds = float(np.mean([r["seconds_per_ask"] for r in rows[share]]))
            print(f"{name:>14} {share:>6} {regret.mean():>9.2f} {gap.mean():>+12.1%} +- {half:.1%} {seconds:>12.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.05, 0.1])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "refits.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    machine = described()
    jobs = [(name, share, seed) for seed in range(arguments.seeds) for name in PROBLEMS for share in arguments.shares]
    with ProcessPoolExecutor(arguments.workers) as pool:
        runs = list(pool.map(one_run, *zip(*jobs, strict=True), [arguments.rounds] * len(jobs)))
    report(runs, arguments.shares)
    arguments.out.write_text(
        json.dumps({"machine": machine, "rounds": arguments.rounds, "runs": runs}, indent=1) + "\n"
    )
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
