"""What the papers' experiments share: claims by the dozen, and a problem's reference as a context model."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from windward.basics.errors import ArgumentError
from windward.bench.experiment import Claim
from windward.bench.play import values_of
from windward.bench.problem import Problem
from windward.contexts import Known

# Nodes of a quadrature that weigh less than this are left out of what a learner is told.
LEAST_WEIGHT = 1e-7


def ahead(panels: Iterable[str], first: Iterable[str], second: Iterable[str]) -> tuple[Claim, ...]:
    """Return the claims that each of `first` is better than each of `second`, in each panel."""
    firsts, seconds = tuple(first), tuple(second)
    return tuple(Claim(panel, one, other) for panel in panels for one in firsts for other in seconds)


def level(panels: Iterable[str], first: str, second: str) -> tuple[Claim, ...]:
    """Return the claims that two methods are about as good, in each panel."""
    return tuple(Claim(panel, first, second, "level") for panel in panels)


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
