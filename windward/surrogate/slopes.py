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

from windward.surrogate.kernel import kernel_value, lifted, product_and_slope, squared_distances
from windward.surrogate.marginals import Decisions, Observations, times_lower, times_transposed
from windward.surrogate.splits import SPLIT_RESIDUAL, Forms, quadratic_forms, rough_split, split

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior


class ContextSlopes(NamedTuple):
    """Mean and deviation `"*b n"`, and their gradients in the context `"*b n k"`, per unit of the context."""

    mean: Tensor
    std: Tensor
    mean_gradient: Tensor
    std_gradient: Tensor


def context_slopes(
    posterior: GaussianPosterior, x: Tensor, points: Tensor, observations: Observations
) -> ContextSlopes:
    """Return mean, deviation and their context gradients for decisions `"b d"` and contexts `"n k"`, in the outcome's units."""
    if posterior.kernel == "squared_exponential" and posterior.splits(points, len(x), "slopes"):
        mean, std, *gradients = _Slopes.apply(x, observations, posterior.sloped(points))  # type: ignore[no-untyped-call]
        return ContextSlopes(mean, std, *(gradient.mT for gradient in gradients))
    mean, variance, mean_gradient, variance_gradient = _directly(posterior, x, points)
    std, scale = variance.clamp_min(observations.least).sqrt(), observations.scale
    # Where the variance is rounding its slope is too.
    rising = (variance > observations.least)[..., None]
    std_gradient = torch.where(rising, variance_gradient / (2.0 * std[..., None]), 0.0)
    return ContextSlopes(mean * scale + observations.origin, std * scale, mean_gradient * scale, std_gradient * scale)


@dataclass(frozen=True)
class SlopedContexts:
    """What every decision shares: context factors and their slopes `"(1 + k) m, n"`, values first; split, and in pairs."""

    stacked: Tensor
    inner: Tensor  # "r n"
    count: int  # contexts m
    forms: Forms  # of "(1 + k) m" rows: value with value, then value with each slope

    @staticmethod
    def of(zc: Tensor, observed: Tensor, rates: Tensor, residual: float, share: float = 0.0) -> SlopedContexts:
        """Return them for scaled contexts `"m k"` and observed ones `"n k"`, slopes per unit of the context.

        `share` is that of the contexts' factor which is the same everywhere.
        """

        def factors(z: Tensor) -> Tensor:
            kc = kernel_value("squared_exponential", squared_distances(zc, z))
            steep = kc if share == 0.0 else (1.0 - share) * kc
            slopes = (-(steep * (zc[:, None, column] - z[:, column])) * rate for column, rate in enumerate(rates))
            return torch.cat([lifted(kc, share), *slopes])

        parts = (
            rough_split(factors, zc, observed, residual, share)
            if residual > SPLIT_RESIDUAL
            else split(factors(observed), residual)
        )
        stacked, outer, inner = parts.kc, parts.outer, parts.inner
        if outer is None:  # no low rank: every observation is a column of its own
            outer, inner = stacked, torch.eye(stacked.shape[1], dtype=stacked.dtype, device=stacked.device)
        own = outer[: len(zc)].repeat(1 + zc.shape[1], 1)
        return SlopedContexts(stacked, inner, len(zc), quadratic_forms(own, outer))


def _directly(posterior: GaussianPosterior, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    amplitude = posterior.hyperparameters.amplitude
    zc = posterior.inputs.c(points)
    sx, sc = squared_distances(posterior.inputs.x(x), posterior.zx)[:, None, :], squared_distances(zc, posterior.zc)
    k, steep = product_and_slope(posterior.kernel, sx, sc, posterior.hyperparameters.shares)  # "b m n"
    k, steep = amplitude * k, 2.0 * amplitude * steep
    inverse = posterior.inverse
    if k.requires_grad:
        solved = k @ inverse.T
        weights = solved @ inverse  # (K + N)^-1 k, once in place of L^-1 of every slope
    else:
        solved = times_transposed(k, inverse)
        weights = times_lower(solved, inverse)
    gaps = (zc[:, None, :] - posterior.zc) * posterior.inputs.c_rates  # "m n k"
    means, crossed = [], []
    for gap in gaps.unbind(-1):
        slope = steep * gap
        means.append(slope @ posterior.alpha)
        crossed.append((slope * weights).sum(-1))
    empty = k.new_zeros(*k.shape[:2], 0)
    return (
        k @ posterior.alpha,
        amplitude - solved.square().sum(-1),
        torch.stack(means, -1) if means else empty,
        -2.0 * torch.stack(crossed, -1) if crossed else empty,
    )


class _Slopes(torch.autograd.Function):
    """Mean and deviation `"b m"` and their gradients in the context `"b k m"`, with the gradient of it all written out."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, observations: Observations, shared: SlopedContexts
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        _, weights, origin, prior = observations.constants
        decisions = Decisions(x, observations, shared.inner)
        means = (decisions.kx * weights) @ shared.stacked.T  # "b, (1 + k) m"
        # The variance, and half of its gradients.
        found, factor = torch.empty_like(means), -(observations.amplitude**2)
        base = torch.zeros_like(means[0]) if len(means) else means.new_zeros(means.shape[1])
        base[: shared.count] = prior
        for block, u, t in decisions.solves():
            shared.forms.put(found[block], base, factor, torch.bmm(u, t.mT).to(found))
        std = found[:, : shared.count].clamp_min_(observations.least).sqrt_()
        rest = (len(x), means.shape[1] // shared.count - 1, shared.count)
        # d std = d variance / (2 std); where the variance is rounding its slope is too.
        steep = found[:, shared.count :].reshape(rest) / std.unsqueeze(1)
        steep.masked_fill_((std <= observations.floor).unsqueeze(1), 0.0)
        ctx.kept = (decisions, shared, std, steep, factor)
        scale = observations.scale
        return means[:, : shared.count] + origin, std * scale, means[:, shared.count :].reshape(rest), steep * scale

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_mean: Tensor, grad_std: Tensor, grad_mean_gradient: Tensor, grad_steep: Tensor
    ) -> tuple[Tensor, None, None]:
        decisions, shared, std, steep, factor = ctx.kept
        observations = decisions.observations
        grad_means = torch.cat([grad_mean, grad_mean_gradient.flatten(1)], 1)
        grad_kx = (grad_means @ shared.stacked).mul_(observations.constants[1])
        grad_rest = grad_steep / std.unsqueeze(1)
        grad_variance = (grad_std - (grad_rest * steep).sum(1)).div_(std).mul_(0.5)
        grad = torch.cat([grad_variance.unsqueeze(1), grad_rest], 1).mul_(factor * observations.scale)
        grad = grad.masked_fill_((std <= observations.floor).unsqueeze(1), 0.0).flatten(1)
        pulls = (torch.bmm(shared.forms.spread(grad[block]), t) for block, t in decisions.solved)
        return decisions.gradient(grad_kx, pulls), None, None
