"""Who may do what: one admin token, and tokens for single studies with the scopes read and write.

A study's token is `ww_<id>_<secret>`. The table holds its id, its study, its scopes and the SHA-256 of its secret, which is
256 random bits: nothing in the table opens a study. Comparisons take the same time wherever they differ.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from windward.errors import JournalError
from windward.service.settings import new_token

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

SCOPES = ("read", "write")
# How long a writer waits for another, as the journal does.
BUSY_SECONDS = 30
_metadata = sa.MetaData()
_tokens = sa.Table(
    "tokens",
    _metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("study", sa.Text, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("made_at", sa.Text, nullable=False),
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


class TokenStore:
    """The table of tokens, in the journal's own database."""

    def __init__(self, url: str, admin_token: str) -> None:
        self._admin = _digest(admin_token)
        parsed = sa.make_url(url)
        self._engine = sa.create_engine(parsed)
        if parsed.get_backend_name() == "sqlite":
            sa.event.listen(self._engine, "connect", _prepare_sqlite)
        with self._connection() as connection:
            _metadata.create_all(connection)

    def make(self, study: str, scopes: tuple[str, ...]) -> str:
        """Return a new token for a study; it is not kept and cannot be shown again."""
        id, secret = secrets.token_hex(8), new_token()
        row = {"id": id, "study": study, "scopes": ",".join(scopes), "hash": _digest(secret)}
        with self._connection() as connection:
            connection.execute(_tokens.insert().values(**row, made_at=datetime.now(UTC).isoformat()))
        return f"ww_{id}_{secret}"

    def revoke(self, study: str) -> int:
        """Delete every token of a study, and return how many there were."""
        with self._connection() as connection:
            return connection.execute(_tokens.delete().where(_tokens.c.study == study)).rowcount

    def admin(self, token: str) -> Identity | None:
        """Return the admin where this is the admin token."""
        return Identity(admin=True, scopes=SCOPES) if hmac.compare_digest(_digest(token), self._admin) else None

    def identify(self, token: str) -> Identity | None:
        """Return whom a study's token speaks for, None where nobody."""
        mark, _, rest = token.partition("_")
        id, _, secret = rest.partition("_")
        if mark != "ww" or not secret or not id.isascii() or not id.isalnum():
            return None
        with self._connection() as connection:
            row = connection.execute(sa.select(_tokens).where(_tokens.c.id == id)).first()
        known = "" if row is None else row.hash
        if not hmac.compare_digest(_digest(secret), known) or row is None:
            return None
        return Identity(study=row.study, scopes=tuple(row.scopes.split(",")))

    def ping(self) -> None:
        """Raise `JournalError` where the database cannot be reached."""
        with self._connection() as connection:
            connection.execute(sa.select(sa.literal(1)))

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise JournalError(f"the tokens cannot be read: {getattr(error, 'orig', None) or error}.") from error


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def _prepare_sqlite(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.close()
