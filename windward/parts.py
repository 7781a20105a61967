"""The table of Windward's own parts, and `to_json` / `from_json` for policies, spaces and single parts."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from windward import divergences
from windward.basics.codec import decode, dumps, encode, table_of, unreadable
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.beliefs.beliefs import ExpectedImprovement, PosteriorMean, Thompson, UpperConfidence
from windward.beliefs.widths import DelayedWidth, HuangWidth, MicheliWidth
from windward.contexts import Box, Distribution, Empirical, Grid, KernelDensity, Known, NoContext
from windward.feedback import Censor, Hallucinate, Ignore
from windward.objectives.heuristics import BocuOne, BocuTwo, MidpointRobust
from windward.objectives.plain import CVaR, Expected, MeanVariance, Minimum, VaR
from windward.objectives.radii import Decay, KernelRate, KirschnerRate, MicheliRate
from windward.objectives.robust import LipschitzRobust, MeanRisk, Robust, Sensitivity, Tradeoff
from windward.objectives.satisficing import Satisficing
from windward.policy import Policy, Report
from windward.rules.contexts import HighestImprovement, MostUncertain, Nature, Uniform
from windward.search.design import RandomDesign, Sobol
from windward.search.grid import OverGrid
from windward.search.multistart import MultiStart
from windward.space.linear import Linear
from windward.space.parameters import Categorical, Integer, Real
from windward.space.space import Space
from windward.surrogate import GaussianProcess, Hyperparameters, SoftClip, Standardize, Unscaled

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
        raise ArgumentError(f"from_json({shown(text, 60)}): not JSON: {unreadable(text, error)}") from error
    try:
        return decode(data, table)
    except RecursionError as error:
        raise ArgumentError(f"from_json({shown(text, 60)}): nested too deeply.") from error
