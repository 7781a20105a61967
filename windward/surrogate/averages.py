"""Averages of f over weighted contexts at several decisions: their joint posterior in closed form.

    g_s(x) = sum_i w_si f(x, c_i)
    mean     = m + k_s(x)' (K + N)^-1 (y - m),            k_s(x) = sum_i w_si k((x, c_i), .)
    cov      = sum_ij w_si w_sj k((x, c_i), (x', c_j)) - k_s(x)' (K + N)^-1 k_s(x')

For each set of weights the decisions are drawn together, so a difference between two of them has the deviation that it
should have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from windward.surrogate.kernel import kernel_value, squared_distances

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior

# A variance below this share of the amplitude is rounding; its square root keeps a finite slope.
LEAST_VARIANCE = 1e-14
# Contexts at once in the kernel between them (32 MiB).
BLOCK = 2048


def averages(posterior: GaussianPosterior, x: Tensor, points: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return means `"s m"` and covariances `"s m m"` of the averages at decisions `"m d"` by each of the weights `"s n"`."""
    zx, zc = posterior.inputs.x(x), posterior.inputs.c(points)
    amplitude, scale = posterior.hyperparameters.amplitude, posterior.scale
    blended = amplitude * _blended(posterior, zx, zc, weights)  # "s m N"
    mean = posterior.hyperparameters.mean + blended @ posterior.alpha
    solved = blended @ posterior.inverse.T
    covariance = amplitude * _prior(posterior, zx, zc, weights) - solved @ solved.mT
    return mean * scale + posterior.shift, covariance * scale * scale  # a scale of 1e200 has no square


def average_marginals(
    posterior: GaussianPosterior, x: Tensor, points: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Return means and deviations of the averages at decisions `"m d"` by each of the weights `"s n"`; `"s m"` each."""
    zx, zc = posterior.inputs.x(x), posterior.inputs.c(points)
    amplitude, scale = posterior.hyperparameters.amplitude, posterior.scale
    blended = amplitude * _blended(posterior, zx, zc, weights)
    mean = posterior.hyperparameters.mean + blended @ posterior.alpha
    prior = amplitude * _within(posterior, zc, weights, 0.0)[:, None]
    variance = (prior - (blended @ posterior.inverse.T).square().sum(-1)).clamp_min(0.0)
    return mean * scale + posterior.shift, variance.sqrt() * scale


def weighted_deviation(posterior: GaussianPosterior, x: Tensor, points: Tensor, weights: Tensor) -> Tensor:
    """Return the deviation of sum_i w_i f(x, c_i) at decisions `"b d"`, each with weights of its own `"b n"`; `"b"`.

    It is differentiable in the decisions; the weights are held.
    """
    zx, zc = posterior.inputs.x(x), posterior.inputs.c(points)
    amplitude = posterior.hyperparameters.amplitude
    sx, sc = squared_distances(zx, posterior.zx), squared_distances(zc, posterior.zc)
    if posterior.kernel == "squared_exponential":
        blended = posterior.over_x(sx) * (weights @ posterior.over_c(sc))
    else:
        blended = (kernel_value(posterior.kernel, sx[:, None, :] + sc) * weights[:, :, None]).sum(1)
    prior = amplitude * _within(posterior, zc, weights, 0.0)
    variance = prior - (amplitude * blended @ posterior.inverse.T).square().sum(-1)
    return variance.clamp_min(LEAST_VARIANCE * amplitude).sqrt() * posterior.scale


def _blended(posterior: GaussianPosterior, zx: Tensor, zc: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sums over contexts of the kernel to every observation, unit amplitude; `"s m N"`."""
    sx, sc = squared_distances(zx, posterior.zx), squared_distances(zc, posterior.zc)
    if posterior.kernel == "squared_exponential":
        return posterior.over_x(sx) * (weights @ posterior.over_c(sc))[:, None]
    return torch.stack([weights @ kernel_value(posterior.kernel, row + sc) for row in sx], dim=1)


def _prior(posterior: GaussianPosterior, zx: Tensor, zc: Tensor, weights: Tensor) -> Tensor:
    """Return the prior covariances of the averages, unit amplitude; `"s m m"`."""
    sx = squared_distances(zx, zx)
    sx.diagonal().zero_()
    if posterior.kernel == "squared_exponential":
        return posterior.over_x(sx) * _within(posterior, zc, weights, 0.0)[:, None, None]
    found = sx.new_empty(len(weights), len(zx), len(zx))
    for one in range(len(zx)):
        for other in range(one + 1):
            found[:, one, other] = found[:, other, one] = _within(posterior, zc, weights, float(sx[one, other]))
    return found


def _within(posterior: GaussianPosterior, zc: Tensor, weights: Tensor, apart: float) -> Tensor:
    """Return the mean of the kernel between two contexts drawn by the weights, at decisions so far apart (squared); `"s"`."""
    total = weights.new_zeros(len(weights))
    for some, shares in zip(torch.split(zc, BLOCK), torch.split(weights, BLOCK, dim=1), strict=True):
        size = max(1, BLOCK**2 // len(some))
        for others, theirs in zip(torch.split(zc, size), torch.split(weights, size, dim=1), strict=True):
            s = squared_distances(some, others).add_(apart)
            k = posterior.over_c(s) if posterior.separable else kernel_value(posterior.kernel, s)
            total += ((shares @ k) * theirs).sum(-1)
    return total
