"""Variances at 1024 listed decisions and 64 contexts, kept from ask to ask, beside the same computed anew.

    python benchmarks/gridded.py

Seconds of processor time, one thread, for one more observation; `gap` is the largest difference of a variance or a mean.
"""

from __future__ import annotations

import time

import torch

from windward.bench.gridded import Gridded, OnGrid
from windward.bench.problems import problem
from windward.surrogate import GaussianProcess, Hyperparameters, Start, Unscaled
from windward.trials.trials import Dataset

FIXED = Hyperparameters(0.0, (0.1,), 1.0, 1e-4)
PROCESS = GaussianProcess(outcome=Unscaled(), fixed=FIXED)
SIZES = (100, 300, 1000)
TOGETHER = 2048  # decisions at once, as a score of 64 contexts takes them


def observed(name: str, count: int) -> tuple[Dataset, torch.Tensor, torch.Tensor]:
    """Return observations at random places of a problem's grids, its decisions and its contexts."""
    task, generator = problem(name, seed=0), torch.Generator().manual_seed(0)
    assert task.decisions is not None
    x = task.decisions[torch.randint(len(task.decisions), (count,), generator=generator)]
    c = task.truth.points[torch.randint(len(task.truth.points), (count,), generator=generator)]
    y = task.value(x, c) + task.noise * torch.randn(count, generator=generator, dtype=torch.float64)
    unknown = torch.full((count,), float("nan"), dtype=torch.float64)
    data = Dataset(x, c, y, unknown, task.space.roles, changed=tuple(range(count)))
    return data, task.decisions, task.truth.points


def measured(name: str, size: int) -> tuple[float, float, float]:
    """Return the seconds of the kept way and of the direct one, and how far they are apart."""
    data, decisions, contexts = observed(name, size + 1)
    surrogate, before = Gridded(PROCESS, tuple(map(tuple, decisions.tolist()))), None
    for count in (size, size + 1):
        before = surrogate.fit(data.first(count), Start(FIXED, keep=True, fitted=size, previous=before))
        began = time.process_time()
        kept = before.marginals(decisions, contexts)
        seconds = time.process_time() - began
    assert isinstance(before, OnGrid)
    began = time.process_time()
    parts = [before.posterior.marginals(some, contexts) for some in torch.split(decisions, TOGETHER)]
    direct_seconds = time.process_time() - began
    mean, std = (torch.cat(part) for part in zip(*parts, strict=True))
    gap = max(float((kept[0] - mean).abs().max()), float((kept[1].square() - std.square()).abs().max()))
    return seconds, direct_seconds, gap


def main() -> None:
    """Print a row for each problem and size."""
    torch.set_num_threads(1)
    print("| problem | observations | kept, s | anew, s | ratio | gap |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in ("hartmann-2-1", "gp-2-2"):
        for size in SIZES:
            kept, direct, gap = measured(name, size)
            print(f"| {name} | {size:,} | {kept:.3f} | {direct:.2f} | {direct / kept:.0f} | {gap:.0e} |")


if __name__ == "__main__":
    main()
