"""A caller's value as it is shown in a message: always short, and never an error by itself."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any


def and_list(words: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else "nothing"


def number(value: object) -> str:
    """Return a number as a person reads it, four digits; anything else as its text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if value == 0:  # minus zero, too
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(digits, 7)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# A step of more digits after the point is no step that a person chose, such as a third: its values are written like any number.
MOST_DIGITS = 9
# Of a step: a value that lies farther than this from its steps is not on one.
OFF_STEP = 1e-6


def digits_of(step: float) -> int | None:
    """Return how many digits after the point the multiples of a step have; None where they have too many to write.

    >>> digits_of(0.05), digits_of(24), digits_of(1 / 3)
    (2, 0, None)
    """
    exponent = Decimal(repr(step)).normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else 0
    return digits if digits <= MOST_DIGITS else None


@dataclasses.dataclass(frozen=True)
class Measure:
    """How the numbers of one quantity are written: in which unit, and in which steps, which decide the digits.

    >>> price = Measure("EUR", 0.05)
    >>> price.text(2.5), price.span(2.5, 3), price.text(3.333)
    ('2.50 EUR', '2.50 to 3.00 EUR', '3.333 EUR')
    """

    unit: str | None = None
    step: float | None = None

    def bare(self, value: object) -> str:
        """Return a number without its unit; anything else as its text."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.step or not math.isfinite(value):
            return number(value)
        digits = digits_of(self.step)
        if (
            digits is None or abs(value - round(value, digits)) > OFF_STEP * self.step
        ):  # what was done between the steps
            return number(value)
        return f"{round(value, digits) + 0.0:.{digits}f}"  # plus 0: no minus zero

    def text(self, value: object) -> str:
        """Return a number with its unit; anything else as its text."""
        return self.bare(value) if isinstance(value, bool | str) or value is None else self.with_unit(self.bare(value))

    def with_unit(self, text: str) -> str:
        """Return a text followed by the unit, where there is one."""
        return text if self.unit is None else f"{text} {self.unit}"

    def span(self, low: object, high: object, between: str = "to") -> str:
        """Return two numbers, the unit after the second alone."""
        return f"{self.bare(low)} {between} {self.text(high)}"

    def headed(self, name: str) -> str:
        """Return a heading or the title of an axis: the name, with the unit in brackets.

        >>> Measure("EUR").headed("price")
        'price [EUR]'
        """
        return name if self.unit is None else f"{name} [{self.unit}]"


def written(part: Any) -> str:
    """Return a part as it is written in Python, without the fields marked `LATER` that are at their defaults."""
    shown_fields = [
        f"{field.name}={getattr(part, field.name)!r}"
        for field in dataclasses.fields(part)
        if not (field.metadata.get("later") and getattr(part, field.name) == field.default)
    ]
    return f"{type(part).__name__}({', '.join(shown_fields)})"


# Of a field that came after logs were written: it goes into a log only where it says something.
LATER = {"later": True}


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.125)
    '12 %'
    """
    return f"{100 * share:.0f} %"


def counted(count: int, word: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "result"), counted(2, "result")
    ('1 result', '2 results')
    """
    return f"{count} {word}{'s' * (count != 1)}"


def ages(seconds: float | None) -> str:
    """Return a length of time in the unit a person would choose."""
    if seconds is None:
        return "an unknown time"
    for size, unit in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return counted(count, unit)
    return "less than a minute"


# Not from the locale: every other word is English too.
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def day(moment: datetime) -> str:
    """Return a date in words.

    >>> day(datetime(2026, 5, 3))
    '3 May 2026'
    """
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


LONGEST = 200
# A whole number of more bits is told by its digits' count: Python itself refuses to write one of more than 4300 digits.
MOST_BITS = 512
# Of lists and dicts within lists and dicts, no more levels are looked into.
DEEPEST = 5


def shown(value: object, longest: int = LONGEST) -> str:
    """Return a value as it is written in Python, cut to about `longest` characters.

    >>> shown({"price": [1, 2.5, "high"]}), shown(-10**5000), len(shown(["x"] * 10**6)) < 210
    ("{'price': [1, 2.5, 'high']}", '-<whole number of 5001 digits>', True)
    """
    return _cut(_text(value, longest, DEEPEST), longest)


def _text(value: object, longest: int, depth: int) -> str:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return _whole(value)
    if type(value) is str:
        return repr(value) if len(value) <= longest else f"{value[:longest]!r}..."
    if isinstance(value, list | tuple | set | frozenset | Mapping) and type(value).__module__ in ("builtins", "types"):
        return _collection(value, longest, depth)
    try:
        return repr(value)
    except Exception:  # a caller's own class may say anything, or hold a number that cannot be written
        return f"<{type(value).__name__}>"


def _whole(value: int) -> str:
    # From the leading bits: Python cannot count the digits of a number that it refuses to write.
    digits = math.floor(
        math.log10(abs(value) >> (abs(value).bit_length() - 64)) + (value.bit_length() - 64) * math.log10(2)
    )
    return f"{'-' if value < 0 else ''}<whole number of {digits + 1} digits>"


def _collection(value: Collection[object], longest: int, depth: int) -> str:
    if depth == 0:
        return "..."
    if not value:
        return repr(value)
    entries = value.items() if isinstance(value, Mapping) else ((None, entry) for entry in value)
    parts, size = list[str](), 0
    for key, entry in itertools.islice(entries, longest):
        part = _text(entry, longest, depth - 1)
        parts.append(f"{_text(key, longest, depth - 1)}: {part}" if isinstance(value, Mapping) else part)
        size += len(parts[-1]) + 2
        if size > longest:  # the rest would be cut off
            break
    left, right = ("[", "]") if isinstance(value, list) else ("(", ")") if isinstance(value, tuple) else ("{", "}")
    if isinstance(value, tuple) and len(value) == 1:
        right = ",)"
    body = left + ", ".join(parts) + right
    return f"frozenset({body})" if isinstance(value, frozenset) else body


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest + 3 else text[:longest] + "..."
