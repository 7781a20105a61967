"""The marginal likelihood with its priors, its gradient and its curvature, and the search for its highest point.

    log p(y) = -1/2 r' A^-1 r - 1/2 log|A| - n/2 log 2 pi,   A = K + diag(noise),   r = y - m,   a = A^-1 r
    d log p / d theta_i        = 1/2 tr((a a' - A^-1) A_i),      A_i = dA / d theta_i
    -d2 log p / d theta_i d theta_j  ~  1/2 (A_i a)' A^-1 (A_j a)

The constant mean is profiled: m = 1'A^-1 y / 1'A^-1 1 maximises log p for every theta, so the gradient in theta needs no
term for it. With dK/d log l_g = -2 k'(s) * s_g, s_g the part of s in group g, the trace over all groups is one product
of an n x n matrix with the inputs.

The last line is the average information (Gilmour, Thompson and Cullis 1995): for a mean that is held, the mean of the Hessian
and its expectation, in which the traces of n x n products cancel, but for second derivatives of A. It costs products of n x n
matrices with a few columns and is never negative. As BFGS' metric, with the priors' curvature and corrected by the last step,
it takes a third to a half of the steps away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from windward.basics.errors import IncompatibleError, SolverError
from windward.search.bfgs import Array, minimize_rows
from windward.surrogate.kernel import KernelName, kernel_slope, kernel_value
from windward.surrogate.posterior import FARTHEST, Hyperparameters, Inputs

# Fitted noise variance and length-scales stay above these, as in BoTorch: below them lies interpolation of noise.
LEAST_NOISE = 1e-4
LEAST_LENGTH_SCALE = 2.5e-2
MOST = 1e4  # upper bound of both: a column with that length-scale has no effect
# A fit stops where no hyper-parameter's gradient exceeds this, or two steps gain less than it, in log likelihood: a
# thousandth of what would matter. The cap is far above the ten or twenty evaluations it takes.
FIT_TOLERANCE = 1e-6
FIT_EVALUATIONS = 200
LONGEST_STEP = 2.0  # in a logarithm: beyond, the curvature at a start says nothing
MEET = 0.2  # in every logarithm: climbs so near to a higher one end in the same place, but for two in a thousand
# With more observations than this the starts are sorted out on this many, and only the best is refined on all.
MANY = 300


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


class Moments(NamedTuple):
    """Of A at some thetas, `"b"` each: log determinant, r'A^-1 r, 1'A^-1 1, and the mean m in r = y - m."""

    log_determinant: Tensor
    quadratic: Tensor
    ones: Tensor
    mean: Tensor

    def at(self, places: Tensor) -> Moments:
        """Return those of some of the thetas."""
        return Moments(*(part[places] for part in self))


@dataclass(frozen=True)
class Likelihood:
    """Log marginal likelihood plus log priors at theta = (log length-scales, log noise)."""

    kernel: KernelName
    inputs_in_units: Tensor  # "n D", decisions then contexts, divided by their units
    groups: Tensor  # "D", which length-scale each column has
    decision_width: int
    units: Tensor  # "D"
    c_origin: Tensor  # "k"
    y: Tensor  # "n", scaled outcomes
    given_noise: Tensor  # "n", noise variances the caller gave, NaN where they are fitted
    shift: float
    scale: float
    centred: bool  # whether the constant mean is profiled or held at zero

    @cached_property
    def parameters(self) -> int:
        """Number of length-scales."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        columns: NDArray[np.int64] = self.groups.cpu().numpy()
        return columns

    @cached_property
    def _fitted(self) -> Tensor:
        """Return 1 where the noise is fitted and 0 where it was given; `"n"`."""
        return self.given_noise.isnan().to(self.y)

    @cached_property
    def _membership(self) -> Tensor | None:
        """Return 1 where a column has a length-scale, `"D t"`; None where each column has its own, in order."""
        if self._columns.tolist() == list(range(self.parameters)):
            return None
        return torch.eye(self.parameters, dtype=self.y.dtype, device=self.y.device)[self.groups]

    def _gathered(self, per_column: Tensor) -> Tensor:
        """Return the sums over the columns of each length-scale; `"... D"` to `"... t"`."""
        return per_column if self._membership is None else per_column @ self._membership

    @cached_property
    def _priors(self) -> tuple[Array, Array]:
        """Return means and deviations of the logarithms, length-scales' then noise's."""
        priors = [length_scale_prior(self.parameters)] * self.parameters + [NOISE_PRIOR]
        return np.array([prior.mean for prior in priors]), np.array([prior.deviation for prior in priors])

    def thinned(self, count: int) -> Likelihood:
        """Return the likelihood of `count` of the observations, evenly from first to last."""
        rows = torch.linspace(0, len(self.y) - 1, count, device=self.y.device).round().long()
        return replace(
            self,
            inputs_in_units=self.inputs_in_units[rows],
            y=self.y[rows],
            given_noise=self.given_noise[rows],
        )

    def inputs(self, hyperparameters: Hyperparameters) -> Inputs:
        """Return the column rates at these hyper-parameters."""
        scales = torch.tensor(hyperparameters.length_scales, dtype=self.units.dtype, device=self.units.device)
        if len(scales) not in (1, self.parameters):
            raise IncompatibleError(
                f"GaussianProcess(fixed=...): {len(scales)} length-scales given, the space has {self.parameters} "
                "parameters; give one for all or one for each."
            )
        per_column = scales.expand(self.parameters)[self.groups] if len(scales) == 1 else scales[self.groups]
        rates = 1.0 / (self.units * per_column)
        return Inputs(rates[: self.decision_width], rates[self.decision_width :], self.c_origin)

    def noise(self, fitted: float | Tensor) -> Tensor:
        """Return the noise variances `"n"`: the caller's where given, the fitted one elsewhere."""
        return torch.where(self.given_noise.isnan(), fitted, self.given_noise)

    def values_and_gradients(self, thetas: Array) -> tuple[Array, Array, Array, Array]:
        """Return log posterior densities `"b"`, gradients in theta `"b t"`, curvatures `"b t t"` and profiled means `"b"`.

        A curvature is the average information plus that of the priors: an estimate of minus the Hessian, positive definite.
        The rows of `thetas` `"b t"` are worked on together: with a hundred observations the calls cost as much as the
        arithmetic. A density is NaN where the covariance is not positive definite.
        """
        rates = torch.from_numpy(np.exp(-thetas[:, self._columns])).to(self.y)
        z = (self.inputs_in_units * rates[:, None, :]).clamp_(-FARTHEST, FARTHEST)
        squares = z.square()
        s = own_squared_distances(z, squares)
        k = kernel_value(self.kernel, s)
        slope = kernel_slope(self.kernel, s, k)
        del s  # with thousands of observations each of these matrices counts
        noise = self.noise(torch.from_numpy(np.exp(thetas[:, -1:])).to(self.y))  # "b n"
        k.diagonal(dim1=1, dim2=2).add_(noise)
        factor, failed = torch.linalg.cholesky_ex(k)
        del k
        if bool(failed.any()):
            factor[failed != 0] = torch.eye(len(self.y), dtype=factor.dtype, device=factor.device)
        precision = torch.cholesky_inverse(factor)
        if self.centred:
            sums = precision.sum(1)
            mean = (sums @ self.y) / sums.sum(1)
        else:
            mean = self.y.new_zeros(len(thetas))
        residual = self.y - mean[:, None]
        a = precision @ residual[:, :, None]
        density = (residual * a[:, :, 0]).sum(1).mul_(-0.5) - factor.diagonal(dim1=1, dim2=2).log().sum(1)

        # A_g a = -2 (k' * s_g) a, s_g = z_i^2 - 2 z_i z_j + z_j^2; the noise's part of A is diagonal.
        width = z.shape[2]
        powers = torch.cat([torch.ones_like(a), z, squares], dim=2)
        turned = slope @ (powers * a)
        per_column = (turned[:, :, :1] * squares).addcmul_(turned[:, :, 1 : width + 1], z, value=-2.0)
        per_column = per_column.add_(turned[:, :, width + 1 :]).mul_(-2.0)
        fitted_noise = noise * self._fitted
        pulled = torch.cat([self._gathered(per_column), fitted_noise[:, :, None] * a], dim=2)  # A_i a
        information = pulled.mT @ (precision @ pulled)

        inner = (a * a.mT).sub_(precision)
        by_noise = (inner.diagonal(dim1=1, dim2=2) * fitted_noise).sum(1, keepdim=True)
        sides = inner.mul_(slope) @ powers[:, :, : width + 1]
        by_scale = self._gathered((sides[:, :, :1] * z).sub_(sides[:, :, 1:]).mul_(z).sum(1))
        gradient = torch.cat([by_scale.mul_(-2.0), by_noise.mul_(0.5)], dim=1)
        density.masked_fill_(failed != 0, math.nan)
        parts = (part.cpu().numpy() for part in (density, gradient, information.mul_(0.5)))
        return *self._with_priors(thetas, *parts), mean.cpu().numpy()

    @property
    def scales(self) -> bool:
        """Whether all noise is fitted: then the whole covariance has one amplitude."""
        return bool(self.given_noise.isnan().all())

    def moments(self, thetas: Array) -> Moments:
        """Return what the densities at the rows of `thetas` are made of; NaN where A is not positive definite."""
        rates = torch.from_numpy(np.exp(-thetas[:, self._columns])).to(self.y)
        z = (self.inputs_in_units * rates[:, None, :]).clamp_(-FARTHEST, FARTHEST)
        k = kernel_value(self.kernel, own_squared_distances(z, z.square()))
        k.diagonal(dim1=1, dim2=2).add_(self.noise(torch.from_numpy(np.exp(thetas[:, -1:])).to(self.y)))
        factor, failed = torch.linalg.cholesky_ex(k)
        sides = torch.stack([self.y, torch.ones_like(self.y)], dim=1).expand(len(thetas), -1, -1)
        solved = torch.linalg.solve_triangular(factor, sides, upper=False)
        whitened, unit = solved.unbind(2)
        ones = unit.square().sum(1)
        mean = (whitened * unit).sum(1) / ones if self.centred else torch.zeros_like(ones)
        # A sum of squares: taken apart into products of its own, large values with a small residual could come out negative.
        quadratic = (whitened - mean[:, None] * unit).square().sum(1)
        log_determinant = 2.0 * factor.diagonal(dim1=1, dim2=2).log().sum(1)
        return Moments(log_determinant.masked_fill(failed != 0, math.nan), quadratic, ones, mean)

    def log_prior(self, thetas: Array) -> Array:
        """Return the log prior density of theta itself, up to a constant; `"b"`."""
        means, deviations = self._priors
        return np.asarray(-0.5 * np.square((thetas - means) / deviations).sum(1))

    def _with_priors(
        self, thetas: Array, density: Array, gradient: Array, information: Array
    ) -> tuple[Array, Array, Array]:
        """Return density, gradient and curvature with the priors' parts added."""
        means, deviations = self._priors
        z = (thetas - means) / deviations
        constant = np.log(deviations).sum() + 0.5 * math.log(2.0 * math.pi) * (len(self.y) + len(means))
        density = density - (thetas + 0.5 * z * z).sum(1) - constant
        return density, gradient - 1.0 - z / deviations, information + np.diag(deviations**-2.0)

    def search(self, starts: Sequence[Hyperparameters]) -> Hyperparameters:
        """Return the best of bounded BFGS runs from each start."""
        lows = np.log([LEAST_LENGTH_SCALE] * self.parameters + [LEAST_NOISE])
        highs = np.full(self.parameters + 1, math.log(MOST))
        together = len(self.y) <= MANY  # beyond, matrices are large enough to be worked on one by one
        best, lowest, mean = lows, math.inf, 0.0

        def negative(rows: Array) -> tuple[Array, Array, Array]:
            nonlocal best, lowest, mean
            groups = [rows] if together else [row[None] for row in rows]
            results = [self.values_and_gradients(group) for group in groups]
            density, gradient, curvature, means = (np.concatenate(part) for part in zip(*results, strict=True))
            highest = int(np.argmax(np.where(np.isfinite(density), density, -np.inf)))
            if -density[highest] < lowest:
                best, lowest, mean = rows[highest].copy(), -float(density[highest]), float(means[highest])
            return -density, -gradient, curvature

        thetas = np.log([[*start.length_scales, start.noise] for start in starts]).clip(lows, highs)
        minimize_rows(
            negative,
            thetas,
            np.broadcast_to(lows, thetas.shape),
            np.broadcast_to(highs, thetas.shape),
            evaluations=FIT_EVALUATIONS,
            tolerance=FIT_TOLERANCE,
            first_step=LONGEST_STEP,
            longest_step=LONGEST_STEP,
            meet=MEET,
        )
        if not math.isfinite(lowest):
            raise SolverError("GaussianProcess: the marginal likelihood is not finite at any start.")
        *scales, noise = np.exp(best).tolist()
        return Hyperparameters(mean, tuple(scales), 1.0, noise)


def own_squared_distances(z: Tensor, squares: Tensor) -> Tensor:
    """Return |z_i - z_j|^2 within each of `"b n d"`, given their squares; zero on the diagonal; `"b n n"`."""
    sums = squares.sum(-1)
    s = torch.baddbmm(sums[:, :, None] + sums[:, None, :], z, z.mT, alpha=-2.0).clamp_min_(0.0)
    s.diagonal(dim1=1, dim2=2).zero_()
    return s
