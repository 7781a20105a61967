"""A journal in a SQL database through SQLAlchemy Core: SQLite as the embedded default.

    studies(name, format, head, asks)       head: the last seq; asks: the number of trials
    events(study, seq, kind, trial, key, at, recorded_at, body)

An append is one short transaction that takes the study's row first, so that the order of commits is the order of `seq`
and conflicting calls are decided inside it. SQLite runs in WAL mode with synchronous=FULL: what a call returned from
survives a power cut.
"""

from __future__ import annotations

import json
import re
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windward import check
from windward.codec import dumps
from windward.errors import ArgumentError, JournalError, MissingDependency
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

try:
    import sqlalchemy as sa
except ImportError as error:  # pragma: no cover - exercised in a subprocess without SQLAlchemy
    raise MissingDependency("SqlJournal needs SQLAlchemy: pip install 'sqlalchemy>=2.0'.") from error

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

# Layout version of the two tables, written with each study.
FORMAT = 1
# How long a writer waits for another before it gives up; a transaction lasts milliseconds.
BUSY_SECONDS = 30.0

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


class SqlJournal:
    """Keep studies in a database: `SqlJournal("sqlite:///shop.db")`. Safe for many threads and processes.

    The tables are made where they are missing, unless `create=False`: then a database without them is an error.
    """

    def __init__(self, url: str, *, create: bool = True) -> None:
        if not isinstance(url, str):
            raise ArgumentError(f"SqlJournal({url!r}): give a database URL such as 'sqlite:///shop.db'.")
        shown = re.sub(r"(//[^:/@]*):[^@]*@", r"\1:***@", url)  # what a message may show: no password
        try:
            parsed = sa.make_url(url)
            self._shown = parsed.render_as_string(hide_password=True)
            self._sqlite = parsed.get_backend_name() == "sqlite"
            self._engine = sa.create_engine(parsed)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ImportError, TypeError, ValueError) as error:
            raise JournalError(
                f"SqlJournal({shown!r}): not a usable database URL ({error}); use one such as 'sqlite:///shop.db'."
            ) from error
        if self._sqlite and parsed.database in (None, "", ":memory:"):
            raise ArgumentError(f"SqlJournal({url!r}): name a file, or use MemoryJournal() for a log in memory.")
        check.flag("SqlJournal", "create", create)
        if self._sqlite:
            self._check_file(Path(str(parsed.database)), create)
            weakref.finalize(self, self._engine.dispose)  # no connection outlives the journal
            sa.event.listen(self._engine, "connect", _prepare_sqlite)
            sa.event.listen(self._engine, "begin", _begin_immediate)
        try:
            with self._transaction(write=False) as connection:
                missing = not sa.inspect(connection).has_table("events")
            if missing and not create:
                raise JournalError(f"{self!r}: this database holds no studies.")
            if missing:  # only then: a reader needs no right to write
                with self._transaction() as connection:
                    _metadata.create_all(connection)
        except (TypeError, ValueError) as error:  # of the driver, about an option or a path it cannot take
            raise JournalError(
                f"SqlJournal({shown!r}): not a usable database URL ({error}); use one such as 'sqlite:///shop.db'."
            ) from error

    def __repr__(self) -> str:
        return f"SqlJournal({self._shown!r})"

    def create(self, study: str, draft: Sequence[Draft], *, key: str) -> list[Event]:
        """Begin a study with its first events."""
        with self._transaction() as connection:
            if connection.execute(sa.select(_studies.c.head).where(_studies.c.name == study)).first() is not None:
                if self._has_key(connection, study, key):
                    return self._read(connection, study, 0)
                raise name_taken(study)
            connection.execute(_studies.insert().values(name=study, format=FORMAT, head=0, asks=0))
            self._write(connection, study, draft, key, head=0, asks=0)
            return self._read(connection, study, 0)

    def append(
        self, study: str, decide: Decide, *, key: str, after: int, expected_asks: int | None = None
    ) -> list[Event] | None:
        """Write what `decide` returns for the unread events; None where the number of trials has moved."""
        with self._transaction() as connection:
            # Taking the row first makes every other writer of this study wait until this commit.
            row = connection.execute(
                _studies.update()
                .where(_studies.c.name == study)
                .values(head=_studies.c.head)
                .returning(_studies.c.head, _studies.c.asks, _studies.c.format)
            ).first()
            if row is None:
                raise no_study(study, self._names(connection))
            self._check_format(study, row.format)
            if self._has_key(connection, study, key):
                return self._read(connection, study, after)
            if expected_asks is not None and expected_asks != row.asks:
                return None
            unread = self._read(connection, study, after)
            written = self._write(connection, study, decide(unread), key, head=row.head, asks=row.asks)
            return unread + written

    def read(self, study: str, after: int = 0) -> list[Event]:
        """Return the events after `after`, in order."""
        with self._transaction(write=False) as connection:
            row = connection.execute(sa.select(_studies.c.format).where(_studies.c.name == study)).first()
            if row is None:
                raise no_study(study, self._names(connection))
            self._check_format(study, row.format)
            return self._read(connection, study, after)

    def names(self) -> list[str]:
        """Return the names of all studies, sorted."""
        with self._transaction(write=False) as connection:
            return self._names(connection)

    def delete(self, study: str) -> None:
        """Delete a study and its events."""
        with self._transaction() as connection:
            connection.execute(_events.delete().where(_events.c.study == study))
            if connection.execute(_studies.delete().where(_studies.c.name == study)).rowcount == 0:
                raise no_study(study, self._names(connection))

    def close(self) -> None:
        """Close the pooled connections; the journal opens new ones when it is used again."""
        self._engine.dispose()

    def _check_file(self, path: Path, create: bool) -> None:
        if path.is_dir():
            raise JournalError(f"{self!r}: {str(path)!r} is a folder; name a file.")
        if not path.absolute().parent.is_dir():
            raise JournalError(f"{self!r}: the folder {str(path.parent)!r} does not exist; create it first.")
        if not create and not path.exists():
            raise JournalError(f"{self!r}: there is no file {str(path.absolute())!r}; check the path.")

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[Connection]:
        try:
            with self._engine.connect().execution_options(windward_write=write) as connection, connection.begin():
                yield connection
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:  # sqlite3's own: raised while connecting
            cause = getattr(error, "orig", None) or error
            raise JournalError(f"{self!r}: {cause}; {_advice(str(cause))}") from error

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

    def _read(self, connection: Connection, study: str, after: int) -> list[Event]:
        query = sa.select(_events).where(_events.c.study == study, _events.c.seq > after).order_by(_events.c.seq)
        return [self._event(study, row) for row in connection.execute(query)]

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

    @staticmethod
    def _write(
        connection: Connection, study: str, drafts: Sequence[Draft], key: str, *, head: int, asks: int
    ) -> list[Event]:
        if not drafts:
            return []
        now, events = datetime.now(UTC), []
        for draft, each in zip(drafts, numbered_keys(key, len(drafts)), strict=True):
            head += 1
            asks += draft.kind in NEW_TRIAL
            events.append(Event(head, draft.kind, draft.trial, draft.key or each, draft.at, now, draft.body))
        rows = [
            {
                "study": study,
                "seq": event.seq,
                "kind": event.kind,
                "trial": event.trial,
                "key": event.key,
                "at": event.at.isoformat(),
                "recorded_at": event.recorded_at.isoformat(),
                "body": dumps(event.body),
            }
            for event in events
        ]
        connection.execute(_events.insert(), rows)
        connection.execute(_studies.update().where(_studies.c.name == study).values(head=head, asks=asks))
        return events


def _advice(cause: str) -> str:
    """Return what to do about a failure of the database, by what it said."""
    for sign, advice in (
        ("locked", f"another process has held the lock for {BUSY_SECONDS:g} s; nothing was written; try again."),
        ("readonly", "nothing was written; allow writing to the file and its folder."),
        ("not a database", "the file is something else, or damaged; restore a copy."),
        ("malformed", "the file is damaged; restore a copy."),
        ("unable to open", "nothing was written; check the path and the rights to it."),
    ):
        if sign in cause:
            return advice
    return "check that the database can be reached, then try again: a call that did get through is not repeated."


def _prepare_sqlite(connection: Any, record: Any) -> None:
    # SQLAlchemy's "begin" event below starts transactions; the driver must not start its own.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    # A writer takes the lock at once: upgrading a read lock later could fail half way.
    writes = connection.get_execution_options().get("windward_write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
