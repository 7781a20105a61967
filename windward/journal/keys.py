"""Idempotency keys: every call has one; a caller may bring its own, and then the same call again changes nothing.

A caller's key is stored with a mark before it, so that it can meet neither a key made here nor a numbered one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from windward.errors import ArgumentError, TrialError
from windward.journal.events import Event, new_key
from windward.journal.fold import BY_CALLER, History
from windward.results import Suggestion

# Printable ASCII without spaces, as in an HTTP header; a slash would read as the number of an event.
ALLOWED = re.compile(r"[!-.0-~]{1,200}")


def key_for(call: str, given: str | None) -> str:
    """Return the key to store for a call: the caller's, marked as such, or a new one."""
    if given is None:
        return new_key()
    if not isinstance(given, str) or not ALLOWED.fullmatch(given):
        raise ArgumentError(
            f"{call}(key={given!r}): a key is 1 to 200 printable ASCII characters without spaces and slashes."
        )
    return BY_CALLER + given


def asked_before(history: History, key: str, given: Mapping[str, Any], fixed: Mapping[str, Any]) -> Suggestion | None:
    """Return what was suggested to an ask with this key, None where there was none yet."""
    event = history.calls.get(key)
    if event is None:
        return None
    body = event.body
    if event.kind != "asked" or body["given"] != given or body["fixed"] != fixed:
        raise _reused("study.ask", key, event)
    assert event.trial is not None
    return Suggestion(event.trial, body["decision"], (body["chosen"] or body["given"]) or None)


def check_told(history: History, key: str, id: int, told: Mapping[str, Any]) -> None:
    """Raise `TrialError` where this key belongs to another call than this tell."""
    event = history.calls.get(key)
    if event is None:  # the log said so already: nothing was written
        return
    # With a context that was news, the value is in the second event of the call, where it was news too.
    value = event if event.kind == "told" else history.calls.get(f"{key}/1")
    same = value is None or value.body["value"] == told["value"]
    if event.trial != id or event.kind not in ("told", "context_seen") or not same:
        raise _reused("study.tell", key, event)


def _reused(call: str, key: str, event: Event) -> TrialError:
    return TrialError(
        f"{call}(key={key.removeprefix(BY_CALLER)!r}): this key was used for another call "
        f"({event.kind}, trial {event.trial}); nothing was written; make a new key for each new call."
    )
