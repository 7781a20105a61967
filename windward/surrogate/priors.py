"""The vector that a fit searches, its bounds and the priors of its entries.

theta = (log length-scales, logits of the two shares where the kernel has parts, log noise)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windward.search.bfgs import Array
from windward.surrogate.hyperparameters import Hyperparameters

# Fitted noise variance and length-scales stay above these, as in BoTorch: below them lies interpolation of noise.
LEAST_NOISE = 1e-4
LEAST_LENGTH_SCALE = 2.5e-2
MOST = 1e4  # upper bound of both: a column with that length-scale has no effect
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
    """What theta holds: so many length-scales, the two shares where `parts`, and the noise.

    >>> Layout(2, True).width
    5
    """

    parameters: int
    parts: bool

    @property
    def width(self) -> int:
        """Number of entries."""
        return self.parameters + 2 * self.parts + 1

    def _entries(self, scale: float, logit: float, noise: float) -> Array:
        return np.array([scale] * self.parameters + [logit] * (2 * self.parts) + [noise])

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the greatest of each entry."""
        most = math.log(MOST)
        least = self._entries(math.log(LEAST_LENGTH_SCALE), -FARTHEST_LOGIT, math.log(LEAST_NOISE))
        return least, self._entries(most, FARTHEST_LOGIT, most)

    @cached_property
    def priors(self) -> tuple[Array, Array]:
        """Means and deviations of the entries."""
        scale = length_scale_prior(self.parameters)
        return (
            self._entries(scale.mean, SHARE_LOGIT, NOISE_PRIOR.mean),
            self._entries(scale.deviation, SHARE_DEVIATION, NOISE_PRIOR.deviation),
        )

    @cached_property
    def logarithms(self) -> Array:
        """1 for each logarithm, whose prior's density is over the quantity itself; 0 for a logit, whose is over the logit."""
        return self._entries(1.0, 0.0, 1.0)

    def starts(self) -> tuple[Hyperparameters, ...]:
        """Return where a first fit looks from: the priors' mode, then rougher and smoother functions with little noise.

        The likelihood has several hills.
        """
        scale, shares = length_scale_prior(self.parameters).mode, (_share(SHARE_LOGIT),) * (2 * self.parts)
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
        """Return theta for each, within the bounds; the noise is a share of the amplitude."""
        plain = np.log([[*one.length_scales, one.noise / one.amplitude] for one in some])
        logits = np.array([[_logit(share) for share in one.shares] for one in some])
        return np.hstack([plain[:, :-1], logits, plain[:, -1:]]).clip(*self.bounds)

    def shares(self, thetas: Array) -> Array:
        """Return the shares at `"b t"`; `"b 2"`, or `"b 0"` where there are none."""
        return np.asarray(1.0 / (1.0 + np.exp(-thetas[:, self.parameters : -1])))

    def hyperparameters(self, theta: Array, mean: float, amplitude: float = 1.0) -> Hyperparameters:
        """Return the hyper-parameters at theta."""
        *scales, noise = np.exp(np.delete(theta, np.s_[self.parameters : -1])).tolist()
        shares = tuple(self.shares(theta[None])[0].tolist())
        return Hyperparameters(mean, tuple(scales), amplitude, amplitude * noise, shares)


def _logit(share: float) -> float:
    share = min(max(share, 1e-12), 1.0 - 1e-12)
    return math.log(share / (1.0 - share))


def _share(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))
