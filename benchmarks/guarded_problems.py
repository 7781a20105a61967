"""Problems for guards: worlds with a known truth, noise, contexts, and a status quo that is safe and not best.

Each world has a floor below what its status quo brings, and regions that lie far below it. A problem is for looking or for
reporting by the parity of its name's SHA-256: what was tuned was tuned on the others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

import windward as ww

# Contexts behind the truth, and decisions along each number to find its range by.
TRUTH, LADDER = 2000, 41


@dataclass(frozen=True)
class World:
    """Decisions, contexts, a value f(decision, context), its noise and a safe decision; `share` of the range is the slack."""

    space: ww.Space
    value: Callable[[Mapping[str, Any], Mapping[str, Any]], float]
    contexts: Callable[[Random], dict[str, Any]]
    noise: float
    status_quo: dict[str, Any]
    share: float = 0.1
    direction: str = "maximize"
    tail: float | None = None  # the truth is the average over the worst share of the contexts, else over all
    _seen: dict[Any, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def objective(self) -> Any:
        return ww.Expected() if self.tail is None else ww.CVaR(self.tail)

    @cached_property
    def _contexts(self) -> list[dict[str, Any]]:
        chance = Random(12345)
        return [self.contexts(chance) for _ in range(TRUTH)]

    def truth(self, decision: Mapping[str, Any]) -> float:
        """Return the objective's true value, oriented so that more is better."""
        key = tuple(decision.items())
        if key not in self._seen:
            values = sorted(self.sign * self.value(decision, context) for context in self._contexts)
            kept = values if self.tail is None else values[: max(1, round(self.tail * len(values)))]
            self._seen[key] = sum(kept) / len(kept)
        return self._seen[key]

    @cached_property
    def range(self) -> tuple[float, float]:
        """The least and the highest truth on a grid."""
        axes: list[list[Any]] = []
        for parameter in self.space.decision.values():
            if parameter.choices:
                axes.append(list(parameter.choices))
            else:
                count = LADDER if len(self.space.decision) == 1 else 15
                axes.append([parameter.from_unit([step / (count - 1)]) for step in range(count)])
        names = list(self.space.decision)
        rows: list[dict[str, Any]] = [{}]
        for name, axis in zip(names, axes, strict=True):
            rows = [{**row, name: value} for row in rows for value in axis]
        values = [self.truth(row) for row in rows]
        return min(values), max(values)

    @property
    def slack(self) -> float:
        """What a try may cost against the status quo."""
        return self.share * (self.range[1] - self.range[0])

    @property
    def floor(self) -> float:
        """The least true value that a try may have, oriented."""
        return self.truth(self.status_quo) - self.slack

    def evaluate(self, decision: Mapping[str, Any], chance: Random) -> ww.Result:
        """Return what a round brings."""
        context = self.contexts(chance)
        return ww.Result(self.value(decision, context) + chance.gauss(0.0, self.noise), context=context)


def _clipped(chance: Random, mean: float, deviation: float, low: float, high: float) -> float:
    return min(max(chance.gauss(mean, deviation), low), high)


def _bakery() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        return 3.0 * min(d["loaves"], c["demand"]) - 1.2 * d["loaves"]

    space = ww.Space({"loaves": ww.Integer(0, 200)}, {"demand": ww.Real(0, 250)})
    return World(space, value, lambda r: {"demand": _clipped(r, 110, 25, 0, 250)}, 8.0, {"loaves": 80})


def _price() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        buyers = 60.0 / (1.0 + math.exp(2.2 * (d["price"] - 3.6 - 0.8 * c["mood"])))
        return (d["price"] - 1.0) * buyers

    space = ww.Space({"price": ww.Real(1, 8)}, {"mood": ww.Real(-2, 2)})
    return World(space, value, lambda r: {"mood": _clipped(r, 0, 0.6, -2, 2)}, 5.0, {"price": 2.4})


def _dose() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        level = d["dose"] / c["weight"]
        return 10.0 * level / (0.5 + level) - 8.0 / (1.0 + math.exp(-12.0 * (level - 1.1)))

    space = ww.Space({"dose": ww.Real(0, 12)}, {"weight": ww.Real(3, 9)})
    return World(space, value, lambda r: {"weight": _clipped(r, 6, 0.8, 3, 9)}, 0.4, {"dose": 2.5})


def _kiln() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        heat, time = d["heat"], d["time"] + 0.1 * c["damp"]
        return math.exp(-8.0 * (heat - 0.65) ** 2 - 6.0 * (time - 0.6) ** 2 - 5.0 * (heat - 0.65) * (time - 0.6))

    space = ww.Space({"heat": ww.Real(0, 1), "time": ww.Real(0, 1)}, {"damp": ww.Real(-2, 2)})
    return World(
        space, value, lambda r: {"damp": _clipped(r, 0, 0.7, -2, 2)}, 0.04, {"heat": 0.45, "time": 0.45}, share=0.15
    )


def _bids() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        won = 1.0 - math.exp(-d["bid"] / (1.0 + c["rivals"]))
        return 20.0 * won * (1.3 if d["hour"] == "evening" else 1.0) - 4.0 * d["bid"] * won

    space = ww.Space(
        {"bid": ww.Real(0.1, 6), "hour": ww.Categorical(["morning", "noon", "evening"])}, {"rivals": ww.Real(0, 4)}
    )
    return World(
        space,
        value,
        lambda r: {"rivals": _clipped(r, 1.2, 0.5, 0, 4)},
        0.8,
        {"bid": 1.0, "hour": "morning"},
    )


def _pump() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        short = max(0.0, c["rain"] * 9.0 - d["rate"] * d["pumps"])
        return 0.08 * d["rate"] ** 2 * d["pumps"] + 1.5 * short + 0.6 * d["pumps"]

    space = ww.Space({"rate": ww.Real(0.5, 6), "pumps": ww.Integer(1, 6)}, {"rain": ww.Real(0, 3)})
    return World(
        space,
        value,
        lambda r: {"rain": _clipped(r, 1.1, 0.4, 0, 3)},
        0.8,
        {"rate": 4.5, "pumps": 3},
        direction="minimize",
    )


def _waves() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        x = d["set"]
        return math.sin(9.0 * x) + 1.6 * x + 0.5 * c["wind"] * math.cos(5.0 * x)

    space = ww.Space({"set": ww.Real(0, 1)}, {"wind": ww.Real(-2, 2)})
    return World(space, value, lambda r: {"wind": _clipped(r, 0, 0.6, -2, 2)}, 0.1, {"set": 0.28}, share=0.15)


def _harvest() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        ripe = 1.0 / (1.0 + math.exp(-8.0 * (d["day"] - 0.35)))
        lost = c["storm"] * max(0.0, d["day"] - 0.4) ** 1.5
        return 10.0 * ripe - 9.0 * lost

    space = ww.Space({"day": ww.Real(0, 1)}, {"storm": ww.Real(0, 4)})
    return World(
        space, value, lambda r: {"storm": min(4.0, r.expovariate(1.0))}, 0.4, {"day": 0.4}, share=0.12, tail=0.25
    )


def _blend() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        a, b = d["a"], d["b"]
        return 4.0 * a + 3.0 * b - 5.0 * a * a - 4.0 * b * b - 2.0 * a * b + 0.8 * c["grade"] * (a - b)

    space = ww.Space(
        {"a": ww.Real(0, 1), "b": ww.Real(0, 1)},
        {"grade": ww.Real(-2, 2)},
        [ww.Linear({"a": 1.0, "b": 1.0}, upper=1.2)],
    )
    return World(space, value, lambda r: {"grade": _clipped(r, 0, 0.7, -2, 2)}, 0.15, {"a": 0.15, "b": 0.2})


def _brake() -> World:
    def value(d: Mapping[str, Any], c: Mapping[str, Any]) -> float:
        slip = d["force"] - 0.5 - 0.25 * c["grip"]
        return 6.0 * d["force"] - (25.0 * slip if slip > 0 else 0.0)

    space = ww.Space({"force": ww.Real(0, 1)}, {"grip": ww.Real(-1, 1)})
    return World(space, value, lambda r: {"grip": r.uniform(-1, 1)}, 0.2, {"force": 0.25}, share=0.08)


WORLDS: dict[str, Callable[[], World]] = {
    name.removeprefix("_"): make
    for name, make in list(globals().items())
    if callable(make) and getattr(make, "__annotations__", {}).get("return") == "World"
}


def reported(name: str) -> bool:
    """Whether a problem is reported on; the others are for looking."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1
