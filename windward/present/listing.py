"""Trials as a person looks through them: filtered, sorted, and what was said of one of them, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from windward.basics.errors import ArgumentError, did_you_mean
from windward.basics.speech import and_list, number
from windward.journal.events import Event
from windward.journal.upcast import current
from windward.space.space import Space
from windward.trials.ledger import Ledger
from windward.trials.notes import written_tags
from windward.trials.records import Trial

# Where a trial stands, as a person asks for it: the told are those that arrived and those that await their context.
Standing: TypeAlias = Literal["arrived", "awaiting_context", "pending", "lost"]
PLAIN = ("id", "value", "noise", "state", "asked_at", "told_at", "delay")


@dataclass(frozen=True)
class Sought:
    """Which trials, in which order; `text` is looked for in notes, tags, reasons and choices."""

    standing: Standing | None = None
    tag: str | None = None
    text: str | None = None
    sort: str = "id"
    descending: bool = False


def listed(ledger: Ledger, sought: Sought) -> list[Trial]:
    """Return the trials that are wanted, in order; those without what they are sorted by come last."""
    key = _sorting(ledger.space, sought.sort)
    words = (sought.text or "").strip().casefold()
    rows = [
        trial
        for trial in ledger
        if (sought.standing is None or standing(ledger, trial) == sought.standing)
        and (sought.tag is None or sought.tag in trial.tags)
        and (not words or _says(trial, words))
    ]
    there = [trial for trial in rows if key(trial) is not None]
    there.sort(key=lambda trial: _comparable(key(trial)), reverse=sought.descending)
    return [*there, *(trial for trial in rows if key(trial) is None)]


def standing(ledger: Ledger, trial: Trial) -> Standing:
    """Return where a trial stands."""
    if trial.state != "told":
        return trial.state
    return "arrived" if ledger.knows_context(trial) else "awaiting_context"


def _sorting(space: Space, name: str) -> Callable[[Trial], Any]:
    """Return what trials are sorted by."""
    if name in PLAIN:
        return lambda trial: getattr(trial, name)
    role, _, rest = name.partition(".")
    if role == "decision" and rest in space.decision:
        return lambda trial: trial.decision[rest]
    if role == "context" and rest in space.context:
        return lambda trial: trial.context.get(rest)
    known = [*PLAIN, *(f"decision.{each}" for each in space.decision), *(f"context.{each}" for each in space.context)]
    raise ArgumentError(
        f"sort: there is no column {name!r}{did_you_mean(name, known)}; give one of {', '.join(known)}."
    )


def _comparable(value: Any) -> tuple[int, Any]:
    """Return what can be compared whatever the choices of a category are: numbers, then times, then texts."""
    if isinstance(value, datetime):
        return 1, value
    return (2, value.casefold()) if isinstance(value, str) else (0, value)


def _says(trial: Trial, words: str) -> bool:
    texts = [trial.note, trial.lost, *trial.tags, *trial.decision.values(), *trial.context.values()]
    return words == str(trial.id) or any(isinstance(text, str) and words in text.casefold() for text in texts)


def story(events: Iterable[Event], study: str, id: int) -> list[dict[str, Any]]:
    """Return what was said of one trial, in order: the time, and a sentence."""
    own = [event for event in events if event.trial == id]
    return [{"at": event.at.isoformat(), "words": words} for event in current(own, study) if (words := _told(event))]


def _told(event: Event) -> str:
    body = event.body
    if event.kind == "asked":
        given = body["chosen"] or body["given"]
        return f"Asked: {_values(body['decision'])}{f', with {_values(given)}' if given else ''}."
    if event.kind == "context_seen":
        return f"Context seen: {_values(body['context'])}."
    if event.kind == "lost":
        return f"Given up: {body['reason']}"
    if event.kind == "noted":
        tags = f"tags {written_tags(body['tags'])}" if body["tags"] else ""
        return f"Noted: {'; '.join(filter(None, (body['note'], tags))) or 'nothing any more'}"
    changes = _changes(body)
    if event.kind == "added":
        seen = f", with {_values(body['context'])}" if body["context"] else ""
        return f"Added: {_values(body['decision'])}{seen}, {changes}."
    return f"{'Told' if event.kind == 'told' else 'Amended'}: {changes}."


def _changes(body: Mapping[str, Any]) -> str:
    """Return the fields of an event that change a trial's numbers, in words."""
    said = [f"value {number(value)}" for value in (body.get("values") or {}).values()]
    said += [f"noise {number(noise)}" for noise in (body.get("noise") or {}).values()]
    said += [] if body.get("decision") is None or "fingerprint" in body else [f"done was {_values(body['decision'])}"]
    said += [_values(body["context"])] if body.get("context") and "fingerprint" not in body else []
    said += [f"reason {body['reason']}"] if body.get("reason") else []
    said += [f"time {body['when']}"] if body.get("when") else []
    return and_list(said)


def _values(values: Mapping[str, Any]) -> str:
    return and_list([f"{name} {number(value)}" for name, value in values.items()])
