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
# Fragilities beyond this, per unit of 1 + |target|, are compressed into twice of it, so that a shortfall can lie below all.
FRAGILE = 1e6


def satisficing(ball: Ball, values: Tensor, weights: Tensor, target: float) -> Tensor:
    """Return k for values `"*b n"`; where p.f < target, the shortfall p.f - target put below every k."""
    rows = values.reshape(-1, values.shape[-1])
    limit = FRAGILE * (1.0 + abs(target))
    mean = rows @ weights
    misses = mean.detach() < target
    radius = torch.zeros_like(mean)
    met = (~misses).nonzero()[:, 0]
    if len(met):
        with torch.no_grad():
            radius[met] = _crossing(ball, rows.detach()[met], target)
    fragility = torch.zeros_like(mean)
    tight = (radius > 0).nonzero()[:, 0]
    if len(tight):
        k = ((ball(rows[tight], radius[tight]).value - target) / radius[tight]).clamp_max(0.0)
        squeezed = -limit - limit * (1.0 - limit / k.clamp_max(-limit).abs())
        fragility = fragility.index_put((tight,), torch.where(k >= -limit, k, squeezed))
    return torch.where(misses, mean - target - 2.0 * limit, fragility).reshape(values.shape[:-1])


def reported(k: Tensor, target: float) -> Tensor:
    """Return what a person is shown: the fragility, or the plain shortfall p.f - target where the target is missed."""
    limit = FRAGILE * (1.0 + abs(target))
    return torch.where(k < -2.0 * limit, k + 2.0 * limit, k)


def _crossing(ball: Ball, rows: Tensor, target: float) -> Tensor:
    """Return the radius where v(r) + r s(r) falls to the target; 0 where it never does."""

    def above(radius: Tensor) -> Tensor:
        worst = ball(rows, radius)
        slope = torch.where(radius > 0, radius * worst.multiplier, 0.0)
        return worst.value + slope >= target

    high = torch.full_like(rows[:, 0], 1e-6)
    for _ in range(STEPS):
        beyond = above(high)
        if not bool(beyond.any()):
            break
        high = torch.where(beyond, GROWTH * high, high)
    reached = ~above(high)  # elsewhere even the least value meets the target
    low = torch.zeros_like(high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        over = above(middle)
        low, high = torch.where(over, middle, low), torch.where(over, high, middle)
    return torch.where(reached, high, 0.0)
