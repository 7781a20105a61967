"""The table of Windward's own parts, and `to_json` / `from_json` for policies, spaces and single parts."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from windward import divergences
from windward.beliefs import ExpectedImprovement, PosteriorMean, Thompson, UpperConfidence
from windward.codec import decode, dumps, encode, table_of
from windward.context_rules import HighestImprovement, MostUncertain, Nature, Uniform
from windward.contexts import Box, Distribution, Empirical, Grid, KernelDensity, Known, NoContext
from windward.design import RandomDesign, Sobol
from windward.errors import ArgumentError
from windward.feedback import Censor, Hallucinate, Ignore
from windward.heuristics import BocuOne, BocuTwo, MidpointRobust
from windward.maximize import MultiStart, OverGrid
from windward.objectives import (
    CVaR,
    Expected,
    LipschitzRobust,
    MeanRisk,
    MeanVariance,
    Minimum,
    Robust,
    Satisficing,
    Sensitivity,
    Tradeoff,
    VaR,
)
from windward.parameters import Categorical, Integer, Linear, Real
from windward.policy import Policy, Report
from windward.schedules import Decay, KernelRate, KirschnerRate, MicheliRate
from windward.space import Space
from windward.surrogate import GaussianProcess, Hyperparameters, SoftClip, Standardize, Unscaled
from windward.widths import DelayedWidth, HuangWidth, MicheliWidth

# Beside the divergences their module offers protocols and results, which are no dataclasses.
DIVERGENCES: tuple[type, ...] = tuple(
    kind
    for kind in (getattr(divergences, name) for name in divergences.__all__)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
)
OWN_PARTS: tuple[type, ...] = (
    BocuOne,
    BocuTwo,
    Box,
    Categorical,
    Censor,
    DelayedWidth,
    CVaR,
    Decay,
    Distribution,
    Empirical,
    Expected,
    ExpectedImprovement,
    GaussianProcess,
    Grid,
    Hallucinate,
    HighestImprovement,
    Hyperparameters,
    Ignore,
    Integer,
    KernelDensity,
    KernelRate,
    KirschnerRate,
    MicheliRate,
    HuangWidth,
    MicheliWidth,
    Known,
    Linear,
    LipschitzRobust,
    MeanRisk,
    MeanVariance,
    MidpointRobust,
    Minimum,
    MostUncertain,
    MultiStart,
    Nature,
    NoContext,
    OverGrid,
    Policy,
    PosteriorMean,
    RandomDesign,
    Real,
    Report,
    Robust,
    Satisficing,
    Sensitivity,
    Sobol,
    SoftClip,
    Space,
    Standardize,
    Thompson,
    Tradeoff,
    Uniform,
    Unscaled,
    UpperConfidence,
    VaR,
    *DIVERGENCES,
)


def to_json(part: Any) -> str:
    """Return a policy, a space or any part as JSON text.

    >>> to_json(Real(0, 1))
    '{"part":"Real","low":0.0,"high":1.0,"log":false,"outside":"keep"}'
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
