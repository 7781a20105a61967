"""What keeping a distance from pending decisions does to the order of Verma2022: the same runs with and without it.

    python benchmarks/pending_distance.py verma2022-fig1 --problem "Poisson(10)"
    python benchmarks/pending_distance.py verma2022-fig2 --problem "SVM Poisson(10)" --data FOLDER

Prints, for the distance as it is and for none, the mean (standard error) of the metric at the last round, and by how much
GP-UCB-SDF is better than the others with its 95 % interval, paired by seed. docs/reproduction.md says what was found.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import torch
from scipy.stats import t

from windward import maximize, region
from windward.bench.experiments import experiment
from windward.bench.play import run_one

METHODS = ("GP-UCB", "GP-BUCB", "GP-UCB-SDF")


def measure(name: str, problem: str, seeds: int, rounds: int, data: Path | None) -> dict[str, np.ndarray]:
    found = experiment(name)
    metric = found.metrics[0].name
    last = {
        method: [run_one(found, problem, method, seed, rounds, data)["series"][metric][-1] for seed in range(seeds)]
        for method in METHODS
    }
    return {method: np.array(values, dtype=float) for method, values in last.items()}


def show(title: str, values: dict[str, np.ndarray]) -> None:
    print(title)
    for method, row in values.items():
        line = f"  {method:12} {row.mean():8.4f} ({row.std(ddof=1) / math.sqrt(len(row)):.4f})"
        if method != METHODS[-1]:
            gaps = row - values[METHODS[-1]]
            half = float(t.ppf(0.975, len(gaps) - 1)) * gaps.std(ddof=1) / math.sqrt(len(gaps))
            line += f"   GP-UCB-SDF better by {gaps.mean():.4f} [{gaps.mean() - half:.4f}, {gaps.mean() + half:.4f}]"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=("verma2022-fig1", "verma2022-fig2"))
    parser.add_argument("--problem", required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--data", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for distance in (region.LEAST_DISTANCE, 0.0):
        region.LEAST_DISTANCE = maximize.LEAST_DISTANCE = distance
        values = measure(asked.experiment, asked.problem, asked.seeds, asked.rounds, asked.data)
        show(f"{asked.experiment}, {asked.problem}, least distance {distance:g}", values)


if __name__ == "__main__":
    main()
