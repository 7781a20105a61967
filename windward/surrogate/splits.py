"""A context kernel of low rank, as a product: few solves for each decision in place of one for each context.

`split` is exact to rounding: cross approximation with full pivoting over the whole kernel. `rough_split`, for drafts, is a
pivoted Cholesky factorisation (Harbrecht et al. 2012) of the kernel among the observed contexts, or among the points, whichever
needs fewer pivots: k(c, o) = k(c, P) K_PP^-1 k(P, o) up to sqrt(e_c e_o), where e = 1 - k(., P) K_PP^-1 k(P, .) is what the
pivots P leave. It is found without the whole kernel, so it costs next to nothing, and slopes in c are those of k(c, P).

With either, the variance needs the quadratic forms of the rows of `outer` in one Gram matrix for each decision, linear in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from windward.surrogate.kernel import kernel_value, lifted, squared_distances

# The largest entry left of `kc - outer @ inner`. The variance's error is at most 2 sqrt(n / noise) times that, so with
# the least noise of 1e-4 and n = 1000 it is below 1e-9 of the amplitude.
SPLIT_RESIDUAL = 1e-13
# Doubles in a table of pairs (4 MiB): a larger one costs more to make and to read than it saves.
PAIRS = 2**19

Array: TypeAlias = NDArray[np.float64]


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

    def put(self, out: Tensor, base: Tensor, factor: float, gram: Tensor) -> None:
        """Write base + factor times the forms into `out` `"b m"`."""
        torch.addmm(base, gram.flatten(-2).index_select(-1, self.upper), self.table, alpha=factor, out=out)

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

    def put(self, out: Tensor, base: Tensor, factor: float, gram: Tensor) -> None:
        """Write base + factor times the forms into `out` `"b m"`."""
        torch.add(base, (self.left @ gram).mul_(self.right).sum(-1), alpha=factor, out=out)

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
    # Beyond this rank the solves, rank * n^2, and their recombination would cost as much as the direct m * n^2.
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


def rough_split(
    stacked: Callable[[Tensor], Tensor], zc: Tensor, observed: Tensor, left: float, share: float = 0.0
) -> Split:
    """Split squared exponential context factors until the pivots leave at most `left` of the pivoted side's prior variance.

    `stacked(z)` returns the factors of the scaled contexts `zc` `"m k"`, and below them perhaps their slopes, against `z`
    `"r k"`; `observed` is `"n k"`.
    """
    limit = min(len(zc) // 2, len(observed) - 1)
    side, (pivots, rows) = observed, _pivots(observed.cpu().numpy(), left, limit, share)
    fewer = _pivots(zc.cpu().numpy(), left, len(pivots) - 1, share)  # given up as soon as it is not fewer
    if len(fewer[0]) < len(pivots):
        side, (pivots, rows) = zc, fewer
    kc = stacked(observed)
    if not 0 < len(pivots) <= limit:
        return Split(kc, None, kc)
    centres = side[torch.as_tensor(pivots, device=side.device)]
    factor = torch.from_numpy(rows[:, pivots].T.copy()).to(kc.device)
    outer = torch.linalg.solve_triangular(factor, stacked(centres).T, upper=False).T.contiguous()
    if side is observed:
        return Split(kc, outer, torch.from_numpy(rows).to(kc.device))
    return Split(
        kc,
        outer,
        torch.linalg.solve_triangular(factor, lifted(_squared_exponential(centres, observed), share), upper=False),
    )


def _squared_exponential(a: Tensor, b: Tensor) -> Tensor:
    return kernel_value("squared_exponential", squared_distances(a, b))


def _pivots(z: Array, left: float, limit: int, share: float = 0.0) -> tuple[list[int], Array]:
    """Return the pivots among rows `"n k"` and the factor's rows `"r n"`; more than `limit` of them mean: not reached.

    Row by row in numpy: these are short vectors, on which a call costs more than its work.
    """
    squares, remaining = np.square(z).sum(-1), np.ones(len(z))
    rows = np.empty((max(limit, 0) + 1, len(z)))
    pivots: list[int] = []
    while len(pivots) <= limit:
        place, made = int(remaining.argmax()), len(pivots)
        if remaining[place] <= left:
            break
        row = np.exp(np.minimum(z @ z[place] - 0.5 * (squares + squares[place]), 0.0), out=rows[made])
        if share:
            row *= 1.0 - share
            row += share
        row -= rows[:made, place] @ rows[:made]
        row /= np.sqrt(remaining[place])
        remaining -= np.square(row)
        remaining[place] = 0.0
        pivots.append(place)
    return pivots, rows[: len(pivots)]
