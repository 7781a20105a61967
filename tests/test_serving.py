"""`windward serve` as a process: 200 clients at once, a graceful stop, and every call the schema allows."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import sqlite3
import threading
import time
import urllib.error
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from forked import printed, program
from hypothesis import HealthCheck, Phase, given, settings
from service_helpers import (
    ADMIN,
    ROOT,
    SHOP,
    bearer,
    request,
    server,
    warm_server,
)

import windward as ww
from windward.service.app import create_app
from windward.service.run import bound
from windward.service.settings import Settings

pytestmark = pytest.mark.slow
spec = importlib.util.spec_from_file_location("service_load", ROOT / "benchmarks" / "service_load.py")
service_load = importlib.util.module_from_spec(spec)
spec.loader.exec_module(service_load)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def journal(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/load.db"
        return
    yield request.getfixturevalue("postgres")


def test_two_hundred_clients_tell_at_once_and_none_is_lost(journal):
    with warm_server(journal) as (told, _):
        url = told["url"]
        request(url, "POST", "/api/studies", service_load.DECLARATION)
        elsewhere(journal, "for _ in range(200): study.ask()")
        service_load.TOKEN = ADMIN
        waited = asyncio.run(tell_all(url, [[id] for id in range(200)]))
    assert len(waited) == 200
    values, kinds = elsewhere(
        journal,
        "events = study.journal.read('load')",
        "print(json.dumps([[t.value for t in study.trials], [e.kind for e in events]]))",
    )
    assert values == [service_load.value_of(id) for id in range(200)]
    assert kinds.count("told") == 200 and kinds.count("context_seen") == 200


def elsewhere(journal, *lines):
    """Run lines on the study in a process of its own, and return what they print: no connection stays open here."""
    code = "\n".join(["import json, sys, windward as ww", "study = ww.Study.open('load', journal=sys.argv[1])", *lines])
    said = printed(program, code, journal)
    return json.loads(said) if said else None


async def tell_all(url, groups):
    host, port = url.removeprefix("http://").split(":")
    waited, go = [], asyncio.Event()
    jobs = [asyncio.create_task(service_load.client(host, int(port), ids, waited, go)) for ids in groups]
    await asyncio.sleep(0.3)
    go.set()
    await asyncio.gather(*jobs)
    return waited


def test_a_stop_lets_a_running_ask_finish(tmp_path):
    journal = f"sqlite:///{tmp_path}/stop.db"
    with warm_server(journal, token=None) as (told, process):
        token = told["admin_token"]  # made for this run
        assert len(token) >= 40
        with pytest.raises(urllib.error.HTTPError, match="401"):
            request(told["url"], "GET", "/api/studies", token="another-token-than-that-one")
        request(told["url"], "POST", "/api/studies", {**SHOP, "policy": {"method": "sbo_kde"}}, token=token)
        study = ww.Study.open("shop", journal=journal)
        for n in range(120):
            study.add({"order": n / 120}, float(n % 11), context={"demand": (n % 13) / 13})
        answers = []
        asking = threading.Thread(
            target=lambda: answers.append(request(told["url"], "POST", "/api/studies/shop/ask", {}, token=token))
        )
        asking.start()
        time.sleep(0.3)
        process.terminate()
        asking.join(60)
        process.join(60)
        assert process.exitcode == 0
    study.sync()
    assert answers[0]["id"] == 120 and study.trials[120].decision == answers[0]["decision"]


def test_a_stop_ends_a_fit_that_outlasts_the_grace(tmp_path):
    journal = f"sqlite:///{tmp_path}/stop.db"
    with warm_server(journal, grace=0.5) as (told, process):
        request(told["url"], "POST", "/api/studies", SHOP)
        statuses = []

        def ask():
            try:
                request(told["url"], "POST", "/api/studies/shop/ask", {})
            except urllib.error.HTTPError as error:
                statuses.append((error.code, error.read().decode()))

        with closing(sqlite3.connect(tmp_path / "stop.db", isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")  # the ask cannot be written: it takes far longer than the grace
            asking = threading.Thread(target=ask)
            asking.start()
            while request(told["url"], "GET", "/health")["waiting_for_fits"] == 0:
                time.sleep(0.02)
            began = time.monotonic()
            process.terminate()
            process.join(60)
            assert process.exitcode == 0
            taken = time.monotonic() - began
            asking.join(60)
        assert 0.5 <= taken < 10.0
    assert [code for code, _ in statuses] == [503] and "the service is stopping" in statuses[0][1]
    assert len(ww.Study.open("shop", journal=journal).trials) == 0


def test_fitting_processes_end_with_a_killed_service(tmp_path):
    with server(f"sqlite:///{tmp_path}/kill.db") as (told, process):
        request(told["url"], "POST", "/api/studies", SHOP)  # the fitting process is there
        below = children(process.pid)
        fitting = [pid for each in below for pid in children(each)]
        assert len(fitting) == 2  # forked from the one that has loaded what they need
        for pid in (*below, *fitting):
            os.kill(pid, signal.SIGINT)  # Ctrl-C reaches all of them, and is the service's to heed
        assert request(told["url"], "POST", "/api/studies/shop/ask", {})["id"] == 0
        assert all(alive(pid) for pid in (*below, *fitting))
        # Another is forked, and finds the study, where one died.
        for pid in fitting:
            os.kill(pid, signal.SIGKILL)
        until_gone(fitting)
        assert request(told["url"], "POST", "/api/studies/shop/ask", {})["id"] == 1
        fitting = [pid for each in below for pid in children(each)]
        process.kill()
        process.wait(10)
        until_gone([*below, *fitting])


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def until_gone(processes):
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in processes)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# -- every call the schema allows ---------------------------------------------------------------------------------------


def test_no_call_that_fits_the_schema_is_a_server_error(tmp_path):
    """Schemathesis makes requests, right and wrong, from the OpenAPI document, for every operation."""
    import schemathesis  # here: the other processes need it not

    url = f"sqlite:///{tmp_path}/schema.db"
    app = create_app(Settings(url, ADMIN))
    counts = {}
    with TestClient(app) as client:
        client.headers.update(bearer(ADMIN))
        assert client.post("/api/studies", json={**SHOP, "name": "0"}).status_code == 201
        for _ in range(2):
            assert client.post("/api/studies/0/ask", json={}).status_code == 201
        client.post("/api/studies/0/trials/0/tell", json={"value": 1.0, "context": {"demand": 0.5}})
        schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=bearer(ADMIN))
        operations = [result.ok() for result in schema.get_all_operations()]
        for operation in operations:

            @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
            @given(case=operation.as_strategy())
            def check(case):
                if case.path_parameters and "name" in case.path_parameters:
                    case.path_parameters["name"] = "0"  # a study that is there: refusing strangers is tested elsewhere
                if case.query and "typed" in case.query:
                    case.query["typed"] = "1"  # the study is not deleted under the calls that follow
                answer = case.call(headers=bearer(ADMIN))
                counts.setdefault(answer.status_code, 0)
                counts[answer.status_code] += 1
                assert answer.status_code < 500, f"{case.method} {case.formatted_path} {case.body!r}: {answer.text}"

            check()
    assert len(operations) >= 16 and counts.get(200, 0) > 0 and counts.get(422, 0) > 0


def test_a_port_that_is_taken_is_named():
    with closing(bound("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ww.ArgumentError, match=rf"cannot bind 127\.0\.0\.1 port {port}: Address already in use"):
            bound("127.0.0.1", port)


def test_the_schema_is_complete(tmp_path):
    schema = create_app(Settings(f"sqlite:///{tmp_path}/x.db", ADMIN)).openapi()
    paths = schema["paths"]
    base = "/api/studies/{name}"
    rounds = {
        f"{base}/{verb}"
        for verb in ["ask", *(f"trials/{{id}}/{each}" for each in ("reveal", "tell", "lose", "amend", "note"))]
    }
    rounds |= {f"{base}/history"}
    reading = {
        base,
        *(
            f"{base}/{part}"
            for part in ("trials", "trials/{id}", "recommendation", "check", "figures/{kind}", "report")
        ),
    }
    assert {"/api/studies", "/api/me", *rounds, *reading} <= set(paths)
    assert schema["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    for path in rounds:
        assert "Idempotency-Key" in json.dumps(paths[path]) or not path.endswith(("ask", "tell"))
        assert {"401", "403", "404", "409", "413", "422", "503"} <= set(paths[path]["post"]["responses"])
