"""The contexts that a decision is judged on: those seen, and a share for what has not been seen.

A density estimate is good to decide by, and not to judge by: it widens the contexts by its bandwidth, which moves
expectations of curved functions and tails. So a decision's value is taken over the contexts that were seen. Their true
weights are unknown:

    weights ~ Dirichlet(g w_1, ..., g w_t, 1/m, ..., 1/m),   g = n - 4,   n = 1 / sum w_i^2

w_i is the weight of a seen context, 1/t unless a part of the context is given or older ones count less; n is how many
contexts the weights are worth. The last m points are spread over where contexts may be. They have one context's mass
together: what has not been seen may yet come. Four contexts fewer than were seen: with a mass of one each, 90 % intervals of
an average held 85 to 89 % of the time.

Contexts without declared bounds may come far outside those seen. Of t contexts the largest is as far out as comes once in t;
what comes once in a few times t lies farther by multiples of how far the largest lies beyond a tenth of them. So
the points without a sighting reach that far where advice is judged (`far`): the tails of what was seen are too short.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.basics import streams
from windward.contexts.density import conditional_weights, space_filling_order
from windward.contexts.weighted import Contexts, Unknown, reach, scatter
from windward.space.space import Given, Space

# Points over where contexts may be, and the mass that they have together.
UNSEEN_POINTS = 64
UNSEEN_MASS = 1.0
# Where advice is judged: beyond the outermost context seen by so many times its distance to the outer tenth of them.
FARTHER, OUTER = 2.0, 0.1
# Contexts that the weights are worth less than they are; the rest is never below a third of them.
FEWER = 4.0
LEAST_SHARE = 1.0 / 3.0
# Seen contexts that are judged on one by one; of more, neighbours stand together.
MOST_SEEN = 1024


def seen_and_unseen(
    space: Space,
    seen: Tensor,
    given: Given,
    weights: Tensor | None = None,
    *,
    elsewhere: int = 0,
    far: bool = False,
) -> Contexts | None:
    """Return the contexts seen, `"t k"`, and points where others may come, with what is unknown of their weights.

    `weights` `"t"` say how much the seen ones count, given what is given; all alike where they are left out. With `elsewhere`
    the others are as many as there are places where an adversary may put mass: the same ones. Otherwise `far` spreads them
    over the tails that were not seen. None where nothing was seen and no bounds are declared.
    """
    if given.complete:
        return Contexts.uniform(given.values[None, :])
    edges = reach(space, seen)
    if edges is None:
        return None
    if far and not elsewhere:
        edges = _farther(space, seen, *edges)
    count = elsewhere or UNSEEN_POINTS
    unseen = torch.where(given.known, given.values, scatter(space, *edges, count, streams.fixed()))
    others = torch.full((count,), UNSEEN_MASS / count, dtype=torch.float64)
    if len(seen) == 0:
        return with_unknown(unseen, others, count)
    mass = masses(conditional_weights(space, seen, given) if weights is None else weights)
    points, mass = _gathered(torch.where(given.known, given.values, seen), mass)
    return with_unknown(torch.cat([points, unseen]), torch.cat([mass, others]), count)


def _farther(space: Space, seen: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Return these edges moved out where no bounds are declared."""
    if len(seen) == 0:
        return low, high
    least, most = space.context_bounds
    inner = seen.quantile(torch.tensor([OUTER, 1.0 - OUTER], dtype=seen.dtype), dim=0)
    below = seen.amin(0) - FARTHER * (inner[0] - seen.amin(0))
    above = seen.amax(0) + FARTHER * (seen.amax(0) - inner[1])
    return torch.maximum(torch.minimum(low, below), least), torch.minimum(torch.maximum(high, above), most)


def masses(weights: Tensor) -> Tensor:
    """Return the Dirichlet concentrations of seen contexts with these weights; `"t"` each."""
    worth = float(1.0 / weights.square().sum())
    return weights * max(worth - FEWER, LEAST_SHARE * worth)


def with_unknown(points: Tensor, mass: Tensor, unseen: int = 0) -> Contexts:
    """Return points `"m k"` weighted by their Dirichlet concentrations `"m"`, equal ones merged; the last are `unseen`."""
    unique, places = torch.unique(points, dim=0, return_inverse=True)
    total = torch.zeros(len(unique), dtype=torch.float64).index_add_(0, places, mass)
    possible = mass > 0  # what cannot happen any more has no mass to draw
    return Contexts(unique, total / total.sum(), Unknown(mass[possible], places[possible], unseen))


def _gathered(points: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    """Return the points with a mass; of many, some along a curve through them, each with the mass of its neighbours."""
    possible = mass > 0
    points, mass = points[possible], mass[possible]
    if len(points) <= MOST_SEEN:
        return points, mass
    order = space_filling_order(points)
    groups = torch.arange(len(points)) * MOST_SEEN // len(points)
    middles = torch.searchsorted(groups, torch.arange(MOST_SEEN)) + (len(points) // MOST_SEEN) // 2
    together = torch.zeros(MOST_SEEN, dtype=torch.float64).index_add_(0, groups, mass[order])
    return points[order][middles], together
