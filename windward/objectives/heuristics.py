"""Published heuristics that stand in for an objective at the confidence bounds: they bound nothing, and say so.

BocuOne(...)          alpha v(u, r) + beta (v(u, r + h) - v(l, r)) / h     Tay2024, UCB-BOCU-1
BocuTwo(...)          alpha v(u, r) - beta multiplier(u, r)                Tay2024, UCB-BOCU-2
MidpointRobust(...)   the middle between two bounds of the MMD worst case  Tay2022
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.divergences import MMD, Divergence, Screening
from windward.divergences.mmd import MMDBall
from windward.objectives.protocol import Bound, Reduction, unturned
from windward.objectives.radii import Radius, check_radius, resolved
from windward.objectives.robust import Tradeoff, check_tradeoff
from windward.objectives.situation import Situation


@dataclass(frozen=True)
class BocuOne:
    """A stand-in for `Tradeoff` under confidence bounds, by a difference of two worst cases.

    alpha v(u, r) + beta (v(u, r + step) - v(l, r)) / step, u and l the confidence bounds (Tay2024, UCB-BOCU-1).
    """

    divergence: Divergence
    radius: Radius
    alpha: float = 1.0
    beta: float = 1.0
    step: float = 1e-3
    monotone: ClassVar[bool] = True  # meant for the confidence bounds: an upper bound of the difference quotient

    def __post_init__(self) -> None:
        check_tradeoff("BocuOne", self.divergence, self.radius, self.alpha, self.beta, slope=False)
        arguments.number("BocuOne", "step", self.step, low=0.0, open_low=True)

    def bind(self, situation: Situation) -> Reduction:
        """Return the heuristic, which asks for a lower bound."""
        ball, weights = situation.ball(self.divergence), situation.contexts.weights
        radius = resolved("BocuOne", self.radius, situation)
        alpha, rate = self.alpha, self.beta / self.step
        if rate == 0.0:
            return Tradeoff(self.divergence, self.radius, alpha, 0.0).bind(situation)

        def reduce(upper: Tensor, lower: Tensor) -> Tensor:
            rise = rate * (ball(upper, radius + self.step).value - ball(lower, radius).value)
            return rise if alpha == 0.0 else alpha * ball(upper, radius).value + rise

        if not isinstance(ball, Screening):
            return Bound(reduce, "lower")

        def ceiling(upper: Tensor, lower: Tensor) -> Tensor:
            # v(u, r + h) <= v(u, r) <= v(l, r) + max (u - l); at radius 0 the mean of l is v(l, 0) itself.
            rise = (upper - lower).amax(-1)
            if radius == 0.0:
                rise = torch.minimum(rise, ball.ceiling(upper, self.step, 1.0, 0.0) - lower @ weights)
            return alpha * ball.ceiling(upper, radius, 1.0, 0.0) + rate * rise

        return Bound(reduce, "lower", ceiling)

    oriented = unturned


@dataclass(frozen=True)
class BocuTwo:
    """A stand-in for `Tradeoff` under confidence bounds, by the slope of the worst case.

    alpha v(u, r) - beta multiplier(u, r) at the upper confidence bound u, a heuristic (Tay2024, UCB-BOCU-2).
    """

    divergence: Divergence
    radius: Radius
    alpha: float = 1.0
    beta: float = 1.0
    monotone: ClassVar[bool] = True  # published for the upper confidence bound, though it bounds nothing

    def __post_init__(self) -> None:
        check_tradeoff("BocuTwo", self.divergence, self.radius, self.alpha, self.beta, slope=True)

    def bind(self, situation: Situation) -> Reduction:
        """Return alpha v - beta multiplier."""
        return Tradeoff(self.divergence, self.radius, self.alpha, self.beta).bind(situation)

    oriented = unturned


@dataclass(frozen=True)
class MidpointRobust:
    """The middle between two bounds of the MMD worst case, without solving it (DRBO-MMD-MinimaxApprox).

    v is convex in r, so it lies above max(p.f - r S, min f), S a bound of its slope at 0, and below the chord from
    (0, p.f) to (`r*`, min f), `r*` the distance of the minimiser's point. Needs a kernel that can be inverted: a nugget.
    """

    divergence: MMD
    radius: Radius
    monotone: ClassVar[bool] = True  # used at the upper confidence bound, as published

    def __post_init__(self) -> None:
        if not isinstance(self.divergence, MMD):
            raise ArgumentError(f"MidpointRobust(divergence={shown(self.divergence)}): give an MMD(...).")
        check_radius("MidpointRobust", self.radius)

    def bind(self, situation: Situation) -> Reduction:
        """Return the midpoint of the two bounds."""
        ball, weights = situation.ball(self.divergence), situation.contexts.weights
        assert isinstance(ball, MMDBall)
        radius = resolved("MidpointRobust", self.radius, situation)

        def reduce(values: Tensor) -> Tensor:
            rows = values.reshape(-1, values.shape[-1])
            mean, low = rows @ weights, rows.min(-1).values
            below = torch.maximum(mean - radius * ball.slope_bound(rows), low)
            reach = ball.reach_of_minimum(rows.detach())[0].clamp_min(1e-300)
            above = mean + (radius / reach).clamp_max(1.0) * (low - mean)
            return (0.5 * (below + above)).reshape(values.shape[:-1])

        return Bound(reduce)

    oriented = unturned
