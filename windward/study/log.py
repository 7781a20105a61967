"""A study's log as one process knows it: the journal, what it says, and the clock. Nothing here needs torch.

Reading and telling need no more than this; `Study` adds what computes suggestions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

from windward.basics.errors import ArgumentError, JournalError
from windward.basics.speech import shown
from windward.journal import Draft, Event, History, Journal, check_name, open_journal
from windward.journal.fold import Checked, Reader
from windward.space.space import Space
from windward.trials.ledger import Ledger
from windward.trials.records import Trial

Answer = TypeVar("Answer")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time now, in UTC: the default clock."""
    return datetime.now(UTC)


class Log:
    """The log of one study. Safe for many threads: whoever reads `history` in several steps holds `lock`."""

    def __init__(self, name: str, journal: Journal, *, clock: Clock = utc_now, reader: Reader | None = None) -> None:
        if not callable(clock):
            raise ArgumentError(f"Study(clock={shown(clock)}): give a function that returns the time.")
        self.journal, self.history = journal, History(name, reader)
        self.lock = threading.RLock()
        self._clock = clock
        self.now()  # a clock that does not work is refused now

    @classmethod
    def open(cls, name: str, *, journal: str | Journal) -> Log:
        """Return the log of the study of this name; its policy and its fits are left as they were written."""
        log = cls(name, journal_of(name, journal))
        log.read()
        return log

    @property
    def name(self) -> str:
        """The study's name in its journal."""
        return self.history.study

    @property
    def space(self) -> Space:
        """The declared space."""
        return self.history.space

    @property
    def direction(self) -> Literal["maximize", "minimize"]:
        """Which way is better."""
        return self.history.direction

    @property
    def trials(self) -> Ledger:
        """All trials as this process knows them, in order of id."""
        with self.lock:
            return self.history.ledger

    def now(self) -> datetime:
        """Return the time by the study's clock, in UTC."""
        now = self._clock()
        if not isinstance(now, datetime) or now.tzinfo is None:
            raise ArgumentError(
                f"Study(clock=...): the clock must return a datetime with a time zone, got {shown(now)}."
            )
        return now.astimezone(UTC)

    def pending(self, older_than: timedelta | None = None) -> list[Trial]:
        """Return the trials without a value that nobody has given up, those asked longer ago than `older_than`."""
        if older_than is not None and (not isinstance(older_than, timedelta) or older_than < timedelta(0)):
            raise ArgumentError(f"study.pending(older_than={shown(older_than)}): give a timedelta >= 0.")
        self.sync()
        now, waiting = self.now(), self.trials.pending
        return [t for t in waiting if older_than is None or (t.asked_at and now - t.asked_at >= older_than)]

    def read(self) -> None:
        """Read the log of a study that is there; one without events is damaged."""
        self.sync()
        if self.history.head == 0:
            raise JournalError(f"study {shown(self.name)} is damaged: it has no events.")

    def sync(self) -> None:
        """Read what other processes have written since the last call."""
        with self.lock:
            known = self.history
            known.apply(self.journal.read(known.study, known.head, birth=known.birth))

    def create(self, draft: Draft, *, key: str) -> None:
        """Begin the study with its first event."""
        self.history.apply(self.journal.create(self.name, [draft], key=key))

    def append(
        self, key: str, decide: Callable[[History], Checked], *, after: int | None = None, asks: int | None = None
    ) -> list[Event] | None:
        """Append what `decide` returns, decided inside the transaction on everything written before it.

        `after` and `asks` are the last event and the number of trials that the caller knows of; None is returned where the
        number of trials has moved.
        """

        def decided(unread: Iterable[Event]) -> Checked:
            self.history.apply(unread)
            return decide(self.history)

        with self.lock:
            seen = self.history.head if after is None else min(after, self.history.head)
            events = self.journal.append(
                self.name, decided, key=key, after=seen, birth=self.history.birth, expected_asks=asks
            )
            if events is not None:
                self.history.apply(events)
            return events

    def write(self, key: str, decide: Callable[[History], tuple[Checked, Answer]]) -> Answer:
        """Append what `decide` returns first; return what it returns second, from the attempt that counted.

        The journal may run a transaction again when its connection is lost, so `decide` must change nothing.
        """
        answers: list[Answer] = []

        def decided(history: History) -> Checked:
            drafts, answer = decide(history)
            answers[:] = [answer]
            return drafts

        self.append(key, decided)
        return answers[0]


def journal_of(name: str, journal: str | Journal) -> Journal:
    """Return the journal that an existing study is in."""
    check_name("Study.open", name)
    if journal is None:
        raise ArgumentError("Study.open(journal=None): give the journal the study is in.")
    return open_journal(journal, existing=True)
