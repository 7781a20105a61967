"""Contexts that come round, `Cyclic` and `Calendar`: after the end they begin again, so the last values are near the first.

Such a value has two columns, a point of a circle whose circumference is the period:

    r (cos(2 pi v / p), sin(2 pi v / p)),   r = p / (2 pi)

The distance between two points is the chord. For values that are near each other it is their difference, in the context's own
units; between opposite ones it is p / pi, where the way around is p / 2. Kernels and divergences need nothing else: they
take these columns as any others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np

from windward.basics.errors import SpaceError, did_you_mean
from windward.basics.speech import number, shown
from windward.basics.times import zone_named
from windward.space import numeric
from windward.space.parameters import Array, Parameter, Value

# What a value loses on its way to its two columns and back is less than that share of the period.
DIGITS = 12
# Periods beyond these have squares that are no numbers any more.
SHORTEST, LONGEST = 1e-100, 1e100

Cycle: TypeAlias = Literal["weekday", "time_of_day", "time_of_year"]
CYCLES: tuple[Cycle, ...] = get_args(Cycle)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# A circle is shown in so many sections, or in one for each of its whole numbers if these are few.
SECTIONS, MOST_SECTIONS = 6, 12
# Days of a year and hours of a day.
YEAR, DAY = 365.25, 24.0


@runtime_checkable
class Circular(Protocol):
    """A parameter whose values are points of a circle: two columns, and `period` from a value back to itself."""

    @property
    def period(self) -> float: ...


@runtime_checkable
class Dated(Protocol):
    """A parameter whose value is known from the time: nobody types it. `clocks` are those of the time zone named `zone`."""

    @property
    def zone(self) -> str: ...

    @property
    def clocks(self) -> tzinfo: ...

    def at(self, when: datetime) -> Value: ...


def around(period: float, values: Array) -> Array:
    """Return the points of the circle at values `"n"`; `"n 2"`."""
    angle = (2.0 * math.pi / period) * np.mod(values, period)
    circle: Array = (period / (2.0 * math.pi)) * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return circle


def phases(period: float, points: Array) -> Array:
    """Return where points `"n 2"` are on the circle, from 0 up to the period; `"n"`."""
    turned: Array = np.mod((period / (2.0 * math.pi)) * np.arctan2(points[..., 1], points[..., 0]), period)
    return turned


@dataclass(frozen=True)
class Cyclic:
    """A context that begins again after `period`, such as the hour of the day (24): 23.5 is near 0.5.

    Any number is a value. It counts by what is left after whole periods, from 0 up to the period. With `whole` the values are
    whole numbers: `Cyclic(7, whole=True)` is a day of the week. A Wasserstein radius and a length-scale measure the chord
    between two values: nearly their distance while it is short, and at most period / pi. `LipschitzRobust` also counts the
    slope across the circle, and guards against somewhat more than it must.

    >>> Cyclic(24).accepted("hour", 25.5, strict=False)
    1.5
    """

    period: float
    whole: bool = field(default=False, kw_only=True)

    width: ClassVar[int] = 2
    choices: ClassVar[tuple[Value, ...]] = ()
    low: ClassVar[None] = None
    high: ClassVar[None] = None
    log: ClassVar[bool] = False

    def __post_init__(self) -> None:
        call = f"Cyclic(period={shown(self.period)})"
        period = numeric.finite_number(call, "period", self.period)
        if not SHORTEST <= period <= LONGEST:
            raise SpaceError(f"{call}: period must lie between {SHORTEST:g} and {LONGEST:g}.")
        if not isinstance(self.whole, bool):
            raise SpaceError(f"Cyclic(whole={shown(self.whole)}): whole must be True or False.")
        if self.whole and (period != round(period) or period < 2.0):
            raise SpaceError(f"{call}: with whole=True period must be a whole number >= 2.")
        object.__setattr__(self, "period", period)

    @property
    def continuous(self) -> bool:
        """Whether every value between two others is valid too."""
        return not self.whole

    @property
    def step(self) -> int | None:
        """How far neighbouring values are apart; None where there are no neighbours."""
        return 1 if self.whole else None

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return the bounds of the two columns: the square around the circle."""
        radius = self.period / (2.0 * math.pi)
        return [(-radius, radius)] * 2

    def kept_outside(self) -> Cyclic:
        """Return the same: nothing is outside."""
        return self

    def accepted(self, where: str, value: object, *, strict: bool) -> float | int:
        """Return what is left of `value` after whole periods, `strict` or not."""
        result = numeric.finite_number(where, "the value", value)
        if self.whole and result != round(result):
            raise SpaceError(f"{where} must be a whole number, got {shown(value)}.")
        return self._canonical(result)

    def read(self, where: str, text: str) -> float:
        """Return the number that a typed text stands for."""
        return numeric.read(where, text)

    def in_words(self) -> str:
        """Return which values there are, as a person reads it."""
        if self.whole:
            return f"whole numbers, 0 to {number(self.period - 1.0)}, then 0 again"
        return f"0 to {number(self.period)}, where it begins again"

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return points of the circle; `"n 2"`."""
        return around(self.period, np.asarray(values, dtype=np.float64).reshape(-1))

    def from_own(self, row: Array) -> float | int:
        """Return the value at the point of the circle nearest to a point of the plane."""
        phase = float(phases(self.period, np.asarray(row, dtype=np.float64)))
        if self.whole:
            return self._canonical(round(phase))
        # Rounding has moved it: what was 3 is 3 again.
        return self._canonical(round(phase, DIGITS - math.ceil(math.log10(self.period))))

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """Return the same points with the square around the circle as the unit square; `"n 2"`."""
        return self.to_own(values) * (math.pi / self.period) + 0.5

    def from_unit(self, row: Array) -> float | int:
        """Return the value at the point of the circle nearest to a point of the unit square."""
        return self.from_own(np.asarray(row, dtype=np.float64) - 0.5)

    def snap(self, unit: Array) -> Array:
        """Return points `"n 2"` of the unit square moved to the circle, with `whole` to whole numbers."""
        turned = phases(self.period, unit - 0.5)
        valid: Array = np.rint(turned) if self.whole else turned
        return self.to_unit(valid)

    def options(self, limit: int) -> Array:
        """Return `limit` even points of the circle, or every whole number; `"n 2"`."""
        if not self.whole:
            return self.to_unit([place * self.period / limit for place in range(limit)])
        count = int(min(limit, self.period))
        return self.to_unit([place * int(self.period) // count for place in range(count)])

    def _canonical(self, value: float) -> float | int:
        left = value % self.period
        left = 0.0 if left >= self.period else left  # a tiny negative number, rounded
        return round(left) if self.whole else left


@dataclass(frozen=True)
class Calendar:
    """A context that is known from the time of a trial: nobody types it. `windward.calendar` makes one.

    `cycle` is `"weekday"` (from Monday to Sunday), `"time_of_day"` (hours since midnight) or `"time_of_year"` (days since New
    Year; every year counts as 365.25 days), on the clocks of the time zone `zone`. The end of each is near its beginning, as in
    `Cyclic`.

    >>> from datetime import UTC, datetime
    >>> Calendar("weekday").at(datetime(2026, 5, 1, tzinfo=UTC))
    'Friday'
    """

    cycle: Cycle
    zone: str = "UTC"

    width: ClassVar[int] = 2
    choices: ClassVar[tuple[Value, ...]] = ()
    low: ClassVar[None] = None
    high: ClassVar[None] = None
    log: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.cycle, str) or self.cycle not in CYCLES:
            near = did_you_mean(self.cycle, CYCLES) if isinstance(self.cycle, str) else ""
            raise SpaceError(
                f"Calendar(cycle={shown(self.cycle)}): no such cycle{near}; there are {', '.join(CYCLES)}."
            )
        zone_named(f"Calendar(zone={shown(self.zone)})", self.zone)

    def at(self, when: datetime) -> Value:
        """Return the value at a time."""
        local = when.astimezone(self.clocks)
        if self.cycle == "weekday":
            return WEEKDAYS[local.weekday()]
        hours = local.hour + local.minute / 60.0 + (local.second + 1e-6 * local.microsecond) / 3600.0
        if self.cycle == "time_of_day":
            return _rounded(hours, DAY)
        start = datetime(local.year, 1, 1)
        days = (datetime(local.year, 12, 31) - start).days + 1
        passed = (local.replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0) - start).days + hours / DAY
        return _rounded(passed * YEAR / days, YEAR)

    @property
    def clocks(self) -> tzinfo:
        """The time zone."""
        return zone_named("Calendar", self.zone)

    @property
    def period(self) -> float:
        """From a value back to itself."""
        return self._circle.period

    @property
    def continuous(self) -> bool:
        """Whether every value between two others is valid too."""
        return self._circle.continuous

    @property
    def step(self) -> int | None:
        """How far neighbouring values are apart; None where there are no neighbours."""
        return self._circle.step

    def own_bounds(self) -> list[tuple[float, float]]:
        """Return the bounds of the two columns: the square around the circle."""
        return self._circle.own_bounds()

    def kept_outside(self) -> Calendar:
        """Return the same: nothing is outside."""
        return self

    def accepted(self, where: str, value: object, *, strict: bool) -> Value:
        """Return a value in canonical form: a day by its name, or the first three letters of it, anything else as a number."""
        if self.cycle != "weekday":
            return self._circle.accepted(where, value, strict=strict)
        day = _day(value) if isinstance(value, str) else None
        if day is None:
            raise SpaceError(f"{where} must be one of {', '.join(WEEKDAYS)}, got {shown(value)}.")
        return day

    def read(self, where: str, text: str) -> Value:
        """Return the value that a typed text stands for, not yet accepted."""
        return text.strip() if self.cycle == "weekday" else self._circle.read(where, text)

    def in_words(self) -> str:
        """Return which values there are, as a person reads it."""
        what = {
            "weekday": "the day of the week",
            "time_of_day": "hours since midnight",
            "time_of_year": "days since New Year",
        }[self.cycle]
        return f"{what}, known from the date ({self.zone})"

    def to_own(self, values: Sequence[Any] | Array) -> Array:
        """Return points of the circle; `"n 2"`."""
        return self._circle.to_own(self._numbers(values))

    def from_own(self, row: Array) -> Value:
        """Return the value at the point of the circle nearest to a point of the plane."""
        return self._named(self._circle.from_own(row))

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """Return the same points with the square around the circle as the unit square; `"n 2"`."""
        return self._circle.to_unit(self._numbers(values))

    def from_unit(self, row: Array) -> Value:
        """Return the value at the point of the circle nearest to a point of the unit square."""
        return self._named(self._circle.from_unit(row))

    def snap(self, unit: Array) -> Array:
        """Return points `"n 2"` of the unit square moved to values."""
        return self._circle.snap(unit)

    def options(self, limit: int) -> Array:
        """Return `limit` even points of the circle, or every day; `"n 2"`."""
        return self._circle.options(limit)

    @property
    def _circle(self) -> Cyclic:
        return _circle_of(self.cycle)

    def _numbers(self, values: Sequence[Any] | Array) -> Sequence[Any] | Array:
        return [WEEKDAYS.index(value) for value in values] if self.cycle == "weekday" else values

    def _named(self, value: float | int) -> Value:
        return WEEKDAYS[int(value)] if self.cycle == "weekday" else value


def calendar(cycle: Cycle, zone: str = "UTC") -> Calendar:
    """Return a context that is known from the time of a trial: its weekday, time of day or time of year, in a time zone.

    A study fills it in, at `ask` from `when` (left out, the time of the ask), in history from the date of the row.

    >>> calendar("time_of_day", zone="Europe/Berlin").in_words()
    'hours since midnight, known from the date (Europe/Berlin)'
    """
    return Calendar(cycle, zone)


def sectioned(parameter: Parameter, period: float, values: Sequence[Value]) -> tuple[list[Value], list[int]]:
    """Return the sections of a circle, for whoever shows it, and in which of them each value is.

    A few whole numbers, or days of the week, are a section each; anything else has six sections of the same length.

    >>> sectioned(Cyclic(24), 24.0, [23.5, 0.5])
    (['0 to 4', '4 to 8', '8 to 12', '12 to 16', '16 to 20', '20 to 24'], [5, 0])
    """
    places = phases(period, parameter.to_own(values))
    if parameter.step and period <= MOST_SECTIONS:
        listed = [parameter.from_own(row) for row in around(period, np.arange(period))]
        return listed, [round(float(place)) % len(listed) for place in places]
    ends = [number(period * place / SECTIONS) for place in range(SECTIONS + 1)]
    labels: list[Value] = [f"{low} to {high}" for low, high in pairwise(ends)]
    # A value comes back from its two columns a little off: 8 o'clock begins the section from 8.
    return labels, [int(round(SECTIONS * place / period, DIGITS - 2)) % SECTIONS for place in places]


@lru_cache
def _circle_of(cycle: Cycle) -> Cyclic:
    return Cyclic(7, whole=True) if cycle == "weekday" else Cyclic(DAY if cycle == "time_of_day" else YEAR)


def _day(text: str) -> str | None:
    """Return the weekday that a text names, whole or by its first three letters; None where it names none."""
    typed = text.strip().lower()
    return next((day for day in WEEKDAYS if typed in (day.lower(), day[:3].lower())), None)


def _rounded(value: float, period: float) -> float:
    """Return a value to the microsecond or so, in the way that values come back from their columns."""
    rounded = round(value, 8)
    return 0.0 if rounded >= period else rounded
