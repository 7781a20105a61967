"""Telling values, one or many in one transaction, and what else a person says about trials: reveal, lose, amend, note, add.

Each call checks what was given, then decides inside the journal's transaction what to write, on everything that was written
before it. A commit waits for the disk, so a hundred values told one by one wait a hundred times; told together, once. Each is
decided for itself: one that is wrong is refused and the others are written. Nothing here needs torch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from windward.basics import arguments
from windward.basics.errors import ArgumentError, SpaceError, WindwardError
from windward.basics.speech import shown
from windward.basics.times import moment, written_time
from windward.journal import Draft, History, rules
from windward.journal.fingerprints import Lines, fingerprint
from windward.journal.fold import Checked, Scratch
from windward.journal.keys import check_told, key_for, signed
from windward.space.dates import GIVE_WHEN, dated
from windward.space.parameters import Value
from windward.space.space import Space
from windward.study.log import Log
from windward.trials.notes import checked_note, checked_tags
from windward.trials.records import Past, Tell

Values = Mapping[str, Value]


@dataclass(frozen=True)
class CheckedTell:
    """A tell that was checked for itself: its id, its key, and what it says as the log stores it."""

    id: int
    key: str
    said: dict[str, Any]


def tell(log: Log, one: Tell) -> None:
    """Tell one value; see `Study.tell`."""
    (error,) = tell_many(log, [one])
    if error is not None:
        raise error


def tell_many(log: Log, tells: Sequence[Tell]) -> list[WindwardError | None]:
    """Write what is right of some tells; return what was wrong with each, None where it is in the journal."""
    with log.lock:
        now = log.now()
        if (
            isinstance(tells, str | Mapping)
            or not isinstance(tells, Sequence)
            or not all(isinstance(t, Tell) for t in tells)
        ):
            raise ArgumentError(f"study.tell_many(tells={shown(tells)}): give a list of Tell(id, value, ...).")
        # Keys are made here, once: the journal may have the tells decided again.
        entries = [_entry(log.history, one) for one in tells]
        wrong = [entry for entry in entries if isinstance(entry, WindwardError)]
        if len(wrong) == len(entries):
            return list(wrong)
        return log.write(key_for("study.tell", None), partial(decide, tells=entries, now=now))


def decide(
    history: History, tells: Sequence[CheckedTell | WindwardError], now: datetime
) -> tuple[Checked, list[WindwardError | None]]:
    """Return what to write for some tells, and what is wrong with each. A tell sees those before it."""
    scratch, errors = Scratch(history), list[WindwardError | None]()
    for one in tells:
        if not isinstance(one, CheckedTell):  # it is wrong whatever the log says
            errors.append(one)
            continue
        try:
            drafts = _drafts(scratch.history, one, now)
        except WindwardError as error:
            errors.append(error)
            continue
        scratch.take(drafts)
        errors.append(None)
    return scratch.drafts, errors


def _drafts(history: History, one: CheckedTell, now: datetime) -> list[Draft]:
    if one.key in history.calls:  # the same call again, unless it is another one
        check_told(history, one.key, one.id, one.said)
        return []
    return signed(rules.tell(history, "study.tell", one.id, now, **one.said), one.key, one.said)


def _entry(history: History, one: Tell) -> CheckedTell | WindwardError:
    try:
        return CheckedTell(one.id, key_for("study.tell", one.key), _clean(history, one))
    except WindwardError as error:
        return error


def reveal(log: Log, id: int, context: Values) -> None:
    """Say what the context of a trial is; see `Study.reveal`."""
    call = "study.reveal"
    clean, now = _check_news(log.space, call, context), log.now()
    _write(log, call, lambda history: rules.reveal(history, call, id, clean, now))


def lose(log: Log, id: int, reason: str) -> None:
    """Give a trial up; see `Study.lose`."""
    call = "study.lose"
    text, now = arguments.text(call, "reason", reason), log.now()
    _write(log, call, lambda history: rules.lose(history, call, id, text, now))


@dataclass(frozen=True)
class Changes:
    """What an amendment changes; see `Study.amend` for the fields."""

    value: float | None = None
    context: Values | None = None
    noise: float | None = None
    decision: Values | None = None
    reason: str | None = None
    when: datetime | None = None


def amend(log: Log, id: int, changes: Changes) -> None:
    """Correct what was told or revealed, or why a trial was lost; see `Study.amend`."""
    call = "study.amend"
    clean, now = _check_changes(log.history, changes), log.now()
    _write(log, call, lambda history: rules.amend(history, call, id, clean, now))


def note(log: Log, id: int, text: str | None, tags: Sequence[str] | None) -> None:
    """Write a trial's note, its tags or both; see `Study.note`."""
    call, said = "study.note", dict[str, Any]()
    if text is not None:
        said["note"] = checked_note(call, text)
    if tags is not None:
        said["tags"] = checked_tags(call, tags)
    if not said:
        raise ArgumentError(f"{call}: give a note, tags or both; an empty note and an empty list take them away.")
    now = log.now()
    _write(log, call, lambda history: rules.note(history, call, id, said, now))


def _write(log: Log, call: str, decide: Callable[[History], list[Draft]]) -> None:
    log.append(key_for(call, None), lambda history: history.checked(decide(history)))


def _check_news(space: Space, call: str, context: Values) -> dict[str, Value]:
    """Return a context, whole or in part, that says something."""
    clean = space.check_context(call, context, partial=True)
    if not clean:
        raise ArgumentError(f"{call}(context={shown(context)}): give at least one context value.")
    return clean


def _check_changes(history: History, asked: Changes) -> dict[str, Any]:
    """Return what an amendment changes."""
    call, changes = "study.amend", dict[str, Any]()
    if asked.value is not None:
        changes["values"] = {history.outcome: arguments.number(call, "value", asked.value)}
    if asked.context is not None:
        changes["context"] = _check_news(history.space, call, asked.context)
    if asked.noise is not None:
        changes["noise"] = _check_noise(history, call, asked.noise)
    if asked.decision is not None:
        changes["decision"] = history.space.check_decision(call, asked.decision, planned=False)
    if asked.reason is not None:
        changes["reason"] = arguments.text(call, "reason", asked.reason)
    if asked.when is not None:
        when = moment(call, "when", asked.when)
        changes["when"] = written_time(when)
        if history.space.dated:
            changes["context"] = dated(call, history.space, changes.get("context", {}), when, remedy=GIVE_WHEN)
    if not changes:
        raise ArgumentError("study.amend: give what to change: value, context, noise, decision, reason or when.")
    return changes


def add(log: Log, row: Past) -> int:
    """Add one finished trial, even where it is there already; return its id."""
    (id,) = add_many(log, [row], again=True, call="study.add")
    assert id is not None
    return id


def add_many(log: Log, rows: Sequence[Past], *, again: bool = False, call: str = "study.add_many") -> list[int | None]:
    """Add the finished trials that are not in the log yet, or all with `again`; return their ids, None for the others."""
    with log.lock:
        now = log.now()
        arguments.flag(call, "again", again)
        clean = _checked_rows(log.history, call, rows)

        def added(history: History) -> tuple[Checked, list[int | None]]:
            new = [True] * len(clean) if again else _new(history, clean)
            ids = itertools.count(len(history))
            drafts = rules.add(history, [row for row, wanted in zip(clean, new, strict=True) if wanted], now)
            return history.checked(drafts), [next(ids) if wanted else None for wanted in new]

        return log.write(key_for(call, None), added)


def known_rows(log: Log, rows: Sequence[Past]) -> list[bool]:
    """Return which finished trials are in the log already; equal ones are counted."""
    log.sync()
    with log.lock:
        return [not new for new in _new(log.history, _checked_rows(log.history, "study.known_rows", rows))]


def _new(history: History, rows: Sequence[dict[str, Any]]) -> list[bool]:
    lines = Lines()
    for (
        trial
    ) in history.ledger.arrived:  # added, told here, or amended since: a file may hold the old row or the new one
        now = fingerprint(trial.decision, trial.context, trial.value, trial.noise)
        before, date = history.marks.get(trial.id, (now, None))
        lines.add((before, now), date)
    return [not known for known in lines.known([(row["fingerprint"], row["at"]) for row in rows])]


def _checked_rows(history: History, call: str, rows: Sequence[Past]) -> list[dict[str, Any]]:
    if isinstance(rows, str | Mapping) or not isinstance(rows, Sequence) or not all(isinstance(r, Past) for r in rows):
        raise ArgumentError(f"{call}(rows={shown(rows)}): give a list of Past(decision, value, ...).")
    return [_checked_past(history, call, row) for row in rows]


def _checked_past(history: History, call: str, one: Past) -> dict[str, Any]:
    """Return the fields of a finished trial from elsewhere, with its fingerprint."""
    space = history.space
    decision = space.check_decision(call, one.decision, planned=False)
    at = None if one.at is None else moment(call, "at", one.at)
    context = _dated_context(call, space, {} if one.context is None else one.context, at)
    value, noise = arguments.number(call, "value", one.value), _check_noise(history, call, one.noise)
    return {
        "decision": decision,
        "context": context,
        "values": {history.outcome: value},
        "noise": noise,
        "fingerprint": fingerprint(decision, context, value, noise.get(history.outcome)),
        "at": at,
        "note": "" if one.note is None else checked_note(call, one.note),
        "tags": checked_tags(call, one.tags),
    }


def _dated_context(call: str, space: Space, context: Values, at: datetime | None) -> dict[str, Value]:
    """Return the whole context of a finished trial; what the calendar knows from its date need not be typed."""
    if space.dated and at is not None:
        context = dated(
            call,
            space,
            space.check_context(call, context, partial=True),
            at,
            remedy="leave it out, or give the right date with at=",
        )
    missing = [name for name in space.dated if name not in context] if isinstance(context, Mapping) else []
    if missing:
        raise SpaceError(
            f"{call}: context lacks {shown(missing[0])}, which is known from the date; say when it happened with at=."
        )
    return space.check_context(call, context)


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
