"""Weighted context points, the protocol of the models that make them, and the pieces those models share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.basics import arguments, streams
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.contexts.circle import Arc, along, whole_on_circle
from windward.space.parameters import Parameter
from windward.space.space import Given, Space
from windward.trials.trials import Trials

# Drawn weights below this count as none.
LEAST_WEIGHT = 1e-12
# Beyond the seen range by this share of it on each side: where contexts without declared bounds may be.
MARGIN = 0.1


@dataclass(frozen=True, eq=False)
class Unknown:
    """What is unknown of a distribution of contexts: its weights are drawn from a Dirichlet distribution.

    `mass` `"m"` are its concentrations, `places` `"m"` say on which point each of them falls. The last `unseen` of them stand
    for what has not been seen.
    """

    mass: Tensor
    places: Tensor
    unseen: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("mass", "numbers"), ("places", "whole numbers")):
            part = getattr(self, name)
            whole = isinstance(part, Tensor) and not part.is_complex() and not part.is_floating_point()
            if not isinstance(part, Tensor) or part.is_complex() or (name == "places" and not whole) or part.ndim != 1:
                raise ArgumentError(
                    f"Unknown({name}={shown(part)}): {name} must be a tensor of {kind}, one for each point."
                )
        if self.mass.shape != self.places.shape or len(self.mass) == 0:
            raise ArgumentError(
                f"Unknown: mass and places must be of one length, at least 1; got {len(self.mass)} and {len(self.places)}."
            )
        if not (torch.isfinite(self.mass).all() and bool((self.mass > 0).all())):
            raise ArgumentError(f"Unknown(mass={shown(self.mass)}): every concentration must be finite and > 0.")
        arguments.whole("Unknown", "unseen", self.unseen, low=0, high=len(self.mass))
        object.__setattr__(self, "mass", self.mass.to(torch.float64))
        object.__setattr__(self, "places", self.places.to(torch.int64))

    def drawn(self, count: int, points: int, generator: torch.Generator) -> Tensor:
        """Return `count` draws of the weights of `points` points; `"count points"`. The generator is the processor's."""
        shape = self.mass.cpu().expand(count, -1).contiguous()
        # A mass far below one may draw a zero; all of them at once would leave nothing to divide by.
        gammas = torch._standard_gamma(shape, generator=generator).clamp_min_(1e-300)
        weights = torch.zeros(count, points, dtype=torch.float64).index_add_(1, self.places.cpu(), gammas)
        weights /= weights.sum(-1, keepdim=True)
        # Weights below that are nothing to an expectation, and too much for a worst case: a ball may still reach them.
        weights[weights < LEAST_WEIGHT] = 0.0
        return weights / weights.sum(-1, keepdim=True)

    def to(self, device: torch.device) -> Unknown:
        """Return the same on a device."""
        return Unknown(self.mass.to(device), self.places.to(device), self.unseen)


@dataclass(frozen=True, eq=False)
class Contexts:
    """Weighted points: `points` `"n k"` in own units, `weights` `"n"` that sum to one; a weight may be zero.

    `unknown` says what is not known of the weights; None where they are certain.

    >>> Contexts.uniform(torch.zeros(4, 1)).weights
    tensor([0.2500, 0.2500, 0.2500, 0.2500], dtype=torch.float64)
    """

    points: Tensor
    weights: Tensor
    unknown: Unknown | None = None

    def __post_init__(self) -> None:
        for name in ("points", "weights"):
            part = getattr(self, name)
            if not isinstance(part, Tensor) or part.is_complex():
                raise ArgumentError(f"Contexts({name}={shown(part)}): {name} must be a tensor of real numbers.")
        if self.points.ndim != 2 or self.weights.shape != self.points.shape[:1] or len(self.weights) == 0:
            raise ArgumentError(
                f"Contexts: points must be 'n k' and weights 'n' with n >= 1, got shapes {tuple(self.points.shape)} "
                f"and {tuple(self.weights.shape)}."
            )
        if not (torch.isfinite(self.points).all() and torch.isfinite(self.weights).all()):
            raise ArgumentError("Contexts: points and weights must be finite.")
        if bool((self.weights < 0).any()) or abs(float(self.weights.sum()) - 1.0) > 1e-6:
            raise ArgumentError(
                f"Contexts: weights must be >= 0 and sum to 1, got a sum of {float(self.weights.sum()):g} and a least "
                f"weight of {float(self.weights.min()):g}."
            )
        if self.unknown is not None:
            _check_unknown(self.unknown, len(self.weights))
        object.__setattr__(self, "points", self.points.to(torch.float64))
        weights = self.weights.to(torch.float64)
        total = float(weights.sum())
        # Weights from single precision are off by 1e-7; sums of doubles by rounding are left as they are.
        object.__setattr__(self, "weights", weights / total if abs(total - 1.0) > 1e-12 else weights)

    def __len__(self) -> int:
        return len(self.weights)

    @staticmethod
    def uniform(points: Tensor) -> Contexts:
        """Return equal weights on `points`."""
        count = len(points) if isinstance(points, Tensor) and points.ndim else 0  # none: `Contexts` says what is wrong
        return Contexts(points, torch.full((count,), 1.0 / max(count, 1), dtype=torch.float64))

    def to(self, device: torch.device) -> Contexts:
        """Return the same on a device."""
        if self.points.device == device:
            return self
        unknown = None if self.unknown is None else self.unknown.to(device)
        return Contexts(self.points.to(device), self.weights.to(device), unknown)

    def redrawn(self, count: int, generator: torch.Generator) -> Tensor:
        """Return `count` draws of what the weights may be, the weights themselves where they are certain; `"count n"`."""
        if self.unknown is None:
            return self.weights.expand(count, -1)
        return self.unknown.drawn(count, len(self), generator).to(self.weights)

    def fewer(self, most: int) -> Contexts:
        """Return at most so many contexts, evenly by their weights; the same where there are no more.

        >>> Contexts.uniform(torch.arange(9.0)[:, None]).fewer(3).points.flatten()
        tensor([1., 4., 7.], dtype=torch.float64)
        """
        if len(self) <= most:
            return self
        steps = (torch.arange(most, dtype=torch.float64, device=self.weights.device) + 0.5) / most
        place = torch.searchsorted(self.weights.cumsum(0), steps).clamp_max(len(self) - 1)
        return Contexts(self.points[place], torch.full_like(steps, 1.0 / most))

    def draw(self, generator: torch.Generator) -> Tensor:
        """Return one point drawn by the weights; `"k"`. The generator is the processor's."""
        return self.points[int(torch.multinomial(self.weights.cpu(), 1, generator=generator))]


def _check_unknown(unknown: object, count: int) -> None:
    if not isinstance(unknown, Unknown):
        raise ArgumentError(
            f"Contexts(unknown={shown(unknown)}): give Unknown(mass, places), or None for certain weights."
        )
    places = unknown.places
    if int(places.min()) < 0 or int(places.max()) >= count:
        raise ArgumentError(
            f"Contexts(unknown={shown(unknown)}): its places must be those of {count} points, from 0 on."
        )


@runtime_checkable
class ContextModel(Protocol):
    """Make the contexts of one suggestion; None while there is nowhere to put a point.

    `blind` where contexts are ignored altogether: trials are then seen without theirs. `most_points` says how many contexts
    it makes at most: the memory of a suggestion is counted by it.
    """

    @property
    def blind(self) -> bool: ...

    def most_points(self, space: Space, seen: int) -> int: ...

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None: ...


@runtime_checkable
class Judging(Protocol):
    """A context model that knows how sure it is: decisions are judged on the contexts that `judged` returns.

    Their `unknown` says what is not known of the distribution. Other context models are judged on what they make for a
    suggestion, which then counts as certain.
    """

    def judged(self, space: Space, trials: Trials, given: Given) -> Contexts | None: ...


@runtime_checkable
class Foreseeing(Protocol):
    """A context model whose advice is judged on contexts farther out than those that a guard looks at."""

    def foreseen(self, space: Space, trials: Trials, given: Given) -> Contexts | None: ...


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
    space: Space,
    low: Tensor,
    high: Tensor,
    count: int,
    generator: torch.Generator,
    *,
    allowed: Tensor | None = None,
    within: Mapping[str, Arc] | None = None,
) -> Tensor:
    """Return `count` Sobol points between `low` and `high`; categories evenly over those `allowed` has, or all.

    What comes round is all around its circle, or on its arc in `within`.
    """
    u = sobol(len(space.context), count, generator)
    blocks = []
    for index, (name, parameter) in enumerate(space.context.items()):
        columns = space.context_columns[name]
        if parameter.choices:
            choices = torch.arange(parameter.width) if allowed is None else allowed[:, columns].sum(0).nonzero()[:, 0]
            place = choices[(u[:, index] * len(choices)).long().clamp_max(len(choices) - 1)]
            blocks.append(torch.nn.functional.one_hot(place, parameter.width).to(u))
        elif name in space.circles:
            blocks.append(along(name, space.circles[name], u[:, index], within or {}))
        else:
            blocks.append(low[columns] + u[:, index : index + 1] * (high[columns] - low[columns]))
    return whole_where_integer(space, torch.cat(blocks, dim=1)) if blocks else u


def whole(parameter: Parameter, column: Tensor) -> Tensor:
    """Return own units moved to the nearest whole number."""
    return column.exp().round().clamp_min(1.0).log() if parameter.log else column.round()


def whole_where_integer(space: Space, points: Tensor) -> Tensor:
    """Return context points with the columns of whole numbers moved to them."""
    for name, parameter in space.context.items():
        if parameter.step is not None:
            columns = space.context_columns[name]
            if name in space.circles:
                points[:, columns] = whole_on_circle(space.circles[name], points[:, columns])
            else:
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


def with_elsewhere(contexts: Contexts, space: Space, seen: Tensor, given: Given, count: int) -> Contexts:
    """Return the contexts and `count` even points of weight zero over where contexts may be, the same on every call."""
    edges = reach(space, seen)
    if count == 0 or edges is None:
        return contexts
    points = scatter(space, *edges, count, streams.fixed())
    points = torch.where(given.known, given.values, points)
    return Contexts(
        torch.cat([contexts.points, points]),
        torch.cat([contexts.weights, torch.zeros(count, dtype=torch.float64)]),
    )
