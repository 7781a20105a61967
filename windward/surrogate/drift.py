"""A function that changes with time: the kernel times exp(-|t - t'| / length), t the round of an observation.

f is then another function in each round, the less alike the farther apart two rounds are; all that is asked is about the coming
one, t = 0. An observation of age a tells of f_0 as much as its correlation g = exp(-a / length) lets it. Divided by g, every
observation covaries with f_0 as if nothing changed,

    cov(f_0(x, c), y_i / g_i) = k((x, c), (x_i, c_i))
    cov(y_i / g_i, y_j / g_j) = k((x_i, c_i), (x_j, c_j)) exp(2 min(a_i, a_j) / length) + noise_i / g_i^2 [i = j]

so predictions, averages, samples and their gradients are those of the plain process with this covariance of the observations
in place of K + N: nothing else knows of time. A row older than `REACH` lengths, whose correlation is below 0.02, is left out.

Learnt: "never" has the probability 0.7 beforehand, the four lengths share the rest. Each is judged by its highest marginal
likelihood, times the priors of the hyper-parameters, on the last `WINDOW` rows; the most probable one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from windward.basics.errors import ArgumentError
from windward.trials.drifts import REACH, Drift, Unit
from windward.trials.trials import Ages, Dataset

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior

# The lengths that are learnt from, in trials, and what is believed of "never" beforehand.
LENGTHS = (100.0, 50.0, 25.0, 12.0)
NEVER = 0.7
# Beyond so many lengths a row counts as that old: it tells nothing, and the square of its correlation must not vanish.
FARTHEST = 16.0
# The rows that tell which length it is, the newest.
WINDOW = 300


@dataclass(frozen=True, eq=False)
class Fading:
    """How a function changes: its length in trials or days, and the ages of a posterior's rows in lengths, `"n"`."""

    length: float
    unit: Unit
    ages: Tensor

    @staticmethod
    def of(ages: Ages | None, length: float, unit: Unit) -> Fading:
        """Return it for rows of these ages."""
        if ages is None:
            raise ArgumentError(
                "GaussianProcess(drift=...): the data do not say how old their rows are; give Dataset(ages=...), which a "
                "feedback gets from trials.ages(rows)."
            )
        return Fading(length, unit, (getattr(ages, unit) / length).clamp_max(FARTHEST))

    @property
    def seen(self) -> Tensor:
        """The correlations of the rows' rounds with the coming one; `"n"`."""
        return torch.exp(-self.ages)

    @property
    def kept(self) -> Tensor:
        """The places of the rows that are near enough to tell something of the coming round, the newest at least; `"m"`."""
        near = (self.ages <= REACH).nonzero()[:, 0]
        return near if len(near) or not len(self.ages) else self.ages.argmin()[None]

    @property
    def together(self) -> Tensor:
        """The correlations of the rows' rounds with each other; `"n n"`."""
        return (self.ages[:, None] - self.ages).abs_().neg_().exp_()  # in place: with many rows each copy counts

    def near(self, ages: Ages) -> tuple[Tensor, Tensor]:
        """Return the ages in lengths of those rows that are near enough, and their places; `"m"` each."""
        own = Fading.of(ages, self.length, self.unit).ages
        places = (own <= REACH).nonzero()[:, 0]
        return own[places], places

    def extended(
        self, ages: Tensor, between: Tensor, within: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Fading]:
        """Return covariances `"q n"`, `"q q"` and noise `"q"` of more rows as they are once divided, and it with these rows."""
        more = [torch.exp(2.0 * torch.minimum(ages[:, None], others)) for others in (self.ages, ages)]
        own = noise * torch.exp(2.0 * ages)
        return between * more[0], within * more[1], own, replace(self, ages=torch.cat([self.ages, ages]))


@runtime_checkable
class Drifting(Protocol):
    """A posterior that says whether f changes with time."""

    @property
    def drift(self) -> Drift | None: ...


def newest(data: Dataset, count: int) -> Tensor:
    """Return the places of the newest rows, in the data's order; `"m"`."""
    assert data.ages is not None
    order = data.ages.trials.argsort(stable=True)[:count]
    return order.sort().values


def chances(densities: Sequence[float]) -> tuple[float, ...]:
    """Return the probability of "never" and of each of `LENGTHS`, given their log densities in that order.

    >>> [round(chance, 3) for chance in chances([0.0] * 5)]
    [0.7, 0.075, 0.075, 0.075, 0.075]
    """
    prior = np.log([NEVER, *[(1.0 - NEVER) / len(LENGTHS)] * len(LENGTHS)])
    log_weights = prior + np.array(densities)
    weights = np.exp(log_weights - log_weights.max())
    return tuple((weights / weights.sum()).tolist())


def of_now(posterior: GaussianPosterior, fading: Fading) -> GaussianPosterior:
    """Return the posterior of the coming round's function, given that of rows whose covariance knows their ages."""
    seen = fading.seen
    return replace(
        posterior,
        factor=posterior.factor / seen[:, None],
        inverse=posterior.inverse * seen,
        alpha=posterior.alpha * seen,
        noise=posterior.noise / seen.square(),
        fading=fading,
        _prepared={},
    )


def disturbed(posterior: GaussianPosterior, normal: Tensor) -> Tensor:
    """Return a draw of what the observations hold besides the coming round's function, from normal numbers `"n"`."""
    if posterior.fading is None:
        return normal * posterior.noise.sqrt()
    ages = posterior.fading.ages
    covariance = posterior.covariance(posterior.zx, posterior.zc, posterior.zx, posterior.zc)
    covariance *= torch.expm1(2.0 * torch.minimum(ages[:, None], ages))
    covariance.diagonal().add_(posterior.noise)
    root: Tensor = torch.linalg.cholesky(covariance)
    return root @ normal
