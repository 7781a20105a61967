"""What hostile input gets from the service."""

from __future__ import annotations

import json

import pytest
from service_helpers import SHOP, log

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
        "/windward/present/pages/report.html",
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
        ({"method": "drbqo"}, "needs the argument 'samples'; it has samples, radius, rule"),
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
