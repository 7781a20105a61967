"""A log that is damaged, or a file that is no database: the error names the event, and nothing else changes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bad_input_cases import NAN, Row, prepared, raised

import windward as ww
from windward import JournalError

# Seq, column, what is put there (a dict is put into the body that is there), and what the error says.
# The log of `prepared` begins with created, asked, context_seen, told.
DAMAGE: list[tuple[int, str, Any, str]] = [
    (4, "body", '{"v":1,', "event 4 cannot be read"),
    (4, "body", "[" * 100_000, "event 4 cannot be read"),
    (4, "body", "[]", "event 4 (told) is damaged: its body is []"),
    (4, "body", "null", "event 4 (told) is damaged: its body is None"),
    (4, "body", '{"v":2}', "event 4 (told) is damaged: it has no 'values'"),
    (4, "body", '{"v":1}', "event 4 (told) is damaged: it has no 'value"),
    (4, "body", {"v": 3}, "version 3 of 'told'; this Windward reads versions 1 and 2; use a newer one"),
    (4, "body", "{}", "version None of 'told'"),
    (4, "kind", "teleported", "event 4: unknown kind 'teleported'; use a newer Windward"),
    (4, "at", "noon", "event 4 cannot be read"),
    (4, "trial", 7, "no trial 7"),
    (2, "trial", 9, "trial 9 where 0 was expected"),
    (4, "body", {"values": {"value": "much"}}, "event 4 (told): body(value='much')"),
    (4, "body", {"values": {"value": None}}, "value=None"),
    (4, "body", {"values": {"value": NAN}}, "event 4 cannot be read (NaN"),
    (4, "body", {"values": {"profit": 1.0}}, "event 4 (told) is damaged: it has no 'value"),
    (4, "body", {"noise": {"value": "some"}}, "noise='some'"),
    (4, "body", {"noise": "some"}, "event 4 (told) is damaged"),
    (4, "body", {"decision": {"order": 0.5}}, "event 4 (told): body: decision lacks 'boxes'"),
    (3, "body", {"context": {"demand": "high"}}, "got 'high'"),
    (3, "body", {"context": [0.5]}, "got [0.5]"),
    (2, "body", {"decision": 5}, "got 5"),
    (2, "body", {"given": {"wind": 1}}, "unknown context 'wind'"),
    (2, "body", {"fit": {"part": "Hyper"}}, "unknown part 'Hyper'"),
    (1, "body", {"space": {"part": "Spice"}}, "event 1 (created): unknown part 'Spice'"),
    (1, "body", {"space": 5}, "5 where a Space was expected"),
    (1, "body", {"policy": {"part": "Sobol"}}, "Sobol(count=None) where a Policy was expected"),
    (1, "body", {"outcomes": {"value": {"goal": "up", "unit": None}}}, "goal='up'"),
    (1, "body", {"outcomes": {}}, "event 1 (created)"),
    (1, "body", {"horizon": -1}, "horizon=-1"),
    (1, "body", {"status_quo": {"order": 0.5}}, "decision lacks 'boxes'"),
    (1, "body", {"seed": "0"}, "seed='0'"),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """The file of a study as it should be, to be copied."""
    path = tmp_path_factory.mktemp("sound") / "shop.db"
    with closing(ww.SqlJournal(f"sqlite:///{path}")) as journal:
        prepared(journal)
    return path


@pytest.fixture
def kept(sound, tmp_path) -> Iterator[tuple[ww.SqlJournal, sqlite3.Connection]]:
    """A study in a file, and a hand in it."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(sound)) as source, closing(sqlite3.connect(path)) as database:
        source.backup(database)
        with closing(ww.SqlJournal(f"sqlite:///{path}")) as journal:
            yield journal, database


def body_of(database: sqlite3.Connection, seq: int, new: dict[str, Any]) -> str:
    (body,) = database.execute("SELECT body FROM events WHERE seq = ?", [seq]).fetchone()
    return json.dumps(json.loads(body) | new)


@pytest.mark.parametrize(("seq", "column", "new", "says"), DAMAGE)
def test_damaged_event_is_named(kept, seq, column, new, says):
    journal, database = kept
    new = body_of(database, seq, new) if isinstance(new, dict) else new
    with database:
        database.execute(f"UPDATE events SET {column} = ? WHERE seq = ?", [new, seq])
    raised(Row("", lambda: ww.Study.open("shop", journal=journal), JournalError, says))


def test_damaged_event_of_another_process_leaves_an_open_study_as_it_was(kept):
    journal, database = kept
    study = ww.Study.open("shop", journal=journal)
    rows = study.trials.rows
    body = body_of(database, 10, {"fit": {"part": "Hyper"}})
    with database:
        database.execute(
            "INSERT INTO events SELECT study, 13, kind, 5, 'key', at, recorded_at, ? FROM events WHERE seq = 10", [body]
        )
        database.execute("UPDATE studies SET head = head + 1, asks = asks + 1")
    for call in (study.sync, study.ask, lambda: study.tell(3, 1.0), study.recommend, study.pending):
        raised(Row("", call, JournalError, "event 13 (asked): unknown part 'Hyper'"))
        assert study.trials.rows == rows
    with database:
        database.execute("DELETE FROM events WHERE seq = 13")
        database.execute("UPDATE studies SET head = head - 1, asks = asks - 1")
    assert study.ask() == prepared().ask()


def test_study_of_another_layout_or_without_events_is_named(kept):
    journal, database = kept
    with database:
        database.execute("UPDATE studies SET format = 3")
    raised(Row("", lambda: ww.Study.open("shop", journal=journal), JournalError, "'shop' has format 3"))
    with database:
        database.execute("UPDATE studies SET format = 1")
        database.execute("DELETE FROM events")
    raised(
        Row("", lambda: ww.Study.open("shop", journal=journal), JournalError, "'shop' is damaged: event 1 is missing")
    )
    with database:
        database.execute("UPDATE studies SET head = 0, asks = 0")
    raised(Row("", lambda: ww.Study.open("shop", journal=journal), JournalError, "'shop' is damaged: it has no events"))


def test_files_that_are_no_databases_are_named(tmp_path):
    path = tmp_path / "shop.db"
    raised(Row("", lambda: ww.SqlJournal(f"sqlite:///{tmp_path}"), JournalError, str(tmp_path)))
    path.write_text("a letter, not a database\n" * 100)
    raised(Row("", lambda: ww.SqlJournal(f"sqlite:///{path}"), JournalError, "shop.db'): file is not a database"))
    path.unlink()
    with closing(ww.SqlJournal(f"sqlite:///{path}")) as journal:
        prepared(journal)
    good = path.read_bytes()
    path.write_bytes(good[:200] + b"\xff" * (len(good) - 200))
    raised(
        Row("", lambda: ww.studies(f"sqlite:///{path}"), JournalError, "shop.db'): database disk image is malformed")
    )
    assert path.read_bytes()[200:] == b"\xff" * (len(good) - 200)
