"""What an answer must not tell, and what must not open: other studies' names, the journal's place, another study's door."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from service_helpers import ADMIN, SHOP, bearer

import windward as ww
from windward.basics.errors import JournalError
from windward.journal import Draft
from windward.service import jobs
from windward.service.app import create_app
from windward.service.settings import Settings
from windward.study.study import utc_now


def post(client, path, body):
    return client.post(path, content=json.dumps(body).encode(), headers={"content-type": "application/json"})


# -- tokens and names ----------------------------------------------------------------------------------------------------


def test_the_token_of_a_deleted_study_tells_no_names(client, shop, url):
    name, tokens = shop
    assert client.post("/api/studies", json={**SHOP, "name": "a secret project"}).status_code == 201
    ww.delete_study(name, journal=url)
    for method, path in (("GET", ""), ("GET", "/trials"), ("GET", "/report"), ("POST", "/ask")):
        answer = client.request(method, f"/api/studies/{name}{path}", headers=bearer(tokens["write"]))
        assert answer.status_code == 401 and "secret project" not in answer.text
        assert "the study of this token was deleted" in answer.json()["error"]
    assert "a secret project" in client.get(f"/api/studies/{name}").json()["error"]  # the admin may know


def test_a_study_that_vanishes_between_check_and_use_tells_no_names(client, shop, url, monkeypatch):
    name, tokens = shop
    assert client.post("/api/studies", json={**SHOP, "name": "another secret"}).status_code == 201

    def gone(*_):
        raise ww.UnknownStudy("no study named 'x' in this journal; it has 'another secret'.")

    monkeypatch.setattr(client.app.state.kitchen.shelf, "born", gone)
    answer = client.get(f"/api/studies/{name}", headers=bearer(tokens["read"]))
    assert answer.status_code == 404 and answer.json() == {"error": "there is no such study."}


def test_a_token_does_not_open_a_new_study_of_the_same_name(client, shop, url):
    name, tokens = shop
    old = ww.Study.open(name, journal=url)
    ww.delete_study(name, journal=url)
    ww.Study(old.space, old.policy, journal=url, name=name)  # made by the library: the service revoked nothing
    for method, path in (("GET", ""), ("POST", "/ask")):
        answer = client.request(method, f"/api/studies/{name}{path}", headers=bearer(tokens["write"]))
        assert answer.status_code == 401
    fresh = client.post(f"/api/studies/{name}/tokens", json={"scopes": ["read"]}).json()["token"]
    assert client.get(f"/api/studies/{name}", headers=bearer(fresh)).status_code == 200


def test_tokens_of_an_earlier_version_are_bound_when_the_service_starts(client, shop, url, tmp_path):
    name, tokens = shop
    path, copy = url.removeprefix("sqlite:///"), tmp_path / "earlier.db"
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        rows = target.execute("SELECT id, study, scopes, hash, made_at FROM tokens").fetchall()
        target.execute("DROP TABLE tokens")
        target.execute(
            "CREATE TABLE tokens (id TEXT PRIMARY KEY, study TEXT NOT NULL, scopes TEXT NOT NULL, hash TEXT NOT NULL, "
            "made_at TEXT NOT NULL)"
        )
        target.executemany("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", rows)
        target.execute("UPDATE tokens SET study = 'gone' WHERE scopes = 'read'")  # of a study that was deleted
        target.commit()
    journal = f"sqlite:///{copy}"
    old = ww.Study.open(name, journal=journal)
    for _ in range(2):  # the second start finds the column
        with TestClient(create_app(Settings(journal, ADMIN)), raise_server_exceptions=False) as again:
            assert again.get(f"/api/studies/{name}", headers=bearer(tokens["write"])).status_code == 200
            assert again.get("/api/studies/gone", headers=bearer(tokens["read"])).status_code == 401
        if "gone" not in ww.studies(journal):  # made again: the old token does not become its own
            ww.Study(old.space, old.policy, journal=journal, name="gone")
    ww.delete_study(name, journal=journal)
    ww.Study(old.space, old.policy, journal=journal, name=name)
    with TestClient(create_app(Settings(journal, ADMIN)), raise_server_exceptions=False) as again:
        assert again.get(f"/api/studies/{name}", headers=bearer(tokens["write"])).status_code == 401


NAMES = [
    "shop\n",
    "a\x85b",
    "a\x9fb",
    "\x7f",
    "a\u2028b",
    "a\u202eb",
    "a\u200bb",
    "a\ufeffb",
    "a\u00adb",
    "a\tb",
    "\ud800",
    "a\0b",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_that_cannot_be_seen_are_refused(client, name):
    answer = post(client, "/api/studies", {**SHOP, "name": name})
    assert answer.status_code == 422 and "name" in answer.json()["error"], answer.text


@pytest.mark.parametrize("name", ["a shop", "Café · 北京", "a.b", "x'; --", "50 % off?", "#1", "..."])
def test_names_that_can_be_seen_are_taken_and_reached(client, name):
    assert client.post("/api/studies", json={**SHOP, "name": name}).status_code == 201
    assert client.get(f"/api/studies/{quote(name, safe='')}").json()["name"] == name


def test_names_made_in_python_that_no_url_can_hold_are_listed(client, url):
    made = {"a/b": False, "line\n": False, "next\x85line": False, "..": False, "back\\slash": False, "plain": True}
    space = ww.Space(decision={"order": ww.Real(0, 1)})
    body = ww.Study(space).journal.read("study")[0].body
    for name in made:  # as an older Windward made them: a new study has no such name
        ww.SqlJournal(url).create(name, [Draft("created", None, utc_now(), body)], key=name)
    listed = {study["name"]: study["reachable"] for study in client.get("/api/studies").json()["studies"]}
    assert {name: listed[name] for name in made} == made
    assert client.get("/api/studies/line%0A").status_code == 422
    for name in made:
        ww.delete_study(name, journal=url)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_any_name_in_a_path_is_refused_or_unknown(client, name):
    answer = client.get(f"/api/studies/{quote(name, safe='')}")
    assert answer.status_code in (200, 404, 422, 405, 307), (name, answer.text)


# -- errors --------------------------------------------------------------------------------------------------------------


def test_an_unexpected_error_is_json_with_all_headers_and_a_line_in_the_log(client, shop, monkeypatch, caplog):
    name, _ = shop

    def broken(*_):
        raise ZeroDivisionError("the secret of the machine room")

    monkeypatch.setattr(client.app.state.kitchen.shelf, "born", broken)
    with caplog.at_level(logging.ERROR):
        answer = client.get(f"/api/studies/{name}")
    assert answer.status_code == 500 and answer.headers["content-type"] == "application/json"
    assert list(answer.json()) == ["error"] and "machine room" not in answer.text and "Zero" not in answer.text
    assert answer.headers["x-frame-options"] == "DENY" and "script-src" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert "ZeroDivisionError: the secret of the machine room" in caplog.text and "Traceback" in caplog.text


def test_an_unexpected_error_of_a_fitting_process_is_in_the_log_with_its_traceback(client, shop, monkeypatch, caplog):
    name, _ = shop
    monkeypatch.setattr(jobs, "ask", divmod)  # a job that every process knows, and that takes two arguments
    with caplog.at_level(logging.ERROR):
        answer = client.post(f"/api/studies/{name}/ask")
    assert answer.status_code == 500 and list(answer.json()) == ["error"] and "divmod" not in answer.text
    assert "in a fitting process:" in caplog.text and "TypeError: divmod expected 2 arguments" in caplog.text


def test_a_length_of_thousands_of_digits_is_refused(client):
    answer = client.post("/api/studies", content=b"{}", headers={"content-length": "9" * 5000})
    assert answer.status_code == 413 and "a body may have" in answer.json()["error"]


def test_storage_errors_do_not_say_where_the_journal_is(client, shop, url, monkeypatch, caplog):
    name, _ = shop
    place = url.removeprefix("sqlite:///")

    def failing(*_):
        raise JournalError(f"SqlJournal({url!r}): unable to open database file {place}; check the path.")

    monkeypatch.setattr(client.app.state.kitchen.shelf.journal, "birth", failing)
    with caplog.at_level(logging.ERROR):
        for path in (f"/api/studies/{name}", f"/api/studies/{name}/trials", "/api/studies"):
            answer = client.get(path)
            assert place not in answer.text and "sqlite" not in answer.text and "SqlJournal" not in answer.text
            assert "the storage failed" in answer.text
    assert place in caplog.text


def test_an_error_about_a_log_says_which_event_and_not_where(client, shop, url):
    name, _ = shop
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        database.execute("UPDATE events SET body = 'broken' WHERE study = ? AND seq = 2", (name,))
        database.commit()
    client.app.state.kitchen.shelf._studies.clear()
    answer = client.get(f"/api/studies/{name}")
    assert answer.status_code == 503 and "event 2 cannot be read" in answer.text and "sqlite" not in answer.text
    listed = next(study for study in client.get("/api/studies").json()["studies"] if study["name"] == name)
    assert "event 2 cannot be read" in listed["error"] and "sqlite" not in listed["error"]
    ww.delete_study(name, journal=url)


@pytest.mark.postgres
def test_nul_in_a_path_does_not_reach_the_database(postgres):
    with TestClient(create_app(Settings(postgres, ADMIN)), raise_server_exceptions=False) as made:
        made.headers.update(bearer(ADMIN))
        for method, path in (
            ("GET", ""),
            ("GET", "/trials"),
            ("POST", "/ask"),
            ("DELETE", "/tokens"),
            ("POST", "/tokens"),
        ):
            body = {"scopes": ["read"]} if path == "/tokens" and method == "POST" else None
            answer = made.request(method, f"/api/studies/a%00b{path}", json=body)
            assert answer.status_code == 422 and "postgres" not in answer.text, answer.text
        assert made.get("/api/studies/a%0Ab").status_code == 422


# -- texts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reason", ["a\0b", "\x1b[31mred", "   ", "bell\x07", "c1\x9b", "\x7f", "half \ud800", ""], ids=ascii
)
@pytest.mark.parametrize("call", ["lose", "amend"])
def test_control_characters_in_a_reason_are_refused(client, shop, url, call, reason):
    name, _ = shop
    before = ww.SqlJournal(url).read(name)
    answer = post(client, f"/api/studies/{name}/trials/1/{call}", {"reason": reason})
    assert answer.status_code == 422 and "reason" in answer.json()["error"]
    assert len(ww.SqlJournal(url).read(name)) == len(before)


def test_a_reason_can_be_amended(client, shop):
    name, _ = shop
    assert client.post(f"/api/studies/{name}/trials/1/lose", json={"reason": "clsoed"}).json()["lost"] == "clsoed"
    answer = client.post(f"/api/studies/{name}/trials/1/amend", json={"reason": "closed"})
    assert answer.status_code == 200 and answer.json()["lost"] == "closed"
