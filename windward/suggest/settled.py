"""When to stop: the probability that no decision is better than the recommended one by more than delta.

    P( max_x V(x) - V(x*) <= delta )

V is drawn with everything that is unknown of it (see `unknown.py`), over decisions spread over the space, around the
recommended one, and tried before. For an expectation the draws are joint normals over all of these decisions; for every
other objective they are samples of f as functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.budget import BLOCK
from windward.search.region import Region
from windward.suggest.assess import Assessment
from windward.suggest.unknown import Unknowns
from windward.surrogate import JointlyAveraged
from windward.surrogate.sampling import joint_root

# Decisions spread over the space and around the recommended one, and the most that were tried.
SPREAD, AROUND, TRIED = 256, 96, 64
# How far around the recommended decision, as shares of the cube's side: peaks beside it are near or half-way.
NEAR, HALF_WAY = 0.03, 0.12
# Joint draws with each theta and distribution, where they are in closed form.
DRAWS = 16
FUNCTIONS = 2  # sampled functions with each, elsewhere


@dataclass(frozen=True)
class Settled:
    """Stop once, with this `probability`, no decision is better than the recommended one by more than `delta`.

    `delta` is in the units of the value. For `Study.run(until=Settled(...))`; `looks` rounds in a row must say so: one
    round may do so by chance.

    >>> Settled(delta=0.5).probability
    0.95
    """

    delta: float
    probability: float = 0.95
    looks: int = 2

    def __post_init__(self) -> None:
        arguments.number("Settled", "delta", self.delta, low=0.0, open_low=True)
        arguments.number("Settled", "probability", self.probability, low=0.0, high=1.0, open_low=True)
        arguments.whole("Settled", "looks", self.looks, low=1)


def gaps(found: Assessment) -> Tensor:
    """Return draws of by how much the best decision is better than the recommended one, never below 0; `"s"`."""
    unknowns, generator = found.base.unknowns, torch.Generator().manual_seed(found.base.unknowns.seeds[0])
    x = candidates(found, generator)
    with torch.no_grad():
        posterior = found.situation.posterior
        if unknowns.closed and isinstance(posterior, JointlyAveraged) and posterior.separable:
            drawn = _normal(unknowns, x, generator)
        else:
            drawn = _functions(unknowns, x)
        drawn = found.base.displayed(drawn)
    return (drawn.max(1).values - drawn[:, 0]).clamp_min(0.0)


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


def _normal(unknowns: Unknowns, x: Tensor, generator: torch.Generator) -> Tensor:
    """Return joint draws of the averages at decisions, some for each theta and distribution; `"s m"`."""
    found = []
    for mean, covariance in unknowns.joint_averages(x):
        root = joint_root(covariance, float(covariance.diagonal().max()))
        normal = torch.randn(DRAWS, len(x), generator=generator, dtype=torch.float64).to(root)
        found.append(mean + normal @ root.T)
    return torch.cat(found)


def _functions(unknowns: Unknowns, x: Tensor) -> Tensor:
    """Return the objective of sampled functions at decisions; `"s m"`."""
    size = max(1, BLOCK // max(1, len(unknowns.contexts)))
    return torch.cat([unknowns.along_paths(rows, FUNCTIONS) for rows in torch.split(x, size)], dim=1)


def settled_probability(found: Assessment, delta: float) -> float:
    """Return the probability that no decision is better than the recommended one by more than `delta`."""
    return float((gaps(found) <= delta).double().mean())


def typical_gap(found: Assessment, probability: float = 0.95) -> float:
    """Return the least delta that holds with this probability."""
    drawn = gaps(found)
    place = min(len(drawn) - 1, math.ceil(probability * len(drawn)) - 1)
    return float(drawn.sort().values[place])
