"""When to stop: the probability that no decision is better than the recommended one by more than delta.

    P( max_x V(x) - V(x*) <= delta )

V is drawn with everything that is unknown of it (see `unknown.py`), over decisions spread over the space, around the
recommended one, and tried before. For an expectation the draws are joint normals over all of these decisions; for every
other objective they are samples of f as functions.

All of this trusts the model, and a model that has missed a peak says that it is sure. After n results that did not
contradict it, the chance that it is wrong counts as 1 / (n + 2), by Laplace's rule of succession; where it is wrong, what is
left to find counts as much as the results differ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from windward.basics import streams
from windward.search.region import Region
from windward.suggest.unknown import Unknowns
from windward.surrogate import JointlyAveraged
from windward.surrogate.sampling import joint_root

if TYPE_CHECKING:
    from windward.suggest.assess import Assessment

# Decisions spread over the space and around the recommended one, and the most that were tried.
SPREAD, AROUND, TRIED = 256, 96, 64
# How far around the recommended decision, as shares of the cube's side: peaks beside it are near or half-way.
NEAR, HALF_WAY = 0.03, 0.12
# Joint draws with each theta and distribution, where they are in closed form.
DRAWS = 16
FUNCTIONS = 64  # sampled functions altogether, elsewhere
# Laplace's rule of succession for "the model is wrong", which has not happened yet: WRONG / (n + MORE).
WRONG, MORE = 1.0, 2.0
# A value that is shown otherwise than it is compared by differs by more than this share of it.
PUSHED = 1e-6


def gaps(found: Assessment) -> Tensor:
    """Return draws of by how much the best decision is better than the recommended one, as a person sees values; `"s"`.

    Never below 0. Infinite where the best meets a target that the recommended one misses: no difference makes up for that.
    """
    unknowns, generator = found.base.unknowns, streams.repeated(found.base.unknowns.seeds[0])
    x = candidates(found, generator)
    with torch.no_grad():
        posterior = found.situation.posterior
        if unknowns.closed and isinstance(posterior, JointlyAveraged) and posterior.separable:
            drawn = _normal(unknowns, x, generator)
        else:
            drawn = unknowns.first_and_best(x, FUNCTIONS)
        shown = found.base.displayed(drawn)
    # A missed target is pushed down before decisions are compared: what is shown is then another number.
    pushed = (drawn - shown).abs() > PUSHED * (1.0 + shown.abs())
    found_gaps = torch.where(pushed[:, 0] & ~pushed[:, 1], torch.inf, (shown[:, 1] - shown[:, 0]).clamp_min(0.0))
    return _doubted(found_gaps, found.situation.trials.dataset.y)


def _doubted(drawn: Tensor, results: Tensor) -> Tensor:
    """Return the draws of a gap with some of them, evenly spread, as large as the results differ: the model may be wrong."""
    most = max(float(results.max() - results.min()), float(drawn.max()))
    count = math.ceil(len(drawn) * WRONG / (len(results) + MORE))
    places = torch.linspace(0, len(drawn) - 1, count, dtype=torch.float64).round().long().to(drawn.device)
    return drawn.index_fill(0, places, most)


def candidates(found: Assessment, generator: torch.Generator) -> Tensor:
    """Return decisions that may be the best, the recommended one first; `"m d"`."""
    trials = found.situation.trials
    region, here = Region(trials.space), found.x.cpu()
    spread = region.points(SPREAD, generator)
    tried = trials.dataset.x.cpu()[-TRIED:]
    normal = torch.randn(AROUND, len(here), generator=generator, dtype=torch.float64)
    width = torch.where(torch.arange(AROUND) % 2 == 0, NEAR, HALF_WAY)[:, None]
    around = region.repaired(region.valid((here + normal * width).clamp(0.0, 1.0)))
    return torch.cat([here[None], spread, tried, around[region.feasible(around)]])


def share_within(drawn: Tensor, delta: float) -> float:
    """Return the probability that a gap is at most `delta`, by draws of it."""
    return float((drawn <= delta).double().mean())


def gap_at(drawn: Tensor, probability: float) -> float:
    """Return the least delta that a gap is within with this probability, by draws of it."""
    place = min(len(drawn) - 1, math.ceil(probability * len(drawn)) - 1)
    return float(drawn.sort().values[place])


def _normal(unknowns: Unknowns, x: Tensor, generator: torch.Generator) -> Tensor:
    """Return joint draws of the averages at the first decision and the best of all, some for each theta; `"s 2"`."""
    found = []
    for mean, covariance in unknowns.joint_averages(x):
        root = joint_root(covariance, float(covariance.diagonal().max()))
        normal = torch.randn(DRAWS, len(x), generator=generator, dtype=torch.float64).to(root)
        drawn = mean + normal @ root.T
        found.append(torch.stack([drawn[:, 0], drawn.max(1).values], dim=1))
    return torch.cat(found)
