"""Robust satisficing: the least fragility with which a target is met.

    k = min(0, inf_{r > 0} (v(r) - target) / r)

v is convex, so (v(r) - target) / r has its infimum where the tangent of v at r passes through (0, target): where
v(r) + r s(r) = target, s = -v'(r+). That sum falls as r grows, from p.f to the least reachable value, and may jump across the
target at a kink of v; the answer is (v - target) / r at the crossing, not -s, from which it differs at kinks. Two radii enclose
it. Where v is smooth, the secant of the sum finds it; at a kink, the place where the two tangents meet: if v is there what they
say, it is the kink. Both take turns with halving, which is slow and sure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import SolverError
from windward.basics.speech import number
from windward.divergences import Ball, Divergence
from windward.objectives.protocol import Bound, Reduction, Speech, no_ambiguity
from windward.objectives.robust import check_divergence
from windward.objectives.situation import Situation


@dataclass(frozen=True)
class Satisficing:
    """For whoever has a target: the decision that keeps reaching it while contexts drift, or misses it by least.

    min(0, inf_r (v(r) - target) / r), minus the least fragility with which the target is met (Tay2024, Eq. 6).

    0 where even the least value meets the target. Where the expectation itself misses it, the shortfall, below every
    value a decision that meets it can have. Shortfalls are told apart down to 4e-10 times 1 + |target|, fragilities up to
    5e21 times: outcomes should be of about the size of 1 + |target|. MMD without a nugget cannot be solved at radii near 0:
    the least radius that can be solved is taken there.
    """

    divergence: Divergence
    target: float
    monotone: ClassVar[bool] = True
    title: ClassVar[str] = "safety of the target"
    unprotected: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_divergence("Satisficing", self.divergence)
        arguments.number("Satisficing", "target", self.target)

    def bind(self, situation: Situation) -> Reduction:
        """Return the satisficing measure."""
        ball, weights = situation.ball(self.divergence), situation.contexts.weights
        return Bound(lambda values: satisficing(ball, values, weights, self.target), searched=True)

    ambiguity = no_ambiguity

    def oriented(self, sign: float) -> Satisficing:
        """Return it with its target times `sign`."""
        return self if sign > 0 else replace(self, target=-self.target)

    def displayed(self, values: Tensor) -> Tensor:
        """Return values as a person sees them: a missed target is pushed down for the search alone."""
        return reported(values, self.target)

    def sentence(self, value: float, speech: Speech) -> str:
        """Return what a value means."""
        target, better, score = speech.text(self.target), speech.better, speech.sign * value
        if score >= 0.0:
            return f"It is estimated to reach the target of {target} {better} on average, however the contexts drift."
        return (
            f"The target is {target} {better} on average; the decision is the one whose average misses it by least "
            f"as the contexts drift (score {number(score)}; 0 would be never)."
        )


# The first radius, and how it grows until it encloses the crossing: up to 1e12.
FIRST, GROWTH, STEPS = 0.1, 8.0, 15
# The crossing is found to this share of itself, or of the range of values: the quotient is flat there, or at a kink as exact.
# Halving alone, every fourth turn, needs 140, or 190 for a crossing at 1e-14.
NEAR, EQUAL = 1e-10, 1e-13
TURNS = 200
# Fragilities beyond this, per unit of 1 + |target|, are compressed into twice of it, so that a shortfall can lie below all.
FRAGILE = 1e6
# The last step that a float holds beside one: fragilities so steep that their compressed values differ by less are shown as
# the steepest that can be told apart, 5e15 times the limit.
FINEST = 2.0**-52


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
    spread_out = torch.where(k < -limit, -limit * limit / (2.0 * limit + k).clamp_min(FINEST * limit), k)
    return torch.where(k < -2.0 * limit, k + 2.0 * limit, spread_out)


@dataclass
class _Tangents:
    """Tangents of v at radii, `"b"` each: v(r) - s(r) (. - r), by the slope and the value at radius zero."""

    radius: Tensor
    slope: Tensor
    height: Tensor

    @classmethod
    def at(cls, ball: Ball, rows: Tensor, radius: Tensor) -> _Tangents:
        worst = ball(rows, radius)
        slope = worst.multiplier
        return cls(radius, slope, worst.value + torch.where(radius > 0, radius * slope, 0.0))

    @classmethod
    def where_solved(cls, ball: Ball, rows: Tensor, radius: Tensor) -> _Tangents:
        """Return the tangents, NaN where the worst case could not be solved."""
        found = cls(radius.clone(), torch.full_like(radius, torch.nan), torch.full_like(radius, torch.nan))
        if len(rows) == 0:
            return found
        try:
            return cls.at(ball, rows, radius)
        except SolverError as error:
            if len(rows) == 1:
                return found
            failed = error.unsolved
        if failed:  # the others alone: halving would solve most rows again and again
            rest = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
            rest[torch.as_tensor(failed, device=rows.device)] = False
            parts = [rest.nonzero()[:, 0]]
        else:
            parts = list(torch.arange(len(rows), device=rows.device).tensor_split(2))
        for some in parts:
            found.put(some, cls.where_solved(ball, rows[some], radius[some]))
        return found

    def of(self, rows: Tensor) -> _Tangents:
        return _Tangents(self.radius[rows], self.slope[rows], self.height[rows])

    def where(self, chosen: Tensor, other: _Tangents) -> _Tangents:
        return _Tangents(
            torch.where(chosen, self.radius, other.radius),
            torch.where(chosen, self.slope, other.slope),
            torch.where(chosen, self.height, other.height),
        )

    def put(self, rows: Tensor, other: _Tangents) -> None:
        self.radius[rows], self.slope[rows], self.height[rows] = other.radius, other.slope, other.height


def _crossing(ball: Ball, rows: Tensor, target: float) -> Tensor:
    """Return the radius where v(r) + r s(r) falls to the target; 0 where it never does.

    A row that cannot be solved at so small a radius gets the least one beyond the crossing at which it was.
    """
    found = torch.zeros_like(rows[:, 0])
    low = _Tangents.at(ball, rows, torch.zeros_like(found))
    high = _Tangents.at(ball, rows, torch.full_like(found, FIRST))
    for _ in range(STEPS):
        beyond = (high.height >= target).nonzero()[:, 0]
        if len(beyond) == 0:
            break
        low.put(beyond, high.of(beyond))
        high.put(beyond, _Tangents.at(ball, rows[beyond], GROWTH * high.radius[beyond]))
    moving = (high.height < target).nonzero()[:, 0]  # elsewhere even the least value meets the target
    low, high, rows = low.of(moving), high.of(moving), rows[moving]
    rounding = EQUAL * (rows.amax(-1) - rows.amin(-1)) + 1e-15 * rows.abs().amax(-1)
    nearer = (low.height - target).abs() <= (high.height - target).abs()
    best, second = low.where(nearer, high), high.where(nearer, low)  # of all tried, by how near their height is
    for turn in range(TURNS):
        if len(moving) == 0:
            break
        trial, promised = _trial(low, high, best, second, target, turn)
        fresh = _Tangents.where_solved(ball, rows, trial)
        above, unsolved, error = fresh.height >= target, fresh.height.isnan(), (fresh.height - target).abs()
        low, high = fresh.where(above, low), high.where(above | unsolved, fresh)
        first = error < (best.height - target).abs()
        second = best.where(first, fresh.where(error < (second.height - target).abs(), second))
        best = fresh.where(first, best)
        known = (fresh.height - trial * fresh.slope - promised <= rounding) | (error <= rounding)
        done = known | unsolved | (high.radius - low.radius <= NEAR * high.radius)
        found[moving[done]] = torch.where(known, trial, high.radius)[done]
        left = (~done).nonzero()[:, 0]
        moving, rows, rounding = moving[left], rows[left], rounding[left]
        low, high, best, second = (tangents.of(left) for tangents in (low, high, best, second))
    else:
        found[moving] = high.radius
    return found


def _trial(
    low: _Tangents, high: _Tangents, best: _Tangents, second: _Tangents, target: float, turn: int
) -> tuple[Tensor, Tensor]:
    """Return the next radius between two that enclose the crossing, and v there if that is a kink, else minus infinity."""
    gap = high.radius - low.radius
    # From 0 on, what is near is a question of shares.
    middle = low.radius + torch.where(low.radius > 0, 0.5, 1.0 / GROWTH) * gap
    nothing = torch.full_like(gap, -torch.inf)
    if turn % 4 == 3:
        return middle, nothing
    meeting = (low.height - high.height) / (low.slope - high.slope)
    usable = (meeting > low.radius) & (meeting < high.radius)
    trial = torch.where(usable, meeting, middle)
    promised = torch.where(usable, high.height - high.slope * meeting, nothing)
    if turn % 4 == 0:
        return trial, promised
    secant = best.radius - (best.height - target) * (best.radius - second.radius) / (best.height - second.height)
    usable = (secant > low.radius) & (secant < high.radius)
    return torch.where(usable, secant, trial), torch.where(usable, nothing, promised)
