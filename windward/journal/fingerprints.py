"""Which finished trials were added already: a file of history that grows every week is imported again and again.

A line is known by the fingerprint of what it says: decision, context, value, noise. Two equal sales are two sales, so
lines are counted; where both have a date, the dates must agree too.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass
class _Line:
    """A trial that a line of a file may stand for: one line at most."""

    taken: bool = False


class Lines:
    """What is in the log, by fingerprint and date: each trial is one line, also where it was amended since."""

    def __init__(self) -> None:
        self._any: dict[str, deque[_Line]] = {}
        self._dated: dict[tuple[str, datetime | None], deque[_Line]] = {}

    def add(self, marks: Iterable[str], date: datetime | None) -> None:
        """Add a trial, under every fingerprint that it has had."""
        line = _Line()
        for mark in dict.fromkeys(marks):
            self._any.setdefault(mark, deque()).append(line)
            self._dated.setdefault((mark, date), deque()).append(line)

    def known(self, rows: Sequence[tuple[str, datetime | None]]) -> list[bool]:
        """Return which rows are there already; each takes its line.

        A row with a date is the line of that date; failing that, one without a date. A row without a date is any line, those
        without a date first. Rows that find their exact date go first: an undated one must not take it from them.
        """
        found = [date is not None and _take(self._dated.get((mark, date))) for mark, date in rows]
        for place, (mark, date) in enumerate(rows):
            if not found[place]:
                found[place] = _take(self._dated.get((mark, None))) or (date is None and _take(self._any.get(mark)))
        return found


def _take(lines: deque[_Line] | None) -> bool:
    while lines:
        line = lines.popleft()
        if not line.taken:
            line.taken = True
            return True
    return False


def _sorted(values: Mapping[str, Value]) -> list[tuple[str, object]]:
    return [(name, _plain(values[name])) for name in sorted(values)]


def _plain(value: Value | None) -> object:
    # 40 and 40.0 are one number; True is a choice of its own.
    # So are 0.0 and -0.0.
    return float(value) + 0.0 if isinstance(value, int | float) and not isinstance(value, bool) else value
