"""PostgreSQL as the journal of many workers: lost connections, restarts, refusals, and sessions that keep their word."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from helpers import SHOP, quadratic
from unreliable import Line

import windward as ww
from windward.journal import database
from windward.journal.events import Draft

pytestmark = pytest.mark.postgres

QUICK = ww.Policy(
    context_model=ww.Empirical(), design=ww.Sobol(2), maximize=ww.MultiStart(screen=32, starts=1, evaluations=5)
)
TOLD = [Draft("told", 0, datetime(2026, 5, 1, tzinfo=UTC), {"v": 1, "value": 1.0})]


@pytest.fixture
def line(postgres_server, postgres):
    line = Line(postgres_server.folder)
    line.url = postgres.replace(str(postgres_server.folder), str(line.folder))
    yield line
    line.close()


def database_of(url):
    return url.split("@/")[1].split("?")[0]


def kinds(study):
    return [event.kind for event in study.journal.read(study.name)]


# -- a lost connection ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", ["before the commit", "after the commit"])
def test_a_commit_that_lost_its_answer_is_written_once(line, cut, caplog):
    study = ww.Study(SHOP, QUICK, journal=line.url, name="shop")
    with caplog.at_level(logging.WARNING, logger="windward"):
        line.cut = cut
        suggestion = study.ask()
        line.cut = cut
        study.reveal(suggestion.id, {"demand": 0.25})
        line.cut = cut
        study.tell(suggestion.id, 1.5)
        line.cut = cut
        added = study.add({"order": 0.5}, 2.0, context={"demand": 0.5})
    assert line.cuts == 4 and suggestion.id == 0 and added == 1
    assert kinds(study) == ["created", "asked", "context_seen", "told", "added"]
    assert [record.message.count("trying again for 60 s") for record in caplog.records] == [1] * 4
    assert ww.Study.open("shop", journal=line.url).trials.rows == study.trials.rows


@pytest.mark.parametrize("cut", ["before the commit", "after the commit"])
def test_a_study_whose_creation_lost_its_answer_is_there_once(line, cut):
    ww.SqlJournal(line.url)
    line.cut = cut
    study = ww.Study(SHOP, QUICK, journal=line.url, name="shop")
    assert line.cuts == 1 and kinds(study) == ["created"]


def test_ended_sessions_are_opened_again(postgres_server, postgres):
    study = ww.Study(SHOP, QUICK, journal=postgres, name="shop")
    ending = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database_of(postgres)}'"
    for round in range(3):
        assert postgres_server.execute(ending) != []
        study.tell(study.ask().id, float(round), context={"demand": 0.5})
    assert kinds(study) == ["created", *["asked", "context_seen", "told"] * 3]


@pytest.mark.parametrize("mode", ["fast", "immediate"])  # a restart, and a crash
def test_a_restarted_server_is_waited_for(postgres_server, postgres, mode):
    study = ww.Study(SHOP, QUICK, journal=postgres, name="shop")
    study.tell(study.ask().id, 0.5, context={"demand": 0.5})
    postgres_server.stop(mode)
    with ThreadPoolExecutor() as pool:
        asking = pool.submit(study.ask)
        time.sleep(0.5)
        assert not asking.done()
        postgres_server.start()
        assert asking.result(timeout=30).id == 1
    assert kinds(study) == ["created", "asked", "context_seen", "told", "asked"]


def test_a_server_that_stays_away_is_an_error_within_the_time_given(postgres_server, postgres):
    ww.Study(SHOP, QUICK, journal=postgres, name="shop")
    journal = ww.SqlJournal(postgres, retry_seconds=1.0)
    study = ww.Study.open("shop", journal=journal)
    suggestion = study.ask()
    postgres_server.stop()
    try:
        began = time.monotonic()
        with pytest.raises(ww.JournalError, match=r"tried \d+ times in \d s; check that the database can be reached"):
            study.tell(suggestion.id, 1.0, context={"demand": 0.5})
        assert time.monotonic() - began < 5
        with pytest.raises(ww.JournalError, match="check that the database can be reached"):
            ww.SqlJournal(postgres, retry_seconds=0)
    finally:
        postgres_server.start()
    study.tell(suggestion.id, 1.0, context={"demand": 0.5})  # the same object goes on
    assert kinds(study) == ["created", "asked", "context_seen", "told"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda url: url.replace("/db", "/no"), 'database "no'),
        (lambda url: url.replace("postgres@", "stranger@"), 'role "stranger" does not exist'),
    ],
)
def test_a_refused_login_is_not_tried_again(postgres, change, says):
    began = time.monotonic()
    with pytest.raises(ww.JournalError, match="check the user, the password and the database's name") as caught:
        ww.SqlJournal(change(postgres))
    assert says in str(caught.value) and "tried" not in str(caught.value)
    assert time.monotonic() - began < 5


def test_a_writer_that_hangs_is_named(postgres, monkeypatch):
    monkeypatch.setattr(database, "SESSION", ("SET lock_timeout = 200",))
    journal = ww.SqlJournal(postgres)
    journal.create("a", [Draft("created", None, TOLD[0].at, {"v": 1})], key="k0")
    holding, release = threading.Event(), threading.Event()

    def hang(unread):
        holding.set()
        release.wait(20)
        return TOLD

    with ThreadPoolExecutor() as pool:
        first = pool.submit(journal.append, "a", hang, key="k1", after=1)
        holding.wait(20)
        with pytest.raises(ww.JournalError, match="another process has held the study"):
            journal.append("a", lambda unread: TOLD, key="k2", after=1)
        release.set()
        assert len(first.result(timeout=20)) == 1
    assert [event.key for event in journal.read("a")] == ["k0", "k1"]


# -- many at once -----------------------------------------------------------------------------------------------------


def test_many_open_an_empty_database_at_once(postgres):
    gate = threading.Barrier(8)

    def begin(index):
        gate.wait(20)
        try:
            return ww.Study(SHOP, QUICK, journal=postgres, name="shop").name
        except ww.JournalError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        said = sorted(pool.map(begin, range(8)))
    assert said.count("shop") == 1
    assert all("a study named 'shop' exists already" in each for each in said if each != "shop")


def test_simultaneous_asks_see_each_other(postgres):
    ww.Study(SHOP, QUICK, journal=postgres, name="shop").run(quadratic, 4, progress=False)
    gate = threading.Barrier(6)

    def ask(_):
        study = ww.Study.open("shop", journal=postgres)
        gate.wait(20)
        return study.ask()

    with ThreadPoolExecutor(6) as pool:
        asked = list(pool.map(ask, range(6)))
    assert sorted(each.id for each in asked) == list(range(4, 10))
    orders = sorted(each.decision["order"] for each in asked)
    assert min(b - a for a, b in pairwise(orders)) >= 0.0125


def test_reading_is_incremental(postgres, monkeypatch):
    writer = ww.Study(SHOP, QUICK, journal=postgres, name="shop")
    reader = ww.Study.open("shop", journal=postgres)
    returned = []
    read = reader.journal.read

    def counted(study, after=0, *, birth=None):
        returned.append(read(study, after, birth=birth))
        return returned[-1]

    monkeypatch.setattr(reader.journal, "read", counted)
    for _ in range(3):
        writer.tell(writer.ask().id, 1.0, context={"demand": 0.5})
        reader.sync()
    assert [len(events) for events in returned] == [3, 3, 3]
    assert reader.trials.rows == writer.trials.rows


def test_a_deleted_study_ends_in_a_clear_error_for_others(postgres):
    study = ww.Study(SHOP, QUICK, journal=postgres, name="shop")
    ww.delete_study("shop", journal=postgres)
    with pytest.raises(ww.JournalError, match="no study named 'shop'"):
        study.ask()


FORKING = """
import multiprocessing, sys
import windward as ww

def child(study, ids):
    ids.put([study.ask().id for _ in range(3)])

study = ww.Study.open("shop", journal=sys.argv[1])
context = multiprocessing.get_context("fork")
ids = context.Queue()
children = [context.Process(target=child, args=(study, ids)) for _ in range(2)]
for process in children:
    process.start()
mine = [study.ask().id for _ in range(3)]
theirs = [ids.get(timeout=60) for _ in children]
for process in children:
    process.join()
mine.append(study.ask().id)  # the parent's connection is still its own
print(sorted(mine + theirs[0] + theirs[1]), [process.exitcode for process in children])
"""


def test_forked_children_open_connections_of_their_own(postgres):
    ww.Study(SHOP, QUICK, journal=postgres, name="shop")
    command = [sys.executable, "-W", "ignore", "-c", FORKING, postgres]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == f"{list(range(10))} [0, 0]", done.stderr


# -- what a session promises ------------------------------------------------------------------------------------------


def test_sessions_are_durable_and_let_go(postgres_server, postgres):
    name = database_of(postgres)
    postgres_server.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    journal = ww.SqlJournal(postgres)
    with journal._database.transaction() as connection:
        shown = {
            setting: connection.exec_driver_sql(f"SHOW {setting}").scalar()
            for setting in ("synchronous_commit", "lock_timeout", "transaction_isolation")
        }
        idle = connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar()
    assert shown == {"synchronous_commit": "on", "lock_timeout": "30s", "transaction_isolation": "read committed"}
    assert idle == "1min"


def test_recorded_at_is_the_servers_clock_and_at_the_studys(postgres):
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    study = ww.Study(SHOP, QUICK, journal=postgres, name="shop", clock=lambda: noon)
    study.ask()
    events = study.journal.read("shop")
    assert [event.at for event in events] == [noon, noon]
    assert all(abs(event.recorded_at - datetime.now(UTC)) < timedelta(minutes=1) for event in events)
    assert events[0].recorded_at < events[1].recorded_at


def test_a_plain_postgresql_url_takes_the_driver_that_is_tested(postgres):
    plain = postgres.replace("postgresql+psycopg://", "postgresql://")
    assert repr(ww.SqlJournal(plain)) == repr(ww.SqlJournal(postgres))
    assert "postgresql+psycopg" in repr(ww.SqlJournal(plain))


def test_an_option_of_the_url_wins(postgres):
    with pytest.raises(ww.JournalError, match="bad value for connect_timeout: 'soon'"):
        ww.SqlJournal(postgres + "&connect_timeout=soon", retry_seconds=0)
