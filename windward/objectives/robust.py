"""What a decision is worth over the contexts: an objective binds to contexts and becomes a reduction over the last axis.

    Expected()                          p.f                                   stochastic optimization
    Minimum()                           min_i f_i                             robust optimization
    Robust(divergence, radius)          v(r) = min q.f over d(q, p) <= r      distributionally robust
    LipschitzRobust(radius)             p.f - r max_i |grad_c f_i|            Wasserstein by a Lipschitz bound
    Tradeoff(divergence, radius, a, b)  a v(r) - b s(r),  s(r) = -v'(r+)      Tay2024's general objective
    Sensitivity(divergence)             -s(0)                                 worst-case sensitivity
    MeanRisk(divergence, weight)        p.f - weight s(0)
    MeanVariance(weight)                p.f - weight sqrt(Var_p f / n)
    Satisficing(divergence, target)     min(0, inf_r (v(r) - target) / r)     robust satisficing
    VaR(tail), CVaR(tail)               quantile, and mean of the lower tail

`objective.bind(contexts, seen)` resolves whatever depends on the reference or on the number of contexts seen, once per
suggestion; the reduction it returns maps values `"*b n"` to `"*b"`. The gradient of a monotone reduction in the values is
the distribution it guards against: the adversary's weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError, IncompatibleError
from windward.basics.speech import shown
from windward.contexts import Contexts
from windward.divergences import Ball, Divergence, DraftingBall, Screening, WorstCase
from windward.objectives.protocol import Bound, Reduction
from windward.objectives.radii import Radius, check_radius, resolved


@dataclass(frozen=True)
class Robust:
    """The worst expectation over a ball of distributions around the reference; `radius` is a number or a schedule."""

    divergence: Divergence
    radius: Radius
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_divergence("Robust", self.divergence)
        check_radius("Robust", self.radius)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the worst case as a reduction."""
        ball = self.divergence.on(contexts)
        radius = resolved("Robust", self.radius, seen, contexts.points.shape[1])
        ceiling = _ceiling(ball, radius, 1.0, 0.0)
        draft = Bound(_worst(ball.draft(), radius), ceiling=ceiling) if isinstance(ball, DraftingBall) else None
        return Bound(_worst(ball, radius), ceiling=ceiling, draft=draft)


@dataclass(frozen=True)
class LipschitzRobust:
    """p.f - radius * L, L the largest slope of the belief in the context over the context points (Micheli2025, Eq. 13).

    A bound of the Wasserstein worst case where L bounds every slope. Over finitely many points L is an underestimate of
    the true constant; `Robust(Wasserstein(), radius)` is exact on the points and never looser than the true constant's.
    """

    radius: Radius
    monotone: ClassVar[bool] = True  # used at the upper confidence bound, as published
    needs: ClassVar[str] = "slopes"

    def __post_init__(self) -> None:
        check_radius("LipschitzRobust", self.radius)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the penalised mean, which asks for slopes."""
        radius = resolved("LipschitzRobust", self.radius, seen, contexts.points.shape[1])
        return Bound(lambda values, slopes: values @ contexts.weights - radius * slopes.amax(-1), "slopes")


@dataclass(frozen=True)
class Tradeoff:
    """alpha * v(r) - beta * multiplier(r): the worst case and its sensitivity to the radius (Tay2024, Eq. 7)."""

    divergence: Divergence
    radius: Radius
    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        check_tradeoff("Tradeoff", self.divergence, self.radius, self.alpha, self.beta, slope=True)

    @property
    def monotone(self) -> bool:
        """Only without the sensitivity."""
        return self.beta == 0.0

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return alpha v - beta multiplier from one worst case."""
        ball = self.divergence.on(contexts)
        radius = resolved("Tradeoff", self.radius, seen, contexts.points.shape[1])
        if self.beta > 0 and radius == 0:
            _check_slope("Tradeoff", self.divergence)

        def reduce(values: Tensor) -> Tensor:
            worst = ball(values, radius)
            return (
                self.alpha * worst.value - self.beta * _slope(self.divergence, values, worst)
                if self.beta
                else self.alpha * worst.value
            )

        return Bound(reduce, ceiling=_ceiling(ball, radius, self.alpha, self.beta))


@dataclass(frozen=True)
class Sensitivity:
    """Minus the multiplier at radius 0: how fast the worst case falls when the reference is doubted (Tay2024, WCS)."""

    divergence: Divergence
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_divergence("Sensitivity", self.divergence)
        _check_slope("Sensitivity", self.divergence)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return minus the slope at radius 0."""
        ball = self.divergence.on(contexts)
        return Bound(lambda values: -_slope(self.divergence, values, ball(values, 0.0)))


@dataclass(frozen=True)
class MeanRisk:
    """p.f - weight * multiplier at radius 0 (Tay2024, MR)."""

    divergence: Divergence
    weight: float = 1.0
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_divergence("MeanRisk", self.divergence)
        arguments.number("MeanRisk", "weight", self.weight, low=0.0)
        _check_slope("MeanRisk", self.divergence)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the mean less the weighted slope at radius 0."""
        ball = self.divergence.on(contexts)
        return Bound(
            lambda values: values @ contexts.weights - self.weight * _slope(self.divergence, values, ball(values, 0.0))
        )


def check_divergence(call: str, divergence: object) -> None:
    """Raise `ArgumentError` unless `divergence` is one."""
    if isinstance(divergence, type) or not isinstance(divergence, Divergence):
        raise ArgumentError(f"{call}(divergence={shown(divergence)}): give a divergence, such as TotalVariation().")


def check_tradeoff(call: str, divergence: object, radius: Radius, alpha: float, beta: float, *, slope: bool) -> None:
    """Check the fields of a trade-off; `slope` where it takes the multiplier itself, not a difference quotient."""
    check_divergence(call, divergence)
    check_radius(call, radius)
    arguments.number(call, "alpha", alpha, low=0.0)
    arguments.number(call, "beta", beta, low=0.0)
    if slope and beta > 0 and radius == 0 and isinstance(divergence, Divergence):
        _check_slope(call, divergence)


def _worst(ball: Ball, radius: float) -> Callable[[Tensor], Tensor]:
    def worst(values: Tensor) -> Tensor:
        if not (values.requires_grad and torch.is_grad_enabled()):
            return ball(values, radius).value
        # The worst case moves with the values by the weights alone; the multiplier's gradient would be built for nothing.
        found = ball(values.detach(), radius)
        weighted: Tensor = torch.linalg.vecdot(found.weights.to(values), values)
        return (
            weighted + (found.value - weighted).detach()
        )  # the value itself, also where it is more than weights times values

    return worst


def _ceiling(ball: Ball, radius: float, alpha: float, beta: float) -> Callable[[Tensor], Tensor] | None:
    return partial(ball.ceiling, radius=radius, alpha=alpha, beta=beta) if isinstance(ball, Screening) else None


def _check_slope(call: str, divergence: Divergence) -> None:
    if divergence.steep:
        raise IncompatibleError(
            f"{call}(divergence={shown(divergence)}): its worst case has an infinite slope at radius 0; use TotalVariation(), "
            "MMD(...) or Wasserstein(), or a Tradeoff at a positive radius."
        )


def _slope(divergence: Divergence, values: Tensor, worst: WorstCase) -> Tensor:
    if bool(torch.isinf(worst.multiplier).any()):
        raise IncompatibleError(
            f"{shown(divergence)}: the slope of its worst case is not finite here (a singular kernel, or a steep divergence at "
            "radius 0); give a nugget, such as MMD(length_scale, nugget=1e-6), or another divergence."
        )
    # Without it a search would climb another function than this one, and nobody would see it.
    if torch.is_grad_enabled() and values.requires_grad and not worst.multiplier.requires_grad:
        raise IncompatibleError(
            f"{shown(divergence)}: the multiplier of its worst case has no gradient in the values, and this objective is "
            "searched by it; compute the multiplier from the values themselves, not from detached ones, or use Robust(...), "
            "which needs none."
        )
    return worst.multiplier
