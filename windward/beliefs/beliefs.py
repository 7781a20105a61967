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

from windward.basics.budget import BLOCK as LARGE_BLOCK
from windward.basics.budget import Need, Sizes
from windward.basics.errors import IncompatibleError
from windward.basics.speech import shown
from windward.beliefs.scores import ConfidenceScore, MeanScore, PathScore, acquisition, improvement
from windward.beliefs.widths import AnyWidth, check_patience, check_width, resolved_width
from windward.feedback import Feedback
from windward.objectives.protocol import Averaging, Objective, Reduction
from windward.objectives.situation import Situation
from windward.search.acquisition import Acquisition


@runtime_checkable
class Belief(Protocol):
    """Lift a reduction from functions to posteriors.

    `check` refuses objectives and feedbacks that it does not go with; `draws` says whether it takes a posterior sample as a
    function, which needs memory.
    """

    @property
    def draws(self) -> bool: ...

    def check(self, objective: Objective, feedback: Feedback) -> None: ...

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition: ...


@runtime_checkable
class Doubtful(Protocol):
    """A belief that does not take the fit for certain: it looks at `doubts` plausible posteriors, `situation.plausible`.

    With 0 it looks at the fit alone.
    """

    @property
    def doubts(self) -> int: ...


@dataclass(frozen=True)
class UpperConfidence:
    """Optimism: the objective at mean + `width` * standard deviation, context by context; see `widths` for theory's."""

    width: AnyWidth = 1.5
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_width("UpperConfidence", self.width)

    def check(self, objective: Objective, feedback: Feedback) -> None:
        """Refuse an objective that can fall where values rise, and a width that needs another feedback."""
        check_monotone(self, objective)
        check_patience(self, self.width, feedback)

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition:
        width = resolved_width("UpperConfidence", self.width, situation)
        score = ConfidenceScore(situation.posterior, situation.contexts, width)
        return acquisition(score, reduction, situation.trials.device)


@dataclass(frozen=True)
class PosteriorMean:
    """No optimism: the objective at the posterior mean."""

    draws: ClassVar[bool] = False

    def check(self, objective: Objective, feedback: Feedback) -> None:
        """Take every objective and feedback."""

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition:
        score = ConfidenceScore(situation.posterior, situation.contexts, 0.0)
        return acquisition(score, reduction, situation.trials.device)


@dataclass(frozen=True)
class Reported(PosteriorMean):
    """The same for a recommendation. It is quicker; asks keep every digit of theirs, so that recorded ones can be checked."""

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition:
        score = MeanScore(situation.posterior, situation.contexts, 0.0)
        return acquisition(score, reduction, situation.trials.device)


@dataclass(frozen=True)
class Thompson:
    """Probability matching: the objective of one posterior sample, its deviation from the mean times `width`."""

    width: AnyWidth = 1.0
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width("Thompson", self.width)

    def check(self, objective: Objective, feedback: Feedback) -> None:
        """Refuse a width that needs another feedback."""
        check_patience(self, self.width, feedback)

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition:
        width, posterior = resolved_width("Thompson", self.width, situation), situation.posterior
        score = PathScore(posterior, posterior.path(generator), situation.contexts, width)
        return acquisition(score, reduction, situation.trials.device)

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
    """Greed with doubt: by how much the average is expected to beat the best so far.

    Expected improvement of the quadrature g(x) = sum_i p_i f(x, c_i), whose posterior is normal (Nguyen2020, Eqs. 5-6).

    The incumbent is the best mean of g over the decisions evaluated so far. It goes with `Expected()` alone.
    """

    draws: ClassVar[bool] = False

    def check(self, objective: Objective, feedback: Feedback) -> None:
        """Refuse every objective but the expectation."""
        if not isinstance(objective, Averaging):
            raise IncompatibleError(
                f"Policy(objective={shown(objective)}, belief=ExpectedImprovement()): expected improvement is known in "
                "closed form for Expected() alone; use belief=Thompson()."
            )

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition:
        posterior, contexts, device = situation.posterior, situation.contexts, situation.trials.device
        with torch.no_grad():
            best = (posterior.means(situation.trials.dataset.x, contexts.points) @ contexts.weights).max()
        return Acquisition(lambda x: improvement(*posterior.average(x.to(device), contexts), best).to(x.device))


def check_monotone(belief: object, objective: Objective) -> None:
    """Raise `IncompatibleError` where the objective at an upper bound is no bound."""
    if not objective.monotone:
        raise IncompatibleError(
            f"Policy(objective={shown(objective)}, belief={shown(belief)}): the objective at the upper "
            "confidence bound is no bound, because this objective can fall where values rise; use belief=Thompson()."
        )
