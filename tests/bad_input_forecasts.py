"""Wrong forecasts: what is no forecast, whatever the space."""

from __future__ import annotations

import math
from typing import Any

from bad_input_cases import Row

import windward as ww
from windward import ArgumentError

_WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "give one of samples, quantiles, chances, point and distribution; it is empty"),
    ({"samples": [1.0], "point": 2.0}, "it has samples and point"),
    ({"samples": []}, "give at least one sample"),
    ({"samples": 5}, "give a list of values"),
    ({"samples": "abc"}, "give a list of values"),
    ({"samples": [1.0, math.nan]}, "sample 1 is nan"),
    ({"samples": [1.0, {"a": 2}]}, "values or dicts, not both"),
    ({"samples": [{"a": 1}, {"b": 2}]}, "every sample must name the same contexts"),
    ({"samples": [1, 2], "weights": [1]}, "give 2 weights, one for each sample; got 1"),
    ({"samples": [1, 2], "weights": [1, -1]}, "must be >= 0"),
    ({"samples": [1, 2], "weights": [0, 0]}, "at least one must be above 0"),
    ({"samples": [1, 2], "weights": [1, math.nan]}, "must be finite"),
    ({"point": 1, "weights": [1]}, "weights go with samples"),
    ({"quantiles": {0.5: 1}}, "at least two quantiles"),
    ({"quantiles": [1, 2]}, "give a dict such as"),
    ({"quantiles": {0.1: 5, 0.9: 4}}, "they cross: 5 at 0.1 and 4 at 0.9"),
    ({"quantiles": {0.0: 5, 0.9: 9}}, "probability must be > 0"),
    ({"quantiles": {0.1: 5, 0.9: math.inf}}, "must be finite"),
    ({"chances": {}}, "give a dict from choices to probabilities"),
    ({"chances": {"dry": 0.5}}, "they must sum to 1, got 0.5"),
    ({"chances": {"dry": 1.5, "wet": -0.5}}, "must be >= 0"),
    ({"point": math.nan}, "point must be finite"),
    ({"point": [1]}, "give one value"),
    ({"distribution": "norm"}, "give a Distribution"),
]


def _row(arguments: dict[str, Any], says: str) -> Row:
    where = next((name for name in reversed(arguments)), "samples")
    return Row(f"Forecast.{where}", lambda: ww.Forecast(**arguments), ArgumentError, says)


FORECASTS: list[Row] = [_row(arguments, says) for arguments, says in _WRONG]
