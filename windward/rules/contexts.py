"""Which context to evaluate, where the caller can choose it: a simulator, a fold of a cross-validation.

    Nature()               nobody chooses: the world shows the context
    MostUncertain()        where f is least known at the decision (Nguyen2020)
    HighestImprovement()   where one evaluation promises most over that context's own best (multi-task optimization)
    Uniform()              any, with equal chances

A rule picks one of the context points. Contexts that a rule chose do not train the context model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.beliefs.scores import improvement
from windward.contexts import Contexts
from windward.surrogate import Posterior
from windward.trials.trials import Trials


@runtime_checkable
class ContextRule(Protocol):
    """Choose the context `"k"` to evaluate at decision x `"d"`; None where nature does."""

    def __call__(
        self, x: Tensor, posterior: Posterior, trials: Trials, contexts: Contexts, generator: torch.Generator
    ) -> Tensor | None: ...


@dataclass(frozen=True)
class Nature:
    """Nature shows the context; nobody chooses it."""

    def __call__(
        self, x: Tensor, posterior: Posterior, trials: Trials, contexts: Contexts, generator: torch.Generator
    ) -> Tensor | None:
        return None


@dataclass(frozen=True)
class MostUncertain:
    """The context point where the posterior deviation at the decision is largest."""

    def __call__(
        self, x: Tensor, posterior: Posterior, trials: Trials, contexts: Contexts, generator: torch.Generator
    ) -> Tensor | None:
        with torch.no_grad():
            std = posterior.marginals(x[None], contexts.points)[1][0]
        return contexts.points[std.argmax()]


@dataclass(frozen=True)
class HighestImprovement:
    """The context point of largest expected improvement at the decision over the best mean at that same context."""

    def __call__(
        self, x: Tensor, posterior: Posterior, trials: Trials, contexts: Contexts, generator: torch.Generator
    ) -> Tensor | None:
        with torch.no_grad():
            best = posterior.means(trials.dataset.x, contexts.points).amax(0)
            mean, std = posterior.marginals(x[None], contexts.points)
            return contexts.points[improvement(mean[0], std[0], best).argmax()]


@dataclass(frozen=True)
class Uniform:
    """Any context point, each with the same chance."""

    def __call__(
        self, x: Tensor, posterior: Posterior, trials: Trials, contexts: Contexts, generator: torch.Generator
    ) -> Tensor | None:
        return contexts.points[int(torch.randint(len(contexts), (1,), generator=generator))]
