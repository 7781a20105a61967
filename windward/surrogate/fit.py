"""Fitting the Gaussian process: the most probable hyper-parameters, and the posterior they give."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import cast

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.budget import Need, Sizes
from windward.basics.errors import ArgumentError, SolverError
from windward.basics.speech import shown
from windward.contexts.memory import HalfLife, checked_span
from windward.space import Roles
from windward.surrogate.drift import LENGTHS, WINDOW, Fading, chances, newest, of_now
from windward.surrogate.hyperparameters import Hyperparameters
from windward.surrogate.kernel import KERNELS, KernelName, product_value, squared_distances
from windward.surrogate.likelihood import MANY, Likelihood
from windward.surrogate.nearby import draws, posteriors_at
from windward.surrogate.needs import posterior_needs
from windward.surrogate.posterior import GaussianPosterior
from windward.surrogate.priors import AMPLITUDES, AmplitudeName, PriorsName
from windward.surrogate.protocol import NO_START, Start
from windward.surrogate.scaling import Scaling, Standardize
from windward.trials.drifts import Unit
from windward.trials.trials import Dataset

# The share by which observations must grow before a new search. Over four problems neither 5 nor 10 % costs regret that
# ten seeds could show (docs/performance.md); the smaller one is kept. Below twenty observations each new one is searched.
REFIT = 0.05
# Least variance of an observation whose noise the caller gave: keeps repeated exact observations solvable.
LEAST_GIVEN_NOISE = 1e-6
MOST_GIVEN_NOISE = 1e20  # an observation with more says nothing, and its square would overflow


@dataclass(frozen=True)
class GaussianProcess:
    """An exact Gaussian process with a constant mean; the surrogate of every method here.

    `kernel` is "squared_exponential" (the default: it factorises over decisions and contexts) or "matern52". `fixed` holds
    hyper-parameters that are not fitted (one length-scale for all, or one per parameter). `outcome` says how outcomes are
    scaled before the fit: `Standardize()`, `SoftClip(limit)` against heavy tails, `Unscaled()`. The amplitude is 1 in
    standardised outcomes, and length-scales and noise have log-normal priors, as in BoTorch's default model. `tasks=True`
    gives each choice of a categorical context a length-scale of its own: choices i and j are then correlated by a_i a_j, a_i
    = exp(-1 / (4 l_i^2)), the task kernel of rank one plus a diagonal; otherwise all choices are equally alike. `refit` is
    the share by which the observations must grow before hyper-parameters are searched again; in between, new rows extend the
    factor. `parts=True` adds a part in the decisions alone and one in the contexts alone to the squared exponential, with
    fitted shares: what a context does to every decision alike is then no noise, and what a decision does in every context
    alike is not averaged out. Without contexts it changes nothing. `drift` is for a function that changes with time: f now
    and f that many trials ago, or that much time ago (a timedelta, or a text such as `"30 days"`), have a correlation of 1 /
    e. `"learnt"` chooses among never and 100, 50, 25 and 12 trials by what the data say; None says that f stands still.
    Results older than four times that are left out, and every answer is about the coming trial.

    `priors=None` (in TOML `"none"`) leaves the hyper-parameters' priors out: the fit is that of most likelihood, and the
    shortest length-scale is a third of the usual gap between neighbouring values where that is below the usual 0.025.
    `amplitude="fitted"` searches the amplitude with the rest. Together they are the textbook's fit, which papers mean by
    marginal likelihood. With few results it takes noise for shape more easily; so neither is the default.

    >>> GaussianProcess(kernel="matern52").kernel
    'matern52'
    """

    kernel: KernelName = "squared_exponential"
    outcome: Scaling = field(default_factory=Standardize, kw_only=True)
    fixed: Hyperparameters | None = field(default=None, kw_only=True)
    tasks: bool = field(default=False, kw_only=True)
    refit: float = field(default=REFIT, kw_only=True)
    parts: bool = field(default=False, kw_only=True)
    drift: HalfLife = field(default=None, kw_only=True)
    priors: PriorsName | None = field(default="dimension_scaled", kw_only=True)
    amplitude: AmplitudeName = field(default="one", kw_only=True)

    def __post_init__(self) -> None:
        arguments.choice("GaussianProcess", "kernel", self.kernel, KERNELS)
        arguments.flag("GaussianProcess", "tasks", self.tasks)
        arguments.number("GaussianProcess", "refit", self.refit, low=0.0)
        arguments.flag("GaussianProcess", "parts", self.parts)
        if isinstance(self.priors, str) and self.priors == "none":  # a TOML file has no null
            object.__setattr__(self, "priors", None)
        arguments.choice("GaussianProcess", "priors", self.priors, ("dimension_scaled", None))
        arguments.choice("GaussianProcess", "amplitude", self.amplitude, AMPLITUDES)
        drift = checked_span("GaussianProcess", "drift", self.drift, "trials", least=1.0)
        object.__setattr__(self, "drift", drift)
        if self.parts and self.kernel != "squared_exponential":
            raise ArgumentError(
                f'GaussianProcess(kernel="{self.kernel}", parts=True): a kernel has parts where it is a product over decisions '
                'and contexts; use kernel="squared_exponential".'
            )
        if isinstance(self.outcome, type) or not isinstance(self.outcome, Scaling):
            raise ArgumentError(
                f"GaussianProcess(outcome={shown(self.outcome)}): give Standardize(), SoftClip() or Unscaled()."
            )
        if self.fixed is not None:
            check_hyperparameters(self.fixed)
            if self.amplitude == "fitted":
                raise ArgumentError(
                    'GaussianProcess(fixed=..., amplitude="fitted"): fixed has an amplitude; leave out one of the two.'
                )
            if self.drift == "learnt":
                raise ArgumentError(
                    'GaussianProcess(fixed=..., drift="learnt"): a drift is learnt together with the other hyper-parameters; '
                    "give drift a number of trials, a time or None, or leave out fixed."
                )
            if self.fixed.shares and self.kernel != "squared_exponential":
                raise ArgumentError(
                    f"GaussianProcess(fixed=Hyperparameters(shares={shown(self.fixed.shares)})): a kernel has shares where it "
                    'is a product over decisions and contexts; use kernel="squared_exponential".'
                )

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the matrices of a fit, of its predictions and of its samples take; see `posterior_needs`."""
        return posterior_needs(self.kernel, sizes, parts=self.parts, drift=self.drift is not None)

    def fit(self, data: Dataset, start: Start = NO_START) -> GaussianPosterior:
        """Return the posterior at the most probable hyper-parameters, searched from the prior's mode and from `start`.

        Where `start` says so its hyper-parameters are taken as they are: see `grown`.
        """
        if not start.keep or start.hyperparameters is None:
            return self.at(data, self.fitted(data, start.hyperparameters))
        previous = start.previous if isinstance(start.previous, GaussianPosterior) else None
        if start.hyperparameters.drift is not None:  # every row grows older with each trial: no factor can grow
            return self.at(data, start.hyperparameters)
        return self.grown(data, start.hyperparameters, start.fitted, previous)

    def check(self, roles: Roles) -> None:
        """Refuse fixed length-scales that are too many for these columns: now, not rounds later."""
        none = torch.zeros(0, dtype=torch.float64)
        x, c = (torch.zeros(0, len(groups), dtype=torch.float64) for groups in (roles.x_groups, roles.c_groups))
        self.fit(Dataset(x, c, none, none, roles))

    def fitted(self, data: Dataset, start: Hyperparameters | None = None) -> Hyperparameters:
        """Return the hyper-parameters that `fit` would use."""
        if self.fixed is not None:
            return replace(self.fixed, drift=self._length) if self.drift is not None else self.fixed
        if start is not None:
            check_hyperparameters(start)
        if self.drift == "learnt":
            return self._learnt(data.learnable, start)
        return self._searched(data.learnable, self._length, start)

    @property
    def _length(self) -> float | None:
        """The length of the drift that was given, in trials or days."""
        return (
            self.drift.total_seconds() / 86400.0
            if isinstance(self.drift, timedelta)
            else cast(float | None, self.drift)
        )

    def _learnt(self, data: Dataset, start: Hyperparameters | None) -> Hyperparameters:
        """Return the hyper-parameters with the most probable length of the drift, "never" among them: see `drift.py`."""
        plain = self._searched(data, None, start if start is not None and start.drift is None else None)
        if len(data.y) < 2:
            return plain
        rows = data if len(data.y) <= WINDOW else data.at(newest(data, WINDOW))
        problem = self.likelihood(rows)
        found = [plain if rows is data else problem.search([plain])]
        densities = [problem.density(found[0])]
        for length in LENGTHS:  # each also begins where the one before ended: they are often near to each other
            problem = self.likelihood(rows, length)
            mode, *others = problem.layout.starts()
            starts = [found[-1], mode]
            if start is None or not problem.layout.fits(start):
                starts += others
            elif start.drift == length:
                starts.append(start)
            found.append(problem.search(starts))
            densities.append(problem.density(found[-1]))
        each = chances(densities)
        best = max(range(len(each)), key=lambda place: each[place])
        if best == 0:
            return replace(plain, still=each[0])
        length = LENGTHS[best - 1]
        whole = (
            found[best] if len(self._near(data, length).y) == len(rows.y) else self._searched(data, length, found[best])
        )
        return replace(whole, drift=length, still=each[0])

    def _near(self, data: Dataset, length: float | None) -> Dataset:
        """Return the rows that are near enough in time."""
        if length is None or len(data.y) == 0:
            return data
        kept = Fading.of(data.ages, length, self._unit).kept
        return data if len(kept) == len(data.y) else data.at(kept)

    @property
    def _unit(self) -> Unit:
        return "days" if isinstance(self.drift, timedelta) else "trials"

    def _searched(self, data: Dataset, length: float | None, start: Hyperparameters | None) -> Hyperparameters:
        """Return the most probable hyper-parameters of a function that changes with this length, or stands still."""
        found = self._climbed(self._near(data, length), length, start)
        return found if length is None else replace(found, drift=length)

    def _climbed(self, data: Dataset, length: float | None, start: Hyperparameters | None) -> Hyperparameters:
        problem = self.likelihood(data, length)
        mode, *others = problem.layout.starts()
        if len(data.y) < 2:
            return mode
        warm = start is not None and problem.layout.fits(start)
        # A first fit also looks from rougher and smoother functions; without priors every fit does.
        starts = [mode] if warm and self.priors is not None else [mode, *others]
        if len(data.y) > MANY:  # which hill, some rows tell; how high, only all
            starts = [problem.thinned(MANY).search(starts)]
        return problem.search([start, *starts] if warm and start is not None else starts)

    def due(self, data: Dataset, fitted: int) -> bool:
        """Whether hyper-parameters of a fit that knew the events up to `fitted` are to be searched again.

        Fixed ones are not searched, but the factor and the units of contexts are made anew as often.
        """
        known = len(data.y) if data.changed is None else sum(event <= fitted for event in data.changed)
        tell = known if self.drift is None else min(known, WINDOW)  # more rows say no more of now
        return len(data.y) - known > self.refit * tell

    def grown(
        self, data: Dataset, hyperparameters: Hyperparameters, fitted: int, previous: GaussianPosterior | None = None
    ) -> GaussianPosterior:
        """Return the posterior with these hyper-parameters: factorised at the rows of their fit, then row by row.

        That order makes it a function of the log: whoever reopens a study gets the same numbers, to the last bit. `previous`
        saves the rows it already holds. Where rows have no order, or a noise was given (in units of a scale that moves with
        every value), it is factorised whole.
        """
        check_hyperparameters(hyperparameters)
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
        data = self._near(data, hyperparameters.drift)
        problem = self.likelihood(data, hyperparameters.drift)
        inputs = problem.inputs(hyperparameters)
        zx, zc = inputs.x(data.x), inputs.c(data.c)
        sx, sc = squared_distances(zx, zx), squared_distances(zc, zc)
        noise = problem.noise(hyperparameters.noise)
        k = product_value(self.kernel, sx.fill_diagonal_(0.0), sc.fill_diagonal_(0.0), hyperparameters.shares)
        covariance = hyperparameters.amplitude * k
        if problem.fading is not None:
            covariance *= problem.fading.together
        covariance.diagonal().add_(noise)
        factor, failed = torch.linalg.cholesky_ex(covariance)
        if int(failed):
            raise SolverError(
                f"GaussianProcess: the covariance of {len(data.y)} observations is not positive definite with "
                f"noise variance {hyperparameters.noise:g}; use a larger noise."
            )
        eye = torch.eye(len(factor), dtype=factor.dtype, device=factor.device)
        inverse = torch.linalg.solve_triangular(factor, eye, upper=False)
        alpha = inverse.T @ (inverse @ (problem.y - hyperparameters.mean))
        posterior = GaussianPosterior(
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
            held=not problem.centred,
        )
        return posterior if problem.fading is None else of_now(posterior, problem.fading)

    def recent(self, data: Dataset, posterior: GaussianPosterior) -> Tensor:
        """Return the places of the rows that a posterior of these data holds: all but those that are too old."""
        if posterior.fading is None:
            return torch.arange(len(data.y))
        return Fading.of(data.ages, posterior.fading.length, posterior.fading.unit).kept.cpu()

    def nearby(
        self, data: Dataset, posterior: GaussianPosterior, count: int, generator: torch.Generator
    ) -> tuple[GaussianPosterior, ...]:
        """Return posteriors at `count` draws of the hyper-parameters, equally probable; fixed ones are certain: one.

        The mean and the amplitude are drawn with them (see `nearby.py`). With hundreds of observations there are fewer draws.
        """
        if self.fixed is not None:
            return (posterior,)
        length = posterior.hyperparameters.drift
        told = self._near(data.learnable, length)
        if not len(told.y):  # nothing was learnt from: there is nothing to choose by
            return (posterior,)
        problem = self.likelihood(self._near(data, length), length)
        learnt = problem if data.told is None else self.likelihood(told, length)
        return posteriors_at(problem, draws(learnt, posterior.hyperparameters, count, generator))

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

    def likelihood(self, data: Dataset, drift: float | None = None) -> Likelihood:
        """Return the marginal likelihood of these data as a function of the hyper-parameters, for a length of the drift."""
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
            self.parts and data.x.shape[1] > 0 and data.c.shape[1] > 0,
            None if drift is None or len(data.y) == 0 else Fading.of(data.ages, drift, self._unit),
            flat=self.priors is None,
            amplitude=self.amplitude == "fitted",
        )


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


def check_hyperparameters(fixed: Hyperparameters) -> None:
    """Raise `ArgumentError` unless these are hyper-parameters that a process can have."""
    if not isinstance(fixed, Hyperparameters):
        raise ArgumentError(f"GaussianProcess(fixed={shown(fixed)}): give Hyperparameters(...), or None to fit them.")
    call = "Hyperparameters"
    arguments.number(call, "mean", fixed.mean)
    if not isinstance(fixed.length_scales, tuple | list) or not fixed.length_scales:
        raise ArgumentError(
            f"{call}(length_scales={shown(fixed.length_scales)}): give a tuple, one length-scale for all or one per parameter."
        )
    for scale in fixed.length_scales:
        arguments.number(call, "length_scales", scale, low=0.0, open_low=True)
    arguments.number(call, "amplitude", fixed.amplitude, low=0.0, open_low=True)
    arguments.number(call, "noise", fixed.noise, low=0.0, open_low=True)
    if not isinstance(fixed.shares, tuple | list) or len(fixed.shares) not in (0, 2):
        raise ArgumentError(
            f"{call}(shares={shown(fixed.shares)}): give two numbers, for decisions and for contexts, or () for none."
        )
    if fixed.drift is not None:
        arguments.number(call, "drift", fixed.drift, low=0.0, open_low=True)
    if fixed.still is not None:
        arguments.number(call, "still", fixed.still, low=0.0, high=1.0)
    for share in fixed.shares:
        arguments.number(call, "shares", share, low=0.0, high=1.0)
