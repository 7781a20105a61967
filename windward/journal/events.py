"""Events, and what a journal is: an append-only log per study, ordered by `seq` alone.

Kinds: created, policy_set, asked, context_seen, told, lost, amended, added. `at` is the world's time by the study's
clock, `recorded_at` the journal's. Each body carries its version `v`; a newer one is refused by name, never guessed at.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from windward.errors import JournalError, StudyExists, UnknownStudy

KINDS = ("created", "policy_set", "asked", "context_seen", "told", "lost", "amended", "added")
# The version written into every body.
VERSION = 1
# Kinds that bring a new trial: each takes the next trial id, and the study's counter with it.
NEW_TRIAL = ("asked", "added")


@dataclass(frozen=True)
class Draft:
    """An event that has not been written yet; `key` where it belongs to another call than the one that writes it."""

    kind: str
    trial: int | None
    at: datetime
    body: dict[str, Any]
    key: str | None = None


@dataclass(frozen=True)
class Event:
    """One line of the log."""

    seq: int
    kind: str
    trial: int | None
    key: str
    at: datetime
    recorded_at: datetime
    body: dict[str, Any]


Decide = Callable[[Sequence[Event]], Sequence[Draft]]
"""Given the events the caller had not read, return what to write (nothing, where it is there already) or raise."""


class Journal(Protocol):
    """A log of studies. Append is atomic and idempotent by key."""

    def create(self, study: str, draft: Sequence[Draft], *, key: str) -> list[Event]:
        """Begin a study with its first events; `JournalError` where the name is taken."""
        ...

    def append(
        self, study: str, decide: Decide, *, key: str, after: int, expected_asks: int | None = None
    ) -> list[Event] | None:
        """Write what `decide` returns for the events after `after`, in one transaction; return all events after `after`.

        Where `key` was written before, nothing is written again. Where `expected_asks` is not the number of trials the
        study has, nothing is written and None is returned.
        """
        ...

    def read(self, study: str, after: int = 0) -> list[Event]:
        """Return the events after `after`, in order."""
        ...

    def names(self) -> list[str]:
        """Return the names of all studies, sorted."""
        ...

    def delete(self, study: str) -> None:
        """Delete a study and its events."""
        ...


def new_key() -> str:
    """Return a key for one call: the time, then chance.

    Keys that grow with time meet in one page of the database's index; scattered ones would rewrite it all over.
    """
    return f"{time.time_ns():016x}{uuid.uuid4().hex[:16]}"


def numbered_keys(key: str, count: int) -> list[str]:
    """Return a key for each event of one call: the first is the call's own."""
    return [key if index == 0 else f"{key}/{index}" for index in range(count)]


def checked(event: Event, study: str) -> Event:
    """Return the event, or raise where its kind or version is not one this program knows."""
    if event.kind not in KINDS:
        raise JournalError(f"study {study!r}, event {event.seq}: unknown kind {event.kind!r}; use a newer Windward.")
    if not isinstance(event.body, dict):
        raise JournalError(
            f"study {study!r}, event {event.seq} ({event.kind}) is damaged: its body is {event.body!r:.60}."
        )
    version = event.body.get("v")
    if version != VERSION:
        raise JournalError(
            f"study {study!r}, event {event.seq}: version {version!r} of {event.kind!r}; this Windward reads version "
            f"{VERSION}; use a newer one."
        )
    return event


def no_study(study: str, names: Sequence[str]) -> UnknownStudy:
    """Return the error for a name the journal does not have."""
    known = ", ".join(repr(name) for name in names[:10]) or "none"
    return UnknownStudy(f"no study named {study!r} in this journal; it has {known}.")


def name_taken(study: str) -> StudyExists:
    """Return the error for creating a study that exists."""
    return StudyExists(f"a study named {study!r} exists already; continue it with Study.open, or choose another name.")
