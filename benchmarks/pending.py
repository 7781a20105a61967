"""What pending trials cost: a suggestion with 500 arrived and 500 pending beside one with 1000 arrived.

How well the methods do under delays is an experiment: `windward bench run verma2022-fig1` and its sisters.

    python benchmarks/pending.py [--repeats 3] [--out ...]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

import torch
from machine import described

import windward as ww
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import Start

COUNT = 1000
TOLD = {"1000 arrived": COUNT, "500 arrived, 500 pending": COUNT // 2}
FEEDBACK = {"Hallucinate": ww.Hallucinate(), "Censor": ww.Censor(0.0, 20)}


def trials_of(told: int) -> ww.Trials:
    """Return the same decisions every time, the first `told` of them with their values."""
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)})
    now, generator = datetime(2026, 1, 1, tzinfo=UTC), torch.Generator().manual_seed(0)
    rows = torch.rand(COUNT, 2, generator=generator, dtype=torch.float64).tolist()
    return ww.Trials(
        space,
        tuple(
            ww.Trial(
                id,
                {"a": a, "b": b},
                value=math.sin(5 * a) + b if id < told else None,
                asked_at=now,
                turn=id,
                delay=0 if id < told else None,
            )
            for id, (a, b) in enumerate(rows)
        ),
    )


def seconds_of(feedback: ww.Hallucinate | ww.Censor, told: int, repeats: int) -> float:
    """Return the median seconds of a suggestion that starts from a fit."""
    policy = ww.Policy(context_model=ww.Empirical(), feedback=feedback)
    fit = suggest(policy, trials_of(told), Request(), torch.Generator().manual_seed(0)).hyperparameters
    times = []
    for seed in range(repeats):
        trials = trials_of(told)
        began = time.perf_counter()
        suggest(policy, trials, Request(start=Start(fit)), torch.Generator().manual_seed(seed))
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "pending.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    machine, pending = described(), dict[str, float]()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    for name, feedback in FEEDBACK.items():
        full, half = (seconds_of(feedback, told, arguments.repeats) for told in TOLD.values())
        pending |= {f"{name}, {label}": found for label, found in zip(TOLD, (full, half), strict=True)}
        print(f"{name}: 1000 arrived {full:.2f} s, 500 arrived and 500 pending {half:.2f} s, ratio {half / full:.2f}")
    arguments.out.write_text(json.dumps({"machine": machine, "pending": pending}, indent=1) + "\n")
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
