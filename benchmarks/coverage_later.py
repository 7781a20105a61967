"""Problems of `coverage.py` that were written later, after the held half had been looked at once.

The rule is the same as before: those whose name has an odd SHA-256 are for the confirmation (here), the others are more to
choose on (`coverage_more.py`). They were written and committed before anything was run on any of them. The names were picked so
that both parts have what fell short before: tails of heavy-tailed contexts that are given in part, and a status quo that is
hard to beat. Every one of them has histories; those in `PLAYED` have runs as well, picked at the same time.
"""

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
    heavy,
    logistic,
    lognormal,
    normal,
    two_humps,
)

import windward as ww


def ferry() -> Problem:
    """A fare in and out of season, with passengers who come in waves."""

    def f(d: Columns, c: Columns) -> Array:
        taste = by(c["season"], {"out": 6.0, "in": 9.5})
        aboard = 300.0 * np.tanh(c["waiting"] * np.exp(-((d["fare"] / taste) ** 2)) / 300.0)
        return 0.1 * aboard * (d["fare"] - 1.5)

    def nature(u: Array, given: Values) -> Columns:
        season = category(u[:, 0], {"out": 0.6, "in": 0.4})
        return {"season": season, "waiting": lognormal(u[:, 1], 220.0, 0.4) * by(season, {"out": 0.7, "in": 1.4})}

    return Problem(
        "ferry-fares",
        ww.Space(
            decision={"fare": ww.Real(2, 15)},
            context={"season": ww.Categorical(["out", "in"]), "waiting": ww.Real(0)},
        ),
        f,
        nature,
        Noise(6.0, share=0.1),
        {"fare": 5.0},
        Habit(step={"fare": 0.5}, follows={"fare": ("waiting", 0.04)}),
        width=2,
        tags=frozenset({"categorical", "skewed", "uneven noise", "noisy"}),
    )


def clinic() -> Problem:
    """Patients called for a morning of which some do not come; idle minutes and waiting are to be low."""

    def f(d: Columns, c: Columns) -> Array:
        load = d["called"] * c["comes"] * c["minutes"] / 240.0
        return 30.0 * np.maximum(1.0 - load, 0.0) + 70.0 * np.maximum(load - 1.0, 0.0) ** 1.5 + 5.0

    def nature(u: Array, given: Values) -> Columns:
        return {
            "comes": np.clip(two_humps(u[:, 0], 0.75, (0.85, 0.06), (0.6, 0.08)), 0.2, 1.0),
            "minutes": gamma(u[:, 1], 20.0, 15.0),
        }

    return Problem(
        "clinic-slots",
        ww.Space(decision={"called": ww.Integer(6, 40)}, context={"comes": ww.Real(0, 1), "minutes": ww.Real(0)}),
        f,
        nature,
        Noise(5.0),
        {"called": 15},
        direction="minimize",
        width=2,
        tags=frozenset({"minimize", "integer", "kinked", "bimodal", "noisy"}),
    )


def crop() -> Problem:
    """The share of a harvest sold before prices and yields are known; the worst fifth of the years counts."""

    def f(d: Columns, c: Columns) -> Array:
        promised, grown = d["share"] * 60.0, c["grown"]
        short = np.maximum(promised - grown, 0.0)
        return 0.9 * promised + np.minimum(c["price"], 6.0) * (np.maximum(grown - promised, 0.0) - 1.3 * short) - 8.0

    def nature(u: Array, given: Values) -> Columns:
        grown = np.clip(normal(u[:, 0], 62.0, 14.0), 5.0, 120.0)
        return {"grown": grown, "price": heavy(u[:, 1], 3.0, 1.0, 0.25) * (62.0 / grown) ** 0.4}

    return Problem(
        "crop-sold-forward",
        ww.Space(decision={"share": ww.Real(0, 1.5)}, context={"grown": ww.Real(0), "price": ww.Real(0)}),
        f,
        nature,
        Noise(4.0),
        {"share": 0.2},
        Habit(spread=0.08, step={"share": 0.05}),
        ww.CVaR(0.2),
        width=2,
        tags=frozenset({"cvar", "heavy tails", "kinked", "correlated"}),
    )


def power() -> Problem:
    """Reserve bought for a day whose wind is known; what is short has a heavy tail; the worst quarter of the cost counts."""

    def f(d: Columns, c: Columns) -> Array:
        short = np.logaddexp(0.0, (np.minimum(c["short"], 60.0) - d["reserve"]) / 1.5) * 1.5
        return 2.2 * d["reserve"] + c["spot"] * short

    def nature(u: Array, given: Values) -> Columns:
        wind = fixed(given, "wind", category(u[:, 0], {"calm": 0.35, "windy": 0.65}))
        return {
            "wind": wind,
            "short": heavy(u[:, 1], 4.0, 1.0, 0.45) * by(wind, {"calm": 4.0, "windy": 8.0}),
            "spot": lognormal(u[:, 2], 5.0, 0.25),
        }

    return Problem(
        "power-reserve-windy-day",
        ww.Space(
            decision={"reserve": ww.Real(0, 40)},
            context={"wind": ww.Categorical(["calm", "windy"]), "short": ww.Real(0), "spot": ww.Real(0)},
        ),
        f,
        nature,
        Noise(5.0),
        {"reserve": 9.0},
        Habit(spread=0.09, step={"reserve": 2.0}),
        ww.CVaR(0.25),
        given={"wind": "windy"},
        direction="minimize",
        width=3,
        tags=frozenset({"cvar", "given", "categorical", "heavy tails", "minimize"}),
    )


def canal() -> Problem:
    """How far a gate is opened when the tide is known and the rain is not; rain has a heavy tail; the worst fifth counts."""

    def f(d: Columns, c: Columns) -> Array:
        level = 2.0 + 0.5 * c["tide"] + np.minimum(c["rain"], 80.0) / 12.0 - 3.0 * d["gate"] * (1.0 - 0.1 * c["tide"])
        flooded = 9.0 * np.logaddexp(0.0, (level - 3.5) / 0.4) * 0.4
        dry = 6.0 * np.logaddexp(0.0, (0.5 - level) / 0.4) * 0.4
        return 20.0 - flooded - dry - 1.5 * d["gate"]

    def nature(u: Array, given: Values) -> Columns:
        return {"tide": fixed(given, "tide", normal(u[:, 0], 0.0, 1.0)), "rain": heavy(u[:, 1], 4.0, 9.0, 0.5)}

    return Problem(
        "canal-gate-known-tide",
        ww.Space(decision={"gate": ww.Real(0, 2)}, context={"tide": ww.Real(), "rain": ww.Real(0)}),
        f,
        nature,
        Noise(1.5),
        {"gate": 0.3},
        Habit(spread=0.08, step={"gate": 0.1}, follows={"gate": ("tide", 0.05)}),
        ww.CVaR(0.2),
        given={"tide": 0.6},
        width=2,
        tags=frozenset({"cvar", "given", "heavy tails"}),
    )


def vaccines() -> Problem:
    """Boxes thawed before patients come; some of the days may be like none so far."""

    def f(d: Columns, c: Columns) -> Array:
        used = np.minimum(6.0 * d["boxes"], c["patients"])
        return 1.5 * used - 0.8 * (6.0 * d["boxes"] - used) - 0.5 * (c["patients"] - used)

    return Problem(
        "vaccine-boxes",
        ww.Space(decision={"boxes": ww.Real(0, 25)}, context={"patients": ww.Real(0, 140)}),
        f,
        lambda u, given: {"patients": np.clip(gamma(u[:, 0], 9.0, 62.0), 0.0, 140.0)},
        Noise(6.0),
        {"boxes": 7.0},
        Habit(step={"boxes": 1.0}),
        ww.Robust(ww.TotalVariation(), 0.15),
        ww.KernelDensity(128, 64),
        width=1,
        tags=frozenset({"robust", "kinked", "skewed"}),
    )


def trucks() -> Problem:
    """Load and departure of a truck when the road is known: late hours and breakdowns cost."""

    def f(d: Columns, c: Columns) -> Array:
        grip = by(c["road"], {"dry": 1.0, "wet": 0.75, "ice": 0.5})
        hours = (3.0 + 0.08 * d["tons"] * c["head_wind"]) / grip
        late = np.logaddexp(0.0, 2.0 * (hours - d["early"])) / 2.0
        return 4.0 * d["tons"] - 0.05 * d["tons"] ** 2 / grip - 7.0 * late - 2.5 * d["early"]

    def nature(u: Array, given: Values) -> Columns:
        road = fixed(given, "road", category(u[:, 0], {"dry": 0.5, "wet": 0.35, "ice": 0.15}))
        return {"road": road, "head_wind": gamma(u[:, 1], 3.0, 1.0) * by(road, {"dry": 0.9, "wet": 1.3, "ice": 1.0})}

    return Problem(
        "truck-load-known-road",
        ww.Space(
            decision={"tons": ww.Real(2, 40), "early": ww.Real(2, 14)},
            context={"road": ww.Categorical(["dry", "wet", "ice"]), "head_wind": ww.Real(0)},
        ),
        f,
        nature,
        Noise(5.0),
        {"tons": 14.0, "early": 6.0},
        Habit(spread=0.08, step={"early": 0.5}),
        given={"road": "wet"},
        width=2,
        tags=frozenset({"given", "categorical", "skewed"}),
    )


def pond() -> Problem:
    """Feed and aeration of a fish pond under warmth; weighing is noisy, with outliers."""

    def f(d: Columns, c: Columns) -> Array:
        eaten = d["feed"] * np.exp(-(((c["warmth"] - 24.0) / 8.0) ** 2))
        air = 6.0 + 3.0 * d["air"] - 0.12 * c["warmth"] - 0.45 * d["feed"]
        alive = logistic(1.5 * (air - 1.5))
        return 40.0 * (1.0 - np.exp(-eaten / 4.0)) * alive - 1.2 * d["feed"] - 3.0 * d["air"]

    return Problem(
        "pond-feed",
        ww.Space(decision={"feed": ww.Real(0, 15), "air": ww.Real(0, 3)}, context={"warmth": ww.Real()}),
        f,
        lambda u, given: {"warmth": two_humps(u[:, 0], 0.6, (22.0, 2.0), (29.0, 2.0))},
        Noise(4.0, tail=3.0),
        {"feed": 3.0, "air": 0.5},
        Habit(spread=0.08, follows={"feed": ("warmth", 0.04)}),
        width=1,
        tags=frozenset({"bimodal", "heavy noise", "noisy"}),
    )


def cover() -> Problem:
    """How much of a loss is insured; losses have a heavy tail; the worst fifth of the cost is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        loss = np.minimum(c["loss"], 90.0)
        kept = loss - np.minimum(np.maximum(loss - 4.0, 0.0), d["cover"])
        return kept + 0.32 * d["cover"] * (1.0 + 0.2 * c["index"]) + 0.01 * d["cover"] ** 2

    def nature(u: Array, given: Values) -> Columns:
        return {"loss": heavy(u[:, 0], 3.0, 7.0, 0.6), "index": normal(u[:, 1])}

    return Problem(
        "insurance-cover",
        ww.Space(decision={"cover": ww.Real(0, 60)}, context={"loss": ww.Real(0), "index": ww.Real()}),
        f,
        nature,
        Noise(2.5),
        {"cover": 8.0},
        Habit(spread=0.08, step={"cover": 2.0}),
        ww.CVaR(0.2),
        direction="minimize",
        width=2,
        tags=frozenset({"cvar", "heavy tails", "kinked", "minimize"}),
    )


def mill() -> Problem:
    """Heat and speed of a mill for ore whose hardness and damp go together; Kullback-Leibler; waste is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        ground = d["speed"] * (0.6 + 0.02 * d["heat"]) / (1.0 + 0.4 * c["hard"])
        coarse = 30.0 * np.exp(-ground / 2.0)
        caked = 18.0 * logistic((c["damp"] - 0.09 * d["heat"] + 1.5) * 1.5)
        return coarse + caked + 0.25 * d["heat"] + 1.8 * d["speed"]

    def nature(u: Array, given: Values) -> Columns:
        hard = gamma(u[:, 0], 4.0, 2.0)
        return {"hard": hard, "damp": 0.5 * (hard - 2.0) + 1.5 + 0.8 * normal(u[:, 1])}

    return Problem(
        "mill-temperature",
        ww.Space(
            decision={"heat": ww.Real(0, 60), "speed": ww.Real(0.5, 8)},
            context={"hard": ww.Real(0), "damp": ww.Real()},
        ),
        f,
        nature,
        Noise(2.5),
        {"heat": 20.0, "speed": 2.5},
        Habit(spread=0.08, step={"heat": 5.0}),
        ww.Robust(ww.KullbackLeibler(), 0.1),
        ww.Empirical(),
        direction="minimize",
        width=2,
        tags=frozenset({"robust", "minimize", "correlated", "skewed"}),
    )


def mowing() -> Problem:
    """The day to mow, between growth and rain; some of the years may be like none so far."""

    def f(d: Columns, c: Columns) -> Array:
        grown = 40.0 * (1.0 - np.exp(-d["day"] / (18.0 + 0.5 * c["cold"])))
        tough = 0.03 * np.maximum(d["day"] - 22.0, 0.0) ** 2
        spoilt = 14.0 * logistic((d["day"] - c["rain_from"]) / 2.5)
        return grown - tough - spoilt

    def nature(u: Array, given: Values) -> Columns:
        return {
            "rain_from": np.clip(two_humps(u[:, 0], 0.5, (20.0, 3.0), (34.0, 4.0)), 5.0, 50.0),
            "cold": np.clip(normal(u[:, 1], 8.0, 4.0), 0.0, 20.0),
        }

    return Problem(
        "mowing-day",
        ww.Space(decision={"day": ww.Real(0, 60)}, context={"rain_from": ww.Real(5, 50), "cold": ww.Real(0, 20)}),
        f,
        nature,
        Noise(2.5),
        {"day": 16.0},
        Habit(step={"day": 2.0}),
        ww.Robust(ww.TotalVariation(), 0.2),
        ww.Empirical(64),
        width=2,
        tags=frozenset({"robust", "bimodal"}),
    )


def trams() -> Problem:
    """Minutes between trams, near the best already; crowds have a heavy tail; waiting and wages are to be low."""

    def f(d: Columns, c: Columns) -> Array:
        crowd = np.minimum(c["crowd"], 60.0) * d["minutes"] / 80.0
        return 1.1 * d["minutes"] + 90.0 / d["minutes"] + 2.0 * np.logaddexp(0.0, (crowd - 3.0) / 0.5) * 0.5

    return Problem(
        "tram-interval",
        ww.Space(decision={"minutes": ww.Real(3, 30)}, context={"crowd": ww.Real(0)}),
        f,
        lambda u, given: {"crowd": heavy(u[:, 0], 4.0, 12.0, 0.4)},
        Noise(2.0),
        {"minutes": 12.0},
        Habit(spread=0.1, step={"minutes": 0.5}),
        direction="minimize",
        width=1,
        tags=frozenset({"minimize", "heavy tails", "good status quo"}),
    )


LATER = (ferry, clinic, crop, power, canal, vaccines, trucks, pond, cover, mill, mowing, trams)
# In this order: where time is short, the first ones.
PLAYED = ("ferry-fares", "crop-sold-forward", "vaccine-boxes", "tram-interval", "pond-feed")
