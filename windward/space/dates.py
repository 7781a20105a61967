"""Contexts that are known from the time: what the calendar says, and what is refused beside it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo

from windward.basics.errors import SpaceError
from windward.basics.speech import shown
from windward.space.parameters import Value
from windward.space.space import Space

GIVE_WHEN = "leave it out, or give the right time with when="


def on_date(space: Space, when: datetime) -> dict[str, Value]:
    """Return the contexts that are known from a time."""
    try:
        return {name: parameter.at(when) for name, parameter in space.dated.items()}
    except OverflowError as error:
        raise SpaceError(f"{said(when)} is too near the end of the calendar.") from error


def dated(
    call: str, space: Space, context: Mapping[str, Value], when: datetime | None, *, remedy: str
) -> dict[str, Value]:
    """Return a checked context with what is known from a time, in the order of the space.

    What was typed and says otherwise is refused; `remedy` says what to do about it. Without a time what was typed is all.
    """
    known = {} if when is None else on_date(space, when)
    for name, value in known.items():
        if name in context and context[name] != value:
            assert when is not None
            raise SpaceError(
                f"{call}: context {shown(name)} is {shown(value)} at {said(when)}, got {shown(context[name])}; {remedy}."
            )
    both = {**context, **known}
    return {name: both[name] for name in space.context if name in both}


def typed_only(space: Space, context: Mapping[str, Value]) -> dict[str, Value]:
    """Return a context without what is known from the time."""
    return {name: value for name, value in context.items() if name not in space.dated}


def clocks(space: Space) -> tzinfo | None:
    """Return the time zone in which a time that names none is read: that of the calendar contexts; None where they have two."""
    zones = {parameter.zone: parameter.clocks for parameter in space.dated.values()} or {"UTC": UTC}
    return next(iter(zones.values())) if len(zones) == 1 else None


def said(when: datetime) -> str:
    """Return a time in words.

    >>> said(datetime(2026, 5, 1, 14, 30, tzinfo=UTC))
    '2026-05-01 14:30 UTC'
    """
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
