"""What decisions are expected to bring: an objective at the posterior mean, and how far the truth may be off.

    V(f) ~ V(m) + q'(f - m),   q the gradient of V at the mean m (Danskin: for a worst case the weights that attain it)
    Var V ~ q' S q,            S the posterior covariance of f over the contexts at the decision

For an expectation this is exact, with q the contexts' weights. For two decisions the same, jointly: their values are a
normal pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from windward.beliefs.scores import length
from windward.contexts import Contexts
from windward.objectives.protocol import Aim, Averaging, Displaying
from windward.objectives.situation import Situation
from windward.surrogate import Comparing, Posterior

# Contexts up to which sums over them are taken jointly; beyond, an expectation is taken over so many of them, and for other
# objectives the deviation is bounded by that of contexts that all err together.
JOINT = 1024


@dataclass(frozen=True)
class Outlook:
    """Decisions `"b d"` with their values `"b"`, the weights `"b n"` that count to first order, and the means `"b n"`.

    Values are oriented so that more is better, and as a person sees them.
    """

    x: Tensor
    value: Tensor
    pull: Tensor
    means: Tensor
    contexts: Contexts
    posterior: Posterior

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def variance(self) -> Tensor:
        """Variance of the values by what is unknown of f; `"b"`."""
        found = self._covariance(self)
        if found is not None:
            return found.clamp_min(0.0)
        std = self.posterior.marginals(self.x, self.contexts.points)[1]
        return (self.pull.abs() * std).sum(-1).square()

    @property
    def deviation(self) -> Tensor:
        """Standard deviation of the values by what is unknown of f; `"b"`."""
        return self.variance.sqrt()

    def under(self, posterior: Posterior) -> Outlook:
        """Return the same decisions and weights under another posterior; to first order the values move with its means."""
        if posterior is self.posterior:
            return self
        with torch.no_grad():
            means = posterior.means(self.x, self.contexts.points)
        value = self.value + (self.pull * (means - self.means)).sum(-1)
        return replace(self, value=value, means=means, posterior=posterior)

    def variance_beside(self, other: Outlook) -> Tensor | None:
        """Return the variance of these values less that of one other decision; `"b"`, None where the model cannot say."""
        between = self._covariance(other)
        return None if between is None else (self.variance + other.variance - 2.0 * between).clamp_min(0.0)

    def _covariance(self, other: Outlook) -> Tensor | None:
        """Return the covariance with the values of other decisions; None where the model does not know it, or it takes long."""
        # An adversary may sit on few contexts.
        used = ((self.pull != 0.0).any(0) | (other.pull != 0.0).any(0)).nonzero()[:, 0]
        if not isinstance(self.posterior, Comparing) or len(used) > JOINT:
            return None
        one = (self.x, self.pull[:, used])
        beside = one if other is self else (other.x, other.pull[:, used])
        return self.posterior.averages_covary(self.contexts.points[used], one, beside)


def outlook(x: Tensor, situation: Situation, aim: Aim, posterior: Posterior) -> Outlook:
    """Return what decisions `"b d"` are expected to bring by an objective, under a posterior."""
    contexts, averages = situation.contexts, isinstance(aim.objective, Averaging)
    contexts = contexts.fewer(JOINT) if averages else contexts
    points = contexts.points
    x = x.detach().to(points.device)
    with torch.no_grad():
        means = posterior.means(x, points)
    if averages:
        weights = contexts.weights.expand(len(means), -1)
        return Outlook(x, means @ contexts.weights, weights, means, contexts, posterior)
    with torch.enable_grad():  # a search may ask where nothing else is to be differentiated
        values = means.detach().requires_grad_()
        value = _reduced(x, values, contexts, aim, posterior)
        (pull,) = torch.autograd.grad(value.sum(), values)
    return Outlook(x, value.detach(), pull, means, contexts, posterior)


def worth(x: Tensor, situation: Situation, aim: Aim, posterior: Posterior) -> Tensor:
    """Return the objective of decisions `"b d"` at the posterior mean, as a person sees it; `"b"`."""
    x = x.detach().to(situation.contexts.points.device)
    with torch.no_grad():
        means = posterior.means(x, situation.contexts.points)
        return _reduced(x, means, situation.contexts, aim, posterior)


def _reduced(x: Tensor, means: Tensor, contexts: Contexts, aim: Aim, posterior: Posterior) -> Tensor:
    """Return the objective of means `"b n"`, with what else it needs; `"b"`."""
    extra = means if aim.reduction.extra == "lower" else None
    if aim.reduction.extra == "slopes":
        extra = length(posterior.context_slopes(x, contexts.points).mean_gradient, contexts).detach()
    value = aim.reduction(means, extra)
    return aim.objective.displayed(value) if isinstance(aim.objective, Displaying) else value


def probability_below(gap: float, deviation: float) -> float:
    """Return the probability that a normal number with this mean and deviation is below zero."""
    if deviation <= 0.0:
        return 0.5 if gap == 0.0 else float(gap < 0.0)
    return 0.5 * math.erfc(gap / deviation / math.sqrt(2.0))
