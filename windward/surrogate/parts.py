"""The covariance of a kernel with parts, and what its gradient is made of.

A = X * C + noise,   X = s_x + (1 - s_x) K_x,   C = s_c + (1 - s_c) K_c        elementwise

dA / d logit s_x = s_x (1 - s_x) (1 - K_x) * C            and with c in place of x
dA / d log l_g   = (1 - s_x) K_x * S_g * C                S_g the part of the squared distance in group g of the decisions
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from windward.search.bfgs import Array
from windward.surrogate.kernel import KernelName, kernel_slope, kernel_value, lifted


class Parted(NamedTuple):
    """The covariance without noise, its slopes in the two squared distances, its derivatives in the logits; `"b n n"` each."""

    covariance: Tensor
    slopes: tuple[Tensor, Tensor]
    by_logit: tuple[Tensor, Tensor]


def parted(kernel: KernelName, sx: Tensor, sc: Tensor, shares: Array) -> Parted:
    """Return them for squared distances `"b n n"` of decisions and of contexts, and shares `"b 2"`."""
    kx, kc = kernel_value(kernel, sx), kernel_value(kernel, sc)
    x_share, c_share = torch.from_numpy(shares).to(sx)[:, :, None, None].unbind(1)
    x, c = lifted(kx, x_share), lifted(kc, c_share)
    steep_x, steep_c = (1.0 - x_share) * kernel_slope(kernel, sx, kx), (1.0 - c_share) * kernel_slope(kernel, sc, kc)
    return Parted(
        x * c,
        (steep_x * c, x * steep_c),
        (x_share * (1.0 - x_share) * (1.0 - kx) * c, c_share * (1.0 - c_share) * (1.0 - kc) * x),
    )


def parted_value(kernel: KernelName, sx: Tensor, sc: Tensor, shares: Array) -> Tensor:
    """Return the covariance alone."""
    factors = zip(
        (sx, sc), torch.from_numpy(np.ascontiguousarray(shares)).to(sx)[:, :, None, None].unbind(1), strict=True
    )
    x, c = (lifted(kernel_value(kernel, s), share) for s, share in factors)
    return x * c
