"""A caller's value as it is shown in a message: always short, and never an error by itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime


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
