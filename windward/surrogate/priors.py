"""The vector that a fit searches, its bounds and the priors of its entries.

theta = (log length-scales, logits of the two shares where the kernel has parts, log amplitude where it is fitted, log noise)

Where the amplitude is fitted the noise has its own least value: values that repeat call for less and less noise, and would
otherwise pull the amplitude down with it. Without priors the fit is that of most likelihood, within bounds alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from windward.search.bfgs import Array
from windward.surrogate.hyperparameters import Hyperparameters

PriorsName: TypeAlias = Literal["dimension_scaled", "none"]
AmplitudeName: TypeAlias = Literal["one", "fitted"]
AMPLITUDES: tuple[AmplitudeName, ...] = ("one", "fitted")

# Fitted noise variance and length-scales stay above these, as in BoTorch: below them lies interpolation of noise.
LEAST_NOISE = 1e-4
LEAST_LENGTH_SCALE = 2.5e-2
MOST = 1e4  # upper bound of both: a column with that length-scale has no effect
# A fitted amplitude stays within this factor of one in scaled outcomes: a curve seen in part may rise far beyond its values.
MOST_AMPLITUDE = 1e4
# Without priors the least length-scale is this share of the usual gap between neighbouring values of a column, where that is
# less than `LEAST_LENGTH_SCALE`: neighbours then correlate by 0.01, and shorter length-scales fit alike.
LEAST_GAP = 1.0 / 3.0
# Length-scales from which a fit without priors looks, beside the shortest that neighbours can tell.
LADDER = (0.1, 0.3, 1.0)
# Where theta has no prior its curvature counts as that of a normal of this deviation: a step stays finite.
FLAT = 3.0
# Shares stay between 1/400 and 399/400: nearer to 0 or 1 they change nothing that data could show.
FARTHEST_LOGIT = 6.0
# The prior of a share's logit is normal: the middle half of the shares lies between 0.05 and 0.27.
SHARE_LOGIT, SHARE_DEVIATION = -2.0, 1.5


@dataclass(frozen=True)
class LogNormal:
    """A log-normal prior by the mean and deviation of the logarithm; its density is over the quantity itself."""

    mean: float
    deviation: float

    @property
    def mode(self) -> float:
        """Where the density is highest; the starting point of a fit."""
        return math.exp(self.mean - self.deviation**2)


def length_scale_prior(parameters: int) -> LogNormal:
    """Return BoTorch's dimension-scaled prior: typical length-scales grow like the square root of the dimension."""
    return LogNormal(math.sqrt(2.0) + 0.5 * math.log(max(parameters, 1)), math.sqrt(3.0))


NOISE_PRIOR = LogNormal(-4.0, 1.0)


@dataclass(frozen=True)
class Layout:
    """What theta holds: how many length-scales, the two shares where `parts`, the amplitude where it is fitted, and the noise.

    `least` are the lower bounds of the length-scales where there are no priors: what the data can tell. None: with priors.

    >>> Layout(2, True).width
    5
    """

    parameters: int
    parts: bool
    amplitude: bool = False
    least: tuple[float, ...] | None = None

    @property
    def width(self) -> int:
        """Number of entries."""
        return self.parameters + 2 * self.parts + self.amplitude + 1

    def _entries(self, scale: float, logit: float, amplitude: float, noise: float) -> Array:
        return np.array([scale] * self.parameters + [logit] * (2 * self.parts) + [amplitude] * self.amplitude + [noise])

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the greatest of each entry."""
        most, far = math.log(MOST), math.log(MOST_AMPLITUDE)
        least = self._entries(math.log(LEAST_LENGTH_SCALE), -FARTHEST_LOGIT, -far, math.log(LEAST_NOISE))
        if self.least is not None:
            least[: self.parameters] = np.log(self.least)
        return least, self._entries(most, FARTHEST_LOGIT, far, most)

    @cached_property
    def priors(self) -> tuple[Array, Array]:
        """Means and deviations of the entries; an infinite deviation where there is no prior: an amplitude has none."""
        scale = length_scale_prior(self.parameters)
        means = self._entries(scale.mean, SHARE_LOGIT, 0.0, NOISE_PRIOR.mean)
        if self.least is not None:
            return np.zeros_like(means), np.full_like(means, math.inf)
        return means, self._entries(scale.deviation, SHARE_DEVIATION, math.inf, NOISE_PRIOR.deviation)

    @cached_property
    def logarithms(self) -> Array:
        """1 for each logarithm whose prior's density is over the quantity itself; 0 for a logit, and where there is none."""
        return np.zeros(self.width) if self.least is not None else self._entries(1.0, 0.0, 0.0, 1.0)

    def starts(self) -> tuple[Hyperparameters, ...]:
        """Return where a first fit looks from: the priors' mode, then rougher and smoother functions with little noise.

        The likelihood has several hills. Without priors the first is the smoothest, and the roughest is one that the data
        can just tell.
        """
        shares = (_share(SHARE_LOGIT),) * (2 * self.parts)
        if self.least is not None:
            ladder = [(scale,) * self.parameters for scale in reversed(LADDER)] + [tuple(3.0 * b for b in self.least)]
            return tuple(Hyperparameters(0.0, scales, 1.0, NOISE_PRIOR.mode, shares) for scales in ladder)
        scale = length_scale_prior(self.parameters).mode
        mode = Hyperparameters(0.0, (scale,) * self.parameters, 1.0, NOISE_PRIOR.mode, shares)
        others = (
            Hyperparameters(0.0, (factor * scale,) * self.parameters, 1.0, LEAST_NOISE * 10, shares)
            for factor in (0.3, 3.0)
        )
        return mode, *others

    def fits(self, start: Hyperparameters) -> bool:
        """Whether these hyper-parameters have the entries of this theta."""
        return len(start.length_scales) == self.parameters and len(start.shares) == 2 * self.parts

    def thetas(self, some: Sequence[Hyperparameters]) -> Array:
        """Return theta for each, within the bounds; the noise is a share of the amplitude where that is not in theta."""
        plain = np.log([[*one.length_scales, one.noise / (1.0 if self.amplitude else one.amplitude)] for one in some])
        logits = np.array([[_logit(share) for share in one.shares] for one in some])
        amplitudes = np.log([[one.amplitude] * self.amplitude for one in some])
        return np.hstack([plain[:, :-1], logits, amplitudes, plain[:, -1:]]).clip(*self.bounds)

    def shares(self, thetas: Array) -> Array:
        """Return the shares at `"b t"`; `"b 2"`, or `"b 0"` where there are none."""
        logits = thetas[:, self.parameters : self.parameters + 2 * self.parts]
        return np.asarray(1.0 / (1.0 + np.exp(-logits)))

    def amplitudes(self, thetas: Array) -> Array | None:
        """Return the amplitudes at `"b t"`; `"b"`. None where they are all one."""
        return np.exp(thetas[:, -2]) if self.amplitude else None

    def hyperparameters(self, theta: Array, mean: float, amplitude: float = 1.0) -> Hyperparameters:
        """Return the hyper-parameters at theta, its amplitude multiplied by `amplitude`."""
        *scales, noise = np.exp(np.delete(theta, np.s_[self.parameters : -1])).tolist()
        shares = tuple(self.shares(theta[None])[0].tolist())
        own = math.exp(theta[-2]) if self.amplitude else 1.0
        return Hyperparameters(mean, tuple(scales), amplitude * own, amplitude * noise, shares)


def least_scales(columns: Array, groups: NDArray[np.int64], parameters: int) -> tuple[float, ...]:
    """Return the shortest length-scales that values `"n D"` of the columns can tell, one for each parameter.

    >>> least_scales(np.array([[0.0], [0.003], [0.006]]), np.array([0]), 1)
    (0.001,)
    """
    found = []
    for parameter in range(parameters):
        gaps = [np.diff(np.unique(column)) for column in columns[:, groups == parameter].T]
        together = np.concatenate([np.zeros(0), *gaps])
        usual = float(np.median(together)) if len(together) else math.inf
        found.append(min(LEAST_LENGTH_SCALE, max(LEAST_GAP * usual, 1.0 / MOST)))
    return tuple(found)


def _logit(share: float) -> float:
    share = min(max(share, 1e-12), 1.0 - 1e-12)
    return math.log(share / (1.0 - share))


def _share(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))
