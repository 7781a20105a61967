"""Objectives without a ball: expectation, minimum, spread, quantile and tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics import arguments
from windward.contexts import Contexts
from windward.objectives.protocol import Bound, Reduction


@dataclass(frozen=True)
class Expected:
    """The expectation under the reference, sum_i p_i f_i.

    >>> Expected().bind(Contexts.uniform(torch.zeros(2, 1)), seen=0)(torch.tensor([1.0, 3.0]).double())
    tensor(2., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the weighted sum."""
        return Bound(lambda values: values @ contexts.weights)


@dataclass(frozen=True)
class Minimum:
    """The least value on any context point, whatever its weight (StableOpt, over a set C_t).

    >>> Minimum().bind(Contexts.uniform(torch.zeros(2, 1)), seen=0)(torch.tensor([1.0, 3.0]).double())
    tensor(1., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the minimum over the last axis."""
        # min over a dimension gives its whole gradient to one minimiser (amin, three times as fast, would spread it over
        # ties): the adversary sits on a point.
        return Bound(lambda values: values.min(-1).values if values.requires_grad else values.amin(-1), fewer=True)


@dataclass(frozen=True)
class MeanVariance:
    """p.f - weight * sqrt(Var_p f / n), n the number of contexts with weight (Nguyen2020, Eq. 3)."""

    weight: float = 1.0
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        arguments.number("MeanVariance", "weight", self.weight, low=0.0)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the mean less its weighted standard error."""
        count = int((contexts.weights > 0).sum())

        def reduce(values: Tensor) -> Tensor:
            mean = values @ contexts.weights
            variance = (values - mean[..., None]).square() @ contexts.weights
            return mean - self.weight * (variance / count).clamp_min(1e-300).sqrt()

        return Bound(reduce)


@dataclass(frozen=True)
class VaR:
    """The value at risk: the quantile of f below which mass `tail` lies, inf { s : P(f <= s) >= tail }.

    >>> VaR(0.5).bind(Contexts.uniform(torch.zeros(4, 1)), seen=0)(torch.tensor([4.0, 1.0, 3.0, 2.0]).double())
    tensor(2., dtype=torch.float64)
    """

    tail: float
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        arguments.number("VaR", "tail", self.tail, low=0.0, high=1.0, open_low=True)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the quantile."""

        def reduce(values: Tensor) -> Tensor:
            order = values.argsort(-1)
            mass = contexts.weights[order].cumsum(-1)
            # 1e-12 less: a sum of weights that equals the tail must count as reaching it.
            place = (mass < self.tail - 1e-12).sum(-1, keepdim=True).clamp_max(values.shape[-1] - 1)
            return values.gather(-1, order.gather(-1, place))[..., 0]

        return Bound(reduce)


@dataclass(frozen=True)
class CVaR:
    """The conditional value at risk: the mean of f over its lower tail of mass `tail`, the point at its edge in part.

    >>> CVaR(0.5).bind(Contexts.uniform(torch.zeros(4, 1)), seen=0)(torch.tensor([4.0, 1.0, 3.0, 2.0]).double())
    tensor(1.5000, dtype=torch.float64)
    """

    tail: float
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        arguments.number("CVaR", "tail", self.tail, low=0.0, high=1.0, open_low=True)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the tail's mean."""

        def reduce(values: Tensor) -> Tensor:
            ranked, order = values.sort(-1)
            mass = contexts.weights[order]
            before = mass.cumsum(-1) - mass
            share = torch.minimum(mass, (self.tail - before).clamp_min(0.0))
            return (share * ranked).sum(-1) / share.sum(-1)

        return Bound(reduce)
