"""Search again the best known values of problems that train a model, and print them as windward/bench/problems/best_known.py.

    python benchmarks/best_known.py --data <folder> [problem ...]

512 Sobol points on log axes, then three rounds of 96 points around the best of them, for each context. Takes some 20 minutes
on one core for all problems.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from windward.bench.problem import Problem
from windward.bench.problems import problem
from windward.contexts import sobol
from windward.space.parameters import Integer

NAMES = (
    "svm-diabetes",
    "svm-breast-cancer",
    "lr-breast-cancer",
    "cnn-digits",
    "nonstationary-svm",
    "nonstationary-svm-breast-cancer",
)
SCREEN, NEAR, SPREADS = 512, 96, (0.1, 0.03, 0.01)


def natural(task: Problem, unit: torch.Tensor) -> torch.Tensor:
    """Return points of the unit cube as decisions, along log axes; the ends are the bounds exactly."""
    columns = []
    for index, parameter in enumerate(task.space.decision.values()):
        low, high = np.log(parameter.low), np.log(parameter.high)
        column = torch.exp(low + unit[:, index] * (high - low)).clamp(parameter.low, parameter.high)
        columns.append(column.round() if isinstance(parameter, Integer) else column)
    return torch.stack(columns, -1)


def best_at(task: Problem, context: torch.Tensor) -> tuple[float, tuple[float, ...]]:
    """Return the best value found at one context, and its decision."""
    generator = torch.Generator().manual_seed(0)
    width = len(task.space.decision)
    points = torch.cat([sobol(width, SCREEN, generator), torch.zeros(1, width), torch.ones(1, width)])
    values = task.value(natural(task, points), context)
    for spread in SPREADS:
        top = points[values.argsort(descending=True)[:8]]
        near = top.repeat(NEAR // len(top), 1)
        near = (near + spread * torch.randn(near.shape, generator=generator, dtype=torch.float64)).clamp(0.0, 1.0)
        points, values = torch.cat([points, near]), torch.cat([values, task.value(natural(task, near), context)])
    place = int(values.argmax())
    return float(values[place]), tuple(natural(task, points[place][None])[0].tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of diabetes.csv")
    parser.add_argument("problems", nargs="*", default=NAMES)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.problems:
        task = problem(name, data=given.data)
        print(f'    "{name}": {{', flush=True)
        for context in task.truth.points:
            value, decision = best_at(task, context)
            print(f"        {tuple(context.tolist())}: ({value!r}, {decision!r}),", flush=True)
        print("    },", flush=True)


if __name__ == "__main__":
    main()
