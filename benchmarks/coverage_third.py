"""Problems of `coverage.py` for the third confirmation, judged by their expectation; `coverage_third_tails.py` has the others.

They were written and committed before anything was run on any of them, after the parts "held" and "new" had been looked at.
The rule is the same as before: a name with an odd SHA-256 is for the confirmation. The names were picked so that all of them
are odd and the part has every kind. The status quo is what a reasonable person would do without a study: some are hard to beat
and some are not. Every one of them has histories; those in `PLAYED` have runs as well, picked at the same time.
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


def dairy() -> Problem:
    """Concentrate and milkings a day for cows early, midway and late in milk; profit of a cow and day."""

    def f(d: Columns, c: Columns) -> Array:
        base = by(c["stage"], {"early": 22.0, "mid": 20.0, "late": 14.0})
        gain = by(c["stage"], {"early": 14.0, "mid": 9.0, "late": 4.0})
        fed = d["concentrate"] + 0.6 * (c["silage"] - 6.0)
        often = d["milkings"] - 2.0
        milk = (base + gain * (1.0 - np.exp(-fed / 4.0))) * (1.0 + 0.12 * often - 0.03 * often**2)
        sour = 0.06 * np.maximum(d["concentrate"] - 8.0, 0.0) ** 2
        return 0.42 * milk - 0.3 * d["concentrate"] - 0.9 * d["milkings"] - sour

    def nature(u: Array, given: Values) -> Columns:
        stage = category(u[:, 0], {"early": 0.3, "mid": 0.42, "late": 0.28})
        return {"stage": stage, "silage": normal(u[:, 1], 6.0, 0.7)}

    return Problem(
        "dairy-concentrate",
        ww.Space(
            decision={"concentrate": ww.Real(0, 12), "milkings": ww.Integer(1, 3)},
            context={"stage": ww.Categorical(["early", "mid", "late"]), "silage": ww.Real()},
        ),
        f,
        nature,
        Noise(0.8),
        {"concentrate": 6.0, "milkings": 2},
        Habit(spread=0.09, step={"concentrate": 0.5}),
        width=2,
        tags=frozenset({"categorical", "integer", "noisy"}),
    )


def canteen() -> Problem:
    """Trays cooked before the guests come, and the share without meat; leftovers and people sent away are to be few."""

    def f(d: Columns, c: Columns) -> Array:
        portions = 10.0 * d["trays"]
        left, missed = np.maximum(portions - c["guests"], 0.0), np.maximum(c["guests"] - portions, 0.0)
        return 1.4 * left + 2.6 * missed + 200.0 * (c["wish"] - d["green"]) ** 2

    def nature(u: Array, given: Values) -> Columns:
        day = category(u[:, 0], {"office": 0.55, "home": 0.3, "feast": 0.15})
        return {
            "day": day,
            "guests": lognormal(u[:, 1], 180.0, 0.15) * by(day, {"office": 1.1, "home": 0.78, "feast": 1.0}),
            "wish": np.clip(normal(u[:, 2], 0.4, 0.12) - by(day, {"office": 0.0, "home": 0.0, "feast": 0.1}), 0.0, 1.0),
        }

    return Problem(
        "canteen-trays",
        ww.Space(
            decision={"trays": ww.Integer(4, 40), "green": ww.Real(0, 0.8)},
            context={
                "day": ww.Categorical(["office", "home", "feast"]),
                "guests": ww.Real(0),
                "wish": ww.Real(0, 1),
            },
        ),
        f,
        nature,
        Noise(15.0),
        {"trays": 18, "green": 0.35},
        Habit(spread=0.07, step={"green": 0.05}),
        direction="minimize",
        width=3,
        tags=frozenset({"minimize", "categorical", "integer", "kinked", "noisy", "good status quo"}),
    )


def laundry() -> Problem:
    """Programme, heat and soap of a laundry; hard water is rare; power, soap and what is washed twice are to be little."""

    def f(d: Columns, c: Columns) -> Array:
        rubs = by(d["programme"], {"short": 0.6, "eco": 1.0, "heavy": 1.35})
        power = by(d["programme"], {"short": 0.8, "eco": 0.9, "heavy": 1.6})
        hours = by(d["programme"], {"short": 0.5, "eco": 1.6, "heavy": 1.2})
        taken = by(c["water"], {"soft": 45.0, "medium": 65.0, "hard": 110.0})
        strength = rubs * (0.5 + 0.012 * d["heat"]) * (1.0 - np.exp(-d["soap"] / taken))
        again = logistic(8.0 * (0.35 + 0.3 * c["soil"] - strength))
        return 12.0 * again + 0.03 * power * d["heat"] + 0.015 * d["soap"] + hours

    def nature(u: Array, given: Values) -> Columns:
        water = category(u[:, 0], {"soft": 0.5, "medium": 0.44, "hard": 0.06})
        return {"water": water, "soil": gamma(u[:, 1], 3.0, 1.0)}

    return Problem(
        "laundry-programme-in-hard-water",
        ww.Space(
            decision={
                "programme": ww.Categorical(["short", "eco", "heavy"]),
                "heat": ww.Real(20, 90),
                "soap": ww.Real(20, 150),
            },
            context={"water": ww.Categorical(["soft", "medium", "hard"]), "soil": ww.Real(0)},
        ),
        f,
        nature,
        Noise(0.7, share=0.1),
        {"programme": "eco", "heat": 60.0, "soap": 90.0},
        Habit(spread=0.09, step={"heat": 10.0, "soap": 5.0}),
        direction="minimize",
        width=2,
        tags=frozenset({"minimize", "categorical", "rare", "categorical decision", "skewed", "uneven noise"}),
    )


def skis() -> Problem:
    """A price of hired skis and the share kept for people who book; the snow is known, who comes is not."""

    def f(d: Columns, c: Columns) -> Array:
        taste = by(c["snow"], {"thin": 30.0, "good": 42.0, "deep": 52.0})
        keen = np.exp(-((d["price"] / taste) ** 2))
        booked, walked = 60.0 * c["bookings"] * keen, 110.0 * c["walkers"] * keen
        kept, open_ = 5.0 + 90.0 * d["kept"], 95.0 - 90.0 * d["kept"]
        hired = kept * np.tanh(booked / kept) + open_ * np.tanh(walked / open_)
        return 0.1 * (d["price"] - 6.0) * hired

    def nature(u: Array, given: Values) -> Columns:
        snow = fixed(given, "snow", category(u[:, 0], {"thin": 0.35, "good": 0.45, "deep": 0.2}))
        z = normal(u[:, 1])
        walkers = np.exp(0.2 * z + two_humps(u[:, 2], 0.7, (0.0, 0.15), (0.6, 0.15)))
        return {"snow": snow, "bookings": np.exp(0.35 * z), "walkers": walkers}

    return Problem(
        "ski-hire-price-known-snow",
        ww.Space(
            decision={"price": ww.Real(15, 70), "kept": ww.Real(0, 1)},
            context={
                "snow": ww.Categorical(["thin", "good", "deep"]),
                "bookings": ww.Real(0),
                "walkers": ww.Real(0),
            },
        ),
        f,
        nature,
        Noise(10.0, share=0.06),
        {"price": 32.0, "kept": 0.3},
        Habit(spread=0.07, step={"price": 1.0, "kept": 0.05}),
        given={"snow": "good"},
        width=3,
        tags=frozenset({"given", "categorical", "correlated", "bimodal", "skewed", "noisy", "good status quo"}),
    )


def hotline() -> Problem:
    """Agents, and after how many seconds a caller is offered to be called back; calls have a heavy tail; cost is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        calls = np.minimum(c["calls"], 90.0)
        load = calls * c["minutes"] / 15.0
        waiting = 60.0 * np.logaddexp(0.0, (load - d["agents"]) / 1.5)
        gone = 1.0 - np.exp(-np.minimum(waiting, d["after"]) / 150.0)
        called = np.exp(-d["after"] / (waiting + 30.0))
        return 3.0 * d["agents"] + calls * (2.0 * gone + 0.9 * called)

    def nature(u: Array, given: Values) -> Columns:
        return {"calls": heavy(u[:, 0], 4.0, 20.0, 0.3), "minutes": lognormal(u[:, 1], 5.0, 0.2)}

    return Problem(
        "hotline-call-back",
        ww.Space(
            decision={"agents": ww.Integer(3, 30), "after": ww.Real(10, 600, log=True)},
            context={"calls": ww.Real(0), "minutes": ww.Real(0)},
        ),
        f,
        nature,
        Noise(6.0, tail=3.0),
        {"agents": 8, "after": 180.0},
        Habit(spread=0.08, follows={"agents": ("calls", 0.04)}),
        direction="minimize",
        width=2,
        tags=frozenset({"minimize", "integer", "heavy tails", "heavy noise", "noisy"}),
    )


def heat_pump() -> Problem:
    """Four settings of a heat pump in mild and cold weather; power and discomfort are to be low."""

    def f(d: Columns, c: Columns) -> Array:
        lift = d["flow"] - d["slope"] * c["outside"] - c["outside"]
        room = c["outside"] + 0.62 * lift + 1.2 * c["sun"]
        efficiency = 1.0 + 5.0 * np.exp(-np.maximum(lift, 0.0) / 35.0)
        power = 2.5 * np.maximum(lift, 0.0) * 0.62 / efficiency * (1.0 - 0.02 * d["setback"])
        off = (room - 0.15 * d["setback"] - 21.0) ** 2
        return power + 40.0 * np.tanh(off / 25.0) + 6.0 / d["swing"] + 0.5 * d["swing"] + 0.08 * d["setback"] ** 2

    def nature(u: Array, given: Values) -> Columns:
        return {"outside": two_humps(u[:, 0], 0.45, (-3.0, 3.0), (7.0, 2.5)), "sun": gamma(u[:, 1], 1.5, 0.8)}

    return Problem(
        "heat-pump-four-dials",
        ww.Space(
            decision={
                "flow": ww.Real(28, 50),
                "slope": ww.Real(0, 1.5),
                "setback": ww.Real(0, 6),
                "swing": ww.Real(1, 8),
            },
            context={"outside": ww.Real(), "sun": ww.Real(0)},
        ),
        f,
        nature,
        Noise(3.0),
        {"flow": 38.0, "slope": 0.7, "setback": 3.0, "swing": 4.0},
        Habit(step={"flow": 1.0, "slope": 0.1}),
        direction="minimize",
        width=2,
        tags=frozenset({"minimize", "bimodal", "skewed", "noisy"}),
    )


def adverts() -> Problem:
    """Where a film is advertised, and for how much; how much people talk of it has a heavy tail."""

    def f(d: Columns, c: Columns) -> Array:
        people = by(d["medium"], {"posters": 26.0, "radio": 22.0, "cinema": 15.0})
        full = by(d["medium"], {"posters": 14.0, "radio": 9.0, "cinema": 4.0})
        wet = by(c["sky"], {"dry": 0.0, "wet": 1.0})
        mood = 1.0 + by(d["medium"], {"posters": -0.3, "radio": 0.1, "cinema": 0.5}) * wet
        talk = np.sqrt(np.minimum(c["talk"], 25.0))
        return people * (1.0 - np.exp(-d["money"] / full)) * mood * talk - 0.6 * d["money"]

    def nature(u: Array, given: Values) -> Columns:
        return {"sky": category(u[:, 0], {"dry": 0.65, "wet": 0.35}), "talk": heavy(u[:, 1], 3.0, 1.0, 0.5)}

    return Problem(
        "poster-radio-cinema",
        ww.Space(
            decision={"medium": ww.Categorical(["posters", "radio", "cinema"]), "money": ww.Real(1, 40)},
            context={"sky": ww.Categorical(["dry", "wet"]), "talk": ww.Real(0)},
        ),
        f,
        nature,
        Noise(3.0, share=0.1, tail=4.0),
        {"medium": "radio", "money": 12.0},
        Habit(spread=0.1, step={"money": 1.0}, stay=0.5),
        width=2,
        tags=frozenset({"categorical", "categorical decision", "heavy tails", "heavy noise", "noisy"}),
    )


THIRD = (dairy, canteen, laundry, skis, hotline, heat_pump, adverts)
# In this order: where time is short, the first ones.
PLAYED = (
    "ski-hire-price-known-snow",
    "cold-store-setting",
    "orchard-spray-interval",
    "hotline-call-back",
    "well-pumping-hours",
    "draw-third-ragged",
)
