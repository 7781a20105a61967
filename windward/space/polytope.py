"""Points of the unit cube under linear constraints: { 0 <= x <= 1, lower <= rows @ x <= upper }.

The body may be flat: an equation, or inequalities that leave a face or a single point. `interior` finds its affine hull,
x = start + basis @ z, so that sampling and searching go on inside the hull where the body has an inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array: TypeAlias = NDArray[np.float64]

# Feasibility slack in units of the cube: what sums of a few products lose to rounding, with room. Rows are normalised.
SLACK = 1e-9
# Rounds of walking and re-estimating the spread; each lengthens the walk along a thin body severalfold.
PHASES = 6
# How long whole numbers that satisfy the constraints are looked for.
SECONDS = 1.0


@dataclass(frozen=True)
class Interior:
    """A body with an inside: x = start + basis @ z, sides @ z <= room, the room positive at z = 0."""

    start: Array  # "d"
    basis: Array  # "d e", orthonormal; e = 0 where the body is a point
    sides: Array  # "s e"
    room: Array  # "s"

    def at(self, z: Array) -> Array:
        """Return the points of the cube for z `"... e"`."""
        return np.clip(self.start + z @ self.basis.T, 0.0, 1.0)


class GridSearch(NamedTuple):
    """A point `"d"` whose columns lie on their grids, None where none was found; `decided`: it was found, or there is none."""

    point: Array | None
    decided: bool


@dataclass(frozen=True)
class Polytope:
    """The polytope; `rows` is `"m d"` with rows of norm one, `lower` and `upper` are `"m"`, maybe infinite."""

    rows: Tensor
    lower: Tensor
    upper: Tensor

    def contains(self, x: Tensor) -> Tensor:
        """Return which points `"*b d"` are inside, up to rounding; `"*b"` booleans."""
        total = x @ self.rows.T
        return ((total <= self.upper + SLACK) & (total >= self.lower - SLACK)).all(-1)

    def on(self, free: Tensor, fixed: Tensor) -> Polytope:
        """Return the polytope over the columns `free`, the others held at `fixed` `"d"`."""
        held = self.rows[:, ~free] @ fixed[~free]
        return Polytope(self.rows[:, free], self.lower - held, self.upper - held)

    @cached_property
    def interior(self) -> Interior | None:
        """The affine hull and a central point of it, or None where nothing is inside."""
        width = self.rows.shape[1]
        if width == 0:
            inside = bool(self.contains(torch.zeros(0, dtype=torch.float64)))
            return Interior(np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0)) if inside else None
        sides, limits = self._sides()
        lengths = np.linalg.norm(sides, axis=1)
        # A row without a free column constrains nothing here: it holds, or nothing does.
        if (limits[lengths <= 1e-12] < -SLACK).any():
            return None
        sides, limits = sides[lengths > 1e-12], limits[lengths > 1e-12]
        center, radius = _chebyshev(sides, limits, np.zeros((0, width)), np.zeros(0))
        if center is None:
            return None
        if radius > SLACK:
            return Interior(center, np.eye(width), sides, np.maximum(limits - sides @ center, 0.0))
        return _flat_interior(sides, limits)

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Return `count` nearly uniform points by hit-and-run; `"count d"`. The body must not be empty.

        Directions follow the spread the walkers have reached so far, so that a thin body is walked along its length.
        """
        inside = self.interior
        assert inside is not None
        width = inside.basis.shape[1]
        walkers = max(count, 32 + 4 * width)  # enough to estimate that spread
        z = torch.zeros(walkers, width, dtype=torch.float64)
        sides, room = torch.from_numpy(inside.sides), torch.from_numpy(inside.room)
        shape = torch.eye(width, dtype=torch.float64)
        # Hit-and-run forgets its start in about e^2 steps of a round body; each phase rounds the body further.
        for _ in range(PHASES if width else 0):
            for _ in range(10 + 2 * width):
                direction = torch.randn(walkers, width, generator=generator, dtype=torch.float64) @ shape.T
                direction = direction / direction.norm(dim=-1, keepdim=True).clamp_min(1e-300)
                low, high = _interval(sides, room, z, direction)
                share = torch.rand(walkers, generator=generator, dtype=torch.float64)
                z = z + (low + share * (high - low))[:, None] * direction
            _, lengths, axes = torch.linalg.svd(z - z.mean(0), full_matrices=False)
            # No axis is given up: a direction not walked yet keeps a little.
            shape = axes.T * lengths.clamp_min(1e-3 * float(lengths.max().clamp_min(1e-300)))
        return torch.from_numpy(inside.at(z[:count].numpy()))

    def on_grid(self, steps: Array, toward: Array | None = None) -> GridSearch:
        """Look for a point inside whose columns with `steps` > 0 are multiples of 1 / steps, by mixed integer programming.

        `toward` `"d"` is a direction in which the point is to lie; without one any point will do.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        whole = steps > 0
        units = np.where(whole, 1.0 / np.maximum(steps, 1.0), 1.0)
        rows = self.rows.numpy() * units
        # The solver's tolerances are absolute: rows are scaled to entries of size one.
        size = np.abs(rows).max(axis=1, initial=0.0).clip(min=1e-300)[:, None]
        lower, upper = self.lower.numpy() - SLACK, self.upper.numpy() + SLACK
        answer = milp(
            np.zeros(len(steps)) if toward is None else -toward * units,
            integrality=whole.astype(int),
            bounds=Bounds(np.zeros(len(steps)), np.where(whole, steps, 1.0)),
            constraints=LinearConstraint(rows / size, lower / size[:, 0], upper / size[:, 0]),
            options={"time_limit": SECONDS},
        )
        if answer.x is None:
            return GridSearch(None, answer.status == 2)
        counts = np.where(whole, np.rint(answer.x), answer.x)
        return GridSearch(np.clip(counts * units, 0.0, 1.0), True)

    def _sides(self) -> tuple[Array, Array]:
        """Return every inequality, the cube's among them, as sides @ x <= limits."""
        rows, lower, upper = (part.numpy() for part in (self.rows, self.lower, self.upper))
        above, below = np.isfinite(upper), np.isfinite(lower)
        box = np.eye(rows.shape[1])
        sides = np.concatenate([rows[above], -rows[below], box, -box])
        return sides, np.concatenate([upper[above], -lower[below], np.ones(len(box)), np.zeros(len(box))])


def _chebyshev(sides: Array, limits: Array, equations: Array, totals: Array) -> tuple[Array | None, float]:
    """Return the center and radius of the largest ball inside, measured along the equations' null space."""
    from scipy.optimize import linprog

    width = sides.shape[1]
    basis = _null_space(equations, width)
    reach = np.linalg.norm(sides @ basis, axis=1) if basis.shape[1] else np.zeros(len(sides))
    answer = linprog(
        np.r_[np.zeros(width), -1.0],
        A_ub=np.c_[sides, reach],
        b_ub=limits + SLACK / 4,
        A_eq=np.c_[equations, np.zeros(len(equations))] if len(equations) else None,
        b_eq=totals if len(equations) else None,
        bounds=[(0.0, 1.0)] * width + [(0.0, 1.0)],
    )
    return (answer.x[:-1], float(answer.x[-1])) if answer.status == 0 else (None, 0.0)


def _flat_interior(sides: Array, limits: Array) -> Interior | None:
    """Return the interior of a body without inside: the inequalities that always hold as equations become equations."""
    from scipy.optimize import linprog

    width = sides.shape[1]
    always = np.zeros(len(sides), dtype=bool)
    for index, side in enumerate(sides):  # the most room this side can have
        answer = linprog(side, A_ub=sides, b_ub=limits + SLACK / 4, bounds=[(0.0, 1.0)] * width)
        if answer.status != 0:
            return None
        always[index] = limits[index] - answer.fun <= SLACK
    equations = _independent(sides[always])
    basis = _null_space(equations, width)
    # Opposite sides differ by rounding: aim between them, then find the middle of what is left along the null space.
    anchor = np.linalg.pinv(sides[always]) @ limits[always]
    center, _ = _chebyshev(sides[~always], limits[~always], equations, equations @ anchor)
    if center is None:
        return None
    rest = sides[~always] @ basis
    matter = np.linalg.norm(rest, axis=1) > 1e-9
    room = np.maximum(limits[~always] - sides[~always] @ center, 0.0)
    return Interior(center, basis, rest[matter], room[matter])


def _independent(rows: Array) -> Array:
    """Return an orthonormal basis of the row space."""
    _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
    return axes[lengths > 1e-7]


def _null_space(equations: Array, width: int) -> Array:
    if len(equations) == 0:
        return np.eye(width)
    _, lengths, axes = np.linalg.svd(equations, full_matrices=True)
    return axes[int((lengths > 1e-7).sum()) :].T


def _interval(sides: Tensor, room: Tensor, z: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
    """Return how far each walker may go back and forth along its direction; zero where nothing limits it."""
    speed, left = direction @ sides.T, (room - z @ sides.T).clamp_min(0.0)
    ahead = torch.where(speed > 1e-14, left / speed, torch.inf).amin(-1)
    behind = torch.where(speed < -1e-14, left / speed, -torch.inf).amax(-1)
    return behind.nan_to_num(0.0, 0.0, 0.0), ahead.nan_to_num(0.0, 0.0, 0.0)
