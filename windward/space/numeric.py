"""What `Real` and `Integer` have in common: bounds, logarithms, steps, units, and what becomes of values outside."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from windward.basics.arguments import LARGEST, is_text
from windward.basics.errors import SpaceError
from windward.basics.speech import Measure, digits_of, shown

if TYPE_CHECKING:
    from windward.space.parameters import Array, Integer, Real

LARGEST_LOG = math.log(LARGEST)
# A range of more steps has none that a person could tell apart.
MOST_STEPS = 10**9
# Beside the size of the bounds: smaller steps drown in the rounding of numbers.
LEAST_STEP = 1e-12
MOST_WHOLE = 2**53  # larger whole numbers are rounded
# By how much of a step a range may miss a whole number of them: rounding of the bounds and of the step.
WHOLE = 1e-6
LONGEST_UNIT = 30


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


def check(parameter: Real | Integer, *, whole: bool) -> None:
    """Bring the fields into canonical form, whole numbers where `whole`; raise `SpaceError` where one is wrong."""
    kind = type(parameter).__name__
    for name in ("low", "high"):
        bound = getattr(parameter, name)
        if bound is None:
            continue
        checked = finite_number(f"{kind}({name}={shown(bound)})", name, bound)
        object.__setattr__(parameter, name, int(bound) if whole else checked)
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
    check_step(parameter, whole=whole)
    check_unit(parameter)


def check_step(parameter: Real | Integer, *, whole: bool) -> None:
    """Bring the step into canonical form; raise `SpaceError` unless it leads from one bound to the other."""
    kind, low, high = type(parameter).__name__, parameter.low, parameter.high
    given: object = parameter.step
    if given is None and not whole:
        return
    if whole and (isinstance(given, bool) or not isinstance(given, numbers.Integral)):
        raise SpaceError(f"{kind}(step={shown(given)}): step must be a whole number.")
    step = finite_number(f"{kind}(step={shown(given)})", "step", given)
    if step <= 0:
        raise SpaceError(f"{kind}(step={shown(given)}): step must be > 0.")
    step = int(step) if whole else step
    object.__setattr__(parameter, "step", step)
    if whole and step == 1:
        return
    if low is None or high is None:
        raise SpaceError(f"{kind}(step={shown(given)}): steps begin at low and end at high; give both bounds.")
    said, count = f"{kind}({low:g}, {high:g}, step={step:g})", (high - low) / step
    if count > MOST_STEPS:
        raise SpaceError(f"{said}: more than {MOST_STEPS:,} steps; give a larger step, or leave it out.")
    size = max(abs(low), abs(high))
    if step < LEAST_STEP * size or (whole and size > MOST_WHOLE):
        raise SpaceError(
            f"{said}: the step is too small beside the bounds, computers do not tell such numbers apart; count from another "
            "zero, or give a larger step."
        )
    if round(count) == 0 or abs(count - round(count)) > WHOLE:
        ends = [float(value_at(parameter, np.asarray(k))) for k in (math.floor(count), math.ceil(count)) if k > 0]
        raise SpaceError(
            f"{said}: high must lie a whole number of steps above low; use {' or '.join(f'high={end:.10g}' for end in ends)}, "
            "or another step."
        )


def check_unit(parameter: Any) -> None:
    """Raise `SpaceError` unless the unit is a short text, or None."""
    problem = wrong_unit(parameter.unit)
    if problem is not None:
        raise SpaceError(f"{type(parameter).__name__}(unit={shown(parameter.unit)}): {problem}")


def wrong_unit(unit: object) -> str | None:
    """Return what is wrong with a unit; None where nothing is."""
    if unit is None:
        return None
    if not isinstance(unit, str) or not unit.strip() or unit != unit.strip() or len(unit) > LONGEST_UNIT:
        return f'unit must be a text of 1 to {LONGEST_UNIT} characters without spaces around it, such as "EUR".'
    if not unit.isprintable() or not is_text(unit) or set("[]") & set(unit):
        return 'unit must be one line of plain characters without square brackets, such as "EUR".'
    return None


def value_at(parameter: Real | Integer, places: Array) -> Array:
    """Return the values at these numbers of steps above the lowest, with the digits of a step: 2.85, not 2.8500000000000001."""
    low, step = float(parameter.low or 0.0), float(parameter.step or 1.0)
    digits = [digits_of(low), digits_of(step)]
    values: Array = low + places * step
    known = [each for each in digits if each is not None]
    return np.round(values, max(known)) if len(known) == len(digits) else values


def steps_of(parameter: Real | Integer) -> int:
    """Return how many steps lead from the lowest value to the highest."""
    assert parameter.low is not None and parameter.high is not None and parameter.step is not None
    return round((parameter.high - parameter.low) / parameter.step)


def nearest_step(parameter: Real | Integer, unit: Array) -> Array:
    """Return the values on the steps nearest to points of [0, 1], elementwise."""
    low, high = parameter.own_bounds()[0]
    own = low + unit.clip(0.0, 1.0) * (high - low)
    return on_steps(parameter, np.exp(own) if parameter.log else own)


def on_steps(parameter: Real | Integer, values: Array) -> Array:
    """Return the values on the steps nearest to values, elementwise."""
    assert parameter.low is not None and parameter.step is not None
    count = steps_of(parameter)
    places = np.rint((values - parameter.low) / parameter.step).clip(0, count)
    assert parameter.high is not None
    return np.where(places == count, float(parameter.high), value_at(parameter, places))


def ladder(parameter: Real | Integer, limit: int) -> Array:
    """Return every value on the steps, or at most `limit` of them, evenly thinned."""
    count = steps_of(parameter)
    if count < limit:
        return on_steps(parameter, value_at(parameter, np.arange(count + 1, dtype=np.float64)))
    return nearest_step(parameter, np.linspace(0.0, 1.0, limit))


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
    return float(on_steps(parameter, np.asarray(value))) if parameter.graded else value


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
    measure = Measure(parameter.unit, parameter.step)
    low, high = (None if end is None else measure.text(end) for end in (parameter.low, parameter.high))
    span = f"{low} or more" if low else f"{high} or less" if high else "any number"
    if low is high is None and parameter.unit is not None:
        span += f", in {parameter.unit}"
    if low and high:
        span = measure.span(parameter.low, parameter.high)
    if parameter.step not in (None, 1):
        span += f", in steps of {measure.text(parameter.step)}"
    return span + (", on a log scale" if parameter.log else "")
