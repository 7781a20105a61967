"""What the papers' experiments share: claims by the dozen, and a problem's reference as a context model."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from windward.basics.errors import ArgumentError
from windward.bench.experiment import Claim
from windward.bench.play import values_of
from windward.bench.problem import Problem
from windward.contexts import Contexts, Known

# Nodes of a quadrature that weigh less than this are left out of what a learner is told.
LEAST_WEIGHT = 1e-7
# Most samples of a forecast at an ask.
MOST_TOLD = 256
# How most of the papers' hyper-parameters are found here.
WITH_PRIORS = (
    "the most probable ones under BoTorch's log-normal priors, with an amplitude of one in standardised outcomes, searched "
    "when the observations have grown by 5 %"
)


def ahead(panels: Iterable[str], first: Iterable[str], second: Iterable[str], said: str = "") -> tuple[Claim, ...]:
    """Return the claims that each of `first` is better than each of `second`, in each panel; `said` as in `Claim`."""
    firsts, seconds = tuple(first), tuple(second)
    return tuple(Claim(panel, one, other, said=said) for panel in panels for one in firsts for other in seconds)


def level(panels: Iterable[str], first: str, second: str, said: str = "") -> tuple[Claim, ...]:
    """Return the claims that two methods are about as good, in each panel."""
    return tuple(Claim(panel, first, second, "level", said) for panel in panels)


def near(panels: Iterable[str], first: str, others: Iterable[str], said: str = "") -> tuple[Claim, ...]:
    """Return the claims that a method is as good as each of the others at least, in each panel."""
    names = tuple(others)
    return tuple(Claim(panel, first, other, "near", said) for panel in panels for other in names)


def thinned(contexts: Contexts, count: int = MOST_TOLD) -> Contexts:
    """Return at most `count` points that stand for many: those of weight, heaviest first, with their weights."""
    order = contexts.weights.argsort(descending=True)[:count].sort().values
    return Contexts(contexts.points[order], contexts.weights[order] / contexts.weights[order].sum())


def told(problem: Problem, elsewhere: int = 0) -> Known:
    """Return what the learner is told of the contexts, with `elsewhere` even points of weight zero in each bounded one."""
    if problem.reference is None:
        raise ArgumentError(f"problem {problem.name!r} tells the learner no distribution; this method needs one.")
    heavy = problem.reference.weights >= LEAST_WEIGHT * float(problem.reference.weights.max())
    points, weights = problem.reference.points[heavy], problem.reference.weights[heavy]
    weights = weights / weights.sum()
    if elsewhere:
        low, high = problem.space.context_bounds
        steps = torch.linspace(0.0, 1.0, elsewhere, dtype=torch.float64)[:, None]
        points = torch.cat([points, low + steps * (high - low)])
        weights = torch.cat([weights, torch.zeros(elsewhere, dtype=torch.float64)])
    rows = [values_of(problem.space.context, row) for row in points]
    return Known({name: [row[name] for row in rows] for name in problem.space.context}, weights.tolist())
