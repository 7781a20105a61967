"""A database behind a SQL journal: its URL, how its connections are prepared, and transactions that outlive a lost one.

A transaction whose connection is lost is run again, with growing pauses, for a bounded time. Whoever runs one must make
that harmless: the journal looks for the call's key first, so what did get through is not written again.
"""

from __future__ import annotations

import logging
import os
import random
import re
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from windward.basics import arguments
from windward.basics.errors import ArgumentError, JournalError, MissingDependency

try:
    import sqlalchemy as sa
except ImportError as error:  # pragma: no cover - exercised in a subprocess without SQLAlchemy
    raise MissingDependency("SqlJournal needs SQLAlchemy: pip install 'sqlalchemy>=2.0'.") from error

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Connection, Engine

__all__ = ["Database", "sa"]

Result = TypeVar("Result")

logger = logging.getLogger("windward")

# How long a writer waits for another before it gives up; a transaction lasts milliseconds.
BUSY_SECONDS = 30.0
# Pauses between attempts double from the first to the longest; each is shortened by chance, up to a half, so that many
# workers do not come back in step.
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
# What libpq is told unless the URL says otherwise: a server that has vanished without a word is noticed within these
# seconds (or milliseconds, for the last).
LIBPQ = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# A session of a machine that lost its power in the middle of a transaction would hold its study's row: the server ends it.
# What a call returned from is on disk even where a role or database is set to commit without waiting for it.
SESSION = (
    f"SET lock_timeout = {int(BUSY_SECONDS * 1000)}",
    "SET idle_in_transaction_session_timeout = 60000",
    "SET tcp_keepalives_idle = 30",
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
# SQLSTATEs after which the same transaction may succeed: the server is going or coming, is full, or chose a victim.
PASSING_STATES = ("57P01", "57P02", "57P03", "57P05", "25P03", "53300", "40001", "40P01")
# The state of a server whose disk is full; its words may be in another language.
DISK_FULL = "53100"
# What a server says to a login that no waiting will mend; drivers give no SQLSTATE for it.
REFUSED = (
    "authentication failed",
    "does not exist",
    "no password supplied",
    "pg_hba.conf",
    "is not permitted to log in",
)


class Database:
    """An engine for one URL, and `run`: one transaction, attempted again where the connection is lost."""

    def __init__(self, url: str, *, create: bool, retry_seconds: float) -> None:
        if not isinstance(url, str):
            raise ArgumentError(f"SqlJournal({url!r}): give a database URL such as 'sqlite:///shop.db'.")
        arguments.flag("SqlJournal", "create", create)
        self.retry_seconds = arguments.number("SqlJournal", "retry_seconds", retry_seconds, low=0.0)
        self._typed = re.sub(r"(//[^:/@]*):[^@]*@", r"\1:***@", url)  # what a message may show: no password
        try:
            parsed = _with_driver(sa.make_url(url))
            self.shown = parsed.render_as_string(hide_password=True)
            self.kind = parsed.get_backend_name()
            if self.kind not in ("sqlite", "postgresql"):
                raise ValueError(f"{self.kind} is neither SQLite nor PostgreSQL")
            self._engine = _engine(parsed)
        except ImportError as error:
            raise MissingDependency(
                f"SqlJournal({self._typed!r}) needs a driver ({error}): pip install 'windward[cluster]' brings psycopg, for "
                "'postgresql+psycopg://...'."
            ) from error
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, TypeError, ValueError) as error:
            raise self.unusable(error) from error
        if self.kind == "sqlite":
            if parsed.database in (None, "", ":memory:"):
                raise ArgumentError(f"SqlJournal({url!r}): name a file, or use MemoryJournal() for a log in memory.")
            self._check_file(Path(str(parsed.database)), create)
            sa.event.listen(self._engine, "connect", _prepare_sqlite)
            sa.event.listen(self._engine, "begin", _begin_immediate)
        else:
            sa.event.listen(self._engine, "connect", _prepare_postgresql)
        self._process = os.getpid()
        self._chance = random.Random(self._process)  # noqa: S311 - of pauses alone
        weakref.finalize(self, _dispose, self._engine, self._process)  # no connection outlives the journal

    def __repr__(self) -> str:
        return f"SqlJournal({self.shown!r})"

    def run(self, work: Callable[[Connection], Result], *, write: bool = True) -> Result:
        """Return what `work` returns in a transaction that is committed, attempted again where the connection is lost."""
        self._after_a_fork()
        began, attempts, pause = time.monotonic(), 0, FIRST_PAUSE
        while True:
            attempts += 1
            try:
                with self.transaction(write=write) as connection:
                    return work(connection)
            except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:  # sqlite3's own: raised while connecting
                waited = time.monotonic() - began
                if not _passing(error) or waited + pause > self.retry_seconds:
                    raise self._failure(error, attempts, waited) from error
                if attempts == 1:
                    logger.warning("%r: %s; trying again for %g s", self, _cause(error), self.retry_seconds)
            time.sleep(pause * self._chance.uniform(0.5, 1.0))
            pause = min(2.0 * pause, LONGEST_PAUSE)

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Yield a connection inside one transaction; errors are the driver's."""
        options: dict[str, Any] = {"windward_write": write}
        if not write and self.kind == "postgresql":
            options["isolation_level"] = "REPEATABLE READ"  # a reader sees one state, however many statements it takes
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Close the pooled connections; new ones are opened when it is used again."""
        self._after_a_fork()
        self._engine.dispose()

    def unusable(self, error: object) -> JournalError:
        """Return the error for a URL that names no database this program can use."""
        return JournalError(
            f"SqlJournal({self._typed!r}): not a usable database URL ({error}); use one such as 'sqlite:///shop.db' or "
            "'postgresql+psycopg://user@host/name'."
        )

    def _failure(self, error: Exception, attempts: int, waited: float) -> JournalError:
        tried = f"tried {attempts} times in {waited:.0f} s; " if attempts > 1 else ""
        return JournalError(f"{self!r}: {_cause(error)}; {tried}{_advice(error)}")

    def _check_file(self, path: Path, create: bool) -> None:
        if path.is_dir():
            raise JournalError(f"{self!r}: {str(path)!r} is a folder; name a file.")
        if not path.absolute().parent.is_dir():
            raise JournalError(f"{self!r}: the folder {str(path.parent)!r} does not exist; create it first.")
        if not create and not path.exists():
            raise JournalError(
                f"{self!r}: there is no file {str(path.absolute())!r}; check the path (on the command line it is --journal, or "
                "WINDWARD_JOURNAL)."
            )

    def _after_a_fork(self) -> None:
        # A connection belongs to the process that opened it: a forked child leaves its parent's alone.
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            self._process = os.getpid()


def _with_driver(url: URL) -> URL:
    # The driver that is tested, unless another is named; older SQLAlchemy would take psycopg2.
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "postgresql":
        return sa.create_engine(url)
    libpq = url.get_driver_name() in ("psycopg", "psycopg2")
    settings = {name: value for name, value in LIBPQ.items() if libpq and name not in url.query}
    return sa.create_engine(url, isolation_level="READ COMMITTED", connect_args=settings)


def _passing(error: Exception) -> bool:
    """Whether the same transaction may succeed a little later."""
    original = getattr(error, "orig", None) or error
    if isinstance(original, sqlite3.Error):
        return "locked" in str(original)
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    state = _state(error)
    if error.connection_invalidated or (state is not None and (state in PASSING_STATES or state.startswith("08"))):
        return True
    connecting = state is None and isinstance(error, sa.exc.OperationalError)
    return connecting and not any(sign in str(original) for sign in REFUSED)


def _state(error: Exception) -> str | None:
    """Return the SQLSTATE that a server gave, None where there is none."""
    original = getattr(error, "orig", None) or error
    return getattr(original, "sqlstate", None) or getattr(original, "pgcode", None)


def _cause(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())


def _advice(error: Exception) -> str:
    """Return what to do about a failure of the database, by what it said."""
    cause, full = _cause(error), "the disk is full; nothing was written; free some space on it, then try again."
    if _state(error) == DISK_FULL:
        return full
    for sign, advice in (
        ("disk is full", full),
        ("No space left on device", full),
        ("locked", f"another process has held the lock for {BUSY_SECONDS:g} s; nothing was written; try again."),
        ("lock timeout", f"another process has held the study for {BUSY_SECONDS:g} s; nothing was written; try again."),
        ("readonly", "nothing was written; allow writing to the file and its folder."),
        ("not a database", "the file is something else, or damaged; restore a copy."),
        ("malformed", "the file is damaged; restore a copy."),
        ("Could not decode", "the file is damaged; restore a copy."),
        ("unable to open", "nothing was written; check the path and the rights to it."),
        *((sign, "nothing was written; check the user, the password and the database's name.") for sign in REFUSED),
    ):
        if sign in cause:
            return advice
    return "check that the database can be reached, then try again: a call that did get through is not repeated."


def _dispose(engine: Engine, process: int) -> None:
    engine.dispose(close=os.getpid() == process)


def _prepare_sqlite(connection: Any, record: Any) -> None:
    # SQLAlchemy's "begin" event below starts transactions; the driver must not start its own.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _prepare_postgresql(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    for statement in SESSION:
        cursor.execute(statement)
    cursor.close()
    connection.commit()  # settings made inside a transaction end with it unless it is committed


def _begin_immediate(connection: Connection) -> None:
    # A writer takes the lock at once: upgrading a read lock later could fail half way.
    writes = connection.get_execution_options().get("windward_write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
