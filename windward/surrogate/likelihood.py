"""The marginal likelihood with its priors, its gradient and its curvature, and the search for its highest point.

    log p(y) = -1/2 r' A^-1 r - 1/2 log|A| - n/2 log 2 pi,   A = s K + diag(noise),   r = y - m,   a = A^-1 r
    d log p / d theta_i        = 1/2 tr((a a' - A^-1) A_i),      A_i = dA / d theta_i
    -d2 log p / d theta_i d theta_j  ~  1/2 (A_i a)' A^-1 (A_j a)

The constant mean is profiled: m = 1'A^-1 y / 1'A^-1 1 maximises log p for every theta, so the gradient in theta needs no
term for it. With dK/d log l_g = -2 k'(s) * s_g, s_g the part of s in group g, the trace over all groups is one product
of an n x n matrix with the inputs.

The amplitude s is one, or an entry of theta with dA / d log s = A - diag(noise).

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
from windward.surrogate.drift import Fading
from windward.surrogate.hyperparameters import FARTHEST, Hyperparameters, Inputs
from windward.surrogate.kernel import KernelName, kernel_slope, kernel_value
from windward.surrogate.parts import parted, parted_value
from windward.surrogate.priors import FLAT, Layout, least_scales

# A fit stops where no hyper-parameter's gradient exceeds this, or two steps gain less than it, in log likelihood: a
# thousandth of what would matter. The cap is far above the ten or twenty evaluations it takes.
FIT_TOLERANCE = 1e-6
FIT_EVALUATIONS = 200
LONGEST_STEP = 2.0  # in a logarithm: beyond, the curvature at a start says nothing
MEET = 0.2  # in every logarithm: climbs so near to a higher one end in the same place, but for two in a thousand
# With more observations than this the starts are sorted out on this many, and only the best is refined on all.
MANY = 300


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
    """Log marginal likelihood plus log priors at theta, which `layout` tells."""

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
    parts: bool = False  # whether the kernel has parts in decisions alone and in contexts alone
    fading: Fading | None = None  # how the function changes with time, and the rows' ages
    flat: bool = False  # whether there are no priors
    amplitude: bool = False  # whether the amplitude is fitted

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
    def layout(self) -> Layout:
        """What theta holds."""
        if not self.flat:
            return Layout(self.parameters, self.parts, self.amplitude)
        least = least_scales(self.inputs_in_units.cpu().numpy(), self._columns, self.parameters)
        return Layout(self.parameters, self.parts, self.amplitude, least)

    def thinned(self, count: int) -> Likelihood:
        """Return the likelihood of `count` of the observations, evenly from first to last."""
        rows = torch.linspace(0, len(self.y) - 1, count, device=self.y.device).round().long()
        return replace(
            self,
            inputs_in_units=self.inputs_in_units[rows],
            y=self.y[rows],
            given_noise=self.given_noise[rows],
            fading=None if self.fading is None else replace(self.fading, ages=self.fading.ages[rows]),
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
        z = self._scaled(thetas)
        squares = z.square()
        k, slopes, by_logit = self._kernel(thetas, z, squares)
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

        groups = list(zip(slopes, self._sides(z), self._sides(squares), strict=True))
        per_column = torch.cat([_pulled(slope, z_, squares_, a) for slope, z_, squares_ in groups], dim=2)
        fitted_noise = noise * self._fitted
        shared = [by @ a for by in by_logit]
        if self.amplitude:  # (A - noise) a
            shared.append((residual - noise * a[:, :, 0])[:, :, None])
        pulled = torch.cat([self._gathered(per_column), *shared, fitted_noise[:, :, None] * a], dim=2)  # A_i a
        information = pulled.mT @ (precision @ pulled)

        inner = (a * a.mT).sub_(precision)
        by_noise = (inner.diagonal(dim1=1, dim2=2) * fitted_noise).sum(1, keepdim=True)
        by_shares = [(inner * by).sum((1, 2))[:, None] for by in by_logit]
        if self.amplitude:  # tr(inner A) = r'a - n
            whole = (residual * a[:, :, 0]).sum(1) - len(self.y)
            by_shares.append((whole - (inner.diagonal(dim1=1, dim2=2) * noise).sum(1))[:, None])
        by_scale = self._gathered(torch.cat([_traces(inner, slope, z_) for slope, z_, _ in groups], dim=1))
        gradient = torch.cat([by_scale.mul_(-2.0), *(by.mul_(0.5) for by in by_shares), by_noise.mul_(0.5)], dim=1)
        density.masked_fill_(failed != 0, math.nan)
        parts = (part.cpu().numpy() for part in (density, gradient, information.mul_(0.5)))
        return *self._with_priors(thetas, *parts), mean.cpu().numpy()

    def _scaled(self, thetas: Array) -> Tensor:
        """Return the inputs divided by their length-scales; `"b n D"`."""
        rates = torch.from_numpy(np.exp(-thetas[:, self._columns])).to(self.y)
        return (self.inputs_in_units * rates[:, None, :]).clamp_(-FARTHEST, FARTHEST)

    def _sides(self, z: Tensor) -> tuple[Tensor, ...]:
        """Return the columns of decisions and of contexts where the kernel has parts; else all of them together."""
        return (z[:, :, : self.decision_width], z[:, :, self.decision_width :]) if self.parts else (z,)

    def _kernel(
        self, thetas: Array, z: Tensor, squares: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return the kernel, its slopes in the squared distance of each of `_sides`, and its derivatives in the logits."""
        s = [own_squared_distances(*side) for side in zip(self._sides(z), self._sides(squares), strict=True)]
        slopes: tuple[Tensor, ...]
        by_logit: tuple[Tensor, ...]
        if self.parts:
            k, slopes, by_logit = parted(self.kernel, s[0], s[1], self.layout.shares(thetas))
        else:
            k = kernel_value(self.kernel, s[0])
            slopes, by_logit = (kernel_slope(self.kernel, s[0], k),), ()
        if self._together is not None:  # a factor of all of them
            for each in (k, *slopes, *by_logit):
                each.mul_(self._together)
        if self.amplitude:
            amplitudes = self._amplitudes(thetas)
            for each in (k, *slopes, *by_logit):
                each.mul_(amplitudes)
        return k, slopes, by_logit

    def _amplitudes(self, thetas: Array) -> Tensor:
        """Return the amplitudes at the rows of `thetas`; `"b 1 1"`."""
        found = self.layout.amplitudes(thetas)
        assert found is not None
        return torch.from_numpy(found).to(self.y)[:, None, None]

    @cached_property
    def _together(self) -> Tensor | None:
        """The correlations of the rows' rounds, `"n n"`; None where the function stands still."""
        return None if self.fading is None else self.fading.together

    @property
    def scales(self) -> bool:
        """Whether all noise is fitted, and the amplitude is not: then the whole covariance has one that theta lacks."""
        return not self.amplitude and bool(self.given_noise.isnan().all())

    def moments(self, thetas: Array) -> Moments:
        """Return what the densities at the rows of `thetas` are made of; NaN where A is not positive definite."""
        k = self.values(self._scaled(thetas), self.layout.shares(thetas))
        if self.amplitude:
            k = k * self._amplitudes(thetas)
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

    def values(self, z: Tensor, shares: Array) -> Tensor:
        """Return the kernel between scaled inputs `"b n D"`, with the shares of its parts where it has them; `"b n n"`."""
        s = [own_squared_distances(side, side.square()) for side in self._sides(z)]
        k = parted_value(self.kernel, s[0], s[1], shares) if self.parts else kernel_value(self.kernel, s[0])
        return k if self._together is None else k.mul_(self._together)

    def density(self, hyperparameters: Hyperparameters) -> float:
        """Return the log density at these hyper-parameters, priors included, the constant mean at its best."""
        return float(self.values_and_gradients(self.layout.thetas([hyperparameters]))[0][0])

    def log_prior(self, thetas: Array) -> Array:
        """Return the log prior density of theta itself, up to a constant; `"b"`."""
        means, deviations = self.layout.priors
        return np.asarray(-0.5 * np.square((thetas - means) / deviations).sum(1))

    def _with_priors(
        self, thetas: Array, density: Array, gradient: Array, information: Array
    ) -> tuple[Array, Array, Array]:
        """Return density, gradient and curvature with the priors' parts added."""
        (means, deviations), logarithms = self.layout.priors, self.layout.logarithms
        z = (thetas - means) / deviations
        told = deviations[np.isfinite(deviations)]
        constant = np.log(told).sum() + 0.5 * math.log(2.0 * math.pi) * (len(self.y) + len(told))
        density = density - (logarithms * thetas + 0.5 * z * z).sum(1) - constant
        bent = np.where(np.isfinite(deviations), deviations, FLAT) ** -2.0
        return density, gradient - logarithms - z / deviations, information + np.diag(bent)

    def search(self, starts: Sequence[Hyperparameters]) -> Hyperparameters:
        """Return the best of bounded BFGS runs from each start."""
        lows, highs = self.layout.bounds
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

        thetas = self.layout.thetas(starts)
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
        return self.layout.hyperparameters(best, mean)


def _pulled(slope: Tensor, z: Tensor, squares: Tensor, a: Tensor) -> Tensor:
    """Return A_g a = -2 (k' * s_g) a for every column, s_g = z_i^2 - 2 z_i z_j + z_j^2; `"b n d"`."""
    width = z.shape[2]
    turned = slope @ (torch.cat([torch.ones_like(a), z, squares], dim=2) * a)
    per_column = (turned[:, :, :1] * squares).addcmul_(turned[:, :, 1 : width + 1], z, value=-2.0)
    return per_column.add_(turned[:, :, width + 1 :]).mul_(-2.0)


def _traces(inner: Tensor, slope: Tensor, z: Tensor) -> Tensor:
    """Return sum_ij inner_ij k'_ij s_g,ij / 2 for every column; `"b d"`."""
    powers = torch.cat([torch.ones_like(z[:, :, :1]), z], dim=2)
    sides = (inner * slope) @ powers
    return (sides[:, :, :1] * z).sub_(sides[:, :, 1:]).mul_(z).sum(1)


def own_squared_distances(z: Tensor, squares: Tensor) -> Tensor:
    """Return |z_i - z_j|^2 within each of `"b n d"`, given their squares; zero on the diagonal; `"b n n"`."""
    sums = squares.sum(-1)
    s = torch.baddbmm(sums[:, :, None] + sums[:, None, :], z, z.mT, alpha=-2.0).clamp_min_(0.0)
    s.diagonal(dim1=1, dim2=2).zero_()
    return s
