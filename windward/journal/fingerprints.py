"""Which finished trials were added already: a file of history that grows every week is imported again and again.

A line is known by the fingerprint of what it says: decision, context, value, noise. Two equal sales are two sales, so
lines are counted; where both have a date, the dates must agree too.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from windward.space.parameters import Value

# Hex digits kept of the hash: 64 bits tell lines of one study apart.
DIGITS = 16


def fingerprint(
    decision: Mapping[str, Value], context: Mapping[str, Value], value: float | None, noise: float | None
) -> str:
    """Return the fingerprint of a finished trial; a number is the same however it was typed.

    >>> fingerprint({"order": 40}, {}, 2.0, None) == fingerprint({"order": 40.0}, {}, 2, None)
    True
    """
    said = [_sorted(decision), _sorted(context), _plain(value), _plain(noise)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:DIGITS]


class Imported:
    """How often each line was added, by fingerprint and date; None for one without a date."""

    def __init__(self) -> None:
        self._lines: dict[str, Counter[datetime | None]] = {}

    def count(self, mark: str, date: datetime | None) -> None:
        """Count one more line."""
        self._lines.setdefault(mark, Counter())[date] += 1

    def left(self) -> Imported:
        """Return a copy, to take lines from."""
        copy = Imported()
        copy._lines = {mark: Counter(dates) for mark, dates in self._lines.items()}
        return copy

    def take(self, mark: str, date: datetime | None) -> bool:
        """Take one line that is there already; return False where there is none.

        A line without a date is any line of that fingerprint; one with a date is that of its date, or one without.
        """
        dates = self._lines.get(mark, Counter[datetime | None]())
        wanted = [each for each in dates if dates[each] > 0 and (date is None or each is None or each == date)]
        if not wanted:
            return False
        exact = [each for each in wanted if each == date]
        dates[(exact or wanted)[0]] -= 1
        return True


def _sorted(values: Mapping[str, Value]) -> list[tuple[str, object]]:
    return [(name, _plain(values[name])) for name in sorted(values)]


def _plain(value: Value | None) -> object:
    # 40 and 40.0 are one number; True is a choice of its own.
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
