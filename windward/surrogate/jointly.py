"""Averages of f over contexts, jointly at two decisions, in closed form.

    g(x) = sum_i w_i f(x, c_i)         Cov[g(x), g'(x')] = prior - b(x)' (K + N)^-1 b'(x')
    prior = a sum_ij w_i w'_j k(|x - x'|^2 + |c_i - c_j|^2)      b(x)_n = a sum_i w_i k((x, c_i), observation n)

Weights need not be a distribution: with the gradient of an objective in the values of f as weights, this is the objective
to first order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from windward.surrogate.kernel import kernel_value, squared_distances
from windward.surrogate.marginals import blocks

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior


def covariance_of_averages(
    posterior: GaussianPosterior, points: Tensor, one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]
) -> Tensor:
    """Return the covariance of two weighted sums of f over contexts `"n k"`, row by row; `"b"`.

    Each sum is a pair of decisions `"b d"` and weights `"b n"`; one row goes with all rows of the other.
    """
    device = posterior.zx.device
    zc = posterior.inputs.c(points)
    (x, weights), (y, shares) = ((at.to(device), w.to(device)) for at, w in (one, other))
    zx, zy = posterior.inputs.x(x), posterior.inputs.x(y)
    whitened = _blended(posterior, zx, zc, weights) @ posterior.inverse.T
    same = zx is zy or (x is y and weights is shares)
    beside = whitened if same else _blended(posterior, zy, zc, shares) @ posterior.inverse.T
    apart = torch.zeros(1, dtype=zx.dtype, device=device) if x is y else (zx - zy).square().sum(-1)
    prior = _between(posterior, zc, apart, weights, shares)
    covariance = prior - (whitened * beside).sum(-1)
    return covariance * posterior.scale * posterior.scale  # a scale of 1e200 has no square


def _between(posterior: GaussianPosterior, zc: Tensor, apart: Tensor, weights: Tensor, shares: Tensor) -> Tensor:
    """Return the prior covariance of two sums whose decisions are `apart` `"b"` in squared length-scales."""
    amplitude, squared = posterior.hyperparameters.amplitude, squared_distances(zc, zc)
    if posterior.kernel == "squared_exponential" or not bool(apart.any()):
        within = ((weights @ posterior.over_c(squared)) * shares).sum(-1)
        return amplitude * posterior.over_x(apart) * within
    rows = max(len(apart), len(weights), len(shares))
    apart, weights, shares = (each.expand(rows, *each.shape[1:]) for each in (apart, weights, shares))
    found = [  # a kernel that does not factorise: one matrix for each distance
        (w @ kernel_value(posterior.kernel, squared + s)) @ v for s, w, v in zip(apart, weights, shares, strict=True)
    ]
    return amplitude * torch.stack(found)


def _blended(posterior: GaussianPosterior, zx: Tensor, zc: Tensor, weights: Tensor) -> Tensor:
    """Return the prior covariance of each sum with the observations; `"b n"`."""
    amplitude = posterior.hyperparameters.amplitude
    sx, sc = squared_distances(zx, posterior.zx), squared_distances(zc, posterior.zc)
    if posterior.kernel == "squared_exponential":
        return amplitude * posterior.over_x(sx) * (weights @ posterior.over_c(sc))
    rows = max(len(sx), len(weights))
    sx, weights = sx.expand(rows, -1), weights.expand(rows, -1)
    parts = blocks(rows, len(zc), posterior.size, sx.device)
    each = [(kernel_value(posterior.kernel, sx[some, None, :] + sc) * weights[some, :, None]).sum(-2) for some in parts]
    return amplitude * torch.cat([sx.new_zeros(0, posterior.size), *each])
