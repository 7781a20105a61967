"""Posterior mean and variance on a product of decisions and contexts, with its gradient, at the price of few solves.

With k(x, c; i) = kx_i(x) kc_i(c) over the n observations i, the contexts of one suggestion are fixed, so their factor
`kc[m, i]` is split once into `outer[m, r] @ inner[r, i]`, r its numerical rank (about 10 to 20 for one smooth context
dimension, whatever m; see `splits.py`). Then, with L the Cholesky factor of the observations' covariance,

    t_r(x)     = L^-1 (kx(x) * inner_r)                      r solves per decision instead of m
    var(x, c)  = amplitude - outer_c' [t_r . t_s] outer_c
    mean(x, c) = prior + sum_i alpha_i kx_i(x) kc_i(c)

which is the exact posterior up to the splitting residual, `SPLIT_RESIDUAL` but for drafts. The quadratic form is linear in
the Gram matrix [t_r . t_s], so one product with the pairs outer_cr outer_cs gives it for all contexts at once. Where the rank
is not small the variance is taken directly, one solve per decision-context pair. The gradient in x is written out below:
autograd would store every intermediate of the largest array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from windward.surrogate.splits import Split

# Doubles per block of the largest intermediate (1 MiB): it stays in the cache, and the system need not find new pages for it.
BLOCK = 2**17
# Solves in a block at least: with a thousand observations fewer would not pay for reading the factor.
ROWS = 512
# On an accelerator a block must be large enough to occupy it: 1 GiB.
LARGE_BLOCK = 2**27
# Columns of a triangle multiplied at once: half of it is zeros, and of many strips most zeros are left out.
STRIP = 256
# Observations from which on products with a triangle are worth saving by strips, by single precision or not at all.
LARGE = 2 * STRIP


@dataclass(frozen=True)
class Observations:
    """What mean and deviation need of a fitted process, in scaled inputs, and the units of its outcomes."""

    z: Tensor  # "n d", decisions over their length-scales
    rates: Tensor  # "d", one over the length-scales
    inverse: Tensor  # "n n", the inverse of the lower Cholesky factor
    alpha: Tensor  # "n"
    amplitude: float
    origin: float = 0.0  # the prior mean, in the outcome's units
    scale: float = 1.0  # one standardised unit, in the outcome's
    least: float = 0.0  # the least variance, standardised
    # For a draft K^-1 may stand in for L^-1, with fewer digits: a gradient then needs one product, not two.
    rough: bool = False
    # For a draft's draft many observations may be solved for in single precision, at half the price.
    single: bool = False
    share: float = 0.0  # of the decisions' factor, that is the same for all decisions

    @property
    def floor(self) -> float:
        """A deviation up to this is that of the least variance; a root may be off in its last bit."""
        return math.sqrt(self.least) * (1.0 + 1e-12)

    @cached_property
    def constants(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """-|z|^2 / 2 and alpha in the outcome's units, `"n"` each; the prior mean in them, and the prior variance."""
        squares, unit = self.z.square().sum(-1), self.alpha.new_tensor
        weights = self.alpha * self.amplitude * self.scale
        return squares.mul_(-0.5), weights, unit(self.origin), unit(self.amplitude)

    @cached_property
    def single_inverse(self) -> Tensor:
        """The inverse in single precision."""
        return self.inverse.float()

    @cached_property
    def precision(self) -> Tensor:
        """The inverse of the covariance of the observations."""
        return self.inverse.T @ self.inverse


def product_marginals(x: Tensor, observations: Observations, parts: Split) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation for `x` `"b d"` at every context, in the outcome's units; `"b m"` each."""
    return _ProductMarginals.apply(x, observations, parts)  # type: ignore[no-any-return, no-untyped-call]


def blocks(count: int, rank: int, n: int, device: torch.device) -> list[slice]:
    """Return slices of `count` decisions whose largest intermediate, `rank` by `n` each, fits a block."""
    size = max(1, (BLOCK if device.type == "cpu" else LARGE_BLOCK) // max(1, rank * n), ROWS // max(1, rank))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def times_transposed(rows: Tensor, lower: Tensor, out: Tensor | None = None) -> Tensor:
    """Return `rows` `"*b n"` times the transpose of a lower triangle `"n n"`, in `out` where that is given."""
    n = len(lower)
    flat = rows.reshape(-1, n)
    out = torch.empty_like(flat) if out is None else out.reshape(-1, n)
    strip = STRIP if n >= LARGE and rows.device.type == "cpu" else n
    for start in range(0, n, strip):
        stop = min(start + strip, n)
        torch.mm(flat[:, :stop], lower[start:stop, :stop].T, out=out[:, start:stop])
    return out.reshape(rows.shape)


def times_lower(rows: Tensor, lower: Tensor) -> Tensor:
    """Return `rows` `"*b n"` times a lower triangle `"n n"`."""
    n = len(lower)
    flat = rows.reshape(-1, n)
    if n < LARGE or rows.device.type != "cpu":
        return (flat @ lower).reshape(rows.shape)
    out = torch.empty_like(flat)
    for start in range(0, n, STRIP):
        stop = min(start + STRIP, n)
        torch.mm(flat[:, start:], lower[start:, start:stop], out=out[:, start:stop])
    return out.reshape(rows.shape)


class Decisions:
    """The state of one evaluation: factors `kx` `"b n"` of the decisions against the observations, their solves, and what
    the gradient needs. `keep` where one will be asked for; `whole` where K^-1 stands in for L^-1.
    """  # noqa: D205

    def __init__(self, x: Tensor, observations: Observations, inner: Tensor) -> None:
        self.observations, self.inner, self.keep = observations, inner, x.requires_grad
        # With u = kx * inner the Gram matrix is u K^-1 u', its gradient in u then K^-1 u', which is there already; by the
        # factor's inverse it is t t' with twice the digits, and its gradient is one more product.
        self.whole = self.keep and observations.rough and len(observations.inverse) < LARGE
        self.single = not self.keep and observations.single and len(observations.inverse) >= LARGE
        self.z = x * observations.rates
        kx = torch.addmm(observations.constants[0], self.z, observations.z.T)
        kx.sub_(self.z.square().sum(-1, keepdim=True), alpha=0.5)
        self.kx = self.steep = kx.clamp_max_(0.0).exp_()
        if observations.share:
            self.steep = kx.mul_(1.0 - observations.share)
            self.kx = self.steep + observations.share
        self.solved: list[tuple[slice, Tensor]] = []

    def solves(self) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Yield u and t `"b r n"`, block by block, with the Gram matrix u t' of the solves L^-1 (kx * inner_r).

        They are these solves, both of them; where `whole`, kx * inner and its product with K^-1.
        """
        parts = blocks(len(self.kx), len(self.inner), self.inner.shape[1], self.kx.device)
        kx, inner, inverse = self.kx, self.inner, self.observations.inverse
        if self.single:
            kx, inner, inverse = kx.float(), inner.float(), self.observations.single_inverse
        # Without a gradient to come all blocks are written over the first: fresh memory costs as much as the products.
        spare = None if self.keep or len(parts) < 2 else kx.new_empty(2, parts[0].stop, *inner.shape)
        for block in parts:
            here = kx if len(parts) == 1 else kx[block]
            if spare is None:
                u, t = here.unsqueeze(1) * inner, None
            else:
                u, t = spare[:, : len(here)]
                torch.mul(here.unsqueeze(1), inner, out=u)
            if self.whole:
                # As one matrix: a batch of products with the same one is several times slower.
                t = (u.reshape(-1, u.shape[-1]) @ self.observations.precision).reshape(u.shape)
            else:
                u = t = times_transposed(u, inverse, t)
            if self.keep:
                self.solved.append((block, t))
            yield block, u, t

    def gradient(self, grad_kx: Tensor, pulls: Iterator[Tensor]) -> Tensor:
        """Return the gradient in the decisions, given that in `kx` and, for each block, the product S t.

        S is the symmetric gradient in the Gram matrix G = t t', of which t has 2 S t: the factor 2 is put in here.
        """
        for (block, _), pull in zip(self.solved, pulls, strict=True):
            grad_u = pull if self.whole else times_lower(pull, self.observations.inverse)
            grad_kx[block].add_(grad_u.mul_(self.inner).sum(-2), alpha=2.0)
        pull = grad_kx.mul_(self.steep)
        grad_z = (pull @ self.observations.z).addcmul_(pull.sum(-1, keepdim=True), self.z, value=-1.0)
        return grad_z.mul_(self.observations.rates)


class _ProductMarginals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, observations: Observations, parts: Split) -> tuple[Tensor, Tensor]:
        _, weights, origin, prior = observations.constants
        decisions = Decisions(x, observations, parts.inner)
        mean = torch.addmm(origin, decisions.kx * weights, parts.kc.T)
        std, factor = torch.empty_like(mean), -(observations.amplitude**2)
        for block, u, t in decisions.solves():
            if parts.outer is None:
                torch.add(prior, (u * t).sum(-1).to(std), alpha=factor, out=std[block])
            else:
                parts.recombined.put(std[block], prior, factor, torch.bmm(u, t.mT).to(std))
        std.clamp_min_(observations.least).sqrt_()
        ctx.kept = (decisions, parts, std, factor)
        return mean, std * observations.scale if decisions.keep else std.mul_(observations.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_std: Tensor) -> tuple[Tensor, None, None]:
        decisions, parts, std, factor = ctx.kept
        observations = decisions.observations
        grad_kx = (grad_mean @ parts.kc).mul_(observations.constants[1])
        # d std / d variance = 1 / (2 std), and nothing where the variance is rounding.
        grad = (grad_std / std).mul_(0.5 * factor * observations.scale)
        grad.masked_fill_(std <= observations.floor, 0.0)
        if parts.outer is None:
            pulls = (t * grad[block].unsqueeze(-1) for block, t in decisions.solved)
        else:
            pulls = (torch.bmm(parts.recombined.spread(grad[block]), t) for block, t in decisions.solved)
        return decisions.gradient(grad_kx, pulls), None, None
