"""Decisions from a list: a maximizer that tries every one, and a design that draws from it.

A problem with a finite set of decisions is played with these in place of a policy's own, so that every method chooses among
the same decisions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from windward.basics import streams
from windward.bench import gridded
from windward.bench.gridded import Points, quick_on_list
from windward.bench.problem import Problem
from windward.policy import Policy
from windward.search.acquisition import Acquisition, Distancing
from windward.search.choice import best_of
from windward.search.region import LEAST_DISTANCE, Region
from windward.space.space import Space


@dataclass(frozen=True)
class Listed:
    """Take the best of the listed decisions (in the unit cube), `apart` from pending ones as in `MultiStart`."""

    points: Points
    apart: float = LEAST_DISTANCE

    @cached_property
    def tensor(self) -> Tensor:
        """The decisions; `"n d"`."""
        return torch.tensor(self.points, dtype=torch.float64)

    def most_decisions(self, space: Space) -> int:
        """Return how many decisions are listed."""
        return len(self.points)

    def __call__(self, acquisition: Acquisition, region: Region, generator: torch.Generator) -> Tensor:
        return best_of(acquisition, self.tensor, replace(region, apart=self.apart))


@dataclass(frozen=True)
class ListedDesign:
    """Draw from the listed decisions (in the unit cube), each with the same chance, for `count` rounds; None: for ever."""

    points: Points
    count: int | None = None

    def rounds(self, space: Space) -> float:
        """Return how many rounds the design lasts."""
        return math.inf if self.count is None else self.count

    def __call__(self, round: int, region: Region, seed: int) -> Tensor:
        place = int(torch.randint(len(self.points), (1,), generator=streams.listing(seed, round)))
        return torch.tensor(self.points[place], dtype=torch.float64)


PARTS = (Listed, ListedDesign, *gridded.PARTS)


def among_listed(policy: Policy, problem: Problem) -> Policy:
    """Return the policy choosing among the problem's decisions alone, where it lists them.

    A process that is not fitted keeps its variances at them from ask to ask (`gridded.py`): every one is looked at each time.
    """
    if problem.decisions is None:
        return policy
    unit = torch.empty_like(problem.decisions)
    for column, parameter in enumerate(problem.space.decision.values()):
        assert not parameter.choices, "listed decisions are numbers"
        unit[:, column] = torch.from_numpy(parameter.to_unit(problem.decisions[:, column].numpy()))[:, 0]
    points = tuple(tuple(row) for row in unit.tolist())
    rounds = policy.design.rounds(problem.space)
    design = ListedDesign(points, None if math.isinf(rounds) else int(rounds))
    apart = policy.maximize.apart if isinstance(policy.maximize, Distancing) else LEAST_DISTANCE
    quick = quick_on_list(policy.surrogate, points)
    policy = policy if quick is None else replace(policy, surrogate=quick)
    return replace(policy, maximize=Listed(points, apart), design=design)
