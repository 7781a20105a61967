"""The best decision of a known function: every one of a finite set, or many starts refined and polished.

A search screens Sobol points of the unit cube, refines the best of them by batched BFGS with the function's own gradient,
and polishes the winner by a compass search, which needs no gradient: quadratures of kinked functions have corners. Categories
and whole numbers are enumerated, and the best combinations searched each for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from windward.basics.errors import IncompatibleError, SolverError
from windward.contexts import product, sobol
from windward.search.bfgs import Array, minimize_rows
from windward.space.parameters import Parameter
from windward.space.space import Space

SCREEN = 4096  # a peak that holds a thousandth of the cube is met four times
STARTS = 32
EVALUATIONS = 40  # from each start: enough to rank the hills; the best one is then climbed to the top
LAST_EVALUATIONS = 300
TOLERANCE = 1e-13  # of the objective's spread over the screen
COMBINATIONS = 12  # of categories and whole numbers, in each of which real decisions are climbed
COARSEST, FINEST = 2.0**-8, 2.0**-32  # steps of the compass, in the unit cube


@dataclass(frozen=True)
class Optimum:
    """The best decision `"d"` by an objective under the truth, and its value."""

    value: float
    decision: Tensor


def searched(name: str, worth: Callable[[Tensor], Tensor], space: Space, decisions: Tensor | None = None) -> Optimum:
    """Return the best of `decisions` `"n d"`, or of the space where there is no list."""
    if decisions is not None:
        with torch.no_grad():
            values = worth(decisions)
        return _checked(name, values, decisions)
    if space.constraints:
        raise IncompatibleError(
            f"problem {name!r}: the search for an optimum takes decisions without constraints; list the decisions "
            "(Problem(decisions=...)) or say what stands for the optimum (Problem(best=...))."
        )
    if all(parameter.continuous for parameter in space.decision.values()):
        return _climbed(name, worth, space)
    return _mixed(name, worth, space)


def _mixed(name: str, worth: Callable[[Tensor], Tensor], space: Space) -> Optimum:
    """Screen every combination of categories and whole numbers; climb along the real decisions in the best ones."""
    parameters = list(space.decision.values())
    stepped = [place for place, parameter in enumerate(parameters) if not parameter.continuous]
    free = [place for place, parameter in enumerate(parameters) if parameter.continuous]
    choices = product([_options(parameters[place])[:, None] for place in stepped])
    if not free:
        with torch.no_grad():
            return _checked(name, worth(choices), choices)

    def joined(chosen: Tensor, real: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(chosen.shape[:-1], real.shape[:-1])  # type: ignore[no-untyped-call]
        parts = dict(zip(stepped, chosen.expand(*shape, len(stepped)).unbind(-1), strict=True))
        parts |= dict(zip(free, real.expand(*shape, len(free)).unbind(-1), strict=True))
        return torch.stack([parts[place] for place in range(len(parameters))], dim=-1)

    names = list(space.decision)
    reals = Space({names[place]: parameters[place] for place in free})
    points = sobol(len(free), max(32, 2 * SCREEN // len(choices)), torch.Generator().manual_seed(0))
    with torch.no_grad():
        values = worth(joined(choices[:, None], natural(reals, points))).nan_to_num(nan=-torch.inf)
    best = values.amax(-1).argsort(descending=True)[:COMBINATIONS]
    found = [
        (row, _climbed(name, lambda real, row=row: worth(joined(row, real)), reals))  # type: ignore[misc]
        for row in choices[best]
    ]
    row, top = max(found, key=lambda pair: pair[1].value)
    return Optimum(top.value, joined(row, top.decision))


def _options(parameter: Parameter) -> Tensor:
    """Return all values of a category, as indices, or of a whole number."""
    if parameter.choices:
        return torch.arange(len(parameter.choices), dtype=torch.float64)
    assert parameter.low is not None and parameter.high is not None  # decisions have both: Space checks
    return torch.arange(int(parameter.low), int(parameter.high) + 1, dtype=torch.float64)


def natural(space: Space, unit: Tensor) -> Tensor:
    """Return points `"n d"` of the unit cube in the natural units of real decisions, differentiably."""
    columns = []
    for index, parameter in enumerate(space.decision.values()):
        low, high = parameter.own_bounds()[0]
        own = low + unit[..., index] * (high - low)
        columns.append(own.exp() if parameter.log else own)
    return torch.stack(columns, dim=-1)


def _climbed(name: str, worth: Callable[[Tensor], Tensor], space: Space) -> Optimum:
    generator = torch.Generator().manual_seed(0)
    width = len(space.decision)
    centre_and_corners = torch.cat([torch.full((1, width), 0.5), torch.zeros(1, width), torch.ones(1, width)])
    points = torch.cat([centre_and_corners.double(), sobol(width, SCREEN, generator)])
    with torch.no_grad():
        values = worth(natural(space, points))
    _checked(name, values, points)
    values = values.nan_to_num(nan=-torch.inf)
    starts = points[values.argsort(descending=True)[:STARTS]]
    top = float(values.max())
    spread = max(top - float(values[torch.isfinite(values)].median()), 1e-12)

    def negative(x: Array) -> tuple[Array, Array]:
        unit = torch.from_numpy(x).requires_grad_()
        value = (top - worth(natural(space, unit))) / spread
        (gradient,) = torch.autograd.grad(value.sum(), unit)
        return value.detach().numpy(), gradient.numpy()

    found, lowest = starts.numpy(), -values.sort(descending=True).values[:STARTS].numpy()
    for evaluations, kept in ((EVALUATIONS, STARTS), (LAST_EVALUATIONS, 2)):
        found = found[np.argsort(lowest)[:kept]]
        box = np.zeros_like(found), np.ones_like(found)
        found, lowest = minimize_rows(negative, found, *box, evaluations=evaluations, tolerance=TOLERANCE)
    return _compass(worth, space, torch.from_numpy(found[int(np.argmin(lowest))]))


def _compass(worth: Callable[[Tensor], Tensor], space: Space, unit: Tensor) -> Optimum:
    """Walk to better neighbours along the axes; halve the step where none is better."""
    directions = torch.cat([torch.eye(len(unit)), -torch.eye(len(unit))]).double()
    with torch.no_grad():
        value = float(worth(natural(space, unit[None]))[0])
        step = COARSEST
        while step >= FINEST:
            near = (unit + step * directions).clamp(0.0, 1.0)
            values = worth(natural(space, near)).nan_to_num(nan=-torch.inf)
            if float(values.max()) > value:
                unit, value = near[int(values.argmax())], float(values.max())
            else:
                step /= 2.0
        decision = natural(space, unit)
    return Optimum(value, decision)


def _checked(name: str, values: Tensor, decisions: Tensor) -> Optimum:
    if not bool(torch.isfinite(values).any()):
        raise SolverError(f"problem {name!r}: the objective is not finite at any of {len(decisions)} decisions.")
    place = int(values.nan_to_num(nan=-torch.inf).argmax())
    return Optimum(float(values[place]), decisions[place])
