"""The first decisions, made before there is anything to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.basics import arguments, streams
from windward.search.region import Region
from windward.space.space import Space


@runtime_checkable
class Design(Protocol):
    """Give the decisions of the first rounds: a pure function of the round, the region and the study's seed."""

    def rounds(self, space: Space) -> float: ...

    def __call__(self, round: int, region: Region, seed: int) -> Tensor: ...


@dataclass(frozen=True)
class Sobol:
    """Successive points of one scrambled Sobol sequence.

    `count` is the number of rounds; left out, it is 2 per parameter (decisions and contexts alike) plus 1, at least 5:
    the fit has one length-scale per parameter and one noise, and two values per unknown are the fewest that tell a
    length-scale from noise.
    """

    count: int | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            arguments.whole("Sobol", "count", self.count, low=0)

    def rounds(self, space: Space) -> float:
        """Return how many rounds the design lasts."""
        if self.count is not None:
            return self.count
        return max(5, 2 * (len(space.decision) + len(space.context)) + 1)

    def __call__(self, round: int, region: Region, seed: int) -> Tensor:
        # Sobol points come in a fixed order, so drawing more gives the same ones first; a power of two keeps them even.
        count = max(64, 2 ** (round + 1).bit_length())
        points = region.points(count, streams.designing(seed))
        return points[round % len(points)]


@dataclass(frozen=True)
class Central:
    """The middle of every range first, then points of one scrambled Sobol sequence drawn towards it.

    `count` is the number of rounds. Numbers lie in the inner `share` of each range: who pays for each trial does not begin at
    the ends of what was declared. Categories are spread as `Sobol` spreads them. Where
    constraints forbid such a point, the Sobol point itself is taken.

    >>> Central(3).share
    0.6
    """

    count: int = 4
    share: float = 0.6

    def __post_init__(self) -> None:
        arguments.whole("Central", "count", self.count, low=1)
        arguments.number("Central", "share", self.share, low=0.0, high=1.0, open_low=True)

    def rounds(self, space: Space) -> float:
        """Return how many rounds the design lasts."""
        return self.count

    def __call__(self, round: int, region: Region, seed: int) -> Tensor:
        low, high = region.bounds or (torch.zeros(region.space.decision_width).double(), torch.ones(1).double())
        middle = 0.5 * (low + high)
        share = self.share if round else 0.0
        point = Sobol()(round, region, seed)
        drawn = torch.where(region.numbers, middle + share * (point - middle), point)
        inside = region.repaired(region.valid(drawn[None]))
        return inside[0] if bool(region.feasible(inside).all()) else point


@dataclass(frozen=True)
class RandomDesign:
    """Independent uniform decisions, for ever: the baseline that never learns where to look."""

    def rounds(self, space: Space) -> float:
        """Return infinity: this design does not end."""
        return float("inf")

    def __call__(self, round: int, region: Region, seed: int) -> Tensor:
        # One scrambled Sobol point alone is uniform; a new scrambling every round makes rounds independent.
        points = region.points(16, streams.asking(seed, round))
        return points[0]
