"""A journal in a SQL database through SQLAlchemy Core: SQLite as the embedded default, PostgreSQL for many machines.

    studies(name, format, head, asks)       head: the last seq; asks: the number of trials
    events(study, seq, kind, trial, key, at, recorded_at, body)
    leases(place, study, holder, until)     who stands in line to ask, by the database's clock

An append is one short transaction that takes the study's row first, so that the order of commits is the order of `seq`
and conflicting calls are decided inside it. SQLite runs in WAL mode with synchronous=FULL: what a call returned from
survives a power cut; PostgreSQL commits synchronously. A lost connection is tried again for a bounded time, and a call
whose key is in the log already is not written again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from windward.basics.codec import dumps
from windward.basics.errors import JournalError
from windward.journal.database import Database, sa
from windward.journal.events import (
    KINDS,
    NEW_TRIAL,
    Decide,
    Draft,
    Event,
    born_again,
    check_complete,
    check_trials,
    name_taken,
    no_study,
    numbered_keys,
)
from windward.journal.line import leases, place_in_line, step_out

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

logger = logging.getLogger("windward")

# The format of a study's log, written with each study. Whoever appends to an older one moves it to this.
FORMAT = 2
READABLE = (1, 2)
# The lock under which PostgreSQL makes the tables: any number, the same in every process.
MAKING_TABLES = 0x77696E64

_metadata = sa.MetaData()
_studies = sa.Table(
    "studies",
    _metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("head", sa.Integer, nullable=False),
    sa.Column("asks", sa.Integer, nullable=False),
)
_events = sa.Table(
    "events",
    _metadata,
    sa.Column("study", sa.Text, sa.ForeignKey("studies.name", ondelete="CASCADE"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("trial", sa.Integer),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("recorded_at", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("study", "key"),
)
sa.Index(
    "events_trial",
    _events.c.study,
    _events.c.trial,
    unique=True,
    sqlite_where=_events.c.kind.in_(NEW_TRIAL),
    postgresql_where=_events.c.kind.in_(NEW_TRIAL),
)

# Statements of every call, built once: building one takes as long as running it.
_study, _key = sa.bindparam("a_study", type_=sa.Text), sa.bindparam("a_key", type_=sa.Text)
_after = sa.bindparam("an_after", type_=sa.Integer)
_born = sa.select(_events.c.key).where(_events.c.study == _study, _events.c.seq == 1).scalar_subquery()
_STATE = sa.select(_studies.c.head, _studies.c.asks, _studies.c.format, _born.label("birth")).where(
    _studies.c.name == _study
)
# SQLite has locked the whole file by then and ignores FOR UPDATE.
_TAKE = _STATE.with_for_update(key_share=True, of=_studies)
_MOVE = (
    _studies.update()
    .where(_studies.c.name == _study)
    .values(head=sa.bindparam("a_head"), asks=sa.bindparam("an_asks"), format=FORMAT)
)
_MOVE_TIMED = _MOVE.returning(sa.func.clock_timestamp())
_OF_STUDY = sa.select(_events).where(_events.c.study == _study)
_UNREAD = _OF_STUDY.where(_events.c.seq > _after).order_by(_events.c.seq)
# A union of two index searches: with OR in place of it SQLite reads the whole study.
_UNREAD_OR_KEY = sa.union_all(
    _OF_STUDY.where(_events.c.seq > _after), _OF_STUDY.where(_events.c.key == _key, _events.c.seq <= _after)
).order_by("seq")
_TRIALS = sa.select(sa.func.count()).where(_events.c.study == _study, _events.c.kind.in_(NEW_TRIAL))
_INSERT = _events.insert()


class _StudyRow(NamedTuple):
    """What a study's row says, and the key of its first event."""

    head: int
    asks: int
    birth: str | None


class SqlJournal:
    """Keep studies in a database: `SqlJournal("sqlite:///shop.db")`, `SqlJournal("postgresql+psycopg://user@host/name")`.

    Safe for many threads and processes. The tables are made where they are missing, unless `create=False`: then a
    database without them is an error. A lost connection is tried again for `retry_seconds`, then it is an error; no event
    is written twice by that.
    """

    def __init__(self, url: str, *, create: bool = True, retry_seconds: float = 60.0) -> None:
        self._database = Database(url, create=create, retry_seconds=retry_seconds)
        try:
            tables = self._database.run(lambda connection: sa.inspect(connection).get_table_names(), write=False)
            if "events" not in tables and not create:
                raise JournalError(f"{self!r}: this database holds no studies.")
            if "events" not in tables:  # only then: a reader needs no right to write
                self._database.run(self._make_tables)
            self._has_line = "events" not in tables or leases.name in tables  # older databases have none
            self._line_refused = False
        except (TypeError, ValueError) as error:  # of the driver, about an option or a path it cannot take
            raise self._database.unusable(error) from error

    def __repr__(self) -> str:
        return repr(self._database)

    def create(self, study: str, draft: Sequence[Draft], *, key: str) -> list[Event]:
        """Begin a study with its first events."""

        def write(connection: Connection) -> list[Event]:
            if connection.execute(sa.select(_studies.c.head).where(_studies.c.name == study)).first() is not None:
                if self._has_key(connection, study, key):
                    return self._read(connection, study, 0)
                raise name_taken(study)
            try:
                connection.execute(_studies.insert().values(name=study, format=FORMAT, head=0, asks=0))
            except sa.exc.IntegrityError as error:  # another process took the name since
                raise name_taken(study) from error
            return self._write(connection, study, draft, key, head=0, asks=0)

        return self._database.run(write)

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

        def write(connection: Connection) -> list[Event] | None:
            state = self._take(connection, study, birth)
            if after > state.head:
                raise born_again(study)
            rows = self._read(connection, study, after, key)
            unread = [event for event in rows if event.seq > after]
            check_complete(study, unread, after, state.head)
            known = any(event.key == key for event in rows)
            if expected_asks is not None and expected_asks != state.asks and not known:
                check_trials(study, connection.execute(_TRIALS, {"a_study": study}).scalar_one(), state.asks)
                return None
            if expected_asks is not None and self._has_line:
                step_out(connection, study, key)
            if known:
                return unread
            return unread + self._write(connection, study, decide(unread), key, head=state.head, asks=state.asks)

        return self._database.run(write)

    def read(self, study: str, after: int = 0, *, birth: str | None = None) -> list[Event]:
        """Return the events after `after`, in order."""

        def events(connection: Connection) -> list[Event]:
            state = self._state(connection, _STATE, study, birth)
            if after > state.head:
                raise born_again(study)
            found = self._read(connection, study, after)
            check_complete(study, found, after, state.head)
            if after == 0 and all(
                event.kind in KINDS for event in found
            ):  # an unknown kind is named by whoever folds it
                check_trials(study, sum(event.kind in NEW_TRIAL for event in found), state.asks)
            return found

        return self._database.run(events, write=False)

    def lease(self, study: str, holder: str, seconds: float) -> int:
        """Stand in line for a study, or leave it with 0 seconds; return how many stand before `holder`."""
        try:
            if not self._has_line and not self._line_refused:
                self._database.run(self._make_tables)
                self._has_line = True
            return place_in_line(self._database, study, holder, seconds) if self._has_line else 0
        except JournalError as error:
            if "permission denied" not in str(error):
                raise
            self._has_line, self._line_refused = False, True  # it goes without a line, which is never needed
            logger.warning(
                "%r: asks of several processes are not put in line, because this role may not use the table leases; GRANT it "
                "SELECT, INSERT, UPDATE and DELETE there.",
                self,
            )
            return 0

    def birth(self, study: str) -> str:
        """Return the key of a study's first event, which another study of the same name has not."""

        def first(connection: Connection) -> str | None:
            found: str | None = self._state(connection, _STATE, study, None).birth
            return found

        return self._database.run(first, write=False) or ""  # without a first event: whoever reads it says so

    def names(self) -> list[str]:
        """Return the names of all studies, sorted."""
        return self._database.run(self._names, write=False)

    def delete(self, study: str) -> None:
        """Delete a study and its events."""

        def gone(connection: Connection) -> None:
            # The row first, like every writer: nobody waits for each other in a ring. Any format, however damaged, can go.
            if connection.execute(_TAKE, {"a_study": study}).first() is None:
                raise no_study(study, self._names(connection))
            connection.execute(_events.delete().where(_events.c.study == study))
            connection.execute(_studies.delete().where(_studies.c.name == study))

        self._database.run(gone)

    def close(self) -> None:
        """Close the pooled connections; the journal opens new ones when it is used again."""
        self._database.close()

    def _make_tables(self, connection: Connection) -> None:
        if self._database.kind == "postgresql":  # two that find none at once: the second waits, then finds them
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MAKING_TABLES)))
        _metadata.create_all(connection)
        leases.create(connection, checkfirst=True)

    def _take(self, connection: Connection, study: str, birth: str | None) -> _StudyRow:
        """Take the study's row, so that every other writer waits until this commit; return what it says."""
        return self._state(connection, _TAKE, study, birth)

    def _state(self, connection: Connection, query: sa.Executable, study: str, birth: str | None) -> _StudyRow:
        """Return what a study's row says, or raise where there is none or it is another study's."""
        row = connection.execute(query, {"a_study": study}).first()
        if row is None:
            raise no_study(study, self._names(connection))
        if row.format not in READABLE:
            raise JournalError(
                f"{self!r}: study {study!r} has format {row.format!r}, this Windward reads {' and '.join(map(str, READABLE))}; "
                "use a newer Windward."
            )
        if not isinstance(row.head, int) or not isinstance(row.asks, int):
            raise JournalError(
                f"study {study!r} is damaged: it counts {row.head!r} events and {row.asks!r} trials; restore a copy."
            )
        if birth is not None and row.birth is None:
            raise JournalError(f"study {study!r} is damaged: event 1 is missing; restore a copy.")
        if birth is not None and row.birth != birth:
            raise born_again(study)
        return _StudyRow(row.head, row.asks, row.birth)

    @staticmethod
    def _names(connection: Connection) -> list[str]:
        return sorted(connection.execute(sa.select(_studies.c.name)).scalars())

    @staticmethod
    def _has_key(connection: Connection, study: str, key: str) -> bool:
        query = sa.select(_events.c.seq).where(_events.c.study == study, _events.c.key == key)
        return connection.execute(query).first() is not None

    def _read(self, connection: Connection, study: str, after: int, key: str | None = None) -> list[Event]:
        """Return the events after `after` in order, and before them the one with this key, wherever it is."""
        query: sa.Executable
        values: dict[str, Any] = {"a_study": study, "an_after": after}
        query, values = (_UNREAD, values) if key is None else (_UNREAD_OR_KEY, values | {"a_key": key})
        return [self._event(study, row) for row in connection.execute(query, values)]

    def _event(self, study: str, row: Any) -> Event:
        try:
            return Event(
                row.seq,
                row.kind,
                row.trial,
                row.key,
                _time(row.at),
                _time(row.recorded_at),
                json.loads(row.body, parse_constant=_no_constant),
            )
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(
                f"{self!r}: study {study!r}, event {row.seq} cannot be read ({error}): it is damaged; restore a copy."
            ) from error

    def _write(
        self, connection: Connection, study: str, drafts: Sequence[Draft], key: str, *, head: int, asks: int
    ) -> list[Event]:
        if not drafts:
            return []
        last = head + len(drafts)
        asks += sum(draft.kind in NEW_TRIAL for draft in drafts)
        values = {"a_study": study, "a_head": last, "an_asks": asks}
        if self._database.kind == "postgresql":  # one clock for all machines: the server's
            now = connection.execute(_MOVE_TIMED, values).scalar_one().astimezone(UTC)
        else:
            connection.execute(_MOVE, values)
            now = datetime.now(UTC)
        keys = numbered_keys(key, len(drafts))
        events = [
            Event(seq, draft.kind, draft.trial, draft.key or each, draft.at, now, draft.body)
            for seq, draft, each in zip(range(head + 1, last + 1), drafts, keys, strict=True)
        ]
        connection.execute(_INSERT, [_row(study, event) for event in events])
        return events


def _row(study: str, event: Event) -> dict[str, Any]:
    return {
        "study": study,
        "seq": event.seq,
        "kind": event.kind,
        "trial": event.trial,
        "key": event.key,
        "at": event.at.isoformat(),
        "recorded_at": event.recorded_at.isoformat(),
        "body": dumps(event.body),
    }


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"its time {text!r} has no time zone")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number JSON knows")
