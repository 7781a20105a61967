"""Times as a person gives them: time zones by name, dates as text, and what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from functools import lru_cache

from windward.basics.errors import ArgumentError, SpaceError
from windward.basics.speech import shown

EXAMPLE = "2026-05-01T14:30+02:00"
# A date as spreadsheets write it where commas are decimal: the day, the month and the year with points, perhaps a time.
POINTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?)?")


def zone_named(call: str, name: object) -> tzinfo:
    """Return the time zone of a name, or raise `SpaceError`."""
    if isinstance(name, str) and name == "UTC":  # some machines have no list of zones
        return UTC
    found = _zone(name) if isinstance(name, str) else None
    if found is None:
        raise SpaceError(
            f"{call}: {shown(name, 60)} is no time zone of this machine; give a name such as 'Europe/Berlin' or 'UTC' (where "
            "names like these are unknown, `pip install tzdata` brings them)."
        )
    return found


@lru_cache
def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo  # here: few spaces need it

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # an unknown one, one that is a path, a folder
        return None


def moment(call: str, name: str, value: object) -> datetime:
    """Return a time in UTC, or raise `ArgumentError` where it is no time or names no time zone."""
    if not isinstance(value, datetime) or value.tzinfo is None or value.utcoffset() is None:
        raise ArgumentError(f"{call}({name}={shown(value)}): give a datetime with a time zone.")
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise ArgumentError(f"{call}({name}={shown(value)}): this time is too near the end of the calendar.") from error


def read_moment(where: str, text: str, zone: tzinfo | None = UTC) -> datetime:
    """Return the time that a text says, in UTC; one that names no time zone is in `zone`, refused where None.

    It is in ISO 8601, or has the day, the month and the year with points between them.

    >>> read_moment("--when", "1.5.2026 14:30").isoformat()
    '2026-05-01T14:30:00+00:00'
    """
    try:
        pointed = POINTED.fullmatch(text.strip())
        if pointed is None:
            found = datetime.fromisoformat(text.strip())
        else:
            day, month, year, hour, minute, second = (int(each or 0) for each in pointed.groups())
            found = datetime(year, month, day, hour, minute, second)
    except ValueError as error:
        raise ArgumentError(
            f"{where} must be a date such as 2026-05-01, 2026-05-01T14:30 or 01.05.2026, got {shown(text, 60)}."
        ) from error
    if found.tzinfo is None and zone is None:
        raise ArgumentError(f"{where} must name its time zone, such as {EXAMPLE}; got {shown(text, 60)}.")
    try:
        return (found.replace(tzinfo=zone) if found.tzinfo is None else found).astimezone(UTC)
    except OverflowError as error:
        raise ArgumentError(f"{where}: {shown(text, 60)} is too near the end of the calendar.") from error


def written_time(when: datetime | None) -> str | None:
    """Return a time as a log keeps it."""
    return None if when is None else when.astimezone(UTC).isoformat()


def read_time(text: object) -> datetime | None:
    """Return a time that a log keeps; `ValueError` where it is none."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError(f"{text!r:.60} is no time")
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text!r:.60} names no time zone")
    return found.astimezone(UTC)
