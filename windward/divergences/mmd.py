"""Maximum mean discrepancy: d(q, p) = sqrt((q - p)' K (q - p)), the kernel norm itself, not its square.

K is the squared-exponential kernel exp(-|c - c'|^2 / (2 l^2)) on the context points plus `nugget` on its diagonal, or a
matrix the caller gives. The worst case is a linear objective over a simplex cut by one quadratic; it has no closed form,
and is solved here by a primal-dual interior-point method for the whole batch at once (`_interior_point`). Every answer is
certified: the weights are made feasible, and by duality, for any function g = K w of the kernel's space,

    v >= min_i (f_i + g_i) - E_p g - r |g|,

so the gap between the two sides is known; where it exceeds `tolerance` times the range of values, `SolverError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from windward.basics import arguments
from windward.basics.budget import Need, Sizes
from windward.basics.errors import ArgumentError, IncompatibleError, SolverError
from windward.basics.speech import shown
from windward.contexts import Contexts
from windward.divergences._interior_point import MOST, SOME, Cone, solve
from windward.divergences.worst_case import (
    Instance,
    KernelOfContexts,
    WorstCase,
    below_chord,
    check_contexts,
    check_weights,
    drifting,
)

# Eigenvalues below this share of the largest are left out of the search (on a fine grid most are); what they add to a
# distance is put right in the certificate.
RANK = 1e-10
# The multiplier's gradient is a difference quotient of two worst cases, this far apart relative to the radius.
DIFFERENCE = 1e-3
FITTED: Literal["fitted"] = "fitted"


@dataclass(frozen=True)
class MMD:
    """Distance by smooth averages: two distributions are near where no smooth function tells them apart.

    The maximum mean discrepancy, a norm (not squared), with kernel exp(-|c - c'|^2 / (2 length_scale^2)).

    >>> contexts = Contexts.uniform(torch.tensor([[0.0], [1.0]]))
    >>> MMD(0.5).worst_case(torch.tensor([0.0, 2.0]), contexts, 5.0).value
    tensor(0., dtype=torch.float64)

    `nugget` is added to the kernel's diagonal; it changes the distance, so it is never added unasked. `matrix` gives the
    kernel on the context points itself. `length_scale="fitted"` takes the kernel of contexts of the study's fitted process,
    with its amplitude: a radius then means another distance after every fit, and a nugget is a share of the diagonal.
    `tolerance` bounds the certified gap, relative to the range of the values.
    """

    length_scale: float | Literal["fitted"] | None = None
    nugget: float = 0.0
    tolerance: float = 1e-8
    matrix: Sequence[Sequence[float]] | None = field(default=None, kw_only=True)

    steep: ClassVar[bool] = False
    radius_of_all: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        if (self.length_scale is None) == (self.matrix is None):
            matrix = None if self.matrix is None else "..."
            raise ArgumentError(f"MMD(length_scale={shown(self.length_scale)}, matrix={matrix}): give one of the two.")
        if isinstance(self.length_scale, str):
            arguments.choice("MMD", "length_scale", self.length_scale, (FITTED,))
        elif self.length_scale is not None:
            arguments.number("MMD", "length_scale", self.length_scale, low=0.0, open_low=True)
        arguments.number("MMD", "nugget", self.nugget, low=0.0)
        arguments.number("MMD", "tolerance", self.tolerance, low=0.0, open_low=True)
        if self.matrix is not None:
            object.__setattr__(self, "matrix", _checked_matrix(self.matrix))

    @property
    def fitted(self) -> bool:
        """Whether the kernel is that of the fitted process."""
        return self.length_scale == FITTED

    def kernel(self, contexts: Contexts) -> Tensor:
        """Return the kernel matrix on the context points, without the nugget; `"n n"`."""
        check_contexts("MMD.kernel", contexts)
        if isinstance(self.length_scale, str):
            raise IncompatibleError(
                "MMD(length_scale='fitted'): its kernel is that of a fitted process, and none is given here; use it in a "
                "study, give MMD.on(contexts, kernel=...) one, or give a number."
            )
        if self.matrix is not None:
            matrix = torch.tensor(self.matrix, dtype=torch.float64, device=contexts.points.device)
            if len(contexts) == 1:  # all of the context is given: there is nowhere to move to
                return matrix[:1, :1]
            if len(matrix) != len(contexts):
                raise IncompatibleError(
                    f"MMD(matrix=...): the matrix is {len(matrix)} x {len(matrix)}, there are {len(contexts)} contexts."
                )
            return matrix
        assert self.length_scale is not None
        gaps = torch.cdist(contexts.points, contexts.points, compute_mode="donot_use_mm_for_euclid_dist")
        return gaps.div_(self.length_scale).square_().mul_(-0.5).exp_()

    def cost(self, sizes: Sizes) -> list[Need]:
        """Return what the kernel of all pairs of contexts takes, with its factors and eigenvectors, and rows being solved."""
        pairs = sizes.points**2
        return [
            Need("the kernel of MMD", 6 * pairs, f"6 x {sizes.points:,} x {sizes.points:,} contexts"),
            Need("the rows that MMD solves", max(pairs, min(SOME * pairs, MOST))),
        ]

    def says(self, radius: float) -> str:
        """Return what may happen within a ball, as a clause."""
        return drifting("MMD", radius)

    def distance(self, weights: Tensor, contexts: Contexts) -> Tensor:
        """Return sqrt((q - p)' (K + nugget I) (q - p)); `"*b"`."""
        gap = check_weights("MMD.distance", weights, contexts) - contexts.weights
        square = (gap @ self.kernel(contexts) * gap).sum(-1) + self.nugget * gap.square().sum(-1)
        return square.clamp_min(0.0).sqrt()

    def on(self, contexts: Contexts, kernel: KernelOfContexts | None = None) -> MMDBall:
        """Return the worst case over this reference; its kernel is factorised when it is first needed.

        `kernel` takes the place of the own one where that is the fitted process's.
        """
        weights = check_contexts("MMD.on", contexts).weights
        if kernel is None or not self.fitted:
            return MMDBall(weights, self.kernel(contexts), self.nugget, self.tolerance)
        matrix = _given(kernel, contexts)
        # The process's kernel is in units of the outcomes, squared; a nugget beside it means a share of the diagonal.
        return MMDBall(weights, matrix, self.nugget * float(matrix.diagonal().amax()), self.tolerance)

    def worst_case(self, values: Tensor, contexts: Contexts, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        return self.on(contexts)(values, radius)


def _given(kernel: KernelOfContexts, contexts: Contexts) -> Tensor:
    """Return the matrix of a kernel that the caller gave, or raise `ArgumentError`."""
    if not callable(kernel):
        raise ArgumentError(
            f"MMD.on(kernel={shown(kernel)}): give a function from context points of shape (n, k) to a matrix."
        )
    matrix, n = kernel(contexts.points), len(contexts)
    if matrix.shape != (n, n):
        raise ArgumentError(
            f"MMD.on(kernel=...): needed a matrix of shape ({n}, {n}), got a matrix of shape {tuple(matrix.shape)}."
        )
    return matrix


@dataclass(frozen=True)
class MMDBall:
    """MMD around one reference `"n"`, with the kernel `"n n"`."""

    reference: Tensor
    kernel: Tensor
    nugget: float
    tolerance: float

    def __call__(self, values: Tensor, radius: float | Tensor) -> WorstCase:
        """Return the worst case of values `"*b n"` at a radius."""
        problem = Instance.of("MMD.worst_case", values, radius, len(self.reference))
        with torch.no_grad():
            weights, multiplier = self._solved(problem.values.detach(), problem.radius)
        return problem.answer(weights, self._attached(problem, weights, multiplier))

    @cached_property
    def cone(self) -> Cone:
        """What the solver prepares once: among it the kernel's root `"rank n"`, kernel = root' root."""
        eigenvalues, vectors = torch.linalg.eigh(self.kernel)
        kept = eigenvalues > RANK * eigenvalues.max()
        root = (vectors[:, kept] * eigenvalues[kept].sqrt()).T
        return Cone(self.kernel, root, self.nugget, self.reference)

    def _solved(self, f: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Return certified weights and multipliers; `"b n"`, `"b"`."""
        p, low = self.reference, f.amin(-1)
        span = f.amax(-1) - low
        weights, multiplier = p.repeat(len(f), 1), torch.zeros_like(low)
        reach, best = self.reach_of_minimum(f)
        weights = torch.where((r >= reach)[:, None], best, weights)
        at_zero = (r == 0) & (span > 0) & (r < reach)
        if bool(at_zero.any()):
            # A singular kernel cannot tell the slope; the value is the expectation all the same.
            multiplier[at_zero] = torch.inf if self.singular else self.slope_at_zero(f[at_zero])
        rows = ((r > 0) & (span > 0) & (r < reach)).nonzero()[:, 0]
        if len(rows) and not self.singular and bool((p > 0).all()):
            rows = self._closed(f - low[:, None], r, rows, weights, multiplier)
        if len(rows):
            scaled = (f[rows] - low[rows, None]) / span[rows, None]
            q, slope, gap = solve(self.cone, scaled, r[rows], self.tolerance)
            if not bool((gap <= self.tolerance).all()):
                worst = int(gap.argmax())
                raise SolverError(
                    f"MMD: {int((gap > self.tolerance).sum())} of {len(gap)} worst cases are not certified: the largest "
                    f"relative gap is {float(gap[worst]):.2g} at radius {float(r[rows[worst]]):g}, the tolerance "
                    f"{self.tolerance:g}; use a larger tolerance or a nugget.",
                    rows[gap > self.tolerance].tolist(),
                )
            weights[rows], multiplier[rows] = q, slope * span[rows]
        return weights, multiplier

    def _closed(self, f: Tensor, r: Tensor, rows: Tensor, weights: Tensor, multiplier: Tensor) -> Tensor:
        """Fill in the rows whose solution keeps all weights: q = p - r K^-1 g / |g|; return the rows that are left."""
        whitened = self.whitener.T @ self.whitener
        total = whitened.sum()
        g = f[rows] @ whitened
        g = g - (g.sum(-1) / total)[:, None] * whitened.sum(0)  # K^-1 (f - nu), summing to zero
        slope = (g * f[rows]).sum(-1).clamp_min(1e-300).sqrt()
        q = self.reference - r[rows, None] * g / slope[:, None]
        inside = (q >= 0).all(-1)
        weights[rows[inside]], multiplier[rows[inside]] = q[inside], slope[inside]
        return rows[~inside]

    def reach_of_minimum(self, f: Tensor) -> tuple[Tensor, Tensor]:
        """Return the distance to the least value's point (the nearest of several, each alone) and the mass put there."""
        minimal = f == f.amin(-1, keepdim=True)
        mean = self.kernel @ self.reference + self.nugget * self.reference
        # |e_j - p|^2 = K_jj - 2 (K p)_j + p' K p, the nugget included in each.
        squares = self.kernel.diagonal() + self.nugget - 2.0 * mean + self.reference @ mean
        place = torch.where(minimal, squares.clamp_min(0.0), torch.inf).argmin(-1)
        best = torch.nn.functional.one_hot(place, f.shape[-1]).to(f)
        reach = squares.clamp_min(0.0)[place]
        near = (reach < 1e-6 * self.kernel.diagonal()[place]).nonzero()[:, 0]
        if len(near):  # nearly all mass is there already, and the sum above has lost how much is not
            moved = best[near] - self.reference
            reach[near] = (moved * (moved @ self.kernel + self.nugget * moved)).sum(-1).clamp_min(0.0)
        return reach.sqrt(), best

    def ceiling(self, values: Tensor, radius: float | Tensor, alpha: float, beta: float) -> Tensor:
        """Return an upper bound of alpha * worst case - beta * multiplier, without solving; `"*b"`."""
        problem = Instance.of("MMD.ceiling", values, radius, len(self.reference))
        reach, _ = self.reach_of_minimum(problem.values)
        return below_chord(problem, self.reference, reach, alpha, beta, slack=self.tolerance)

    def slope_at_zero(self, f: Tensor) -> Tensor:
        """Return the multiplier at radius 0, min |g| over g with f + g constant where p > 0 and no less elsewhere.

        With p > 0 everywhere, sqrt(g' K^-1 g), g = f minus its K^-1-weighted mean; differentiable. With zeros in p the
        zero-weight points only bound g from below: a non-negative least-squares problem for each row.
        """
        if bool((self.reference > 0).all()):
            return self.slope_bound(f)
        return _cone_slope(f, self.whitener, self.reference == 0)

    def slope_bound(self, f: Tensor) -> Tensor:
        """Return sqrt(g' K^-1 g), g = f minus its K^-1-weighted mean: the slope at 0, or a bound of it where p has zeros."""
        whitener = self.whitener
        f = f - f.detach().amin(-1, keepdim=True)  # an offset would cancel away what is left below
        z, one = f @ whitener.T, whitener.sum(-1)
        z = z - (z @ one / (one @ one))[:, None] * one
        slope: Tensor = (z.square().sum(-1) + 1e-300).sqrt()
        return slope

    @cached_property
    def _factor(self) -> tuple[Tensor, bool]:
        full = self.kernel.clone()
        full.diagonal().add_(self.nugget)
        factor, failed = torch.linalg.cholesky_ex(full)
        singular = bool(failed) or float(factor.diagonal().min()) <= 1e-7 * float(factor.diagonal().max())
        return factor, singular

    @property
    def singular(self) -> bool:
        """Whether the kernel matrix cannot be inverted, to rounding."""
        return self._factor[1]

    @cached_property
    def whitener(self) -> Tensor:
        """L^-1 with K + nugget I = L L'; refused where the kernel is singular."""
        if self.singular:
            raise IncompatibleError(
                "MMD(nugget=0): the slope at radius 0 needs a kernel matrix that can be inverted, and this one is "
                "singular to rounding; give a nugget, such as MMD(length_scale, nugget=1e-6), or fewer contexts."
            )
        eye = torch.eye(len(self.kernel), dtype=self.kernel.dtype, device=self.kernel.device)
        return torch.as_tensor(torch.linalg.solve_triangular(self._factor[0], eye, upper=False))

    def _attached(self, problem: Instance, weights: Tensor, multiplier: Tensor) -> Tensor:
        """Return the multiplier with its gradient: exact at radius 0, a difference quotient elsewhere."""
        if not problem.values.requires_grad:
            return multiplier
        attached: Tensor = _Multiplier.apply(problem.values, self, problem.radius, weights, multiplier)  # type: ignore[no-untyped-call]
        at_zero = (problem.radius == 0) & (multiplier > 0) & torch.isfinite(multiplier)
        if bool(at_zero.any()):
            attached = torch.where(at_zero, self.slope_at_zero(problem.values), attached)
        return attached


class _Multiplier(torch.autograd.Function):
    """The multiplier, its gradient a difference quotient that is solved for only where the gradient is asked for."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, ball: MMDBall, radius: Tensor, weights: Tensor, multiplier: Tensor) -> Tensor:
        ctx.kept = (values.detach(), ball, radius, weights, multiplier)
        return multiplier.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        values, ball, radius, weights, multiplier = ctx.kept
        slope = torch.zeros_like(weights)
        moving = ((radius > 0) & (multiplier > 0) & (grad != 0)).nonzero()[:, 0]
        if len(moving):
            step = DIFFERENCE * radius[moving]
            beyond, _ = ball._solved(values[moving], radius[moving] + step)
            slope[moving] = (weights[moving] - beyond) / step[:, None]
        return grad[:, None] * slope, None, None, None, None


def _cone_slope(f: Tensor, whitener: Tensor, empty: Tensor) -> Tensor:
    """Return min |L^-1 (nu 1 - f + h)| over nu and h >= 0 on the empty points, h = 0 elsewhere; `"b"`."""
    from scipy.optimize import nnls

    one = whitener.sum(-1)
    direction = one / one.norm()
    basis = whitener[:, empty] - torch.outer(direction, direction @ whitener[:, empty])
    z = f.detach() @ whitener.T
    z = z - torch.outer(z @ direction, direction)
    slopes = []
    for row in z:
        try:
            h, _ = nnls(basis.cpu().numpy(), row.cpu().numpy())
        except RuntimeError as error:  # scipy's own: its iterations did not end
            raise SolverError(
                "MMD: the slope at radius 0 could not be found, because the kernel is close to singular; use a nugget, such as "
                "MMD(nugget=1e-6), or a shorter length_scale."
            ) from error
        slopes.append(row - basis @ torch.from_numpy(h).to(basis))
    rest = torch.stack(slopes)  # the gradient of |rest| in f is L^-T rest / |rest|, with h held
    number = rest.norm(dim=-1)
    pull = (rest / number.clamp_min(1e-300)[:, None]) @ whitener
    attached: Tensor = number + (pull * (f - f.detach())).sum(-1)
    return attached


def _checked_matrix(matrix: object) -> tuple[tuple[float, ...], ...]:
    call = f"MMD(matrix={shown(matrix, 60)})"
    try:
        array = np.asarray(matrix.detach() if isinstance(matrix, Tensor) else matrix)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{call}: give a square matrix of numbers: {error}.") from error
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ArgumentError(f"{call}: give a square matrix, got shape {array.shape}.")
    if array.dtype.kind not in "iuf":  # text would be read as numbers
        raise ArgumentError(f"{call}: give a matrix of real numbers.")
    array = array.astype(np.float64)
    if not (np.abs(array) <= arguments.LARGEST).all():
        raise ArgumentError(f"{call}: the matrix must be finite, at most {arguments.LARGEST:g} in size.")
    rounding = 1e-9 * max(1.0, float(np.abs(array).max()))
    if not np.allclose(array, array.T, rtol=0, atol=rounding):
        i, j = np.unravel_index(np.abs(array - array.T).argmax(), array.shape)
        raise ArgumentError(
            f"{call}: the matrix must be symmetric, but ({i}, {j}) has {array[i, j]:g} and ({j}, {i}) {array[j, i]:g}."
        )
    least = float(np.linalg.eigvalsh(array)[0])
    if least < -rounding:
        raise ArgumentError(f"{call}: the matrix must be positive semi-definite, its least eigenvalue is {least:g}.")
    return tuple(tuple(row) for row in array.tolist())
