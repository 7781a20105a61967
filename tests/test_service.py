"""The service: what each call does, who may call it, and what hostile input gets."""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from service_helpers import ADMIN, SHOP, bearer

import windward as ww
from windward.errors import ArgumentError, JournalError
from windward.journal.database import Database
from windward.service.app import create_app
from windward.service.run import check_binding
from windward.service.settings import Settings, is_loopback
from windward.service.tokens import TokenStore

LIMIT = 100_000
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('service')}/studies.db"


@pytest.fixture(scope="module")
def client(url):
    with TestClient(create_app(Settings(url, ADMIN, largest_body=LIMIT)), raise_server_exceptions=False) as made:
        made.headers.update(bearer(ADMIN))
        yield made


@pytest.fixture
def shop(client):
    """A study of its own per test, three trials asked, one of them told."""
    name = f"shop {next(NUMBERS)}"
    made = client.post("/api/studies", json={**SHOP, "name": name})
    assert made.status_code == 201, made.text
    for _ in range(3):
        assert client.post(f"/api/studies/{name}/ask", json={}).status_code == 201
    told = client.post(f"/api/studies/{name}/trials/0/tell", json={"value": 1.5, "context": {"demand": 0.4}})
    assert told.status_code == 200, told.text
    return name, made.json()["tokens"]


def log(url, name):
    return ww.SqlJournal(url).read(name)


# -- a study's life -----------------------------------------------------------------------------------------------------


def test_bodies_as_curl_sends_them(client, shop):
    name, _ = shop
    base, form = f"/api/studies/{name}", {"content-type": "application/x-www-form-urlencoded"}
    assert client.post(f"{base}/ask").status_code == 201
    assert client.post(f"{base}/ask", content=b"", headers=form).status_code == 201
    told = client.post(f"{base}/trials/1/tell", content=b'{"value": 2, "context": {"demand": 0.5}}', headers=form)
    assert told.status_code == 200 and told.json()["value"] == 2.0
    told = client.post(f"{base}/trials/2/tell", content=b'{"value": 3}')  # no content type at all
    assert told.status_code == 200 and told.json()["value"] == 3.0
    assert told.json()["missing_context"] == ["demand"]
    counts = client.get(base).json()["counts"]
    assert (counts["told"], counts["arrived"], counts["awaiting_context"]) == (3, 2, 1)
    assert client.post(f"{base}/trials/2/tell", content=b"value=3", headers=form).status_code == 400


def test_errors_advise_requests(client, shop):
    name, _ = shop
    path = f"/api/studies/{name.replace(' ', '%20')}"
    said = client.post(f"{path}/trials/0/tell", json={"value": 99}).json()["error"]
    assert said.endswith(f'to correct it use POST {path}/trials/0/amend with {{"value": 99.0}}.')
    said = client.post(f"{path}/trials/1/amend", json={"context": {"demand": 0.5}}).json()["error"]
    assert said.endswith(f'use POST {path}/trials/1/reveal with {{"context": {{"name": ...}}}}.')
    said = client.post("/api/studies", json={**SHOP, "name": name}).json()["error"]
    assert f"continue it with POST {path}/ask, or" in said


def test_a_whole_round(client, shop):
    name, _ = shop
    base = f"/api/studies/{name}"
    assert client.post(f"{base}/trials/1/reveal", json={"context": {"demand": 0.7}}).json()["context"] == {
        "demand": 0.7
    }
    assert client.post(f"{base}/trials/1/tell", json={"value": 2, "noise": 0.1}).json()["value"] == 2.0
    assert client.post(f"{base}/trials/2/lose", json={"reason": "closed"}).json()["lost"] == "closed"
    assert client.post(f"{base}/trials/1/amend", json={"value": 0.2}).json()["value"] == 0.2
    status = client.get(base).json()
    counts = {"trials": 3, "told": 2, "pending": 0, "lost": 1, "arrived": 2, "awaiting_context": 0}
    assert status["counts"] == counts
    rows = client.get(f"{base}/trials").json()["trials"]
    assert [row["value"] for row in rows] == [1.5, 0.2, None]
    assert [row["id"] for row in client.get(f"{base}/trials", params={"after": 0, "limit": 1}).json()["trials"]] == [1]
    csv = client.get(f"{base}/trials", params={"format": "csv"}).text.splitlines()
    assert csv[0].startswith("id,decision.order,context.demand,value") and len(csv) == 4
    late = client.post(f"{base}/trials/2/tell", json={"value": -1.0, "context": {"demand": 0.1}})
    assert late.json()["state"] == "told"  # a webhook, weeks after it was given up


def test_recommendation_figures_and_report(client, shop):
    name, _ = shop
    base = f"/api/studies/{name}"
    client.post(f"{base}/trials/1/tell", json={"value": 0.5, "context": {"demand": 0.8}})
    found = client.get(f"{base}/recommendation").json()
    assert 0 <= found["decision"]["order"] <= 1 and found["sentences"][0].startswith("Set order to ")
    assert sum(found["adversary"]) == pytest.approx(1.0) and len(found["contexts"]) == len(found["reference"])
    given = client.get(f"{base}/recommendation", params={"context": '{"demand": 0.5}'}).json()
    assert given["contexts"] == [{"demand": 0.5}]
    for kind in ("landscape", "history", "contexts", "price", "delays"):
        figure = client.get(f"{base}/figures/{kind}").json()
        assert figure["data"] and figure["layout"]["meta"]["caption"]
    report = client.get(f"{base}/report")
    assert report.status_code == 200 and "What to do now" in report.text
    assert "attachment" in report.headers["content-disposition"]


def test_the_journal_is_the_librarys_own(client, shop, url):
    name, _ = shop
    study = ww.Study.open(name, journal=url)
    study.tell(1, 0.25, context={"demand": 0.5})  # another process tells
    row = client.get(f"/api/studies/{name}/trials").json()["trials"][1]
    assert row["value"] == 0.25
    assert study.replay(2).decision == study.trials[2].decision


def test_idempotency_keys(client, shop, url):
    name, _ = shop
    base, key = f"/api/studies/{name}", {"Idempotency-Key": "order-17"}
    first = client.post(f"{base}/ask", json={}, headers=key)
    again = client.post(f"{base}/ask", json={}, headers=key)
    assert first.json() == again.json() and first.json()["id"] == 3
    assert client.post(f"{base}/ask", json={"fix": {"order": 0.5}}, headers=key).status_code == 409
    tell = {"Idempotency-Key": "webhook-1"}
    assert client.post(f"{base}/trials/1/tell", json={"value": 3.0}, headers=tell).status_code == 200
    assert client.post(f"{base}/trials/1/amend", json={"value": 4.0}).status_code == 200
    repeated = client.post(f"{base}/trials/1/tell", json={"value": 3.0}, headers=tell)
    assert repeated.status_code == 200 and repeated.json()["value"] == 4.0  # the call counts once, the amendment stays
    assert client.post(f"{base}/trials/1/tell", json={"value": 3.0}).status_code == 409
    assert client.post(f"{base}/trials/2/tell", json={"value": 3.0}, headers=tell).status_code == 409
    assert len(log(url, name)) == 1 + 4 + 2 + 2  # created, four asked, context and value, told and amended


def test_many_tells_of_one_batch_are_decided_one_by_one(client, shop, url):
    name, _ = shop
    answers = [None] * 8

    def tell(place):
        body = {"value": float(place), "context": {"demand": 0.5}}
        answers[place] = client.post(f"/api/studies/{name}/trials/{place}/tell", json=body).status_code

    threads = [threading.Thread(target=tell, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [409, 200, 200, 404, 404, 404, 404, 404]  # 0 was told 1.5, 3 and above were never asked
    assert [trial.value for trial in ww.Study.open(name, journal=url).trials] == [1.5, 1.0, 2.0]


# -- who may do what ----------------------------------------------------------------------------------------------------


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
    store, lost = TokenStore(f"sqlite:///{tmp_path}/tokens.db", ADMIN), []
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


# -- hostile input ------------------------------------------------------------------------------------------------------

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def wrong_bodies():
    tell = "/trials/1/tell"
    yield "NaN", tell, b'{"value": NaN}', 400
    yield "Infinity", tell, b'{"value": -Infinity}', 400
    yield "1e400", tell, b'{"value": 1e400}', 400
    yield "NaN in a context", tell, b'{"value": 1.0, "context": {"demand": NaN}}', 400
    yield "1e200", tell, b'{"value": 1e200}', 422
    yield "a huge whole number", tell, b'{"value": 1.0, "context": {"demand": ' + b"9" * 400 + b"}}", 422
    yield "a number of 5000 digits", tell, b'{"value": ' + b"9" * 5000 + b"}", 400
    yield "text for a number", tell, b'{"value": "1.0"}', 422
    yield "true for a number", tell, b'{"value": true}', 422
    yield "null", tell, b'{"value": null}', 422
    yield "an unknown field", tell, b'{"value": 1.0, "admin": true}', 422
    yield "an unknown context", tell, b'{"value": 1.0, "context": {"<b>": 1}}', 422
    yield "nothing", tell, b"", 422
    yield "no JSON", tell, b"{", 400
    yield "no UTF-8", tell, b'{"value": "\xff"}', 400
    yield "endless nesting", tell, b"[" * 50_000, 400
    yield "a list", tell, b"[1]", 422
    yield "a lone surrogate", "/trials/1/lose", b'{"reason": "\\ud800"}', 422
    yield "an empty reason", "/trials/1/lose", b'{"reason": ""}', 422
    yield "an unknown trial", "/trials/99/tell", b'{"value": 1.0}', 404
    yield "a trial below 0", "/trials/-1/tell", b'{"value": 1.0}', 422
    yield "a trial of text", "/trials/1%3BDROP%20TABLE%20events/tell", b'{"value": 1.0}', 422
    yield "a second value", "/trials/0/tell", b'{"value": 9.0}', 409
    yield "a decision out of bounds", "/ask", b'{"fix": {"order": 7}}', 422


@pytest.mark.parametrize(("label", "path", "body", "status"), list(wrong_bodies()), ids=lambda value: str(value)[:24])
def test_wrong_bodies_get_the_right_status_and_change_nothing(client, shop, url, label, path, body, status):
    name, _ = shop
    before = len(log(url, name))
    headers = {"content-type": "application/json"}
    answer = client.post(f"/api/studies/{name}{path}", content=body, headers=headers)
    assert answer.status_code == status, f"{label}: {answer.text}"
    assert answer.json()["error"]
    assert len(log(url, name)) == before


def test_ten_megabytes_are_refused(client, shop, url):
    name, _ = shop
    before = len(log(url, name))
    path = f"/api/studies/{name}/trials/1/tell"
    body = b'{"value": 1.0, "context": {"demand": "' + b"x" * 10_000_000 + b'"}}'
    assert client.post(path, content=body, headers={"content-type": "application/json"}).status_code == 413

    def pieces():  # no content-length to believe
        for start in range(0, len(body), 100_000):
            yield body[start : start + 100_000]

    assert client.post(path, content=pieces(), headers={"content-type": "application/json"}).status_code == 413
    assert len(log(url, name)) == before


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "a/b", "..", ".", " ", "", "x" * 201, "a\0b", "a\nb", "..\\up", "\ud800"],
    ids=repr,
)
def test_names_that_are_paths_are_refused(client, name):
    body = json.dumps({**SHOP, "name": name}).encode()  # escaped: half a surrogate pair is no UTF-8
    answer = client.post("/api/studies", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert name not in [study["name"] for study in client.get("/api/studies").json()["studies"]]


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fetc/passwd",
        "/page.js/../../x",
        "/page.css%00.html",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/windward/pages/report.html",
        "/api/studies/..%2f..%2fetc%2fpasswd",
        "/api/studies/%00",
    ],
)
def test_path_tricks_lead_nowhere(client, path):
    answer = client.get(path)
    assert answer.status_code in (404, 422), answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize("name", ["x'; DROP TABLE events; --", 'x" OR "1"="1', "x' UNION SELECT hash FROM tokens --"])
def test_sql_in_a_name_is_a_name(client, url, name):
    assert client.get(f"/api/studies/{name}").status_code == 404
    assert client.post("/api/studies", json={**SHOP, "name": name}).status_code == 201
    assert client.get(f"/api/studies/{name}").json()["name"] == name
    assert [event.kind for event in log(url, name)] == ["created"]


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ({"part": "os.system", "command": "true"}, "unknown part 'os.system'"),
        ({"part": "Policy", "context_model": {"part": "subprocess.Popen", "args": ["true"]}}, "unknown part"),
        ({"part": "Policy", "context_model": {"part": "Empirical", "evil": 1}}, "no field 'evil'"),
        ({"part": "Real", "low": 0, "high": 1}, "is no policy"),
        ({"method": "__import__"}, "unknown method"),
        ({"method": "_known", "call": "x"}, "unknown method"),
        ({"method": "drbqo"}, "missing a required argument"),
        ({"method": "sbo_kde", "samples": -1}, "must be >= 1"),
        ({"method": "gp_ucb_sdf", "worst": {"a": 1}, "patience": 3}, "must be a number"),
        ({}, "give either a method"),
        ({"part": "Policy", "context_model": {"part": "Grid", "count": 10**9}}, "at most 100000"),
        ({"method": "sbo_kde", "samples": 10**30}, "at most 100000"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_policies_are_parts_never_code(client, policy, says):
    answer = client.post("/api/studies", json={**SHOP, "name": "bad policy", "policy": policy})
    assert answer.status_code == 422 and says in answer.json()["error"]
    assert client.get("/api/studies/bad policy").status_code == 404


@pytest.mark.parametrize(
    "change",
    [
        {"decision": {}},
        {"decision": {"order": {"part": "Real"}}},
        {"decision": {"order": 5}},
        {"decision": {f"x{n}": {"part": "Real", "low": 0, "high": 1} for n in range(300)}},
        {"decision": {"order": {"part": "Categorical", "choices": [str(n) for n in range(500)]}}},
        {"decision": {"or\ud800der": {"part": "Real", "low": 0, "high": 1}}},
        {"context": {"\udfff": {"part": "Real", "low": 0, "high": 1}}},
        {"decision": {"order": {"part": "Categorical", "choices": ["rail", "\ud800"]}}},
        {"seed": -1},
        {"seed": 1.5},
        {"direction": "sideways"},
        {"constraints": [{"part": "Linear", "coefficients": {"order": 1}, "upper": -5}]},
        {"constraints": {"part": "Linear"}},
    ],
    ids=lambda value: str(value)[:40],
)
def test_spaces_that_do_not_fit_are_refused(client, change):
    text = json.dumps({**SHOP, "name": "bad space", **change})  # ASCII: half a surrogate pair is written as an escape
    answer = client.post("/api/studies", content=text, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert client.get("/api/studies/bad space").status_code == 404


def test_script_in_names_and_labels_is_text(client, url):
    name = SCRIPT.replace("/", "|")
    space = {
        "decision": {SCRIPT: {"part": "Categorical", "choices": [SCRIPT, "</script>"]}},
        "context": {"<b>sky</b>": {"part": "Categorical", "choices": ["<i>sun</i>", "rain"]}},
    }
    made = client.post("/api/studies", json={**SHOP, **space, "name": name, "policy": {"method": "erbo"}})
    assert made.status_code == 201, made.text
    for id, sky in enumerate(("<i>sun</i>", "rain", "rain")):
        assert client.post(f"/api/studies/{name}/ask", json={}).status_code == 201
        body = {"value": float(id), "context": {"<b>sky</b>": sky}}
        assert client.post(f"/api/studies/{name}/trials/{id}/tell", json=body).status_code == 200
    report = client.get(f"/api/studies/{name}/report").text
    assert "<script>alert" not in report and "<img src=x" not in report and "<b>sky" not in report
    assert "&lt;script&gt;alert(1)" in report
    for kind in ("landscape", "history", "contexts", "delays"):
        figure = client.get(f"/api/studies/{name}/figures/{kind}")
        assert "<script>" not in figure.text and "<b>sky" not in figure.text and "<i>sun" not in figure.text
        assert figure.headers["content-type"] == "application/json"


def test_headers_for_the_browser(client):
    for path in ("/", "/page.js", "/page.css", "/plotly.js", "/api/studies", "/nowhere", "/openapi.json"):
        headers = client.get(path).headers
        assert "script-src 'self';" in headers["content-security-policy"] and "unsafe-eval" not in str(headers)
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] in ("no-store", "no-cache", "max-age=86400")
        assert "server" not in headers and "access-control-allow-origin" not in headers
    assert client.get("/docs").status_code == 404  # it would load scripts from elsewhere
    assert "http" not in client.get("/").text.replace("http-equiv", "")  # no asset from elsewhere
    assert client.get("/page.js", headers={"accept-encoding": "gzip"}).headers["content-encoding"] == "gzip"


# -- how it runs --------------------------------------------------------------------------------------------------------


def test_health_and_lost_storage(tmp_path):
    path = tmp_path / "gone.db"
    with TestClient(create_app(Settings(f"sqlite:///{path}", ADMIN)), raise_server_exceptions=False) as made:
        assert made.get("/health").json()["status"] == "ok"
        made.app.state.kitchen.tokens.close()
        for each in tmp_path.iterdir():
            each.unlink()
        path.mkdir()  # a folder where the file was: it cannot be opened again
        assert made.get("/health").status_code == 503
        assert made.get("/api/me", headers=bearer("ww_0_x")).status_code == 503


def test_a_fit_never_blocks_other_requests(client, url):
    slow = {**SHOP, "name": "slow", "policy": {"method": "sbo_kde"}}
    assert client.post("/api/studies", json=slow).status_code == 201
    study = ww.Study.open("slow", journal=url)
    for n in range(150):
        study.add({"order": n / 150}, float(n % 13), context={"demand": (n % 17) / 17})
    waits, done = [], threading.Event()

    def ask():
        for _ in range(3):
            assert client.post("/api/studies/slow/ask", json={}).status_code == 201
        done.set()

    asking = threading.Thread(target=ask)
    began = time.perf_counter()
    asking.start()
    while not done.is_set():
        start = time.perf_counter()
        assert client.get("/health").status_code == 200
        waits.append(time.perf_counter() - start)
    asking.join()
    taken = time.perf_counter() - began
    # Were they in one line, a health check would have waited for a whole fit, and few would have fitted in.
    assert len(waits) > 20 and sorted(waits)[len(waits) // 2] < taken / 20


def test_a_killed_fitting_process_is_replaced(client, shop, url):
    name, _ = shop
    pool = client.app.state.kitchen.fits._pool
    for process in list(pool._processes.values()):
        process.kill()
        process.join()
    statuses = [client.post(f"/api/studies/{name}/ask", json={}).status_code for _ in range(3)]
    assert statuses[-1] == 201 and set(statuses) <= {201, 503}
    assert len(ww.Study.open(name, journal=url).trials) == 3 + statuses.count(201)


def test_too_many_waiting_fits_are_told_to_come_back(tmp_path):
    settings = Settings(f"sqlite:///{tmp_path}/few.db", ADMIN, most_waiting=1)
    with TestClient(create_app(settings), raise_server_exceptions=False) as made:
        made.headers.update(bearer(ADMIN))
        made.app.state.kitchen.fits._waiting = 1
        answer = made.post("/api/studies", json=SHOP)
        assert answer.status_code == 503 and answer.headers["retry-after"] == "2"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)]  # noqa: RUF005
    + [("example.org", False), ("localhost.example.org", False), ("10.0.0.7", False), ("", False)],
)
def test_only_loopback_needs_no_chosen_token(host, loopback):
    assert is_loopback(host) is loopback
    check_binding(host, True)
    if loopback:
        check_binding(host, False)
    else:
        with pytest.raises(ArgumentError, match="WINDWARD_ADMIN_TOKEN"):
            check_binding(host, False)


@pytest.mark.parametrize("token", ["", "short", "x" * 19, "with a space in the middle", "\u00e9" * 30])
def test_weak_admin_tokens_are_refused(token):
    with pytest.raises(ArgumentError, match="at least 20 printable ASCII"):
        Settings("sqlite:///x.db", token)


def test_settings_do_not_show_their_token():
    assert ADMIN not in repr(Settings("sqlite:///x.db", ADMIN))


def test_storage_that_cannot_be_reached_is_said_at_once(tmp_path):
    with (
        pytest.raises(JournalError, match="does not exist"),
        TestClient(create_app(Settings(f"sqlite:///{tmp_path}/no/such.db", ADMIN))),
    ):
        pass
