"""Telling values, one or many in one transaction, and the checks of what is told, revealed, amended or added.

A commit waits for the disk, so a hundred values told one by one wait a hundred times; told together, once. Each is decided
for itself: one that is wrong is refused and the others are written.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from windward import check
from windward.errors import ArgumentError, WindwardError
from windward.journal import Draft, History, rules
from windward.journal.events import numbered_keys
from windward.journal.keys import check_told, key_for, with_call
from windward.parameters import Value
from windward.shown import shown
from windward.space import Space

Values = Mapping[str, Value]
Entry = tuple[int, str, dict[str, Any]]  # the place of a tell, its key, its checked fields
Write = Callable[[str, Callable[[], list[Draft]]], object]


@dataclass(frozen=True)
class Tell:
    """What came back for one trial: see `Study.tell` for the fields."""

    id: int
    value: float
    context: Values | None = None
    noise: float | None = None
    decision: Values | None = None
    key: str | None = None


def tell_all(history: History, tells: Sequence[Tell], now: datetime, write: Write) -> list[WindwardError | None]:
    """Write what is right of some tells; return what was wrong with each, None where it is in the journal."""
    if (
        isinstance(tells, str | Mapping)
        or not isinstance(tells, Sequence)
        or not all(isinstance(t, Tell) for t in tells)
    ):
        raise ArgumentError(f"study.tell_many(tells={shown(tells)}): give a list of Tell(id, value, ...).")
    errors: list[WindwardError | None] = [None] * len(tells)
    waiting: list[Entry] = []
    for place, one in enumerate(tells):
        try:
            waiting.append((place, key_for("study.tell", one.key), _clean(history.space, one)))
        except WindwardError as error:
            errors[place] = error
    while waiting:
        # Of two about the same trial, or with the same key, the second must see the first: it waits for the next one.
        batch, later, seen = list[Entry](), list[Entry](), set[int | str]()
        for entry in waiting:
            id: object = tells[entry[0]].id  # numpy's numbers, too, are ids
            marks: set[int | str] = {entry[1]}
            if isinstance(id, numbers.Integral):  # what is no id at all is refused by itself
                marks.add(int(id))
            (later if marks & seen else batch).append(entry)
            seen |= marks
        waiting = later
        _write_batch(history, tells, batch, errors, now, write)
    return errors


def _write_batch(
    history: History,
    tells: Sequence[Tell],
    batch: Sequence[Entry],
    errors: list[WindwardError | None],
    now: datetime,
    write: Write,
) -> None:
    def decide() -> list[Draft]:
        drafts: list[Draft] = []
        for place, key, clean in batch:
            id, errors[place] = tells[place].id, None  # None: the journal may have this decided again
            try:
                if key in history.calls:  # the same call again, unless it is another one
                    check_told(history, key, id, clean)
                    continue
                found = rules.tell(history, "study.tell", id, now, **clean)
            except WindwardError as error:
                errors[place] = error
                continue
            found, keys = with_call(found, key, clean), numbered_keys(key, len(found))
            drafts += [replace(draft, key=own) for draft, own in zip(found, keys, strict=True)]
        return drafts

    write(key_for("study.tell", None), decide)


def check_news(space: Space, call: str, context: Values) -> dict[str, Value]:
    """Return a context, whole or in part, that says something."""
    clean = space.check_context(call, context, partial=True)
    if not clean:
        raise ArgumentError(f"{call}(context={shown(context)}): give at least one context value.")
    return clean


def check_changes(
    space: Space, *, value: float | None, context: Values | None, noise: float | None, decision: Values | None
) -> dict[str, Any]:
    """Return what an amendment changes."""
    call, changes = "study.amend", dict[str, Any]()
    if value is not None:
        changes["value"] = check.number(call, "value", value)
    if context is not None:
        changes["context"] = check_news(space, call, context)
    if noise is not None:
        changes["noise"] = _check_noise(call, noise)
    if decision is not None:
        changes["decision"] = space.check_decision(call, decision, planned=False)
    if not changes:
        raise ArgumentError("study.amend: give what to change: value, context, noise or decision.")
    return changes


def check_added(
    space: Space, decision: Values, value: float, context: Values | None, noise: float | None
) -> dict[str, Any]:
    """Return the fields of a finished trial from elsewhere."""
    call = "study.add"
    return {
        "decision": space.check_decision(call, decision, planned=False),
        "value": check.number(call, "value", value),
        "context": space.check_context(call, {} if context is None else context),
        "noise": _check_noise(call, noise),
    }


def _check_value(call: str, value: object) -> float:
    """Return a value as a float; where there is none, say what to do."""
    try:
        return check.number(call, "value", value)
    except ArgumentError as error:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise ArgumentError(f"{error} If no value will come, study.lose(id) says so.") from None
        raise


def _check_noise(call: str, noise: float | None) -> float | None:
    """Return a standard deviation as a float, None where it is not known."""
    return None if noise is None else check.number(call, "noise", noise, low=0.0)


def _clean(space: Space, one: Tell) -> dict[str, Any]:
    call = "study.tell"
    return {
        "value": _check_value(call, one.value),
        "context": space.check_context(call, {} if one.context is None else one.context, partial=True),
        "noise": _check_noise(call, one.noise),
        "decision": None if one.decision is None else space.check_decision(call, one.decision, planned=False),
    }
