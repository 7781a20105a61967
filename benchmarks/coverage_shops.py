"""Invented problems of `coverage.py` from trade: prices, stocks, bids, channels, routes."""

from __future__ import annotations

import numpy as np
from coverage_problem import (
    Array,
    Columns,
    Habit,
    Noise,
    Problem,
    Values,
    by,
    category,
    fixed,
    gamma,
    logistic,
    lognormal,
    normal,
    poisson,
    student,
    two_humps,
)

import windward as ww


def bread() -> Problem:
    """Loaves baked before the day's demand is known: kinked, whole numbers, skewed demand."""

    def f(d: Columns, c: Columns) -> Array:
        sold = np.minimum(d["loaves"], c["demand"])
        return 3.2 * sold - 1.1 * d["loaves"] - 0.4 * np.maximum(c["demand"] - d["loaves"], 0.0)

    return Problem(
        "bakery-bread-stock",
        ww.Space(decision={"loaves": ww.Integer(20, 200)}, context={"demand": ww.Real(0)}),
        f,
        lambda u, given: {"demand": lognormal(u[:, 0], 85.0, 0.35)},
        Noise(12.0),
        {"loaves": 70},
        Habit(step={"loaves": 5}),
        width=1,
        tags=frozenset({"integer", "kinked", "skewed"}),
    )


def kiosk() -> Problem:
    """A price in dry and wet weather with a skewed footfall; the noise grows with the takings."""

    def f(d: Columns, c: Columns) -> Array:
        taste = by(c["weather"], {"dry": 4.2, "wet": 2.8})
        return (d["price"] - 1.2) * c["footfall"] * 0.5 * np.exp(-((d["price"] / taste) ** 1.6))

    def nature(u: Array, given: Values) -> Columns:
        weather = category(u[:, 0], {"dry": 0.7, "wet": 0.3})
        return {"weather": weather, "footfall": gamma(u[:, 1], 3.0, 130.0) * by(weather, {"dry": 1.1, "wet": 0.7})}

    return Problem(
        "kiosk-price-by-weather",
        ww.Space(
            decision={"price": ww.Real(1.5, 8.0)},
            context={"weather": ww.Categorical(["dry", "wet"]), "footfall": ww.Real(0)},
        ),
        f,
        nature,
        Noise(4.0, share=0.15),
        {"price": 4.5},
        Habit(step={"price": 0.25}, follows={"price": ("footfall", 0.05)}),
        width=2,
        tags=frozenset({"categorical", "skewed", "uneven noise", "noisy"}),
    )


def rooms() -> Problem:
    """Room rate and minimum stay; the season is known when the decision is made, the event is not."""

    def f(d: Columns, c: Columns) -> Array:
        most = by(c["season"], {"low": 90.0, "mid": 130.0, "high": 190.0})
        fill = logistic((most + 40.0 * c["event"] - d["rate"]) / 22.0)
        short = 1.0 - 0.08 * (d["stay"] - 1.0) + 0.03 * (d["stay"] - 1.0) * c["event"]
        return 80.0 * fill * short * (d["rate"] - 25.0 / d["stay"]) / 100.0

    def nature(u: Array, given: Values) -> Columns:
        season = fixed(given, "season", category(u[:, 0], {"low": 0.45, "mid": 0.3, "high": 0.25}))
        return {"season": season, "event": two_humps(u[:, 1], 0.7, (0.0, 0.25), (1.6, 0.4))}

    return Problem(
        "hotel-rate-and-stay",
        ww.Space(
            decision={"rate": ww.Real(50, 300), "stay": ww.Real(1, 4)},
            context={"season": ww.Categorical(["low", "mid", "high"]), "event": ww.Real()},
        ),
        f,
        nature,
        Noise(4.0),
        {"rate": 95.0, "stay": 2.0},
        Habit(spread=0.09, step={"rate": 5.0, "stay": 0.5}),
        given={"season": "mid"},
        width=2,
        tags=frozenset({"categorical", "given", "bimodal"}),
    )


def bids() -> Problem:
    """A bid against rivals whose bids have a heavy tail; what a click brings is noisy, with outliers."""

    def f(d: Columns, c: Columns) -> Array:
        won = logistic(4.0 * (np.log(d["bid"]) - np.log(c["rival"])))
        return 100.0 * won * (3.0 * c["rate"] - 0.8 * d["bid"])

    def nature(u: Array, given: Values) -> Columns:
        return {"rival": np.exp(student(u[:, 0], 3.0, -0.7, 0.45)), "rate": np.clip(gamma(u[:, 1], 6.0, 0.35), 0, 1)}

    return Problem(
        "auction-bid-for-clicks",
        ww.Space(
            decision={"bid": ww.Real(0.05, 3.0, log=True)},
            context={"rival": ww.Real(0.001, None, log=True), "rate": ww.Real(0, 1)},
        ),
        f,
        nature,
        Noise(9.0, tail=3.0),
        {"bid": 0.35},
        Habit(spread=0.07),
        width=2,
        tags=frozenset({"heavy tails", "heavy noise", "noisy"}),
    )


def newsstand() -> Problem:
    """Copies and price with correlated level and taste of demand; what counts is the worst quarter of the days."""

    def f(d: Columns, c: Columns) -> Array:
        wanted = c["level"] * np.exp(-(d["price"] - 2.0) / (1.2 + c["taste"]))
        return d["price"] * np.minimum(d["copies"], wanted) - 0.9 * d["copies"]

    def nature(u: Array, given: Values) -> Columns:
        z, other = normal(u[:, 0]), normal(u[:, 1])
        return {"level": 80.0 * np.exp(0.3 * z), "taste": logistic(0.7 * z + 0.7 * other)}

    return Problem(
        "newsstand-copies-and-price",
        ww.Space(
            decision={"copies": ww.Real(10, 160), "price": ww.Real(1.5, 5.0)},
            context={"level": ww.Real(0), "taste": ww.Real(0, 1)},
        ),
        f,
        nature,
        Noise(6.0),
        {"copies": 60.0, "price": 2.5},
        Habit(step={"price": 0.25}),
        ww.CVaR(0.25),
        width=2,
        tags=frozenset({"cvar", "correlated", "kinked", "skewed"}),
    )


def parcels() -> Problem:
    """How to send a parcel, and how early; delays have a heavy tail; cost is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        fee = by(d["mode"], {"road": 8.0, "rail": 5.0, "air": 19.0})
        exposed = by(d["mode"], {"road": 1.0, "rail": 1.6, "air": 0.35})
        late = exposed * c["delay"] - d["early"]
        # The fee for lateness ends at 40: past it the parcel is written off.
        return fee * (0.6 + 0.4 * c["volume"]) + 1.1 * d["early"] + 40.0 * np.tanh(np.logaddexp(0.0, 2.0 * late) / 12.0)

    def nature(u: Array, given: Values) -> Columns:
        return {"delay": lognormal(u[:, 0], 1.6, 0.9), "volume": gamma(u[:, 1], 4.0, 1.0)}

    return Problem(
        "parcel-mode",
        ww.Space(
            decision={"mode": ww.Categorical(["road", "rail", "air"]), "early": ww.Real(0, 10)},
            context={"delay": ww.Real(0), "volume": ww.Real(0)},
        ),
        f,
        nature,
        Noise(2.5),
        {"mode": "road", "early": 2.0},
        Habit(spread=0.1, stay=0.5),
        direction="minimize",
        width=2,
        tags=frozenset({"minimize", "categorical decision", "heavy tails"}),
    )


def ices() -> Problem:
    """Stock and price of ice cream; the temperature is forecast well, how many come is not."""

    def f(d: Columns, c: Columns) -> Array:
        wanted = c["visitors"] * logistic((c["temperature"] - 20.0) / 4.0) * np.exp(-0.35 * (d["price"] - 1.5))
        sold = d["stock"] - np.logaddexp(0.0, (d["stock"] - wanted) / 6.0) * 6.0
        return d["price"] * sold - 0.7 * d["stock"]

    def nature(u: Array, given: Values) -> Columns:
        warm = fixed(given, "temperature", normal(u[:, 0], 21.0, 4.5))
        return {"temperature": warm, "visitors": lognormal(u[:, 1], 110.0, 0.3) * np.exp(0.02 * (warm - 21.0))}

    return Problem(
        "ices-known-temperature",
        ww.Space(
            decision={"stock": ww.Real(5, 150), "price": ww.Real(1.0, 5.0)},
            context={"temperature": ww.Real(), "visitors": ww.Real(0)},
        ),
        f,
        nature,
        Noise(6.0),
        {"stock": 50.0, "price": 2.5},
        Habit(step={"price": 0.5}, follows={"stock": ("temperature", 0.12)}),
        given={"temperature": 25.0},
        width=2,
        tags=frozenset({"given", "correlated", "skewed"}),
    )


def segments() -> Problem:
    """One discount for four kinds of customers, one of them rare, with skewed baskets."""

    def f(d: Columns, c: Columns) -> Array:
        keen = by(c["segment"], {"new": 9.0, "usual": 4.0, "firm": 1.0, "club": 14.0})
        bought = logistic(keen * (d["discount"] - 0.15) + 0.3)
        return c["basket"] * bought * (0.45 - d["discount"])

    def nature(u: Array, given: Values) -> Columns:
        segment = category(u[:, 0], {"new": 0.45, "usual": 0.33, "firm": 0.16, "club": 0.06})
        size = by(segment, {"new": 25.0, "usual": 40.0, "firm": 90.0, "club": 60.0})
        return {"segment": segment, "basket": size * np.exp(0.5 * normal(u[:, 1]))}

    return Problem(
        "customer-segment-discounts",
        ww.Space(
            decision={"discount": ww.Real(0.0, 0.45)},
            context={"segment": ww.Categorical(["new", "usual", "firm", "club"]), "basket": ww.Real(0)},
        ),
        f,
        nature,
        Noise(1.5, share=0.1),
        {"discount": 0.15},
        Habit(step={"discount": 0.05}),
        width=2,
        tags=frozenset({"categorical", "rare", "skewed", "uneven noise"}),
    )


def channels() -> Problem:
    """Money for three channels that saturate, in two kinds of weeks, against a rival's pressure."""

    def f(d: Columns, c: Columns) -> Array:
        busy = by(c["week"], {"plain": 1.0, "holiday": 1.7})
        reach = 30.0 * (1.0 - np.exp(-d["search"] / 8.0)) + 22.0 * (1.0 - np.exp(-d["video"] / 12.0)) * busy
        reach = reach + 14.0 * d["mail"] / (d["mail"] + 5.0) * (1.0 + 0.3 * c["rival"])
        spent = d["search"] + d["video"] + d["mail"]
        return busy * reach * np.exp(-0.25 * c["rival"]) - 0.9 * spent - 0.01 * spent**2

    def nature(u: Array, given: Values) -> Columns:
        return {"week": category(u[:, 0], {"plain": 0.75, "holiday": 0.25}), "rival": gamma(u[:, 1], 2.0, 1.0)}

    return Problem(
        "channel-money-three-ways",
        ww.Space(
            decision={"search": ww.Real(0, 40), "video": ww.Real(0, 40), "mail": ww.Real(0, 20)},
            context={"week": ww.Categorical(["plain", "holiday"]), "rival": ww.Real(0)},
        ),
        f,
        nature,
        Noise(2.0, share=0.06),
        {"search": 12.0, "video": 8.0, "mail": 5.0},
        Habit(spread=0.08),
        width=2,
        tags=frozenset({"categorical", "skewed", "uneven noise", "noisy"}),
    )


def spares() -> Problem:
    """Spare parts in stock before the breakdowns are counted; the worst fifth of the cost is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        short = np.maximum(c["failures"] - d["parts"], 0.0)
        return 3.0 * d["parts"] + 11.0 * short * (0.5 + 0.5 * c["lead"]) + 0.4 * c["failures"]

    def nature(u: Array, given: Values) -> Columns:
        busy = lognormal(u[:, 0], 1.0, 0.35)
        return {"failures": poisson(u[:, 1], 7.0 * busy), "lead": gamma(u[:, 2], 3.0, 1.0)}

    return Problem(
        "spare-parts-on-shelf",
        ww.Space(decision={"parts": ww.Integer(0, 30)}, context={"failures": ww.Integer(0), "lead": ww.Real(0)}),
        f,
        nature,
        Noise(4.0),
        {"parts": 6},
        Habit(spread=0.07),
        ww.CVaR(0.2),
        direction="minimize",
        width=3,
        tags=frozenset({"cvar", "minimize", "integer", "kinked", "skewed"}),
    )


def flowers() -> Problem:
    """Bunches bought before the demand; a part of the days may be like none so far."""

    def f(d: Columns, c: Columns) -> Array:
        sold = d["bunches"] - np.logaddexp(0.0, (d["bunches"] - c["demand"]) / 5.0) * 5.0
        return 2.4 * sold - 1.0 * d["bunches"]

    return Problem(
        "florist-bunches",
        ww.Space(decision={"bunches": ww.Real(10, 150)}, context={"demand": ww.Real(0, 160)}),
        f,
        lambda u, given: {"demand": np.clip(gamma(u[:, 0], 8.0, 75.0), 0.0, 160.0)},
        Noise(5.0),
        {"bunches": 55.0},
        Habit(step={"bunches": 5.0}),
        ww.Robust(ww.TotalVariation(), 0.2),
        ww.KernelDensity(128, 64),
        width=1,
        tags=frozenset({"robust", "skewed"}),
    )


def taxis() -> Problem:
    """A fare factor under drifting demand and weather: chi-square around what has been seen."""

    def f(d: Columns, c: Columns) -> Array:
        rides = c["calls"] * logistic(2.5 * (1.5 + 0.4 * c["rain"] - d["factor"]))
        return 0.6 * rides * (d["factor"] - 0.45)

    def nature(u: Array, given: Values) -> Columns:
        return {"calls": lognormal(u[:, 0], 60.0, 0.35), "rain": two_humps(u[:, 1], 0.65, (0.0, 0.15), (1.3, 0.35))}

    return Problem(
        "taxi-fare-in-rain",
        ww.Space(decision={"factor": ww.Real(0.6, 3.0)}, context={"calls": ww.Real(0), "rain": ww.Real()}),
        f,
        nature,
        Noise(2.0, tail=4.0),
        {"factor": 1.1},
        Habit(step={"factor": 0.1}, follows={"factor": ("rain", 0.04)}),
        ww.Robust(ww.ChiSquare(), 0.15),
        ww.Empirical(),
        width=2,
        tags=frozenset({"robust", "bimodal", "skewed", "heavy noise"}),
    )


def routes() -> Problem:
    """Which way, and how much slack, with open or closed passes; Kullback-Leibler around what has been seen; time to be low."""

    def f(d: Columns, c: Columns) -> Array:
        base = by(d["way"], {"pass": 40.0, "coast": 55.0, "tunnel": 47.0})
        hurt = by(d["way"], {"pass": 22.0, "coast": 4.0, "tunnel": 9.0}) * by(c["snow"], {"no": 0.0, "yes": 1.0})
        jam = by(d["way"], {"pass": 0.5, "coast": 0.8, "tunnel": 1.2}) * c["traffic"]
        late = hurt + 12.0 * jam - d["slack"]
        return base + 0.5 * d["slack"] + np.logaddexp(0.0, late / 4.0) * 4.0

    def nature(u: Array, given: Values) -> Columns:
        return {"snow": category(u[:, 0], {"no": 0.75, "yes": 0.25}), "traffic": gamma(u[:, 1], 2.5, 1.0)}

    return Problem(
        "route-and-slack-in-snow",
        ww.Space(
            decision={"way": ww.Categorical(["pass", "coast", "tunnel"]), "slack": ww.Real(0, 40)},
            context={"snow": ww.Categorical(["no", "yes"]), "traffic": ww.Real(0)},
        ),
        f,
        nature,
        Noise(3.0),
        {"way": "pass", "slack": 10.0},
        Habit(spread=0.1, stay=0.5),
        ww.Robust(ww.KullbackLeibler(), 0.1),
        ww.Empirical(),
        direction="minimize",
        width=2,
        tags=frozenset({"robust", "minimize", "categorical", "categorical decision", "skewed"}),
    )


SHOPS = (bread, kiosk, rooms, bids, newsstand, parcels, ices, segments, channels, spares, flowers, taxis, routes)
