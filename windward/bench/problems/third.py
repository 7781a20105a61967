"""The third part of the suite: problems written after both halves had been looked at, before anything was run on them.

They vary as the halves do. In most of them the best decision is not near the middle of the space, because a policy that begins
in the middle was chosen on problems of which some have it there. All names begin with `third-`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems.delays import Lossy, Poisson
from windward.bench.problems.drawn import draw, drawn, even, normals
from windward.bench.problems.expectations import numbered, unit_space
from windward.bench.problems.invented import table
from windward.bench.problems.registry import Data, register
from windward.space.parameters import Categorical, Integer, Parameter, Real
from windward.space.space import Space

# -- draws of Gaussian processes ---------------------------------------------------------------------------------------------


@register("third-gp-smooth-2-1", seeded=True)
def _smooth_2_1(seed: int, data: Data) -> Problem:
    return drawn("third-gp-smooth-2-1", seed, 2, normals(1, 32), 0.2, 0.4)


@register("third-gp-smooth-3-0", seeded=True)
def _smooth_3_0(seed: int, data: Data) -> Problem:
    return drawn("third-gp-smooth-3-0", seed, 3, [], 0.35)


@register("third-gp-rough-3-1", seeded=True)
def _rough_3_1(seed: int, data: Data) -> Problem:
    return drawn("third-gp-rough-3-1", seed, 3, [even(32)], 0.4, 0.4, noise=0.1, rough=True)


@register("third-gp-noisy-1-2", seeded=True)
def _noisy_1_2(seed: int, data: Data) -> Problem:
    return drawn("third-gp-noisy-1-2", seed, 1, normals(2, 16), 0.2, 0.4, noise=0.6)


@register("third-gp-restless-1-1", seeded=True)
def _restless_1_1(seed: int, data: Data) -> Problem:
    """A context length-scale of 0.08: what one context shows says nothing of the next."""
    return drawn("third-gp-restless-1-1", seed, 1, normals(1, 48), 0.25, 0.08)


@register("third-gp-four-contexts-3-4", seeded=True)
def _four_contexts(seed: int, data: Data) -> Problem:
    return drawn("third-gp-four-contexts-3-4", seed, 3, normals(4, 6), 0.45, 1.0, noise=0.1)


@register("third-gp-unequal-6-1", seeded=True)
def _unequal(seed: int, data: Data) -> Problem:
    """Six decisions, of which one matters much and the last two hardly at all."""
    truth, come = laws.independent(normals(1, 24))
    value = draw(seed, [0.3, 0.5, 0.8, 1.5, 3.0, 6.0], [0.5])
    return Problem(name="third-gp-unequal-6-1", space=unit_space(6, 1), value=value, truth=truth, draw=come, noise=0.05)


@register("third-gp-lost-2-2", seeded=True)
def _lost(seed: int, data: Data) -> Problem:
    """A quarter of the values never comes, the others three rounds later on average."""
    free = drawn("third-gp-lost-2-2", seed, 2, normals(2, 16), 0.3, 0.5, noise=0.1)
    return replace(free, delay=Lossy(0.25, Poisson(3.0)))


@register("third-gp-mixed-3-1", seeded=True)
def _mixed(seed: int, data: Data) -> Problem:
    """A number, a whole number and one of three kinds to decide; noise with outliers."""
    truth, come = laws.independent(normals(1, 32))
    value = draw(seed, [0.25, 6.0, *[1.0] * 3], [0.5], categories=(3, 0))
    decision: dict[str, Parameter] = {"x": Real(0, 1), "n": Integer(0, 20), "kind": Categorical(["a", "b", "c"])}
    return Problem(
        name="third-gp-mixed-3-1",
        space=Space(decision, {"c": Real(0, 1)}),
        value=value,
        truth=truth,
        draw=come,
        noise=0.3,
        tail=3,
    )


# -- functions with their best decision away from the middle -----------------------------------------------------------------


@register("third-schwefel-2-1")
def _schwefel(seed: int, data: Data) -> Problem:
    """Schwefel's function: its best place is near a corner, and its second best far from it. The context tilts it."""
    truth, come = laws.independent([laws.clipped(laws.normal(0.5, 0.2), 0.0, 1.0, 32, few=24)])

    def value(x: Tensor, c: Tensor) -> Tensor:
        place = 700.0 * x - 250.0
        waves = place * torch.sin(place.abs().clamp_min(1e-12).sqrt())
        return (waves[..., 0] * (0.6 + 0.8 * c[..., 0]) + waves[..., 1] * (1.4 - 0.8 * c[..., 0])) / 100.0

    return Problem(name="third-schwefel-2-1", space=unit_space(2, 1), value=value, truth=truth, draw=come)


@register("third-styblinski-4-1")
def _styblinski(seed: int, data: Data) -> Problem:
    """Sixteen hills, of which that in one corner is the highest; the context says how much higher."""
    truth, come = laws.independent([laws.clipped(laws.uniform(0.0, 1.0), 0.0, 1.0, 8, few=16)])

    def value(x: Tensor, c: Tensor) -> Tensor:
        place = 10.0 * x - 5.0
        tilt = 2.5 + 5.0 * c
        return -0.5 * (place.pow(4) - 16.0 * place.square() + tilt * place).sum(-1) / 10.0

    return Problem(name="third-styblinski-4-1", space=unit_space(4, 1), value=value, truth=truth, draw=come, noise=0.5)


@register("third-rastrigin-3-1")
def _rastrigin(seed: int, data: Data) -> Problem:
    """A bowl with ripples; its bottom is away from the middle and moves with the context."""
    truth, come = laws.independent([laws.clipped(laws.normal(0.4, 0.15), 0.0, 1.0, 64, few=32)])
    places = torch.tensor([0.82, 0.17, 0.66], dtype=torch.float64)
    pulls = torch.tensor([0.10, -0.05, 0.0], dtype=torch.float64)

    def value(x: Tensor, c: Tensor) -> Tensor:
        off = 4.0 * (x - places - pulls * (c - 0.4))
        return -(off.square() + 0.5 * (1.0 - torch.cos(2.0 * math.pi * off))).sum(-1)

    return Problem(name="third-rastrigin-3-1", space=unit_space(3, 1), value=value, truth=truth, draw=come, noise=0.2)


@register("third-rosenbrock-4-0")
def _rosenbrock(seed: int, data: Data) -> Problem:
    """Rosenbrock's bent valley in four dimensions, its logarithm, without contexts and without noise."""
    truth, come = laws.no_context()

    def value(x: Tensor, c: Tensor) -> Tensor:
        z = 3.5 * x - 2.0
        first, then = z[..., :-1], z[..., 1:]
        total = (100.0 * (then - first.square()).square() + (1.0 - first).square()).sum(-1)
        return -torch.log1p(total) + 0.0 * c.sum(-1)

    return Problem(name="third-rosenbrock-4-0", space=unit_space(4, 0), value=value, truth=truth, draw=come)


@register("third-corner-hills-2-2")
def _corner_hills(seed: int, data: Data) -> Problem:
    """Five hills, the highest and narrowest in a corner; one context moves them, the other says how high they are."""
    truth, come = laws.independent(
        [
            laws.clipped(laws.normal(0.5, 0.2), 0.0, 1.0, 32, few=20),
            laws.clipped(laws.uniform(0.0, 1.0), 0.0, 1.0, 8, few=8),
        ]
    )
    places = torch.tensor([[0.9, 0.12], [0.5, 0.55], [0.15, 0.85], [0.2, 0.2], [0.8, 0.8]], dtype=torch.float64)
    widths = torch.tensor([0.11, 0.2, 0.16, 0.14, 0.15], dtype=torch.float64)
    heights = torch.tensor([3.0, 1.6, 2.2, 1.8, 1.9], dtype=torch.float64)
    moves = torch.tensor([[0.05, -0.05], [0.2, 0.0], [-0.1, 0.1], [0.0, 0.2], [0.1, 0.1]], dtype=torch.float64)

    def value(x: Tensor, c: Tensor) -> Tensor:
        at = places + moves * (c[..., None, :1] - 0.5)
        hills = torch.exp(-0.5 * (x[..., None, :] - at).square().sum(-1) / widths.square())
        return (0.5 + c[..., 1]) * (hills @ heights)

    return Problem(
        name="third-corner-hills-2-2", space=unit_space(2, 2), value=value, truth=truth, draw=come, noise=0.1
    )


# -- practical ones ----------------------------------------------------------------------------------------------------------


@register("third-one-price")
def _one_price(seed: int, data: Data) -> Problem:
    """One price for two crowds: many who would pay little, or few who would pay much; on some days the few are more."""
    truth, come = laws.independent(
        [laws.category([0.7, 0.3]), laws.clipped(laws.normal(1.0, 0.3), 0.2, 2.0, 16, few=16)]
    )

    def value(x: Tensor, c: Tensor) -> Tensor:
        price = x[..., 0]
        many = torch.sigmoid((6.0 - price) / 0.7) * table(c[..., 0], [60.0, 40.0])
        few = torch.sigmoid((27.0 - price) / 1.5) * table(c[..., 0], [13.0, 22.0])
        return c[..., 1] * (price - 1.5) * (many + few)

    return Problem(
        name="third-one-price",
        space=Space({"price": Real(1, 40)}, {"day": Categorical(["work", "fair"]), "crowd": Real(0.2, 2.0)}),
        value=value,
        truth=truth,
        draw=come,
        noise=30.0,
    )


@register("third-two-stocks")
def _two_stocks(seed: int, data: Data) -> Problem:
    """Pieces of two goods for demands with a heavy tail; what one lacks the other replaces in part. Little is best."""
    first = laws.clipped(laws.student(2.3, 0.4), 0.0, 5.5, 96, through=torch.exp)
    second = laws.clipped(laws.normal(1.8, 0.5), 0.0, 4.0, 64, few=24, through=torch.exp)
    truth, come = laws.independent([first, second])

    def value(x: Tensor, c: Tensor) -> Tensor:
        left = x - c
        sold = torch.minimum(x, c)
        replaced = 0.4 * torch.minimum((-left[..., 0]).clamp_min(0.0), left[..., 1].clamp_min(0.0))
        return 7.0 * sold[..., 0] + 9.0 * sold[..., 1] + 6.0 * replaced - 3.5 * x[..., 0] - 5.0 * x[..., 1]

    decision: dict[str, Parameter] = {"first": Integer(0, 80), "second": Integer(0, 60)}
    context: dict[str, Parameter] = {
        "first_wanted": Real(1.0, math.exp(5.5), log=True),
        "second_wanted": Real(1.0, math.exp(4.0), log=True),
    }
    return Problem(
        name="third-two-stocks", space=Space(decision, context), value=value, truth=truth, draw=come, noise=4.0
    )


@register("third-rare-flood")
def _flood(seed: int, data: Data) -> Problem:
    """Level and gate of a reservoir: a full one earns more, but one month in twenty-five brings a flood."""
    law = laws.now_and_then(laws.normal(0.3, 0.08), laws.normal(0.85, 0.05), 0.04)
    truth, come = laws.independent(
        [laws.clipped(law, 0.0, 1.0, 64), laws.clipped(laws.normal(0.5, 0.2), 0.0, 1.0, 16, few=8)]
    )

    def value(x: Tensor, c: Tensor) -> Tensor:
        level, gate = x[..., 0], x[..., 1]
        power = 10.0 * (1.0 - torch.exp(-3.0 * level)) * (0.6 + 0.4 * c[..., 1])
        over = torch.nn.functional.softplus(20.0 * (level + c[..., 0] - 0.8 * gate - 0.9)) / 20.0
        return power - 150.0 * over - 4.0 * gate * (1.0 + gate)

    return Problem(
        name="third-rare-flood",
        space=Space({"level": Real(0, 1), "gate": Real(0, 1)}, {"inflow": Real(0, 1), "price": Real(0, 1)}),
        value=value,
        truth=truth,
        draw=come,
        noise=0.4,
    )


@register("third-servers")
def _servers(seed: int, data: Data) -> Problem:
    """How many servers of which kind, with how large a queue; the bill is known some rounds later."""
    load = laws.clipped(laws.normal(3.4, 0.5), 1.0, 5.5, 64, few=32, through=torch.exp)
    truth, come = laws.independent([load])

    def value(x: Tensor, c: Tensor) -> Tensor:
        kind, count, queue = x.unbind(-1)
        capacity = count * table(kind, [2.0, 5.0, 9.0, 4.0])
        overload = torch.sigmoid((c[..., 0] / (capacity + 1e-9) - 1.0) * 6.0)
        lost = overload * torch.exp(-queue / 40.0)
        waits = overload * queue / 60.0
        price = table(kind, [0.55, 1.1, 2.4, 1.2])
        return c[..., 0] * (1.0 - lost - 0.3 * waits) - price * count

    decision: dict[str, Parameter] = {
        "kind": Categorical(["small", "plain", "large", "spot"]),
        "count": Integer(1, 60),
        "queue": Real(1, 200, log=True),
    }
    context: dict[str, Parameter] = {"load": Real(math.exp(1.0), math.exp(5.5), log=True)}
    return Problem(
        name="third-servers",
        space=Space(decision, context),
        value=value,
        truth=truth,
        draw=come,
        noise=2.0,
        delay=Poisson(3.0),
    )


@register("third-watering")
def _watering(seed: int, data: Data) -> Problem:
    """Water and shade of a field under heat, wind and rain; in hot years far more water is best than in others."""
    truth, come = laws.independent(
        [
            laws.clipped(laws.normal(0.6, 0.2), 0.0, 1.0, 16, few=12),
            laws.clipped(laws.normal(0.3, 0.15), 0.0, 1.0, 16, few=8),
            laws.clipped(laws.mixture([laws.normal(0.15, 0.1), laws.normal(0.7, 0.1)]), 0.0, 1.0, 32, few=16),
        ]
    )

    def value(x: Tensor, c: Tensor) -> Tensor:
        water, shade = x.unbind(-1)
        heat, wind, rain = c.unbind(-1)
        moist = 0.9 * water + 0.6 * rain - 0.5 * heat * (1.0 - 0.6 * shade) - 0.3 * wind
        grown = torch.exp(-4.0 * (moist - 0.45).square()) * (1.0 - 0.7 * shade.square())
        rot = torch.sigmoid(12.0 * (moist - 0.8))
        return 20.0 * grown - 12.0 * rot - 3.0 * water - 2.0 * shade

    return Problem(
        name="third-watering",
        space=Space({"water": Real(0, 1), "shade": Real(0, 1)}, {n: Real(0, 1) for n in ("heat", "wind", "rain")}),
        value=value,
        truth=truth,
        draw=come,
        noise=1.0,
    )


@register("third-nine-valves")
def _valves(seed: int, data: Data) -> Problem:
    """Nine valves, most of them best near an end; neighbours hinder each other, and two contexts move what is best."""
    truth, come = laws.independent([laws.clipped(laws.normal(0.5, 0.2), 0.0, 1.0, 16, few=12)] * 2)
    places = torch.tensor([0.9, 0.1, 0.05, 0.85, 0.3, 0.95, 0.15, 0.7, 0.0], dtype=torch.float64)
    pulls = torch.tensor([0.2, 0.1, 0.0, -0.3, 0.3, 0.0, 0.2, -0.2, 0.0], dtype=torch.float64)
    weights = torch.tensor([5.0, 4.0, 4.0, 3.0, 2.0, 2.0, 1.0, 1.0, 0.5], dtype=torch.float64)

    def value(x: Tensor, c: Tensor) -> Tensor:
        off = x - places - pulls * (c[..., :1] - 0.5)
        hindered = (x[..., 1:] * x[..., :-1]).sum(-1) * c[..., 1]
        lost = torch.log1p(3.0 * (weights * off.square()).sum(-1))
        return 10.0 - 4.0 * lost - 0.8 * hindered

    names = numbered("valve", 9)
    return Problem(
        name="third-nine-valves",
        space=Space({name: Real(0, 1) for name in names}, {"heat": Real(0, 1), "pressure": Real(0, 1)}),
        value=value,
        truth=truth,
        draw=come,
        noise=0.2,
    )
