"""An acquisition: what a decision is worth, with cheaper functions beside it that say where to look.

    value     what decisions `"b d"` are worth; `"b"`
    climb     near `value` everywhere and cheaper: it finds the hills, `value` chooses the highest
    rank      orders a screen nearly as `value` does; it need not be differentiable
    ceiling   never below `value`, and cheap: a decision whose ceiling is too low is not looked at
    margin    a decision is allowed where it is at least 0

Only `value` must be there. None of the others can make the decision worse by more than the search itself may miss: what is
returned was compared by `value`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from windward.search.bfgs import Array
from windward.search.region import Region
from windward.space import Space

Function: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Acquisition:
    """What decisions are worth; see the fields above.

    >>> Acquisition(lambda x: -x.square().sum(-1))(torch.zeros(1, 2))
    tensor([-0.])
    """

    value: Function
    climb: Function | None = None
    rank: Function | None = None
    ceiling: Function | None = None
    margin: Function | None = None

    def __call__(self, points: Tensor) -> Tensor:
        return self.value(points)


def limited(acquisition: Acquisition | Function) -> Acquisition:
    """Return the acquisition without a margin: its functions are minus infinity where the margin is below 0.

    A plain function is an acquisition with nothing beside it.
    """
    if not isinstance(acquisition, Acquisition):
        return Acquisition(acquisition)
    margin = acquisition.margin
    if margin is None:
        return acquisition

    def within(function: Function) -> Function:
        return lambda x: torch.where(margin(x) >= 0.0, function(x), -torch.inf)

    climb, rank, ceiling = acquisition.climb, acquisition.rank or acquisition.climb, acquisition.ceiling
    return replace(
        acquisition,
        value=within(acquisition.value),
        climb=None if climb is None else within(climb),
        rank=None if rank is None else within(rank),
        ceiling=None if ceiling is None else within(ceiling),
        margin=None,
    )


@runtime_checkable
class Maximizer(Protocol):
    """Return one decision `"d"` of the region, the best by the acquisition.

    `most_decisions` says how many decisions it holds at once at most: the memory of a suggestion is counted by it.
    """

    def most_decisions(self, space: Space) -> int: ...

    def __call__(self, acquisition: Acquisition, region: Region, generator: torch.Generator) -> Tensor: ...


@runtime_checkable
class Distancing(Protocol):
    """A maximizer that says how far it keeps from pending decisions, as a share of the cube's diagonal."""

    @property
    def apart(self) -> float: ...


def values_of(function: Function, points: Tensor) -> Tensor:
    """Return a function at points `"n d"` without its gradient, minus infinity where it is not finite; `"n"`."""
    with torch.no_grad():
        values = function(points)
    return torch.where(torch.isfinite(values), values, -torch.inf)


def value_and_gradient(function: Function, points: Tensor) -> tuple[Array, Array]:
    """Return a function `"n"` and its gradient `"n d"`, rows being independent."""
    x = points.detach().requires_grad_()
    values = function(x)
    (gradient,) = torch.autograd.grad(values.sum(), x)
    return values.detach().numpy(), gradient.numpy()
