"""Problems of `coverage.py` that were written later: more to choose on, and draws for the confirmation.

`coverage_later.py` says how they are split.
"""

from __future__ import annotations

import numpy as np
from coverage_draws import CHOICES, Draw, box, scales, usual
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
    lognormal,
    normal,
    student,
    two_humps,
)

import windward as ww


def gate() -> Problem:
    """Water let out of a basin before the surge, which has a heavy tail; the tide is known; the worst fifth counts."""

    def f(d: Columns, c: Columns) -> Array:
        level = 30.0 + np.minimum(c["surge"], 120.0) - d["out"]
        over = 2.0 * np.maximum(level - 55.0, 0.0)
        low = 1.2 * np.logaddexp(0.0, (20.0 - level) / 3.0) * 3.0
        return 0.8 * np.minimum(d["out"], 35.0) + 0.05 * c["price"] * d["out"] - over - low

    def nature(u: Array, given: Values) -> Columns:
        tide = fixed(given, "tide", category(u[:, 0], {"neap": 0.5, "spring": 0.5}))
        return {
            "tide": tide,
            "surge": heavy(u[:, 1], 4.0, 1.0, 0.4) * by(tide, {"neap": 10.0, "spring": 20.0}),
            "price": lognormal(u[:, 2], 8.0, 0.3),
        }

    return Problem(
        "flood-gate-known-tide",
        ww.Space(
            decision={"out": ww.Real(0, 60)},
            context={"tide": ww.Categorical(["neap", "spring"]), "surge": ww.Real(0), "price": ww.Real(0)},
        ),
        f,
        nature,
        Noise(3.0),
        {"out": 15.0},
        Habit(spread=0.08, step={"out": 2.5}),
        ww.CVaR(0.2),
        given={"tide": "spring"},
        width=3,
        tags=frozenset({"cvar", "given", "categorical", "heavy tails"}),
    )


def grid() -> Problem:
    """Reserve for a day whose wind is forecast well; the worst quarter of the cost is to be low."""

    def f(d: Columns, c: Columns) -> Array:
        missing = np.minimum(c["missing"], 50.0)
        short, idle = np.maximum(missing - d["reserve"], 0.0), np.maximum(d["reserve"] - missing, 0.0)
        return 1.5 * d["reserve"] + 7.0 * short + 0.3 * idle

    def nature(u: Array, given: Values) -> Columns:
        wind = fixed(given, "wind", normal(u[:, 0], 8.0, 2.5))
        return {"wind": wind, "missing": heavy(u[:, 1], 3.5, 5.0, 0.4) * np.exp(0.08 * (wind - 8.0))}

    return Problem(
        "grid-reserve-known-wind",
        ww.Space(decision={"reserve": ww.Real(0, 30)}, context={"wind": ww.Real(), "missing": ww.Real(0)}),
        f,
        nature,
        Noise(4.0),
        {"reserve": 5.0},
        Habit(spread=0.09, step={"reserve": 1.0}),
        ww.CVaR(0.25),
        given={"wind": 10.0},
        direction="minimize",
        width=2,
        tags=frozenset({"cvar", "given", "heavy tails", "kinked", "minimize"}),
    )


def claims() -> Problem:
    """Money kept for claims that have a heavy tail; the worst fifth of the years counts."""

    def f(d: Columns, c: Columns) -> Array:
        due = np.minimum(c["claims"], 100.0)
        return 20.0 - 0.25 * d["kept"] - 1.6 * np.logaddexp(0.0, (due - d["kept"]) / 2.0) * 2.0

    return Problem(
        "claims-reserve",
        ww.Space(decision={"kept": ww.Real(0, 70)}, context={"claims": ww.Real(0)}),
        f,
        lambda u, given: {"claims": heavy(u[:, 0], 4.0, 12.0, 0.45)},
        Noise(3.0),
        {"kept": 14.0},
        Habit(spread=0.08, step={"kept": 2.0}),
        ww.CVaR(0.2),
        width=1,
        tags=frozenset({"cvar", "heavy tails"}),
    )


def desk() -> Problem:
    """People at a desk, near the best number already; wages and waiting are to be low."""

    def f(d: Columns, c: Columns) -> Array:
        return 6.0 * d["people"] + 14.0 * np.logaddexp(0.0, (c["calls"] / 6.0 - d["people"]) / 0.7) * 0.7

    return Problem(
        "call-desk-staff",
        ww.Space(decision={"people": ww.Integer(2, 20)}, context={"calls": ww.Real(0)}),
        f,
        lambda u, given: {"calls": gamma(u[:, 0], 5.0, 48.0)},
        Noise(6.0),
        {"people": 6},
        direction="minimize",
        width=1,
        tags=frozenset({"minimize", "integer", "noisy", "good status quo"}),
    )


def tickets() -> Problem:
    """An early price that is near the best already, for three kinds of shows."""

    def f(d: Columns, c: Columns) -> Array:
        taste = by(c["show"], {"play": 22.0, "opera": 34.0, "dance": 27.0})
        return 0.02 * (d["price"] - 4.0) * c["interest"] * np.exp(-((d["price"] / taste) ** 2))

    def nature(u: Array, given: Values) -> Columns:
        show = category(u[:, 0], {"play": 0.45, "opera": 0.25, "dance": 0.3})
        return {"show": show, "interest": lognormal(u[:, 1], 200.0, 0.35)}

    return Problem(
        "ticket-early-price",
        ww.Space(
            decision={"price": ww.Real(5, 50)},
            context={"show": ww.Categorical(["play", "opera", "dance"]), "interest": ww.Real(0)},
        ),
        f,
        nature,
        Noise(5.0, share=0.1),
        {"price": 17.0},
        Habit(step={"price": 1.0}),
        width=2,
        tags=frozenset({"categorical", "skewed", "noisy", "good status quo"}),
    )


MORE = (gate, grid, claims, desk, tickets)


def later_draws() -> list[Problem]:
    """Draws for the confirmation: a rough one, one with categories on both sides, a tail, one of three decisions."""
    real, abc = ww.Real(), ww.Categorical(list(CHOICES))
    return [
        Problem(
            "draw-later-rough",
            ww.Space(decision=box(2), context={"c": real}),
            Draw(21, scales(2, 0.4, c=1.2), tail=5.0),
            lambda u, given: {"c": np.clip(student(u[:, 0], 3.0, 0.0, 0.7), -8.0, 8.0)},
            Noise(0.25),
            usual(0.5, 0.5),
            width=1,
            tags=frozenset({"heavy tails", "noisy"}),
        ),
        Problem(
            "draw-later-kinds",
            ww.Space(decision={**box(1), "kind": abc}, context={"day": abc, "c": real}),
            Draw(22, scales(1, 0.35, c=1.2) | {"kind": 1.0, "day": 1.0}),
            lambda u, given: {"day": category(u[:, 0], {"a": 0.5, "b": 0.3, "c": 0.2}), "c": normal(u[:, 1])},
            Noise(0.3),
            {"x1": 0.5, "kind": "a"},
            Habit(spread=0.1),
            direction="minimize",
            width=2,
            tags=frozenset({"categorical", "categorical decision", "minimize", "noisy"}),
        ),
        Problem(
            "draw-later-tail",
            ww.Space(decision=box(1), context={"c": real}),
            Draw(23, scales(1, 0.3, c=1.2)),
            lambda u, given: {"c": gamma(u[:, 0], 2.0, 1.4)},
            Noise(0.3),
            usual(0.5),
            objective=ww.CVaR(0.25),
            width=1,
            tags=frozenset({"cvar", "skewed", "noisy"}),
        ),
        Problem(
            "draw-later-cube",
            ww.Space(decision=box(3), context={"c": real}),
            Draw(24, scales(3, 0.6, c=1.2), tail=5.0),
            lambda u, given: {"c": two_humps(u[:, 0], 0.6, (-0.8, 0.5), (1.2, 0.4))},
            Noise(0.3),
            usual(0.5, 0.5, 0.5),
            width=1,
            tags=frozenset({"bimodal", "noisy"}),
        ),
    ]
