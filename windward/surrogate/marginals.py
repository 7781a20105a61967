"""Posterior mean and variance on a product of decisions and contexts, with its gradient, at the price of few solves.

With k(x, c; i) = kx_i(x) kc_i(c) over the n observations i, the contexts of one suggestion are fixed, so their factor
`kc[m, i]` is split once into `outer[m, r] @ inner[r, i]`, r its numerical rank (about 10 to 20 for one smooth context
dimension, whatever m). Then, with L the Cholesky factor of the observations' covariance,

    t_r(x)     = L^-1 (kx(x) * inner_r)                      r solves per decision instead of m
    var(x, c)  = amplitude - outer_c' [t_r . t_s] outer_c
    mean(x, c) = prior + sum_i alpha_i kx_i(x) kc_i(c)

which is the exact posterior up to the splitting residual, `SPLIT_RESIDUAL` but for drafts. The quadratic form is linear in
the Gram matrix [t_r . t_s], so one product with the pairs outer_cr outer_cs gives it for all contexts at once. Where the rank
is not small the variance is taken directly, one solve per decision-context pair. The gradient in x is written out below:
autograd would store every intermediate of the largest array.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# The largest entry left of `kc - outer @ inner`. The variance's error is at most 2 sqrt(n / noise) times that, so with
# the least noise of 1e-4 and n = 1000 it is below 1e-9 of the amplitude.
SPLIT_RESIDUAL = 1e-13
# Doubles in a table of pairs (4 MiB): a larger one costs more to make and to read than it saves.
PAIRS = 2**19
# Doubles per block of the largest intermediate (1 MiB): it stays in the cache, and the system need not find new pages for it.
BLOCK = 2**17
# Solves in a block at least: with a thousand observations fewer would not pay for reading the factor.
ROWS = 512
# On an accelerator a block must be large enough to occupy it: 1 GiB.
LARGE_BLOCK = 2**27


@dataclass(frozen=True)
class Split:
    """`kc` `"m n"` and, where it has a low numerical rank, `outer` `"m r"` and `inner` `"r n"` with kc = outer @ inner."""

    kc: Tensor
    outer: Tensor | None
    inner: Tensor

    @property
    def rank(self) -> int:
        """How many solves one decision costs."""
        return int(self.inner.shape[0])

    @cached_property
    def recombined(self) -> Forms:
        """The quadratic forms of the rows of `outer`."""
        assert self.outer is not None
        return quadratic_forms(self.outer, self.outer)


@dataclass(frozen=True)
class Pairs:
    """left' G right for symmetric matrices G `"b r r"` and rows left, right `"m r"`, linear in the upper half of G.

    `table` `"p m"` has left_r right_s + left_s right_r for r < s and left_r right_r, p = r (r + 1) / 2.
    """

    table: Tensor
    upper: Tensor  # "p", places of the upper half in a flattened matrix
    halves: Tensor  # "p", one on the diagonal, a half beside it
    whole: Tensor  # "r^2", for each place of the matrix its place in the upper half

    @staticmethod
    def of(left: Tensor, right: Tensor) -> Pairs:
        """Return the pairs of rows `"m r"`."""
        rank = left.shape[1]
        rows, columns = torch.triu_indices(rank, rank, device=left.device)
        halves = torch.where(rows == columns, 1.0, 0.5).to(left)
        # Gathered by whole rows: by columns it takes ten times as long.
        left, right = left.T.contiguous(), right.T.contiguous()
        table = torch.addcmul(left[rows] * right[columns], left[columns], right[rows])
        table[rows == columns] *= 0.5
        whole = torch.empty(rank, rank, dtype=torch.int64, device=left.device)
        whole[rows, columns] = whole[columns, rows] = torch.arange(len(rows), device=left.device)
        return Pairs(table, rows * rank + columns, halves, whole.flatten())

    def forms(self, gram: Tensor) -> Tensor:
        """Return the quadratic forms; `"b m"`."""
        return gram.flatten(-2).index_select(-1, self.upper) @ self.table

    def spread(self, weights: Tensor) -> Tensor:
        """Return sum_m weights_m (left_m right_m' + right_m left_m') / 2 for weights `"b m"`; `"b r r"`."""
        flat = (weights @ self.table.T).mul_(self.halves)
        rank = round(len(self.whole) ** 0.5)
        return flat.index_select(-1, self.whole).reshape(-1, rank, rank)


@dataclass(frozen=True)
class Rows:
    """The same forms row by row: for when the table of pairs would be too large."""

    left: Tensor
    right: Tensor

    def forms(self, gram: Tensor) -> Tensor:
        """Return the quadratic forms; `"b m"`."""
        return ((self.left @ gram) * self.right).sum(-1)

    def spread(self, weights: Tensor) -> Tensor:
        """Return sum_m weights_m (left_m right_m' + right_m left_m') / 2 for weights `"b m"`; `"b r r"`."""
        crossed = (self.left.T * weights[:, None, :]) @ self.right
        return crossed if self.left is self.right else 0.5 * (crossed + crossed.mT)


Forms: TypeAlias = Pairs | Rows


def quadratic_forms(left: Tensor, right: Tensor) -> Forms:
    """Return left' G right for rows `"m r"`, prepared for many symmetric G."""
    m, rank = left.shape
    return Pairs.of(left, right) if m * rank**2 // 2 <= PAIRS else Rows(left, right)


def split(kc: Tensor, residual: float = SPLIT_RESIDUAL) -> Split:
    """Split a context kernel by cross approximation with full pivoting, or not at all where that would not pay.

    Each step takes the largest residual entry as pivot and subtracts its cross, so the residual is known exactly.
    """
    m, n = kc.shape
    # Below: rank * n^2 (solves) + m * rank^2 (recombination) must stay well below the direct m * n^2.
    limit = min(m // 2, n - 1) if n > 1 else 0
    rows: list[Tensor] = []
    columns: list[Tensor] = []
    left = kc.clone()
    for _ in range(limit):
        flat = int(left.abs().argmax())
        i, j = divmod(flat, n)
        pivot = left[i, j]
        if pivot.abs() <= residual:
            return Split(kc, torch.stack(columns, dim=1), torch.stack(rows)) if rows else Split(kc, None, kc)
        row, column = left[i].clone(), left[:, j] / pivot
        left.addr_(column, row, alpha=-1.0)
        rows.append(row)
        columns.append(column)
    return Split(kc, None, kc)


@dataclass(frozen=True)
class Observations:
    """What the variance needs of a fitted process, in scaled inputs and standardised outcomes."""

    z: Tensor  # "n d", decisions over their length-scales
    rates: Tensor  # "d", one over the length-scales
    inverse: Tensor  # "n n", the inverse of the lower Cholesky factor
    alpha: Tensor  # "n"
    amplitude: float


def product_marginals(x: Tensor, observations: Observations, parts: Split) -> tuple[Tensor, Tensor]:
    """Return the centred mean and the variance for `x` `"b d"` at every context; `"b m"` each."""
    return _ProductMarginals.apply(x, observations, parts)  # type: ignore[no-any-return, no-untyped-call]


def blocks(count: int, rank: int, n: int, device: torch.device) -> list[slice]:
    """Return slices of `count` decisions whose largest intermediate, `rank` by `n` each, fits a block."""
    size = max(1, (BLOCK if device.type == "cpu" else LARGE_BLOCK) // max(1, rank * n), ROWS // max(1, rank))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


class _ProductMarginals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, observations: Observations, parts: Split) -> tuple[Tensor, Tensor]:
        z = x * observations.rates
        cross = (z @ observations.z.T).mul_(2.0)
        cross.sub_(z.square().sum(-1, keepdim=True)).sub_(observations.z.square().sum(-1))
        kx = cross.mul_(0.5).clamp_max_(0.0).exp_()
        mean = (kx * observations.alpha) @ parts.kc.T * observations.amplitude
        variance = torch.empty_like(mean)
        keep, solved = x.requires_grad, []
        for block in blocks(len(x), parts.rank, parts.kc.shape[1], x.device):
            t = (kx[block, None, :] * parts.inner) @ observations.inverse.T
            if parts.outer is None:
                torch.sum(t.square() if keep else t.square_(), dim=-1, out=variance[block])
            else:
                variance[block] = parts.recombined.forms(t @ t.mT)
            if keep:
                solved.append((block, t))
        variance.mul_(-(observations.amplitude**2)).add_(observations.amplitude)
        ctx.kept = (z, kx, observations, parts, solved)
        return mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_variance: Tensor) -> tuple[Tensor, None, None]:
        z, kx, observations, parts, solved = ctx.kept
        amplitude = observations.amplitude
        grad_kx = (grad_mean @ parts.kc).mul_(observations.alpha * amplitude)
        for block, t in solved:
            # d var / d t = -2 amplitude^2 (weights) t, then back through t = (kx * inner) L^-T.
            if parts.outer is None:
                grad_t = t * grad_variance[block, :, None]
            else:
                grad_t = parts.recombined.spread(grad_variance[block]) @ t
            pulled = (grad_t @ observations.inverse).mul_(parts.inner).sum(-2)
            grad_kx[block].sub_(pulled, alpha=2.0 * amplitude**2)
        pull = grad_kx.mul_(kx)
        grad_z = pull @ observations.z - pull.sum(-1, keepdim=True) * z
        return grad_z * observations.rates, None, None
