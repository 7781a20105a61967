"""Points of the unit cube under linear constraints: { 0 <= x <= 1, lower <= rows @ x <= upper }."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

# Feasibility slack in the unit cube: what sums of a few products lose to rounding, with room.
SLACK = 1e-9
# Rounds of walking and re-estimating the spread; each lengthens the walk along a thin body severalfold.
PHASES = 6


@dataclass(frozen=True)
class Polytope:
    """The polytope; `rows` is `"m d"`, `lower` and `upper` are `"m"`, equal where the row is an equation."""

    rows: Tensor
    lower: Tensor
    upper: Tensor

    @property
    def equations(self) -> Tensor:
        """Which rows are equations; `"m"` booleans."""
        return self.upper - self.lower <= SLACK

    def contains(self, x: Tensor) -> Tensor:
        """Return which points `"*b d"` are inside, up to rounding; `"*b"` booleans."""
        total = x @ self.rows.T
        room = SLACK * (1.0 + self.rows.abs().sum(-1))
        return ((total <= self.upper + room) & (total >= self.lower - room)).all(-1)

    def on(self, free: Tensor, fixed: Tensor) -> Polytope:
        """Return the polytope over the columns `free`, the others held at `fixed` `"d"`."""
        held = self.rows[:, ~free] @ fixed[~free]
        return Polytope(self.rows[:, free], self.lower - held, self.upper - held)

    def center(self) -> Tensor | None:
        """Return the center of the largest ball inside (Chebyshev's), or None where nothing is inside."""
        from scipy.optimize import linprog

        rows, lower, upper = (part.numpy() for part in (self.rows, self.lower, self.upper))
        equations, width = self.equations.numpy(), self.rows.shape[1]
        if width == 0:
            return (
                torch.zeros(0, dtype=torch.float64)
                if bool(self.contains(torch.zeros(0, dtype=torch.float64)))
                else None
            )
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        above, below = ~equations & np.isfinite(upper), ~equations & np.isfinite(lower)
        box = np.concatenate([np.eye(width), -np.eye(width)])
        inequalities = np.concatenate([rows[above], -rows[below], box])
        reach = np.concatenate([norms[above], norms[below], np.ones((2 * width, 1))])
        limits = np.concatenate([upper[above], -lower[below], np.ones(width), np.zeros(width)])
        answer = linprog(
            np.r_[np.zeros(width), -1.0],
            A_ub=np.concatenate([inequalities, reach], axis=1),
            b_ub=limits,
            A_eq=np.c_[rows[equations], np.zeros(int(equations.sum()))] if equations.any() else None,
            b_eq=upper[equations] if equations.any() else None,
            bounds=[(0.0, 1.0)] * width + [(0.0, None)],
        )
        return torch.from_numpy(answer.x[:-1].clip(0.0, 1.0)) if answer.status == 0 else None

    def sample(self, start: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Return `count` nearly uniform points by hit-and-run from `start`; `"count d"`.

        Directions follow the spread the walkers have reached so far, so that a thin polytope is walked along its length.
        """
        width = start.shape[-1]
        walkers = max(count, 32 + 4 * width)  # enough to estimate that spread
        x = start.expand(walkers, width).clone()
        shape = torch.eye(width, dtype=torch.float64)
        # Hit-and-run forgets its start in about d^2 steps of a round body; each phase rounds the body further.
        for _ in range(PHASES):
            for _ in range(10 + 2 * width):
                direction = torch.randn(walkers, width, generator=generator, dtype=torch.float64) @ shape.T
                direction = self._along_equations(direction)
                low, high = self._interval(x, direction)
                share = torch.rand(walkers, generator=generator, dtype=torch.float64)
                x = (x + (low + share * (high - low))[:, None] * direction).clamp(0.0, 1.0)
            spread = x - x.mean(0)
            shape = torch.linalg.svd(spread, full_matrices=False)[2].T * torch.linalg.svdvals(spread)
        return x[:count]

    def _along_equations(self, direction: Tensor) -> Tensor:
        equations = self.rows[self.equations]
        if len(equations) == 0:
            return direction
        along: Tensor = direction - direction @ torch.linalg.pinv(equations) @ equations
        return along

    def _interval(self, x: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        inner = ~self.equations
        rows = torch.cat([self.rows[inner], torch.eye(x.shape[-1], dtype=x.dtype)])
        lower = torch.cat([self.lower[inner], torch.zeros(x.shape[-1], dtype=x.dtype)])
        upper = torch.cat([self.upper[inner], torch.ones(x.shape[-1], dtype=x.dtype)])
        speed, at = direction @ rows.T, x @ rows.T
        first, second = (lower - at) / speed, (upper - at) / speed
        near, far = torch.minimum(first, second), torch.maximum(first, second)
        still = speed.abs() < 1e-14  # this row neither stops nor is left along the line
        low = near.masked_fill(still, -torch.inf).amax(-1).clamp(max=0.0)
        return low, far.masked_fill(still, torch.inf).amin(-1).clamp(min=0.0)
