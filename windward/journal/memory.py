"""A journal that lives and dies with the process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from windward.journal.events import NEW_TRIAL, Decide, Draft, Event, name_taken, no_study, numbered_keys


@dataclass
class _Log:
    events: list[Event] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    asks: int = 0


class MemoryJournal:
    """Keep studies in memory: for experiments and tests. Safe to share between threads."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._lock = threading.RLock()

    def create(self, study: str, draft: Sequence[Draft], *, key: str) -> list[Event]:
        """Begin a study with its first events."""
        with self._lock:
            if study in self._logs:
                if key in self._logs[study].keys:
                    return list(self._logs[study].events)
                raise name_taken(study)
            self._logs[study] = _Log()
            return self._write(self._logs[study], draft, key)

    def append(
        self, study: str, decide: Decide, *, key: str, after: int, expected_asks: int | None = None
    ) -> list[Event] | None:
        """Write what `decide` returns for the unread events; None where the number of trials has moved."""
        with self._lock:
            log = self._log(study)
            if key not in log.keys:
                if expected_asks is not None and expected_asks != log.asks:
                    return None
                self._write(log, decide(log.events[after:]), key)
            return log.events[after:]

    def read(self, study: str, after: int = 0) -> list[Event]:
        """Return the events after `after`, in order."""
        with self._lock:
            return self._log(study).events[after:]

    def names(self) -> list[str]:
        """Return the names of all studies, sorted."""
        with self._lock:
            return sorted(self._logs)

    def delete(self, study: str) -> None:
        """Delete a study and its events."""
        with self._lock:
            self._log(study)
            del self._logs[study]

    def _log(self, study: str) -> _Log:
        if study not in self._logs:
            raise no_study(study, sorted(self._logs))
        return self._logs[study]

    @staticmethod
    def _write(log: _Log, drafts: Sequence[Draft], key: str) -> list[Event]:
        now, written = datetime.now(UTC), []
        for draft, each in zip(drafts, numbered_keys(key, len(drafts)), strict=True):
            key = draft.key or each
            event = Event(len(log.events) + 1, draft.kind, draft.trial, key, draft.at, now, draft.body)
            log.events.append(event)
            log.keys.add(key)
            log.asks += draft.kind in NEW_TRIAL
            written.append(event)
        return written
