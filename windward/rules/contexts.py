"""Which context to evaluate, where the caller can choose it: a simulator, a fold of a cross-validation.

    Nature()               nobody chooses: the world shows the context
    MostUncertain()        where f is least known at the decision (Nguyen2020)
    HighestImprovement()   where one evaluation promises most over that context's own best (multi-task optimization)
    Uniform()              any, with equal chances

A rule picks one of the context points. Contexts that a rule chose do not train the context model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.beliefs.scores import improvement
from windward.objectives.situation import Situation


@runtime_checkable
class ContextRule(Protocol):
    """Choose the context `"k"` to evaluate at decision x `"d"`; None where nature does, and `chooses` is False."""

    @property
    def chooses(self) -> bool: ...

    def __call__(self, x: Tensor, situation: Situation, generator: torch.Generator) -> Tensor | None: ...


@dataclass(frozen=True)
class Nature:
    """Nature shows the context; nobody chooses it."""

    chooses: ClassVar[bool] = False

    def __call__(self, x: Tensor, situation: Situation, generator: torch.Generator) -> Tensor | None:
        return None


@dataclass(frozen=True)
class MostUncertain:
    """The context point where the posterior deviation at the decision is largest."""

    chooses: ClassVar[bool] = True

    def __call__(self, x: Tensor, situation: Situation, generator: torch.Generator) -> Tensor | None:
        with torch.no_grad():
            std = situation.posterior.marginals(x[None], situation.contexts.points)[1][0]
        return situation.contexts.points[std.argmax()]


@dataclass(frozen=True)
class HighestImprovement:
    """The context point of largest expected improvement at the decision over the best mean at that same context."""

    chooses: ClassVar[bool] = True

    def __call__(self, x: Tensor, situation: Situation, generator: torch.Generator) -> Tensor | None:
        posterior, points = situation.posterior, situation.contexts.points
        with torch.no_grad():
            best = posterior.means(situation.trials.dataset.x, points).amax(0)
            mean, std = posterior.marginals(x[None], points)
            return points[improvement(mean[0], std[0], best).argmax()]


@dataclass(frozen=True)
class Uniform:
    """Any context point, each with the same chance."""

    chooses: ClassVar[bool] = True

    def __call__(self, x: Tensor, situation: Situation, generator: torch.Generator) -> Tensor | None:
        points = situation.contexts.points
        return points[int(torch.randint(len(points), (1,), generator=generator))]
