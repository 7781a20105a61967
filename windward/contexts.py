"""Weighted context points, and the models that make them from what has been seen.

A context model is called once per suggestion: `model(space, trials, given, generator) -> Contexts`, or None while
nothing is declared and nothing seen, so that there is nowhere to put a point. Every point agrees with what is `given`;
a context given whole is one point of weight one. With fewer than two distinct contexts seen, models that learn are
uniform over where contexts may be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from windward import check
from windward.errors import ArgumentError, IncompatibleError
from windward.parameters import Categorical, Integer
from windward.space import Given, Space
from windward.trials import Trials

# Beyond the seen range by this share of it on each side: where contexts without declared bounds may be.
MARGIN = 0.1


@dataclass(frozen=True, eq=False)
class Contexts:
    """Weighted points: `points` `"n k"` in own units, `weights` `"n"` that sum to one; a weight may be zero.

    >>> Contexts.uniform(torch.zeros(4, 1)).weights
    tensor([0.2500, 0.2500, 0.2500, 0.2500], dtype=torch.float64)
    """

    points: Tensor
    weights: Tensor

    def __post_init__(self) -> None:
        for name in ("points", "weights"):
            part = getattr(self, name)
            if not isinstance(part, Tensor) or part.is_complex():
                raise ArgumentError(f"Contexts({name}={part!r}): {name} must be a tensor of real numbers.")
        if self.points.ndim != 2 or self.weights.shape != self.points.shape[:1] or len(self.weights) == 0:
            raise ArgumentError(
                f"Contexts: points must be 'n k' and weights 'n' with n >= 1, got shapes {tuple(self.points.shape)} "
                f"and {tuple(self.weights.shape)}."
            )
        if not (torch.isfinite(self.points).all() and torch.isfinite(self.weights).all()):
            raise ArgumentError("Contexts: points and weights must be finite.")
        if bool((self.weights < 0).any()) or abs(float(self.weights.sum()) - 1.0) > 1e-9:
            raise ArgumentError(
                f"Contexts: weights must be >= 0 and sum to 1, got a sum of {float(self.weights.sum()):g} and a least "
                f"weight of {float(self.weights.min()):g}."
            )
        object.__setattr__(self, "points", self.points.to(torch.float64))
        object.__setattr__(self, "weights", self.weights.to(torch.float64))

    def __len__(self) -> int:
        return len(self.weights)

    @staticmethod
    def uniform(points: Tensor) -> Contexts:
        """Return equal weights on `points`."""
        count = len(points) if isinstance(points, Tensor) and points.ndim else 0  # none: `Contexts` says what is wrong
        return Contexts(points, torch.full((count,), 1.0 / max(count, 1), dtype=torch.float64))

    def draw(self, generator: torch.Generator) -> Tensor:
        """Return one point drawn by the weights; `"k"`."""
        return self.points[int(torch.multinomial(self.weights, 1, generator=generator))]


@runtime_checkable
class ContextModel(Protocol):
    """Make weighted context points from what has been seen."""

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None: ...


@dataclass(frozen=True)
class NoContext:
    """Ignore contexts altogether: the surrogate is a function of the decision alone."""

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        return Contexts.uniform(torch.zeros(1, space.context_width, dtype=torch.float64))


@dataclass(frozen=True)
class Empirical:
    """The contexts seen so far, equal ones merged, each seen one with the same weight.

    Given a part of the context, the seen ones are weighted by how near they are to it (see `conditional_weights`).
    """

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        seen = trials.seen_contexts
        if given.complete or _too_few(seen):
            return uniform_over_reach(space, seen, given, generator, 128)
        points = torch.where(given.known, given.values, seen)
        return merged(points, conditional_weights(space, seen, given))


@dataclass(frozen=True)
class KernelDensity:
    """A Gaussian kernel density estimate of the seen contexts (Huang2024, Eq. 2), as `count` even points.

    Bandwidths are Silverman's, h_i = (4 / (k + 2))^(1 / (k + 4)) std_i t^(-1 / (k + 4)). A single numeric context is
    represented by the estimate's own quantiles at (i + 1/2) / count; several by quasi-Monte Carlo, one Sobol coordinate
    picking the centre along a space-filling curve, the others the normal around it. 128 points then do the work of more
    than 1024 independent ones for one context, of about 1024 for two, of about 300 for four.
    Categories are resampled, never averaged. Draws are clipped to the declared bounds, widened to what was seen.
    """

    count: int = 128

    def __post_init__(self) -> None:
        check.whole("KernelDensity", "count", self.count, low=1)

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        seen = trials.seen_contexts
        if given.complete or _too_few(seen):
            return uniform_over_reach(space, seen, given, generator, self.count)
        weights, width, free = conditional_weights(space, seen, given), bandwidths(space, seen), ~given.known
        if int(free.sum()) == 1 and float(width[free]) > 0.0:
            quantiles = mixture_quantiles(seen[:, free][:, 0], weights, float(width[free]), self.count)
            drawn = torch.where(free, quantiles[:, None], given.values)
        else:
            u = sobol(1 + seen.shape[1], self.count, generator)
            # Neighbouring coordinates pick neighbouring centres: evenness in u is then evenness in the contexts.
            order = space_filling_order(seen)
            ladder = weights[order].cumsum(0)
            centres = order[torch.searchsorted(ladder / ladder[-1], u[:, 0].contiguous()).clamp_max(len(seen) - 1)]
            # 1e-9 from the ends: the normal quantile is infinite at 0 and 1.
            drawn = seen[centres] + torch.special.ndtri(u[:, 1:].clamp(1e-9, 1.0 - 1e-9)) * width
        low, high = space.context_bounds
        low, high = torch.minimum(low, seen.amin(0)), torch.maximum(high, seen.amax(0))
        points = whole_where_integer(space, drawn.clamp(low, high))
        return Contexts.uniform(torch.where(given.known, given.values, points))


@dataclass(frozen=True)
class Box:
    """Points spread evenly over mean +- `spread` standard deviations (n - 1) of the seen contexts, inside the bounds.

    The set C_t that StableOpt guards against; use it with `Minimum()`. Categories: every choice seen so far.
    """

    spread: float = 1.0
    count: int = 1024

    def __post_init__(self) -> None:
        check.number("Box", "spread", self.spread, low=0.0)
        check.whole("Box", "count", self.count, low=1)

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        seen = trials.seen_contexts
        if given.complete or _too_few(seen):
            return uniform_over_reach(space, seen, given, generator, self.count)
        mean, std = seen.mean(0), seen.std(0)
        declared_low, declared_high = space.context_bounds
        low = (mean - self.spread * std).clamp(declared_low, declared_high)
        high = (mean + self.spread * std).clamp(declared_low, declared_high)
        points = scatter(space, low, high, self.count, generator, allowed=seen)
        return Contexts.uniform(torch.where(given.known, given.values, points))


@dataclass(frozen=True)
class Grid:
    """A regular grid of ceil(count^(1/k)) points per numeric context over its bounds; each seen context weighs on the nearest.

    Needs declared bounds. With fewer than two distinct contexts seen all points weigh the same.
    """

    count: int = 100

    def __post_init__(self) -> None:
        check.whole("Grid", "count", self.count, low=1)

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        axes = []
        per_axis = max(2, math.ceil(round(self.count ** (1.0 / max(len(space.context), 1)), 9)))
        for name, parameter in space.context.items():
            if isinstance(parameter, Categorical):
                axes.append(torch.eye(parameter.width, dtype=torch.float64))
                continue
            low, high = parameter.own_bounds()[0]
            if not math.isfinite(high - low):
                raise IncompatibleError(f"Grid(): context {name!r} has no bounds; declare both or use KernelDensity().")
            axis = torch.linspace(low, high, per_axis, dtype=torch.float64)[:, None]
            axes.append(torch.unique(whole(parameter, axis), dim=0) if isinstance(parameter, Integer) else axis)
        points = product(axes)
        seen = trials.seen_contexts
        if given.complete:
            return uniform_over_reach(space, seen, given, generator, 1)
        points = torch.unique(torch.where(given.known, given.values, points), dim=0) if given.known.any() else points
        if _too_few(seen):
            return Contexts.uniform(points)
        unit = torch.tensor([scale or 1.0 for scale in space.roles.c_scales], dtype=torch.float64)
        nearest = torch.cdist(torch.where(given.known, given.values, seen) / unit, points / unit).argmin(1)
        weights = torch.zeros(len(points), dtype=torch.float64)
        weights.index_add_(0, nearest, conditional_weights(space, seen, given))
        return Contexts(points, weights / weights.sum())


# -- shared pieces -----------------------------------------------------------------------------------------------------


def sobol(width: int, count: int, generator: torch.Generator) -> Tensor:
    """Return `count` scrambled Sobol points `"count width"`, the scrambling drawn from the generator."""
    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    if width == 0:
        return torch.zeros(count, 0, dtype=torch.float64)
    engine = torch.quasirandom.SobolEngine(width, scramble=True, seed=seed)  # type: ignore[no-untyped-call]
    return engine.draw(count, dtype=torch.float64)


def product(axes: list[Tensor]) -> Tensor:
    """Return the product of several point sets `"n_i k_i"`; `"prod(n_i) sum(k_i)"`, one empty point for no axes."""
    points = torch.zeros(1, 0, dtype=torch.float64)
    for axis in axes:
        points = torch.cat([points.repeat_interleave(len(axis), 0), axis.repeat(len(points), 1)], dim=1)
    return points


def merged(points: Tensor, weights: Tensor) -> Contexts:
    """Return equal points merged into one, their weights added."""
    unique, place = torch.unique(points, dim=0, return_inverse=True)
    total = torch.zeros(len(unique), dtype=torch.float64).index_add_(0, place, weights)
    return Contexts(unique, total / total.sum())


def bandwidths(space: Space, seen: Tensor) -> Tensor:
    """Return Silverman's bandwidth for each column, zero for categories; `"k"`."""
    t, k = seen.shape
    spread: Tensor = seen.std(0, correction=0) * (4.0 / (k + 2)) ** (1.0 / (k + 4)) * t ** (-1.0 / (k + 4))
    for name, parameter in space.context.items():
        if isinstance(parameter, Categorical):
            spread[space.context_columns[name]] = 0.0
    return spread


def space_filling_order(points: Tensor) -> Tensor:
    """Return the order of points `"t k"` along a Morton curve through their ranks; `"t"`."""
    ranks = points.argsort(0).argsort(0)
    bits = max(1, min(16, 60 // max(points.shape[1], 1)))  # of an int64 code
    cells = ranks * 2**bits // len(points)
    code = torch.zeros(len(points), dtype=torch.int64)
    for bit in reversed(range(bits)):
        for column in range(min(points.shape[1], 60)):
            code = 2 * code + ((cells[:, column] >> bit) & 1)
    return code.argsort()


def mixture_quantiles(centres: Tensor, weights: Tensor, width: float, count: int) -> Tensor:
    """Return the quantiles at (i + 1/2) / count of a mixture of normals of one `width`; `"count"`.

    A table of its distribution function gives the start, Newton steps kept between the table's nodes the digits.
    """
    nodes = torch.linspace(
        float(centres.min()) - 6.0 * width, float(centres.max()) + 6.0 * width, 4 * count, dtype=torch.float64
    )

    def below(c: Tensor) -> Tensor:
        share: Tensor = torch.special.ndtr((c[:, None] - centres) / width)
        return share @ weights

    def density(c: Tensor) -> Tensor:
        return (
            torch.exp(-0.5 * ((c[:, None] - centres) / width).square()) @ weights / (width * math.sqrt(2.0 * math.pi))
        )

    targets = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    table = below(nodes)
    right = torch.searchsorted(table, targets).clamp(1, len(nodes) - 1)
    low, high = nodes[right - 1], nodes[right]
    rise = (table[right] - table[right - 1]).clamp_min(1e-300)
    c = low + (high - low) * ((targets - table[right - 1]) / rise).clamp(0.0, 1.0)
    for _ in range(2):  # from an interpolation good to 1e-3 widths, two Newton steps reach rounding
        c = torch.clamp(c - (below(c) - targets) / density(c).clamp_min(1e-300), low, high)
    return c


def conditional_weights(space: Space, seen: Tensor, given: Given, base: Tensor | None = None) -> Tensor:
    """Return the weights of the seen contexts given a part of the next one; `"t"`, summing to one.

    The conditional of the kernel density estimate: numeric parts weigh by the Gaussian kernel at Silverman's bandwidth,
    categories by equality. A given category never seen before tells nothing of the rest, so all weigh alike.
    """
    log_weights = torch.zeros(len(seen), dtype=torch.float64) if base is None else base.log()
    width = bandwidths(space, seen)
    for name, parameter in space.context.items():
        columns = space.context_columns[name]
        if not bool(given.known[columns].any()):
            continue
        gap = seen[:, columns] - given.values[columns]
        if isinstance(parameter, Categorical):
            same = (gap == 0).all(-1)
            if bool((same & torch.isfinite(log_weights)).any()):
                log_weights = log_weights.masked_fill(~same, -torch.inf)
        elif float(width[columns]) > 0.0:
            log_weights = log_weights - 0.5 * (gap[:, 0] / width[columns]).square()
    return torch.softmax(log_weights, dim=0)


def reach(space: Space, seen: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return where contexts may be: the declared bounds, else the seen range and a margin; None where neither exists."""
    low, high = space.context_bounds
    if bool(torch.isfinite(low).all() and torch.isfinite(high).all()):
        return low, high
    if len(seen) == 0:
        return None
    span = seen.amax(0) - seen.amin(0)
    low = torch.where(torch.isfinite(low), low, seen.amin(0) - MARGIN * span)
    high = torch.where(torch.isfinite(high), high, seen.amax(0) + MARGIN * span)
    return torch.minimum(low, high), torch.maximum(low, high)


def scatter(
    space: Space, low: Tensor, high: Tensor, count: int, generator: torch.Generator, *, allowed: Tensor | None = None
) -> Tensor:
    """Return `count` Sobol points between `low` and `high`; categories evenly over those `allowed` has, or all."""
    u = sobol(len(space.context), count, generator)
    blocks = []
    for index, (name, parameter) in enumerate(space.context.items()):
        columns = space.context_columns[name]
        if isinstance(parameter, Categorical):
            choices = torch.arange(parameter.width) if allowed is None else allowed[:, columns].sum(0).nonzero()[:, 0]
            place = choices[(u[:, index] * len(choices)).long().clamp_max(len(choices) - 1)]
            blocks.append(torch.nn.functional.one_hot(place, parameter.width).to(u))
        else:
            blocks.append(low[columns] + u[:, index : index + 1] * (high[columns] - low[columns]))
    return whole_where_integer(space, torch.cat(blocks, dim=1)) if blocks else u


def whole(parameter: Integer, column: Tensor) -> Tensor:
    """Return own units moved to the nearest whole number."""
    return column.exp().round().clamp_min(1.0).log() if parameter.log else column.round()


def whole_where_integer(space: Space, points: Tensor) -> Tensor:
    """Return context points with the columns of `Integer` parameters moved to whole numbers."""
    for name, parameter in space.context.items():
        if isinstance(parameter, Integer):
            columns = space.context_columns[name]
            points[:, columns] = whole(parameter, points[:, columns])
    return points


def uniform_over_reach(
    space: Space, seen: Tensor, given: Given, generator: torch.Generator, count: int
) -> Contexts | None:
    """Return even points over where contexts may be, agreeing with `given`; one point where all of it is given."""
    if given.complete:
        return Contexts.uniform(given.values[None, :])
    edges = reach(space, seen)
    if edges is None:
        return None
    points = scatter(space, *edges, count, generator)
    return merged(
        torch.where(given.known, given.values, points), torch.full((count,), 1.0 / count, dtype=torch.float64)
    )


def _too_few(seen: Tensor) -> bool:
    return len(seen) < 2 or bool((seen == seen[0]).all())
