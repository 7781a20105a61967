"""Problems of Tay2024 (App. C.1): 1024 decisions and 64 contexts on grids with end points, noise 0.01.

The learner is told p, a normal around 0.5 with variance 0.2 in each context, normalised on the grid; contexts come uniformly
over the grid. The radius of an objective is the distance of the two, `divergence.distance(truth.weights, reference)`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from windward.basics.errors import ArgumentError
from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems import functions
from windward.bench.problems.expectations import unit_space
from windward.bench.problems.registry import Data, register
from windward.contexts import Contexts, product
from windward.space.linear import Linear
from windward.space.space import Space

LENGTH_SCALE = 0.1  # of the prior and of every kernel here
NOISE = 0.01
VARIANCE = 0.2  # of the reference, per context
# Added to the diagonal of a kernel matrix before it is factorised: it is singular to working precision on a fine grid.
JITTER = 1e-10


def grid(per_axis: int, width: int) -> Tensor:
    """Return the grid on [0, 1]^width with end points; `"per_axis^width width"`."""
    axis = torch.linspace(0.0, 1.0, per_axis, dtype=torch.float64)[:, None]
    return product([axis] * width)


def kernel(left: Tensor, right: Tensor) -> Tensor:
    """Return the squared-exponential kernel between `"*a w"` and `"m w"`; `"*a m"`."""
    squares = left.square().sum(-1, keepdim=True) + right.square().sum(-1) - 2.0 * (left @ right.T)
    return torch.exp(-0.5 * squares.clamp_min(0.0) / LENGTH_SCALE**2)


def on_grid(
    name: str,
    value: Callable[[Tensor, Tensor], Tensor],
    decisions: Tensor,
    contexts: Tensor,
    space: Space | None = None,
) -> Problem:
    """Return a problem over a grid of decisions and one of contexts."""
    truth = Contexts.uniform(contexts)
    density = torch.exp(-0.5 * (contexts - 0.5).square().sum(-1) / VARIANCE)
    return Problem(
        name=name,
        space=unit_space(decisions.shape[1], contexts.shape[1]) if space is None else space,
        value=value,
        truth=truth,
        draw=laws.listed_draw(truth),
        reference=Contexts(contexts, density / density.sum()),
        decisions=decisions,
        noise=NOISE,
    )


@register("gp-2-2", seeded=True)
def _gp_2_2(seed: int, data: Data) -> Problem:
    """A draw of the prior on 32^2 x 8^2 grid points, exact: the kernel is a product over the axes."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(32, 32, 8, 8, generator=generator, dtype=torch.float64)
    for axis, count in enumerate(table.shape):
        root = factor(kernel(grid(count, 1), grid(count, 1)))
        table = torch.tensordot(root, table, dims=([1], [axis])).movedim(0, axis)

    def value(x: Tensor, c: Tensor) -> Tensor:
        (i, j), (k, m) = places("gp-2-2", x, 32), places("gp-2-2", c, 8)
        looked_up: Tensor = table[i, j, k, m]
        return looked_up

    return on_grid("gp-2-2", value, grid(32, 2), grid(8, 2))


def factor(covariance: Tensor) -> Tensor:
    """Return a lower factor of a covariance that may be singular to working precision."""
    root: Tensor = torch.linalg.cholesky(covariance + JITTER * torch.eye(len(covariance), dtype=torch.float64))
    return root


def places(name: str, points: Tensor, per_axis: int) -> tuple[Tensor, ...]:
    """Return the grid index of each column of `points` `"*b w"`; a point off the grid is refused."""
    scaled = points * (per_axis - 1)
    index = scaled.round().long()
    if bool((scaled - index).abs().max() > 1e-6) or bool((index < 0).any()) or bool((index >= per_axis).any()):
        raise ArgumentError(
            f"problem {name!r}: the function is known on a grid of {per_axis} points per axis over [0, 1] alone; choose from "
            "problem.decisions and problem.truth.points."
        )
    return index.unbind(-1)


@register("hartmann-2-1")
def _hartmann_2_1(seed: int, data: Data) -> Problem:
    """Hartmann-3 with its last input as context, higher is better."""

    def value(x: Tensor, c: Tensor) -> Tensor:
        return functions.hartmann(x, c, functions.RATES_3, functions.PLACES_3)

    return on_grid("hartmann-2-1", value, grid(32, 2), grid(64, 1))


@register("plant", files=("plant.npz",), substitute="hartmann-2-1")
def _plant(seed: int, data: Data) -> Problem:
    """The leaf-area model: pH = 2.5 + 4 x, ammonium = 30000 c."""
    model = np.load(data.file("plant.npz"))
    points, scales = torch.from_numpy(model["points"]), torch.from_numpy(model["lengthscales"])
    coefficients = float(model["variance"]) * torch.from_numpy(model["alpha"]).reshape(-1)

    def value(x: Tensor, c: Tensor) -> Tensor:
        ammonium = torch.exp(-0.5 * ((30000.0 * c - points[:, 0]) / scales[0]).square())
        acidity = torch.exp(-0.5 * ((2.5 + 4.0 * x - points[:, 1]) / scales[1]).square())
        return paired(acidity * coefficients, ammonium)

    return on_grid("plant", value, grid(1024, 1), grid(64, 1))


@register("infection", files=("infection.npz",), substitute="epidemic")
def _infection(seed: int, data: Data) -> Problem:
    """Kernel ridge regression on simulated infections; decisions are shares of tests with x1 + x2 <= 1.

    The data hold no other decisions. Its values are already such that higher is better.
    """
    simulated = np.load(data.file("infection.npz"))
    inputs, outputs = torch.from_numpy(simulated["X"]), torch.from_numpy(simulated["y"]).reshape(-1, 1)
    covariance = kernel(inputs, inputs) + 1e-6 * torch.eye(len(inputs), dtype=torch.float64)
    coefficients = torch.cholesky_solve(outputs, torch.linalg.cholesky(covariance))[:, 0]

    def value(x: Tensor, c: Tensor) -> Tensor:
        return paired(kernel(x, inputs[:, :2]) * coefficients, kernel(c, inputs[:, 2:]))

    return on_grid("infection", value, simplex_grid(), grid(4, 3), simplex_space(3))


def simplex_grid() -> Tensor:
    """Return the points of the 32 x 32 grid with x1 + x2 <= 1; `"528 2"`."""
    points = grid(32, 2)
    return points[points.sum(-1) <= 1.0 + 1e-9]


def simplex_space(contexts: int) -> Space:
    """Return two shares that leave the rest to a third, and contexts in [0, 1]."""
    free = unit_space(2, contexts)
    return Space(free.decision, free.context, [Linear({"x1": 1.0, "x2": 1.0}, upper=1.0)])


def paired(left: Tensor, right: Tensor) -> Tensor:
    """Return sum_m left[..., m] right[..., m] with broadcasting, as one matrix product where every left meets every right."""
    if left.ndim >= 2 and left.shape[-2] == 1 and right.ndim == 2:
        return left[..., 0, :] @ right.T
    return (left * right).sum(-1)
