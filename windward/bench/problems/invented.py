"""Small worlds made up for the suite: a shop, a bid, a dose, storms; and functions of the papers with other noise or delays.

Every expectation is a quadrature over the contexts as they are drawn: laws are clipped to the bounds named here, heavy tails
too, and what lies beyond a bound counts as lying on it. Categories are given as indices.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems import functions
from windward.bench.problems.delays import Lossy, Poisson
from windward.bench.problems.expectations import branin, hartmann, unit_space
from windward.bench.problems.registry import Data, problem, register
from windward.contexts import Contexts
from windward.space.parameters import Categorical, Integer, Parameter, Real
from windward.space.space import Space


def table(column: Tensor, numbers: list[float]) -> Tensor:
    """Return a number for each category."""
    return torch.tensor(numbers, dtype=torch.float64)[column.round().long()]


# -- functions of the papers in another world ------------------------------------------------------------------------------


@register("branin-2-2-noisy")
def _branin_noisy(seed: int, data: Data) -> Problem:
    return replace(branin("branin-2-2-noisy", 0.1), noise=10.0)


@register("hartmann-5-1-noisy")
def _hartmann_noisy(seed: int, data: Data) -> Problem:
    return replace(hartmann("hartmann-5-1-noisy", laws.normal(0.5, 0.1), 16), noise=0.3)


@register("newsvendor-outliers")
def _newsvendor_outliers(seed: int, data: Data) -> Problem:
    """The newsvendor with Student noise of three degrees of freedom."""
    return replace(problem("newsvendor"), name="newsvendor-outliers", noise=0.3, tail=3)


@register("newsvendor-late")
def _newsvendor_late(seed: int, data: Data) -> Problem:
    """The newsvendor, noisy, with values that come three rounds later on average."""
    return replace(problem("newsvendor"), name="newsvendor-late", noise=0.1, delay=Poisson(3.0))


@register("branin-2-0")
def _branin_2_0(seed: int, data: Data) -> Problem:
    """Branin itself, on the unit square, without contexts."""
    truth, come = laws.no_context()
    return Problem(
        name="branin-2-0",
        space=unit_space(2, 0),
        value=lambda x, c: -functions.branin(15.0 * x[..., 0] - 5.0, 15.0 * x[..., 1]) + 0.0 * c.sum(-1),
        truth=truth,
        draw=come,
    )


@register("hartmann-6-0")
def _hartmann_6_0(seed: int, data: Data) -> Problem:
    """Hartmann in six dimensions, all of them decisions, without contexts."""
    truth, come = laws.no_context()
    return Problem(
        name="hartmann-6-0",
        space=unit_space(6, 0),
        value=lambda x, c: functions.hartmann(x, c, functions.RATES_6, functions.PLACES_6) + 0.0 * c.sum(-1),
        truth=truth,
        draw=come,
    )


@register("three-hills-lost")
def _three_hills_lost(seed: int, data: Data) -> Problem:
    """Hartmann in three dimensions, the last one a uniform context; a fifth of the values is lost, the others are late."""
    truth, come = laws.independent([laws.clipped(laws.uniform(0.0, 1.0), 0.0, 1.0, 16)])
    return Problem(
        name="three-hills-lost",
        space=unit_space(2, 1),
        value=lambda x, c: functions.hartmann(x, c, functions.RATES_3, functions.PLACES_3),
        truth=truth,
        draw=come,
        noise=0.1,
        delay=Lossy(0.2, Poisson(2.0)),
    )


# -- practical ones ----------------------------------------------------------------------------------------------------------


@register("kiosk")
def _kiosk(seed: int, data: Data) -> Problem:
    """Pieces and price before the weather and the demand are known; warm days sell more and bear a higher price."""
    shares, visitors = torch.tensor([0.5, 0.35, 0.15], dtype=torch.float64), [18.0, 30.0, 50.0]
    days = [
        laws.clipped(laws.normal(math.log(mean), 0.3), 0.0, math.log(150.0), 64, through=torch.exp) for mean in visitors
    ]

    def value(x: Tensor, c: Tensor) -> Tensor:
        pieces, price = x[..., 0], x[..., 1]
        wanted = c[..., 1] * torch.exp(-table(c[..., 0], [0.7, 0.55, 0.4]) * (price - 2.0))
        return price * torch.minimum(pieces, wanted) - 0.8 * pieces

    def come(turn: int, generator: torch.Generator) -> Tensor:
        day = int(torch.multinomial(shares, 1, generator=generator))
        return torch.stack([torch.tensor(float(day), dtype=torch.float64), days[day].draw(generator)])

    points = [
        torch.stack([torch.full_like(each.rule.nodes, float(place)), each.rule.nodes], dim=1)
        for place, each in enumerate(days)
    ]
    weights = [share * each.rule.weights for share, each in zip(shares, days, strict=True)]
    decision: dict[str, Parameter] = {"pieces": Integer(0, 80), "price": Real(1.0, 6.0)}
    context: dict[str, Parameter] = {"weather": Categorical(["rain", "clouds", "sun"]), "visitors": Real(1, 150)}
    return Problem(
        name="kiosk",
        space=Space(decision, context),
        value=value,
        truth=Contexts(torch.cat(points), torch.cat(weights)),
        draw=come,
        noise=4.0,
    )


@register("bid-for-clicks")
def _bid(seed: int, data: Data) -> Problem:
    """A bid against a rival whose bids have a heavy tail; what a click brings varies, and is seen with outliers."""
    rival = laws.clipped(laws.student(-0.7, 0.45), -6.0, 4.0, 64, through=torch.exp)
    worth = laws.clipped(laws.normal(1.0, 0.3), 0.0, 2.0, 16, few=8)
    truth, come = laws.independent([rival, worth])

    def value(x: Tensor, c: Tensor) -> Tensor:
        won = torch.sigmoid(4.0 * (x[..., 0].log() - c[..., 0].log()))
        return 100.0 * won * (c[..., 1] - 0.8 * x[..., 0])

    return Problem(
        name="bid-for-clicks",
        space=Space(
            {"bid": Real(0.05, 3.0, log=True)},
            {"rival": Real(math.exp(-6.0), math.exp(4.0), log=True), "worth": Real(0, 2)},
        ),
        value=value,
        truth=truth,
        draw=come,
        noise=8.0,
        tail=3,
    )


@register("dose-late")
def _dose(seed: int, data: Data) -> Problem:
    """A dose and its interval for patients of unknown weight and sensitivity; the effect is known some rounds later."""
    weight = laws.clipped(laws.normal(75.0, 15.0), 40.0, 130.0, 16, few=16)
    sensitivity = laws.clipped(laws.normal(0.0, 0.5), -2.5, 2.5, 16, few=24, through=torch.exp)
    truth, come = laws.independent([weight, sensitivity])

    def value(x: Tensor, c: Tensor) -> Tensor:
        level = x[..., 0] / x[..., 1] / c[..., 0] * c[..., 1] * 12.0
        helped = level.square() / (4.0 + level.square())
        harmed = 1.5 * torch.sigmoid(1.2 * (level - 6.0))
        return 10.0 * (helped - harmed) - 0.6 * (24.0 / x[..., 1] - 1.0)

    return Problem(
        name="dose-late",
        space=Space(
            {"dose": Real(5, 500, log=True), "hours": Real(4, 24)},
            {"weight": Real(40, 130), "sensitivity": Real(math.exp(-2.5), math.exp(2.5), log=True)},
        ),
        value=value,
        truth=truth,
        draw=come,
        noise=1.0,
        delay=Poisson(4.0),
    )


@register("bakery-recipe")
def _recipe(seed: int, data: Data) -> Problem:
    """Flour, minutes, heat and water of a loaf, in an oven that is never as hot as it says and in damp or dry air."""
    damp = laws.clipped(laws.normal(0.5, 0.18), 0.0, 1.0, 16, few=16)
    oven = laws.clipped(laws.student(0.0, 6.0), -40.0, 40.0, 32, few=32)
    truth, come = laws.independent([damp, oven])

    def value(x: Tensor, c: Tensor) -> Tensor:
        flour, minutes, heat, water = x.unbind(-1)
        baked = minutes / 40.0 * torch.exp((heat + c[..., 1] - 210.0) / 60.0)
        crust = torch.exp(-0.5 * ((baked - table(flour, [0.9, 1.05, 1.3, 1.15])) / 0.18).square())
        best_water = table(flour, [0.60, 0.66, 0.78, 0.70]) - 0.15 * (c[..., 0] - 0.5)
        crumb = torch.exp(-0.5 * ((water - best_water) / 0.06).square())
        return 100.0 * table(flour, [0.75, 0.9, 1.0, 0.8]) * crust * (0.35 + 0.65 * crumb) - 0.2 * minutes

    decision: dict[str, Parameter] = {
        "flour": Categorical(["white", "brown", "rye", "spelt"]),
        "minutes": Integer(20, 70),
        "heat": Real(160, 260),
        "water": Real(0.5, 0.9),
    }
    return Problem(
        name="bakery-recipe",
        space=Space(decision, {"damp": Real(0, 1), "oven": Real(-40, 40)}),
        value=value,
        truth=truth,
        draw=come,
        noise=3.0,
    )


@register("shift-sizes")
def _shifts(seed: int, data: Data) -> Problem:
    """People on three shifts for a day nobody chose: each weekday is busy at other hours, and calls vary."""
    truth, come = laws.independent([laws.category([1.0 / 7.0] * 7), laws.clipped(laws.normal(1.0, 0.25), 0.2, 2.0, 64)])
    busy = [
        [8.0, 7.5, 7.0, 7.0, 6.0, 3.0, 2.0],
        [9.0, 9.0, 9.5, 9.0, 11.0, 12.0, 8.0],
        [3.0, 3.0, 3.0, 4.0, 8.0, 10.0, 4.0],
    ]

    def value(x: Tensor, c: Tensor) -> Tensor:
        total = torch.zeros_like(x[..., 0] * c[..., 1])
        for shift, calls in enumerate(busy):
            wanted = table(c[..., 0], calls) * c[..., 1]
            total = total + 5.0 * torch.minimum(x[..., shift], wanted) - 2.0 * x[..., shift]
        return total

    decision: dict[str, Parameter] = {name: Integer(0, 15) for name in ("early", "noon", "late")}
    days = Categorical(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    return Problem(
        name="shift-sizes",
        space=Space(decision, {"day": days, "calls": Real(0.2, 2.0)}),
        value=value,
        truth=truth,
        draw=come,
        noise=5.0,
    )


@register("rare-storm")
def _storm(seed: int, data: Data) -> Problem:
    """Load and sail of a boat: one trip in twenty meets a storm, and then a full boat is lost."""
    truth, come = laws.independent(
        [laws.category([0.95, 0.05]), laws.clipped(laws.normal(0.5, 0.15), 0.0, 1.0, 16, few=24)]
    )

    def value(x: Tensor, c: Tensor) -> Tensor:
        load, sail = x[..., 0], x[..., 1]
        pace = 1.0 - 2.0 * (sail - 0.3 - 0.5 * c[..., 1]).square()
        lost = torch.sigmoid(14.0 * (0.6 * load + 0.5 * sail - 0.55))
        return 10.0 * load.clamp_min(1e-12).sqrt() * pace - c[..., 0] * 120.0 * lost

    return Problem(
        name="rare-storm",
        space=Space(
            {"load": Real(0, 1), "sail": Real(0, 1)},
            {"storm": Categorical(["no", "yes"]), "wind": Real(0, 1)},
        ),
        value=value,
        truth=truth,
        draw=come,
        noise=0.3,
    )


@register("rare-frost")
def _frost(seed: int, data: Data) -> Problem:
    """When to sow: early sowing yields more, unless the one year in twenty with a late frost comes."""
    law = laws.now_and_then(laws.normal(0.35, 0.1), laws.normal(0.8, 0.04), 0.05)
    truth, come = laws.independent([laws.clipped(law, 0.0, 1.0, 64)])

    def value(x: Tensor, c: Tensor) -> Tensor:
        day, cover = x[..., 0], x[..., 1]
        frozen = torch.sigmoid(30.0 * (c[..., 0] - 0.1 - day))
        harvest = 10.0 - 7.0 * day - 3.0 * (day - 0.25).clamp_min(0.0).square()
        return harvest - frozen * (1.0 - 0.8 * cover) * 40.0 - 2.5 * cover

    return Problem(
        name="rare-frost",
        space=Space({"day": Real(0, 1), "cover": Real(0, 1)}, {"frost": Real(0, 1)}),
        value=value,
        truth=truth,
        draw=come,
        noise=0.5,
    )


@register("insured-share")
def _insurance(seed: int, data: Data) -> Problem:
    """How much of a claim to keep and where cover ends; claims have a heavy tail, and their number varies."""
    claim = laws.clipped(laws.student(1.0, 0.7), -5.0, 6.0, 96, through=torch.exp)
    truth, come = laws.independent([claim, laws.clipped(laws.normal(1.0, 0.25), 0.3, 2.0, 16, few=8)])

    def value(x: Tensor, c: Tensor) -> Tensor:
        kept, end = x[..., 0], x[..., 1]
        loss, count = c[..., 0], c[..., 1]
        paid = torch.minimum(loss, kept) + (loss - end).clamp_min(0.0)
        premium = 8.0 * torch.exp(-kept / 3.0) + 0.6 * torch.log(end / 20.0)
        return -premium - count * 30.0 * torch.tanh((paid + 0.02 * paid.square()) / 30.0)

    return Problem(
        name="insured-share",
        space=Space(
            {"kept": Real(0, 20), "end": Real(20, 200)},
            {"claim": Real(math.exp(-5.0), math.exp(6.0), log=True), "count": Real(0.3, 2.0)},
        ),
        value=value,
        truth=truth,
        draw=come,
        noise=0.2,
    )


@register("ten-dials")
def _dials(seed: int, data: Data) -> Problem:
    """Ten dials with a best place each that the context moves, neighbours that pull at one another, and ripples."""
    truth, come = laws.independent([laws.clipped(laws.normal(0.5, 0.2), 0.0, 1.0, 32, few=24)])
    places = torch.tensor([0.2, 0.7, 0.45, 0.85, 0.3, 0.6, 0.15, 0.5, 0.75, 0.4], dtype=torch.float64)
    pulls = torch.tensor([0.3, -0.2, 0.1, 0.0, -0.3, 0.2, 0.1, -0.1, 0.0, 0.3], dtype=torch.float64)
    weights = torch.tensor([6.0, 5.0, 4.0, 3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 1.0], dtype=torch.float64)

    def value(x: Tensor, c: Tensor) -> Tensor:
        off = x - places - pulls * (c - 0.5)
        pull = (off[..., 1:] * off[..., :-1]).sum(-1)
        return -(weights * off.square()).sum(-1) - pull + 0.05 * torch.cos(4.0 * math.pi * off).sum(-1)

    return Problem(name="ten-dials", space=unit_space(10, 1), value=value, truth=truth, draw=come, noise=0.1)


@register("greenhouse")
def _greenhouse(seed: int, data: Data) -> Problem:
    """Six settings of a greenhouse under sun and cold that nobody chose: a crop less what heat, light and water cost."""
    sun = laws.clipped(laws.normal(0.55, 0.22), 0.0, 1.0, 16, few=20)
    cold = laws.clipped(laws.normal(0.4, 0.2), 0.0, 1.0, 16, few=20)
    truth, come = laws.independent([sun, cold])

    def value(x: Tensor, c: Tensor) -> Tensor:
        heat, vent, shade, water, feed, lamp = x.unbind(-1)
        light = c[..., 0] * (1.0 - 0.7 * shade) + 0.45 * lamp
        warm = 0.45 + 0.5 * heat + 0.35 * c[..., 0] * (1.0 - shade) - 0.45 * c[..., 1] - 0.3 * vent
        moist = water - 0.35 * (warm - 0.5) - 0.15 * vent
        growth = torch.exp(-4.0 * (warm - 0.65).square() - 3.0 * (moist - 0.5).square() - 2.5 * (light - 0.7).square())
        strength = feed * (1.6 - feed)
        mould = torch.sigmoid(12.0 * (moist - 0.25 * vent - 0.62))
        return 30.0 * growth * (0.4 + strength) - 9.0 * mould - 5.0 * heat - 4.0 * lamp - 1.5 * feed

    names = ("heat", "vent", "shade", "water", "feed", "lamp")
    return Problem(
        name="greenhouse",
        space=Space({name: Real(0, 1) for name in names}, {"sun": Real(0, 1), "cold": Real(0, 1)}),
        value=value,
        truth=truth,
        draw=come,
        noise=1.0,
    )
