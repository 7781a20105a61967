"""Batched L-BFGS inside bounds: every row is a problem of its own, and each evaluation serves all rows that still move.

Each row keeps its own history, step and line search. One evaluation advances every row: a row whose trial point fails
Armijo's condition shortens its step, a row whose trial point passes takes it and chooses a new direction, a row that has
converged is dropped from the batch. Bounds are kept by projection: variables on a bound whose gradient points outward
are held there, so a solution on a bound is on it exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
ValueAndGradient: TypeAlias = Callable[[Array], tuple[Array, Array]]

ARMIJO = 1e-4  # the usual share of the predicted decrease that a step must reach
LONGEST_FIRST_STEP = 0.1  # of the unit cube: the first step has no curvature to go by
MEMORY = 8  # pairs kept per row; decisions rarely have more dimensions than a few times that


def minimize_rows(
    function: ValueAndGradient,
    start: Array,
    low: Array,
    high: Array,
    *,
    evaluations: int,
    tolerance: float,
    finish: tuple[int, int] | None = None,
) -> tuple[Array, Array]:
    """Return minimisers `"b d"` and values `"b"` from the starts, with at most `evaluations` calls of `function`.

    `function` maps points `"a d"` to values `"a"` and gradients `"a d"`; `low` and `high` are `"b d"`, equal where a
    variable is held. A row stops when its projected gradient is
    below `tolerance`, or when two steps in a row improve it by less than `tolerance` of its size. `finish=(after, rows)`:
    after that many calls only the lowest rows go on.
    """
    x = np.clip(start, low, high)
    value, gradient = function(x)
    rows = _Rows(x, value, gradient, low, high, tolerance)
    rows.aim(np.arange(len(x)))
    for made in range(1, evaluations):
        if finish is not None and made == finish[0]:
            rows.done[np.argsort(rows.value, kind="stable")[finish[1] :]] = True
        moving = np.flatnonzero(~rows.done)
        if len(moving) == 0:
            break
        trial = np.clip(rows.x[moving] + rows.step[moving, None] * rows.direction[moving], low[moving], high[moving])
        value, gradient = function(trial)
        rows.advance(moving, trial, value, gradient)
    return rows.x, rows.value


class _Rows:
    """The state of every row; the arrays are indexed by row, `moving` are the rows of the last evaluation."""

    def __init__(self, x: Array, value: Array, gradient: Array, low: Array, high: Array, tolerance: float) -> None:
        b, d = x.shape
        self.x, self.value, self.gradient = x, value, gradient
        self.low, self.high, self.tolerance = low, high, tolerance
        self.steps, self.changes = np.zeros((MEMORY, b, d)), np.zeros((MEMORY, b, d))
        self.inverse_curvature = np.zeros((MEMORY, b))  # 1 / (s.y), zero where the slot is empty
        self.initial_scale = np.zeros(b)  # (s.y) / (y.y) of the last pair, zero before the first
        self.direction, self.step = np.zeros((b, d)), np.ones(b)
        self.done = ~np.isfinite(value)
        self.small_gains = np.zeros(b, dtype=np.int64)

    def aim(self, rows: NDArray[np.int64]) -> None:
        """Choose new directions and unit steps for these rows; mark the converged ones."""
        x, gradient = self.x[rows], self.gradient[rows]
        held = ((x <= self.low[rows]) & (gradient > 0)) | ((x >= self.high[rows]) & (gradient < 0))
        free = np.where(held, 0.0, gradient)
        direction = np.where(held, 0.0, -self._two_loops(rows, free))
        downhill = (direction * free).sum(-1)
        uphill = downhill >= 0.0  # the history misleads: steepest descent
        direction[uphill] = -free[uphill]
        length = np.abs(direction).max(-1)
        fresh = (self.initial_scale[rows] == 0.0) | uphill
        self.step[rows] = np.where(fresh, np.minimum(1.0, LONGEST_FIRST_STEP / np.maximum(length, 1e-300)), 1.0)
        self.direction[rows] = direction
        self.done[rows] |= np.abs(free).max(-1) <= self.tolerance

    def advance(self, rows: NDArray[np.int64], trial: Array, value: Array, gradient: Array) -> None:
        """Take or shorten the step of each row, given its trial point's value and gradient."""
        move = trial - self.x[rows]
        predicted = (self.gradient[rows] * move).sum(-1)
        with np.errstate(invalid="ignore"):
            accepted = np.isfinite(value) & (value <= self.value[rows] + ARMIJO * np.minimum(predicted, 0.0))
        stuck = np.abs(move).max(-1) <= 1e-12
        self.done[rows[stuck]] = True

        failed = rows[~accepted]
        self.step[failed] *= self._shrink(self.value[failed], value[~accepted], predicted[~accepted])

        taken = rows[accepted & ~stuck]
        keep = accepted & ~stuck
        self._remember(taken, move[keep], gradient[keep] - self.gradient[taken])
        gain = self.value[taken] - value[keep]
        small = gain <= self.tolerance * np.maximum(1.0, np.abs(value[keep]))
        self.small_gains[taken] = np.where(small, self.small_gains[taken] + 1, 0)
        self.x[taken], self.value[taken], self.gradient[taken] = trial[keep], value[keep], gradient[keep]
        self.aim(taken)
        self.done[taken] |= self.small_gains[taken] >= 2

    @staticmethod
    def _shrink(before: Array, after: Array, slope: Array) -> Array:
        # The minimiser of the parabola through value, slope and the trial's value, kept inside [0.1, 0.5].
        with np.errstate(invalid="ignore", divide="ignore"):
            parabola = -0.5 * slope / (after - before - slope)
        return np.clip(np.nan_to_num(parabola, nan=0.1, posinf=0.5, neginf=0.1), 0.1, 0.5)

    def _remember(self, rows: NDArray[np.int64], move: Array, change: Array) -> None:
        curvature = (move * change).sum(-1)
        square = (change * change).sum(-1)
        curved = curvature > 1e-12 * np.sqrt((move * move).sum(-1) * square)
        rows, move, change = rows[curved], move[curved], change[curved]
        for memory, newest in ((self.steps, move), (self.changes, change)):
            memory[:-1, rows] = memory[1:, rows]
            memory[-1, rows] = newest
        self.inverse_curvature[:-1, rows] = self.inverse_curvature[1:, rows]
        self.inverse_curvature[-1, rows] = 1.0 / curvature[curved]
        self.initial_scale[rows] = curvature[curved] / square[curved]

    def _two_loops(self, rows: NDArray[np.int64], gradient: Array) -> Array:
        # Nocedal's recursion; empty slots have inverse curvature zero and drop out by themselves.
        q = gradient.copy()
        used = [slot for slot in range(MEMORY) if self.inverse_curvature[slot, rows].any()]
        weights = {}
        for slot in reversed(used):
            weights[slot] = self.inverse_curvature[slot, rows] * (self.steps[slot, rows] * q).sum(-1)
            q -= weights[slot][:, None] * self.changes[slot, rows]
        scale = self.initial_scale[rows]
        q *= np.where(scale > 0.0, scale, 1.0)[:, None]
        for slot in used:
            back = self.inverse_curvature[slot, rows] * (self.changes[slot, rows] * q).sum(-1)
            q += (weights[slot] - back)[:, None] * self.steps[slot, rows]
        return q
