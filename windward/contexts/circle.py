"""Contexts that come round, as tensors: points of a circle, phases on it, and what lies around them.

A kernel estimate on a circle is one on the line, wrapped around it: a draw is a phase plus a normal number, taken modulo the
period, and the density at a distance d is the sum of normal densities at d, d - p and d + p. So nothing jumps where the last
value meets the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from windward.space.parameters import Parameter
from windward.space.space import Space

# A start and a length on a circle, in the context's units.
Arc = tuple[float, float]


def on_circle(period: float, phases: Tensor) -> Tensor:
    """Return the points of the circle at phases `"*b"`; `"*b 2"`."""
    angle = (2.0 * math.pi / period) * phases.remainder(period)
    return (period / (2.0 * math.pi)) * torch.stack([angle.cos(), angle.sin()], dim=-1)


def phases_of(period: float, points: Tensor) -> Tensor:
    """Return where points `"*b 2"` are on the circle, from 0 up to the period; `"*b"`."""
    return ((period / (2.0 * math.pi)) * torch.atan2(points[..., 1], points[..., 0])).remainder(period)


def whole_on_circle(period: float, points: Tensor) -> Tensor:
    """Return points `"*b 2"` moved to the nearest whole numbers of the circle."""
    return on_circle(period, phases_of(period, points).round())


def circle_deviation(points: Tensor) -> float:
    """Return the root of the mean squared distance of points `"t 2"` from their mean.

    Near each other on the circle they deviate as numbers do; all around it they deviate by its radius.
    """
    return float((points - points.mean(0)).square().sum(-1).mean().sqrt())


def log_wrapped_normal(period: float, points: Tensor, centre: Tensor, width: float) -> Tensor:
    """Return the logarithm of the wrapped normal at points `"t 2"` around `centre` `"2"`, up to a constant; `"t"`.

    Three turns are enough: bandwidths are below the radius.
    """
    way = (phases_of(period, points) - phases_of(period, centre)).remainder(period)
    turns = period * torch.arange(-1.0, 2.0, dtype=points.dtype) - 0.5 * period
    apart = (way + 0.5 * period).remainder(period)[:, None] + turns
    return torch.logsumexp(-0.5 * (apart / width).clamp(-1e100, 1e100).square(), dim=-1)


def moved(space: Space, points: Tensor, by: Tensor) -> Tensor:
    """Return context points `"n k"` moved by `"n k"`, along the circle where there is one, by the first of its columns."""
    result = points + by
    for name, period in space.circles.items():
        columns = space.context_columns[name]
        result[:, columns] = on_circle(period, phases_of(period, points[:, columns]) + by[:, columns.start])
    return result


def arcs(space: Space, points: Tensor, weights: Tensor, spread: float) -> dict[str, Arc]:
    """Return, for each circle, `spread` deviations to both sides of the mean direction of weighted points `"t k"`."""
    found = {}
    for name, period in space.circles.items():
        columns = space.context_columns[name]
        middle = phases_of(period, weights @ points[:, columns])
        apart = (phases_of(period, points[:, columns]) - middle + 0.5 * period).remainder(period) - 0.5 * period
        variance = (weights @ apart.square()) / (1.0 - weights.square().sum()).clamp_min(1e-12)
        half = min(spread * float(variance.sqrt()), 0.5 * period)
        found[name] = (float(middle) - half, 2.0 * half)
    return found


def lone_circle(space: Space, free: Tensor) -> str | None:
    """Return the context that comes round whose columns are all that is free, `"k"`; None where there is another."""
    names = [name for name in space.circles if bool(free[space.context_columns[name]].all())]
    return names[0] if len(names) == 1 and int(free.sum()) == 2 else None


def along(name: str, period: float, u: Tensor, within: Mapping[str, Arc]) -> Tensor:
    """Return points of a circle at shares `u` `"n"` of an arc, or of all of it; `"n 2"`."""
    start, length = within.get(name, (0.0, period))
    return on_circle(period, start + u * length)


def regular(parameter: Parameter, period: float, count: int) -> Tensor:
    """Return `count` points evenly around a circle, or the whole numbers nearest to them; `"n 2"`."""
    even = torch.arange(count, dtype=torch.float64) * (period / count)
    return on_circle(period, even if parameter.step is None else torch.unique(even.round().remainder(period)))
