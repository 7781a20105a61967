"""How a posterior stands in for the unknown function: a belief lifts a reduction from functions to posteriors.

    UpperConfidence(width)   reduction(mean + width * std)
    Thompson(width)          reduction(mean + width * (path - mean)), path one sample of the posterior
    PosteriorMean()          reduction(mean)
    ExpectedImprovement()    E max(0, g(x) - best), g(x) = sum_i p_i f(x, c_i): with `Expected()` alone

A reduction may ask for more than values: the slopes |grad_c f| of whatever stands in for f, or a lower confidence bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.basics.budget import BLOCK as LARGE_BLOCK
from windward.basics.budget import Need, Sizes
from windward.beliefs.scores import ConfidenceScore, PathScore, Score, improvement
from windward.beliefs.widths import AnyWidth, check_width, resolved_width
from windward.contexts import Contexts
from windward.objectives.protocol import Reduction
from windward.surrogate import Believed
from windward.trials.trials import Trials


@runtime_checkable
class Belief(Protocol):
    """Lift a reduction from functions to posteriors; `needs_monotone` where that is a bound only for monotone ones."""

    @property
    def needs_monotone(self) -> bool: ...

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score: ...


@dataclass(frozen=True)
class UpperConfidence:
    """Optimism: the objective at mean + `width` * standard deviation, context by context; see `widths` for theory's."""

    width: AnyWidth = 1.5
    needs_monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width("UpperConfidence", self.width)

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score:
        width = resolved_width("UpperConfidence", self.width, believed, trials)
        return ConfidenceScore(believed.posterior, contexts, width)


@dataclass(frozen=True)
class PosteriorMean:
    """No optimism: the objective at the posterior mean."""

    needs_monotone: ClassVar[bool] = False

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score:
        return ConfidenceScore(believed.posterior, contexts, 0.0)


@dataclass(frozen=True)
class Thompson:
    """Probability matching: the objective of one posterior sample, its deviation from the mean times `width`."""

    width: AnyWidth = 1.0
    needs_monotone: ClassVar[bool] = False
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width("Thompson", self.width)

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score:
        width = resolved_width("Thompson", self.width, believed, trials)
        return PathScore(believed.posterior, believed.posterior.path(generator), contexts, width)

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the values of a screen take, some decisions at a time."""
        values = max(sizes.points, min(sizes.decisions * sizes.points, LARGE_BLOCK))
        return [
            Need(
                "the values of a path",
                5 * values,
                f"5 x {values // sizes.points:,} decisions x {sizes.points:,} contexts",
            )
        ]


@dataclass(frozen=True)
class ExpectedImprovement:
    """Expected improvement of the quadrature g(x) = sum_i p_i f(x, c_i), whose posterior is normal (Nguyen2020, Eqs. 5-6).

    The incumbent is the best mean of g over the decisions evaluated so far. It goes with `Expected()` alone.
    """

    needs_monotone: ClassVar[bool] = True

    def __call__(self, believed: Believed, trials: Trials, contexts: Contexts, generator: torch.Generator) -> Score:
        posterior = believed.posterior
        with torch.no_grad():
            best = (posterior.means(trials.dataset.x, contexts.points) @ contexts.weights).max()

        def score(reduction: Reduction, x: Tensor) -> Tensor:
            return improvement(*posterior.average(x, contexts), best)

        return score
