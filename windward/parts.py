"""The table of Windward's own parts, and `to_json` / `from_json` for policies, spaces and single parts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from windward.beliefs import PosteriorMean, Thompson, UpperConfidence
from windward.codec import decode, dumps, encode, table_of
from windward.contexts import Box, Distribution, Empirical, Grid, KernelDensity, Known, NoContext
from windward.design import RandomDesign, Sobol
from windward.errors import ArgumentError
from windward.feedback import Hallucinate, Ignore
from windward.maximize import MultiStart, OverGrid
from windward.objectives import Expected, Minimum
from windward.parameters import Categorical, Integer, Linear, Real
from windward.policy import Nature, Policy, Report
from windward.space import Space
from windward.surrogate import GaussianProcess, Hyperparameters, SoftClip, Standardize, Unscaled

OWN_PARTS: tuple[type, ...] = (
    Box,
    Categorical,
    Distribution,
    Empirical,
    Expected,
    GaussianProcess,
    Grid,
    Hallucinate,
    Hyperparameters,
    Ignore,
    Integer,
    KernelDensity,
    Known,
    Linear,
    Minimum,
    MultiStart,
    Nature,
    NoContext,
    OverGrid,
    Policy,
    PosteriorMean,
    RandomDesign,
    Real,
    Report,
    Sobol,
    SoftClip,
    Space,
    Standardize,
    Thompson,
    Unscaled,
    UpperConfidence,
)


def to_json(part: Any) -> str:
    """Return a policy, a space or any part as JSON text.

    >>> to_json(Real(0, 1))
    '{"part":"Real","low":0.0,"high":1.0}'
    """
    return dumps(encode(part))


def from_json(text: str, *, parts: Iterable[type] = ()) -> Any:
    """Return what `to_json` wrote; `parts` are classes of your own that may appear in it.

    >>> from_json('{"part":"Real","low":0.0,"high":1.0}')
    Real(low=0.0, high=1.0, log=False, outside='keep')
    """
    table = table_of(OWN_PARTS, parts)
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"from_json({text!r:.60}): not JSON: {error}") from error
    try:
        return decode(data, table)
    except RecursionError as error:
        raise ArgumentError(f"from_json({text!r:.60}): nested too deeply.") from error
