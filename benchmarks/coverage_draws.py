"""Problems of `coverage.py` that are draws from Gaussian processes, by Fourier features with a seed of their own.

Frequencies are normal for a smooth draw (squared exponential) and Student with 3 or 5 degrees of freedom for a rough one
(Matern 3/2 or 5/2). cos(a + b) is split, so that a table of decisions by contexts is a product of two matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from coverage_problem import (
    Array,
    Columns,
    Habit,
    Noise,
    Problem,
    Values,
    category,
    fixed,
    gamma,
    logistic,
    normal,
    student,
    two_humps,
)

import windward as ww

FEATURES = 400
CHOICES = ("a", "b", "c")


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of unit variance over decisions in [0, 1] and contexts of about unit spread, with a length-scale each.

    A category is a place on the corners of a simplex, one length-scale of 1 apart.
    """

    seed: int
    scales: dict[str, float]
    tail: float | None = None
    height: float = 1.0
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)  # of the contexts last asked for

    def _frequencies(self) -> tuple[dict[str, Array], Array, Array]:
        chance = np.random.default_rng([2024, self.seed])
        shrink = 1.0
        if self.tail is not None:
            shrink = np.sqrt(chance.chisquare(self.tail, FEATURES) / self.tail)
        waves: dict[str, Array] = {}
        for name, scale in self.scales.items():
            for part in (name, *(f"{name}={choice}" for choice in CHOICES)):
                waves[part] = chance.standard_normal(FEATURES) / (scale * shrink)
        heights = chance.standard_normal(FEATURES) * np.sqrt(2.0 / FEATURES) * self.height
        return waves, chance.uniform(0.0, 2.0 * np.pi, FEATURES), heights

    def __call__(self, d: Columns, c: Columns) -> Array:
        if self._kept.get("columns") is not c:  # a truth asks for the same contexts again and again
            waves, phases, heights = self._frequencies()
            b = phase(waves, c) + phases
            self._kept.update(
                columns=c, waves=waves, across=np.concatenate([np.cos(b) * heights, -np.sin(b) * heights], -1)
            )
        a = phase(self._kept["waves"], d)
        along, across = np.concatenate([np.cos(a), np.sin(a)], -1), self._kept["across"]
        if along.ndim == 3:  # decisions upright, "m 1 2K": a table
            return np.asarray(along[:, 0, :] @ across.T)
        return np.asarray((along * across).sum(-1))


def phase(waves: dict[str, Array], columns: Columns) -> Array:
    """Return frequency times place, summed over the columns; `"... K"`."""
    total: Any = 0.0
    for name, column in columns.items():
        if column.dtype.kind == "U":
            for choice in CHOICES:
                total = total + np.sqrt(0.5) * (column == choice)[..., None] * waves[f"{name}={choice}"]
        else:
            total = total + column[..., None] * waves[name]
    return np.asarray(total)


def box(decisions: int) -> dict[str, ww.Real]:
    return {f"x{i}": ww.Real(0, 1) for i in range(1, decisions + 1)}


def scales(decisions: int, x: float, **contexts: float) -> dict[str, float]:
    return {f"x{i}": x for i in range(1, decisions + 1)} | contexts


def usual(*places: float) -> dict[str, float]:
    return {f"x{i}": place for i, place in enumerate(places, start=1)}


def one(u: Array, given: Values) -> Columns:
    return {"c": normal(u[:, 0])}


def pair(u: Array, given: Values) -> Columns:
    z = normal(u[:, 0])
    return {"c": z, "k": 0.6 * z + 0.8 * normal(u[:, 1])}


def bounded(u: Array, given: Values) -> Columns:
    return {"c": np.clip(normal(u[:, 0], 0.0, 0.8), -2.0, 2.0), "k": 4.0 * logistic(normal(u[:, 1], 0.5, 0.8)) - 2.0}


def plain_draws() -> list[Problem]:
    """Draws judged by their expectation."""
    real = ww.Real()
    return [
        Problem(
            "draw-smooth-exact",
            ww.Space(decision=box(1), context={"c": real}),
            Draw(1, scales(1, 0.25, c=1.0)),
            one,
            Noise(0.02),
            usual(0.35),
            width=1,
        ),
        Problem(
            "draw-smooth-loud",
            ww.Space(decision=box(2), context={"c": real, "k": real}),
            Draw(2, scales(2, 0.35, c=1.5, k=1.5)),
            pair,
            Noise(0.5),
            usual(0.4, 0.6),
            Habit(follows={"x1": ("c", 0.05)}),
            width=2,
            tags=frozenset({"noisy", "correlated"}),
        ),
        Problem(
            "draw-rough-line",
            ww.Space(decision=box(1), context={"c": real}),
            Draw(3, scales(1, 0.25, c=1.0), tail=3.0),
            lambda u, given: {"c": np.clip(student(u[:, 0], 3.0, 0.0, 0.6), -8.0, 8.0)},
            Noise(0.2),
            usual(0.6),
            Habit(step={"x1": 0.05}),
            width=1,
            tags=frozenset({"heavy tails", "noisy"}),
        ),
        Problem(
            "draw-rough-plane-outliers",
            ww.Space(decision=box(2), context={"c": real}),
            Draw(4, scales(2, 0.3, c=1.0), tail=5.0),
            lambda u, given: {"c": gamma(u[:, 0], 2.0, 1.4)},
            Noise(0.3, tail=3.0),
            usual(0.5, 0.3),
            width=1,
            tags=frozenset({"skewed", "heavy noise", "noisy"}),
        ),
        Problem(
            "draw-three-decisions",
            ww.Space(decision=box(3), context={"c": real}),
            Draw(5, scales(3, 0.5, c=1.2)),
            lambda u, given: {"c": two_humps(u[:, 0], 0.5, (-1.2, 0.4), (1.2, 0.4))},
            Noise(0.15),
            usual(0.5, 0.4, 0.6),
            width=1,
            tags=frozenset({"bimodal"}),
        ),
        Problem(
            "draw-three-contexts-one-given",
            ww.Space(decision=box(1), context={"c": real, "k": real, "m": real}),
            Draw(6, scales(1, 0.3, c=1.5, k=1.5, m=2.0)),
            lambda u, given: three(u, given),
            Noise(0.2),
            usual(0.3),
            given={"c": 0.7},
            width=3,
            tags=frozenset({"given", "correlated", "noisy"}),
        ),
        Problem(
            "draw-four-decisions-down",
            ww.Space(decision=box(4), context={"c": real}),
            Draw(7, scales(4, 0.7, c=1.2), tail=5.0),
            one,
            Noise(0.1),
            usual(0.5, 0.5, 0.4, 0.6),
            direction="minimize",
            width=1,
            tags=frozenset({"minimize"}),
        ),
    ]


def three(u: Array, given: Values) -> Columns:
    first = fixed(given, "c", normal(u[:, 0]))
    second = 0.5 * first + 0.87 * normal(u[:, 1])
    return {"c": first, "k": second, "m": 0.4 * second + 0.9 * normal(u[:, 2])}


def other_draws() -> list[Problem]:
    """Draws with categories, tails and balls."""
    real, abc = ww.Real(), ww.Categorical(list(CHOICES))
    return [
        Problem(
            "draw-with-kind-of-decision",
            ww.Space(decision={**box(1), "kind": abc}, context={"c": real}),
            Draw(8, scales(1, 0.3, c=1.2) | {"kind": 1.0}),
            one,
            Noise(0.3),
            {"x1": 0.5, "kind": "b"},
            Habit(spread=0.1),
            width=1,
            tags=frozenset({"categorical decision", "noisy"}),
        ),
        Problem(
            "draw-with-kind-of-day",
            ww.Space(decision=box(2), context={"day": abc, "c": real}),
            Draw(9, scales(2, 0.4, c=1.2) | {"day": 0.8}),
            lambda u, given: {
                "day": category(u[:, 0], {"a": 0.5, "b": 0.28, "c": 0.22}),
                "c": normal(u[:, 1]),
            },
            Noise(0.25),
            usual(0.4, 0.4),
            width=2,
            tags=frozenset({"categorical", "noisy"}),
        ),
        Problem(
            "draw-tail-of-plane",
            ww.Space(decision=box(2), context={"c": real}),
            Draw(10, scales(2, 0.4, c=1.2)),
            one,
            Noise(0.2),
            usual(0.5, 0.5),
            objective=ww.CVaR(0.2),
            width=1,
            tags=frozenset({"cvar", "noisy"}),
        ),
        Problem(
            "draw-tail-with-days",
            ww.Space(decision=box(1), context={"day": abc, "c": real}),
            Draw(11, scales(1, 0.3, c=1.2) | {"day": 0.8}, tail=5.0),
            lambda u, given: {
                "day": category(u[:, 0], {"a": 0.45, "b": 0.33, "c": 0.22}),
                "c": gamma(u[:, 1], 2.0, 1.4),
            },
            Noise(0.2),
            usual(0.6),
            objective=ww.CVaR(0.25),
            width=2,
            tags=frozenset({"cvar", "categorical", "skewed", "noisy"}),
        ),
        Problem(
            "draw-moved-contexts",
            ww.Space(decision=box(2), context={"c": ww.Real(-2, 2), "k": ww.Real(-2, 2)}),
            Draw(12, scales(2, 0.4, c=1.5, k=1.5)),
            bounded,
            Noise(0.15),
            usual(0.5, 0.4),
            objective=ww.Robust(ww.Wasserstein(), 0.2),
            model=ww.KernelDensity(128, 64),
            width=2,
            tags=frozenset({"robust"}),
        ),
        Problem(
            "draw-some-contexts-replaced",
            ww.Space(decision=box(1), context={"c": ww.Real(-2, 2)}),
            Draw(13, scales(1, 0.3, c=1.0), tail=5.0),
            lambda u, given: {"c": np.clip(two_humps(u[:, 0], 0.6, (-0.7, 0.4), (0.9, 0.3)), -2.0, 2.0)},
            Noise(0.2),
            usual(0.4),
            objective=ww.Robust(ww.TotalVariation(), 0.2),
            model=ww.Empirical(64),
            width=1,
            tags=frozenset({"robust", "bimodal", "noisy"}),
        ),
    ]
