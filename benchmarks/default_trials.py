"""Variants of the default that are tried on the choosing half, and problems with several hills beside it.

`Turns` exploits near the best decisions and now and then explores the whole space; `NearInTurn` searches accordingly. The
problems of `HILLS` are draws of smooth Gaussian processes, of which the choosing half has too few. They are for choosing only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

import windward as ww
from windward.beliefs import Belief, ExpectedImprovement, OverallConfidence, Thompson, UpperConfidence, Wider
from windward.bench.problem import Problem
from windward.bench.problems.drawn import drawn, normals
from windward.bench.problems.registry import Data, register
from windward.contexts import KernelDensity
from windward.default import auto
from windward.feedback import Feedback
from windward.objectives.protocol import Objective, Reduction
from windward.objectives.situation import Situation
from windward.search.acquisition import Acquisition
from windward.search.near import NearBest
from windward.search.region import Region
from windward.space.space import Space

# Draws with these seeds are no others' of the suite.
OTHER = 1000
HILLS = ("hills-1-0", "hills-1-1", "hills-2-1", "hills-2-1-noisy", "hills-2-2", "hills-3-1")


def _hills(name: str, *shape: object, noise: float = 0.0) -> None:
    def made(seed: int, data: Data) -> Problem:
        return drawn(name, seed + OTHER, *shape, noise=noise)  # type: ignore[arg-type]

    register(name, seeded=True)(made)


_hills("hills-1-0", 1, [], 0.1)
_hills("hills-1-1", 1, normals(1, 32), 0.15, 0.4)
_hills("hills-2-1", 2, normals(1, 32), 0.25, 0.5)
_hills("hills-2-1-noisy", 2, normals(1, 32), 0.25, 0.5, noise=0.2)
_hills("hills-2-2", 2, normals(2, 16), 0.3, 0.8)
_hills("hills-3-1", 3, normals(1, 32), 0.4, 0.5)


@dataclass(frozen=True)
class Anywhere(Acquisition):
    """An acquisition that is to be maximized over the whole space."""


@dataclass(frozen=True)
class Turns:
    """`exploit`, and every so many rounds `explore`, from `after` results on.

    With `still`, only while the best decision's average is known to that share of the spread of the averages that came back.
    Where the horizon is known, `last` of its rounds are without exploring.
    """

    exploit: Belief = field(default_factory=lambda: UpperConfidence(0.5))
    explore: Belief = field(default_factory=ExpectedImprovement)
    every: int = 3
    after: int = 12
    still: float | None = None
    last: int = 0
    draws: ClassVar[bool] = False

    def check(self, objective: Objective, feedback: Feedback) -> None:
        """Refuse what either refuses."""
        self.exploit.check(objective, feedback)
        self.explore.check(objective, feedback)

    @property
    def doubts(self) -> int:
        """How many posteriors are looked at."""
        return max(getattr(self.explore, "doubts", 1), getattr(self.exploit, "doubts", 1))

    def __call__(self, situation: Situation, reduction: Reduction, generator: torch.Generator) -> Acquisition:
        if not self.exploring(situation):
            return self.exploit(replace(situation, plausible=()), reduction, generator)
        found = self.explore(situation, reduction, generator)
        return Anywhere(found.value, found.climb, found.rank, found.ceiling, found.margin)

    def exploring(self, situation: Situation) -> bool:
        """Whether this round is for exploring."""
        asked = len(situation.trials)
        if len(situation.trials.arrived) < self.after or asked % self.every:
            return False
        if self.last and situation.horizon is not None and asked >= situation.horizon - self.last:
            return False
        return self.still is None or self._still(situation)

    def _still(self, situation: Situation) -> bool:
        with torch.no_grad():
            mean, deviation = situation.posterior.average(situation.trials.dataset.x, situation.contexts)
        best = int(mean.argmax())
        return float(deviation[best]) <= float(self.still or 0.0) * float(mean[best] - mean.mean())


@dataclass(frozen=True)
class NearInTurn:
    """Search by `near`; where the belief explores, the whole space."""

    near: NearBest = field(default_factory=NearBest)

    @property
    def apart(self) -> float:
        """How far it keeps from pending decisions."""
        return self.near.apart

    def most_decisions(self, space: Space) -> int:
        """Return how many decisions it holds at once at most."""
        return self.near.most_decisions(space)

    def __call__(self, acquisition: Acquisition, region: Region, generator: torch.Generator) -> Tensor:
        if isinstance(acquisition, Anywhere):
            return self.near.search(acquisition, region, generator)
        return self.near(acquisition, region, generator)


PARTS: tuple[type, ...] = (Turns, NearInTurn)

# For ever near the best ones, while exploiting.
ALWAYS = 10**6


def turns(belief: Belief, near: NearBest | None = None, surrogate: ww.GaussianProcess | None = None) -> ww.Policy:
    """Return the default with a belief that takes turns."""
    found = replace(auto(), belief=belief, maximize=NearInTurn(near or NearBest(until=ALWAYS)))
    return found if surrogate is None else replace(found, surrogate=surrogate)


def _default(**changes: object) -> Callable[[Problem], ww.Policy]:
    return lambda problem: replace(auto(), **changes)  # type: ignore[arg-type]


def _turns(
    belief: Belief, near: NearBest | None = None, surrogate: ww.GaussianProcess | None = None
) -> Callable[[Problem], ww.Policy]:
    return lambda problem: turns(belief, near, surrogate)


def _still(exploit: Belief) -> Callable[[Problem], ww.Policy]:
    return _turns(Turns(exploit=exploit, every=2, after=8, still=0.05))


PARTED = ww.GaussianProcess(parts=True)
METHODS: dict[str, Callable[[Problem], ww.Policy]] = {
    "parts": _default(surrogate=PARTED),
    "until_20": _default(belief=UpperConfidence(Wider(0.5, 1.0, 20)), maximize=NearBest(until=20)),
    "until_15": _default(belief=UpperConfidence(Wider(0.5, 1.0, 15)), maximize=NearBest(until=15)),
    "wider_15": _default(belief=UpperConfidence(Wider(0.5, 1.0, 15))),
    "of_4": _default(maximize=NearBest(of=4)),
    "points_512": _default(context_model=KernelDensity(512)),
    "ucb_3_12": _turns(Turns(explore=UpperConfidence(1.5))),
    "ucb_4_16": _turns(Turns(explore=UpperConfidence(1.5), every=4, after=16)),
    "ei_2_10": _turns(Turns(every=2, after=10)),
    "ei_3_12": _turns(Turns()),
    "ei_4_16": _turns(Turns(every=4, after=16)),
    "ei_3_12_until_30": _turns(Turns(exploit=UpperConfidence(Wider(0.5, 1.0, 30))), NearBest()),
    "overall_3_12": _turns(Turns(explore=OverallConfidence(1.5))),
    "overall_4_16": _turns(Turns(explore=OverallConfidence(1.5), every=4, after=16)),
    "overall2.5_4_16": _turns(Turns(explore=OverallConfidence(2.5), every=4, after=16)),
    "thompson_3_12": _turns(Turns(explore=Thompson())),
    "still.05_ucb": _turns(Turns(explore=UpperConfidence(1.5), every=2, after=8, still=0.05)),
    "still.15_ucb": _turns(Turns(explore=UpperConfidence(1.5), every=2, after=8, still=0.15)),
    "still.05_ei": _turns(Turns(every=2, after=8, still=0.05)),
    "still.05_overall": _turns(Turns(explore=OverallConfidence(2.0), every=2, after=8, still=0.05)),
    "still.15_overall": _turns(Turns(explore=OverallConfidence(2.0), every=2, after=8, still=0.15)),
    "told_ei_2_10": _turns(Turns(every=2, after=10, last=12)),
    "parts_until_20": _default(
        belief=UpperConfidence(Wider(0.5, 1.0, 20)), maximize=NearBest(until=20), surrogate=PARTED
    ),
    "parts_ei_3_12": _turns(Turns(), surrogate=PARTED),
    "parts_overall_3_12": _turns(Turns(explore=OverallConfidence(1.5)), surrogate=PARTED),
    "parts_still.15_ucb": _turns(Turns(explore=UpperConfidence(1.5), every=2, after=8, still=0.15), surrogate=PARTED),
    "still.05_until_30": _turns(
        Turns(exploit=UpperConfidence(Wider(0.5, 1.0, 30)), every=2, after=8, still=0.05), NearBest()
    ),
    "still.05_thompson_5": _still(Turns(explore=Thompson(), every=5, after=20)),
    "still.05_ucb_5": _still(Turns(explore=UpperConfidence(1.5), every=5, after=20)),
    "still.05_overall_6": _still(Turns(explore=OverallConfidence(1.5), every=6, after=20)),
    "still.05_ei_3": _still(Turns(every=3, after=12)),
    "still.05_ei_5": _still(Turns(every=5, after=20)),
    "still.1_ei": _turns(Turns(every=2, after=8, still=0.1)),
    "still.05_ei_soon": _turns(Turns(every=2, after=5, still=0.05)),
}
TOLD = {"told_ei_2_10"}
