"""Batched BFGS inside bounds: every row is a problem of its own, and each evaluation serves all rows that still move.

Each row keeps its own inverse Hessian H, direction and step. One evaluation advances every row: a row whose trial point passes
Armijo's condition takes it and chooses a new direction, a row whose trial point fails stays, and shortens its step or, where
there may be kinks, turns; a row that has converged is dropped from the batch. Bounds are kept by projection: variables on a
bound whose gradient points outward are held there, so a solution on a bound is on it exactly.

The inverse Hessian is kept whole, not as a history of steps: decisions and hyper-parameters have few dimensions, where one
product for all rows is cheaper than a loop over remembered steps, and at kinks it forgets nothing. Where the function gives an
estimate of its Hessian as well, H is its inverse at each of the first points, corrected by the step that led there.

Acquisitions have kinks: minima over contexts, worst cases. Beyond a kink the gradient is another, and a line search can only
creep towards it. So with `kinks` a failed trial point adds its tangent, as in bundle methods (Kiwiel 1985): the next step goes
down from the higher of two tangents, the new one and the mixture g of those before, in the metric of H,

    min_d  max(g.d - e, g'.d - e') + d'(s H)^-1 d / 2,      d = -s H (g + t (g' - g)),  t in [0, 1] in closed form,

where e is how far a tangent lies below the function at the row's point and s its step. With the mixture for g the model
promises a decrease of e + g' s H g / 2, the row's `gain`; near zero no direction leads down: the bottom of a kink. A step that
does not bring a hundredth of what was promised counts as failed too, and from the third failure in a row on s is halved: H may
be far too long across a kink.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
# Values, gradients and, where they are known, positive definite estimates of the Hessians.
ValueAndGradient: TypeAlias = Callable[[Array], tuple[Array, Array] | tuple[Array, Array, Array]]

ARMIJO = 1e-4  # the usual share of the predicted decrease that a step must reach
LONGEST_FIRST_STEP = 0.1  # of the unit cube
PROMISE = 0.01  # the share of a model's promise that a step by tangents must reach
PATIENT_TURNS = 2  # turns at one place before the step is halved
KINK = 10.0  # tolerances: a row in a kink is done where its promised gain, in the function's own units, is below this
# After `PATIENCE` evaluations a row is left where `HOPE` times its promised gain would not bring it down to the lowest.
HOPE, PATIENCE = 10.0, 6
CURVED = 12  # steps of a row in which a known Hessian replaces H: near the top what BFGS has gathered is better
TINY = float(np.finfo(np.float64).tiny)  # the least number of full precision
SINGULAR = 1e-10  # the least eigenvalue of a Hessian with unit diagonal that its inverse goes by
NEAR = 0.01  # of the unit cube: rows that have come so near to each other end in the same place


def minimize_rows(
    function: ValueAndGradient,
    start: Array,
    low: Array,
    high: Array,
    *,
    evaluations: int,
    tolerance: float,
    finish: tuple[int, int] | None = None,
    first_step: float = LONGEST_FIRST_STEP,
    longest_step: float = math.inf,
    kinks: bool = False,
    meet: float = 0.0,
) -> tuple[Array, Array]:
    """Return minimisers `"b d"` and values `"b"` from the starts, with at most `evaluations` calls of `function`.

    `function` maps points `"a d"` to values `"a"`, gradients `"a d"` and, if it can, estimates of the Hessian `"a d d"`,
    positive definite. `low` and `high` are `"b d"`, equal where a variable is held. A row stops when its projected gradient is
    below `tolerance`, when two steps in a row improve it by less than `tolerance` of its size (with `kinks`: and no more is
    promised), in a kink, or when it cannot move; one that is not finite at its start stays there.

    `first_step` is the longest step, in any variable, of a row that knows no curvature yet or is misled by it, `longest_step`
    that of any other. With `kinks` failed trial points turn the direction; without, as suits smooth functions, they shorten
    the step.

    Where only the lowest row is wanted, `finish=(after, rows)` stops others. From the sixth call on a row stops where ten times
    its promised gain would not make it the lowest. After `after` calls only the lowest `rows` go on, and of those within `NEAR`
    of each other one. Under `meet` a row stops as soon as it is this near to a lower one, in every variable.
    """
    x = np.clip(start, low, high)
    value, gradient, *hessian = function(x)
    rows = _Rows(x, value, gradient, low, high, tolerance, (first_step, longest_step), kinks)
    if hessian:
        rows.curve(np.arange(len(x)), *hessian)
    rows.aim(np.arange(len(x)))
    for made in range(1, evaluations):
        if finish is not None:
            if made >= PATIENCE:
                lowest = np.min(rows.value, where=np.isfinite(rows.value), initial=np.inf)
                rows.done |= rows.value - HOPE * rows.gain > lowest
            if made == finish[0]:
                rows.leave_but(finish[1])
        moving = np.flatnonzero(~rows.done)
        if len(moving) == 0:
            break
        trial = rows.x[moving] + rows.step[moving, None] * rows.direction[moving]
        trial = np.minimum(np.maximum(trial, low[moving]), high[moving])
        rows.advance(moving, trial, *function(trial))
        if meet > 0.0:
            rows.join(meet)
    return rows.x, rows.value


class _Rows:
    """The state of every row; the arrays are indexed by row."""

    def __init__(
        self,
        x: Array,
        value: Array,
        gradient: Array,
        low: Array,
        high: Array,
        tolerance: float,
        longest: tuple[float, float],
        kinks: bool,
    ) -> None:
        b, d = x.shape
        self.x, self.value, self.gradient = x, value, gradient
        self.low, self.high, self.tolerance, self.kinks = low, high, tolerance, kinks
        self.first_step, self.longest_step = longest
        self.inverse_hessian = np.tile(np.eye(d), (b, 1, 1))
        self.curved = np.zeros(b, dtype=bool)  # whether a row has seen curvature
        self.direction, self.step = np.zeros((b, d)), np.ones(b)
        self.done = ~(np.isfinite(value) & np.isfinite(gradient).all(-1))
        self.gradient = np.where(self.done[:, None], 0.0, gradient)  # of these nothing more is computed than noughts
        self.small_gains, self.steps = np.zeros(b, dtype=np.int64), np.zeros(b, dtype=np.int64)
        self.tangent, self.below = self.gradient.copy(), np.zeros(b)  # a tangent, and how far below a row's value it is
        self.turns = np.zeros(b, dtype=np.int64)  # how often in a row the direction came from two tangents
        self.gain = np.full(b, np.inf)  # the decrease that a row's model promises

    def aim(self, rows: NDArray[np.int64]) -> None:
        """Choose new directions and unit steps for these rows; mark the converged ones."""
        gradient = self.gradient[rows]
        free, direction = self._downhill(rows, gradient)
        uphill = (direction * free).sum(-1) >= 0.0  # the inverse Hessian misleads: steepest descent
        direction[uphill] = -free[uphill]
        length = np.abs(direction).max(-1)
        fresh = uphill | ~self.curved[rows]
        longest = np.where(fresh, self.first_step, self.longest_step)
        self.step[rows] = step = np.minimum(1.0, longest / np.maximum(length, 1e-300))
        self.direction[rows] = direction
        self.done[rows] |= np.abs(free).max(-1) <= self.tolerance
        self.tangent[rows], self.below[rows], self.turns[rows] = gradient, 0.0, 0
        self.gain[rows] = -0.5 * step * (direction * free).sum(-1)

    def leave_but(self, count: int) -> None:
        """Leave all but the `count` lowest rows, and of these what is near a lower one."""
        order = np.argsort(np.where(np.isfinite(self.value), self.value, np.inf), kind="stable")
        self.done[order[count:]] = True
        kept: list[int] = []
        for row in order[:count].tolist():
            met = any(np.abs(self.x[other] - self.x[row]).max() <= NEAR for other in kept)
            self.done[row] |= met
            if not met:
                kept.append(row)

    def join(self, distance: float) -> None:
        """Leave each row that has come so near to a lower one, in every variable."""
        near = np.abs(self.x[:, None] - self.x).max(-1) <= distance
        self.done |= (near & (self.value[:, None] > self.value)).any(1)

    def curve(self, rows: NDArray[np.int64], hessian: Array) -> None:
        """Take the inverse of an estimate of the Hessian for H in the first `CURVED` steps of a row, if it has an inverse."""
        inverse = _inverses(hessian)
        usable = np.isfinite(inverse).all((1, 2)) & (self.steps[rows] < CURVED)
        self.inverse_hessian[rows[usable]] = inverse[usable]
        self.curved[rows[usable]] = True

    def _downhill(self, rows: NDArray[np.int64], gradient: Array) -> tuple[Array, Array]:
        """Return a gradient without the variables that it holds on their bounds, and minus its product with H."""
        x = self.x[rows]
        held = ((x <= self.low[rows]) & (gradient > 0)) | ((x >= self.high[rows]) & (gradient < 0))
        free = np.where(held, 0.0, gradient)
        return free, np.where(held, 0.0, -_product(self.inverse_hessian[rows], free))

    def advance(
        self, rows: NDArray[np.int64], trial: Array, value: Array, gradient: Array, hessian: Array | None = None
    ) -> None:
        """Take the step of each row, or shorten or turn it, given its trial point's value and gradient."""
        move = trial - self.x[rows]
        predicted = (self.gradient[rows] * move).sum(-1)
        with np.errstate(invalid="ignore"):
            enough = np.where(self.turns[rows] > 0, -PROMISE * self.gain[rows], ARMIJO * np.minimum(predicted, 0.0))
            accepted = np.isfinite(value) & np.isfinite(gradient).all(-1) & (value <= self.value[rows] + enough)
        stuck = np.abs(move).max(-1) <= 1e-12
        self.done[rows[stuck]] = True

        if not accepted.all():
            failed = ~accepted
            shorter = self._shrink(self.value[rows[failed]], value[failed], predicted[failed])
            if self.kinks:
                self._turn(rows[failed], move[failed], value[failed], gradient[failed], shorter)
            else:
                self.step[rows[failed]] *= shorter

        keep = accepted & ~stuck
        taken = rows[keep]
        if len(taken) == 0:
            return
        if len(taken) < len(rows):
            trial, value, gradient, move = trial[keep], value[keep], gradient[keep], move[keep]
        if hessian is not None:
            self.curve(taken, hessian[keep])
        self._learn(taken, move, gradient - self.gradient[taken])
        gain = self.value[taken] - value
        small = gain <= self.tolerance * np.maximum(1.0, np.abs(value))
        self.small_gains[taken] = np.where(small, self.small_gains[taken] + 1, 0)
        self.x[taken], self.value[taken], self.gradient[taken] = trial, value, gradient
        self.steps[taken] += 1
        self.aim(taken)
        promising = self.gain[taken] > KINK * self.tolerance if self.kinks else False
        self.done[taken] |= (self.small_gains[taken] >= 2) & ~np.asarray(promising)

    def _turn(self, rows: NDArray[np.int64], move: Array, value: Array, gradient: Array, shorter: Array) -> None:
        """Choose new directions by the tangents at failed trial points; where that is of no use, shorten the step."""
        tangent, below, step = self.tangent[rows], self.below[rows], self.step[rows]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            change = gradient - tangent
            new = self.value[rows] - value + (gradient * move).sum(-1)  # e'
            convex = new >= -KINK * self.tolerance  # a function that is not convex may lie below its tangent
            lower = np.maximum(new, 0.0) - below
            turned = step[:, None] * _product(self.inverse_hessian[rows], change)
            share = -((turned * tangent).sum(-1) + lower) / (turned * change).sum(-1)  # t
            usable = np.isfinite(share) & np.isfinite(value) & (share > 0.0)
            share = np.minimum(share, 1.0)
            tangent = np.where(usable[:, None], tangent + share[:, None] * change, tangent)
            below = np.where(usable, below + share * lower, below)
        free, direction = self._downhill(rows, tangent)
        mixed = usable & convex  # else the model promises nothing
        # The mixture is kept even where it does not lead down by the row's own gradient; the direction then is not.
        usable = usable & ((direction * self.gradient[rows]).sum(-1) < 0.0)
        self.tangent[rows], self.below[rows] = tangent, below
        self.direction[rows] = np.where(usable[:, None], direction, self.direction[rows])
        longest = np.where(self.turns[rows] >= PATIENT_TURNS, 0.5, 1.0)
        self.step[rows] = step * np.where(usable, longest, shorter)
        self.turns[rows] = np.where(usable, self.turns[rows] + 1, 0)
        gain = below - 0.5 * step * (direction * free).sum(-1)
        self.gain[rows] = np.where(usable, gain, self.gain[rows])
        self.done[rows] |= mixed & (gain <= KINK * self.tolerance)

    @staticmethod
    def _shrink(before: Array, after: Array, slope: Array) -> Array:
        # The minimiser of the parabola through value, slope and the trial's value, kept inside [0.1, 0.5].
        with np.errstate(invalid="ignore", divide="ignore"):
            share: Array = np.fmin(np.fmax(-0.5 * slope / (after - before - slope), 0.1), 0.5)  # a NaN gives 0.1
        return share

    def _learn(self, rows: NDArray[np.int64], move: Array, change: Array) -> None:
        """Update the inverse Hessians by a step s and the change y of the gradient along it, where s.y > 0."""
        curvature = (move * change).sum(-1)
        square = (change * change).sum(-1)
        # A gradient that changes by less than squares can hold teaches nothing.
        curved = (curvature > 1e-12 * np.sqrt((move * move).sum(-1) * square)) & (square > TINY)
        if not curved.all():
            rows, move, change = rows[curved], move[curved], change[curved]
            curvature, square = curvature[curved], square[curved]
        inverse = self.inverse_hessian[rows]
        first = ~self.curved[rows]
        inverse[first] *= (curvature[first] / square[first])[:, None, None]
        along = move / curvature[:, None]
        turned = _product(inverse, change)
        # Where the function is flatter than H says, H grows first: from a start on a steep slope it would stay too short.
        bent = (change * turned).sum(-1)
        wider = np.maximum(np.divide(curvature, bent, out=np.ones_like(bent), where=bent > 0.0), 1.0)
        inverse *= wider[:, None, None]
        turned *= wider[:, None]
        # H + (1 + y'Hy / s.y) s s' / s.y - (Hy s' + s y'H) / s.y, as a product of s / s.y with a vector and its mirror
        weight = 0.5 * (curvature + (change * turned).sum(-1))
        half = along[:, :, None] * (weight[:, None] * along - turned)[:, None, :]
        inverse += half + half.swapaxes(1, 2)
        self.inverse_hessian[rows] = inverse
        self.curved[rows] = True


def _inverses(matrices: Array) -> Array:
    """Return inverses of symmetric matrices `"b d d"`, eigenvalues being at least `SINGULAR`; NaN where there are none."""
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    usable = np.asarray(np.isfinite(matrices).all((1, 2)) & (diagonal > 0.0).all(1))
    with np.errstate(over="ignore", invalid="ignore"):
        unit = 1.0 / np.sqrt(np.where(usable[:, None], diagonal, 1.0))
        scaled = np.where(usable[:, None, None], matrices, 0.0) * unit[:, :, None] * unit[:, None, :]
        values, vectors = np.linalg.eigh(scaled)
        vectors *= unit[:, :, None]
        inverse: Array = (vectors / np.maximum(values, SINGULAR)[:, None, :]) @ vectors.swapaxes(1, 2)
    inverse[~usable] = np.nan
    return inverse


def _product(matrices: Array, vectors: Array) -> Array:
    product: Array = (matrices * vectors[:, None, :]).sum(-1)
    return product
