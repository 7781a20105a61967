"""Robust satisficing: the least fragility with which a target is met.

    k = min(0, inf_{r > 0} (v(r) - target) / r)

v is convex, so (v(r) - target) / r has its infimum where the tangent of v at r passes through (0, target): where
v(r) + r s(r) = target, s = -v'(r+). That sum falls as r grows, from p.f to the least reachable value; its crossing is
found by bisection and the answer is (v - target) / r there, not -s, from which it differs at the kinks of v.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.divergences import Ball

# Steps that bracket the crossing, eightfold each from 1e-6 (so up to 1e12), and halvings that find it to 1e-10 of itself:
# the quotient is flat there, or at a kink as exact.
GROWTH, STEPS = 8.0, 20
HALVINGS = 36
# How far below a decision that meets the target one that misses it is put, per unit of the values' size.
DEMOTION = 1e9


def satisficing(ball: Ball, values: Tensor, weights: Tensor, target: float) -> Tensor:
    """Return k for values `"*b n"`; where p.f < target, the shortfall pushed below every k."""
    rows = values.reshape(-1, values.shape[-1])
    with torch.no_grad():
        mean = rows @ weights
        misses = mean < target
        size = torch.maximum(rows.abs().amax(-1), torch.full_like(mean, abs(target))).clamp_min(1e-300)
        radius = _crossing(ball, rows, target, ~misses)
    worst = ball(rows, torch.where(radius > 0, radius, 1.0))
    fragility = torch.where(radius > 0, (worst.value - target) / torch.where(radius > 0, radius, 1.0), 0.0)
    shortfall = (rows @ weights - target) - DEMOTION * size
    return torch.where(misses, shortfall, fragility.clamp_max(0.0)).reshape(values.shape[:-1])


def _crossing(ball: Ball, rows: Tensor, target: float, open_rows: Tensor) -> Tensor:
    """Return the radius where v(r) + r s(r) falls to the target; 0 where it never does or the row is not open."""

    def above(radius: Tensor) -> Tensor:
        worst = ball(rows, radius)
        slope = torch.where(radius > 0, radius * worst.multiplier, 0.0)
        return worst.value + slope >= target

    high = torch.full_like(rows[:, 0], 1e-6)
    for _ in range(STEPS):
        beyond = above(high) & open_rows
        if not bool(beyond.any()):
            break
        high = torch.where(beyond, GROWTH * high, high)
    reached = open_rows & ~above(high)  # elsewhere even the least value meets the target
    low = torch.zeros_like(high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        over = above(middle)
        low, high = torch.where(over, middle, low), torch.where(over, high, middle)
    return torch.where(reached, high, 0.0)
