"""Acquisitions: what a decision is worth, with cheaper functions beside it that say where to look.

An acquisition maps decisions `"b d"` to values `"b"`. `Screened` has a bound, `Sketched` something that ranks decisions as it
does, `Drafted` something that can be climbed in its place; each can be called as the acquisition it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from windward.search.bfgs import Array
from windward.search.region import Region


@runtime_checkable
class Maximizer(Protocol):
    """Return one decision `"d"` of the region, the best by the acquisition."""

    def __call__(self, acquisition: Acquisition, region: Region, generator: torch.Generator) -> Tensor: ...


Acquisition: TypeAlias = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class _Held:
    function: Acquisition

    def __call__(self, points: Tensor) -> Tensor:
        return self.function(points)


@dataclass(frozen=True)
class Screened(_Held):
    """An acquisition that is dear, and a cheap function that it never exceeds."""

    ceiling: Acquisition


@dataclass(frozen=True)
class Drafted(_Held):
    """An acquisition, and a cheaper one near it everywhere: the draft finds the hills, the acquisition the highest."""

    draft: Acquisition


@dataclass(frozen=True)
class Sketched(_Held):
    """An acquisition, and a quicker function that ranks decisions nearly as it does; that one need not be differentiable."""

    sketch: Acquisition


def cheaper(acquisition: Acquisition) -> Acquisition:
    """Return what ranks the screen: a ceiling, a sketch, a draft, or the acquisition itself."""
    if isinstance(acquisition, Screened):
        return acquisition.ceiling
    if isinstance(acquisition, Sketched):
        return acquisition.sketch
    return acquisition.draft if isinstance(acquisition, Drafted) else acquisition


def values_of(acquisition: Acquisition, points: Tensor) -> Tensor:
    """Return the acquisition at points `"n d"` without its gradient, minus infinity where it is not finite; `"n"`."""
    with torch.no_grad():
        values = acquisition(points)
    return torch.where(torch.isfinite(values), values, -torch.inf)


def value_and_gradient(acquisition: Acquisition, points: Tensor) -> tuple[Array, Array]:
    """Return the acquisition `"n"` and its gradient `"n d"`, rows being independent."""
    x = points.detach().requires_grad_()
    values = acquisition(x)
    (gradient,) = torch.autograd.grad(values.sum(), x)
    return values.detach().numpy(), gradient.numpy()
