"""Posterior mean and deviation with their gradients in the context, everything differentiable in the decision.

    d k / d c  = 2 amplitude k'(s) (z_c - z_ci) * rate                      the kernel against observation i
    d mean     = sum_i alpha_i d k_i
    d var      = -2 (L^-1 d k) . (L^-1 k),       d std = d var / (2 std)

For the squared exponential k and d k share the decision's factor, so one split of the stacked context factors and one
Gram matrix per decision give all of it (see `marginals.py`); the split is made once for the contexts of a suggestion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from windward.surrogate.kernel import kernel_value, slope_value, squared_distances
from windward.surrogate.marginals import blocks
from windward.surrogate.splits import SPLIT_RESIDUAL, Forms, quadratic_forms, rough_split, split

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior


class ContextSlopes(NamedTuple):
    """Mean and deviation `"*b n"`, and their gradients in the context `"*b n k"`, per unit of the context."""

    mean: Tensor
    std: Tensor
    mean_gradient: Tensor
    std_gradient: Tensor


def context_slopes(posterior: GaussianPosterior, x: Tensor, points: Tensor, least: float) -> ContextSlopes:
    """Return mean, deviation and their context gradients for decisions `"b d"` and contexts `"n k"`, standardised."""
    if posterior.kernel == "squared_exponential" and posterior.splits(points, len(x), "slopes"):
        mean, variance, mean_gradient, variance_gradient = _by_products(posterior, x, points)
    else:
        mean, variance, mean_gradient, variance_gradient = _directly(posterior, x, points)
    std = variance.clamp_min(least).sqrt()
    # Where the variance is rounding its slope is too.
    std_gradient = torch.where((variance > least)[..., None], variance_gradient / (2.0 * std[..., None]), 0.0)
    return ContextSlopes(mean, std, mean_gradient, std_gradient)


@dataclass(frozen=True)
class SlopedContexts:
    """What every decision shares: context factors and their slopes `"(1 + k) m, n"`, values first; split, and in pairs."""

    stacked: Tensor
    inner: Tensor  # "r n"
    forms: Forms  # of "(1 + k) m" rows: value with value, then value with each slope

    @staticmethod
    def of(zc: Tensor, observed: Tensor, rates: Tensor, residual: float) -> SlopedContexts:
        """Return them for scaled contexts `"m k"` and observed ones `"n k"`, slopes per unit of the context."""

        def factors(z: Tensor) -> Tensor:
            kc = kernel_value("squared_exponential", squared_distances(zc, z))
            slopes = (-(kc * (zc[:, None, column] - z[:, column])) * rate for column, rate in enumerate(rates))
            return torch.cat([kc, *slopes])

        parts = (
            rough_split(factors, zc, observed, residual) if residual > SPLIT_RESIDUAL else split(factors(observed), residual)
        )
        stacked, outer, inner = parts.kc, parts.outer, parts.inner
        if outer is None:  # no low rank: every observation is a column of its own
            outer, inner = stacked, torch.eye(stacked.shape[1], dtype=stacked.dtype, device=stacked.device)
        own = outer[: len(zc)].repeat(1 + zc.shape[1], 1)
        return SlopedContexts(stacked, inner, quadratic_forms(own, outer))


def _by_products(posterior: GaussianPosterior, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    amplitude, (m, k) = posterior.hyperparameters.amplitude, points.shape
    shared = posterior.sloped(points)
    kx = kernel_value(posterior.kernel, squared_distances(posterior.inputs.x(x), posterior.zx))
    means = amplitude * (kx * posterior.alpha) @ shared.stacked.T  # "b, (1 + k) m"
    forms: Tensor = _Quadratic.apply(kx, shared, posterior.inverse)  # type: ignore[no-untyped-call]
    mean_gradient, crossed = means[:, m:].reshape(len(x), k, m).mT, forms[:, m:].reshape(len(x), k, m).mT
    return means[:, :m], amplitude - amplitude**2 * forms[:, :m], mean_gradient, -2.0 * amplitude**2 * crossed


def _directly(posterior: GaussianPosterior, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    amplitude = posterior.hyperparameters.amplitude
    zc = posterior.inputs.c(points)
    s = squared_distances(posterior.inputs.x(x), posterior.zx)[:, None, :] + squared_distances(zc, posterior.zc)
    k = amplitude * kernel_value(posterior.kernel, s)  # "b m n"
    steep = 2.0 * amplitude * slope_value(posterior.kernel, s)
    solved = k @ posterior.inverse.T
    gaps = (zc[:, None, :] - posterior.zc) * posterior.inputs.c_rates  # "m n k"
    means, crossed = [], []
    for gap in gaps.unbind(-1):
        slope = steep * gap
        means.append(slope @ posterior.alpha)
        crossed.append(((slope @ posterior.inverse.T) * solved).sum(-1))
    empty = s.new_zeros(*s.shape[:2], 0)
    return (
        k @ posterior.alpha,
        amplitude - solved.square().sum(-1),
        torch.stack(means, -1) if means else empty,
        -2.0 * torch.stack(crossed, -1) if crossed else empty,
    )


class _Quadratic(torch.autograd.Function):
    """The forms of t t' with t_r = L^-1 (kx * inner_r), `"b, (1 + k) m"`; for the gradient one large array is kept."""

    @staticmethod
    def forward(ctx: Any, kx: Tensor, shared: SlopedContexts, inverse: Tensor) -> Tensor:
        inner, forms = shared.inner, shared.forms
        if not kx.requires_grad:
            parts = blocks(len(kx), inner.shape[0], inner.shape[1], kx.device)
            solved = ((kx[some, None, :] * inner) @ inverse.T for some in parts)
            return torch.cat([forms.forms(t @ t.mT) for t in solved])
        t = (kx[:, None, :] * inner) @ inverse.T
        ctx.kept = (t, shared, inverse)
        return forms.forms(t @ t.mT)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        t, shared, inverse = ctx.kept
        pulled = (shared.forms.spread(grad) @ t) @ inverse
        return pulled.mul_(shared.inner).sum(-2).mul_(2.0), None, None
