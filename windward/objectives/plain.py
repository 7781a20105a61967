"""Objectives without a ball: expectation, minimum, spread, quantile and tail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.speech import and_list
from windward.divergences.worst_case import largest
from windward.objectives.protocol import Bound, Reduction, Speech, no_ambiguity, scored, unturned
from windward.objectives.situation import Situation


@dataclass(frozen=True)
class Expected:
    """For the best average over the contexts: the expectation under the reference, sum_i p_i f_i.

    >>> from windward.contexts import Contexts
    >>> contexts = Contexts.uniform(torch.zeros(2, 1))
    >>> Expected().bind(Situation(contexts))(torch.tensor([1.0, 3.0]).double())
    tensor(2., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True
    title: ClassVar[str] = "average value"
    averages: ClassVar[Literal[True]] = True
    unprotected: ClassVar[str | None] = (
        "It is not protected against contexts that come differently from before: it is the best for the average of "
        "what has been seen."
    )

    def bind(self, situation: Situation) -> Reduction:
        """Return the weighted sum."""
        weights = situation.contexts.weights
        return Bound(lambda values: values @ weights)

    oriented = unturned
    ambiguity = no_ambiguity

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        said = f"{speech.estimated} {speech.text(value)} on average over the contexts"
        if speech.forecast:
            return f"{said}, as the forecast of {and_list(speech.forecast)} says."
        return f"{said}, as often as they have come so far."


# What a protected decision is shown beside: the best where nothing drifts.
NO_PROTECTION = Expected()


# What a question about the plain average asks by, whatever the study looks at.
AVERAGE = Expected()


@dataclass(frozen=True)
class Minimum:
    """For the worst that can come: the least value on any context point, whatever its weight (StableOpt, over a set C_t).

    >>> from windward.contexts import Contexts
    >>> contexts = Contexts.uniform(torch.zeros(2, 1))
    >>> Minimum().bind(Situation(contexts))(torch.tensor([1.0, 3.0]).double())
    tensor(1., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True
    title: ClassVar[str] = "worst value"
    unprotected: ClassVar[str | None] = None

    def bind(self, situation: Situation) -> Reduction:
        """Return the minimum over the last axis."""
        # min over a dimension gives its whole gradient to one minimiser (amin, three times as fast, would spread it over
        # ties): the adversary sits on a point.
        return Bound(lambda values: values.min(-1).values if values.requires_grad else values.amin(-1), fewer=True)

    oriented = unturned

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        return f"{speech.estimated} {speech.text(value)} {speech.better}, whichever of the contexts considered comes."

    def ambiguity(self, situation: Situation) -> str | None:
        """Return what may happen that it guards against."""
        return "the least favourable context of those considered comes"


@dataclass(frozen=True)
class MeanVariance:
    """For a good average that varies little: the average, less a price for its spread over the contexts.

    p.f - weight * sqrt(Var_p f / n), n the number of contexts with weight (Nguyen2020, Eq. 3).
    """

    weight: float = 1.0
    monotone: ClassVar[bool] = False
    title: ClassVar[str] = "average value, less a price for spread"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        arguments.number("MeanVariance", "weight", self.weight, low=0.0)

    def bind(self, situation: Situation) -> Reduction:
        """Return the mean less its weighted standard error."""
        weights = situation.contexts.weights
        count = int((weights > 0).sum())

        def reduce(values: Tensor) -> Tensor:
            mean = values @ weights
            variance = (values - mean[..., None]).square() @ weights
            return mean - self.weight * (variance / count).clamp_min(1e-300).sqrt()

        return Bound(reduce)

    oriented = unturned
    ambiguity = no_ambiguity

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        return scored(self.title, value, speech)


@dataclass(frozen=True)
class VaR:
    """For a value that most contexts reach: all but the worst share `tail` of them (the value at risk).

    The quantile of f below which mass `tail` lies, inf { s : P(f <= s) >= tail }.

    >>> from windward.contexts import Contexts
    >>> contexts = Contexts.uniform(torch.zeros(4, 1))
    >>> VaR(0.5).bind(Situation(contexts))(torch.tensor([4.0, 1.0, 3.0, 2.0]).double())
    tensor(2., dtype=torch.float64)
    """

    tail: float
    monotone: ClassVar[bool] = True
    title: ClassVar[str] = "value that most contexts reach"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        arguments.number("VaR", "tail", self.tail, low=0.0, high=1.0, open_low=True)

    def bind(self, situation: Situation) -> Reduction:
        """Return the quantile."""
        weights = situation.contexts.weights

        def reduce(values: Tensor) -> Tensor:
            order = values.argsort(-1)
            mass = weights[order].cumsum(-1)
            # 1e-12 less: a sum of weights that equals the tail must count as reaching it.
            place = (mass < self.tail - 1e-12).sum(-1, keepdim=True).clamp_max(values.shape[-1] - 1)
            return values.gather(-1, order.gather(-1, place))[..., 0]

        return Bound(reduce)

    oriented = unturned
    ambiguity = no_ambiguity

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        share = f"all but the worst {self.tail:.3g} share of the contexts"
        return f"{speech.estimated} {speech.text(value)} {speech.better} in {share}."


@dataclass(frozen=True)
class CVaR:
    """For bad days: the average over the worst share `tail` of the contexts (the conditional value at risk).

    The mean of f over its lower tail of mass `tail`, the point at its edge in part.

    >>> from windward.contexts import Contexts
    >>> contexts = Contexts.uniform(torch.zeros(4, 1))
    >>> CVaR(0.5).bind(Situation(contexts))(torch.tensor([4.0, 1.0, 3.0, 2.0]).double())
    tensor(1.5000, dtype=torch.float64)
    """

    tail: float
    monotone: ClassVar[bool] = True
    title: ClassVar[str] = "average value over the bad contexts"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        arguments.number("CVaR", "tail", self.tail, low=0.0, high=1.0, open_low=True)

    def bind(self, situation: Situation) -> Reduction:
        """Return the tail's mean."""
        weights = situation.contexts.weights

        def reduce(values: Tensor) -> Tensor:
            ranked, order = values.sort(-1)
            return self._of_ranked(ranked, weights[order])

        return Bound(reduce)

    @property
    def by_rows(self) -> Callable[[Tensor, Tensor], Tensor]:
        """The same with a distribution for each row."""

        def reduce(values: Tensor, weights: Tensor) -> Tensor:
            order = largest(-values, values.shape[-1])
            return self._of_ranked(values.gather(-1, order), weights.gather(-1, order))

        return reduce

    def _of_ranked(self, ranked: Tensor, mass: Tensor) -> Tensor:
        before = mass.cumsum(-1) - mass
        share = torch.minimum(mass, (self.tail - before).clamp_min(0.0))
        return (share * ranked).sum(-1) / share.sum(-1)

    oriented = unturned
    ambiguity = no_ambiguity

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        share = f"the worst {self.tail:.3g} share of the contexts"
        return f"{speech.estimated} {speech.text(value)} on average over {share}."
