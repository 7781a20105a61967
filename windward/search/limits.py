"""Limits of a search: a box inside the unit cube, and a margin that must not fall below 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from windward.space.parameters import Parameter
from windward.space.space import Space

# What rounding may take a value on the edge of a box beyond it, in units of the cube.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Limits:
    """Where decisions are allowed: between `low` and `high` `"d"` of the unit cube, where `margin`, if there is one, is >= 0.

    A choice of a category is allowed where its column may be 1 and those of the others 0.

    >>> box = Limits(torch.tensor([0.2]), torch.tensor([0.4]))
    >>> box.allow(torch.tensor([[0.3], [0.5]]))
    tensor([ True, False])
    """

    low: Tensor
    high: Tensor
    margin: Callable[[Tensor], Tensor] | None = None

    @staticmethod
    def anywhere(space: Space) -> Limits:
        """Return limits that allow every decision."""
        zeros = torch.zeros(space.decision_width, dtype=torch.float64)
        return Limits(zeros, torch.ones_like(zeros))

    def inside(self, x: Tensor) -> Tensor:
        """Return which points `"b d"` are in the box; `"b"`."""
        return ((x >= self.low - ROUNDING) & (x <= self.high + ROUNDING)).all(-1)

    def allow(self, x: Tensor) -> Tensor:
        """Return which points `"b d"` are allowed; `"b"`."""
        found = self.inside(x)
        return found if self.margin is None or len(x) == 0 else found & (self.margin(x) >= 0.0)


def together(space: Space, several: Sequence[Limits]) -> Limits:
    """Return the limits that allow what each of several does."""
    found = Limits.anywhere(space)
    for each in several:
        low, high = torch.maximum(found.low, each.low), torch.minimum(found.high, each.high)
        found = Limits(low, high, _lesser(found.margin, each.margin))
    return found


def _lesser(
    one: Callable[[Tensor], Tensor] | None, other: Callable[[Tensor], Tensor] | None
) -> Callable[[Tensor], Tensor] | None:
    if one is None or other is None:
        return one or other
    return lambda x: torch.minimum(one(x), other(x))


def tightened(space: Space, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Return bounds `"d"` moved inward to valid decisions: to whole numbers, to 0 for a choice that is not allowed.

    Where a parameter is left without a value its low ends above its high.
    """
    low, high = low.clone().clamp(0.0, 1.0), high.clone().clamp(0.0, 1.0)
    for name, parameter in space.decision.items():
        columns = space.decision_columns[name]
        if parameter.choices:
            eye = torch.eye(parameter.width, dtype=torch.float64)
            fits = ((eye >= low[columns] - ROUNDING) & (eye <= high[columns] + ROUNDING)).all(-1)
            high[columns] = fits.to(torch.float64)
            low[columns] = fits.to(torch.float64) if int(fits.sum()) == 1 else 2.0 * float(not fits.any())
        elif not parameter.continuous:
            low[columns] = _nearest(parameter, float(low[columns]), upward=True)
            high[columns] = _nearest(parameter, float(high[columns]), upward=False)
    return low, high


def _nearest(parameter: Parameter, unit: float, *, upward: bool) -> float:
    """Return the nearest valid point on one side of a point of [0, 1]; beyond the other end where there is none."""
    side = 1.0 if upward else -1.0
    reach = 0.0
    while reach <= 2.0:
        found = float(parameter.snap(np.array([[unit + side * reach]]))[0, 0])
        if side * (found - unit) >= -ROUNDING:
            return found
        reach = max(2.0 * reach, ROUNDING)  # by doubling: no valid point between is passed over
    return unit + side
