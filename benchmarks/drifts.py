"""How often a drift of f is learnt where f stands still: functions of two decisions and a context, smooth ones and others.

    python benchmarks/drifts.py

Decisions and contexts are drawn evenly, so that nothing but the noise depends on the order of the trials. The last function has
a noise that grows with a decision, which the model does not know of.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

import windward as ww
from windward.space import Space
from windward.trials.trials import Ages, Dataset

SIZES = (10, 20, 40, 80)
# The deviation of the noise, as a share of the deviation of the outcome.
NOISE = 0.1


def smooth(x: Tensor, c: Tensor) -> Tensor:
    """A sine across both decisions, and a product with the context."""
    return torch.sin(5.0 * x.sum(-1)) + c * x[:, 0]


def stock(x: Tensor, c: Tensor) -> Tensor:
    """What an order earns beside a demand: a kink where they meet."""
    return 9.0 * torch.minimum(x[:, 0], c) - 5.0 * x[:, 0]


def step(x: Tensor, c: Tensor) -> Tensor:
    """A step where a decision passes the context."""
    return (x[:, 0] > c).to(x) + x[:, 1]


def peak(x: Tensor, c: Tensor) -> Tensor:
    """A narrow peak."""
    return 60.0 / (1.0 + ((x[:, 0] - 0.5 - 0.2 * c) / 0.05).square())


def wiggly(x: Tensor, c: Tensor) -> Tensor:
    """Many hills."""
    return torch.sin(25.0 * x[:, 0]) * torch.cos(20.0 * c) + x[:, 1]


FUNCTIONS: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (smooth, stock, step, peak, wiggly)


def learnt(function: Callable[[Tensor, Tensor], Tensor], count: int, seed: int, *, growing: bool) -> bool:
    """Whether a drift is learnt from so many results of a function that stands still."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(count, 2, generator=generator, dtype=torch.float64)
    c = torch.rand(count, 1, generator=generator, dtype=torch.float64)
    noise = torch.randn(count, generator=generator, dtype=torch.float64)
    y = function(x, c[:, 0])
    y = y + noise * (0.6 * x[:, 0] if growing else NOISE * y.std())
    space = Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, {"c": ww.Real(0, 1)})
    ages = torch.arange(count, 0, -1, dtype=torch.float64)
    data = Dataset(x, c, y, torch.full_like(y, torch.nan), space.roles, ages=Ages(ages, ages - 1.0))
    return ww.GaussianProcess(drift="learnt").fitted(data).drift is not None


def main() -> None:
    """Print how often, for each function and number of results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=25)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    print(
        f"| of {seeds} histories | {' | '.join(f'{size} results' for size in SIZES)} |\n| --- |{' --- |' * len(SIZES)}"
    )
    cases = [(each.__name__, each, False) for each in FUNCTIONS] + [("smooth, noise that grows", smooth, True)]
    for name, function, growing in cases:
        found = [sum(learnt(function, size, seed, growing=growing) for seed in range(seeds)) for size in SIZES]
        print(f"| {name} | {' | '.join(map(str, found))} |", flush=True)


if __name__ == "__main__":
    main()
