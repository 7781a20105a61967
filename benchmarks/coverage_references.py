"""The intervals that those of `coverage.py` are held against: Dirichlet weights over the contexts seen.

`mean`: with f at its posterior mean; `draws`: with posterior draws of f at the fitted hyper-parameters; `known`: the true f.
Where a part of the context is given, the weights are Dirichlet(n_eff w), w those of the density estimate given that part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from coverage_problem import Problem, Values, decoded, elsewhere, upright

import windward as ww
from windward.contexts import conditional_weights
from windward.contexts.weighted import with_elsewhere

LEVEL = 0.9
# Draws behind a reference; a ball is bound to each of them, and one over all pairs of contexts takes milliseconds.
PLAIN, BALLS, PAIRS = 500, 100, 64


def references(problem: Problem, study: ww.Study, decision: Values, chance: np.random.Generator) -> dict[str, Any]:
    """Return the ends of each reference at 90 %, in the problem's own direction."""
    trials, space, sign = study.trials, problem.space, problem.sign
    contexts, concentration = seen(problem, trials.seen_contexts)
    count = PLAIN if problem.kind in ("Expected", "CVaR") else PAIRS if problem.takes_pairs else BALLS
    draws = chance.standard_gamma(concentration, (count, len(concentration)))
    weights = torch.from_numpy(draws / draws.sum(-1, keepdims=True))
    weights = torch.cat([weights, weights.new_zeros(count, len(contexts) - len(concentration))], -1)
    posterior = problem.policy.surrogate.fit(trials.dataset)
    x, generator = space.encode_decisions([decision])[0], torch.Generator().manual_seed(int(chance.integers(2**31)))
    exact = problem.f(upright([decision]), decoded(space, contexts.points))
    with torch.no_grad():
        values = {
            "mean": posterior.means(x[None], contexts.points),
            "draws": posterior.sample(x, contexts.points, count, generator),
            "known": sign * torch.from_numpy(np.asarray(exact, dtype=float)),
        }
        every = torch.stack([f.expand(count, -1) for f in values.values()])
        found = dict(zip(values, reduced(problem, every, weights, contexts), strict=True))
    ends = torch.tensor([0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0], dtype=torch.float64)
    return {name: sorted((sign * one.quantile(ends)).tolist()) for name, one in found.items()}


def seen(problem: Problem, points: torch.Tensor) -> tuple[ww.Contexts, np.ndarray]:
    """Return the contexts seen, those given fixed, with reach points after them, and the concentration of the former."""
    space, given = problem.space, problem.space.encode_given(dict(problem.given))
    weights = conditional_weights(space, points, given)
    # Less than this of one sighting moves no draw.
    kept = weights > 1e-6 / len(points)
    weights = weights[kept] / weights[kept].sum()
    here = torch.where(given.known, given.values, points)[kept]
    contexts = with_elsewhere(ww.Contexts(here, weights), space, points, given, elsewhere(problem))
    return contexts, (weights / weights.square().sum()).numpy()


def reduced(problem: Problem, f: torch.Tensor, weights: torch.Tensor, contexts: ww.Contexts) -> torch.Tensor:
    """Return the objective of draws of some f `"f s n"`, each draw under its own weights `"s n"`; `"f s"`."""
    if problem.kind == "Expected":
        return (f * weights).sum(-1)
    if problem.kind == "CVaR":
        ranked, order = f.sort(-1)
        mass = weights.expand_as(f).gather(-1, order)
        share = torch.minimum(mass, (problem.objective.tail - mass.cumsum(-1) + mass).clamp_min(0.0))
        return (share * ranked).sum(-1) / share.sum(-1)
    rows = []
    for values, own in zip(f.unbind(1), weights, strict=True):
        bound = problem.objective.bind(ww.Situation(ww.Contexts(contexts.points, own)))
        rows.append(bound(values))  # all f at once: an adversary's answers take about as long as one
    return torch.stack(rows, dim=1)
