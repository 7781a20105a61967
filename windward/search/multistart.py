"""Maximizing an acquisition over the decisions: many starts at once, or every point of a grid.

A maximizer knows a function of decisions `"b d"` and a `Region`, nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from windward.basics import arguments
from windward.search.acquisition import Acquisition, Function, limited, value_and_gradient, values_of
from windward.search.bfgs import Array, minimize_rows
from windward.search.choice import _ranked, best, best_of
from windward.search.region import LEAST_DISTANCE, MOST_REJECTED, Region
from windward.space.polytope import Interior
from windward.space.space import Space

# Evaluations after which only the highest starts climb on, and how many those are.
LEADERS = (12, 4)
# Candidates that a draft ranks highest and the acquisition itself then decides between.
FINALISTS = 16
TOGETHER = 2  # of them, evaluated at once: most often the first settle it
SAME = 1e-4  # of the cube's side: starts that ended nearer to each other than that are on one top, of which one will do

# Up to this many decisions in all, a discrete space is simply enumerated.
ENUMERATE = 4096
# Alternations between moving discrete parameters one at a time and refining the continuous ones.
EXCHANGES = 10


@dataclass(frozen=True)
class MultiStart:
    """Find the best decision anywhere: look at many, climb from the best of them.

    Screen `screen` Sobol points and the region's hints, refine the best `starts` of them by batched bounded BFGS.

    Integers and categories move by exchange, one parameter at a time; small discrete spaces are enumerated. What has a step
    is climbed as though it had none, then the steps around each top are compared. Under linear
    constraints the refinement is sequential quadratic programming, start by start. A pending decision is kept at a
    distance of `apart` of the cube's diagonal wherever anything else is left; `apart=0` lets decisions repeat. Without
    `evaluations` a climb has 24, and eight for each column beyond three.
    """

    screen: int = 512
    starts: int = 8
    evaluations: int | None = None
    tolerance: float = 1e-6
    apart: float = LEAST_DISTANCE

    def __post_init__(self) -> None:
        arguments.whole("MultiStart", "screen", self.screen, low=1)
        arguments.whole("MultiStart", "starts", self.starts, low=1)
        if self.evaluations is not None:
            arguments.whole("MultiStart", "evaluations", self.evaluations, low=1)
        arguments.number("MultiStart", "tolerance", self.tolerance, low=0.0, open_low=True)
        arguments.number("MultiStart", "apart", self.apart, low=0.0, high=1.0)

    def most_decisions(self, space: Space) -> int:
        """Return how many decisions it holds at once at most: under constraints several are drawn for each that is kept."""
        return max(self.screen * (MOST_REJECTED if space.constraints else 1), 1)

    def lowered(self, space: Space, seen: int, most: int) -> str | None:
        """Return how to write it so that it holds at most `most` decisions."""
        screen = most // (MOST_REJECTED if space.constraints else 1)
        return f"lower screen to {screen:,}" if screen else None

    def __call__(self, acquisition: Acquisition, region: Region, generator: torch.Generator) -> Tensor:
        region, acquisition = replace(region, apart=self.apart), limited(acquisition)
        every = region.all_discrete(ENUMERATE)
        if every is not None:
            return best_of(acquisition, every, region)
        if acquisition.climb is not None:
            found = self._by_draft(acquisition, acquisition.climb, region, generator)
            if found is not None:
                return found
            acquisition = replace(acquisition, climb=None, rank=acquisition.ceiling)
        rank = acquisition.rank or acquisition.value
        return best(*self._climb(acquisition.value, rank, region, generator), region)

    def _by_draft(
        self, acquisition: Acquisition, climb: Function, region: Region, generator: torch.Generator
    ) -> Tensor | None:
        """Return the best by the acquisition of what the draft ranks highest; None where either is finite nowhere there."""
        candidates, scores = self._climb(climb, acquisition.rank or climb, region, generator)
        if not bool(torch.isfinite(scores).any()):
            return None
        candidates, drafted = _finalists(candidates, scores, region)
        scores = torch.empty(0, dtype=torch.float64)
        for some in torch.split(candidates, TOGETHER):
            scores = torch.cat([scores, values_of(acquisition.value, some)])
            errors = scores - drafted[: len(scores)]
            # Stop once even the next draft value, plus the largest error so far and once more their spread, is below the best.
            highest = drafted[len(scores) :].max() if len(scores) < len(drafted) else -torch.inf
            if bool(highest + 2.0 * errors.max() - errors.min() < scores.max()):
                break
        return best(candidates[: len(scores)], scores, region) if bool(torch.isfinite(scores).any()) else None

    def _climb(
        self, function: Function, rank: Function, region: Region, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return decisions `"n d"`, the tops of the function's hills among them, with their values `"n"`."""
        points, hints = region.points(self.screen, generator), region.hints
        first = len(points)
        if hints is not None and len(hints):
            hints = region.repaired(region.valid(hints))
            points = torch.cat([points, hints[region.feasible(hints)]])
        ranks = values_of(rank, points)
        if self.starts == 1:
            starts = points[spread_best(points, ranks, 1)]
        else:  # hints take at most half of the starts: all of them may stand on one hill
            best_hints = first + spread_best(points[first:], ranks[first:], (self.starts + 1) // 2)
            chosen = spread_best(points[:first], ranks[:first], self.starts - len(best_hints))
            starts = points[torch.cat([best_hints, chosen])]
        level = _level(ranks)
        refined, refined_values = self._refine(function, region, starts, level, region.climbed)
        if region.space.stepped:
            refined, refined_values = _on_steps(function, region, refined, starts)
        if region.discrete:
            refined, refined_values = self._exchange(function, region, refined, refined_values, level)
        values = ranks
        if rank is not function:
            values = _some_values(function, points, ranks, refined_values, region, 2 * self.starts)
        candidates, scores = torch.cat([refined, points]), torch.cat([refined_values, values])
        top = refined[refined_values.argmax()]
        if not bool(region.clear(top[None]).all()):
            beside = torch.cat([_beside(top, region, generator), region.neighbours(top)])
            candidates, scores = torch.cat([candidates, beside]), torch.cat([scores, values_of(function, beside)])
        return candidates, scores

    def _refine(
        self,
        function: Function,
        region: Region,
        starts: Tensor,
        level: tuple[float, float],
        moving: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Climb from every start over the columns `moving`, the continuous ones where not said, the others held.

        `level` is the top and the spread of the screen: in units of the spread, a tolerance means the same whatever the
        outcome's scale and offset.
        """
        top, spread = level
        moving = region.continuous if moving is None else moving
        # Smooth ones converge sooner; with up to ten columns 200 would bring kinked ones less than 1e-3 of the spread more.
        evaluations = max(24, 8 * starts.shape[1]) if self.evaluations is None else self.evaluations
        if not bool(moving.any()):
            return starts, values_of(function, starts)
        if region.polytope is not None:
            return _refine_constrained(function, region, starts, moving, level, evaluations, self.tolerance)
        held = ~moving.numpy()
        whole = starts.numpy().copy()
        low, high = np.zeros_like(whole), np.ones_like(whole)
        if region.bounds is not None:
            low[:], high[:] = (bound.numpy() for bound in region.bounds)
        low[:, held] = high[:, held] = whole[:, held]

        def negative(x: Array) -> tuple[Array, Array]:
            value, gradient = value_and_gradient(function, torch.from_numpy(x))
            return (top - value) / spread, -gradient / spread

        found, lowest = minimize_rows(
            negative, whole, low, high, evaluations=evaluations, tolerance=self.tolerance, finish=LEADERS, kinks=True
        )
        values = top - spread * torch.from_numpy(lowest)
        return torch.from_numpy(found), torch.where(torch.isfinite(values), values, -torch.inf)

    def _exchange(
        self,
        function: Function,
        region: Region,
        points: Tensor,
        values: Tensor,
        level: tuple[float, float],
    ) -> tuple[Tensor, Tensor]:
        """Improve the best points by single discrete moves, refining the continuous columns after each."""
        order = values.argsort(descending=True)[: max(1, self.starts // 2)]
        points, values = points[order].clone(), values[order].clone()
        for _ in range(EXCHANGES):
            moved = torch.zeros(len(points), dtype=torch.bool)
            for row in range(len(points)):
                near = region.neighbours(points[row])
                scores = values_of(function, near)
                top = int(scores.argmax())
                gain = float(scores[top] - values[row])  # NaN where neither is finite
                if gain > 1e-12 * (1.0 + abs(float(scores[top]))):
                    points[row], values[row], moved[row] = near[top], scores[top], True
            if not bool(moved.any()):
                break
            refined, scores = self._refine(function, region, points[moved], level)
            better = scores >= values[moved]
            rows = moved.nonzero()[:, 0][better]
            points[rows], values[rows] = refined[better], scores[better]
        return points, values


def _level(values: Tensor) -> tuple[float, float]:
    finite = values[torch.isfinite(values)]
    if len(finite) == 0:
        return 0.0, 1.0
    # The upper quarter alone: far below, an objective may have a cliff (a missed target) that says nothing of the top.
    top = float(finite.max())
    spreads = (top - float(finite.quantile(0.75)), top - float(finite.min()), 1.0)
    return top, next(spread for spread in spreads if spread > 0.0)


def _some_values(
    function: Function, points: Tensor, ranks: Tensor, found: Tensor, region: Region, count: int
) -> Tensor:
    """Return the function at the `count` best by rank that are clear of pending decisions, and at as many that lie apart.

    Elsewhere it is minus infinity; `"n"`. They are for when the tops found are too near to pending decisions, and none without
    such. Where nothing found is finite all are evaluated.
    """
    if not bool(torch.isfinite(found).any()):
        return values_of(function, points)
    values = torch.full_like(ranks, -torch.inf)
    if region.avoid is not None and len(region.avoid):
        clear = torch.where(region.clear(points), ranks, -torch.inf).argsort(descending=True)[:count]
        chosen = torch.tensor(sorted({*clear.tolist(), *spread_best(points, ranks, count).tolist()}))
        values[chosen] = values_of(function, points[chosen])
    return values


def _finalists(points: Tensor, values: Tensor, region: Region) -> tuple[Tensor, Tensor]:
    """Return the best points that `best` would choose from, best first and one of each place, with their values."""
    found: dict[tuple[float, ...], int] = {}
    for some in torch.split(_ranked(points, values, region), FINALISTS):
        for place, point in zip(some.tolist(), (points[some] / SAME).round().tolist(), strict=True):
            found.setdefault(tuple(point), place)
        if len(found) >= FINALISTS:
            break
    chosen = torch.tensor(list(found.values())[:FINALISTS])
    return points[chosen], values[chosen]


def spread_best(points: Tensor, values: Tensor, count: int) -> Tensor:
    """Return indices of the best points, each at least a little apart from those before it."""
    if len(points) == 0:
        return torch.zeros(0, dtype=torch.int64)
    ranked = torch.where(torch.isfinite(values), values, -torch.inf).argsort(descending=True)
    # Two starts nearer than this climb the same hill; it is a tenth of the cube's diagonal in the plane.
    apart = 0.1 * math.sqrt(points.shape[1])
    places = points[ranked].numpy()
    open_ranks = np.ones(len(ranked), dtype=bool)
    chosen: list[int] = []
    while len(chosen) < count and open_ranks.any():
        rank = int(open_ranks.argmax())
        chosen.append(rank)
        open_ranks &= np.square(places - places[rank]).sum(-1) >= apart**2
        open_ranks[rank] = False
    return ranked[torch.tensor(chosen, dtype=torch.int64)]


def _refine_constrained(
    function: Function,
    region: Region,
    starts: Tensor,
    moving: Tensor,
    level: tuple[float, float],
    evaluations: int,
    tolerance: float,
) -> tuple[Tensor, Tensor]:
    """Climb from each start by SLSQP along the constraints' affine hull; a result that leaves them is not used."""
    from scipy.optimize import LinearConstraint, minimize

    assert region.polytope is not None
    top, spread = level
    found = starts.clone()
    for row, start in enumerate(starts):
        inner = region.polytope.on(moving, start).interior
        if inner is None or inner.basis.shape[1] == 0:
            continue

        def negative(z: Array, start: Tensor = start, inner: Interior = inner) -> tuple[float, Array]:
            x = start.clone()
            x[moving] = torch.from_numpy(inner.at(z))
            value, gradient = value_and_gradient(function, x[None])
            return (top - float(value[0])) / spread, -gradient[0][moving.numpy()] @ inner.basis / spread

        answer = minimize(
            negative,
            (start[moving].numpy() - inner.start) @ inner.basis,
            jac=True,
            method="SLSQP",
            constraints=[LinearConstraint(inner.sides, -np.inf, inner.room)],
            options={"maxiter": evaluations, "ftol": 0.01 * tolerance},
        )
        refined = start.clone()
        refined[moving] = torch.from_numpy(inner.at(answer.x))
        if bool(torch.isfinite(refined).all()) and bool(region.feasible(refined)):
            found[row] = refined
    values = values_of(function, found)
    before = values_of(function, starts)
    better = values >= before
    return torch.where(better[:, None], found, starts), torch.where(better, values, before)


def _on_steps(function: Function, region: Region, tops: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best decision on the steps around each top of the hills, its start where none is valid, with its value."""
    found = []
    for top, start in zip(tops, starts, strict=True):
        points = region.roundings(top)
        found.append(points[values_of(function, points).argmax()] if len(points) else start)
    points = torch.stack(found)
    return points, values_of(function, points)


def _beside(top: Tensor, region: Region, generator: torch.Generator) -> Tensor:
    """Return points around `top` just outside the least distance from it, for when a pending decision sits there."""
    reach = 1.5 * region.apart * math.sqrt(len(top))
    directions = torch.randn(32, len(top), generator=generator, dtype=torch.float64)
    directions = torch.where(region.climbed, directions, 0.0)
    directions = directions / directions.norm(dim=-1, keepdim=True).clamp_min(1e-300)
    points = region.valid(torch.cat([top + reach * directions, top + 2.0 * reach * directions]))
    return points[region.feasible(points)]
