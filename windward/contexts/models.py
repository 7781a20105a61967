"""The context models that learn from what has been seen, and the one that ignores it.

A context model is called once per suggestion: `model(space, trials, given, generator) -> Contexts`, or None while
nothing is declared and nothing seen, so that there is nowhere to put a point. Every point agrees with what is `given`;
a context given whole is one point of weight one. With fewer than two distinct contexts seen, models that learn are
uniform over where contexts may be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.budget import BLOCK, Need, Sizes
from windward.basics.errors import IncompatibleError
from windward.basics.speech import shown
from windward.contexts.circle import arcs, lone_circle, moved, on_circle, phases_of, regular
from windward.contexts.density import conditional_weights, mixture_quantiles, space_filling_order
from windward.contexts.judged import UNSEEN_MASS, masses, seen_and_unseen, with_unknown
from windward.contexts.memory import LEARNT, HalfLife, Recall, checked_half_life, recall
from windward.contexts.weighted import (
    Contexts,
    merged,
    product,
    scatter,
    sobol,
    uniform_over_reach,
    whole,
    whole_where_integer,
    with_elsewhere,
)
from windward.space.space import Given, Space
from windward.trials.trials import Trials

# Even points while too little has been seen to learn from: enough for a smooth expectation in a few dimensions.
UNSEEN = 128


@dataclass(frozen=True)
class NoContext:
    """Ignore contexts altogether: the surrogate is a function of the decision alone."""

    blind: ClassVar[bool] = True

    def most_points(self, space: Space, seen: int) -> int:
        """Return how many contexts it makes: one."""
        return 1

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        return Contexts.uniform(torch.zeros(1, space.context_width, dtype=torch.float64))


@dataclass(frozen=True)
class Empirical:
    """The contexts seen so far, equal ones merged, each seen one with the same weight.

    Before the first, evenly over where contexts may be. Given a part of the context, the seen ones are weighted by how near
    they are to it (see `conditional_weights`); those that cannot happen any more are left out. `elsewhere` points of weight
    zero, the same in every round, say where else an adversary may put mass: evenly over where contexts may be.

    With a `half_life` older contexts count less, and the oldest not at all: after that many further contexts, or that much
    time (a timedelta, or a text such as `"30 days"`), a context counts half. `"learnt"` chooses by how well each half-life,
    or none, would have predicted the contexts so far (`contexts/memory.py`).
    """

    elsewhere: int = 0
    half_life: HalfLife = None
    blind: ClassVar[bool] = False

    def __post_init__(self) -> None:
        arguments.whole("Empirical", "elsewhere", self.elsewhere, low=0)
        object.__setattr__(self, "half_life", checked_half_life("Empirical", self.half_life))

    def most_points(self, space: Space, seen: int) -> int:
        """Return how many contexts it makes at most: one for each seen, and those elsewhere."""
        return (seen or UNSEEN) + self.elsewhere

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that it makes at most `most` contexts; None where the seen ones alone are more."""
        left = most - (seen or UNSEEN)
        return f"lower elsewhere to {left:,}" if left >= 0 else None

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        seen = trials.seen_contexts
        if given.complete or len(seen) == 0:
            return uniform_over_reach(space, seen, given, generator, UNSEEN)
        weights = recall(space, trials, seen, given, self.half_life).mixed
        possible = weights > 0
        contexts = merged(torch.where(given.known, given.values, seen)[possible], weights[possible])
        return with_elsewhere(contexts, space, seen, given, self.elsewhere)

    def judged(self, space: Space, trials: Trials, given: Given) -> Contexts | None:
        """Return the contexts seen and where others may come, with what is unknown of their weights."""
        return self._judged(space, trials, given, far=False)

    def foreseen(self, space: Space, trials: Trials, given: Given) -> Contexts | None:
        """Return the same, with others as far out as the tails of those seen suggest."""
        return self._judged(space, trials, given, far=True)

    def _judged(self, space: Space, trials: Trials, given: Given, *, far: bool) -> Contexts | None:
        seen = trials.seen_contexts
        weights = recall(space, trials, seen, given, self.half_life).mixed
        return seen_and_unseen(space, seen, given, weights, elsewhere=self.elsewhere, far=far)


@dataclass(frozen=True)
class KernelDensity:
    """A Gaussian kernel density estimate of the seen contexts (Huang2024, Eq. 2), as `count` even points.

    Bandwidths are Silverman's, h_i = (4 / (k + 2))^(1 / (k + 4)) std_i t^(-1 / (k + 4)). A single numeric context is
    represented by the estimate's own quantiles at (i + 1/2) / count; several by quasi-Monte Carlo, one Sobol coordinate
    picking the centre along a space-filling curve, the others the normal around it. 128 points then do the work of more
    than 1024 independent ones for one context, of about 1024 for two, of about 300 for four.
    Categories are resampled, never averaged. Where bounds are declared, centres and draws are clipped to them.
    Before the second context, evenly over where contexts may be; a context that never varies is a single point. What comes
    round (`Cyclic`) has the estimate wrapped around its circle. `elsewhere` points of weight zero, the same in every round, say
    where else an adversary may put mass.

    With a `half_life` older contexts count less: after that many further contexts, or that much time (a timedelta, or a
    text such as `"30 days"`), a context counts half. `"learnt"` chooses by how well each half-life, or none, would have
    predicted the contexts so far (`contexts/memory.py`); little is lost with it where nothing moves.
    """

    count: int = 128
    elsewhere: int = 0
    half_life: HalfLife = None
    blind: ClassVar[bool] = False

    def __post_init__(self) -> None:
        arguments.whole("KernelDensity", "count", self.count, low=1)
        arguments.whole("KernelDensity", "elsewhere", self.elsewhere, low=0)
        object.__setattr__(self, "half_life", checked_half_life("KernelDensity", self.half_life))

    def most_points(self, space: Space, seen: int) -> int:
        """Return how many contexts it makes at most."""
        return self.count + self.elsewhere

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that it makes at most `most` contexts."""
        return None if most <= self.elsewhere else f"lower count to {most - self.elsewhere:,}"

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the table of points by seen contexts takes, made in parts; it has four nodes for each point."""
        believed = len(LEARNT) if self.half_life == "learnt" else 1
        return [Need("the density of the seen contexts", 3 * min(4 * sizes.points * believed * sizes.seen, BLOCK))]

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        low, high = space.context_bounds
        # Clipped before the bandwidth is taken: one context far outside its bounds would smear all others.
        seen = trials.seen_contexts.clamp(low, high)
        if given.complete or len(seen) < 2:
            return uniform_over_reach(space, seen, given, generator, self.count)
        known, free = recall(space, trials, seen, given, self.half_life), ~given.known
        if int(free.sum()) == 1 and bool((known.widths[:, free] > 0.0).all()):
            quantiles = self._quantiles(seen[:, free][:, 0], known, known.widths[:, free])
            drawn = torch.where(free, quantiles[:, None], given.values)
        elif (lone := lone_circle(space, free)) is not None and bool((known.widths[:, free] > 0.0).all()):
            period, columns = space.circles[lone], space.context_columns[lone]
            # Quantiles on the line, then wrapped: even there, they stand for the wrapped density just as well.
            line = self._quantiles(phases_of(period, seen[:, columns]), known, known.widths[:, columns][:, :1])
            drawn = given.values.repeat(self.count, 1)
            drawn[:, columns] = on_circle(period, line)
        else:
            drawn = self._drawn(space, seen, known, generator)
        points = whole_where_integer(space, drawn.clamp(low, high))
        contexts = Contexts.uniform(torch.where(given.known, given.values, points))
        return with_elsewhere(contexts, space, seen, given, self.elsewhere)

    def _quantiles(self, seen: Tensor, known: Recall, widths: Tensor) -> Tensor:
        """Return even points of one column `"t"`, by its widths `"h 1"`; `"count"`."""
        if len(widths) == 1:
            return mixture_quantiles(seen, known.weights[0], float(widths), self.count)
        counts = known.weights > 0  # much of a short memory is nothing
        centres = seen.expand(len(widths), -1)[counts]
        return mixture_quantiles(centres, known.weights[counts], widths.expand_as(counts)[counts], self.count)

    def _drawn(self, space: Space, seen: Tensor, known: Recall, generator: torch.Generator) -> Tensor:
        """Return points around the contexts seen `"t k"`, spread evenly; `"count k"`."""
        u = sobol(1 + seen.shape[1], self.count, generator)
        # Neighbouring coordinates pick neighbouring centres: evenness in u is then evenness in the contexts.
        order = space_filling_order(seen)
        ladder = known.weights[:, order].mT.flatten().cumsum(0)  # each centre with all of its half-lives
        place = torch.searchsorted(ladder / ladder[-1], u[:, 0].contiguous()).clamp_max(len(ladder) - 1)
        centres, width = order[place // len(known.widths)], known.widths[place % len(known.widths)]
        # 1e-9 from the ends: the normal quantile is infinite at 0 and 1.
        return moved(space, seen[centres], torch.special.ndtri(u[:, 1:].clamp(1e-9, 1.0 - 1e-9)) * width)

    def judged(self, space: Space, trials: Trials, given: Given) -> Contexts | None:
        """Return the contexts seen, unsmoothed, and where others may come, with what is unknown of their weights."""
        return self._judged(space, trials, given, far=False)

    def foreseen(self, space: Space, trials: Trials, given: Given) -> Contexts | None:
        """Return the same, with others as far out as the tails of those seen suggest."""
        return self._judged(space, trials, given, far=True)

    def _judged(self, space: Space, trials: Trials, given: Given, *, far: bool) -> Contexts | None:
        seen = trials.seen_contexts.clamp(*space.context_bounds)
        weights = recall(space, trials, seen, given, self.half_life).mixed
        return seen_and_unseen(space, seen, given, weights, elsewhere=self.elsewhere, far=far)


@dataclass(frozen=True)
class Box:
    """Points spread evenly over mean +- `spread` standard deviations (n - 1) of the seen contexts, inside the bounds.

    The set C_t that StableOpt guards against; use it with `Minimum()`. Categories: every choice seen so far. Given a
    part of the context, mean and deviation are those of the rest given that part. Of what comes round, the arc to both sides
    of the mean direction.
    """

    spread: float = 1.0
    count: int = 1024
    blind: ClassVar[bool] = False

    def __post_init__(self) -> None:
        arguments.number("Box", "spread", self.spread, low=0.0)
        arguments.whole("Box", "count", self.count, low=1)

    def most_points(self, space: Space, seen: int) -> int:
        """Return how many contexts it makes at most."""
        return self.count

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that it makes at most `most` contexts."""
        return f"lower count to {most:,}"

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        seen = trials.seen_contexts
        if given.complete or len(seen) < 2:
            return uniform_over_reach(space, seen, given, generator, self.count)
        weights = conditional_weights(space, seen, given)
        mean = weights @ seen
        # The weighted form of dividing by n - 1; equal weights give exactly that.
        std = ((weights @ (seen - mean).square()) / (1.0 - weights.square().sum()).clamp_min(1e-12)).sqrt()
        declared_low, declared_high = space.context_bounds
        low = (mean - self.spread * std).clamp(declared_low, declared_high)
        high = (mean + self.spread * std).clamp(declared_low, declared_high)
        possible, within = seen[weights > 0], arcs(space, seen, weights, self.spread)
        points = scatter(space, low, high, self.count, generator, allowed=possible, within=within)
        return Contexts.uniform(torch.where(given.known, given.values, points))


@dataclass(frozen=True)
class Grid:
    """A regular grid over the bounds, ceil(count^(1/k)) points per context; each seen context weighs on the nearest.

    Needs declared bounds. With fewer than two contexts seen all points weigh the same.
    """

    count: int = 100
    blind: ClassVar[bool] = False

    def __post_init__(self) -> None:
        arguments.whole("Grid", "count", self.count, low=1)

    def _per_axis(self, space: Space) -> int:
        per_axis: float = self.count ** (1.0 / max(len(space.context), 1))
        return max(2, math.ceil(round(per_axis, 9)))

    def most_points(self, space: Space, seen: int) -> int:
        """Return how many points the grid has, counted without making it; whole numbers may have fewer."""
        per_axis = self._per_axis(space)
        return math.prod(len(p.choices) or per_axis for p in space.context.values())

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that it has at most `most` points; it has two along each context at least."""
        axes = [len(p.choices) for p in space.context.values() if p.choices]
        numeric = len(space.context) - len(axes)
        per_axis = int((most / math.prod(axes)) ** (1.0 / numeric) + 1e-9) if numeric else 0
        if per_axis < 2:
            return "use KernelDensity(), which makes as many contexts as its count says"
        return f"lower count to {per_axis ** len(space.context):,}"

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the distances from the seen contexts to the grid take, made in parts."""
        return [Need("the distances to the grid", 2 * min(sizes.points * sizes.seen, max(sizes.points, BLOCK)))]

    def points(self, space: Space) -> Tensor:
        """Return the grid; `"n k"`."""
        axes = []
        per_axis = self._per_axis(space)
        for name, parameter in space.context.items():
            if parameter.choices:
                axes.append(torch.eye(parameter.width, dtype=torch.float64))
                continue
            if name in space.circles:
                axes.append(regular(parameter, space.circles[name], per_axis))
                continue
            low, high = parameter.own_bounds()[0]
            if not math.isfinite(high - low):
                raise IncompatibleError(
                    f"Grid(): context {shown(name)} has no bounds; declare both or use KernelDensity()."
                )
            axis = torch.linspace(low, high, per_axis, dtype=torch.float64)[:, None]
            axes.append(axis if parameter.step is None else torch.unique(whole(parameter, axis), dim=0))
        return product(axes)

    def __call__(self, space: Space, trials: Trials, given: Given, generator: torch.Generator) -> Contexts | None:
        return self._weighted(space, trials.seen_contexts, given)

    def judged(self, space: Space, trials: Trials, given: Given) -> Contexts | None:
        """Return the grid, with what is unknown of its weights."""
        seen = trials.seen_contexts
        contexts = self._weighted(space, seen, given)
        if given.complete:
            return contexts
        others = torch.full((len(contexts),), UNSEEN_MASS / len(contexts), dtype=torch.float64)
        if len(seen) == 0:
            return with_unknown(contexts.points, others, len(others))
        places = self._places(space, contexts.points, torch.where(given.known, given.values, seen))
        mass = masses(conditional_weights(space, seen, given))
        return with_unknown(
            torch.cat([contexts.points[places], contexts.points]), torch.cat([mass, others]), len(others)
        )

    def _weighted(self, space: Space, seen: Tensor, given: Given) -> Contexts:
        points = self.points(space)
        if given.complete:
            return Contexts.uniform(given.values[None, :])
        if bool(given.known.any()):
            points = torch.unique(torch.where(given.known, given.values, points), dim=0)
        if len(seen) < 2:
            return Contexts.uniform(points)
        places = self._places(space, points, torch.where(given.known, given.values, seen))
        weights = torch.zeros(len(points), dtype=torch.float64)
        weights.index_add_(0, places, conditional_weights(space, seen, given))
        return Contexts(points, weights / weights.sum())

    def _places(self, space: Space, points: Tensor, wanted: Tensor) -> Tensor:
        """Return the nearest point of the grid to each context; `"t"`."""
        unit = torch.tensor([scale or 1.0 for scale in space.roles.c_scales], dtype=torch.float64)
        # Differences, not products of coordinates: a year and its seconds would cancel away.
        return torch.cat(
            [
                torch.cdist(some / unit, points / unit, compute_mode="donot_use_mm_for_euclid_dist").argmin(1)
                for some in torch.split(wanted, max(1, BLOCK // len(points)))
            ]
        )
