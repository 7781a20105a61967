"""A batched primal-dual interior-point method for the MMD worst case, one problem per row.

In the scaled move d = (q - p) / r, with x = d + p / r >= 0 standing for q >= 0,

    min d.f   s.t.   x >= 0,  sum d = 0,  c(d) = 1 - d' K d >= 0,       K = root' root + nugget I.

With multipliers s >= 0, nu and mu >= 0 the optimum satisfies f + 2 mu K d - nu 1 - s = 0, x_i s_i = 0, mu c = 0, and 2 mu is
the multiplier of the radius. Mehrotra's predictor and corrector take Newton steps towards x_i s_i = mu c = tau with tau
falling. Eliminating s and mu leaves (diag(s / x) + 2 mu K + (4 mu / c) y y') dd - 1 dnu = ..., y = K d: a diagonal plus few
columns, so a step costs n rank^2. Rows that are done leave the batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

FAST_STEPS = 40
DENSE_STEPS = 150
BLOCK = 512
LARGE_BLOCK = 2**16  # an accelerator wants many rows at once
# Steps without a better answer before a row is given up; the duality gap of an infeasible start need not fall at once.
PATIENCE = 20
# A step goes this share of the way to the nearest bound.
TO_THE_BOUND = 0.995
CAUTIOUS = 0.8
# Relative growth of the system's diagonal: below what a step's direction needs, above what its factorisation rounds.
REGULAR = 1e-15
# Repetitions that correct a direction by what it leaves of the system; each gains several digits.
REFINEMENTS = 2
# While every tau is above this, one correction is enough.
FAR = 1e-5
# For up to `SOME` rows a table of products larger than `CACHED` (in doubles, 2 MiB) is read for longer than it saves.
SOME, CACHED = 16, 2**18
# Numbers that a block of rows, or the table of products, may take (128 MiB): beyond, fewer rows at a time.
MOST = 2**24


@dataclass(frozen=True)
class Cone:
    """What all rows share: the kernel `"n n"`, its root `"rank n"` up to negligible eigenvalues, nugget and reference.

    The fast search works with the root. Feasibility is judged by the whole kernel, and a function root' root w has the
    same norm in the kernel's space as in the root's, so the certificate holds for the kernel itself. `whole` makes the
    search use the kernel too.
    """

    kernel: Tensor
    root: Tensor
    nugget: float
    reference: Tensor
    whole: bool = False

    @cached_property
    def shared(self) -> Tensor:
        """The rows of the root and a row of ones; `"rank + 1, n"`."""
        return torch.cat([self.root, torch.ones_like(self.root[:1])])

    @cached_property
    def products(self) -> Tensor:
        """All products of two of those rows, so that a weighted Gram matrix is one product; `"n, (rank + 1)^2"`."""
        return (self.shared[:, None, :] * self.shared).reshape(-1, self.root.shape[1]).T.contiguous()

    def weighted(self, weights: Tensor) -> Tensor:
        """Return the Gram matrix of those rows under weights `"b n"`; `"b, rank + 1, rank + 1"`."""
        side, n = len(self.shared), self.root.shape[1]
        if n * side**2 <= (CACHED if len(weights) <= SOME else MOST):
            return (weights @ self.products).reshape(-1, side, side)
        parts = torch.split(weights, max(SOME, MOST // (n * side)))
        return torch.cat([(self.shared * some[:, None, :]) @ self.shared.T for some in parts])

    def spread(self, v: Tensor) -> Tensor:
        """Return K v without the nugget for rows `"b n"`, by the root or by the whole kernel."""
        return v @ self.kernel if self.whole else (v @ self.root.T) @ self.root

    def times(self, v: Tensor) -> Tensor:
        """Return (K + nugget I) v for rows `"b n"`."""
        return self.spread(v) + self.nugget * v


@dataclass
class _State:
    d: Tensor  # "b n", the scaled move
    x: Tensor  # "b n", d + p / r
    s: Tensor  # "b n"
    mu: Tensor  # "b"
    nu: Tensor  # "b"

    def rows(self, keep: Tensor) -> _State:
        return _State(self.d[keep], self.x[keep], self.s[keep], self.mu[keep], self.nu[keep])


def solve(cone: Cone, f: Tensor, radius: Tensor, tolerance: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return feasible weights `"b n"`, multipliers `"b"` and certified gaps `"b"`; f `"b n"` lies in [0, 1].

    All rows are tried with the fast system; those it does not bring to the tolerance, with the dense one.
    """
    best = _Best(torch.empty_like(f), torch.empty_like(radius), torch.full_like(radius, torch.inf))
    for dense, steps in ((False, FAST_STEPS), (True, DENSE_STEPS)):
        if dense:
            cone = replace(cone, whole=True)
        rows_left = (best.gap > tolerance).nonzero()[:, 0]
        # Blocks that stay in the cache; each row has a matrix of its own.
        side = f.shape[-1] if dense else len(cone.root) + 2
        size = max(1, min(BLOCK, MOST // side**2)) if f.device.type == "cpu" else LARGE_BLOCK
        for rows in torch.split(rows_left, size) if len(rows_left) else ():
            _iterate(cone, f, radius, tolerance, best, rows, dense=dense, steps=steps)
    return best.weights, best.multiplier, best.gap


@dataclass
class _Best:
    """The best certified answer of each row so far."""

    weights: Tensor
    multiplier: Tensor
    gap: Tensor


def _iterate(
    cone: Cone, f: Tensor, radius: Tensor, tolerance: float, best: _Best, rows: Tensor, *, dense: bool, steps: int
) -> None:
    """Improve the answers of `rows` by interior-point steps until each is well within the tolerance, or gets no better."""
    state, stalled = _start(cone, f[rows], radius[rows]), torch.zeros_like(rows)
    lowest = torch.full_like(radius[rows], torch.inf)  # of this run: the one before may have done better
    for step in range(steps):
        if step >= 4:  # nothing is done before; a certificate costs a good part of a step
            q, slope, gap = _certified(cone, f[rows], radius[rows], state)
            better = gap < best.gap[rows]
            chosen = rows[better]
            best.weights[chosen], best.multiplier[chosen], best.gap[chosen] = q[better], slope[better], gap[better]
            stalled = torch.where(gap < lowest, 0, stalled + 1)
            lowest = torch.minimum(lowest, gap.nan_to_num(torch.inf))
            # A tenth of what is asked: the weights are worth more than the value, and the last steps are cheap.
            open_rows = (best.gap[rows] > 0.1 * tolerance) & torch.isfinite(gap) & (stalled < PATIENCE)
            rows, state = rows[open_rows], state.rows(open_rows)
            stalled, lowest = stalled[open_rows], lowest[open_rows]
            if len(rows) == 0:
                return
        state = _step(cone, f[rows], state, dense=dense)


def _start(cone: Cone, f: Tensor, radius: Tensor) -> _State:
    """Return a point strictly inside: the reference moved towards the uniform distribution, multipliers that fit it."""
    toward = 1.0 / f.shape[-1] - cone.reference
    length = float((toward * cone.times(toward[None])[0]).sum().clamp_min(0.0).sqrt())
    # Half of the way to the ball's edge, or to the uniform distribution, whichever is nearer.
    share = (0.5 * radius / max(length, 1e-300)).clamp_max(0.5) / radius
    d = share[:, None] * toward
    x = d + cone.reference / radius[:, None]
    mu = 0.5 * (f @ cone.reference) + 0.05
    pull = f + 2.0 * mu[:, None] * cone.times(d)
    nu = pull.amin(-1) - 0.1
    return _State(d, x, pull - nu[:, None], mu, nu)


def _step(cone: Cone, f: Tensor, state: _State, *, dense: bool) -> _State:
    d, x, s, mu = state.d, state.x, state.s, state.mu
    y = cone.times(d)
    room = 1.0 - (d * y).sum(-1)
    dual_miss = f + 2.0 * mu[:, None] * y - state.nu[:, None] - s
    sum_miss = d.sum(-1)
    tau = ((x * s).sum(-1) + mu * room) / (f.shape[-1] + 1)
    newton = (_DenseNewton if dense else _LowRankNewton)(cone, x, s, mu, y, room)
    refinements = REFINEMENTS if dense or float(tau.min()) < FAR else 1
    predicted = newton.direction(dual_miss, sum_miss, -x * s, -mu * room, refinements=refinements)
    alpha = _reach(cone, state, predicted, y, room)
    ahead = _moved(state, predicted, alpha)
    room_ahead = 1.0 - (ahead.d * cone.times(ahead.d)).sum(-1)
    tau_ahead = ((ahead.x * ahead.s).sum(-1) + ahead.mu * room_ahead) / (f.shape[-1] + 1)
    aim = tau * (tau_ahead / tau).clamp(0.0, 1.0) ** 3
    dd, ds, dmu, _ = predicted
    bend = (dd * cone.times(dd)).sum(-1)  # the room is quadratic in d
    change = -2.0 * (y * dd).sum(-1)
    twist = 2.0 * dmu[:, None] * cone.times(dd)  # and the stationarity bilinear in mu and d
    # A predictor that was stopped early says little about the second order: the less it reached, the less of it is used,
    # and the more the step is centred.
    trust = alpha.square() if dense else torch.ones_like(alpha)
    aim = torch.maximum(aim, (0.1 * (1.0 - alpha).square()) * tau)
    if dense:  # rows the fast steps did not bring home: shorter steps, nearer to the middle
        aim = torch.maximum(aim, 0.25 * tau)
    corrected = newton.direction(
        dual_miss + trust[:, None] * twist,
        sum_miss,
        aim[:, None] - x * s - trust[:, None] * dd * ds,
        aim - mu * room - trust * (dmu * change - mu * bend),
        refinements=refinements,
    )
    return _moved(state, corrected, (CAUTIOUS if dense else TO_THE_BOUND) * _reach(cone, state, corrected, y, room))


class _Newton(ABC):
    """The Newton system of one step, for several right-hand sides.

    In dd, dnu and w = -(4 mu / room) y.dd, with D = diag(s / x) + 2 mu nugget,

        D dd + 2 mu root' root dd - w y - dnu 1 = right,     sum dd = total,     y.dd + w room / (4 mu) = -off.
    """

    def __init__(self, cone: Cone, x: Tensor, s: Tensor, mu: Tensor, y: Tensor, room: Tensor) -> None:
        self.x, self.s, self.mu, self.y, self.room, self.cone = x, s, mu, y, room, cone
        self.diagonal = s / x + 2.0 * mu[:, None] * cone.nugget
        self.factorise()

    @abstractmethod
    def factorise(self) -> None:
        """Prepare for `solve`."""

    @abstractmethod
    def solve(self, right: Tensor, total: Tensor, off: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (dd, dnu, w), as well as rounding allows."""

    def direction(
        self, dual_miss: Tensor, sum_miss: Tensor, toward: Tensor, toward_room: Tensor, *, refinements: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return (dd, ds, dmu, dnu) for x ds + s dd = toward and room dmu + mu droom = toward_room."""
        right = -dual_miss + toward / self.x - 2.0 * self.y * (toward_room / self.room)[:, None]
        dd, dnu, w = self.solve(right, -sum_miss, torch.zeros_like(sum_miss))
        for _ in range(refinements):
            # What the answer leaves of the system: any factorisation loses digits as tau falls.
            kernel_part = 2.0 * self.mu[:, None] * self.cone.spread(dd)
            left = self.diagonal * dd + kernel_part - w[:, None] * self.y - dnu[:, None]
            off = (self.y * dd).sum(-1) + w * self.room / (4.0 * self.mu)
            more = self.solve(right - left, -sum_miss - dd.sum(-1), off)
            dd, dnu, w = dd + more[0], dnu + more[1], w + more[2]
        dmu = toward_room / self.room - 0.5 * w
        ds = (toward - self.s * dd) / self.x
        return dd, ds, dmu, dnu


class _LowRankNewton(_Newton):
    """By the normal equations of root, 1 and y: rank + 2 rows. Fast; loses digits as x / s grows."""

    def factorise(self) -> None:
        rank = len(self.cone.root)
        self.inverse = 1.0 / self.diagonal
        gram = torch.empty(len(self.x), rank + 2, rank + 2, dtype=self.x.dtype, device=self.x.device)
        gram[:, :-1, :-1] = self.cone.weighted(self.inverse)
        gram[:, -1, :-1] = (self.inverse * self.y) @ self.cone.shared.T
        gram[:, :-1, -1] = gram[:, -1, :-1]
        gram[:, -1, -1] = (self.inverse * self.y.square()).sum(-1) + self.room / (4.0 * self.mu)
        diagonal = gram.diagonal(dim1=-2, dim2=-1)
        diagonal[:, :rank] += (0.5 / self.mu)[:, None]
        diagonal *= 1.0 + REGULAR
        self.factor = torch.linalg.cholesky_ex(gram)[0]

    def solve(self, right: Tensor, total: Tensor, off: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        root, rank = self.cone.root, len(self.cone.root)
        plain = self.inverse * right
        target = torch.cat(
            [-plain @ root.T, (total - plain.sum(-1))[:, None], (-off - (self.y * plain).sum(-1))[:, None]], dim=-1
        )
        found = _triangular(self.factor, target[..., None])[..., 0]
        dnu, w = found[:, rank], found[:, rank + 1]
        dd = plain + self.inverse * (found[:, :rank] @ root + dnu[:, None] + w[:, None] * self.y)
        return dd, dnu, w


class _DenseNewton(_Newton):
    """By the n by n matrix D + 2 mu root' root itself: for the few rows that need its digits."""

    def factorise(self) -> None:
        matrix = 2.0 * self.mu[:, None, None] * self.cone.kernel + torch.diag_embed(self.diagonal * (1.0 + REGULAR))
        self.factor = torch.linalg.cholesky_ex(matrix)[0]
        sides = torch.stack([self.y, torch.ones_like(self.y)], dim=-1)  # "b n 2"
        self.spread = torch.cholesky_solve(sides, self.factor)
        small = sides.mT @ self.spread
        small[:, 0, 0] += self.room / (4.0 * self.mu)
        self.sides, self.small = sides, small

    def solve(self, right: Tensor, total: Tensor, off: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        plain = torch.cholesky_solve(right[..., None], self.factor)
        target = torch.stack([-off, total], dim=-1)[..., None] - self.sides.mT @ plain
        found = torch.linalg.solve_ex(self.small, target)[0]
        return (plain + self.spread @ found)[..., 0], found[:, 1, 0], found[:, 0, 0]


def _triangular(factor: Tensor, right: Tensor) -> Tensor:
    """Return (L L')^-1 right; torch.cholesky_solve copies L every time."""
    half = torch.linalg.solve_triangular(factor, right, upper=False)
    return torch.as_tensor(torch.linalg.solve_triangular(factor.mT, half, upper=True))


def _reach(
    cone: Cone, state: _State, direction: tuple[Tensor, Tensor, Tensor, Tensor], y: Tensor, room: Tensor
) -> Tensor:
    """Return the largest step up to 1 that keeps x, s, mu and the room non-negative; `"b"`."""
    dd, ds, dmu, _ = direction
    limits = [
        torch.where(step < 0, -value / step, torch.inf).amin(-1)
        for value, step in ((state.x, dd), (state.s, ds), (state.mu[:, None], dmu[:, None]))
    ]
    # room(a) = room - 2 a y.dd - a^2 dd' K dd: its positive root.
    linear, square = (y * dd).sum(-1), (dd * cone.times(dd)).sum(-1).clamp_min(1e-300)
    limits.append(room / (linear + (linear.square() + square * room).sqrt()).clamp_min(1e-300))
    return torch.stack(limits).amin(0).clamp(0.0, 1.0)


def _moved(state: _State, direction: tuple[Tensor, Tensor, Tensor, Tensor], alpha: Tensor) -> _State:
    dd, ds, dmu, dnu = direction
    step = alpha[:, None]
    return _State(
        state.d + step * dd,
        state.x + step * dd,
        state.s + step * ds,
        state.mu + alpha * dmu,
        state.nu + alpha * dnu,
    )


def _certified(cone: Cone, f: Tensor, radius: Tensor, state: _State) -> tuple[Tensor, Tensor, Tensor]:
    """Return feasible weights, the multiplier and the gap between their value and the dual bound."""
    p = cone.reference
    q = (p + radius[:, None] * state.d).clamp_min(0.0)
    q = q / q.sum(-1, keepdim=True)
    move = q - p
    square = (move @ cone.kernel * move).sum(-1) + cone.nugget * move.square().sum(-1)
    length = square.clamp_min(0.0).sqrt()
    q = p + move * (radius / length.clamp_min(1e-300)).clamp_max(1.0)[:, None]
    y = cone.times(state.d)
    g = 2.0 * state.mu[:, None] * y
    norm = 2.0 * state.mu * (state.d * y).sum(-1).clamp_min(0.0).sqrt()
    bound = (f + g).amin(-1) - (g * p).sum(-1) - radius * norm
    return q, norm, (q * f).sum(-1) - bound
