"""What a model must beat to deserve belief: a constant, and a plane over decisions and contexts, judged in the same way.

Both are Gaussian processes of their own, y = m + w'u + e with w ~ N(0, r v I), e ~ N(0, v I) and u the columns over their
deviations; a constant has r = 0. With U S V' the centred columns and g = r S^2 / (1 + r S^2),

    P = (C - U g U') / v,   C = I - 1 1' / n,   v = y' (C - U g U') y / (n - 1)

and r is the most likely of a few, the mean integrated out. The prior on the slopes keeps a plane with more columns than rows
defined, as it does one with a choice that was seen once.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.surrogate import LeftOut

# Slopes' variances over that of the noise: from none at all to a plane that nearly interpolates.
RATIOS = (0.0, *torch.logspace(-4.0, 4.0, 25, dtype=torch.float64).tolist())
# A column that varies less than this, relative to its size, is constant.
CONSTANT = 1e-12
# The least share of the variance that is noise, as for the process itself: a plane that fits exactly has a finite score.
LEAST_NOISE = 1e-4


def constant_left_out(y: Tensor) -> LeftOut:
    """Return each of `"n"` values predicted by the mean of the others.

    >>> constant_left_out(torch.tensor([1.0, 2.0, 6.0], dtype=torch.float64)).mean
    tensor([4.0000, 3.5000, 1.5000], dtype=torch.float64)
    """
    return plane_left_out(y.new_zeros(len(y), 1), y)


def plane_left_out(columns: Tensor, y: Tensor) -> LeftOut:
    """Return each of `"n"` values predicted by a plane through the others, over columns `"n D"`."""
    n, size = len(y), y.abs().max()  # squares of 1e-200 would be zero
    centred = y / size - (y / size).mean()
    spread = columns.std(0)
    varying = spread > CONSTANT * columns.abs().amax(0)
    scaled = (columns - columns.mean(0))[:, varying] / spread[varying]
    u, s, _ = torch.linalg.svd(scaled, full_matrices=False)
    along = u.T @ centred
    strength = torch.tensor(RATIOS, dtype=y.dtype, device=y.device)[:, None] * s.square()  # "r D"
    least = LEAST_NOISE * centred.square().sum() / (n - 1)
    variance = (centred.square().sum() - (along.square() * strength / (1.0 + strength)).sum(1)) / (n - 1)
    variance = variance.clamp_min(least)
    density = -0.5 * ((n - 1) * variance.log() + strength.log1p().sum(1))
    best = int(density.argmax())
    kept, v = strength[best] / (1.0 + strength[best]), variance[best]
    pulled = (centred - u @ (kept * along)) / v
    precision = (1.0 - 1.0 / n - (u.square() * kept).sum(1)) / v
    return LeftOut(y, y - size * pulled / precision, size * precision.rsqrt(), float(centred @ pulled), n - 1)
