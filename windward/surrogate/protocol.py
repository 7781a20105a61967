"""What a policy needs of a surrogate: any model that offers these can take the place of the Gaussian process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.space import Roles
from windward.surrogate.hyperparameters import Hyperparameters
from windward.surrogate.slopes import ContextSlopes
from windward.trials.trials import Ages, Dataset


class SampledFunction(Protocol):
    """One sample of f: values `"*b n"` at decisions `"*b d"` and contexts `"n k"`."""

    def __call__(self, x: Tensor, points: Tensor) -> Tensor: ...

    def context_gradient(self, x: Tensor, points: Tensor) -> Tensor: ...


@runtime_checkable
class Sketching(Protocol):
    """A sample of f with a quicker form, accurate enough to rank decisions; the quicker form need not be differentiable."""

    def sketch(self) -> SampledFunction: ...


class Posterior(Protocol):
    """What a policy needs of a fitted surrogate."""

    @property
    def hyperparameters(self) -> Hyperparameters: ...

    @property
    def size(self) -> int: ...

    @property
    def scale(self) -> float: ...

    def log_determinant(self) -> float: ...

    def marginals(self, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor]: ...

    def means(self, x: Tensor, points: Tensor) -> Tensor: ...

    def context_slopes(self, x: Tensor, points: Tensor) -> ContextSlopes: ...

    def average(self, x: Tensor, contexts: Contexts) -> tuple[Tensor, Tensor]: ...

    def sample(self, x: Tensor, points: Tensor, count: int, generator: torch.Generator) -> Tensor: ...

    def path(self, generator: torch.Generator) -> SampledFunction: ...

    def condition(self, x: Tensor, c: Tensor, y: Tensor | None = None) -> Posterior: ...


@runtime_checkable
class Drafting(Protocol):
    """A posterior that makes a cheaper one near it."""

    def draft(self) -> Posterior: ...


@runtime_checkable
class Averaged(Protocol):
    """A posterior that knows averages of f over weighted contexts in closed form, for many sets of weights `"s n"` at once.

    `averages` returns means `"s m"` and covariances `"s m m"` at decisions `"m d"`, `average_marginals` means and
    deviations `"s m"`.
    """

    def averages(self, x: Tensor, points: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]: ...

    def average_marginals(self, x: Tensor, points: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]: ...


@runtime_checkable
class JointlyAveraged(Protocol):
    """A posterior whose averages at hundreds of decisions are known jointly at little cost; it says so."""

    @property
    def separable(self) -> bool: ...

    def averages(self, x: Tensor, points: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]: ...


@runtime_checkable
class Weighing(Protocol):
    """A posterior that knows the deviation of an average at decisions `"b d"`, each with weights of its own `"b n"`; `"b"`."""

    def weighted_deviation(self, x: Tensor, points: Tensor, weights: Tensor) -> Tensor: ...


@runtime_checkable
class Comparing(Protocol):
    """A posterior that knows the averages at two decisions jointly; each is a pair of decisions `"b d"` and weights `"b n"`."""

    def averages_covary(self, points: Tensor, one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> Tensor: ...


@dataclass(frozen=True)
class Start:
    """Hyper-parameters from an earlier fit: to search from, or (`keep`) to use as they are.

    `fitted` is the last event that fit knew of; `previous` a posterior of an earlier suggestion, which may save work and
    never changes a result.
    """

    hyperparameters: Hyperparameters | None = None
    keep: bool = False
    fitted: int = 0
    previous: Posterior | None = None


# A search from nothing.
NO_START = Start()


@runtime_checkable
class Surrogate(Protocol):
    """A model of f.

    `fit` searches hyper-parameters, warm from those of `start`, or takes them as they are where it says `keep`. `due` says
    whether those of a fit that knew the events up to `fitted` are to be searched again. `check` refuses data of these columns
    that it cannot be fitted to, before there are any.
    """

    def fit(self, data: Dataset, start: Start = NO_START) -> Posterior: ...

    def due(self, data: Dataset, fitted: int) -> bool: ...

    def check(self, roles: Roles) -> None: ...


@runtime_checkable
class Doubting(Protocol):
    """A surrogate that returns other posteriors that the data allow, equally probable; without it the fit counts as certain."""

    def nearby(
        self, data: Dataset, posterior: Any, count: int, generator: torch.Generator
    ) -> tuple[Posterior, ...]: ...


@runtime_checkable
class Widening(Protocol):
    """A posterior that returns itself with deviations so many times as large, its mean the same."""

    def wider(self, times: float) -> Posterior: ...


@runtime_checkable
class Aging(Protocol):
    """A posterior of a function that may change with time: an observation belongs to the round of its age."""

    def condition_at(self, x: Tensor, c: Tensor, ages: Ages, y: Tensor | None = None) -> Posterior: ...


@runtime_checkable
class Forgetting(Protocol):
    """A surrogate that may leave out old rows: `recent` says which places of the data a posterior of it holds, in order."""

    def recent(self, data: Dataset, posterior: Any) -> Tensor: ...


def imagining(posterior: Posterior, rows: tuple[Tensor, Tensor], ages: Ages | None) -> Posterior:
    """Return the posterior after decisions and contexts of some ages were imagined at its mean."""
    if ages is not None and isinstance(posterior, Aging):
        return posterior.condition_at(*rows, ages)
    return posterior.condition(*rows)


@dataclass(frozen=True)
class Believed:
    """The posterior a policy believes, and the inputs of its patience window (for widths that grow with them).

    `imagined` are the decisions and contexts whose values were imagined, `imagined_ages` how long ago they were asked, so that
    the same can be imagined under others.
    """

    posterior: Posterior
    recent: tuple[Tensor, Tensor] | None = None
    arrived: Posterior | None = None  # before anything was imagined: what the next suggestion can start from
    imagined: tuple[Tensor, Tensor] | None = None
    imagined_ages: Ages | None = None
