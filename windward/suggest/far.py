"""How far a decision lies from all that were tried: what `ask(far=True)` climbs instead of the policy's belief.

A model that has seen nothing of a corner may be sure of it all the same. Only a result from there can say that it is wrong.
Distances are those of the unit cube: every number counts by its range, and another choice as the root of two ranges.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from windward.search.acquisition import Acquisition, values_of
from windward.search.region import Region
from windward.trials.trials import Trials

# Decisions looked at besides the maximizer's own, of each of three kinds; the farthest of them are then moved about.
SPREAD, MOVED = 1024, 32
# Steps tried from each at once, how often that is repeated, and the length of the first and the last, as shares of a side.
BESIDE, MOVES, FIRST, LAST = 16, 40, 0.3, 0.01


def farthest(trials: Trials) -> Acquisition:
    """Return the distance to the nearest decision that was asked or added, as something to climb.

    Those that were lost too: what cannot be evaluated there would else be asked for again and again, a step beside it.
    """
    tried = trials.decisions(trials.rows)

    def distance(x: Tensor) -> Tensor:
        return torch.cdist(x, tried.to(x)).amin(-1)

    return Acquisition(distance)


def everywhere(distance: Acquisition, region: Region, generator: torch.Generator) -> Region:
    """Return the region with hints that lie far: among decisions to stay near, or with few starts, a search would miss them.

    Most that is far lies on the sides and in the corners, of which there are many: some numbers, or all, go to their nearest
    end.
    """
    spread = region.points(SPREAD, generator)
    some = torch.rand(spread.shape, generator=generator, dtype=torch.float64) < 0.5
    sides, corners = (
        torch.where(region.numbers & moved, spread.round(), spread) for moved in (some, torch.ones_like(some))
    )
    ends = region.repaired(region.valid(torch.cat([sides, corners])))
    points = torch.cat([spread, ends[region.feasible(ends)]])
    points = points[values_of(distance, points).argsort(descending=True)[:MOVED]]
    for turn in range(MOVES):
        reach = FIRST * (LAST / FIRST) ** (turn / (MOVES - 1))
        steps = torch.randn(BESIDE, *points.shape, generator=generator, dtype=torch.float64)
        beside = torch.where(region.numbers, points + reach * steps, points).clamp(0.0, 1.0)
        near = region.repaired(region.valid(beside.flatten(0, 1)))
        values = torch.where(region.feasible(near), values_of(distance, near), -torch.inf).reshape(BESIDE, -1)
        best, which = values.max(0)
        found = near.reshape(beside.shape)[which, torch.arange(len(points))]
        points = torch.where((best > values_of(distance, points))[:, None], found, points)
    hints = points if region.hints is None else torch.cat([region.hints, points])
    return replace(region, tried=None, hints=hints)
