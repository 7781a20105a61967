"""A journal in a SQL database through SQLAlchemy Core: SQLite as the embedded default, PostgreSQL for many machines.

    studies(name, format, head, asks)       head: the last seq; asks: the number of trials
    events(study, seq, kind, trial, key, at, recorded_at, body)

An append is one short transaction that takes the study's row first, so that the order of commits is the order of `seq`
and conflicting calls are decided inside it. SQLite runs in WAL mode with synchronous=FULL: what a call returned from
survives a power cut; PostgreSQL commits synchronously. A lost connection is tried again for a bounded time, and a call
whose key is in the log already is not written again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from windward.codec import dumps
from windward.errors import JournalError
from windward.journal.database import Database, sa
from windward.journal.events import (
    NEW_TRIAL,
    Decide,
    Draft,
    Event,
    checked,
    name_taken,
    no_study,
    numbered_keys,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

# Layout version of the two tables, written with each study.
FORMAT = 1
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
# SQLite has locked the whole file by then and ignores FOR UPDATE.
_TAKE = (
    sa.select(_studies.c.head, _studies.c.asks, _studies.c.format)
    .where(_studies.c.name == _study)
    .with_for_update(key_share=True)
)
_MOVE = (
    _studies.update().where(_studies.c.name == _study).values(head=sa.bindparam("a_head"), asks=sa.bindparam("an_asks"))
)
_MOVE_TIMED = _MOVE.returning(sa.func.clock_timestamp())
_FORMAT_OF = sa.select(_studies.c.format).where(_studies.c.name == _study)
_OF_STUDY = sa.select(_events).where(_events.c.study == _study)
_UNREAD = _OF_STUDY.where(_events.c.seq > _after).order_by(_events.c.seq)
# A union of two index searches: with OR in place of it SQLite reads the whole study.
_UNREAD_OR_KEY = sa.union_all(
    _OF_STUDY.where(_events.c.seq > _after), _OF_STUDY.where(_events.c.key == _key, _events.c.seq <= _after)
).order_by("seq")
_INSERT = _events.insert()


class SqlJournal:
    """Keep studies in a database: `SqlJournal("sqlite:///shop.db")`, `SqlJournal("postgresql+psycopg://user@host/name")`.

    Safe for many threads and processes. The tables are made where they are missing, unless `create=False`: then a
    database without them is an error. A lost connection is tried again for `retry_seconds`, then it is an error; no event
    is written twice by that.
    """

    def __init__(self, url: str, *, create: bool = True, retry_seconds: float = 60.0) -> None:
        self._database = Database(url, create=create, retry_seconds=retry_seconds)
        try:
            missing = not self._database.run(lambda connection: sa.inspect(connection).has_table("events"), write=False)
            if missing and not create:
                raise JournalError(f"{self!r}: this database holds no studies.")
            if missing:  # only then: a reader needs no right to write
                self._database.run(self._make_tables)
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
        self, study: str, decide: Decide, *, key: str, after: int, expected_asks: int | None = None
    ) -> list[Event] | None:
        """Write what `decide` returns for the unread events; None where the number of trials has moved."""

        def write(connection: Connection) -> list[Event] | None:
            head, asks = self._take(connection, study)
            if after > head:
                raise JournalError(f"{self!r}: study {study!r} was deleted and begun again; open it again.")
            rows = self._read(connection, study, after, key)
            unread = [event for event in rows if event.seq > after]
            if any(event.key == key for event in rows):
                return unread
            if expected_asks is not None and expected_asks != asks:
                return None
            return unread + self._write(connection, study, decide(unread), key, head=head, asks=asks)

        return self._database.run(write)

    def read(self, study: str, after: int = 0) -> list[Event]:
        """Return the events after `after`, in order."""

        def events(connection: Connection) -> list[Event]:
            row = connection.execute(_FORMAT_OF, {"a_study": study}).first()
            if row is None:
                raise no_study(study, self._names(connection))
            self._check_format(study, row.format)
            return self._read(connection, study, after)

        return self._database.run(events, write=False)

    def names(self) -> list[str]:
        """Return the names of all studies, sorted."""
        return self._database.run(self._names, write=False)

    def delete(self, study: str) -> None:
        """Delete a study and its events."""

        def gone(connection: Connection) -> None:
            self._take(
                connection, study, any_format=True
            )  # first, like every writer: nobody waits for each other in a ring
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

    def _take(self, connection: Connection, study: str, *, any_format: bool = False) -> tuple[int, int]:
        """Take the study's row, so that every other writer waits until this commit; return its head and asks."""
        row = connection.execute(_TAKE, {"a_study": study}).first()
        if row is None:
            raise no_study(study, self._names(connection))
        if not any_format:
            self._check_format(study, row.format)
        return row.head, row.asks

    @staticmethod
    def _names(connection: Connection) -> list[str]:
        return sorted(connection.execute(sa.select(_studies.c.name)).scalars())

    @staticmethod
    def _has_key(connection: Connection, study: str, key: str) -> bool:
        query = sa.select(_events.c.seq).where(_events.c.study == study, _events.c.key == key)
        return connection.execute(query).first() is not None

    def _check_format(self, study: str, format: int) -> None:
        if format != FORMAT:
            raise JournalError(
                f"{self!r}: study {study!r} has format {format}, this Windward reads {FORMAT}; use a newer Windward."
            )

    def _read(self, connection: Connection, study: str, after: int, key: str | None = None) -> list[Event]:
        """Return the events after `after` in order, and before them the one with this key, wherever it is."""
        query: sa.Executable
        values: dict[str, Any] = {"a_study": study, "an_after": after}
        query, values = (_UNREAD, values) if key is None else (_UNREAD_OR_KEY, values | {"a_key": key})
        return [self._event(study, row) for row in connection.execute(query, values)]

    def _event(self, study: str, row: Any) -> Event:
        try:
            event = Event(
                row.seq,
                row.kind,
                row.trial,
                row.key,
                datetime.fromisoformat(row.at),
                datetime.fromisoformat(row.recorded_at),
                json.loads(row.body),
            )
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(f"{self!r}: study {study!r}, event {row.seq} cannot be read ({error}).") from error
        return checked(event, study)

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
