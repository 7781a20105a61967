"""The laws of a journal: order, keys, conflicts, births and the line of those who ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from windward.basics.errors import JournalError, StudyExists, TrialError, UnknownStudy
from windward.journal.events import Draft, Event, Journal
from windward.testing.holding import require, require_error

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
# Longer than any of these laws takes: nobody drops out of the line meanwhile.
LONG = 600.0


def check_journal(make: Callable[[], Journal]) -> None:
    """Hold a journal to its laws; `make` returns one, and may return the same one again.

    Events are read in the order in which they were written, as they were written; a key is written once; what came
    meanwhile is shown to whoever decides; an error while deciding writes nothing; a moved number of trials writes nothing; a
    study that was deleted and made again is refused to those who knew the first; the first in line is the first.

    >>> import windward as ww
    >>> check_journal(ww.MemoryJournal)
    """
    laws = (_order, _keys, _meanwhile, _errors, _asks, _births, _unknown, _round_trip, _line)
    for number, law in enumerate(laws):
        journal, study = make(), f"law {number}"
        journal.create(study, [_draft("created", None)], key=f"first-{number}")
        try:
            law(journal, study)
        finally:
            if study in journal.names():
                journal.delete(study)


def _draft(kind: str = "told", trial: int | None = 0, **body: Any) -> Draft:
    return Draft(kind, trial, AT, {"v": 1, **body})


def _told(value: float) -> Callable[[Sequence[Event]], list[Draft]]:
    return lambda unread: [_draft(value=value)]


def _numbers(events: Sequence[Event] | None) -> list[int] | None:
    return None if events is None else [event.seq for event in events]


def _order(journal: Journal, study: str) -> None:
    found = journal.append(study, lambda unread: [_draft(value=0.1), _draft("lost")], key="k1", after=1)
    require(
        _numbers(found) == [2, 3], f"append(after=1) returned the events {_numbers(found)}; give all after it: [2, 3]."
    )
    events = journal.read(study)
    written = [(event.seq, event.kind, event.trial, event.key) for event in events]
    want = [(1, "created", None, "first-0"), (2, "told", 0, "k1"), (3, "lost", 0, "k1/1")]
    require(written == want, f"read returned {written}; give every event in order: {want}.")
    require(events[1].at == AT and events[1].body == {"v": 1, "value": 0.1}, f"an event came back as {events[1]}.")
    require(events[1].recorded_at.tzinfo is not None, "recorded_at has no time zone.")
    require(_numbers(journal.read(study, after=2)) == [3], "read(after=2) is not the third event alone.")


def _keys(journal: Journal, study: str) -> None:
    for _ in range(3):
        found = journal.append(study, _told(1.0), key="k1", after=1)
        require(
            _numbers(found) == [2], f"the same key again returned the events {_numbers(found)}; return what is there."
        )
    require(len(journal.read(study)) == 2, "a key that was written before was written again.")
    again = journal.create(study, [_draft("created", None)], key="first-1")
    require(_numbers(again) == [1, 2], "create with the key of the first event must return the study as it is.")
    require_error(
        lambda: journal.create(study, [_draft("created", None)], key="another"), StudyExists, "a name was taken twice"
    )
    require(len(journal.read(study)) == 2, "a refused create wrote something.")


def _meanwhile(journal: Journal, study: str) -> None:
    journal.append(study, _told(1.0), key="k1", after=1)
    shown: list[Event] = []

    def nothing(unread: Sequence[Event]) -> list[Draft]:
        shown.extend(unread)
        return []

    found = journal.append(study, nothing, key="k2", after=1)
    require(_numbers(shown) == [2], f"decide saw the events {_numbers(shown)}; show it what came after `after`: [2].")
    require(_numbers(found) == [2], "an append that writes nothing must return what came meanwhile.")
    require(len(journal.read(study)) == 2, "an append whose decide returned nothing wrote something.")


def _errors(journal: Journal, study: str) -> None:
    def refuse(unread: Sequence[Event]) -> list[Draft]:
        raise TrialError("no")

    require_error(
        lambda: journal.append(study, refuse, key="k1", after=1), TrialError, "an error of decide did not come through"
    )
    require(len(journal.read(study)) == 1, "an append whose decide raised wrote something.")
    journal.append(study, _told(1.0), key="k1", after=1)
    require(len(journal.read(study)) == 2, "a key whose append failed cannot be used again.")


def _asks(journal: Journal, study: str) -> None:
    def asked(trial: int, key: str, expected: int) -> list[Event] | None:
        return journal.append(study, lambda _: [_draft("asked", trial)], key=key, after=1, expected_asks=expected)

    require(asked(0, "k1", 0) is not None, "expected_asks=0 was refused while there were no trials.")
    require(asked(0, "k2", 0) is None, "expected_asks=0 was taken though there was a trial; return None.")
    require(asked(1, "k3", 1) is not None, "expected_asks=1 was refused while there was one trial.")
    require(
        asked(1, "k3", 1) is not None, "a key that was written must return its events, however many trials there are."
    )
    trials = [event.trial for event in journal.read(study)]
    require(trials == [None, 0, 1], f"the trials in the log are {trials} instead of [None, 0, 1].")


def _births(journal: Journal, study: str) -> None:
    birth = journal.read(study)[0].key
    require(_numbers(journal.read(study, birth=birth)) == [1], "a read with the right birth was refused.")
    journal.append(study, _told(1.0), key="k1", after=1, birth=birth)
    journal.delete(study)
    require(study not in journal.names(), "a deleted study is still named.")
    journal.create(study, [_draft("created", None)], key="second birth")
    for call in (
        lambda: journal.read(study, birth=birth),
        lambda: journal.append(study, _told(2.0), key="k2", after=1, birth=birth),
    ):
        require_error(call, JournalError, "a study that was deleted and made again was taken for the first")
    require(len(journal.read(study)) == 1, "a refused append wrote something.")


def _unknown(journal: Journal, study: str) -> None:
    stranger = f"no {study}"
    calls: tuple[Callable[[], object], ...] = (
        lambda: journal.read(stranger),
        lambda: journal.append(stranger, lambda _: [], key="k", after=0),
        lambda: journal.delete(stranger),
    )
    for call in calls:
        require_error(call, UnknownStudy, "a study that is not there was not missed")


def _round_trip(journal: Journal, study: str) -> None:
    name = f"{study} \u2603"
    body = {
        "v": 1,
        "sum": 0.1 + 0.2,
        "tiny": 5e-324,
        "text": "na\u00efve \u201cquote\u201d; --",
        "deep": {"a": [1, None, True]},
    }
    journal.create(name, [Draft("created", None, AT, body)], key="snow")
    try:
        found = journal.read(name)[0].body
        require(found == body, f"a body came back as {found} instead of {body}.")
        names = journal.names()
        require(names == sorted(names) and {study, name} <= set(names), f"names() gave {names}; give all, sorted.")
    finally:
        journal.delete(name)


def _line(journal: Journal, study: str) -> None:
    for _ in range(2):
        places = [journal.lease(study, holder, LONG) for holder in ("x", "y", "z")]
        require(places == [0, 1, 2], f"three who came one after another stand at {places} instead of [0, 1, 2].")
    require(journal.lease(study, "x", 0.0) == 0, "whoever leaves the line must be told 0.")
    places = [journal.lease(study, holder, LONG) for holder in ("y", "z", "x")]
    require(places == [0, 1, 2], f"after the first left and came back they stand at {places} instead of [0, 1, 2].")
    journal.append(study, lambda _: [_draft("asked", 0)], key="y", after=1, expected_asks=0)
    require(journal.lease(study, "z", LONG) == 0, "whoever has asked under its key must leave the line.")
    for holder in ("x", "z"):
        journal.lease(study, holder, 0.0)
