"""Test functions of global optimization, each in its usual sign and units: smaller is better unless the docstring says so.

Decisions and contexts enter apart wherever their parts add or multiply, so that a table of many decisions by many contexts
costs one pass over it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Hartmann in three and six dimensions: heights, rates A and places P. The second height is the standard 1.2.
HEIGHTS = torch.tensor([1.0, 1.2, 3.0, 3.2], dtype=torch.float64)
RATES_3 = torch.tensor([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]], dtype=torch.float64)
PLACES_3 = 1e-4 * torch.tensor(
    [[3689.0, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]], dtype=torch.float64
)
RATES_6 = torch.tensor(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]],
    dtype=torch.float64,
)
PLACES_6 = 1e-4 * torch.tensor(
    [
        [1312.0, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ],
    dtype=torch.float64,
)


def ackley(x: Tensor, c: Tensor) -> Tensor:
    """Return Ackley of the joined inputs, each scaled from [0, 1] to [-32.768, 32.768]."""
    width = x.shape[-1] + c.shape[-1]
    x, c = 65.536 * x - 32.768, 65.536 * c - 32.768
    squares = x.square().sum(-1) + c.square().sum(-1)
    waves = torch.cos(2.0 * math.pi * x).sum(-1) + torch.cos(2.0 * math.pi * c).sum(-1)
    # The gradient of the root at the origin is taken as zero: 1e-300 keeps it finite and changes no value.
    radius = (squares / width).clamp_min(1e-300).sqrt()
    return -20.0 * torch.exp(-0.2 * radius) - torch.exp(waves / width) + 20.0 + math.e


def branin(u: Tensor, v: Tensor) -> Tensor:
    """Return Branin at u in [-5, 10], v in [0, 15]."""
    valley = v - 5.1 / (4.0 * math.pi**2) * u.square() + 5.0 / math.pi * u - 6.0
    return valley.square() + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * torch.cos(u) + 10.0


def hartmann(x: Tensor, c: Tensor, rates: Tensor, places: Tensor) -> Tensor:
    """Return Hartmann's sum of four hills of the joined inputs; larger is better."""
    split = x.shape[-1]
    exponent = (rates[:, :split] * (x[..., None, :] - places[:, :split]).square()).sum(-1)
    if c.shape[-1]:
        exponent = exponent + (rates[:, split:] * (c[..., None, :] - places[:, split:]).square()).sum(-1)
    return torch.exp(-exponent) @ HEIGHTS


def three_humps(u: Tensor, v: Tensor) -> Tensor:
    """Return the three-hump camel function."""
    return 2.0 * u.square() - 1.05 * u.pow(4) + u.pow(6) / 6.0 + u * v + v.square()


def beale(z: Tensor) -> Tensor:
    """Return Beale's function of two inputs; 0 at (3, 0.5)."""
    u, v = z[..., 0], z[..., 1]
    return (1.5 - u + u * v).square() + (2.25 - u + u * v.square()).square() + (2.625 - u + u * v.pow(3)).square()


def eggholder(z: Tensor) -> Tensor:
    """Return the egg holder of two inputs; -959.6407 at (512, 404.2319)."""
    u, v = z[..., 0], z[..., 1]
    outer = (v + u / 2.0 + 47.0).abs().clamp_min(1e-300).sqrt()
    inner = (u - v - 47.0).abs().clamp_min(1e-300).sqrt()
    return -(v + 47.0) * torch.sin(outer) - u * torch.sin(inner)


def levy(z: Tensor) -> Tensor:
    """Return Levy's function; 0 at (1, ..., 1)."""
    w = 1.0 + (z - 1.0) / 4.0
    first = torch.sin(math.pi * w[..., 0]).square()
    middle = (w[..., :-1] - 1.0).square() * (1.0 + 10.0 * torch.sin(math.pi * w[..., :-1] + 1.0).square())
    last = (w[..., -1] - 1.0).square() * (1.0 + torch.sin(2.0 * math.pi * w[..., -1]).square())
    return first + middle.sum(-1) + last
