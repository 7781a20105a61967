"""The kinds of parameters, `Real`, `Integer` and `Categorical`, and what each of them answers: `Parameter`."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from windward.basics.arguments import LARGEST, is_text
from windward.basics.errors import SpaceError
from windward.basics.speech import LATER, shown, written
from windward.space import numeric

Value: TypeAlias = float | int | str | bool
Outside: TypeAlias = Literal["keep", "clip", "error"]
Array: TypeAlias = NDArray[np.float64]


@runtime_checkable
class Parameter(Protocol):
    """What a parameter answers for itself, so that nobody else asks of which kind it is.

    A value has `width` columns: in the unit cube as a decision, in own units as a context (logarithms where `log`). A
    number has one column and no `choices`; a category has one column for each choice.
    """

    @property
    def width(self) -> int:
        """How many columns a value has."""
        ...

    @property
    def continuous(self) -> bool:
        """Whether every value between two others is valid too."""
        ...

    @property
    def step(self) -> float | None:
        """How far neighbouring values are apart; None where there are no neighbours."""
        ...

    @property
    def choices(self) -> Sequence[Value]:
        """The values of a category, in no order of size; empty for a number."""
        ...

    @property
    def low(self) -> float | None:
        """The lowest value, or None."""
        ...

    @property
    def high(self) -> float | None:
        """The highest value, or None."""
        ...

    @property
    def log(self) -> bool:
        """Whether own units are logarithms."""
        ...

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return the bounds of each column in own units, infinite where a bound is missing."""
        ...

    def kept_outside(self) -> Parameter:
        """Return the same that keeps values outside its bounds."""
        ...

    def accepted(self, where: str, value: object, *, strict: bool) -> Value:
        """Return `value` in canonical form, or raise `SpaceError`; `strict` refuses all that is outside the bounds."""
        ...

    def read(self, where: str, text: str) -> Value:
        """Return the value that a typed text stands for, not yet accepted, or raise `SpaceError`."""
        ...

    def in_words(self) -> str:
        """Return which values there are, as a person reads it."""
        ...

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return values in own units; `"n width"`."""
        ...

    def from_own(self, row: Array) -> Value:
        """Return the value at one point `"width"` in own units."""
        ...

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """Return values in the unit cube; `"n width"`."""
        ...

    def from_unit(self, row: Array) -> Value:
        """Return the valid value nearest to one point `"width"` of the unit cube."""
        ...

    def snap(self, unit: Array) -> Array:
        """Return points `"n width"` moved to the nearest valid ones of the unit cube."""
        ...

    def options(self, limit: int) -> Array:
        """Return the valid points of the unit cube; where they have an order, at most `limit`, evenly thinned; `"n width"`."""
        ...


@dataclass(frozen=True, repr=False)
class Real:
    """A real parameter between `low` and `high`; both may be missing for a context.

    `log=True` works with its logarithm. `outside` says what becomes of an observed value beyond the bounds: kept as it
    is (the default: bounds say where the adversary may go, not what is valid), clipped, or refused. With a `step` what is
    suggested and recommended is `low` plus whole steps; what was done between them is kept as it was. `unit` is what its
    numbers are counted in, for people: `Real(2.5, 6, step=0.05, unit="EUR")`.

    >>> Real(0, 1).to_unit([0.25])
    array([[0.25]])
    """

    low: float | None = None
    high: float | None = None
    log: bool = field(default=False, kw_only=True)
    outside: Outside = field(default="keep", kw_only=True)
    step: float | None = field(default=None, kw_only=True, metadata=LATER)
    unit: str | None = field(default=None, kw_only=True, metadata=LATER)

    width: ClassVar[int] = 1
    choices: ClassVar[tuple[Value, ...]] = ()
    __repr__ = written

    def __post_init__(self) -> None:
        numeric.check(self, whole=False)

    @property
    def continuous(self) -> bool:
        """Whether every value between two others is valid too."""
        return self.step is None

    @property
    def graded(self) -> bool:
        """Whether it lies on steps of its own."""
        return self.step is not None

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return the bounds in own units, infinite where a bound is missing."""
        return [(numeric.own_bound(self, self.low, -math.inf), numeric.own_bound(self, self.high, math.inf))]

    def kept_outside(self) -> Real:
        """Return the same that keeps values outside its bounds."""
        return replace(self, outside="keep")

    def accepted(self, where: str, value: object, *, strict: bool) -> float:
        """Return `value` in canonical form; `strict` refuses what is outside the bounds whatever `outside` says."""
        return numeric.accepted(self, where, numeric.finite_number(where, "the value", value), value, strict=strict)

    def read(self, where: str, text: str) -> float:
        """Return the number that a typed text stands for."""
        return numeric.read(where, text)

    def in_words(self) -> str:
        """Return where the numbers lie, as a person reads it."""
        return numeric.in_words(self)

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` in own units."""
        return numeric.to_own(self, values)

    def from_own(self, row: Array) -> float:
        """Return the value at one point in own units."""
        return numeric.from_own(self, float(row[0]))

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` with `low` at 0 and `high` at 1."""
        return numeric.to_unit(self, values)

    def from_unit(self, row: Array) -> float:
        """Return the value at a point of [0, 1]; the ends give the bounds exactly."""
        assert self.low is not None and self.high is not None  # decisions have both: Space checks
        unit = float(row[0])
        if self.step is not None:
            return float(numeric.nearest_step(self, np.asarray(unit)))
        if unit <= 0.0:
            return float(self.low)
        if unit >= 1.0:
            return float(self.high)
        low, high = self.own_bounds()[0]
        own = low + unit * (high - low)
        return min(max(math.exp(own) if self.log else own, float(self.low)), float(self.high))

    def snap(self, unit: Array) -> Array:
        """Return points `"n 1"` inside [0, 1], on its steps where it has some."""
        if self.step is None:
            return unit.clip(0.0, 1.0)
        return self.to_unit(numeric.nearest_step(self, unit)).clip(0.0, 1.0)  # two logarithms differ in the last bit

    def options(self, limit: int) -> Array:
        """Return `limit` even points, at most as many as it has steps; `"n 1"`."""
        even = np.linspace(0.0, 1.0, limit)[:, None]
        return even if self.step is None else np.unique(self.to_unit(numeric.ladder(self, limit)), axis=0)


@dataclass(frozen=True, repr=False)
class Integer:
    """A whole number between `low` and `high`, both included; the rest as for `Real`: `Integer(0, 960, step=24)`.

    >>> Integer(1, 5).from_unit([0.6])
    3
    """

    low: int | None = None
    high: int | None = None
    log: bool = field(default=False, kw_only=True)
    outside: Outside = field(default="keep", kw_only=True)
    step: int = field(default=1, kw_only=True, metadata=LATER)
    unit: str | None = field(default=None, kw_only=True, metadata=LATER)

    width: ClassVar[int] = 1
    continuous: ClassVar[bool] = False
    choices: ClassVar[tuple[Value, ...]] = ()
    __repr__ = written

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, numbers.Integral)):
                raise SpaceError(f"Integer({name}={shown(bound)}): {name} must be a whole number.")
        numeric.check(self, whole=True)

    @property
    def graded(self) -> bool:
        """Whether it lies on steps of its own."""
        return self.step != 1

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return the bounds in own units, infinite where a bound is missing."""
        return [(numeric.own_bound(self, self.low, -math.inf), numeric.own_bound(self, self.high, math.inf))]

    def kept_outside(self) -> Integer:
        """Return the same that keeps values outside its bounds."""
        return replace(self, outside="keep")

    def accepted(self, where: str, value: object, *, strict: bool) -> int:
        """Return `value` in canonical form; `strict` refuses what is outside the bounds whatever `outside` says."""
        result = numeric.finite_number(where, "the value", value)
        if result != round(result):
            raise SpaceError(f"{where} must be a whole number, got {shown(value)}.")
        return int(numeric.accepted(self, where, round(result), value, strict=strict))

    def read(self, where: str, text: str) -> float:
        """Return the number that a typed text stands for; whether it is whole, `accepted` looks at."""
        return numeric.read(where, text)

    def in_words(self) -> str:
        """Return where the whole numbers lie, as a person reads it."""
        return "whole numbers, " + numeric.in_words(self)

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` in own units."""
        return numeric.to_own(self, values)

    def from_own(self, row: Array) -> int:
        """Return the nearest whole number to one point in own units."""
        return round(numeric.from_own(self, float(row[0])))

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """Return `"n 1"` with `low` at 0 and `high` at 1."""
        return numeric.to_unit(self, values)

    def from_unit(self, row: Sequence[float] | Array) -> int:
        """Return the nearest whole number inside the bounds to a point of [0, 1]."""
        return int(self._nearest(np.asarray(row, dtype=np.float64)[:1])[0])

    def snap(self, unit: Array) -> Array:
        """Return points `"n 1"` of [0, 1] moved to whole numbers."""
        return self.to_unit(self._nearest(unit))

    def options(self, limit: int) -> Array:
        """Return every whole number as a point of [0, 1], or at most `limit` of them, evenly thinned; `"n 1"`."""
        assert self.low is not None and self.high is not None  # decisions have both: Space checks
        if self.step != 1:
            ladder = numeric.ladder(self, limit)
        elif self.high - self.low < limit:
            ladder = np.arange(self.low, self.high + 1, dtype=np.float64)
        else:
            ladder = self._nearest(np.linspace(0.0, 1.0, limit))
        return np.unique(self.to_unit(ladder), axis=0)

    def _nearest(self, unit: Array) -> Array:
        """Return the whole numbers inside the bounds nearest to points of [0, 1], elementwise."""
        assert self.low is not None and self.high is not None  # decisions have both: Space checks
        if self.step != 1:
            return numeric.nearest_step(self, unit)
        low, high = self.own_bounds()[0]
        own = low + unit.clip(0.0, 1.0) * (high - low)
        return np.rint(np.exp(own) if self.log else own).clip(self.low, self.high)


@dataclass(frozen=True, repr=False)
class Categorical:
    """One of several choices without an order: strings, numbers or booleans; `unit` is that of numbers.

    >>> Categorical(["rail", "road"]).to_unit(["road"])
    array([[0., 1.]])
    """

    choices: Sequence[Value]
    unit: str | None = field(default=None, kw_only=True, metadata=LATER)

    continuous: ClassVar[bool] = False
    step: ClassVar[None] = None
    low: ClassVar[None] = None
    high: ClassVar[None] = None
    log: ClassVar[bool] = False
    __repr__ = written

    def __post_init__(self) -> None:
        numeric.check_unit(self)
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

    def accepted(self, where: str, value: object, *, strict: bool) -> Value:
        """Return the choice that `value` equals; there is no other, `strict` or not."""
        value = value.item() if isinstance(value, np.generic) else value
        for option in self.choices:
            if isinstance(value, str | bool | int | float) and value == option:
                return option
        raise SpaceError(f"{where} must be one of {shown(list(self.choices))}, got {shown(value)}.")

    def read(self, where: str, text: str) -> Value:
        """Return the choice that a typed text stands for, as Python or JSON writes it."""
        for option in self.choices:
            if text in (str(option), json.dumps(option)):
                return option
        known = ", ".join(str(option) for option in self.choices)
        raise SpaceError(f"{where}: {text!r} is none of its choices: {known}.")

    def in_words(self) -> str:
        """Return the choices, as a person reads them."""
        return "one of " + ", ".join(str(choice) for choice in self.choices)

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

    def snap(self, unit: Array) -> Array:
        """Return one-hot rows `"n choices"`, one at the largest entry."""
        rows: Array = np.eye(self.width, dtype=np.float64)[np.argmax(unit, axis=-1)]
        return rows

    def options(self, limit: int) -> Array:
        """Return a one-hot row for every choice: without an order none can stand for its neighbours."""
        return np.eye(self.width, dtype=np.float64)
