"""Where the next decision may be: the unit cube with its discrete columns and constraints, less what is fixed or pending."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from windward.basics.budget import BLOCK
from windward.basics.errors import SpaceError
from windward.basics.speech import shown
from windward.contexts import product, sobol
from windward.search.limits import ROUNDING, tightened
from windward.space.parameters import Value
from windward.space.polytope import SECONDS, Polytope
from windward.space.space import Space
from windward.space.values import few

# A suggestion keeps this share of the cube's diagonal from every pending decision: far enough to tell their values
# apart, and not so far as to leave a peak.
LEAST_DISTANCE = 0.0125
# Up to this many Sobol points are drawn for each that is wanted under constraints; the walk fills up what is missing.
MOST_REJECTED = 16
# Alternating projections that move a decision onto the constraints; each halves the miss or better in practice.
REPAIRS = 50
# Decisions looked for one by one where whole numbers are so few that rounding finds none.
CORNERS = 8
# With up to this many decisions on steps all combinations of the steps on both sides are looked at: 2^6.
MOST_ROUNDED = 6


@dataclass(frozen=True)
class Region:
    """The decisions a maximizer may choose; `avoid`: pending and lost ones `"m d"`, `hints`: places worth a look `"h d"`.

    `apart`: which share of the cube's diagonal to keep from those to avoid. `low` and `high` `"d"` narrow the cube, where a
    guard does. `tried`: decisions that have come back `"t d"`, the best of them where there are many; `results`: how many have
    come back in all.
    """

    space: Space
    fixed: dict[str, Value] = field(default_factory=dict)
    avoid: Tensor | None = None
    hints: Tensor | None = None
    apart: float = LEAST_DISTANCE
    low: Tensor | None = None
    high: Tensor | None = None
    results: int = 0
    tried: Tensor | None = None

    @cached_property
    def bounds(self) -> tuple[Tensor, Tensor] | None:
        """What `low` and `high` leave of valid decisions, `"d"` each; None for the whole cube."""
        if self.low is None or self.high is None:
            return None
        return tightened(self.space, self.low, self.high)

    @cached_property
    def held(self) -> tuple[Tensor, Tensor]:
        """Which columns are fixed, and at what; `"d"` each."""
        mask = torch.zeros(self.space.decision_width, dtype=torch.bool)
        values = torch.zeros(self.space.decision_width, dtype=torch.float64)
        for name, value in self.fixed.items():
            columns = self.space.decision_columns[name]
            mask[columns] = True
            values[columns] = torch.from_numpy(self.space.decision[name].to_unit([value])[0])
        return mask, values

    @cached_property
    def continuous(self) -> Tensor:
        """Which columns move continuously and are not fixed; `"d"` booleans."""
        mask = torch.zeros(self.space.decision_width, dtype=torch.bool)
        for name, parameter in self.space.decision.items():
            if name not in self.fixed and parameter.continuous:
                mask[self.space.decision_columns[name]] = True
        return mask

    @cached_property
    def climbed(self) -> Tensor:
        """Which columns a climb moves: the continuous ones, and those with steps, as though they had none; `"d"` booleans."""
        mask = self.continuous.clone()
        for name in self.space.stepped:
            if name not in self.fixed:
                mask[self.space.decision_columns[name]] = True
        return mask

    @cached_property
    def discrete(self) -> list[str]:
        """The parameters that do not move continuously and are not fixed."""
        return [
            name
            for name, parameter in self.space.decision.items()
            if name not in self.fixed and not parameter.continuous
        ]

    @cached_property
    def polytope(self) -> Polytope | None:
        """The linear constraints over all columns, or None."""
        if not self.space.constraints:
            return None
        rows, lower, upper = self.space.constraint_rows()
        if self.bounds is None:
            return Polytope(rows, lower, upper)
        # A narrower cube is so many constraints more; what is fixed is fixed.
        low, high = self.bounds
        narrowed = ((low > 0.0) | (high < 1.0)) & ~self.held[0]
        eye = torch.eye(len(low), dtype=torch.float64)[narrowed]
        return Polytope(torch.cat([rows, eye]), torch.cat([lower, low[narrowed]]), torch.cat([upper, high[narrowed]]))

    def feasible(self, x: Tensor) -> Tensor:
        """Return which points `"*b d"` satisfy the constraints, inside the narrowed cube."""
        inside = torch.ones(x.shape[:-1], dtype=torch.bool) if self.polytope is None else self.polytope.contains(x)
        if self.bounds is None:
            return inside
        low, high = self.bounds
        return inside & ((x >= low - ROUNDING) & (x <= high + ROUNDING)).all(-1)

    def clear(self, x: Tensor) -> Tensor:
        """Return which points `"b d"` keep their distance from every pending decision."""
        if self.avoid is None or len(self.avoid) == 0 or self.apart == 0.0:
            return torch.ones(len(x), dtype=torch.bool)
        least = self.apart * math.sqrt(self.space.decision_width)
        parts = torch.split(x, max(1, BLOCK // len(self.avoid)))
        return torch.cat([torch.cdist(some, self.avoid).amin(1) for some in parts]) >= least

    def valid(self, x: Tensor) -> Tensor:
        """Return `x` `"b d"` with fixed columns set and discrete ones snapped; the constraints are not looked at."""
        mask, values = self.held
        if self.bounds is None:
            return torch.where(mask, values, self.space.snap(x))
        low, high = self.bounds
        # A choice that is not allowed must not be the largest of its columns.
        snapped = self.space.snap(torch.where(high > 0.0, x, -1.0) if self.discrete else x)
        return torch.where(mask, values, torch.minimum(torch.maximum(snapped, low), high))

    def _spread(self, count: int, generator: torch.Generator) -> Tensor:
        """Return `count` Sobol points of the cube, or of what is left of it."""
        drawn = sobol(self.space.decision_width, count, generator)
        if self.bounds is not None:
            low, high = self.bounds
            drawn = torch.where(self.numbers, low + drawn * (high - low), drawn)
        return self.valid(drawn)

    @cached_property
    def numbers(self) -> Tensor:
        """Which columns are numbers; `"d"` booleans."""
        mask = torch.ones(self.space.decision_width, dtype=torch.bool)
        for name, parameter in self.space.decision.items():
            mask[self.space.decision_columns[name]] = not parameter.choices
        return mask

    def points(self, count: int, generator: torch.Generator) -> Tensor:
        """Return `count` spread, valid and feasible points; fewer only where there are no more. Never empty.

        The first points do not depend on `count` as long as Sobol's sequence alone gives enough that are feasible.
        """
        if self.polytope is None:
            return self._spread(count, generator)
        drawn = self._spread(MOST_REJECTED * count, generator)
        inside = drawn[self.feasible(drawn)][:count]
        if len(inside) < count:
            inside = torch.cat([inside, self._walked(count - len(inside), generator)])
        if len(inside) == 0:
            raise self._nowhere()
        return inside

    def all_discrete(self, limit: int) -> Tensor | None:
        """Return every valid decision where there is nothing continuous and no more than `limit` of them."""
        if bool(self.continuous.any()):
            return None
        every = [self.space.decision[name].options(limit + 1) for name in self.discrete]
        if any(len(options) > limit for options in every):  # some of many: what the limits leave of those is not all
            return None
        sizes = [self._options(name, limit + 1) for name in self.discrete]
        if math.prod(len(option) for option in sizes) > limit:
            return None
        points = self.assemble(dict(zip(self.discrete, sizes, strict=True)))
        inside = points[self.feasible(points)]
        if len(inside) == 0:
            raise self._nowhere()
        return inside

    def assemble(self, options: dict[str, Tensor]) -> Tensor:
        """Return the product of options per parameter with the fixed ones; `"n d"`."""
        values = self.held[1]
        axes = [
            values[None, self.space.decision_columns[name]] if name in self.fixed else options[name]
            for name in self.space.decision
        ]
        return product(axes)

    def neighbours(self, x: Tensor) -> Tensor:
        """Return decisions beside `x` `"d"` in its discrete parameters: every choice of one, steps of one or of a pair."""
        moves = [x[None, :]]
        for name in self.discrete:
            options = self._options(name, 64)
            block = x.repeat(len(options), 1)
            block[:, self.space.decision_columns[name]] = options
            moves += [block, *(self._stepped(x, {name: step}) for step in (-2, -1, 1, 2))]
        if self.polytope is not None:  # a constraint may let two whole numbers move only together
            whole = [name for name in self.discrete if self.space.decision[name].step is not None]
            moves += [
                self._stepped(x, {one: step, other: back})
                for one, other in itertools.permutations(whole, 2)
                for step, back in ((1, -1), (1, 1), (-1, -1))
            ]
        points = self.repaired(torch.cat(moves))
        return points[self.feasible(points)]

    def repaired(self, x: Tensor) -> Tensor:
        """Return points `"b d"` whose continuous columns are moved, as little as may be, towards the constraints."""
        if self.polytope is None or not bool(self.continuous.any()):
            return x
        rows = self.polytope.rows[:, self.continuous]
        pull, x = torch.linalg.pinv(rows).T, x.clone()
        for _ in range(REPAIRS):  # alternating projections onto the rows and the cube
            total = x @ self.polytope.rows.T
            miss = (self.polytope.upper - total).clamp_max(0.0) + (self.polytope.lower - total).clamp_min(0.0)
            if float(miss.abs().max()) <= 1e-12:
                break
            x[:, self.continuous] = (x[:, self.continuous] + miss @ pull).clamp(0.0, 1.0)  # the limits are rows
        return x

    def roundings(self, x: Tensor) -> Tensor:
        """Return the valid decisions on the steps around `x` `"d"`, which a climb has left between them.

        Of many decisions with steps each is moved to its nearest step but one, which goes to the other side.
        """
        names = [name for name in self.space.stepped if name not in self.fixed]
        near, moves = self.valid(x[None])[0], []
        for name in names:
            columns = self.space.decision_columns[name]
            moves.append((name, 1 if float(x[columns]) > float(near[columns]) else -1))
        corners = (
            itertools.chain.from_iterable(itertools.combinations(moves, count) for count in range(len(moves) + 1))
            if len(moves) <= MOST_ROUNDED
            else [(), *((move,) for move in moves)]
        )
        points = self.repaired(torch.cat([self._stepped(near, dict(corner)) for corner in corners]))
        return points[self.feasible(points)]

    def _options(self, name: str, limit: int) -> Tensor:
        found = torch.from_numpy(self.space.decision[name].options(limit))
        return found if self.bounds is None else self.allowed(name, found)

    def allowed(self, name: str, options: Tensor) -> Tensor:
        """Return which options `"n w"` of a parameter lie in the narrowed cube."""
        if self.bounds is None:
            return options
        low, high = (bound[self.space.decision_columns[name]] for bound in self.bounds)
        return options[((options >= low - ROUNDING) & (options <= high + ROUNDING)).all(-1)]

    def _stepped(self, x: Tensor, steps: dict[str, int]) -> Tensor:
        """Return `x` with whole numbers moved by steps, `"1 d"`, or `"0 d"` where one would leave its bounds."""
        moved = x.clone()
        for name, step in steps.items():
            parameter, columns = self.space.decision[name], self.space.decision_columns[name]
            if parameter.step is None or parameter.low is None or parameter.high is None:
                return x[None, :][:0]
            value = float(parameter.from_unit(x[columns].numpy())) + step * parameter.step
            room = ROUNDING * parameter.step  # the multiples of a step are rounded
            if not parameter.low - room <= value <= parameter.high + room:
                return x[None, :][:0]
            moved[columns] = torch.from_numpy(parameter.to_unit([value])[0])
        if self.space.stepped:
            moved = self.space.on_steps(moved[None, :])[0]
        return moved[None, :]

    def _walked(self, count: int, generator: torch.Generator) -> Tensor:
        assert self.polytope is not None
        mask, values = self.held
        inner = self.polytope.on(~mask, values)
        if inner.interior is None:
            raise self._nowhere()
        x = values.repeat(count, 1)
        x[:, ~mask] = inner.sample(count, generator)
        snapped = self.repaired(self.valid(x))
        inside = snapped[self.feasible(snapped)]
        return inside if len(inside) else self._on_grid(inner, generator)

    def _on_grid(self, inner: Polytope, generator: torch.Generator) -> Tensor:
        """Return decisions with whole numbers where rounding has found none: some of the constraints' corners."""
        mask, values = self.held
        steps, found = self.space.whole_steps[~mask.numpy()], []
        for _ in range(CORNERS):
            toward = torch.randn(len(steps), generator=generator, dtype=torch.float64).numpy()
            search = inner.on_grid(steps, toward)
            if search.point is None:
                break
            x = values.clone()
            x[~mask] = torch.from_numpy(search.point)
            found.append(x)
        points = self.repaired(self.valid(torch.stack(found))) if found else values.repeat(0, 1)
        inside = points[self.feasible(points)]
        if len(inside) == 0:
            raise self._nowhere(undecided=bool(found) or not search.decided)
        distinct: Tensor = torch.unique(inside, dim=0)
        return distinct

    def _nowhere(self, undecided: bool = False) -> SpaceError:
        """Return the error for a region without a decision: the constraints leave none, or none with whole numbers."""
        call = f"ask(fix={shown(self.fixed)}): with these fixed " if self.fixed else "ask: "
        constraints, mask = shown(list(self.space.constraints)), self.held[0]
        assert self.polytope is not None
        if self.polytope.on(~mask, self.held[1]).interior is None:
            return SpaceError(f"{call}no decision satisfies the constraints {constraints}.")
        wholes = [name for name in self.space.constrained_wholes() if name not in self.fixed]
        if undecided or not wholes:
            kind = f" with {'steps' if self.space.stepped else 'whole numbers'} for {few(wholes)}" if wholes else ""
            return SpaceError(
                f"{call}no decision was found within {SECONDS:g} s that satisfies the constraints {constraints}{kind}; widen "
                "the constraints."
            )
        return SpaceError(
            f"{call}no decision satisfies the constraints {constraints}, because {self.space.must_be(wholes)} would."
        )
