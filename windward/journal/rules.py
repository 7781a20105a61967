"""What may be written: each function checks one call against the history and returns the events to append.

They run inside the journal's transaction, on a history that has read everything before it, so two conflicting calls
are decided here: the second one sees the first. An empty list means that the log says so already.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from windward.errors import TrialError
from windward.journal.events import VERSION, Draft
from windward.journal.fold import History
from windward.parameters import Value
from windward.shown import shown
from windward.trials import Trial

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
    """Add what has become known of a trial's context."""
    trial = find(history, call, id)
    for name, value in context.items():
        if name in trial.context and trial.context[name] != value:
            raise TrialError(
                f"{call}: trial {trial.id} has {name}={trial.context[name]!r} already, got {value!r}; to correct it use "
                f"study.amend({trial.id}, context={{{name!r}: {value!r}}})."
            )
    news = {name: value for name, value in context.items() if name not in trial.context}
    return [_draft("context_seen", trial.id, at, context=news)] if news else []


def tell(
    history: History,
    call: str,
    id: object,
    at: datetime,
    *,
    value: float,
    context: Values,
    noise: float | None,
    decision: Values | None,
) -> list[Draft]:
    """Add a trial's value; saying the same again is harmless, saying something else is an error that changes nothing."""
    trial = find(history, call, id)
    drafts = reveal(history, call, id, context, at)
    done = None if decision is None or decision == trial.decision else dict(decision)
    if trial.value is None:
        return [*drafts, _draft("told", trial.id, at, value=value, noise=noise, decision=done)]
    given = {"value": (trial.value, value), "noise": (trial.noise, noise), "decision": (trial.decision, decision)}
    for name, (stored, new) in given.items():
        if new is not None and new != stored:
            raise TrialError(
                f"{call}: trial {trial.id} was told with {name}={_shown(stored)}, now got {_shown(new)}; the first is "
                f"kept; to correct it use study.amend({trial.id}, {name}={_shown(new)})."
            )
    return drafts


def lose(history: History, call: str, id: object, reason: str, at: datetime) -> list[Draft]:
    """Give a trial up; a value that comes later still counts."""
    trial = find(history, call, id)
    if trial.value is not None:
        raise TrialError(
            f"{call}: trial {trial.id} has a value, {trial.value!r}; only a trial without one can be lost."
        )
    return [] if trial.lost is not None else [_draft("lost", trial.id, at, reason=reason)]


def amend(history: History, call: str, id: object, changes: Mapping[str, Any], at: datetime) -> list[Draft]:
    """Correct what was told or revealed earlier."""
    trial = find(history, call, id)
    for name in ("value", "noise"):
        if name in changes and trial.value is None:
            raise TrialError(f"{call}: trial {trial.id} has no value to amend; use study.tell({trial.id}, ...).")
    for name in changes.get("context", {}):
        if name not in trial.context:
            raise TrialError(
                f"{call}: the context {name!r} of trial {trial.id} is not known yet; use study.reveal({trial.id}, ...)."
            )
    same = all(
        changes[name] == getattr(trial, name) for name in ("value", "noise", "decision") if name in changes
    ) and all(trial.context[name] == value for name, value in changes.get("context", {}).items())
    return [] if same else [_draft("amended", trial.id, at, **changes)]


def add(
    history: History, at: datetime, *, decision: Values, context: Values, value: float, noise: float | None
) -> list[Draft]:
    """Add a finished trial from elsewhere."""
    body = {"decision": dict(decision), "context": dict(context), "value": value, "noise": noise}
    return [_draft("added", len(history), at, **body)]


def _draft(kind: str, trial: int, at: datetime, **body: Any) -> Draft:
    return Draft(kind, trial, at, {"v": VERSION, **body})


def _shown(value: object) -> str:
    return repr(dict(value)) if isinstance(value, Mapping) else repr(value)
