"""Telling values, one or many in one transaction, and the checks of what is told, revealed, amended or added.

A commit waits for the disk, so a hundred values told one by one wait a hundred times; told together, once. Each is decided
for itself: one that is wrong is refused and the others are written.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from windward.basics import arguments
from windward.basics.errors import ArgumentError, WindwardError
from windward.basics.speech import shown
from windward.journal import Draft, History, rules
from windward.journal.events import numbered_keys
from windward.journal.fingerprints import fingerprint
from windward.journal.keys import check_told, key_for, with_call
from windward.space.parameters import Value
from windward.space.space import Space
from windward.trials.records import Past, Tell

Values = Mapping[str, Value]
Entry = tuple[int, str, dict[str, Any]]  # the place of a tell, its key, its checked fields
Write = Callable[[str, Callable[[], list[Draft]]], object]


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
            waiting.append((place, key_for("study.tell", one.key), _clean(history, one)))
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
    history: History,
    *,
    value: float | None,
    context: Values | None,
    noise: float | None,
    decision: Values | None,
    reason: str | None,
) -> dict[str, Any]:
    """Return what an amendment changes."""
    call, changes = "study.amend", dict[str, Any]()
    if value is not None:
        changes["values"] = {history.outcome: arguments.number(call, "value", value)}
    if context is not None:
        changes["context"] = check_news(history.space, call, context)
    if noise is not None:
        changes["noise"] = _check_noise(history, call, noise)
    if decision is not None:
        changes["decision"] = history.space.check_decision(call, decision, planned=False)
    if reason is not None:
        changes["reason"] = arguments.text(call, "reason", reason)
    if not changes:
        raise ArgumentError("study.amend: give what to change: value, context, noise, decision or reason.")
    return changes


def add_all(
    call: str, history: History, rows: Sequence[Past], now: datetime, write: Write, *, again: bool
) -> list[int | None]:
    """Add the finished trials that are not in the log yet, or all with `again`; return their ids, None for the others."""
    arguments.flag(call, "again", again)
    clean, new, first = _checked_rows(history, call, rows), list[bool](), [0]

    def decide() -> list[Draft]:
        new[:], first[0] = [True] * len(clean) if again else _new(history, clean), len(history)
        return rules.add(history, [row for row, wanted in zip(clean, new, strict=True) if wanted], now)

    write(key_for(call, None), decide)
    ids = itertools.count(first[0])
    return [next(ids) if wanted else None for wanted in new]


def known_rows(history: History, rows: Sequence[Past]) -> list[bool]:
    """Return which finished trials are in the log already; equal ones are counted."""
    return [not new for new in _new(history, _checked_rows(history, "study.known_rows", rows))]


def _new(history: History, rows: Sequence[dict[str, Any]]) -> list[bool]:
    left = history.imported.left()
    for trial in history.trials.arrived:  # told here, or amended since: a file may hold these rows too
        mark = fingerprint(trial.decision, trial.context, trial.value, trial.noise)
        if mark != history.marks.get(trial.id):
            left.count(mark, None)
    return [not left.take(row["fingerprint"], row["at"]) for row in rows]


def _checked_rows(history: History, call: str, rows: Sequence[Past]) -> list[dict[str, Any]]:
    if isinstance(rows, str | Mapping) or not isinstance(rows, Sequence) or not all(isinstance(r, Past) for r in rows):
        raise ArgumentError(f"{call}(rows={shown(rows)}): give a list of Past(decision, value, ...).")
    return [_checked_past(history, call, row) for row in rows]


def _checked_past(history: History, call: str, one: Past) -> dict[str, Any]:
    """Return the fields of a finished trial from elsewhere, with its fingerprint."""
    space = history.space
    decision = space.check_decision(call, one.decision, planned=False)
    context = space.check_context(call, {} if one.context is None else one.context)
    value, noise = arguments.number(call, "value", one.value), _check_noise(history, call, one.noise)
    if one.at is not None and (not isinstance(one.at, datetime) or one.at.tzinfo is None):
        raise ArgumentError(f"{call}(at={shown(one.at)}): give a datetime with a time zone.")
    return {
        "decision": decision,
        "context": context,
        "values": {history.outcome: value},
        "noise": noise,
        "fingerprint": fingerprint(decision, context, value, noise.get(history.outcome)),
        "at": None if one.at is None else one.at.astimezone(UTC),
    }


def _check_value(call: str, id: object, value: object) -> float:
    """Return a value as a float; where there is none, say what to do."""
    try:
        return arguments.number(call, "value", value)
    except ArgumentError as error:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            which = id if isinstance(id, int) else 0
            raise ArgumentError(f"{error} If no value will come, use study.lose({which}, 'why').") from None
        raise


def _check_noise(history: History, call: str, noise: float | None) -> dict[str, float]:
    """Return a standard deviation by its outcome; nothing where it is not known."""
    return {} if noise is None else {history.outcome: arguments.number(call, "noise", noise, low=0.0)}


def _clean(history: History, one: Tell) -> dict[str, Any]:
    call, space = "study.tell", history.space
    return {
        "values": {history.outcome: _check_value(call, one.id, one.value)},
        "context": space.check_context(call, {} if one.context is None else one.context, partial=True),
        "noise": _check_noise(history, call, one.noise),
        "decision": None if one.decision is None else space.check_decision(call, one.decision, planned=False),
    }
