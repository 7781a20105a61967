"""Which fit is computed next: the urgent first, no study above its share, the same thing once."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from service_helpers import ADMIN, SHOP, bearer

from windward.basics.errors import ArgumentError
from windward.service import fits as fits_module
from windward.service.app import create_app
from windward.service.fits import Busy, Fits, Interrupted, Rank
from windward.service.settings import Settings

# -- over HTTP: a lock on the database holds asks up, while reading goes on ----------------------------------------------


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A service with the default number of fitting processes and four studies, all of them opened once."""
    path, others = tmp_path_factory.mktemp("fits") / "fits.db", set(multiprocessing.active_children())
    with TestClient(create_app(Settings(f"sqlite:///{path}", ADMIN)), raise_server_exceptions=False) as client:
        client.headers.update(bearer(ADMIN))
        for name in "abcd":
            assert client.post("/api/studies", json={**SHOP, "name": name}).status_code == 201
            for id in range(2):
                client.post(f"/api/studies/{name}/ask", json={})
                client.post(f"/api/studies/{name}/trials/{id}/tell", json={"value": id, "context": {"demand": 0.5}})
        client.processes = [each for each in multiprocessing.active_children() if each not in others]
        yield client, path


@contextmanager
def no_writing(path):
    """Hold the database's lock: an ask is computed, and then cannot be written."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


def send(client, finished, method, path):
    """Send a request from a thread, and note when it is answered."""

    def work():
        answer = client.request(method, f"/api/studies/{path}")
        finished.append((path, answer.status_code, answer.text))

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def until_waiting(client, count):
    deadline = time.monotonic() + 20
    while (seen := client.get("/health").json()["waiting_for_fits"]) != count:
        assert time.monotonic() < deadline, f"{seen} wait, not {count}"
        time.sleep(0.01)


def test_a_long_ask_does_not_hold_up_another_study(busy):
    client, path = busy
    asked = []
    with no_writing(path):
        held = send(client, asked, "POST", "a/ask")
        until_waiting(client, 1)
        again = send(client, asked, "POST", "a/ask")  # a second one of the same study waits for the first
        until_waiting(client, 2)
        assert client.get("/api/studies/b/recommendation").status_code == 200
        assert not asked
    held.join()
    again.join()
    assert [status for _, status, _ in asked] == [201, 201]


def test_asks_go_before_recommendations_and_these_before_reports(busy):
    client, path = busy
    finished = []
    with no_writing(path):
        threads = [send(client, finished, "POST", "a/ask"), send(client, finished, "POST", "b/ask")]
        until_waiting(client, 2)
        for n, (method, call) in enumerate((("GET", "c/report"), ("GET", "c/recommendation"), ("POST", "c/ask"))):
            threads.append(send(client, finished, method, call))
            until_waiting(client, 3 + n)
    for thread in threads:
        thread.join()
    order = [call for call, _, _ in finished if call.startswith("c")]
    assert order == ["c/ask", "c/recommendation", "c/report"]
    assert {status for _, status, _ in finished} == {200, 201}


def test_the_same_report_is_computed_once_and_kept_until_something_changes(busy):
    client, path = busy
    asked, reports = [], []
    with no_writing(path):
        threads = [send(client, asked, "POST", "a/ask"), send(client, asked, "POST", "b/ask")]
        until_waiting(client, 2)
        threads += [send(client, reports, "GET", "d/report") for _ in range(5)]
        until_waiting(client, 3)
        time.sleep(0.2)
        assert client.get("/health").json()["waiting_for_fits"] == 3
    for thread in threads:
        thread.join()
    assert len({text for _, _, text in reports}) == 1 and len(reports) == 5
    with no_writing(path):
        threads = [send(client, asked, "POST", "a/ask"), send(client, asked, "POST", "b/ask")]
        until_waiting(client, 2)
        assert client.get("/api/studies/d/report").text == reports[0][2]  # no process is free: it was kept
    for thread in threads:
        thread.join()
    assert client.post("/api/studies/d/trials/1/amend", json={"value": 7.25}).status_code == 200
    assert client.get("/api/studies/d/report").text != reports[0][2]


def test_health_says_what_waits(busy):
    client, path = busy
    asked = []
    with no_writing(path):
        thread = send(client, asked, "POST", "a/ask")
        until_waiting(client, 1)
        said = client.get("/health").json()["waiting"]
        assert said == {"asks": 1, "recommendations": 0, "figures_and_reports": 0}
    thread.join()


def test_a_process_that_dies_concerns_its_own_request_alone(busy):
    client, path = busy
    asked = []
    with no_writing(path):
        threads = [send(client, asked, "POST", "a/ask"), send(client, asked, "POST", "b/ask")]
        until_waiting(client, 2)
        client.processes[0].kill()
        until_waiting(client, 1)
    for thread in threads:
        thread.join()
    (_, killed, said), (_, other, _) = asked
    assert (killed, other) == (503, 201)
    assert "a fitting process died; what it had written is kept; try again." in said
    statuses = [client.post(f"/api/studies/{name}/ask").status_code for name in "ab"]
    assert statuses == [201, 201]  # another has taken its place


# -- by itself: processes that only pretend ------------------------------------------------------------------------------


class Pretended:
    """A fitting process whose jobs are run here."""

    def __init__(self, url, memory, *, plugins):
        self.last_study = None

    def work(self, job, arguments):
        return job(*arguments)

    def kill(self):
        pass

    def close(self):
        pass


@contextmanager
def pretending():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fits_module, "Fitter", Pretended)
        yield


def scheduled(body, **settings):
    """Run `body(fits)` in an event loop."""

    async def run():
        fits = Fits(Settings("sqlite:///x.db", ADMIN, **settings))
        try:
            return await body(fits)
        finally:
            await fits.close()

    with pretending():
        return asyncio.run(run())


jobs = st.lists(st.tuples(st.sampled_from(Rank), st.sampled_from("abcd")), min_size=1, max_size=30)


@given(jobs, st.integers(2, 7))
def test_the_most_urgent_goes_first_and_no_study_exceeds_its_share(asked, fitters):
    go, lock, running, most, begun = threading.Event(), threading.Lock(), [], {}, []

    def job(number, study):
        with lock:
            begun.append(number)
            running.append(study)
            most[study] = max(most.get(study, 0), running.count(study))
        go.wait(10)
        with lock:
            running.remove(study)
        return number

    async def body(fits):
        calls = [
            asyncio.ensure_future(fits.run(rank, study, job, number, study))
            for number, (rank, study) in enumerate(asked)
        ]
        await asyncio.sleep(0)
        waited = [task.arguments[0] for task in fits._waiting]
        go.set()
        assert await asyncio.gather(*calls) == list(range(len(asked)))
        return waited

    waited = scheduled(body, fitters=fitters, most_waiting=100)
    share = max(1, fitters // 2)
    assert max(most.values()) <= share
    # Of one study's jobs that had to wait, the urgent begin first; within a class the first to come. With a share of more
    # than one, those that begin at the same moment may change places.
    for study in "abcd" if share == 1 else "":
        order = [number for number in begun if number in waited and asked[number][1] == study]
        assert order == sorted(order, key=lambda number: (asked[number][0], number))


def test_all_processes_are_used_when_studies_allow_it():
    both = threading.Barrier(2, timeout=10)

    async def body(fits):
        return await asyncio.gather(fits.run(Rank.SHOW, "a", both.wait), fits.run(Rank.ASK, "b", both.wait))

    assert sorted(scheduled(body)) == [0, 1]


def test_readers_take_no_place_of_asks_and_a_study_at_most_half():
    go = threading.Event()

    async def body(fits):
        shown = [asyncio.ensure_future(fits.run(Rank.SHOW, study, go.wait, 10)) for study in "aabbcc"]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="4 requests"):
            await fits.run(Rank.SHOW, "d", go.wait, 10)
        asks = [asyncio.ensure_future(fits.run(Rank.ASK, study, go.wait, 10)) for study in "aaa"]
        await asyncio.sleep(0)
        assert [task.done() for task in asks] == [False, False, True]  # a third one of the same study has no place
        other = asyncio.ensure_future(fits.run(Rank.ASK, "b", go.wait, 10))
        await asyncio.sleep(0)
        assert not other.done()
        go.set()
        return await asyncio.gather(*shown, *asks, other, return_exceptions=True)

    answers = scheduled(body, most_waiting=4)
    assert [isinstance(answer, Busy) for answer in answers] == [False] * 4 + [True] * 2 + [False] * 2 + [True, False]


def test_a_caller_that_goes_away_does_not_take_the_others_with_it():
    go, counted = threading.Event(), []

    def job():
        counted.append(1)
        go.wait(10)
        return "the report"

    async def body(fits):
        calls = [asyncio.ensure_future(fits.kept("key", Rank.SHOW, "a", job)) for _ in range(3)]
        await asyncio.sleep(0.05)
        calls[0].cancel()
        await asyncio.sleep(0)
        go.set()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        return [*answers[1:], await fits.kept("key", Rank.SHOW, "a", job)]

    assert scheduled(body) == ["the report"] * 3 and len(counted) == 1


def test_what_nobody_waits_for_any_more_is_not_computed():
    go, counted = threading.Event(), []

    async def body(fits):
        first = asyncio.ensure_future(fits.run(Rank.SHOW, "a", go.wait, 10))
        second = asyncio.ensure_future(fits.kept("key", Rank.SHOW, "a", counted.append, 1))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.sleep(0)
        assert sum(fits.waiting.values()) == 1
        go.set()
        await first
        return await fits.kept("key", Rank.SHOW, "a", lambda: "again")

    assert scheduled(body) == "again" and not counted


def test_answers_are_forgotten_by_age_and_by_size(monkeypatch):
    monkeypatch.setattr(fits_module, "MOST_KEPT", 10)
    now = [0.0]
    monkeypatch.setattr(fits_module.time, "monotonic", lambda: now[0])
    kept = fits_module._Kept()
    kept.put("old", "12345")
    kept.put("new", "12345")
    assert kept.get("old") == "12345"  # the last used
    kept.put("third", "123")
    assert kept.get("new") is None and kept.get("old") == "12345" and kept.get("third") == "123"
    kept.put("third", "12345678")
    assert kept.get("old") is None and kept.get("third") == "12345678"
    now[0] += fits_module.KEPT_SECONDS + 1
    assert kept.get("third") is None


def test_errors_are_not_kept_and_reach_every_caller():
    fail = [True]

    def job():
        if fail:
            fail.clear()
            raise ArgumentError("no")
        return "yes"

    async def body(fits):
        calls = [fits.kept("key", Rank.ADVISE, "a", job) for _ in range(2)]
        return [*await asyncio.gather(*calls, return_exceptions=True), await fits.kept("key", Rank.ADVISE, "a", job)]

    first, second, third = scheduled(body)
    assert isinstance(first, ArgumentError) and first is second and third == "yes"


def test_ending_tells_those_who_wait():
    go = threading.Event()

    async def body(fits):
        running = asyncio.ensure_future(fits.run(Rank.ASK, "a", go.wait, 10))
        waiting = asyncio.ensure_future(fits.run(Rank.ASK, "a", go.wait, 10))
        await asyncio.sleep(0.01)
        fits.end()
        with pytest.raises(Interrupted, match="stopping"):
            await waiting
        with pytest.raises(Interrupted, match="stopping"):
            await fits.run(Rank.ASK, "b", go.wait, 10)
        go.set()
        return await running

    assert scheduled(body) is True


def test_there_are_at_least_two_processes():
    with pytest.raises(ArgumentError, match=r"Settings\(fitters=1\): fitters must be >= 2"):
        Settings("sqlite:///x.db", ADMIN, fitters=1)
    assert Settings("sqlite:///x.db", ADMIN).fitters == 2
