"""Invented problems of `coverage.py` from farms, wards and plants: doses, water, reserves, shifts, set points."""

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
    student,
    two_humps,
)

import windward as ww


def doses() -> Problem:
    """A dose and its interval for patients whose weight and clearance go together; harm is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        level = d["dose"] / (c["clearance"] * d["hours"]) * 4.0 * (70.0 / c["weight"]) ** 0.5
        untreated, toxic = logistic(3.0 * (1.0 - level)), logistic(2.5 * (level - 2.2))
        return 30.0 * untreated + 45.0 * toxic + 6.0 / d["hours"]

    def nature(u: Array, given: Values) -> Columns:
        z = normal(u[:, 0])
        return {"weight": 74.0 + 13.0 * z, "clearance": 5.0 * np.exp(0.25 * z + 0.3 * normal(u[:, 1]))}

    return Problem(
        "dose-and-interval",
        ww.Space(
            decision={"dose": ww.Real(2, 60), "hours": ww.Real(4, 24)},
            context={"weight": ww.Real(), "clearance": ww.Real(0)},
        ),
        f,
        nature,
        Noise(3.0),
        {"dose": 12.0, "hours": 12.0},
        Habit(step={"hours": 2.0}, follows={"dose": ("weight", 0.03)}),
        direction="minimize",
        width=2,
        tags=frozenset({"minimize", "correlated", "skewed", "noisy"}),
    )


def irrigation() -> Problem:
    """Water and nitrogen before the season's rain and warmth; yields have outliers."""

    def f(d: Columns, c: Columns) -> Array:
        moist = (d["water"] + c["rain"]) / (40.0 + 3.0 * c["warmth"])
        growth = np.exp(-1.5 * (moist - 1.0) ** 2)
        fed = 1.0 - np.exp(-d["nitrogen"] / 60.0)
        lost = 0.06 * d["nitrogen"] * np.clip(moist - 1.0, 0.0, 2.0)
        return 120.0 * growth * (0.4 + 0.6 * fed) - 0.15 * d["water"] - 0.18 * d["nitrogen"] - lost

    def nature(u: Array, given: Values) -> Columns:
        return {"rain": gamma(u[:, 0], 2.0, 45.0), "warmth": normal(u[:, 1], 18.0, 3.0)}

    return Problem(
        "field-water-nitrogen",
        ww.Space(
            decision={"water": ww.Real(0, 120), "nitrogen": ww.Real(0, 200)},
            context={"rain": ww.Real(0), "warmth": ww.Real()},
        ),
        f,
        nature,
        Noise(7.0, tail=3.0),
        {"water": 30.0, "nitrogen": 120.0},
        Habit(step={"nitrogen": 10.0}),
        width=2,
        tags=frozenset({"skewed", "heavy noise", "noisy"}),
    )


def battery() -> Problem:
    """Energy bought a day ahead; what is short is bought at a spot price with spikes; the worst fifth of the cost counts."""

    def f(d: Columns, c: Columns) -> Array:
        short = np.logaddexp(0.0, (c["load"] - d["ahead"]) / 0.3) * 0.3
        over = np.logaddexp(0.0, (d["ahead"] - c["load"]) / 0.3) * 0.3
        return 4.0 * d["ahead"] + np.minimum(c["spot"], 40.0) * short - 1.5 * over

    def nature(u: Array, given: Values) -> Columns:
        z = normal(u[:, 0])
        return {"load": 6.0 + 1.1 * z, "spot": 5.0 * np.exp(np.clip(0.2 * z + student(u[:, 1], 4.0, 0.0, 0.35), -4, 4))}

    return Problem(
        "battery-bought-ahead",
        ww.Space(decision={"ahead": ww.Real(0, 14)}, context={"load": ww.Real(), "spot": ww.Real(0)}),
        f,
        nature,
        Noise(1.5),
        {"ahead": 5.0},
        Habit(spread=0.05),
        ww.CVaR(0.2),
        direction="minimize",
        width=2,
        tags=frozenset({"cvar", "minimize", "heavy tails", "kinked", "correlated"}),
    )


def nurses() -> Problem:
    """How many nurses for a shift whose arrivals have two humps; wages and waiting are to be low."""

    def f(d: Columns, c: Columns) -> Array:
        need = c["arrivals"] * (0.7 + 0.3 * c["acuity"])
        waiting = np.maximum(need - 4.0 * d["nurses"], 0.0)
        return 9.0 * d["nurses"] + 3.5 * waiting

    def nature(u: Array, given: Values) -> Columns:
        return {"arrivals": two_humps(u[:, 0], 0.65, (24.0, 3.0), (41.0, 4.0)), "acuity": gamma(u[:, 1], 6.0, 1.0)}

    return Problem(
        "ward-nurses",
        ww.Space(decision={"nurses": ww.Integer(3, 18)}, context={"arrivals": ww.Real(), "acuity": ww.Real(0)}),
        f,
        nature,
        Noise(6.0),
        {"nurses": 8},
        Habit(spread=0.06, follows={"nurses": ("arrivals", 0.06)}),
        direction="minimize",
        width=2,
        tags=frozenset({"minimize", "integer", "kinked", "bimodal", "noisy"}),
    )


def greenhouse() -> Problem:
    """Four settings of a greenhouse under outside warmth and sun."""

    def f(d: Columns, c: Columns) -> Array:
        inside = d["heat"] + 0.35 * c["outside"] + 3.0 * c["sun"]
        warm = np.exp(-(((inside - 24.0) / 7.0) ** 2))
        light = 1.0 - np.exp(-(c["sun"] + d["lamps"]) / 0.8)
        air = 0.6 + 0.4 * d["gas"] / (d["gas"] + 0.3)
        damp = np.exp(-(((d["damp"] - 0.7 + 0.01 * c["outside"]) / 0.25) ** 2))
        return 90.0 * warm * light * air * (0.5 + 0.5 * damp) - 0.9 * d["heat"] - 14.0 * d["lamps"] - 8.0 * d["gas"]

    def nature(u: Array, given: Values) -> Columns:
        sun = np.clip(two_humps(u[:, 0], 0.45, (0.25, 0.1), (0.85, 0.15)), 0.0, 1.5)
        return {"sun": sun, "outside": 6.0 + 6.0 * sun + 4.0 * normal(u[:, 1])}

    return Problem(
        "greenhouse-four-settings",
        ww.Space(
            decision={
                "heat": ww.Real(0, 30),
                "lamps": ww.Real(0, 1.5),
                "gas": ww.Real(0, 1.5),
                "damp": ww.Real(0.2, 1),
            },
            context={"sun": ww.Real(0), "outside": ww.Real()},
        ),
        f,
        nature,
        Noise(3.0),
        {"heat": 12.0, "lamps": 0.4, "gas": 0.3, "damp": 0.5},
        Habit(spread=0.08, follows={"heat": ("outside", -0.05)}),
        width=2,
        tags=frozenset({"bimodal", "correlated"}),
    )


def reactor() -> Problem:
    """Heat, time and catalyst near a cliff that an impurity moves; the worst quarter of the batches counts."""

    def f(d: Columns, c: Columns) -> Array:
        made = (1.0 - np.exp(-d["hours"] * d["catalyst"] * np.exp(0.04 * (d["heat"] - 80.0)) / 1.5)) * 80.0
        edge = 105.0 - 9.0 * c["impurity"] + 0.4 * c["cooling"]
        burnt = 70.0 * logistic((d["heat"] - edge) / 4.0)
        return made - burnt - 2.0 * d["hours"] - 6.0 * d["catalyst"]

    def nature(u: Array, given: Values) -> Columns:
        return {"impurity": gamma(u[:, 0], 1.5, 0.8), "cooling": normal(u[:, 1], 0.0, 6.0)}

    return Problem(
        "reactor-cliff",
        ww.Space(
            decision={"heat": ww.Real(60, 120), "hours": ww.Real(0.5, 8), "catalyst": ww.Real(0.1, 2)},
            context={"impurity": ww.Real(0), "cooling": ww.Real()},
        ),
        f,
        nature,
        Noise(2.5),
        {"heat": 82.0, "hours": 3.0, "catalyst": 0.6},
        Habit(spread=0.07),
        ww.CVaR(0.25),
        width=2,
        tags=frozenset({"cvar", "skewed"}),
    )


def controller() -> Problem:
    """Two gains for a load that is light or heavy, with friction; Wasserstein; the error is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        damping = (d["damping"] + 0.6 * c["friction"]) / (2.0 * np.sqrt(d["gain"] * c["load"]))
        slow = np.sqrt(c["load"] / d["gain"])
        return 6.0 * slow + 12.0 * (np.log(damping / 0.7)) ** 2 + 0.15 * d["gain"] + 0.3 * d["damping"]

    def nature(u: Array, given: Values) -> Columns:
        load = np.clip(two_humps(u[:, 0], 0.6, (1.0, 0.15), (2.2, 0.3)), 0.4, 3.5)
        return {"load": load, "friction": np.clip(gamma(u[:, 1], 4.0, 0.8), 0.0, 3.0)}

    return Problem(
        "motor-gains",
        ww.Space(
            decision={"gain": ww.Real(1, 30, log=True), "damping": ww.Real(0.5, 15, log=True)},
            context={"load": ww.Real(0.4, 3.5), "friction": ww.Real(0, 3)},
        ),
        f,
        nature,
        Noise(1.0),
        {"gain": 12.0, "damping": 3.0},
        Habit(spread=0.08),
        ww.Robust(ww.Wasserstein(), 0.15),
        ww.Empirical(64),
        direction="minimize",
        width=2,
        tags=frozenset({"robust", "minimize", "bimodal"}),
    )


def sowing() -> Problem:
    """The day to sow, before the last frost and the first heat are known; a part of the years may be like none so far."""

    def f(d: Columns, c: Columns) -> Array:
        frost = np.maximum(c["frost"] - d["day"], 0.0)
        season = np.minimum(c["heat"] - d["day"], 95.0)
        return 0.9 * season - 1.6 * np.minimum(frost, 25.0)

    def nature(u: Array, given: Values) -> Columns:
        z = normal(u[:, 0])
        frost = np.clip(22.0 + 8.0 * z, 0.0, 60.0)
        return {"frost": frost, "heat": np.clip(125.0 + 5.0 * z + 7.0 * normal(u[:, 1]), 95.0, 150.0)}

    return Problem(
        "sowing-day",
        ww.Space(decision={"day": ww.Real(0, 70)}, context={"frost": ww.Real(0, 60), "heat": ww.Real(95, 150)}),
        f,
        nature,
        Noise(4.0),
        {"day": 30.0},
        Habit(step={"day": 2.0}),
        ww.Robust(ww.TotalVariation(), 0.15),
        ww.Empirical(100),
        width=2,
        tags=frozenset({"robust", "kinked", "correlated"}),
    )


def overbooking() -> Problem:
    """Seats sold beyond the plane's; storms are rare and keep many away."""

    def f(d: Columns, c: Columns) -> Array:
        away = c["absent"] + by(c["sky"], {"clear": 0.0, "rain": 1.5, "storm": 7.0})
        bumped, empty = np.maximum(d["extra"] - away, 0.0), np.maximum(away - d["extra"], 0.0)
        return 40.0 - 9.0 * bumped - 3.0 * empty - 0.3 * bumped**2

    def nature(u: Array, given: Values) -> Columns:
        sky = category(u[:, 0], {"clear": 0.72, "rain": 0.22, "storm": 0.06})
        return {"sky": sky, "absent": np.minimum(gamma(u[:, 1], 4.0, 5.0), 25.0)}

    return Problem(
        "flight-overbooking",
        ww.Space(
            decision={"extra": ww.Integer(0, 20)},
            context={"sky": ww.Categorical(["clear", "rain", "storm"]), "absent": ww.Real(0, 25)},
        ),
        f,
        nature,
        Noise(5.0),
        {"extra": 6},
        Habit(spread=0.07),
        width=2,
        tags=frozenset({"categorical", "rare", "integer", "kinked", "noisy"}),
    )


def dam() -> Problem:
    """Water let out before the inflow, which has a heavy tail; the season is known; the worst fifth counts."""

    def f(d: Columns, c: Columns) -> Array:
        level = 50.0 + c["inflow"] - d["release"]
        flood = 2.5 * np.logaddexp(0.0, (np.minimum(level, 140.0) - 80.0) / 5.0) * 5.0
        dry = 1.5 * np.logaddexp(0.0, (35.0 - level) / 5.0) * 5.0
        return 1.2 * np.minimum(d["release"], 50.0) + 0.4 * c["price"] * d["release"] / 10.0 - flood - dry

    def nature(u: Array, given: Values) -> Columns:
        season = fixed(given, "season", category(u[:, 0], {"dry": 0.4, "wet": 0.6}))
        usual = by(season, {"dry": 14.0, "wet": 26.0})
        return {
            "season": season,
            "inflow": usual * np.exp(np.clip(student(u[:, 1], 4.0, 0.0, 0.35), -4.0, 4.0)),
            "price": lognormal(u[:, 2], 10.0, 0.3),
        }

    return Problem(
        "dam-release-known-season",
        ww.Space(
            decision={"release": ww.Real(0, 80)},
            context={"season": ww.Categorical(["dry", "wet"]), "inflow": ww.Real(0), "price": ww.Real(0)},
        ),
        f,
        nature,
        Noise(4.0),
        {"release": 25.0},
        Habit(spread=0.08, step={"release": 5.0}),
        ww.CVaR(0.2),
        given={"season": "wet"},
        width=3,
        tags=frozenset({"cvar", "given", "categorical", "heavy tails"}),
    )


def antibiotic() -> Problem:
    """Dose and days of a treatment; the strain is known when it starts."""

    def f(d: Columns, c: Columns) -> Array:
        hard = by(c["strain"], {"a": 1.0, "b": 1.6, "c": 2.6})
        effect = d["dose"] * d["days"] * (75.0 / c["weight"]) / (hard * 9.0)
        cured = 100.0 * (1.0 - np.exp(-effect))
        return cured - 1.6 * d["days"] - 5.0 * d["dose"] * np.exp(0.6 * c["fragile"])

    def nature(u: Array, given: Values) -> Columns:
        strain = fixed(given, "strain", category(u[:, 0], {"a": 0.5, "b": 0.28, "c": 0.22}))
        z = normal(u[:, 1])
        return {"strain": strain, "weight": 75.0 + 13.0 * z, "fragile": 0.4 * normal(u[:, 2]) - 0.2 * z}

    return Problem(
        "antibiotic-known-strain",
        ww.Space(
            decision={"dose": ww.Real(0.5, 6), "days": ww.Integer(2, 14)},
            context={"strain": ww.Categorical(["a", "b", "c"]), "weight": ww.Real(), "fragile": ww.Real()},
        ),
        f,
        nature,
        Noise(5.0),
        {"dose": 2.0, "days": 6},
        Habit(spread=0.09, follows={"dose": ("weight", 0.04)}),
        given={"strain": "b"},
        width=3,
        tags=frozenset({"given", "categorical", "integer", "correlated", "noisy"}),
    )


def turbine() -> Problem:
    """The pitch of a blade under wind, gusts and density that go together; measured well."""

    def f(d: Columns, c: Columns) -> Array:
        wanted = 1.2 * np.maximum(c["wind"] - 7.0, 0.0)
        caught = c["density"] * 0.6 * np.minimum(c["wind"], 13.0) ** 2 * np.exp(-(((d["pitch"] - wanted) / 9.0) ** 2))
        return caught - 0.5 * c["gusts"] * np.maximum(c["wind"] - 0.4 * d["pitch"], 0.0)

    def nature(u: Array, given: Values) -> Columns:
        wind = 9.0 * (-np.log1p(-u[:, 0])) ** 0.5
        return {"wind": wind, "gusts": wind * gamma(u[:, 1], 5.0, 0.2), "density": normal(u[:, 2], 1.2, 0.05)}

    return Problem(
        "turbine-pitch",
        ww.Space(
            decision={"pitch": ww.Real(0, 25)},
            context={"wind": ww.Real(0), "gusts": ww.Real(0), "density": ww.Real()},
        ),
        f,
        nature,
        Noise(1.0),
        {"pitch": 4.0},
        Habit(spread=0.06, follows={"pitch": ("wind", 0.06)}),
        width=3,
        tags=frozenset({"correlated", "skewed"}),
    )


WORKS = (
    doses,
    irrigation,
    battery,
    nurses,
    greenhouse,
    reactor,
    controller,
    sowing,
    overbooking,
    dam,
    antibiotic,
    turbine,
)
