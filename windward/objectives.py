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
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor

from windward import check
from windward.contexts import Contexts
from windward.divergences import MMD, Divergence
from windward.errors import ArgumentError, IncompatibleError
from windward.satisficing import satisficing
from windward.schedules import Radius, check_radius, resolved

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
    """A bound objective: a function of values, and of an extra where it needs one."""

    function: Callable[..., Tensor]
    extra: Extra | None = None

    def __call__(self, values: Tensor, extra: Tensor | None = None) -> Tensor:
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
        # min over a dimension gives its whole gradient to one minimiser (amin would spread it over ties): the
        # adversary sits on a point.
        return Bound(lambda values: values.min(-1).values)


@dataclass(frozen=True)
class Robust:
    """The worst expectation over a ball of distributions around the reference; `radius` is a number or a schedule."""

    divergence: Divergence
    radius: Radius
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_divergence("Robust", self.divergence)
        check_radius("Robust", self.radius)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the worst case as a reduction."""
        ball = self.divergence.on(contexts)
        radius = resolved("Robust", self.radius, seen, contexts.points.shape[1])
        return Bound(lambda values: ball(values, radius).value)


@dataclass(frozen=True)
class LipschitzRobust:
    """p.f - radius * L, L the largest slope of the belief in the context over the context points (Micheli2025, Eq. 13).

    A bound of the Wasserstein worst case where L bounds every slope. Over finitely many points L is an underestimate of
    the true constant; `Robust(Wasserstein(), radius)` is exact on the points and never looser than the true constant's.
    """

    radius: Radius
    monotone: ClassVar[bool] = True  # used at the upper confidence bound, as published

    def __post_init__(self) -> None:
        check_radius("LipschitzRobust", self.radius)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the penalised mean, which asks for slopes."""
        radius = resolved("LipschitzRobust", self.radius, seen, contexts.points.shape[1])
        return Bound(lambda values, slopes: values @ contexts.weights - radius * slopes.amax(-1), "slopes")


@dataclass(frozen=True)
class Tradeoff:
    """alpha * v(r) - beta * multiplier(r): the worst case and its sensitivity to the radius (Tay2024, Eq. 5)."""

    divergence: Divergence
    radius: Radius
    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        _check_tradeoff("Tradeoff", self)

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
            return self.alpha * worst.value - self.beta * worst.multiplier if self.beta else self.alpha * worst.value

        return Bound(reduce)


@dataclass(frozen=True)
class Sensitivity:
    """Minus the multiplier at radius 0: how fast the worst case falls when the reference is doubted (Tay2024, WCS)."""

    divergence: Divergence
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_divergence("Sensitivity", self.divergence)
        _check_slope("Sensitivity", self.divergence)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return minus the slope at radius 0."""
        ball = self.divergence.on(contexts)
        return Bound(lambda values: -ball(values, 0.0).multiplier)


@dataclass(frozen=True)
class MeanRisk:
    """p.f - weight * multiplier at radius 0 (Tay2024, MR)."""

    divergence: Divergence
    weight: float = 1.0
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_divergence("MeanRisk", self.divergence)
        check.number("MeanRisk", "weight", self.weight, low=0.0)
        _check_slope("MeanRisk", self.divergence)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the mean less the weighted slope at radius 0."""
        ball = self.divergence.on(contexts)
        return Bound(lambda values: values @ contexts.weights - self.weight * ball(values, 0.0).multiplier)


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
    value a decision that meets it can have.
    """

    divergence: Divergence
    target: float
    monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_divergence("Satisficing", self.divergence)
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


@dataclass(frozen=True)
class BocuOne:
    """alpha v(u, r) + beta (v(u, r + step) - v(l, r)) / step, u and l the confidence bounds (Tay2024, UCB-BOCU-1)."""

    divergence: Divergence
    radius: Radius
    alpha: float = 1.0
    beta: float = 1.0
    step: float = 1e-3
    monotone: ClassVar[bool] = True  # meant for the confidence bounds: an upper bound of the difference quotient

    def __post_init__(self) -> None:
        _check_tradeoff("BocuOne", self)
        check.number("BocuOne", "step", self.step, low=0.0, open_low=True)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the heuristic, which asks for a lower bound."""
        ball = self.divergence.on(contexts)
        radius = resolved("BocuOne", self.radius, seen, contexts.points.shape[1])

        def reduce(upper: Tensor, lower: Tensor) -> Tensor:
            rise = ball(upper, radius + self.step).value - ball(lower, radius).value
            return self.alpha * ball(upper, radius).value + self.beta * rise / self.step

        return Bound(reduce, "lower")


@dataclass(frozen=True)
class BocuTwo:
    """alpha v(u, r) - beta multiplier(u, r) at the upper confidence bound u, a heuristic (Tay2024, UCB-BOCU-2)."""

    divergence: Divergence
    radius: Radius
    alpha: float = 1.0
    beta: float = 1.0
    monotone: ClassVar[bool] = True  # published for the upper confidence bound, though it bounds nothing

    def __post_init__(self) -> None:
        _check_tradeoff("BocuTwo", self)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return alpha v - beta multiplier."""
        return Tradeoff(self.divergence, self.radius, self.alpha, self.beta).bind(contexts, seen)


@dataclass(frozen=True)
class MidpointRobust:
    """The middle between two bounds of the MMD worst case, without solving it (DRBO-MMD-MinimaxApprox).

    v is convex in r, so it lies above max(p.f - r S, min f), S a bound of its slope at 0, and below the chord from
    (0, p.f) to (r*, min f), r* the distance of the minimiser's point. Needs a kernel that can be inverted: a nugget.
    """

    divergence: MMD
    radius: Radius
    monotone: ClassVar[bool] = True  # used at the upper confidence bound, as published

    def __post_init__(self) -> None:
        if not isinstance(self.divergence, MMD):
            raise ArgumentError(f"MidpointRobust(divergence={self.divergence!r}): give an MMD(...).")
        check_radius("MidpointRobust", self.radius)

    def bind(self, contexts: Contexts, seen: int) -> Reduction:
        """Return the midpoint of the two bounds."""
        ball = self.divergence.on(contexts)
        radius = resolved("MidpointRobust", self.radius, seen, contexts.points.shape[1])

        def reduce(values: Tensor) -> Tensor:
            rows = values.reshape(-1, values.shape[-1])
            mean, low = rows @ contexts.weights, rows.min(-1).values
            below = torch.maximum(mean - radius * ball.slope_bound(rows), low)
            reach = ball.reach_of_minimum(rows.detach())[0].clamp_min(1e-300)
            above = mean + (radius / reach).clamp_max(1.0) * (low - mean)
            return (0.5 * (below + above)).reshape(values.shape[:-1])

        return Bound(reduce)


def _check_divergence(call: str, divergence: object) -> None:
    if isinstance(divergence, type) or not isinstance(divergence, Divergence):
        raise ArgumentError(f"{call}(divergence={divergence!r}): give a divergence, such as TotalVariation().")


def _check_tradeoff(call: str, objective: Tradeoff | BocuOne | BocuTwo) -> None:
    _check_divergence(call, objective.divergence)
    check_radius(call, objective.radius)
    check.number(call, "alpha", objective.alpha, low=0.0)
    check.number(call, "beta", objective.beta, low=0.0)
    if objective.beta > 0 and objective.radius == 0 and not isinstance(objective, BocuOne):  # it takes a quotient
        _check_slope(call, objective.divergence)


def _check_slope(call: str, divergence: Divergence) -> None:
    if divergence.steep:
        raise IncompatibleError(
            f"{call}(divergence={divergence!r}): its worst case has an infinite slope at radius 0; use TotalVariation(), "
            "MMD(...) or Wasserstein(), or a Tradeoff at a positive radius."
        )
