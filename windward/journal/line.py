"""The line of those who want to ask one study, in a table of its own: a soft lease.

Every ask that is written makes those that were being computed worthless, because they did not know of it. So an ask stands
in line before it computes. The line holds nobody for long: each place has an end by the database's clock, and whoever
finds only places before it that have ended goes on. What is written never depends on the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windward.journal.database import Database, sa

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

leases = sa.Table(
    "leases",
    sa.MetaData(),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("study", sa.Text, nullable=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("until", sa.Float, nullable=False),  # seconds since 1970
)
_study, _holder = sa.bindparam("a_study", type_=sa.Text), sa.bindparam("a_holder", type_=sa.Text)
_NOW = {
    "sqlite": sa.text("SELECT (julianday('now') - 2440587.5) * 86400.0"),
    "postgresql": sa.text("SELECT extract(epoch FROM clock_timestamp())::float8"),
}
_LINE = sa.select(leases.c.holder, leases.c.until).where(leases.c.study == _study).order_by(leases.c.place)
_LEAVE = leases.delete().where(leases.c.holder == _holder, leases.c.study == _study)
_ENDED = leases.delete().where(leases.c.until < sa.bindparam("a_time"), leases.c.holder != _holder)
_STAY = leases.update().where(leases.c.holder == _holder, leases.c.study == _study).values(until=sa.bindparam("an_end"))


def place_in_line(database: Database, study: str, holder: str, seconds: float) -> int:
    """Enter a study's line, or stay in it, until `seconds` from now; return how many stand before; 0 seconds leave it."""
    if seconds <= 0.0:
        database.run(lambda connection: step_out(connection, study, holder))
        return 0
    before = database.run(lambda connection: _look(connection, database.kind, study, holder, seconds), write=False)
    if before is not None:
        return before
    return database.run(lambda connection: _stand(connection, database.kind, study, holder, seconds))


def step_out(connection: Connection, study: str, holder: str) -> None:
    """Leave a study's line, inside a transaction."""
    connection.execute(_LEAVE, {"a_study": study, "a_holder": holder})


def _look(connection: Connection, kind: str, study: str, holder: str, seconds: float) -> int | None:
    """Return how many stand before a holder whose place lasts a while yet; None where the line must be written."""
    now = float(connection.execute(_NOW[kind]).scalar_one())
    before = 0
    for row in connection.execute(_LINE, {"a_study": study}):
        if row.holder == holder:
            return before if row.until - now > 0.5 * seconds else None
        before += row.until >= now
    return None


def _stand(connection: Connection, kind: str, study: str, holder: str, seconds: float) -> int:
    now = float(connection.execute(_NOW[kind]).scalar_one())
    connection.execute(_ENDED, {"a_time": now, "a_holder": holder})
    stayed = connection.execute(_STAY, {"a_study": study, "a_holder": holder, "an_end": now + seconds}).rowcount
    if not stayed:
        connection.execute(leases.insert().values(study=study, holder=holder, until=now + seconds))
    holders = [row.holder for row in connection.execute(_LINE, {"a_study": study})]
    return holders.index(holder)
