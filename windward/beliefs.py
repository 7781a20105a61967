"""How a posterior stands in for the unknown function: a belief lifts a reduction from functions to posteriors.

UpperConfidence(width)   reduction(mean + width * std)
Thompson(width)          reduction(mean + width * (path - mean)), path one sample of the posterior
PosteriorMean()          reduction(mean)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from windward import check
from windward.contexts import Contexts
from windward.objectives import Reduction
from windward.surrogate import Believed
from windward.trials import Trials

Score: TypeAlias = Callable[[Reduction, Tensor], Tensor]
"""`score(reduction, x)`: the acquisition at decisions `"*b d"`; `"*b"`."""


@runtime_checkable
class Belief(Protocol):
    """Lift a reduction from functions to posteriors; `needs_monotone` where that is a bound only for monotone ones."""

    @property
    def needs_monotone(self) -> bool: ...

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score: ...


@dataclass(frozen=True)
class UpperConfidence:
    """Optimism: the objective at mean + `width` * standard deviation, context by context."""

    width: float = 1.5
    needs_monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.number("UpperConfidence", "width", self.width, low=0.0)

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score:
        def score(reduction: Reduction, x: Tensor) -> Tensor:
            mean, std = believed.posterior.marginals(x, contexts.points)
            return reduction(mean + self.width * std)

        return score


@dataclass(frozen=True)
class Thompson:
    """Probability matching: the objective of one posterior sample, its deviation from the mean times `width`."""

    width: float = 1.0
    needs_monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check.number("Thompson", "width", self.width, low=0.0)

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score:
        path = believed.posterior.path(generator)

        def score(reduction: Reduction, x: Tensor) -> Tensor:
            values = path(x, contexts.points)
            if self.width != 1.0:
                mean = believed.posterior.marginals(x, contexts.points)[0]
                values = mean + self.width * (values - mean)
            return reduction(values)

        return score


@dataclass(frozen=True)
class PosteriorMean:
    """No optimism: the objective at the posterior mean."""

    needs_monotone: ClassVar[bool] = False

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score:
        def score(reduction: Reduction, x: Tensor) -> Tensor:
            return reduction(believed.posterior.marginals(x, contexts.points)[0])

        return score
