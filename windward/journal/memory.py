"""A journal that lives and dies with the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from windward.journal.events import NEW_TRIAL, Decide, Draft, Event, born_again, name_taken, no_study, numbered_keys


@dataclass
class _Log:
    events: list[Event] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    asks: int = 0
    line: dict[str, float] = field(default_factory=dict)  # who stands in line, in order, and until when


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
        self,
        study: str,
        decide: Decide,
        *,
        key: str,
        after: int,
        birth: str | None = None,
        expected_asks: int | None = None,
    ) -> list[Event] | None:
        """Write what `decide` returns for the unread events; None where the number of trials has moved."""
        with self._lock:
            log = self._log(study, birth)
            if key not in log.keys:
                if expected_asks is not None and expected_asks != log.asks:
                    return None
                self._write(log, decide(log.events[after:]), key)
            log.line.pop(key, None)
            return log.events[after:]

    def read(self, study: str, after: int = 0, *, birth: str | None = None) -> list[Event]:
        """Return the events after `after`, in order."""
        with self._lock:
            return self._log(study, birth).events[after:]

    def lease(self, study: str, holder: str, seconds: float) -> int:
        """Stand in line for a study, or leave it with 0 seconds; return how many stand before `holder`."""
        with self._lock:
            line, now = self._log(study).line, time.monotonic()
            for other in [each for each, until in line.items() if until < now and each != holder]:
                del line[other]
            if seconds <= 0.0:
                line.pop(holder, None)
                return 0
            line[holder] = now + seconds
            return list(line).index(holder)

    def names(self) -> list[str]:
        """Return the names of all studies, sorted."""
        with self._lock:
            return sorted(self._logs)

    def delete(self, study: str) -> None:
        """Delete a study and its events."""
        with self._lock:
            self._log(study)
            del self._logs[study]

    def _log(self, study: str, birth: str | None = None) -> _Log:
        if study not in self._logs:
            raise no_study(study, sorted(self._logs))
        log = self._logs[study]
        if birth is not None and log.events[0].key != birth:
            raise born_again(study)
        return log

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
