"""Events, and what a journal is: an append-only log per study, ordered by `seq` alone.

Kinds: created, policy_set, declared, asked, context_seen, told, lost, amended, added, noted. `at` is the world's time by
the study's clock, `recorded_at` the journal's. Each body carries its version `v`: an older one is brought up to date when
it is read (`upcast.py`), a newer one is refused by name, never guessed at.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from windward.basics import arguments
from windward.basics.errors import ArgumentError, JournalError, StudyExists, UnknownStudy
from windward.basics.speech import shown

KINDS = (
    "created",
    "policy_set",
    "declared",
    "asked",
    "context_seen",
    "told",
    "lost",
    "amended",
    "added",
    "noted",
)
# The version written into every body.
VERSION = 2
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

    def __post_init__(self) -> None:
        _check_texts(self.body)  # the one door into the log


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
    """A log of studies. Append is atomic and idempotent by key.

    `birth` is the key of a study's first event. A call that gives one is refused where the study of that name has another:
    it was deleted and made again since the caller opened it.
    """

    def create(self, study: str, draft: Sequence[Draft], *, key: str) -> list[Event]:
        """Begin a study with its first events; `JournalError` where the name is taken."""
        ...

    def append(
        self,
        study: str,
        decide: Decide,
        *,
        key: str,
        after: int,
        birth: str | None = None,
        expected_asks: int | None = None,
    ) -> list[Event] | None:
        """Write what `decide` returns for the events after `after`, in one transaction; return all events after `after`.

        Where `key` was written before, nothing is written again. Where `expected_asks` is not the number of trials the
        study has, nothing is written and None is returned. A place in line that `key` holds is given up.
        """
        ...

    def read(self, study: str, after: int = 0, *, birth: str | None = None) -> list[Event]:
        """Return the events after `after`, in order."""
        ...

    def lease(self, study: str, holder: str, seconds: float) -> int:
        """Stand in line for a study, or stay in it, for `seconds` from now; return how many stand before `holder`.

        0 means that it is the holder's turn. With 0 seconds the holder leaves. A holder that says nothing more drops out
        when its seconds are over. The line spares work and nothing else: what is written never depends on it.
        """
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


def no_study(study: str, names: Sequence[str]) -> UnknownStudy:
    """Return the error for a name the journal does not have."""
    known = ", ".join(repr(name) for name in names[:10]) or "none"
    return UnknownStudy(f"no study named {study!r} in this journal; it has {known}.")


def name_taken(study: str) -> StudyExists:
    """Return the error for creating a study that exists."""
    return StudyExists(f"a study named {study!r} exists already; continue it with Study.open, or choose another name.")


def born_again(study: str) -> JournalError:
    """Return the error for a handle on a study that was deleted and made again."""
    return JournalError(
        f"study {study!r} was deleted and made again since it was opened here; nothing was read or written; open it again."
    )


def check_complete(study: str, events: Sequence[Event], after: int, head: int) -> None:
    """Raise `JournalError` unless these are all events after `after` up to `head`."""
    for expected, event in enumerate(events, start=after + 1):
        if event.seq != expected:
            raise _missing(study, expected)
    if after + len(events) < head:
        raise _missing(study, after + len(events) + 1)
    if after + len(events) > head:
        raise JournalError(
            f"study {study!r} is damaged: it counts {head} events and has event {after + len(events)}; restore a copy."
        )


def check_trials(study: str, counted: int, asks: int) -> None:
    """Raise `JournalError` unless a study's counter of trials is the number of events that brought one."""
    if counted != asks:
        raise JournalError(
            f"study {study!r} is damaged: it counts {asks} trials and its events have {counted}; restore a copy."
        )


def _missing(study: str, seq: int) -> JournalError:
    return JournalError(f"study {study!r} is damaged: event {seq} is missing; restore a copy.")


def _check_texts(data: object) -> None:
    """Raise `ArgumentError` for a text, anywhere in a body, that no database or file can carry."""
    if isinstance(data, str):
        if not arguments.is_text(data):
            raise ArgumentError(f"{shown(data)} cannot be written as UTF-8; give a text without lone surrogates.")
    elif isinstance(data, Mapping):
        for name, entry in data.items():
            _check_texts(name)
            _check_texts(entry)
    elif isinstance(data, list | tuple):
        for entry in data:
            _check_texts(entry)
