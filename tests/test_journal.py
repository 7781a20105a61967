"""Every journal keeps what a call returned from, whatever happens next."""

from __future__ import annotations

import signal
import sqlite3
import textwrap
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest
from forked import Forked, program
from helpers import SHOP, quadratic

import windward as ww
from windward.journal.events import Draft
from windward.testing import check_journal

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request, tmp_path):
    return f"sqlite:///{tmp_path}/log.db" if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def journal(request, tmp_path):
    if request.param == "memory":
        return ww.MemoryJournal()
    database = request.getfixturevalue("postgres") if request.param == "postgres" else f"sqlite:///{tmp_path}/log.db"
    return ww.SqlJournal(database)


def draft(kind="told", trial=0, **body):
    return Draft(kind, trial, AT, {"v": 1, **body})


# -- conformance: the same for every backend ------------------------------------------------------------------------


def test_laws(journal):
    """Order, keys, conflicts, births, the number of trials, the line of those who ask, and what comes back as it was."""
    check_journal(lambda: journal)
    assert journal.names() == []


def test_unknown_studies_are_named(journal):
    journal.create("a", [draft("created", None)], key="k0")
    for call in (
        lambda: journal.read("b"),
        lambda: journal.append("b", lambda _: [], key="k", after=0),
        lambda: journal.delete("b"),
    ):
        with pytest.raises(ww.JournalError, match="no study named 'b' in this journal; it has 'a'"):
            call()


def test_a_study_begun_again_under_its_old_name_is_noticed(url):
    journal = ww.SqlJournal(url)
    journal.create("a", [draft("created", None)], key="k0")
    journal.append("a", lambda unread: [draft(value=1.0)], key="k1", after=1)
    journal.delete("a")
    journal.create("a", [draft("created", None)], key="k2")
    with pytest.raises(ww.JournalError, match="'a' was deleted and made again since it was opened here"):
        journal.append("a", lambda unread: [draft(value=2.0)], key="k3", after=2)


# -- several processes, and SQLite --------------------------------------------------------------------------------------

WORKER = textwrap.dedent(
    """
    import sys
    import windward as ww

    url, name = sys.argv[1:3]
    study = ww.Study.open(name, journal=url)
    while True:
        suggestion = study.ask()
        print("asked", suggestion.id, repr(suggestion.decision["order"]), flush=True)
        study.reveal(suggestion.id, {"demand": 0.25})
        print("revealed", suggestion.id, flush=True)
        study.tell(suggestion.id, suggestion.id + 0.5)
        print("told", suggestion.id, flush=True)
    """
)


def start_worker(url, name):
    return Forked(program, WORKER, url, name)


@pytest.mark.parametrize(
    ("url", "lines"),
    [*(("sqlite", lines) for lines in (1, 2, 3, 8, 17)), pytest.param("postgres", 8, marks=pytest.mark.postgres)],
    indirect=["url"],
)
def test_a_killed_process_loses_nothing_it_had_returned_from(url, lines):
    policy = ww.Policy(context_model=ww.Empirical(), maximize=ww.MultiStart(screen=32, starts=1, evaluations=5))
    ww.Study(SHOP, policy, journal=url, name="shop")
    worker = start_worker(url, "shop")
    said = [worker.stdout.readline().split() for _ in range(lines)]
    worker.kill()
    said += [line.split() for line in worker.rest().splitlines()]
    assert worker.process.exitcode == -signal.SIGKILL
    study = ww.Study.open("shop", journal=url)
    for what, id, *decision in said:
        trial = study.trials[int(id)]
        if what == "asked":
            assert repr(trial.decision["order"]) == decision[0]
        elif what == "revealed":
            assert trial.context == {"demand": 0.25}
        else:
            assert trial.value == int(id) + 0.5
    study.run(quadratic, 1, progress=False)  # and it goes on


def test_several_processes_share_one_study(url):
    policy = ww.Policy(context_model=ww.Empirical(), maximize=ww.MultiStart(screen=32, starts=1, evaluations=5))
    ww.Study(SHOP, policy, journal=url, name="shop")
    workers = [start_worker(url, "shop") for _ in range(3)]
    study, deadline = ww.Study.open("shop", journal=url), time.monotonic() + 120
    while sum(t.value is not None for t in study.trials) < 24 and time.monotonic() < deadline:
        time.sleep(0.2)
        study.sync()
    for worker in workers:
        worker.kill()
    said = [line.split() for worker in workers for line in worker.rest().splitlines()]
    study.sync()
    asked = [int(line[1]) for line in said if line[0] == "asked"]
    assert len(asked) == len(set(asked)) >= 24
    for line in said:
        if line[0] == "told" and len(line) == 2:
            assert study.trials[int(line[1])].value == int(line[1]) + 0.5
    pending = {}
    for event in study.journal.read("shop"):  # nobody was sent to where somebody else still was
        if event.kind == "asked":
            order = event.body["decision"]["order"]
            assert all(abs(order - other) >= 0.0125 for other in pending.values())
            pending[event.trial] = order
        elif event.kind == "told":
            del pending[event.trial]
    assert ww.Study.open("shop", journal=url).trials.rows == study.trials.rows


def test_sqlite_is_durable(tmp_path):
    journal = ww.SqlJournal(f"sqlite:///{tmp_path}/log.db")
    with journal._database.transaction() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30000
    journal.close()


def test_a_full_disk_is_an_error_that_wrote_nothing(tmp_path):
    study = ww.Study(SHOP, journal=f"sqlite:///{tmp_path}/log.db", name="shop")
    suggestion = study.ask()
    with study.journal._database.transaction() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")  # no room for another page
    with pytest.raises(ww.JournalError, match="database or disk is full"):
        study.ask_many(1000)
    asked = len(study.trials)
    with study.journal._database.transaction() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 1000}")
    study.tell(suggestion.id, 1.0, context={"demand": 0.5})
    assert len(ww.Study.open("shop", journal=f"sqlite:///{tmp_path}/log.db").trials) == asked


def test_a_database_of_another_program_holds_no_studies(tmp_path):
    url = f"sqlite:///{tmp_path}/other.db"
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
        other.commit()
    with pytest.raises(ww.JournalError, match="this database holds no studies"):
        ww.SqlJournal(url, create=False)
    with pytest.raises(ww.JournalError, match="this database holds no studies"):
        ww.Study.open("shop", journal=url)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:  # looking made nothing
        assert [name for (name,) in other.execute("SELECT name FROM sqlite_master")] == ["recipes"]


def test_the_layout_is_as_documented(tmp_path):
    study = ww.Study(SHOP, journal=f"sqlite:///{tmp_path}/log.db", name="shop")
    study.tell(study.ask().id, 1.0, context={"demand": 0.5})
    connection = sqlite3.connect(f"{tmp_path}/log.db")
    assert connection.execute("SELECT name, format, head, asks FROM studies").fetchall() == [("shop", 2, 4, 1)]
    kinds = connection.execute("SELECT kind FROM events ORDER BY seq").fetchall()
    assert [kind for (kind,) in kinds] == ["created", "asked", "context_seen", "told"]
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(
            "INSERT INTO events SELECT study, 99, kind, trial, 'new key', at, recorded_at, body FROM events WHERE seq = 2"
        )
    connection.close()


def test_asked_records_what_the_suggestion_depended_on():
    study = ww.Study(SHOP, seed=5)
    study.run(quadratic, 11, progress=False)
    body = study.journal.read("study")[-3].body
    assert set(body) == {
        "v", "read", "decision", "given", "fixed", "chosen", "stand_in", "fit", "kept", "fitted",
        "forecast", "when", "radius", "reason", "guards", "tags", "device", "versions", "threads",
    }  # fmt: skip
    assert body["fit"]["part"] == "Hyperparameters" and body["versions"]["windward"] == ww.__version__


# -- a full disk ----------------------------------------------------------------------------------------------------


def test_a_full_disk_is_called_so_and_nothing_is_written(tmp_path, monkeypatch):
    from windward.journal import database

    study = ww.Study(SHOP, journal=f"sqlite:///{tmp_path}/log.db")
    rows = [ww.Past({"order": 0.001 * row}, float(row), {"demand": 0.5}) for row in range(1000)]  # more than a page
    prepare = database._prepare_sqlite

    def on_a_full_disk(connection, record):
        prepare(connection, record)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite then says what it says on a full disk

    with monkeypatch.context() as patched:
        patched.setattr(database, "_prepare_sqlite", on_a_full_disk)
        full = ww.Study.open("study", journal=f"sqlite:///{tmp_path}/log.db")
        with pytest.raises(ww.JournalError) as caught:
            full.add_many(rows)
    assert "the disk is full; nothing was written; free some space" in str(caught.value)
    assert "can be reached" not in str(caught.value)
    study.sync()
    assert len(study.trials) == 0
    assert study.add_many(rows) == list(range(1000))  # there is room again


class FullDisk(Exception):
    """What psycopg raises: the words of the server's language, and the state."""

    sqlstate = "53100"


@pytest.mark.parametrize(
    "words", ["could not extend file: No space left on device", "Auf dem Gerät ist kein Platz mehr"]
)
def test_a_servers_full_disk_is_known_by_its_words_or_its_state(words):
    import sqlalchemy as sa

    from windward.journal.database import _advice

    kind = FullDisk if words.startswith("Auf") else Exception
    assert _advice(sa.exc.OperationalError("INSERT", {}, kind(words))).startswith(
        "the disk is full; nothing was written"
    )
