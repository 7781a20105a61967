"""What to deploy: the best decision by the posterior of what has arrived, its interval, and what it is guarded against."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from windward.basics.budget import BLOCK
from windward.beliefs.beliefs import PosteriorMean
from windward.beliefs.scores import acquisition, length
from windward.contexts import Contexts
from windward.feedback import fit_arrived
from windward.objectives.protocol import Reduction
from windward.objectives.satisficing import Satisficing, reported
from windward.policy import SAMPLES, Policy, Request, check_memory
from windward.search.region import Region
from windward.surrogate import Believed, Posterior
from windward.trials.trials import Trials

# Posterior samples as functions behind an interval, and its two quantiles.
PATHS = 128
INTERVAL = (0.05, 0.95)


@dataclass(frozen=True)
class Assessment:
    """One decision `"d"` by the posterior: its value, a 90 % interval, the contexts and the weights it is guarded against."""

    x: Tensor
    value: float
    interval: tuple[float, float]
    contexts: Contexts
    weights: Tensor


def assess(
    policy: Policy, trials: Trials, request: Request, x: Tensor | None, generator: torch.Generator
) -> Assessment | None:
    """Assess the decision `x` `"d"`, or the best one where None; no imagined value is used.

    Returns None where nothing has arrived, or where no context is declared or seen.
    """
    policy, trials = policy.oriented(trials.sign), policy.view(trials)
    check_memory(policy.reporting, trials, request, samples=SAMPLES)
    space = trials.space
    contexts = policy.context_model(space, trials, request.known(space), generator)
    if contexts is None or not trials.arrived:
        return None
    contexts = contexts.to(trials.device)
    posterior = fit_arrived(trials, policy.surrogate, request.start)
    objective = policy.report.objective or policy.objective
    reduction = objective.bind(contexts, trials.contexts_seen)
    score = PosteriorMean()(Believed(posterior), trials, contexts, generator)
    if x is None and policy.report.candidates == "evaluated":
        evaluated = trials.dataset.x
        x = evaluated[score(reduction, evaluated).argmax()].cpu()
    elif x is None:
        value = acquisition(score, reduction, trials.device)
        x = policy.maximize(value, Region(space, hints=trials.dataset.x.cpu()), generator)
    found = _assessed(x, posterior, contexts, reduction, generator)
    if isinstance(
        objective, Satisficing
    ):  # a missed target is pushed down for the search; a person is shown by how much
        numbers = torch.tensor([found.interval[0], found.value, found.interval[1]], dtype=torch.float64)
        low, value, high = reported(numbers, objective.target).tolist()
        found = replace(found, value=value, interval=(min(low, value, high), max(low, value, high)))
    return found


def _assessed(
    x: Tensor, posterior: Posterior, contexts: Contexts, reduction: Reduction, generator: torch.Generator
) -> Assessment:
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
    with torch.no_grad():
        draws = _draws(x, posterior, contexts, reduction, generator)
    low, high = draws.quantile(torch.tensor(INTERVAL, dtype=draws.dtype, device=draws.device)).tolist()
    return Assessment(x, float(value.detach()), (low, high), contexts, weights)


def _distribution(pull: Tensor, contexts: Contexts) -> Tensor:
    """Return the gradient as a distribution where it is one up to its size; the reference elsewhere.

    Satisficing divides by a radius; an objective that is not monotone guards against no single distribution.
    """
    total = float(pull.sum())
    if bool((pull >= -1e-9).all()) and total > 0.0:
        return pull.clamp_min(0.0) / pull.clamp_min(0.0).sum()
    return contexts.weights


def _draws(
    x: Tensor, posterior: Posterior, contexts: Contexts, reduction: Reduction, generator: torch.Generator
) -> Tensor:
    """Return the objective over posterior samples of f; `"s"`."""
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
