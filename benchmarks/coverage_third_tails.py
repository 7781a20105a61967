"""Problems of `coverage.py` for the third confirmation: tails, worst cases and draws.

`coverage_third.py` says how they came about. The draws are of a roughness that no earlier one has: frequencies are Student
with 1, 2 or 7 degrees of freedom (Matern 1/2, 1 and 7/2).
"""

from __future__ import annotations

import numpy as np
from coverage_draws import CHOICES, Draw, box, one, scales, usual
from coverage_problem import (
    Array,
    Columns,
    Habit,
    Noise,
    Problem,
    Values,
    by,
    category,
    gamma,
    heavy,
    logistic,
    lognormal,
    normal,
    student,
    two_humps,
)

import windward as ww


def tents() -> Problem:
    """Tents and mats hired before the rain, which has a heavy tail, and the crowd; the worst fifth of the evenings counts."""

    def f(d: Columns, c: Columns) -> Array:
        rain = np.minimum(c["rain"], 60.0)
        uncovered = np.logaddexp(0.0, (c["crowd"] * (1.0 - np.exp(-rain / 5.0)) - d["tents"]) / 1.5) * 1.5
        mud = np.logaddexp(0.0, (rain - 1.5 * d["mats"] - 4.0) / 2.0) * 2.0
        return 30.0 + 1.2 * c["crowd"] - 0.9 * d["tents"] - 0.6 * d["mats"] - 2.4 * uncovered - 0.9 * mud

    def nature(u: Array, given: Values) -> Columns:
        return {"rain": heavy(u[:, 0], 3.0, 2.5, 0.6), "crowd": lognormal(u[:, 1], 20.0, 0.25)}

    return Problem(
        "open-air-tents",
        ww.Space(
            decision={"tents": ww.Real(0, 50), "mats": ww.Real(0, 30)},
            context={"rain": ww.Real(0), "crowd": ww.Real(0)},
        ),
        f,
        nature,
        Noise(4.0),
        {"tents": 10.0, "mats": 3.0},
        Habit(spread=0.08, step={"tents": 1.0, "mats": 1.0}),
        ww.CVaR(0.2),
        width=2,
        tags=frozenset({"cvar", "heavy tails", "skewed"}),
    )


def cold_store() -> Problem:
    """How cold a store is set and how often it is defrosted; the worst fifth of power and spoilt food is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        ice = 0.9 * c["doors"] / d["defrost"]
        power = 0.35 * np.maximum(c["outside"] - d["chill"], 0.0) * (1.0 + 0.08 * ice)
        warmest = d["chill"] + 0.22 * c["doors"] + 0.4 * ice + 0.05 * (c["outside"] - 16.0)
        return power + 1.1 * d["defrost"] + 30.0 * logistic((warmest + 16.0) / 1.2)

    def nature(u: Array, given: Values) -> Columns:
        outside = normal(u[:, 0], 16.0, 7.0)
        return {"doors": gamma(u[:, 1], 4.0, 12.0) * np.exp(0.015 * (outside - 16.0)), "outside": outside}

    return Problem(
        "cold-store-setting",
        ww.Space(
            decision={"chill": ww.Real(-32, -14), "defrost": ww.Integer(1, 8)},
            context={"doors": ww.Real(0), "outside": ww.Real()},
        ),
        f,
        nature,
        Noise(2.0),
        {"chill": -22.0, "defrost": 3},
        Habit(spread=0.08, step={"chill": 0.5}, follows={"chill": ("outside", -0.03)}),
        ww.CVaR(0.2),
        direction="minimize",
        width=2,
        tags=frozenset({"cvar", "minimize", "integer", "correlated", "skewed"}),
    )


def lathe() -> Problem:
    """After how many pieces a tool is changed, and how fast it turns, with fresh or old coolant; the worst quarter counts."""

    def f(d: Columns, c: Columns) -> Array:
        life = 260.0 * (140.0 / d["speed"]) ** 2.2 / c["hard"] * by(c["coolant"], {"fresh": 1.0, "old": 0.75})
        made = 0.35 * d["speed"] * d["pieces"] / (d["pieces"] + 18.0)
        return made - 45.0 * logistic((d["pieces"] - life) / (0.15 * life + 5.0))

    def nature(u: Array, given: Values) -> Columns:
        return {"coolant": category(u[:, 0], {"fresh": 0.7, "old": 0.3}), "hard": lognormal(u[:, 1], 1.0, 0.22)}

    return Problem(
        "lathe-tool-change",
        ww.Space(
            decision={"pieces": ww.Integer(20, 400), "speed": ww.Real(60, 260)},
            context={"coolant": ww.Categorical(["fresh", "old"]), "hard": ww.Real(0)},
        ),
        f,
        nature,
        Noise(2.5),
        {"pieces": 150, "speed": 120.0},
        Habit(spread=0.07, step={"pieces": 10, "speed": 5.0}),
        ww.CVaR(0.25),
        width=2,
        tags=frozenset({"cvar", "categorical", "integer", "skewed"}),
    )


def well() -> Problem:
    """Hours a well is pumped at night before the day's use; some days may be like none so far; cost is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        left = 6.0 + 2.2 * d["hours"] - c["use"]
        short, over = np.logaddexp(0.0, -left / 2.0) * 2.0, np.logaddexp(0.0, (left - 20.0) / 2.0) * 2.0
        return 1.1 * d["hours"] + 3.0 * short + 0.8 * over

    return Problem(
        "well-pumping-hours",
        ww.Space(decision={"hours": ww.Real(0, 24)}, context={"use": ww.Real(0, 60)}),
        f,
        lambda u, given: {"use": np.clip(gamma(u[:, 0], 7.0, 24.0), 0.0, 60.0)},
        Noise(4.0),
        {"hours": 10.0},
        Habit(step={"hours": 1.0}),
        ww.Robust(ww.TotalVariation(), 0.15),
        ww.KernelDensity(128, 64),
        direction="minimize",
        width=1,
        tags=frozenset({"robust", "minimize", "skewed", "noisy"}),
    )


def depot() -> Problem:
    """Crews and the hour they begin, before the trailers are there; all of the contexts may drift."""

    def f(d: Columns, c: Columns) -> Array:
        there = 5.0 + c["late"]
        begun = there + np.logaddexp(0.0, (d["start"] - there) / 0.4) * 0.4
        done = begun + 20.0 * c["work"] / (1.8 * d["crews"])
        overdue = np.logaddexp(0.0, (done - 12.0) / 0.6) * 0.6
        idle = np.logaddexp(0.0, (there - d["start"]) / 0.4) * 0.4
        return 60.0 - 3.0 * d["crews"] - 6.0 * np.minimum(overdue, 12.0) - 0.4 * idle * d["crews"]

    def nature(u: Array, given: Values) -> Columns:
        work = np.clip(two_humps(u[:, 0], 0.65, (1.6, 0.3), (2.8, 0.4)), 0.0, 5.0)
        return {"work": work, "late": np.clip(gamma(u[:, 1], 2.0, 1.2) - 0.5, -1.0, 5.0)}

    return Problem(
        "depot-crews",
        ww.Space(
            decision={"crews": ww.Integer(2, 14), "start": ww.Real(3, 10)},
            context={"work": ww.Real(0, 5), "late": ww.Real(-1, 5)},
        ),
        f,
        nature,
        Noise(3.0),
        {"crews": 5, "start": 6.0},
        Habit(spread=0.08, step={"start": 0.5}),
        ww.Robust(ww.Wasserstein(), 0.15),
        ww.Empirical(64),
        width=2,
        tags=frozenset({"robust", "integer", "bimodal", "skewed"}),
    )


def orchard() -> Problem:
    """Days between sprays of an orchard: wet leaves and warmth bring scab; chi-square around what has been seen."""

    def f(d: Columns, c: Columns) -> Array:
        risk = c["wet"] * np.exp(-(((c["warm"] - 18.0) / 7.0) ** 2)) * d["days"] / 900.0
        return 60.0 - 90.0 / d["days"] - 35.0 * (1.0 - np.exp(-risk))

    def nature(u: Array, given: Values) -> Columns:
        return {"wet": gamma(u[:, 0], 2.0, 22.0), "warm": normal(u[:, 1], 16.0, 4.0)}

    return Problem(
        "orchard-spray-interval",
        ww.Space(decision={"days": ww.Real(3, 30)}, context={"wet": ww.Real(0), "warm": ww.Real()}),
        f,
        nature,
        Noise(3.0),
        {"days": 9.0},
        Habit(spread=0.08, step={"days": 1.0}),
        ww.Robust(ww.ChiSquare(), 0.15),
        ww.Empirical(),
        width=2,
        tags=frozenset({"robust", "skewed", "noisy", "good status quo"}),
    )


def rink() -> Problem:
    """How cold the brine below an ice rink is, with mild and warm halls, whose mix may drift smoothly (MMD)."""

    def f(d: Columns, c: Columns) -> Array:
        ice = d["brine"] + 0.3 * c["hall"]
        soft, hard = logistic((ice + 4.5) / 0.8), logistic((-8.5 - ice) / 0.8)
        return 40.0 - 25.0 * soft - 9.0 * hard - 0.3 * (c["hall"] - d["brine"])

    return Problem(
        "ice-rink-brine",
        ww.Space(decision={"brine": ww.Real(-16, -3)}, context={"hall": ww.Real(0, 25)}),
        f,
        lambda u, given: {"hall": np.clip(two_humps(u[:, 0], 0.6, (7.0, 1.5), (14.0, 2.0)), 0.0, 25.0)},
        Noise(2.0),
        {"brine": -9.0},
        Habit(step={"brine": 0.5}, follows={"brine": ("hall", -0.04)}),
        ww.Robust(ww.MMD(3.0, tolerance=1e-6), 0.15),
        ww.Empirical(64),
        width=1,
        tags=frozenset({"robust", "bimodal"}),
    )


THIRD_TAILS = (tents, cold_store, lathe, well, depot, orchard, rink)


def third_draws() -> list[Problem]:
    """Draws for the third confirmation: a ragged one, one with a rare kind of day, a mild one, a tail."""
    real, abc = ww.Real(), ww.Categorical(list(CHOICES))
    return [
        Problem(
            "draw-third-ragged",
            ww.Space(decision=box(1), context={"c": real}),
            Draw(31, scales(1, 0.6, c=2.0), tail=1.0),
            one,
            Noise(0.25),
            usual(0.45),
            Habit(step={"x1": 0.05}, follows={"x1": ("c", 0.04)}),
            width=1,
            tags=frozenset({"noisy"}),
        ),
        Problem(
            "draw-third-rare-day",
            ww.Space(decision=box(2), context={"day": abc, "c": real}),
            Draw(32, scales(2, 0.5, c=1.5) | {"day": 1.0}, tail=2.0),
            lambda u, given: {
                "day": category(u[:, 0], {"a": 0.6, "b": 0.34, "c": 0.06}),
                "c": np.clip(student(u[:, 1], 4.0, 0.0, 0.7), -8.0, 8.0),
            },
            Noise(0.25),
            usual(0.55, 0.4),
            width=2,
            tags=frozenset({"categorical", "rare", "heavy tails", "noisy"}),
        ),
        Problem(
            "draw-third-calm-box",
            ww.Space(decision=box(3), context={"c": real}),
            Draw(33, scales(3, 0.45, c=1.0), tail=7.0),
            lambda u, given: {"c": gamma(u[:, 0], 3.0, 1.2)},
            Noise(0.3, tail=4.0),
            usual(0.5, 0.45, 0.55),
            direction="minimize",
            width=1,
            tags=frozenset({"minimize", "skewed", "heavy noise", "noisy"}),
        ),
        Problem(
            "draw-third-worst-quarter",
            ww.Space(decision=box(2), context={"c": real}),
            Draw(34, scales(2, 0.5, c=1.5), tail=2.0),
            lambda u, given: {"c": two_humps(u[:, 0], 0.7, (-0.5, 0.5), (1.6, 0.4))},
            Noise(0.25),
            usual(0.5, 0.5),
            objective=ww.CVaR(0.25),
            direction="minimize",
            width=1,
            tags=frozenset({"cvar", "minimize", "bimodal", "noisy"}),
        ),
    ]
