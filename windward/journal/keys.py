"""Idempotency keys: every call has one; a caller may bring its own, and then the same call again changes nothing.

A caller's key is stored with a mark before it, so that it can meet neither a key made here nor a numbered one. A tell that
brought one is stored whole in its first event, under "call": the events alone hold only what was news.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from windward.basics.errors import ArgumentError, TrialError
from windward.basics.speech import shown
from windward.basics.times import read_time
from windward.journal.events import Draft, Event, new_key, numbered_keys
from windward.journal.fold import BY_CALLER, History
from windward.space.dates import typed_only
from windward.trials.reasons import reason_of
from windward.trials.records import Suggestion

# Printable ASCII without spaces, as in an HTTP header; a slash would read as the number of an event.
ALLOWED = re.compile(r"[!-.0-~]{1,200}")


def key_for(call: str, given: str | None) -> str:
    """Return the key to store for a call: the caller's, marked as such, or a new one."""
    if given is None:
        return new_key()
    if not isinstance(given, str) or not ALLOWED.fullmatch(given):
        raise ArgumentError(
            f"{call}(key={shown(given)}): a key is 1 to 200 printable ASCII characters without spaces and slashes."
        )
    return BY_CALLER + given


def asked_before(history: History, key: str, wanted: Mapping[str, Any]) -> Suggestion | None:
    """Return what was suggested to an ask with this key, None where there was none yet.

    `wanted` is what the caller asked with, as the body says it.
    """
    event = history.calls.get(key)
    if event is None:
        return None
    body = event.body
    if event.kind != "asked" or _typed(history, asked_with(body)) != _typed(history, wanted):
        raise _reused("study.ask", key, event)
    assert event.trial is not None
    return suggested(event.trial, body)


def asked_with(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the caller of an ask gave, by an asked event: not what was made of it."""
    forecast = body["forecast"]
    said = {name: body[name] for name in ("given", "fixed", "radius", "far", "when")}
    return {**said, "forecast": None if forecast is None else forecast["said"]}


def _typed(history: History, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was typed: what is known from the time was not, so the same ask may come again later."""
    return {**said, "given": typed_only(history.space, said["given"])}


def suggested(id: int, body: Mapping[str, Any]) -> Suggestion:
    """Return what an asked event says."""
    context = dict(body["chosen"] or body["given"]) or None
    reason = reason_of(body["reason"], body["guards"])
    return Suggestion(id, dict(body["decision"]), context, reason, read_time(body["when"]))


def signed(drafts: Sequence[Draft], key: str, told: Mapping[str, Any]) -> list[Draft]:
    """Return the events of a tell with their keys, the first with the whole call where the caller brought its key."""
    call = {"call": dict(told)} if key.startswith(BY_CALLER) else {}
    return [
        replace(draft, key=own, body={**draft.body, **call} if own == key else draft.body)
        for draft, own in zip(drafts, numbered_keys(key, len(drafts)), strict=True)
    ]


def check_told(history: History, key: str, id: int, told: Mapping[str, Any]) -> None:
    """Raise `TrialError` where this key, which is in the log, belongs to another call than this tell."""
    event = history.calls[key]
    if event.trial != id or event.body.get("call") != told:
        raise _reused("study.tell", key, event)


def _reused(call: str, key: str, event: Event) -> TrialError:
    return TrialError(
        f"{call}(key={shown(key.removeprefix(BY_CALLER))}): this key was used for another call "
        f"({event.kind}, trial {event.trial}); nothing was written; make a new key for each new call."
    )
