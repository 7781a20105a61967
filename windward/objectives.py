"""What a decision is worth over the contexts: an objective binds to contexts and becomes a reduction over the last axis.

    Expected()   sum_i p_i f_i
    Minimum()    min_i f_i

`objective.bind(contexts, seen)` resolves whatever depends on the reference or on the number of contexts seen, once per
suggestion; the reduction it returns maps values `"*b n"` to `"*b"`. The gradient of a reduction in the values is the
distribution it guards against: the adversary's weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from torch import Tensor

from windward.contexts import Contexts


class Reduction(Protocol):
    """Reduce values over contexts; where `needs_slopes`, the belief also supplies |grad_c f| as slopes `"*b n"`."""

    @property
    def needs_slopes(self) -> bool: ...

    def __call__(self, values: Tensor, slopes: Tensor | None = None) -> Tensor: ...


@runtime_checkable
class Objective(Protocol):
    """Bind to contexts and become a reduction; `monotone` in f, its bound is itself at the upper confidence bound."""

    @property
    def monotone(self) -> bool: ...

    def bind(self, contexts: Contexts, seen: int) -> Reduction: ...


@dataclass(frozen=True)
class Expected:
    """The expectation under the reference, sum_i p_i f_i (stochastic optimization).

    >>> import torch
    >>> Expected().bind(Contexts.uniform(torch.zeros(2, 1)), seen=0)(torch.tensor([1.0, 3.0]).double())
    tensor(2., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the weighted sum."""
        return _WeightedSum(contexts.weights)


@dataclass(frozen=True)
class Minimum:
    """The least value on any context point, whatever its weight (robust optimization; StableOpt over a set C_t).

    >>> import torch
    >>> Minimum().bind(Contexts.uniform(torch.zeros(2, 1)), seen=0)(torch.tensor([1.0, 3.0]).double())
    tensor(1., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the minimum over the last axis."""
        return _Least()


@dataclass(frozen=True)
class _WeightedSum:
    weights: Tensor
    needs_slopes: ClassVar[bool] = False

    def __call__(self, values: Tensor, slopes: Tensor | None = None) -> Tensor:
        return values @ self.weights


@dataclass(frozen=True)
class _Least:
    needs_slopes: ClassVar[bool] = False

    def __call__(self, values: Tensor, slopes: Tensor | None = None) -> Tensor:
        # min over a dimension gives its whole gradient to one minimiser (amin would spread it over ties):
        # the adversary sits on a point.
        return values.min(-1).values
