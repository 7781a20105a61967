"""Random forecasts for the fuzzer, of any context that can be forecast."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from fuzz_spaces import random_value

import windward as ww
from windward.space.cyclic import Circular


def with_forecasts(chance: Random, parameters: Mapping[str, Any], given: Mapping[str, Any]) -> dict[Any, Any]:
    """Return what is known of a context with forecasts of some of the rest, together or apart."""
    names = [name for name, one in parameters.items() if name not in given and not isinstance(one, Circular)]
    names = chance.sample(names, chance.randint(0, len(names)))
    if len(names) > 1 and chance.random() < 0.4:
        count = chance.choice((1, 3, 40, 300))
        rows = [{name: random_value(chance, parameters[name]) for name in names} for _ in range(count)]
        weights = [chance.random() for _ in rows] if chance.random() < 0.3 else None
        return {**given, tuple(names): ww.Forecast(rows, weights)}
    return {**given, **{name: _forecast(chance, parameters[name]) for name in names}}


def _forecast(chance: Random, parameter: Any) -> Any:
    values = [random_value(chance, parameter) for _ in range(chance.choice((1, 2, 7, 40)))]
    if chance.random() < 0.3:
        return ww.Forecast(point=values[0])
    if chance.random() < 0.4:
        return ww.Forecast(values, [chance.random() + 0.01 for _ in values] if chance.random() < 0.5 else None)
    if parameter.choices:
        shares = [chance.random() + 0.01 for _ in parameter.choices]
        return ww.Forecast(
            chances={choice: w / sum(shares) for choice, w in zip(parameter.choices, shares, strict=True)}
        )
    if parameter.log or chance.random() < 0.7:
        ordered = sorted(float(value) for value in (*values, values[0]))
        return ww.Forecast(quantiles={(i + 1) / (len(ordered) + 1): value for i, value in enumerate(ordered)})
    return ww.Distribution("norm", {"loc": float(values[0]), "scale": abs(float(values[-1])) + 1.0})


def parted(context: Any) -> tuple[Any, str]:
    """Return the values among what is known of a context, and its forecasts as a text."""
    if not isinstance(context, Mapping):
        return context, ""
    forecasts = {k: v for k, v in context.items() if isinstance(v, ww.Forecast | ww.Distribution)}
    return {k: v for k, v in context.items() if k not in forecasts}, repr(forecasts) if forecasts else ""
