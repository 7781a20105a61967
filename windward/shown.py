"""A caller's value as it is shown in a message: always short, and never an error by itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping

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
