"""What `Real` and `Integer` have in common: bounds, logarithms, and what becomes of values outside."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from windward.basics.arguments import LARGEST
from windward.basics.errors import SpaceError
from windward.basics.speech import number, shown

if TYPE_CHECKING:
    from windward.space.parameters import Array, Integer, Real

LARGEST_LOG = math.log(LARGEST)


def finite_number(where: str, what: str, value: object) -> float:
    """Return `value` as a finite float, or raise `SpaceError`; an array or a tensor of one number counts as that number."""
    if isinstance(value, arrays()) and math.prod(value.shape) == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise SpaceError(f"{where}: {what} must be a number, got {shown(value)}.")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not abs(result) <= LARGEST:
        raise SpaceError(f"{where}: {what} must be finite, at most {LARGEST:g} in size, got {shown(value)}.")
    return result


def arrays() -> tuple[Any, ...]:
    """Return the classes of arrays; that of tensors is one of them once torch is imported: before, there are no tensors."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return (np.ndarray, np.generic) if tensor is None else (np.ndarray, np.generic, tensor)


def check(parameter: Real | Integer) -> None:
    """Bring the bounds into canonical form; raise `SpaceError` where a field is wrong."""
    kind = type(parameter).__name__
    for name in ("low", "high"):
        bound = getattr(parameter, name)
        if bound is None:
            continue
        checked = finite_number(f"{kind}({name}={shown(bound)})", name, bound)
        object.__setattr__(parameter, name, checked if parameter.step is None else int(bound))
    if not isinstance(parameter.log, bool):
        raise SpaceError(f"{kind}(log={shown(parameter.log)}): log must be True or False.")
    if not isinstance(parameter.outside, str) or parameter.outside not in ("keep", "clip", "error"):
        raise SpaceError(f"{kind}(outside={shown(parameter.outside)}): outside must be 'keep', 'clip' or 'error'.")
    if parameter.low is not None and parameter.high is not None and not parameter.low < parameter.high:
        raise SpaceError(f"{kind}({parameter.low}, {parameter.high}): low must be below high.")
    if parameter.log and parameter.low is not None and parameter.low <= 0:
        raise SpaceError(f"{kind}(low={parameter.low}, log=True): low must be > 0 for a log parameter.")
    if parameter.log and parameter.low is None and parameter.high is not None and parameter.high <= 0:
        raise SpaceError(f"{kind}(high={parameter.high}, log=True): high must be > 0 for a log parameter.")


def own_bound(parameter: Real | Integer, bound: float | None, missing: float) -> float:
    """Return a bound in own units."""
    if bound is None:
        return missing
    return math.log(bound) if parameter.log else float(bound)


def to_own(parameter: Real | Integer, values: Sequence[Any] | Array) -> Array:
    """Return values in own units; `"n 1"`."""
    column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    return np.log(column) if parameter.log else column


def from_own(parameter: Real | Integer, own: float) -> float:
    """Return the value at a point in own units; one inside the bounds stays inside: exp(log(10)) is more than 10."""
    value = math.exp(min(own, LARGEST_LOG)) if parameter.log else own
    low, high = parameter.own_bounds()[0]
    if parameter.low is not None and own >= low:
        value = max(value, float(parameter.low))
    if parameter.high is not None and own <= high:
        value = min(value, float(parameter.high))
    return value


def to_unit(parameter: Real | Integer, values: Sequence[Any] | Array) -> Array:
    """Return values with `low` at 0 and `high` at 1; `"n 1"`."""
    low, high = parameter.own_bounds()[0]
    return (to_own(parameter, values) - low) / (high - low)


def accepted(parameter: Real | Integer, where: str, value: float, given: object, *, strict: bool) -> float:
    """Return `value`, treated as `outside` says where it is beyond the bounds; `given` is what the user wrote."""
    if parameter.log and value <= 0:
        raise SpaceError(f"{where} must be > 0 because it is declared with log=True, got {shown(given)}.")
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    if low <= value <= high:
        return value
    if strict or parameter.outside == "error":
        raise SpaceError(f"{where} must lie in [{low:g}, {high:g}], got {shown(given)}.")
    return value if parameter.outside == "keep" else type(value)(min(max(value, low), high))


def read(where: str, text: str) -> float:
    """Return the number that a typed text stands for."""
    try:
        return float(text)
    except ValueError as error:
        raise SpaceError(f"{where} must be a number, got {text!r}.") from error


def in_words(parameter: Real | Integer) -> str:
    """Return where the numbers lie."""
    low, high = (None if end is None else number(end) for end in (parameter.low, parameter.high))
    span = (
        f"{low} to {high}" if low and high else f"{low} or more" if low else f"{high} or less" if high else "any number"
    )
    return span + (", on a log scale" if parameter.log else "")
