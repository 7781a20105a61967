"""A process that is not fitted, over decisions from a list: its variances grow smaller row by row, none is computed anew.

With V = L^-1 k(observations, grid) the variance on the grid is amplitude - sum over rows r of V_r^2, and a row that comes later
adds one term. With the kernel a product over decisions and contexts, row r of V is

    V_r(x, c) = amplitude sum_{i <= r} (L^-1)_ri kx(x, x_i) kc(c, c_i)

one product of matrices for all decisions and contexts: 1024 decisions, 64 contexts and a thousand observations take 0.1
thousand million products, the solves of all variances at once a hundred times as many. What is asked for off the grid, or with
a gradient, is computed directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from windward.basics.budget import Need, Sizes
from windward.contexts import Contexts
from windward.space import Roles
from windward.surrogate import GaussianPosterior, GaussianProcess, Hyperparameters, Start
from windward.surrogate.kernel import squared_distances
from windward.surrogate.posterior import LEAST_VARIANCE
from windward.surrogate.protocol import NO_START, SampledFunction
from windward.surrogate.slopes import ContextSlopes
from windward.trials.trials import Dataset

Points = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Gridded:
    """A process with fixed hyper-parameters, quick at the listed decisions (in the unit cube).

    >>> fixed = Hyperparameters(0.0, (0.1,), 1.0, 1e-4)
    >>> Gridded(GaussianProcess(fixed=fixed), ((0.0,), (1.0,))).process.kernel
    'squared_exponential'
    """

    process: GaussianProcess
    points: Points

    @cached_property
    def tensor(self) -> Tensor:
        """The decisions; `"n d"`."""
        return torch.tensor(self.points, dtype=torch.float64)

    @cached_property
    def places(self) -> dict[bytes, int]:
        """Where each decision stands in the list."""
        return {row.tobytes(): place for place, row in enumerate(self.tensor.numpy())}

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the process takes."""
        return self.process.cost(sizes)

    def due(self, data: Dataset, fitted: int) -> bool:
        """Return what the process says."""
        return self.process.due(data, fitted)

    def check(self, roles: Roles) -> None:
        """Refuse what the process refuses."""
        self.process.check(roles)

    def fit(self, data: Dataset, start: Start = NO_START) -> OnGrid:
        """Return the posterior, with the variances of the one before as far as its rows go."""
        before = start.previous if isinstance(start.previous, OnGrid) else None
        inner = Start(start.hyperparameters, start.keep, start.fitted, None if before is None else before.posterior)
        return OnGrid(self.process.fit(data, inner), self, None if before is None else before.known)


def quick_on_list(surrogate: object, points: Points) -> Gridded | None:
    """Return the surrogate with quick variances at the listed decisions; None for one that is fitted, or does not factorise."""
    if not isinstance(surrogate, GaussianProcess) or surrogate.fixed is None or surrogate.drift is not None:
        return None
    return Gridded(surrogate, points) if surrogate.kernel == "squared_exponential" else None


@dataclass
class KeptVariances:
    """Variances `"d m"`, standardised, at the listed decisions and some contexts, given the first rows of a posterior."""

    points: Tensor  # "m k"
    posterior: GaussianPosterior
    variance: Tensor


@dataclass(frozen=True, eq=False)
class OnGrid:
    """A posterior that answers at the listed decisions from what it knew with fewer rows."""

    posterior: GaussianPosterior
    surrogate: Gridded
    before: KeptVariances | None = None
    _found: list[KeptVariances] = field(default_factory=list, repr=False)

    @property
    def known(self) -> KeptVariances | None:
        """What is known of the grid, with all rows or with fewer."""
        return self._found[0] if self._found else self.before

    @property
    def hyperparameters(self) -> Hyperparameters:
        return self.posterior.hyperparameters

    @property
    def size(self) -> int:
        return self.posterior.size

    @property
    def scale(self) -> float:
        return self.posterior.scale

    def log_determinant(self) -> float:
        return self.posterior.log_determinant()

    def marginals(self, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and deviation of f at every decision and context; `"*b n"` each."""
        places = None if x.requires_grad or x.ndim != 2 else self._places(x)
        if places is None:
            return self.posterior.marginals(x, points)
        least = LEAST_VARIANCE * self.hyperparameters.amplitude
        std = self._variances(points)[places].clamp_min(least).sqrt_()
        return self.posterior.means(x, points), std.mul_(self.scale)

    def _places(self, x: Tensor) -> Tensor | None:
        found = [self.surrogate.places.get(row.tobytes()) for row in x.detach().contiguous().numpy()]
        return None if None in found else torch.tensor(found, dtype=torch.int64)

    def _variances(self, points: Tensor) -> Tensor:
        """Return the variances at all listed decisions; `"d m"`."""
        if self._found and torch.equal(self._found[0].points, points):
            return self._found[0].variance
        posterior, before = self.posterior, self.before
        if before is not None and torch.equal(before.points, points) and _continues(posterior, before.posterior):
            variance, first = before.variance.clone(), before.posterior.size
        else:
            shape = len(self.surrogate.tensor), len(points)
            variance, first = torch.full(shape, posterior.hyperparameters.amplitude, dtype=torch.float64), 0
        zx, zc = posterior.inputs.x(self.surrogate.tensor), posterior.inputs.c(points)
        kx = posterior.hyperparameters.amplitude * posterior.over_x(squared_distances(zx, posterior.zx))
        kc = posterior.over_c(squared_distances(zc, posterior.zc)).T.contiguous()
        for row in range(first, posterior.size):
            share = posterior.inverse[row, : row + 1]
            variance.sub_(((kx[:, : row + 1] * share) @ kc[: row + 1]).square_())
        self._found[:] = [KeptVariances(points, posterior, variance)]
        return variance

    def means(self, x: Tensor, points: Tensor) -> Tensor:
        return self.posterior.means(x, points)

    def context_slopes(self, x: Tensor, points: Tensor) -> ContextSlopes:
        return self.posterior.context_slopes(x, points)

    def average(self, x: Tensor, contexts: Contexts) -> tuple[Tensor, Tensor]:
        return self.posterior.average(x, contexts)

    def sample(self, x: Tensor, points: Tensor, count: int, generator: torch.Generator) -> Tensor:
        return self.posterior.sample(x, points, count, generator)

    def path(self, generator: torch.Generator) -> SampledFunction:
        return self.posterior.path(generator)

    def condition(self, x: Tensor, c: Tensor, y: Tensor | None = None) -> OnGrid:
        """Return the posterior after more observations; the rows before stay as they were."""
        if len(x) == 0:
            return self
        return OnGrid(self.posterior.condition(x, c, y), self.surrogate, self.known)


def _continues(posterior: GaussianPosterior, before: GaussianPosterior) -> bool:
    """Whether the rows of `before` are the first ones of this posterior, in the same units and with the same noise."""
    size = before.size
    return (
        before.hyperparameters == posterior.hyperparameters
        and size <= posterior.size
        and all(
            torch.equal(one, other)
            for one, other in (
                (before.inputs.x_rates, posterior.inputs.x_rates),
                (before.inputs.c_rates, posterior.inputs.c_rates),
                (before.inputs.c_origin, posterior.inputs.c_origin),
                (before.zx, posterior.zx[:size]),
                (before.zc, posterior.zc[:size]),
                (before.noise, posterior.noise[:size]),
            )
        )
    )


PARTS = (Gridded,)
