"""A belief over the objective itself: what a decision is worth, and how far that may be off, by all that the data allow.

    V_s(x)  ~  R(m) + q'(m_s - m)          under plausible hyper-parameters s: m_s the mean of f, m the average of these
    v_s(x)  =  q' S_s q                    S_s the posterior covariance of f over the contexts at x
    bound   =  average of V_s + width * sqrt(average of v_s + spread of V_s)

R is the objective and q its gradient at m: the contexts' weights for an expectation, where all this is exact (of more than 128
contexts some stand for all, see `crowd`); the adversary's weights for a worst case. Context by context (`UpperConfidence`) the
deviations of all contexts add up as if they erred together; here what averages out does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.budget import BLOCK, CLIMBED, Need, Sizes
from windward.basics.errors import IncompatibleError
from windward.basics.speech import shown
from windward.beliefs.scores import in_parts, length
from windward.beliefs.widths import AnyWidth, check_patience, check_width, resolved_width
from windward.contexts import Contexts
from windward.feedback import Feedback
from windward.objectives.protocol import Averaging, Bound, Objective, Reduction
from windward.objectives.situation import Situation
from windward.search.acquisition import Acquisition, Function
from windward.surrogate import Posterior, Weighing
from windward.surrogate.crowd import Crowd, crowd
from windward.surrogate.nearby import fewer

Moments: TypeAlias = tuple[Tensor, Tensor]
"""Mean and variance of the values of decisions under each posterior, `"T b"` each."""

# Where the kernel does not factorise only every fourth posterior is looked at: each costs a matrix for each decision.
EVERY = 4
# A variance of nothing has a root with no slope.
LEAST = 1e-300
# Matrices of observations by observations for each posterior: its factor, its inverse, and what stands beside them while they
# are made. Measured: 3.3 with 1,500 observations.
COPIES = 4


@dataclass(frozen=True)
class OverallConfidence:
    """Optimism about what a decision is worth overall: the objective's mean + `width` * its own deviation.

    What is unknown of the hyper-parameters counts: `doubts` draws of them are looked at, where the surrogate has draws (see
    `nearby`); with 0 the fit alone, which for an expectation is GP-UCB on the quadrature (Nguyen2020, Eqs. 5-6). Any
    objective will do, monotone or not; for all but an expectation mean and deviation hold to first order.

    >>> OverallConfidence(0.5).doubts
    16
    """

    width: AnyWidth = 0.5
    doubts: int = 16
    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_width("OverallConfidence", self.width)
        arguments.whole("OverallConfidence", "doubts", self.doubts, low=0)

    def check(self, objective: Objective, feedback: Feedback) -> None:
        """Take every objective; refuse a width that needs another feedback."""
        check_patience(self, self.width, feedback)

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition:
        width = resolved_width("OverallConfidence", self.width, situation)

        def scored(what: Reduction) -> Function:
            moments = moments_of(situation, what)

            def bound(x: Tensor) -> Tensor:
                mean, variance = moments(x)
                spread = variance.mean(0) + (mean - mean.mean(0)).square().mean(0)
                return mean.mean(0) + width * spread.clamp_min(LEAST).sqrt()

            return whole(bound, situation, len(situation.plausible) or 1)

        draft = reduction.draft if isinstance(reduction, Bound) else None
        return Acquisition(scored(reduction), None if draft is None else scored(draft))

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the posteriors take, and the kernels of the contexts, of all posteriors at once."""
        points, seen = sizes.points, sizes.observations
        draws = fewer(self.doubts, seen) if self.doubts else 1
        return [
            Need(
                "the plausible posteriors",
                COPIES * draws * seen * seen,
                f"{COPIES} x {draws} posteriors x {seen:,}^2 observations",
                by="observations",
            ),
            Need(
                "kernels between contexts",
                draws * points * (2 * points + seen),
                f"{draws} posteriors x {points:,} contexts x (2 x {points:,} contexts + {seen:,} observations)",
            ),
        ]


def whole(function: Function, situation: Situation, posteriors: int) -> Function:
    """Return the function on the device that computes, some decisions at a time."""
    device = situation.trials.device
    each = posteriors * (len(situation.contexts) + situation.posterior.size)
    sizes = max(1, BLOCK // each), max(1, CLIMBED // (each * max(1, situation.posterior.size)))

    def score(x: Tensor) -> Tensor:
        at = x.to(device)
        found = in_parts(function, at, *sizes) if at.ndim > 1 and device.type == "cpu" else function(at)
        return found.to(x.device)

    return score


def moments_of(situation: Situation, reduction: Reduction) -> Callable[[Tensor], Moments]:
    """Return mean and variance of the values of decisions under each plausible posterior."""
    posteriors = situation.plausible or (situation.posterior,)
    if situation.aim is not None and isinstance(situation.aim.objective, Averaging):
        together = crowd(posteriors, situation.contexts)
        return together.averages if together is not None else partial(_averages, posteriors, situation.contexts)
    if not all(isinstance(one, Weighing) for one in posteriors):
        objective = "..." if situation.aim is None else shown(situation.aim.objective)
        raise IncompatibleError(
            f"Policy(belief=OverallConfidence(), objective={objective}): the surrogate's posterior, a "
            f"{type(posteriors[0]).__name__}, knows the deviation of an average alone; use Expected(), or belief=Thompson()."
        )
    return partial(_to_first_order, situation, reduction, _beliefs(posteriors, situation.contexts))


def _averages(posteriors: Sequence[Posterior], contexts: Contexts, x: Tensor) -> Moments:
    found = [posterior.average(x, contexts) for posterior in posteriors]
    means, deviations = (torch.stack(part) for part in zip(*found, strict=True))
    return means, deviations.square()


@dataclass(frozen=True)
class _Each:
    """What `Crowd` knows, posterior by posterior: for kernels that do not factorise, and for models of one's own."""

    posteriors: Sequence[Posterior]
    points: Tensor

    def means(self, x: Tensor) -> Tensor:
        return torch.stack([posterior.means(x, self.points) for posterior in self.posteriors])

    def weighted_variances(self, x: Tensor, pull: Tensor) -> Tensor:
        known = [p for p in self.posteriors if isinstance(p, Weighing)]
        return torch.stack([p.weighted_deviation(x, self.points, pull).square() for p in known])


def _beliefs(posteriors: Sequence[Posterior], contexts: Contexts) -> Crowd | _Each:
    together = crowd(posteriors, contexts, exact=True)
    return together if together is not None else _Each(posteriors[::EVERY], contexts.points)


def _to_first_order(situation: Situation, reduction: Reduction, beliefs: Crowd | _Each, x: Tensor) -> Moments:
    each = beliefs.means(x)
    means = each.mean(0)
    with torch.enable_grad():
        held = means.detach().requires_grad_()
        (pull,) = torch.autograd.grad(reduction(held, _extra(situation, reduction, x.detach(), held)).sum(), held)
    value = reduction(means, _extra(situation, reduction, x, means))
    return value + (pull * (each - means)).sum(-1), beliefs.weighted_variances(x, pull)


def _extra(situation: Situation, reduction: Reduction, x: Tensor, means: Tensor) -> Tensor | None:
    """Return what a reduction asks for beside values, at the mean."""
    if reduction.extra == "lower":
        return means
    if reduction.extra == "slopes":
        contexts = situation.contexts
        return length(situation.posterior.context_slopes(x, contexts.points).mean_gradient, contexts)
    return None
