"""Who may do what: one admin token, and tokens for single studies with the scopes read and write.

A study's token is `ww_<id>_<secret>`. The table holds its id, its study, its scopes and the SHA-256 of its secret, which is
256 random bits: nothing in the table opens a study. Comparisons take the same time wherever they differ. A token is bound to
its study's birth, so that it does not open another study that is made under the same name later.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from windward.basics.errors import JournalError, UnknownStudy
from windward.journal.database import Database, sa
from windward.journal.sql import MAKING_TABLES
from windward.service.settings import new_token

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

SCOPES = ("read", "write")
# How long a lost connection is tried again: shorter than the journal does, for a client waits.
RETRY_SECONDS = 10.0
_metadata = sa.MetaData()
_tokens = sa.Table(
    "tokens",
    _metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("study", sa.Text, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("made_at", sa.Text, nullable=False),
    sa.Column("birth", sa.Text),  # none where the study was gone when this column was added: such a token opens nothing
)


@dataclass(frozen=True)
class Identity:
    """Whom a token speaks for: the admin, or somebody with some scopes on one study."""

    admin: bool = False
    study: str | None = None
    scopes: tuple[str, ...] = ()

    def may(self, scope: str, study: str) -> bool:
        """Return whether this identity may do something of a scope to a study."""
        return self.admin or (study == self.study and scope in self.scopes)


class StudyGone(Exception):
    """A token is right, but its study was deleted."""


class TokenStore:
    """The table of tokens, in the journal's own database; `birth_of` is the journal's own."""

    def __init__(self, url: str, admin_token: str, birth_of: Callable[[str], str]) -> None:
        self._admin = _digest(admin_token)
        self._birth_of = birth_of
        self._database = Database(url, create=True, retry_seconds=RETRY_SECONDS)
        self._make_table()

    def make(self, study: str, scopes: tuple[str, ...]) -> str:
        """Return a new token for a study; it is not kept and cannot be shown again."""
        id, secret = secrets.token_hex(8), new_token()
        row = {"id": id, "study": study, "scopes": ",".join(scopes), "hash": _digest(secret)}
        row |= {"made_at": datetime.now(UTC).isoformat(), "birth": self._birth_of(study)}

        def write(connection: Connection) -> None:
            # An attempt whose connection was lost while it was committed may have written it.
            if connection.execute(sa.select(_tokens.c.id).where(_tokens.c.id == id)).first() is None:
                connection.execute(_tokens.insert().values(**row))

        self._database.run(write)
        return f"ww_{id}_{secret}"

    def revoke(self, study: str) -> int:
        """Delete every token of a study, and return how many there were."""
        query = _tokens.delete().where(_tokens.c.study == study)
        return self._database.run(lambda connection: connection.execute(query).rowcount)

    def admin(self, token: str) -> Identity | None:
        """Return the admin where this is the admin token."""
        return Identity(admin=True, scopes=SCOPES) if hmac.compare_digest(_digest(token), self._admin) else None

    def identify(self, token: str) -> Identity | None:
        """Return whom a study's token speaks for, None where nobody; raise `StudyGone` where its study was deleted."""
        mark, _, rest = token.partition("_")
        id, _, secret = rest.partition("_")
        if mark != "ww" or not secret or not id.isascii() or not id.isalnum():
            return None
        query = sa.select(_tokens).where(_tokens.c.id == id)
        row = self._database.run(lambda connection: connection.execute(query).first(), write=False)
        known = "" if row is None else row.hash
        if not hmac.compare_digest(_digest(secret), known) or row is None:
            return None
        if row.birth is None or row.birth != self._present(row.study):
            raise StudyGone
        return Identity(study=row.study, scopes=tuple(row.scopes.split(",")))

    def ping(self) -> None:
        """Raise `JournalError` where the database cannot be reached now: nothing is tried again."""
        try:
            with self._database.transaction(write=False) as connection:
                connection.execute(sa.select(sa.literal(1)))
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            raise JournalError(f"{self._database!r} cannot be reached ({type(error).__name__}).") from error

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    def _make_table(self) -> None:
        old = self._database.run(self._studies_without_birth, write=False)
        births = {study: self._present(study) for study in old or ()}

        def write(connection: Connection) -> None:
            if (
                self._database.kind == "postgresql"
            ):  # of two services that start at once the second waits, then finds it
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MAKING_TABLES)))
            _metadata.create_all(connection)
            if self._studies_without_birth(connection) is None:
                return
            connection.execute(sa.text("ALTER TABLE tokens ADD COLUMN birth TEXT"))
            for study, birth in births.items():
                connection.execute(_tokens.update().where(_tokens.c.study == study).values(birth=birth))

        self._database.run(write)

    @staticmethod
    def _studies_without_birth(connection: Connection) -> list[str] | None:
        """Return the studies of a table that an earlier version made; None where there is no such table."""
        found = sa.inspect(connection)
        if not found.has_table("tokens") or any(column["name"] == "birth" for column in found.get_columns("tokens")):
            return None
        return list(connection.execute(sa.select(_tokens.c.study).distinct()).scalars())

    def _present(self, study: str) -> str | None:
        try:
            return self._birth_of(study)
        except UnknownStudy:
            return None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()
