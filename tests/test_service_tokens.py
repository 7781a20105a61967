"""Who may do what in the service: scopes, tokens, studies that are made again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa
from service_helpers import ADMIN, SHOP, bearer, log

import windward as ww
from windward.journal.database import Database
from windward.service.tokens import TokenStore


def test_scopes(client, shop):
    name, tokens = shop
    base = f"/api/studies/{name}"
    read, write = bearer(tokens["read"]), bearer(tokens["write"])
    assert client.get(base, headers=read).status_code == 200
    assert client.post(f"{base}/ask", json={}, headers=read).status_code == 403
    assert client.post(f"{base}/trials/1/tell", json={"value": 1.0}, headers=read).status_code == 403
    assert client.post(f"{base}/trials/1/tell", json={"value": 1.0}, headers=write).status_code == 200
    assert client.get("/api/studies", headers=write).status_code == 403
    assert client.post("/api/studies", json=SHOP, headers=write).status_code == 403
    assert client.get("/api/studies/other", headers=write).status_code == 403  # existing or not: not told
    assert client.get("/api/me", headers=read).json()["scopes"] == ["read"]
    another = client.post(f"{base}/tokens", json={"scopes": ["read"]})
    assert another.status_code == 201
    assert client.get(base, headers=bearer(another.json()["token"])).status_code == 200
    assert client.delete(f"{base}/tokens").json()["revoked"] == 3
    assert client.get(base, headers=read).status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {ADMIN}"},
        {"Authorization": f"Bearer {ADMIN}x"},
        {"Authorization": "Bearer ww_0123456789abcdef_secret"},
        {"Authorization": "Bearer ww_' OR 1=1 --_x"},
        {"Authorization": "Bearer ww__"},
        {"Authorization": "Bearer \xff\xfe".encode("latin1")},
    ],
)
def test_wrong_tokens(client, shop, url, header):
    name, _ = shop
    before = len(log(url, name))
    for method, path in (("GET", ""), ("POST", "/ask"), ("POST", "/trials/1/tell"), ("GET", "/report")):
        body = {"json": {"value": 1.0}} if method == "POST" else {}
        answer = client.request(method, f"/api/studies/{name}{path}", headers=header, **body)
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
    assert len(log(url, name)) == before


def test_a_stolen_half_of_a_token_opens_nothing(client, shop):
    name, tokens = shop
    mark, id, secret = tokens["write"].split("_", 2)
    for forged in (f"{mark}_{id}_{secret[:-1]}", f"{mark}_{id}_{'A' * len(secret)}", f"{mark}_{'0' * 16}_{secret}"):
        assert client.get(f"/api/studies/{name}", headers=bearer(forged)).status_code == 401


def test_a_new_study_of_an_old_name_has_new_tokens(client, shop, url):
    name, tokens = shop
    ww.delete_study(name, journal=url)
    assert client.post("/api/studies", json={**SHOP, "name": name}).status_code == 201
    assert client.get(f"/api/studies/{name}", headers=bearer(tokens["write"])).status_code == 401


def test_a_study_made_again_under_its_name_is_the_new_one(client, shop, url):
    name, _ = shop
    base = f"/api/studies/{name}"
    old = ww.Study.open(name, journal=url)
    assert client.get(f"{base}/recommendation").status_code == 200
    ww.delete_study(name, journal=url)
    assert client.get(base).status_code == 404
    again = ww.Study(old.space, old.policy, journal=url, name=name, direction="minimize")
    assert client.get(base).json()["counts"]["trials"] == 0
    assert client.post(f"{base}/ask", json={}).json()["id"] == 0
    for n in range(5):  # longer than the old one was
        again.add({"order": n / 5}, float(n), context={"demand": 0.5})
    assert [trial["value"] for trial in client.get(f"{base}/trials").json()["trials"]] == [
        None,
        0.0,
        1.0,
        2.0,
        3.0,
        4.0,
    ]
    told = client.post(f"{base}/trials/0/tell", json={"value": 7.5, "context": {"demand": 0.4}})
    assert told.status_code == 200 and client.post(f"{base}/ask", json={}).json()["id"] == 6


def test_an_answer_about_a_deleted_study_is_not_kept_for_the_next(client, shop, url):
    name, _ = shop
    old = ww.Study.open(name, journal=url)
    first = client.get(f"/api/studies/{name}/figures/history").json()
    ww.delete_study(name, journal=url)
    again = ww.Study(old.space, old.policy, journal=url, name=name)
    while again.revision < old.revision:
        again.add({"order": 0.5}, 99.0, context={"demand": 0.5})
    assert again.revision == old.revision
    assert client.get(f"/api/studies/{name}/figures/history").json() != first


def test_a_token_survives_a_connection_lost_while_it_was_committed(tmp_path, monkeypatch):
    store, lost = TokenStore(f"sqlite:///{tmp_path}/tokens.db", ADMIN, lambda name: "born"), []
    transaction = Database.transaction

    @contextmanager
    def losing(self, *, write=True):
        with transaction(self, write=write) as connection:
            yield connection
        if write and not lost:
            lost.append(True)
            raise sa.exc.OperationalError("COMMIT", {}, sqlite3.OperationalError("database is locked"))

    monkeypatch.setattr(Database, "transaction", losing)
    token = store.make("shop", ("read",))
    assert lost and store.identify(token).study == "shop"
    assert store.revoke("shop") == 1
    store.close()


def test_a_damaged_study_does_not_hide_the_others(client, shop, url):
    name, _ = shop
    made = client.post("/api/studies", json={**SHOP, "name": "damaged"})
    assert made.status_code == 201
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        database.execute("UPDATE events SET body = '{}' WHERE study = 'damaged'")
        database.commit()
    listed = {study["name"]: study for study in client.get("/api/studies").json()["studies"]}
    assert "version None" in listed["damaged"]["error"] and listed[name]["told"] == 1
    assert client.get("/api/studies/damaged").status_code == 503
    ww.delete_study("damaged", journal=url)


def test_tokens_are_hashed_at_rest(client, shop, url):
    _, tokens = shop
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        rows = database.execute("SELECT * FROM tokens").fetchall()
    text = json.dumps(rows)
    for token in (ADMIN, *tokens.values()):
        assert token not in text and token.split("_", 2)[-1] not in text
