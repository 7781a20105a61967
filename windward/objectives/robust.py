"""Objectives with a ball of distributions around the reference, and those made of its slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError, IncompatibleError
from windward.basics.speech import shown
from windward.divergences import AroundEach, Ball, Divergence, DraftingBall, Screening, WorstCase, farther
from windward.objectives.protocol import Bound, Reduction, Speech, no_ambiguity, scored, unturned
from windward.objectives.radii import Radius, ambiguity, check_radius, is_open, known_number, resolved, settled
from windward.objectives.situation import Situation


@dataclass(frozen=True)
class Robust:
    """For contexts that may drift: the worst average over all distributions within `radius` of those seen.

    `radius` is a number, a schedule or a `Confidence`; the divergence says what distance is.
    """

    divergence: Divergence
    radius: Radius
    monotone: ClassVar[bool] = True
    shifts: ClassVar[Literal[True]] = True
    title: ClassVar[str] = "worst average value under drift"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_divergence("Robust", self.divergence)
        check_radius("Robust", self.radius, solves=True)

    def bind(self, situation: Situation) -> Reduction:
        """Return the worst case as a reduction."""
        ball = situation.ball(self.divergence)
        radius = resolved("Robust", self.radius, situation)
        ceiling = _ceiling(ball, radius, 1.0, 0.0)
        draft = Bound(_worst(ball.draft(), radius), ceiling=ceiling) if isinstance(ball, DraftingBall) else None
        return Bound(_worst(ball, radius), ceiling=ceiling, draft=draft)

    @property
    def by_rows(self) -> Callable[[Tensor, Tensor], Tensor] | None:
        """The worst case around a reference of each row's own, where the divergence has one and the radius is a number."""
        radius = known_number(self.radius)
        if not isinstance(self.divergence, AroundEach) or radius is None:
            return None
        return partial(self.divergence.around_each, radius=radius)

    @property
    def open(self) -> bool:
        """Whether its radius is still to be solved from the data."""
        return is_open(self.radius)

    def settled(self, situation: Situation) -> Robust:
        """Return it with its radius solved, where the data decide it."""
        return replace(self, radius=settled(self.radius, self.divergence, situation))

    oriented = unturned

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        return f"{speech.estimated} {speech.least} {speech.text(value)} on average, even if {self.ambiguity(speech.situation)}."

    def ambiguity(self, situation: Situation) -> str | None:
        """Return what may happen that it guards against."""
        return ambiguity("Robust", self.divergence, self.radius, situation)


@dataclass(frozen=True)
class LipschitzRobust:
    """For contexts that may drift a little, quickly computed: the average, less the radius times the steepest slope.

    p.f - radius * L, L the largest slope of the belief in the context over the context points (Micheli2025, Eq. 13).

    A bound of the Wasserstein worst case where L bounds every slope. Over finitely many points L is an underestimate of
    the true constant; `Robust(Wasserstein(), radius)` is exact on the points and never looser than the true constant's.
    """

    radius: Radius
    monotone: ClassVar[bool] = True  # used at the upper confidence bound, as published
    shifts: ClassVar[Literal[True]] = True
    title: ClassVar[str] = "worst average value under drift (bound)"
    unprotected: ClassVar[str | None] = None
    needs: ClassVar[str] = "slopes"

    def __post_init__(self) -> None:
        check_radius("LipschitzRobust", self.radius)

    def bind(self, situation: Situation) -> Reduction:
        """Return the penalised mean, which asks for slopes."""
        radius = resolved("LipschitzRobust", self.radius, situation)
        weights = situation.contexts.weights
        return Bound(lambda values, slopes: values @ weights - radius * slopes.amax(-1), "slopes")

    oriented = unturned

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        return f"{speech.estimated} {speech.least} {speech.text(value)} on average, even if {self.ambiguity(speech.situation)}."

    def ambiguity(self, situation: Situation) -> str | None:
        """Return what may happen that it guards against."""
        return farther(resolved("LipschitzRobust", self.radius, situation))


@dataclass(frozen=True)
class Tradeoff:
    """For a good worst case that does not get much worse beyond the radius.

    alpha * v(r) - beta * multiplier(r): the worst case and its sensitivity to the radius (Tay2024, Eq. 7).
    """

    divergence: Divergence
    radius: Radius
    alpha: float = 1.0
    beta: float = 1.0
    title: ClassVar[str] = "worst average value, less a price for fragility"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_tradeoff("Tradeoff", self.divergence, self.radius, self.alpha, self.beta, slope=True, solves=True)

    @property
    def monotone(self) -> bool:
        """Only without the sensitivity."""
        return self.beta == 0.0

    def bind(self, situation: Situation) -> Reduction:
        """Return alpha v - beta multiplier from one worst case."""
        ball = situation.ball(self.divergence)
        radius = resolved("Tradeoff", self.radius, situation)
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

    @property
    def open(self) -> bool:
        """Whether its radius is still to be solved from the data."""
        return is_open(self.radius)

    def settled(self, situation: Situation) -> Tradeoff:
        """Return it with its radius solved, where the data decide it."""
        return replace(self, radius=settled(self.radius, self.divergence, situation))

    oriented = unturned

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        return scored(self.title, value, speech)

    def ambiguity(self, situation: Situation) -> str | None:
        """Return what may happen that it guards against."""
        return ambiguity("Tradeoff", self.divergence, self.radius, situation)


@dataclass(frozen=True)
class Sensitivity:
    """For the decision that drift harms least, whatever its value: how fast the worst case falls as contexts begin to drift.

    Minus the multiplier at radius 0 (Tay2024, WCS).
    """

    divergence: Divergence
    monotone: ClassVar[bool] = False
    title: ClassVar[str] = "insensitivity to drift"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_divergence("Sensitivity", self.divergence)
        _check_slope("Sensitivity", self.divergence)

    def bind(self, situation: Situation) -> Reduction:
        """Return minus the slope at radius 0."""
        ball = situation.ball(self.divergence)
        return Bound(lambda values: -_slope(self.divergence, values, ball(values, 0.0)))

    oriented = unturned
    ambiguity = no_ambiguity

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        return scored(self.title, value, speech)


@dataclass(frozen=True)
class MeanRisk:
    """For a good average that drift harms little: the average, less a price for fragility.

    p.f - weight * multiplier at radius 0 (Tay2024, MR).
    """

    divergence: Divergence
    weight: float = 1.0
    monotone: ClassVar[bool] = False
    title: ClassVar[str] = "average value, less a price for fragility"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_divergence("MeanRisk", self.divergence)
        arguments.number("MeanRisk", "weight", self.weight, low=0.0)
        _check_slope("MeanRisk", self.divergence)

    def bind(self, situation: Situation) -> Reduction:
        """Return the mean less the weighted slope at radius 0."""
        ball, weights = situation.ball(self.divergence), situation.contexts.weights
        return Bound(lambda values: values @ weights - self.weight * _slope(self.divergence, values, ball(values, 0.0)))

    oriented = unturned
    ambiguity = no_ambiguity

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        return scored(self.title, value, speech)


def check_divergence(call: str, divergence: object) -> None:
    """Raise `ArgumentError` unless `divergence` is one."""
    if isinstance(divergence, type) or not isinstance(divergence, Divergence):
        raise ArgumentError(f"{call}(divergence={shown(divergence)}): give a divergence, such as TotalVariation().")


def check_tradeoff(
    call: str,
    divergence: object,
    radius: Radius,
    alpha: float,
    beta: float,
    *,
    slope: bool,
    solves: bool = False,
) -> None:
    """Check the fields of a trade-off; `slope` where it takes the multiplier itself, not a difference quotient."""
    check_divergence(call, divergence)
    check_radius(call, radius, solves=solves)
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
