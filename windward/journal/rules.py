"""What may be written: each function checks one call against the history and returns the events to append.

They run inside the journal's transaction, on a history that has read everything before it, so two conflicting calls
are decided here: the second one sees the first. An empty list means that the log says so already.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from windward.basics.errors import TrialError
from windward.basics.speech import shown
from windward.basics.times import written_time
from windward.journal.events import VERSION, Draft
from windward.journal.fold import SET_ASIDE, History
from windward.space.dates import said
from windward.space.parameters import Value
from windward.trials.records import Trial

Values = Mapping[str, Value]


def find(history: History, call: str, id: object) -> Trial:
    """Return the trial with this id, or raise `TrialError`."""
    if isinstance(id, bool) or not isinstance(id, numbers.Integral) or not 0 <= int(id) < len(history):
        known = f"ids go from 0 to {len(history) - 1}" if len(history) else "nothing has been asked yet"
        if type(id) is not int:
            known += "; give the id, a whole number such as suggestion.id"
        raise TrialError(f"{call}: study {history.study!r} has no trial {shown(id)}; {known}.")
    return history[int(id)]


def reveal(history: History, call: str, id: object, context: Values, at: datetime) -> list[Draft]:
    """Add what has been seen of a trial's context; what was only given or chosen for it may turn out otherwise, once."""
    trial = find(history, call, id)
    _check_dated(history, call, trial, context)
    for name, value in context.items():
        if name in trial.context_seen and trial.context[name] != value:
            raise TrialError(
                f"{call}: trial {trial.id} has {name}={trial.context[name]!r} already, got {value!r}; to correct it use "
                f"study.amend({trial.id}, context={{{name!r}: {value!r}}})."
            )
    news = {name: value for name, value in context.items() if name not in trial.context_seen}
    return [_draft("context_seen", trial.id, at, context=news)] if news else []


def tell(
    history: History,
    call: str,
    id: object,
    at: datetime,
    *,
    values: Mapping[str, float],
    context: Values,
    noise: Mapping[str, float],
    decision: Values | None,
) -> list[Draft]:
    """Add a trial's value; saying the same again is harmless, saying something else is an error that changes nothing."""
    trial = find(history, call, id)
    drafts = reveal(history, call, id, context, at)
    done = None if decision is None or decision == trial.decision else dict(decision)
    if trial.value is None:
        return [*drafts, _draft("told", trial.id, at, values=dict(values), noise=dict(noise), decision=done)]
    given = {
        "value": (trial.value, values.get(history.outcome)),
        "noise": (trial.noise, noise.get(history.outcome)),
        "decision": (trial.decision, decision),
    }
    for name, (stored, new) in given.items():
        if new is not None and new != stored:
            raise TrialError(
                f"{call}: trial {trial.id} was told with {name}={_shown(stored)}, now got {_shown(new)}; the first is "
                f"kept; to correct it use study.amend({trial.id}, {name}={_shown(new)})."
            )
    return drafts


def lose(history: History, call: str, id: object, reason: str, at: datetime) -> list[Draft]:
    """Give a trial up. A value that was told without its whole context is set aside; one that comes later counts."""
    trial = find(history, call, id)
    whole = len(trial.context) == len(history.space.context)
    if trial.value is not None and whole:
        raise TrialError(
            f"{call}: trial {trial.id} has a value, {trial.value!r}, and it counts; only a trial without a value, or without "
            f"its whole context, can be lost. To correct the value use study.amend({trial.id}, value=...)."
        )
    if trial.lost is not None:
        return []
    told = None if trial.value is None else SET_ASIDE
    return [_draft("lost", trial.id, at, reason=reason, outcomes=None, told=told)]


def amend(history: History, call: str, id: object, changes: Mapping[str, Any], at: datetime) -> list[Draft]:
    """Correct what was told or revealed earlier, or why a trial was lost."""
    trial = find(history, call, id)
    if trial.value is None and ("values" in changes or "noise" in changes):
        raise TrialError(f"{call}: trial {trial.id} has no value to amend; use study.tell({trial.id}, ...).")
    if trial.lost is None and "reason" in changes:
        raise TrialError(f"{call}: trial {trial.id} is not lost, so there is no reason to amend.")
    if "when" not in changes:
        _check_dated(history, call, trial, changes.get("context", {}))
    for name in changes.get("context", {}):
        if name not in trial.context:
            raise TrialError(
                f"{call}: the context {name!r} of trial {trial.id} is not known yet; use study.reveal({trial.id}, ...)."
            )
    now = {
        "values": {history.outcome: trial.value},
        "noise": {history.outcome: trial.noise},
        "decision": trial.decision,
        "reason": trial.lost,
        "when": written_time(trial.when),
    }
    same = all(changes[name] == entry for name, entry in now.items() if name in changes)
    same = same and all(trial.context[name] == value for name, value in changes.get("context", {}).items())
    return [] if same else [_draft("amended", trial.id, at, **changes)]


def note(history: History, call: str, id: object, said: Mapping[str, Any], at: datetime) -> list[Draft]:
    """Write a trial's note, its tags or both; what is left out stays."""
    trial = find(history, call, id)
    now = {"note": trial.note or "", "tags": list(trial.tags)}
    return [] if {**now, **said} == now else [_draft("noted", trial.id, at, **{**now, **said})]


def add(history: History, rows: Sequence[Mapping[str, Any]], at: datetime) -> list[Draft]:
    """Add finished trials from elsewhere; a row with a date happened then. A note of its own follows each."""
    drafts = []
    for id, row in enumerate(rows, start=len(history)):
        dated = row.get("at") is not None
        drafts.append(_draft("added", id, row.get("at") or at, dated=dated, **_finished(row)))
        if row.get("note") or row.get("tags"):
            drafts.append(_draft("noted", id, at, note=row["note"], tags=row["tags"]))
    return drafts


def _check_dated(history: History, call: str, trial: Trial, context: Values) -> None:
    """Refuse what the calendar says otherwise for the time of a trial."""
    for name in history.space.dated:
        if trial.when is not None and name in context and context[name] != trial.context.get(name):
            raise TrialError(
                f"{call}: the context {name!r} of trial {trial.id} is known from its time, {said(trial.when)}: it is "
                f"{trial.context.get(name)!r}, got {context[name]!r}; leave it out, or correct the time with "
                f"study.amend({trial.id}, when=...)."
            )


def _finished(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("decision", "context", "values", "noise", "fingerprint")}


def _draft(kind: str, trial: int, at: datetime, **body: Any) -> Draft:
    return Draft(kind, trial, at, {"v": VERSION, **body})


def _shown(value: object) -> str:
    return repr(dict(value)) if isinstance(value, Mapping) else repr(value)
