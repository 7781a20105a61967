"""What to deploy: the best decision by the posterior of what has arrived, its interval, and what it is guarded against."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from windward.basics.budget import BLOCK
from windward.beliefs.beliefs import PosteriorMean
from windward.beliefs.scores import length
from windward.contexts import Contexts
from windward.objectives.protocol import Displaying, Reduction
from windward.objectives.situation import Situation
from windward.policy import SAMPLES, Policy
from windward.search.region import Region
from windward.suggest.prepare import Request, arrived_only, prepare
from windward.surrogate import Posterior
from windward.trials.trials import Trials

# Posterior samples as functions behind an interval, and its two quantiles.
PATHS = 128
INTERVAL = (0.05, 0.95)


@dataclass(frozen=True)
class Assessment:
    """One decision `"d"` by the posterior of what has arrived: its value, a 90 % interval, what it is guarded against.

    Numbers are oriented so that more is better, and shown as a person sees them. `situation` and `reduction` are what they
    come from: figures draw from the very same.
    """

    x: Tensor
    value: float
    interval: tuple[float, float]
    weights: Tensor  # "n", the distribution it is guarded against
    situation: Situation
    reduction: Reduction
    policy: Policy

    @property
    def contexts(self) -> Contexts:
        """The contexts that it was judged on."""
        return self.situation.contexts


@dataclass(frozen=True)
class Base:
    """What every assessment in one state and context shares, and the state of the generator after its contexts were made."""

    situation: Situation
    reduction: Reduction
    policy: Policy
    state: Tensor


def base_of(
    policy: Policy, trials: Trials, request: Request, generator: torch.Generator, posterior: Posterior | None = None
) -> Base | None:
    """Return what decisions are assessed by; None where nothing has arrived, or no context is declared or seen.

    `posterior` is that of what has arrived, where it is known already.
    """
    ready = prepare(policy, trials, request, generator, samples=SAMPLES)
    if ready.contexts is None or not ready.trials.arrived:
        return None
    situation = arrived_only(ready, posterior)
    return Base(situation, ready.policy.reported.bind(situation), ready.policy, generator.get_state())


def assess(base: Base, x: Tensor | None) -> Assessment:
    """Assess the decision `x` `"d"`, or the best one where None; no imagined value is used."""
    situation, reduction, policy = base.situation, base.reduction, base.policy
    generator = torch.Generator()
    generator.set_state(base.state)
    if x is None:
        x = best_by_mean(policy, situation, reduction, generator)
    value, weights = _guarded(x, situation, reduction)
    with torch.no_grad():
        draws = _draws(x, situation, reduction, generator)
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=draws.dtype, device=draws.device)).tolist()
    if isinstance(policy.reported, Displaying):
        low, value, high = policy.reported.displayed(torch.tensor([low, value, high], dtype=torch.float64)).tolist()
        low, high = min(low, value, high), max(low, value, high)
    return Assessment(x, value, (low, high), weights, situation, reduction, policy)


def best_by_mean(policy: Policy, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Tensor:
    """Return the decision to deploy by the posterior mean, among the policy's candidates; `"d"`."""
    acquisition = PosteriorMean()(situation, reduction, generator)
    evaluated = situation.trials.dataset.x
    if policy.report.candidates == "evaluated":
        return evaluated[acquisition(evaluated).argmax()].cpu()
    return policy.maximize(acquisition, Region(situation.trials.space, hints=evaluated.cpu()), generator)


def _guarded(x: Tensor, situation: Situation, reduction: Reduction) -> tuple[float, Tensor]:
    """Return the value of a decision at the posterior mean, and the distribution that it is guarded against."""
    posterior, contexts = situation.posterior, situation.contexts
    values = posterior.marginals(x[None], contexts.points)[0].detach().requires_grad_()
    extra = None
    if reduction.extra == "lower":
        extra = values
    elif reduction.extra == "slopes":
        extra = length(posterior.context_slopes(x[None], contexts.points).mean_gradient, contexts).detach()
    value = reduction(values, extra)
    # Danskin: the gradient of a worst case in the values is the distribution that attains it.
    (pull,) = torch.autograd.grad(value.sum(), values)
    weights = _distribution(pull[0], contexts)
    return float(value.detach()), weights


def _distribution(pull: Tensor, contexts: Contexts) -> Tensor:
    """Return the gradient as a distribution where it is one up to its size; the reference elsewhere.

    Satisficing divides by a radius; an objective that is not monotone guards against no single distribution.
    """
    total = float(pull.sum())
    if bool((pull >= -1e-9).all()) and total > 0.0:
        return pull.clamp_min(0.0) / pull.clamp_min(0.0).sum()
    return contexts.weights


def _draws(x: Tensor, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Tensor:
    """Return the objective over posterior samples of f; `"s"`."""
    posterior, contexts = situation.posterior, situation.contexts
    if reduction.extra != "slopes":
        size = max(1, BLOCK // len(contexts))
        draws = contexts.weights.new_empty(SAMPLES)
        for part in torch.split(draws, size):
            samples = posterior.sample(x, contexts.points, len(part), generator)
            part.copy_(reduction(samples, samples if reduction.extra == "lower" else None))
        return draws
    # A slope needs a function, not values at points. One path after the other: each holds a large table.
    paths = (posterior.path(generator) for _ in range(PATHS))
    return torch.cat(
        [
            reduction(p(x[None], contexts.points), length(p.context_gradient(x[None], contexts.points), contexts))
            for p in paths
        ]
    )
