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
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from windward import check
from windward.contexts import Contexts
from windward.divergences import Ball, Divergence, DraftingBall, Screening, WorstCase
from windward.errors import ArgumentError, IncompatibleError
from windward.satisficing import satisficing
from windward.schedules import Radius, check_radius, resolved
from windward.shown import shown

Extra: TypeAlias = Literal["slopes", "lower"]


@runtime_checkable
class Reduction(Protocol):
    """Reduce values over contexts. Where `extra` is "slopes" the belief also supplies |grad_c f| `"*b n"`, where it is
    "lower" a lower confidence bound of the values.
    """  # noqa: D205

    @property
    def extra(self) -> Extra | None: ...

    def __call__(self, values: Tensor, extra: Tensor | None = None) -> Tensor: ...


@runtime_checkable
class Objective(Protocol):
    """Bind to contexts and become a reduction; `monotone` in f, its bound is itself at the upper confidence bound."""

    @property
    def monotone(self) -> bool: ...

    def bind(self, contexts: Contexts, seen: int) -> Reduction: ...


@dataclass(frozen=True)
class Bound:
    """A bound objective: a function of values, and of an extra where it needs one.

    `ceiling`, where there is one, bounds the function from above, from the same arguments, and costs far less; `draft` is
    near it and costs less. `fewer` where it takes values on some of the points just as well.
    """

    function: Callable[..., Tensor]
    extra: Extra | None = None
    ceiling: Callable[..., Tensor] | None = None
    draft: Bound | None = None
    fewer: bool = False

    def __call__(self, values: Tensor, extra: Tensor | None = None) -> Tensor:
        values = values.to(torch.float64)
        return self.function(values) if self.extra is None else self.function(values, extra)


@dataclass(frozen=True)
class Expected:
    """The expectation under the reference, sum_i p_i f_i.

    >>> Expected().bind(Contexts.uniform(torch.zeros(2, 1)), seen=0)(torch.tensor([1.0, 3.0]).double())
    tensor(2., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the weighted sum."""
        return Bound(lambda values: values @ contexts.weights)


@dataclass(frozen=True)
class Minimum:
    """The least value on any context point, whatever its weight (StableOpt, over a set C_t).

    >>> Minimum().bind(Contexts.uniform(torch.zeros(2, 1)), seen=0)(torch.tensor([1.0, 3.0]).double())
    tensor(1., dtype=torch.float64)
    """

    monotone: ClassVar[bool] = True

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the minimum over the last axis."""
        # min over a dimension gives its whole gradient to one minimiser (amin, three times as fast, would spread it over
        # ties): the adversary sits on a point.
        return Bound(lambda values: values.min(-1).values if values.requires_grad else values.amin(-1), fewer=True)


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
        check.number("MeanRisk", "weight", self.weight, low=0.0)
        _check_slope("MeanRisk", self.divergence)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the mean less the weighted slope at radius 0."""
        ball = self.divergence.on(contexts)
        return Bound(
            lambda values: values @ contexts.weights - self.weight * _slope(self.divergence, values, ball(values, 0.0))
        )


@dataclass(frozen=True)
class MeanVariance:
    """p.f - weight * sqrt(Var_p f / n), n the number of contexts with weight (Nguyen2020, Eq. 3)."""

    weight: float = 1.0
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check.number("MeanVariance", "weight", self.weight, low=0.0)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the mean less its weighted standard error."""
        count = int((contexts.weights > 0).sum())

        def reduce(values: Tensor) -> Tensor:
            mean = values @ contexts.weights
            variance = (values - mean[..., None]).square() @ contexts.weights
            return mean - self.weight * (variance / count).clamp_min(1e-300).sqrt()

        return Bound(reduce)


@dataclass(frozen=True)
class Satisficing:
    """min(0, inf_r (v(r) - target) / r): minus the least fragility with which the target is met (Tay2024, Eq. 6).

    0 where even the least value meets the target. Where the expectation itself misses it, the shortfall, below every
    value a decision that meets it can have. Shortfalls are told apart down to 4e-10 of 1 + |target|, fragilities up to
    5e21 of it: give outcomes in units of some such size. MMD without a nugget cannot be solved at radii near 0: the least
    that could is taken there.
    """

    divergence: Divergence
    target: float
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_divergence("Satisficing", self.divergence)
        check.number("Satisficing", "target", self.target)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the satisficing measure."""
        ball = self.divergence.on(contexts)
        return Bound(lambda values: satisficing(ball, values, contexts.weights, self.target))


@dataclass(frozen=True)
class VaR:
    """The value at risk: the quantile of f below which mass `tail` lies, inf { s : P(f <= s) >= tail }.

    >>> VaR(0.5).bind(Contexts.uniform(torch.zeros(4, 1)), seen=0)(torch.tensor([4.0, 1.0, 3.0, 2.0]).double())
    tensor(2., dtype=torch.float64)
    """

    tail: float
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.number("VaR", "tail", self.tail, low=0.0, high=1.0, open_low=True)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the quantile."""

        def reduce(values: Tensor) -> Tensor:
            order = values.argsort(-1)
            mass = contexts.weights[order].cumsum(-1)
            # 1e-12 less: a sum of weights that equals the tail must count as reaching it.
            place = (mass < self.tail - 1e-12).sum(-1, keepdim=True).clamp_max(values.shape[-1] - 1)
            return values.gather(-1, order.gather(-1, place))[..., 0]

        return Bound(reduce)


@dataclass(frozen=True)
class CVaR:
    """The conditional value at risk: the mean of f over its lower tail of mass `tail`, the point at its edge in part.

    >>> CVaR(0.5).bind(Contexts.uniform(torch.zeros(4, 1)), seen=0)(torch.tensor([4.0, 1.0, 3.0, 2.0]).double())
    tensor(1.5000, dtype=torch.float64)
    """

    tail: float
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.number("CVaR", "tail", self.tail, low=0.0, high=1.0, open_low=True)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the tail's mean."""

        def reduce(values: Tensor) -> Tensor:
            ranked, order = values.sort(-1)
            mass = contexts.weights[order]
            before = mass.cumsum(-1) - mass
            share = torch.minimum(mass, (self.tail - before).clamp_min(0.0))
            return (share * ranked).sum(-1) / share.sum(-1)

        return Bound(reduce)


def check_divergence(call: str, divergence: object) -> None:
    """Raise `ArgumentError` unless `divergence` is one."""
    if isinstance(divergence, type) or not isinstance(divergence, Divergence):
        raise ArgumentError(f"{call}(divergence={shown(divergence)}): give a divergence, such as TotalVariation().")


def check_tradeoff(call: str, divergence: object, radius: Radius, alpha: float, beta: float, *, slope: bool) -> None:
    """Check the fields of a trade-off; `slope` where it takes the multiplier itself, not a difference quotient."""
    check_divergence(call, divergence)
    check_radius(call, radius)
    check.number(call, "alpha", alpha, low=0.0)
    check.number(call, "beta", beta, low=0.0)
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
