"""Fitting the Gaussian process: marginal likelihood plus priors by bounded BFGS with the analytic gradient.

    log p(y) = -1/2 r' A^-1 r - 1/2 log|A| - n/2 log 2 pi,   A = amplitude * K + diag(noise),   r = y - m
    d log p / d theta = 1/2 tr((a a' - A^-1) dA/dtheta),      a = A^-1 r

The constant mean is profiled: m = 1'A^-1 y / 1'A^-1 1 maximises log p for every theta, so the gradient in theta needs no
term for it. With dK/d log l_g = -2 k'(s) * s_g, s_g the part of s in group g, the trace over all groups is one product
of an n x n matrix with the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from windward import check
from windward.bfgs import Array, minimize_rows
from windward.errors import ArgumentError, IncompatibleError, SolverError
from windward.surrogate.kernel import KERNELS, KernelName, kernel_slope, kernel_value, squared_distances
from windward.surrogate.outcomes import Outcome, Standardize
from windward.surrogate.posterior import FARTHEST, GaussianPosterior, Hyperparameters, Inputs
from windward.trials import Dataset

# Fitted noise variance and length-scales stay above these, as in BoTorch: below them lies interpolation of noise.
LEAST_NOISE = 1e-4
LEAST_LENGTH_SCALE = 2.5e-2
MOST = 1e4  # upper bound of both: a column with that length-scale has no effect
# A fit stops where no hyper-parameter's gradient exceeds this, or two steps gain less than it, in log likelihood: a
# thousandth of what would matter. The cap is far above the twenty or thirty evaluations it takes.
FIT_TOLERANCE = 1e-6
FIT_EVALUATIONS = 200
FIRST_STEP = 1.0  # in a logarithm; of 0.1 to 2 this takes the fewest evaluations, the density found being the same
# The share by which observations must grow before a new search. Over four problems neither 5 nor 10 % costs regret that
# ten seeds could show (docs/performance.md); the smaller one is kept. Below twenty observations each new one is searched.
REFIT = 0.05
# Beyond so many observations the starts are sorted out on that many of them, and only the best is refined on all.
MANY = 300
# Least variance of an observation whose noise the caller gave: keeps repeated exact observations solvable.
LEAST_GIVEN_NOISE = 1e-6
MOST_GIVEN_NOISE = 1e20  # an observation with more says nothing, and its square would overflow


@dataclass(frozen=True)
class LogNormal:
    """A log-normal prior by the mean and deviation of the logarithm; its density is over the quantity itself."""

    mean: float
    deviation: float

    @property
    def mode(self) -> float:
        """Where the density is highest; the starting point of a fit."""
        return math.exp(self.mean - self.deviation**2)

    def log_density(self, log_value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log density of exp(log_value) and its derivative in log_value."""
        z = (log_value - self.mean) / self.deviation
        constant = math.log(self.deviation) + 0.5 * math.log(2.0 * math.pi)
        return -log_value - 0.5 * z.square() - constant, -1.0 - z / self.deviation


def length_scale_prior(parameters: int) -> LogNormal:
    """Return BoTorch's dimension-scaled prior: typical length-scales grow like the square root of the dimension."""
    return LogNormal(math.sqrt(2.0) + 0.5 * math.log(max(parameters, 1)), math.sqrt(3.0))


NOISE_PRIOR = LogNormal(-4.0, 1.0)


@dataclass(frozen=True)
class GaussianProcess:
    """An exact Gaussian process with a constant mean; the surrogate of every method here.

    `kernel` is "squared_exponential" (the default: it factorises over decisions and contexts) or "matern52".
    `fixed` holds hyper-parameters that are not fitted (one length-scale for all, or one per parameter). `outcome` says
    how outcomes are scaled before the fit: `Standardize()`, `SoftClip(limit)` against heavy tails, `Unscaled()`.
    The amplitude is 1 in standardised outcomes, as in BoTorch's default model. `tasks=True` gives each choice of a
    categorical context a length-scale of its own: choices i and j are then correlated by a_i a_j, a_i = exp(-1 / (4 l_i^2)),
    the task kernel of rank one plus a diagonal; otherwise all choices are equally alike. `refit` is the share by which the
    observations must grow before hyper-parameters are searched again; in between, new rows extend the factor.

    >>> GaussianProcess(kernel="matern52").kernel
    'matern52'
    """

    kernel: KernelName = "squared_exponential"
    outcome: Outcome = field(default_factory=Standardize, kw_only=True)
    fixed: Hyperparameters | None = field(default=None, kw_only=True)
    tasks: bool = field(default=False, kw_only=True)
    refit: float = field(default=REFIT, kw_only=True)

    def __post_init__(self) -> None:
        check.choice("GaussianProcess", "kernel", self.kernel, KERNELS)
        check.flag("GaussianProcess", "tasks", self.tasks)
        check.number("GaussianProcess", "refit", self.refit, low=0.0)
        if isinstance(self.outcome, type) or not isinstance(self.outcome, Outcome):
            raise ArgumentError(
                f"GaussianProcess(outcome={self.outcome!r}): give Standardize(), SoftClip() or Unscaled()."
            )
        if self.fixed is not None:
            _check_fixed(self.fixed)

    def fit(self, data: Dataset, start: Hyperparameters | None = None) -> GaussianPosterior:
        """Return the posterior at the most probable hyper-parameters, searched from the prior's mode and from `start`."""
        return self.at(data, self.fitted(data, start))

    def fitted(self, data: Dataset, start: Hyperparameters | None = None) -> Hyperparameters:
        """Return the hyper-parameters that `fit` would use."""
        if self.fixed is not None:
            return self.fixed
        problem = self.likelihood(data)
        count = problem.parameters
        mode = Hyperparameters(0.0, (length_scale_prior(count).mode,) * count, 1.0, NOISE_PRIOR.mode)
        if len(data.y) < 2:
            return mode
        warm = start is not None and len(start.length_scales) == count
        # A first fit also looks from rougher and smoother functions: the likelihood has several hills.
        others = [
            Hyperparameters(0.0, tuple(factor * scale for scale in mode.length_scales), 1.0, LEAST_NOISE * 10)
            for factor in (() if warm else (0.3, 3.0))
        ]
        starts = [mode, *others]
        if len(data.y) > MANY:  # which hill, some rows tell; how high, only all
            starts = [problem.thinned(MANY).search(starts)]
        return problem.search([start, *starts] if warm and start is not None else starts)

    def due(self, data: Dataset, fitted: int) -> bool:
        """Whether hyper-parameters of a fit that knew the events up to `fitted` are to be searched again.

        Fixed ones are not searched, but the factor and the units of contexts are made anew as often.
        """
        known = len(data.y) if data.changed is None else sum(event <= fitted for event in data.changed)
        return len(data.y) - known > self.refit * known

    def grown(
        self, data: Dataset, hyperparameters: Hyperparameters, fitted: int, previous: GaussianPosterior | None = None
    ) -> GaussianPosterior:
        """Return the posterior with these hyper-parameters: factorised at the rows of their fit, then row by row.

        That order makes it a function of the log: whoever reopens a study gets the same numbers, to the last bit. `previous`
        saves the rows it already holds. Where rows have no order, or a noise was given (in units of a scale that moves with
        every value), it is factorised whole.
        """
        base = 0 if data.changed is None else sum(event <= fitted for event in data.changed)
        if base == 0 or data.floor is not None or not bool(data.noise.isnan().all()):
            return self.at(data, hyperparameters)
        known = data.first(base)
        inputs = self.likelihood(known).inputs(hyperparameters)  # origins and units of contexts, too, are the fit's
        zx, zc = inputs.x(data.x), inputs.c(data.c)
        if previous is not None and previous.holds(self.kernel, hyperparameters, base, inputs, zx, zc):
            posterior = previous
        else:
            posterior = self.at(known, hyperparameters)
        problem = self.likelihood(data)
        for row in range(posterior.size, len(data.y)):
            posterior = posterior.with_rows(zx[row : row + 1], zc[row : row + 1])
        return posterior.with_values(problem.y - hyperparameters.mean, problem.shift, problem.scale)

    def at(self, data: Dataset, hyperparameters: Hyperparameters) -> GaussianPosterior:
        """Return the posterior with these hyper-parameters, nothing fitted."""
        if data.floor is not None and hyperparameters.mean != 0.0:
            hyperparameters = replace(hyperparameters, mean=0.0)  # the floor is the prior mean
        problem = self.likelihood(data)
        inputs = problem.inputs(hyperparameters)
        zx, zc = inputs.x(data.x), inputs.c(data.c)
        s = squared_distances(zx, zx) + squared_distances(zc, zc)
        noise = problem.noise(hyperparameters.noise)
        covariance = hyperparameters.amplitude * kernel_value(self.kernel, s.fill_diagonal_(0.0)) + noise.diag()
        factor, failed = torch.linalg.cholesky_ex(covariance)
        if int(failed):
            raise SolverError(
                f"GaussianProcess: the covariance of {len(data.y)} observations is not positive definite with "
                f"noise variance {hyperparameters.noise:g}; use a larger noise."
            )
        eye = torch.eye(len(factor), dtype=factor.dtype, device=factor.device)
        inverse = torch.linalg.solve_triangular(factor, eye, upper=False)
        alpha = inverse.T @ (inverse @ (problem.y - hyperparameters.mean))
        return GaussianPosterior(
            self.kernel,
            hyperparameters,
            inputs,
            zx,
            zc,
            factor,
            inverse,
            alpha,
            noise,
            problem.shift,
            problem.scale,
            len(data.y),
        )

    def _context_groups(self, data: Dataset) -> tuple[int, ...]:
        """Return which length-scale each context column has; under `tasks` every one-hot column its own."""
        groups = data.roles.c_groups
        if not self.tasks:
            return groups
        shared = {group for group in groups if groups.count(group) > 1}  # only categories have several columns
        following = max((*data.roles.x_groups, *groups)) + 1
        renamed, first = [], set[int]()
        for group in groups:
            if group in shared and group in first:
                renamed.append(following)
                following += 1
            else:
                renamed.append(group)
            first.add(group)
        return tuple(renamed)

    def likelihood(self, data: Dataset) -> Likelihood:
        """Return the marginal likelihood of these data as a function of the hyper-parameters."""
        scaled = self.outcome.scaled(data.y, data.floor)
        x_unit = torch.tensor(data.roles.x_scales, dtype=data.x.dtype, device=data.x.device)
        c_origin, c_unit = _context_units(data)
        given = (data.noise / scaled.scale).square().clamp(LEAST_GIVEN_NOISE, MOST_GIVEN_NOISE)
        return Likelihood(
            self.kernel,
            torch.cat([data.x / x_unit, (data.c - c_origin) / c_unit], dim=1),
            torch.tensor((*data.roles.x_groups, *self._context_groups(data)), dtype=torch.int64, device=data.x.device),
            data.x.shape[1],
            torch.cat([x_unit, c_unit]),
            c_origin,
            scaled.values,
            given,
            scaled.shift,
            scaled.scale,
            data.floor is None and not isinstance(self.fixed, Hyperparameters),
        )


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

    @property
    def parameters(self) -> int:
        """Number of length-scales."""
        return int(self.groups.max()) + 1 if len(self.groups) else 0

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

    def values_and_gradients(self, thetas: Array) -> tuple[Array, Array, Array]:
        """Return the log posterior densities `"b"`, their gradients in theta `"b t"`, and the profiled means `"b"`.

        The rows of `thetas` `"b t"` are worked on together: with a hundred observations the calls cost as much as the
        arithmetic. A density is NaN where the covariance is not positive definite.
        """
        parameters = torch.from_numpy(thetas).to(self.y)
        log_scales, log_noise = parameters[:, :-1], parameters[:, -1:]
        z = self.inputs_in_units * log_scales.neg().exp_().index_select(1, self.groups)[:, None, :]
        z.clamp_(-FARTHEST, FARTHEST)
        s = _own_squared_distances(z)
        k = kernel_value(self.kernel, s)
        slope = kernel_slope(self.kernel, s, k)
        noise = self.noise(log_noise.exp())  # "b n"
        k.diagonal(dim1=1, dim2=2).add_(noise)
        factor, failed = torch.linalg.cholesky_ex(k)
        if bool(failed.any()):
            factor[failed != 0] = torch.eye(len(self.y), dtype=factor.dtype, device=factor.device)
        precision = torch.cholesky_inverse(factor)
        if self.centred:
            sums = precision.sum(1)
            mean = (sums @ self.y) / sums.sum(1)
        else:
            mean = self.y.new_zeros(len(parameters))
        residual = self.y - mean[:, None]
        a = precision @ residual[:, :, None]
        density = (
            (residual[:, None, :] @ a)[:, 0, 0].mul_(-0.5)
            - factor.diagonal(dim1=1, dim2=2).log().sum(1)
            - 0.5 * len(self.y) * math.log(2 * math.pi)
        )

        inner = precision.baddbmm_(a, a.mT, beta=-1.0)
        fitted = (inner.diagonal(dim1=1, dim2=2) * noise).masked_fill(~self.given_noise.isnan(), 0.0)
        pull = inner.mul_(slope)  # times -2 s_g, then 1/2 of the trace
        per_column = (pull.sum(1, keepdim=True) @ z.square())[:, 0] - ((pull @ z).mul_(z)).sum(1)
        scale_density, scale_slope = length_scale_prior(self.parameters).log_density(log_scales)
        noise_density, noise_slope = NOISE_PRIOR.log_density(log_noise)
        gradient = torch.cat([scale_slope, noise_slope + 0.5 * fitted.sum(1, keepdim=True)], dim=1)
        gradient.index_add_(1, self.groups, per_column, alpha=-2.0)
        density += scale_density.sum(1) + noise_density[:, 0]
        density.masked_fill_(failed != 0, math.nan)
        return density.cpu().numpy(), gradient.cpu().numpy(), mean.cpu().numpy()

    def search(self, starts: Sequence[Hyperparameters]) -> Hyperparameters:
        """Return the best of bounded BFGS runs from each start."""
        lows = np.log([LEAST_LENGTH_SCALE] * self.parameters + [LEAST_NOISE])
        highs = np.full(self.parameters + 1, math.log(MOST))
        together = len(self.y) <= MANY  # beyond, matrices are large enough to be worked on one by one

        def negative(rows: Array) -> tuple[Array, Array]:
            groups = [rows] if together else [row[None] for row in rows]
            results = [self.values_and_gradients(group) for group in groups]
            return -np.concatenate([value for value, _, _ in results]), -np.concatenate(
                [gradient for _, gradient, _ in results]
            )

        thetas = np.log([[*start.length_scales, start.noise] for start in starts]).clip(lows, highs)
        found, values = minimize_rows(
            negative,
            thetas,
            np.broadcast_to(lows, thetas.shape),
            np.broadcast_to(highs, thetas.shape),
            evaluations=FIT_EVALUATIONS,
            tolerance=FIT_TOLERANCE,
            first_step=FIRST_STEP,
        )
        if not np.isfinite(values).any():
            raise SolverError("GaussianProcess: the marginal likelihood is not finite at any start.")
        best = found[np.nanargmin(values)]
        mean = float(self.values_and_gradients(best[None])[2][0])
        *scales, noise = np.exp(best).tolist()
        return Hyperparameters(mean, tuple(scales), 1.0, noise)


def _own_squared_distances(z: Tensor) -> Tensor:
    """Return |z_i - z_j|^2 within each of `"b n d"`, zero on the diagonal; `"b n n"`."""
    squares = z.square().sum(-1)
    s = torch.baddbmm(squares[:, :, None] + squares[:, None, :], z, z.mT, alpha=-2.0).clamp_min_(0.0)
    s.diagonal(dim1=1, dim2=2).zero_()
    return s


def _context_units(data: Dataset) -> tuple[Tensor, Tensor]:
    """Return where each context column begins and what one unit of it is; `"k"` each.

    The unit is the declared range; without one, the central nine tenths of what was seen (one outlier must not set it),
    else all of it, else 1. The origin is the median, so that no precision is lost to an offset.
    """
    origins, units = [], []
    for column, declared in enumerate(data.roles.c_scales):
        seen = data.c[:, column] if len(data.c) else data.c.new_zeros(1)
        low, middle, high = torch.quantile(seen, seen.new_tensor([0.05, 0.5, 0.95])).tolist()
        spans = (declared or 0.0, (high - low) / 0.9, float(seen.max() - seen.min()), 1.0)
        units.append(next(span for span in spans if span > 0.0))
        origins.append(middle)
    return (
        torch.tensor(origins, dtype=data.c.dtype, device=data.c.device),
        torch.tensor(units, dtype=data.c.dtype, device=data.c.device),
    )


def _check_fixed(fixed: Hyperparameters) -> None:
    if not isinstance(fixed, Hyperparameters):
        raise ArgumentError(f"GaussianProcess(fixed={fixed!r}): give Hyperparameters(...), or None to fit them.")
    call = "Hyperparameters"
    check.number(call, "mean", fixed.mean)
    if not isinstance(fixed.length_scales, tuple | list) or not fixed.length_scales:
        raise ArgumentError(
            f"{call}(length_scales={fixed.length_scales!r}): give a tuple, one length-scale for all or one per parameter."
        )
    for scale in fixed.length_scales:
        check.number(call, "length_scales", scale, low=0.0, open_low=True)
    check.number(call, "amplitude", fixed.amplitude, low=0.0, open_low=True)
    check.number(call, "noise", fixed.noise, low=0.0, open_low=True)
