"""Searching near what has come back: around the best decisions so far, not over the whole space."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.search.acquisition import Acquisition, limited, values_of
from windward.search.choice import best
from windward.search.multistart import MultiStart
from windward.search.region import Region
from windward.space.space import Space


@dataclass(frozen=True)
class NearBest:
    """Search around the best decisions that have come back while there are few: no number moves far from one of them.

    Where few results are in, a model promises most in the corners of the space, where it knows least, and those promises seldom
    hold. So numbers move by at most `reach` of their range from one of the best decisions: the `of` that the acquisition ranks
    highest among those that came back, half a reach apart from each other at least. Categories move freely, and so do whole
    numbers without a step of their own. From `until` results on the whole space is searched, so no optimum is out of reach for
    good. Where pending decisions leave no room the reach is doubled. Each search is one by `search`.

    >>> NearBest(0.1).reach
    0.1
    """

    reach: float = 0.25
    of: int = 2
    until: int = 30
    search: MultiStart = field(default_factory=lambda: MultiStart(screen=256, starts=4), kw_only=True)

    def __post_init__(self) -> None:
        arguments.number("NearBest", "reach", self.reach, low=0.0, high=1.0, open_low=True)
        arguments.whole("NearBest", "of", self.of, low=1)
        arguments.whole("NearBest", "until", self.until, low=0)
        if not isinstance(self.search, MultiStart):
            raise ArgumentError(
                f"NearBest(search={shown(self.search)}): give MultiStart(...), which searches each box."
            )

    @property
    def apart(self) -> float:
        """How far it keeps from pending decisions, as a share of the cube's diagonal."""
        return self.search.apart

    def most_decisions(self, space: Space) -> int:
        """Return how many decisions it holds at once at most."""
        return self.search.most_decisions(space)

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that it holds at most `most` decisions."""
        return self.search.lowered(space, seen, most)

    def __call__(self, acquisition: Acquisition, region: Region, generator: torch.Generator) -> Tensor:
        kept, reach = replace(region, apart=self.apart), self.reach
        while reach <= 1.0:
            boxes = self._boxes(acquisition, region, reach)
            if not boxes:
                break
            found = torch.stack([self.search(acquisition, box, generator) for box in boxes])
            if bool(kept.clear(found).any()):
                return found[0] if len(found) == 1 else best(found, values_of(limited(acquisition).value, found), kept)
            reach *= 2.0
        return self.search(acquisition, region, generator)

    def _boxes(self, acquisition: Acquisition, region: Region, reach: float) -> list[Region]:
        """Return the region narrowed around each of the best decisions; none where nothing allowed has come back, or enough."""
        tried = region.tried
        if tried is None or region.results >= self.until or not bool(region.climbed.any()):
            return []
        tried = region.repaired(region.valid(tried))
        tried = tried[region.feasible(tried)]
        values = values_of(limited(acquisition).value, tried)
        moving, middles = region.climbed, list[Tensor]()
        for place in values.argsort(descending=True).tolist():
            if len(middles) == self.of or not bool(torch.isfinite(values[place])):  # a guard's margin may forbid it
                break
            if all(bool((tried[place] - other).abs()[moving].max() > 0.5 * reach) for other in middles):
                middles.append(tried[place])
        hints = tried if region.hints is None else region.repaired(region.valid(region.hints))
        return [_around(middle, reach, region, hints) for middle in middles]


def _around(middle: Tensor, reach: float, region: Region, hints: Tensor) -> Region:
    """Return the region within reach of a decision `"d"`, with the hints that lie there and the decision among them."""
    low, high = region.bounds or (torch.zeros_like(middle), torch.ones_like(middle))
    moving = region.climbed
    low = torch.where(moving, torch.maximum(low, middle - reach), low)
    high = torch.where(moving, torch.minimum(high, middle + reach), high)
    box = replace(region, low=low, high=high)
    hints = hints[box.feasible(hints)]
    if not bool((hints == middle).all(-1).any()):
        hints = torch.cat([middle[None], hints])
    return replace(box, hints=hints)
