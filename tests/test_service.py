"""The service: what each call does, and how it goes on when storage or a process fails."""

from __future__ import annotations

import threading
import time

import pytest
from fastapi.testclient import TestClient
from service_helpers import ADMIN, SHOP, bearer, log

import windward as ww
from windward.basics.errors import ArgumentError, JournalError
from windward.present.plots import FIGURES
from windward.service import fits as fits_module
from windward.service.app import create_app
from windward.service.run import check_binding
from windward.service.settings import Settings, is_loopback


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
    assert 0 <= found["decision"]["order"] <= 1 and "The first guess is order" in found["sentences"][2]
    assert sum(found["adversary"]) == pytest.approx(1.0) and len(found["contexts"]) == len(found["reference"])
    given = client.get(f"{base}/recommendation", params={"context": '{"demand": 0.5}'}).json()
    assert given["contexts"] == [{"demand": 0.5}]
    for kind in sorted(FIGURES.keys() - {"check", "importance", "effects"}):  # these need more results
        figure = client.get(f"{base}/figures/{kind}").json()
        assert figure["data"] and figure["layout"]["meta"]["caption"]
    report = client.get(f"{base}/report")
    assert report.status_code == 200 and "What to do now" in report.text
    assert "attachment" in report.headers["content-disposition"]


def test_the_model_is_checked(client, shop, url):
    name, tokens = shop
    base, reader = f"/api/studies/{name}", bearer(tokens["read"])
    few = client.get(f"{base}/check", headers=reader)
    assert (
        few.status_code == 409 and "1 result has arrived; a check of the model needs at least 8" in few.json()["error"]
    )
    assert client.get(f"{base}/figures/check").status_code == 409
    study = ww.Study.open(name, journal=url)
    rows = [(place / 11, place * 7 % 12 / 11) for place in range(12)]
    study.add_many([ww.Past({"order": a}, 1.0 - (a - b) ** 2, {"demand": b}) for a, b in rows])
    found = client.get(f"{base}/check", headers=reader).json()
    assert found["revision"] == study.revision and len(found["trials"]) == 13
    assert found["sentences"] == list(study.check().sentences)
    assert found["sentences"][-1] == "With 13 results this check is rough. Look again at 20."
    assert (
        client.get(f"{base}/figures/check").json()["layout"]["meta"]["caption"].startswith("Each result was left out")
    )
    study.add({"order": 0.5}, 50.0, context={"demand": 0.5})
    assert client.get(f"{base}/check").json()["outliers"] == [15]  # kept until something is written
    assert client.get(f"{base}/check", headers=bearer("nobody")).status_code == 401


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


def test_a_fitting_process_killed_while_idle_is_replaced_and_nobody_is_told(client, shop, url):
    name, _ = shop
    for fitter in client.app.state.kitchen.fits._fitters:
        fitter._process.kill()
        fitter._process.join()
    assert client.post(f"/api/studies/{name}/ask", json={}).status_code == 201
    assert len(ww.Study.open(name, journal=url).trials) == 4


def test_too_many_waiting_fits_are_told_to_come_back(tmp_path):
    settings = Settings(f"sqlite:///{tmp_path}/few.db", ADMIN, most_waiting=1)
    with TestClient(create_app(settings), raise_server_exceptions=False) as made:
        made.headers.update(bearer(ADMIN))
        made.portal.call(hold, made.app.state.kitchen.fits)
        answer = made.post("/api/studies", json=SHOP)
        assert answer.status_code == 503 and answer.headers["retry-after"] == "2"


async def hold(fits):
    """Let one ask of some study be there."""
    fits._waiting.append(fits_module._Task(fits_module.Rank.ASK, "another", None, (), None, fits._loop.create_future()))


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


def test_a_calendar_is_known_from_the_time(client):
    calendar = {"weekday": {"part": "Calendar", "cycle": "weekday"}, "demand": {"part": "Real", "low": 0, "high": 9}}
    created = client.post("/api/studies", json={**SHOP, "name": "dated", "context": calendar})
    assert created.status_code == 201, created.text
    asked = client.post("/api/studies/dated/ask", json={"when": "2026-05-02T09:00+02:00"}).json()
    assert asked["context"] == {"weekday": "Saturday"} and asked["when"] == "2026-05-02T07:00:00+00:00"
    told = client.post(f"/api/studies/dated/trials/{asked['id']}/tell", json={"value": 1.0, "context": {"demand": 2.0}})
    assert told.json()["context"] == {"weekday": "Saturday", "demand": 2.0}
    moved = client.post("/api/studies/dated/trials/0/amend", json={"when": "2026-05-03T07:00Z"}).json()
    assert moved["context"]["weekday"] == "Sunday" and moved["when"] == "2026-05-03T07:00:00+00:00"
    assert client.post("/api/studies/dated/trials/0/reveal", json={"context": {"weekday": "Monday"}}).status_code == 409
    for path in ("recommendation", "comparison", "settled"):
        query = {"when": "2026-05-04T00:00Z", "first": '{"order": 0.1}'}
        answer = client.get(
            f"/api/studies/dated/{path}", params={k: v for k, v in query.items() if path == "comparison" or k == "when"}
        )
        assert answer.status_code == 200, answer.text
    found = client.get("/api/studies/dated/recommendation", params={"when": "2026-05-04T00:00Z"}).json()
    assert {context["weekday"] for context in found["contexts"]} == {"Monday"}
    for wrong in ("2026-05-04", "soon", "9" * 100):
        assert client.post("/api/studies/dated/ask", json={"when": wrong}).status_code == 422
        assert client.get("/api/studies/dated/recommendation", params={"when": wrong}).status_code == 422


def test_names_units_and_steps_over_http(client):
    price = {"part": "Real", "low": 2.5, "high": 6, "step": 0.05, "unit": "EUR"}
    profit = {"profit": {"part": "Maximize", "unit": "EUR"}}
    stall = {**SHOP, "name": "stall", "decision": {"price": price}, "outcomes": profit}
    created = client.post("/api/studies", json=stall)
    assert created.status_code == 201, created.text
    said = created.json()
    assert said["outcomes"] == profit and said["decision"]["price"]["step"] == 0.05 and said["direction"] == "maximize"
    found = client.post("/api/studies/stall/ask", json={}).json()
    assert found["decision"]["price"] == round(round(found["decision"]["price"] / 0.05) * 0.05, 2)
    refused = client.post("/api/studies/stall/ask", json={"fix": {"price": 3.333}})
    assert refused.status_code == 422 and "must lie on its steps of 0.05 EUR" in refused.json()["error"]
    head = client.get("/api/studies/stall/trials", params={"format": "csv"}).text.splitlines()[0]
    assert head.startswith("id,decision.price [EUR],context.demand,profit [EUR],noise [EUR]")
    file = "price [EUR],demand,profit [EUR]\n3.5,0.5,12\n3.33,0.5,11\n"
    added = client.post("/api/studies/stall/history", json={"csv": file}).json()
    assert len(added["added"]) == 2 and "lies between its steps" in added["notes"][0]
    both = {**stall, "name": "two", "direction": "minimize"}
    assert "contradict each other" in client.post("/api/studies", json=both).json()["error"]
