"""A radius that the contexts seen decide: as far as they leave open.

    x0   the decision with the best average over the contexts seen, g_i = f(x0 without context i, c_i)
    L    the (1 - level) quantile of sum_i w_i g_i,  w ~ Dirichlet: a lower bound of the true average of x0
    r    v(x0; r) = L,  v the worst average over the ball of radius r

Nobody knows how large a radius should be, and everybody knows how sure they want to be. x0 was chosen because it does well on
the very contexts that were seen, so each of them is judged by the decision that would be the best without it. The weights of
the contexts are unknown (`Contexts.unknown`), and so is what has not been seen: one context's mass is spread over where
contexts may be, and counts there for no more than what was seen is worth on average. The equation is solved once for an ask,
and the radius holds for every decision of that ask: solved for each decision, all divergences would be the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from windward.basics import arguments, streams
from windward.basics.errors import IncompatibleError
from windward.basics.speech import counted, percent, shown
from windward.contexts import Contexts, Unknown
from windward.divergences import Ball, Divergence
from windward.objectives.situation import NothingBelieved, Situation
from windward.search.region import Region

# Draws of the contexts' distribution: the quantile at 0.9 is good to a fiftieth of a deviation.
DRAWS = 4096
# Decisions among which the best average is looked for: spread over the space, and around the best at smaller and smaller reach.
SPREAD, AROUND, REACHES = 512, 96, (0.1, 0.03, 0.01, 0.003)
# The root is met to this share of the way from the average down to the bound.
NEAR = 1e-6
STEPS = 60
# A worst case within this share of the range of the least value is the least value.
LEAST = 1e-7
LARGEST_RADIUS = 1e12
# A decision whose values differ by less than this share of their size is worth the same in every context.
SAME = 1e-10

How: TypeAlias = Literal["root", "minimum", "constant", "known"]


@dataclass(frozen=True)
class Confidence:
    """The radius at which the robust value of the best average decision bounds its true average with this confidence.

    It stands where a radius stands in `Robust` and `Tradeoff`, for every divergence. The contexts must be learnt from those
    seen: `KernelDensity`, `Empirical` or `Grid`. docs/radii.md says how often it held.

    >>> Confidence(0.9).level
    0.9
    """

    level: float = 0.9
    of: ClassVar[str] = "radius"

    def __post_init__(self) -> None:
        arguments.number("Confidence", "level", self.level, low=0.0, high=1.0, open_low=True, open_high=True)

    def __call__(self, situation: Situation) -> float:
        if situation.believed is None:
            raise NothingBelieved(f"{shown(self)}: this radius is solved from results; there are none yet.")
        raise IncompatibleError(
            f"{shown(self)}: this radius is solved for a divergence, from the contexts seen; use it in Robust(divergence, "
            f"{shown(self)}), in a study whose context model learns from them."
        )

    def says(self, situation: Situation) -> str:
        """Return what may happen within the ball, as a clause."""
        return f"the contexts are as bad as the {_contexts(situation)} seen leave open, with {percent(self.level)} confidence"

    def solved(self, divergence: Divergence, situation: Situation) -> Solved:
        """Return the radius in a situation: for this divergence, from `situation.judged` and what is believed of f."""
        judged = situation.judged
        if judged is None:
            return Solved(self(situation), "known", self)
        if judged.unknown is None:
            return Solved(0.0, "known", self)
        x, least = self.bound(situation, judged)
        contexts = situation.contexts
        values = situation.posterior.means(x[None], contexts.points)[0]
        return Solved(*root(situation.ball(divergence), values, contexts.weights, least), self)

    def bound(self, situation: Situation, judged: Contexts) -> tuple[Tensor, float]:
        """Return the decision with the best average `"d"` and a lower bound of its true average; no divergence yet."""
        assert judged.unknown is not None
        x = _candidates(situation, judged)
        best, least = lower_bound(situation.posterior.means(x, judged.points), judged.unknown, self.level)
        return x[best], least


@dataclass(frozen=True)
class Solved:
    """A radius that was solved, and how.

    `how` is `"root"`; `"minimum"` where even the worst context of all is no worse than what is left open; `"constant"` where
    contexts make no difference to the best average decision; `"known"` where nothing is unknown of the context.
    """

    radius: float
    how: How
    confidence: Confidence
    of: ClassVar[str] = "radius"

    def __call__(self, situation: Situation) -> float:
        return self.radius


def lower_bound(values: Tensor, unknown: Unknown, level: float) -> tuple[int, float]:
    """Return which of some decisions has the best average over the contexts seen, and a lower bound of its true average.

    `values` `"c n"` are those of the decisions at every point. Minus infinity where fewer than two contexts were seen.
    """
    mass, places = unknown.mass.to(values), unknown.places.to(values.device)
    seen = len(mass) - unknown.unseen
    at = values[:, places[:seen]]
    totals = at @ mass[:seen] if seen else values[:, places] @ mass
    best = int(totals.argmax())
    if seen < 2:
        return best, -math.inf
    without = (totals[:, None] - at * mass[:seen]).argmax(0)
    judged = at[without, torch.arange(seen, device=at.device)]
    average = (judged @ mass[:seen]) / mass[:seen].sum()
    elsewhere = torch.minimum(values[best, places[seen:]], average)
    draws = torch._standard_gamma(unknown.mass.cpu().expand(DRAWS, -1).contiguous(), generator=streams.fixed())
    weights = (draws / draws.sum(-1, keepdim=True)).to(values)
    return best, float((weights @ torch.cat([judged, elsewhere])).quantile(1.0 - level))


def root(ball: Ball, values: Tensor, reference: Tensor, least: float) -> tuple[float, How]:
    """Return the radius at which the worst average of `values` `"n"` is `least`, and how it was found.

    The worst case is convex and falls, so Newton's method from above stays above: it begins where a chi-square ball would have
    its root, halved until it is above.
    """
    mean, size = float(values @ reference), float(values.abs().max())
    support = values[reference > 0]
    low = float(ball(values, LARGEST_RADIUS).value)
    span = mean - low
    if not span > SAME * size or float(values.max() - values.min()) <= SAME * size:
        return 0.0, "constant"
    if least >= mean:
        return 0.0, "root"
    if least <= low + LEAST * span:
        return _reach(ball, values, low + LEAST * span), "minimum"
    variance = float((support - mean).square() @ reference[reference > 0])
    radius = (mean - least) ** 2 / (2.0 * variance) if variance > 0.0 else 1.0
    worst = ball(values, radius)
    while float(worst.value) < least and radius > 0.0:
        radius *= 0.5
        worst = ball(values, radius)
    for _ in range(STEPS):
        gap, slope = float(worst.value) - least, float(worst.multiplier)
        if gap <= NEAR * (mean - least) or not 0.0 < slope < math.inf:
            break
        radius += gap / slope
        worst = ball(values, radius)
    return radius, "root"


def _reach(ball: Ball, values: Tensor, low: float) -> float:
    """Return the least radius whose worst case is at most `low`, to a thousandth of it."""
    high = 1e-3
    while float(ball(values, high).value) > low and high < LARGEST_RADIUS:
        high *= 2.0
    short = 0.0
    while high - short > 1e-3 * high:
        middle = 0.5 * (short + high)
        if float(ball(values, middle).value) > low:
            short = middle
        else:
            high = middle
    return high


def _candidates(situation: Situation, judged: Contexts) -> Tensor:
    """Return decisions `"c d"`, dense around the one with the best average over the contexts that decisions are judged on."""
    trials, posterior, generator = situation.trials, situation.posterior, streams.fixed()
    region = Region(trials.space)
    every = region.all_discrete(SPREAD)
    if every is not None:
        return every.to(trials.device)

    def average(x: Tensor) -> Tensor:
        return (posterior.means(x.to(trials.device), judged.points) @ judged.weights).cpu()

    x = torch.cat([region.points(SPREAD, generator), trials.dataset.x.cpu().clamp(0.0, 1.0)])
    heights = average(x)
    for reach in REACHES:
        center = x[heights.argmax()]
        normal = torch.randn(AROUND, len(center), generator=generator, dtype=torch.float64)
        around = region.repaired(region.valid((center + reach * normal).clamp(0.0, 1.0)))
        around = around[region.feasible(around)]
        x, heights = torch.cat([x, around]), torch.cat([heights, average(around)])
    return x.to(trials.device)


def _contexts(situation: Situation) -> str:
    """Return how many contexts were seen, in words: of a single one, the values of it."""
    names = list(situation.trials.space.context)
    return (
        f"{counted(situation.seen, 'value')} of {names[0]}" if len(names) == 1 else counted(situation.seen, "context")
    )
