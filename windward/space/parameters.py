"""The kinds of parameters, `Real`, `Integer` and `Categorical`, and `Linear` constraints over numeric ones."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from windward.basics.arguments import LARGEST, is_text
from windward.basics.errors import SpaceError
from windward.basics.speech import shown

Value: TypeAlias = float | int | str | bool
Outside: TypeAlias = Literal["keep", "clip", "error"]
Array: TypeAlias = NDArray[np.float64]

LARGEST_LOG = math.log(LARGEST)


@dataclass(frozen=True)
class Real:
    """A real parameter between `low` and `high`; both may be missing for a context.

    `log=True` works with its logarithm. `outside` says what becomes of an observed value beyond the bounds: kept as it
    is (the default: bounds say where the adversary may go, not what is valid), clipped, or refused.

    >>> Real(0, 1).to_unit([0.25])
    array([[0.25]])
    """

    low: float | None = None
    high: float | None = None
    log: bool = field(default=False, kw_only=True)
    outside: Outside = field(default="keep", kw_only=True)

    width = 1

    def __post_init__(self) -> None:
        _check_numeric(self)

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return the bounds in own units, infinite where there are none."""
        return [(_own(self, self.low, -math.inf), _own(self, self.high, math.inf))]

    def kept_outside(self) -> Real:
        """Return the same that keeps values outside its bounds."""
        return replace(self, outside="keep")

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` in own units."""
        return _to_own(self, values)

    def from_own(self, row: Array) -> float:
        """Return the value at one point in own units."""
        return _from_own(self, float(row[0]))

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` with `low` at 0 and `high` at 1."""
        return _to_unit(self, values)

    def from_unit(self, row: Array) -> float:
        """Return the value at a point of [0, 1]; the ends give the bounds exactly."""
        assert self.low is not None and self.high is not None  # decisions have both: Space checks
        unit = float(row[0])
        if unit <= 0.0:
            return float(self.low)
        if unit >= 1.0:
            return float(self.high)
        low, high = self.own_bounds()[0]
        own = low + unit * (high - low)
        return min(max(math.exp(own) if self.log else own, float(self.low)), float(self.high))


@dataclass(frozen=True)
class Integer:
    """A whole number between `low` and `high`, both included; `log` and `outside` as for `Real`.

    >>> Integer(1, 5).from_unit([0.6])
    3
    """

    low: int | None = None
    high: int | None = None
    log: bool = field(default=False, kw_only=True)
    outside: Outside = field(default="keep", kw_only=True)

    width = 1

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, numbers.Integral)):
                raise SpaceError(f"Integer({name}={shown(bound)}): {name} must be a whole number.")
        _check_numeric(self)

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return the bounds in own units, infinite where there are none."""
        return [(_own(self, self.low, -math.inf), _own(self, self.high, math.inf))]

    def kept_outside(self) -> Integer:
        """Return the same that keeps values outside its bounds."""
        return replace(self, outside="keep")

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` in own units."""
        return _to_own(self, values)

    def from_own(self, row: Array) -> int:
        """Return the nearest whole number to one point in own units."""
        return round(_from_own(self, float(row[0])))

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` with `low` at 0 and `high` at 1."""
        return _to_unit(self, values)

    def from_unit(self, row: Sequence[float] | Array) -> int:
        """Return the nearest whole number inside the bounds to a point of [0, 1]."""
        return int(self.nearest(np.asarray(row, dtype=np.float64)[:1])[0])

    def nearest(self, unit: Array) -> Array:
        """Return the whole numbers inside the bounds nearest to points of [0, 1], elementwise."""
        assert self.low is not None and self.high is not None  # decisions have both: Space checks
        low, high = self.own_bounds()[0]
        own = low + unit.clip(0.0, 1.0) * (high - low)
        return np.rint(np.exp(own) if self.log else own).clip(self.low, self.high)


@dataclass(frozen=True)
class Categorical:
    """One of several choices without an order: strings, numbers or booleans.

    >>> Categorical(["rail", "road"]).to_unit(["road"])
    array([[0., 1.]])
    """

    choices: Sequence[Value]

    def __post_init__(self) -> None:
        if isinstance(self.choices, str) or not isinstance(self.choices, Iterable):
            raise SpaceError(f"Categorical({shown(self.choices)}): give a list of choices.")
        choices = tuple(self.choices)
        for option in choices:
            if not isinstance(option, str | bool | int | float):
                raise SpaceError(f"Categorical: choice {shown(option)} must be a string, a number or a boolean.")
            if isinstance(option, str) and not is_text(option):
                raise SpaceError(f"Categorical: choice {shown(option)} must be writable as UTF-8.")
            if isinstance(option, float) and not math.isfinite(option):
                raise SpaceError(f"Categorical: choice {shown(option)} must be finite.")
            if isinstance(option, int) and abs(option) > LARGEST:
                raise SpaceError(f"Categorical: choice {shown(option)} must be at most {LARGEST:g} in size.")
        if len(choices) < 2:
            raise SpaceError(f"Categorical({shown(list(choices))}): give at least two choices.")
        if len(set(choices)) < len(choices):
            raise SpaceError(
                f"Categorical({shown(list(choices))}): the choices must differ (note that 1 == True == 1.0)."
            )
        object.__setattr__(self, "choices", choices)

    @property
    def width(self) -> int:
        """Number of one-hot columns."""
        return len(self.choices)

    def kept_outside(self) -> Categorical:
        """Return the same: a category has no bounds."""
        return self

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return (0, 1) for each one-hot column."""
        return [(0.0, 1.0)] * self.width

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return one-hot rows `"n choices"`."""
        place = {option: index for index, option in enumerate(self.choices)}
        return np.eye(self.width, dtype=np.float64)[[place[value] for value in values]]

    def from_own(self, row: Array) -> Value:
        """Return the choice with the largest entry."""
        return self.choices[int(np.argmax(row))]

    to_unit = to_own
    from_unit = from_own


Parameter: TypeAlias = Real | Integer | Categorical


@dataclass(frozen=True)
class Linear:
    """A constraint lower <= sum of coefficient * value <= upper on numeric decisions without `log`, in user units.

    >>> Linear({"bonds": 1, "shares": 1}, upper=1).upper
    1.0
    """

    coefficients: Mapping[str, float]
    lower: float | None = field(default=None, kw_only=True)
    upper: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping) or not self.coefficients:
            raise SpaceError(f"Linear({shown(self.coefficients)}): give a dict from decision names to coefficients.")
        clean = {}
        for name, coefficient in self.coefficients.items():
            clean[name] = _number(f"Linear({{{shown(name)}: {shown(coefficient)}}})", "a coefficient", coefficient)
            if clean[name] == 0.0:
                raise SpaceError(
                    f"Linear({{{shown(name)}: 0}}): a zero coefficient has no effect; leave {shown(name)} out."
                )
        object.__setattr__(self, "coefficients", MappingProxyType(clean))
        for side in ("lower", "upper"):
            bound = getattr(self, side)
            if bound is not None:
                object.__setattr__(self, side, _number(f"Linear({side}={shown(bound)})", side, bound))
        if self.lower is None and self.upper is None:
            raise SpaceError("Linear(lower=None, upper=None): give at least one of lower and upper.")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise SpaceError(f"Linear(lower={self.lower:g}, upper={self.upper:g}): lower must not exceed upper.")

    def __repr__(self) -> str:
        sides = "".join(f", {n}={v:g}" for n, v in (("lower", self.lower), ("upper", self.upper)) if v is not None)
        return f"Linear({dict(self.coefficients)!r}{sides})"

    def __hash__(self) -> int:
        return hash((tuple(self.coefficients.items()), self.lower, self.upper))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and (dict(self.coefficients), self.lower, self.upper) == (
            dict(other.coefficients),
            other.lower,
            other.upper,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_linear, (dict(self.coefficients), self.lower, self.upper))

    def check(self, decision: Mapping[str, Parameter]) -> None:
        """Raise `SpaceError` unless every name is a numeric decision without `log`."""
        for name in self.coefficients:
            if name not in decision:
                raise SpaceError(f"Linear({{{shown(name)}: ...}}): the space has no decision {shown(name)}.")
            parameter = decision[name]
            if isinstance(parameter, Categorical) or parameter.log:
                raise SpaceError(
                    f"Linear({{{shown(name)}: ...}}): only Real and Integer without log can be constrained."
                )

    def check_values(
        self, call: str, decision: Mapping[str, Value], parameters: Mapping[str, Parameter], slack: float
    ) -> None:
        """Raise `SpaceError` where a decision breaks the constraint by more than rounding."""
        total = sum(coefficient * float(decision[name]) for name, coefficient in self.coefficients.items())
        sizes = [
            abs(coefficient) * max(abs(bound) for bound in parameters[name].own_bounds()[0])
            for name, coefficient in self.coefficients.items()
        ]
        room = slack * sum(sizes)
        shown = " + ".join(f"{coefficient:g} {name}" for name, coefficient in self.coefficients.items())
        if self.upper is not None and total > self.upper + room:
            raise SpaceError(f"{call}: {shown} = {total:g} must be <= {self.upper:g}.")
        if self.lower is not None and total < self.lower - room:
            raise SpaceError(f"{call}: {shown} = {total:g} must be >= {self.lower:g}.")


def check_value(call: str, role: str, name: str, parameter: Parameter, value: object, *, strict: bool) -> Value:
    """Return `value` in canonical form; `strict` refuses what is outside the bounds whatever `outside` says."""
    where = f"{call}: {role} {shown(name)}"
    if isinstance(parameter, Categorical):
        value = value.item() if isinstance(value, np.generic) else value
        for option in parameter.choices:
            if isinstance(value, str | bool | int | float) and value == option:
                return option
        raise SpaceError(f"{where} must be one of {shown(list(parameter.choices))}, got {shown(value)}.")
    result = _number(where, "the value", value)
    if isinstance(parameter, Integer):
        if result != round(result):
            raise SpaceError(f"{where} must be a whole number, got {shown(value)}.")
        result = round(result)
    if parameter.log and result <= 0:
        raise SpaceError(f"{where} must be > 0 because it is declared with log=True, got {shown(value)}.")
    low = -math.inf if parameter.low is None else parameter.low
    high = math.inf if parameter.high is None else parameter.high
    if low <= result <= high:
        return result
    if strict or parameter.outside == "error":
        raise SpaceError(f"{where} must lie in [{low:g}, {high:g}], got {shown(value)}.")
    return result if parameter.outside == "keep" else type(result)(min(max(result, low), high))


def _number(where: str, what: str, value: object) -> float:
    if isinstance(value, torch.Tensor | np.ndarray | np.generic) and math.prod(value.shape) == 1:
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


def _check_numeric(parameter: Real | Integer) -> None:
    kind = type(parameter).__name__
    for name in ("low", "high"):
        bound = getattr(parameter, name)
        if bound is None:
            continue
        number = _number(f"{kind}({name}={shown(bound)})", name, bound)
        object.__setattr__(parameter, name, int(bound) if isinstance(parameter, Integer) else number)
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


def _own(parameter: Real | Integer, bound: float | None, missing: float) -> float:
    if bound is None:
        return missing
    return math.log(bound) if parameter.log else float(bound)


def _to_own(parameter: Real | Integer, values: Sequence[Any] | Array) -> Array:
    column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    return np.log(column) if parameter.log else column


def _from_own(parameter: Real | Integer, own: float) -> float:
    """Return the value at a point in own units; one inside the bounds stays inside: exp(log(10)) is more than 10."""
    value = math.exp(min(own, LARGEST_LOG)) if parameter.log else own
    low, high = parameter.own_bounds()[0]
    if parameter.low is not None and own >= low:
        value = max(value, float(parameter.low))
    if parameter.high is not None and own <= high:
        value = min(value, float(parameter.high))
    return value


def _to_unit(parameter: Real | Integer, values: Sequence[Any] | Array) -> Array:
    low, high = parameter.own_bounds()[0]
    return (_to_own(parameter, values) - low) / (high - low)


def _linear(coefficients: dict[str, float], lower: float | None, upper: float | None) -> Linear:
    return Linear(coefficients, lower=lower, upper=upper)
