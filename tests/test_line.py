"""The line of those who ask one study: it spares work, holds nobody for long, and is never needed."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing

import pytest
from helpers import SHOP, new_study, policy, quadratic

import windward as ww
import windward.study.ask as asking
from windward.journal.events import Draft
from windward.study.study import utc_now


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def log(request, tmp_path):
    journal = ww.MemoryJournal()
    if request.param != "memory":
        url = request.getfixturevalue("postgres") if request.param == "postgres" else f"sqlite:///{tmp_path}/log.db"
        journal = ww.SqlJournal(url)
    for name in ("a", "b"):
        journal.create(name, [Draft("created", None, utc_now(), {"v": 2})], key=f"{name}0")
    return journal


def test_the_first_come_is_the_first(log):
    assert [log.lease("a", holder, 60.0) for holder in ("x", "y", "z")] == [0, 1, 2]
    assert [log.lease("a", holder, 60.0) for holder in ("x", "y", "z")] == [0, 1, 2]
    assert log.lease("b", "y", 60.0) == 0  # another study has another line
    assert log.lease("a", "x", 0.0) == 0
    assert [log.lease("a", holder, 60.0) for holder in ("y", "z", "x")] == [0, 1, 2]


def test_a_place_ends_by_itself(log):
    log.lease("a", "dead", 0.2)
    assert log.lease("a", "y", 60.0) == 1
    time.sleep(0.3)
    assert log.lease("a", "y", 60.0) == 0


def test_whoever_waits_stays(log):
    log.lease("a", "x", 60.0)
    for _ in range(4):
        assert log.lease("a", "y", 0.3) == 1
        time.sleep(0.1)
    assert log.lease("a", "z", 60.0) == 2  # y has said again and again that it waits


def test_writing_what_was_asked_leaves_the_line(log):
    for holder in ("x", "y"):
        log.lease("a", holder, 60.0)
    asked = Draft("asked", 0, utc_now(), {"v": 2})
    assert log.append("a", lambda _: [asked], key="x", after=1, expected_asks=0) is not None
    assert log.lease("a", "y", 60.0) == 0
    assert log.append("a", lambda _: [asked], key="y", after=1, expected_asks=0) is None  # lost: it stays in line
    assert log.lease("a", "z", 60.0) == 1


def test_many_who_ask_at_once_compute_little_in_vain_and_share(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/log.db"
    ww.Study(SHOP, policy(), journal=url, name="shop").run(quadratic, 6, progress=False)
    computed, written, inner = [], [], asking.asked_body

    def counted(*arguments):
        computed.append(threading.get_ident())
        return inner(*arguments)

    def work():
        study = ww.Study.open("shop", journal=url)
        gate.wait()
        while len(written) < 40:
            study.ask()
            written.append(threading.get_ident())

    monkeypatch.setattr(asking, "asked_body", counted)
    gate, count = threading.Barrier(5), 5
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    shares = [written[:40].count(thread.ident) for thread in threads]
    assert len(computed) <= 1.3 * len(written), (len(computed), len(written))
    assert min(shares) >= 40 / count / 2, shares


def test_a_dead_holder_delays_an_ask_and_stops_none(monkeypatch, tmp_path):
    study = ww.Study(SHOP, policy(), journal=f"sqlite:///{tmp_path}/log.db", name="shop")
    study.journal.lease("shop", "died while it computed", 0.5)  # its last word
    began = time.monotonic()
    assert study.ask().id == 0
    assert 0.3 <= time.monotonic() - began < 5.0
    monkeypatch.setattr(asking, "LONGEST_WAIT", 0.3)
    study.journal.lease("shop", "lives and never asks", 600.0)
    assert study.ask().id == 1  # nobody waits for ever


def test_an_ask_that_fails_leaves_the_line(journal):
    study = new_study(journal)
    with pytest.raises(ww.SpaceError):
        study.ask(fix={"order": 7.0})
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(asking, "asked_body", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            study.ask()
    assert journal.lease("shop", "next", 60.0) == 0


def test_a_database_of_before_gets_its_line_when_it_is_asked(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    new_study(ww.SqlJournal(url))
    with closing(sqlite3.connect(tmp_path / "log.db")) as database:
        database.execute("DROP TABLE leases")
        database.commit()
    assert ww.Study.open("shop", journal=url).ask().id == 0
    with closing(sqlite3.connect(tmp_path / "log.db")) as database:
        assert database.execute("SELECT count(*) FROM leases").fetchone() == (0,)


def test_a_long_ask_keeps_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "LEASE_SECONDS", 0.3)
    url = f"sqlite:///{tmp_path}/log.db"
    study, other = ww.Study(SHOP, policy(), journal=url, name="shop"), ww.SqlJournal(url)
    seen, inner = [], asking.asked_body

    def slow(*arguments):
        for _ in range(8):
            time.sleep(0.1)
            seen.append(other.lease("shop", "next", 60.0))
        return inner(*arguments)

    monkeypatch.setattr(asking, "asked_body", slow)
    study.ask()
    assert seen == [1] * 8  # three times as long as a place lasts
    assert other.lease("shop", "next", 60.0) == 0  # and then it is gone at once
