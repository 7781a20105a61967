"""What a person does to a whole study over HTTP: history from a file, notes, one trial in full, deleting."""

from __future__ import annotations

import pytest
from service_helpers import SHOP, bearer, log

FILE = "day,order,demand,profit,weather\n2026-05-01,0.4,0.5,1.5,dry\n2026-05-02,1.4,0.6,2.5,wet\n"
SAID = {"columns": {"profit": "value"}, "ignore": ["weather"], "date": "day"}


def history(client, name, csv, **more):
    return client.post(f"/api/studies/{name}/history", json={"csv": csv, **more})


def test_a_preview_says_what_was_understood_and_adds_nothing(client, shop, url):
    name, _ = shop
    before = len(log(url, name))
    found = history(client, name, FILE, preview=True).json()
    assert found["unknown"] == ["day", "profit", "weather"] and found["missing"] == ["value"] and found["rows"] == []
    assert found["columns"] == {
        "order": "decision order",
        "demand": "context demand",
        "day": None,
        "profit": None,
        "weather": None,
    }
    found = history(client, name, FILE, preview=True, **SAID).json()
    assert (found["read"], found["new"], found["already_there"], found["problems"]) == (2, 2, 0, [])
    assert found["rows"][0]["date"].startswith("2026-05-01") and found["rows"][1]["decision"] == {"order": 1.4}
    assert found["notes"] == ["line 3: order = 1.4 is above 1, outside its bounds; it is kept as it is."]
    assert len(log(url, name)) == before
    done = history(client, name, FILE, **SAID).json()
    assert len(done["added"]) == 2 and done["already_there"] == 0
    assert history(client, name, FILE, preview=True, **SAID).json()["already_there"] == 2
    assert history(client, name, FILE, **SAID).json()["added"] == []
    assert len(history(client, name, FILE, again=True, **SAID).json()["added"]) == 2


def test_a_mistake_in_a_file_is_named_by_its_line_and_adds_nothing(client, shop, url):
    name, _ = shop
    before = len(log(url, name))
    bad = "order;demand;value;note;tags\n0,4;0,5;1,5;as usual;\n0,4;much;1\n0.4;0,5;1;;\n0,2;0,5;;;\n0,3;0,5;2;;wet, cold\n"
    found = history(client, name, bad, preview=True).json()
    assert [one["line"] for one in found["problems"]] == [3, 4]
    assert "more or fewer cells" in found["problems"][0]["what"]
    assert "'0.4' has a point" in found["problems"][1]["what"]
    assert (found["read"], found["without_value"]) == (2, 1)
    refused = history(client, name, bad)
    assert refused.status_code == 422
    said = refused.json()["error"]
    assert said.startswith("line 3: ") and said.endswith("Nothing was added. 1 more line cannot be read.")
    assert len(log(url, name)) == before
    done = history(client, name, bad, leave_out=True).json()
    assert len(done["added"]) == 2 and done["left_out"] == 2
    rows = client.get(f"/api/studies/{name}/trials", params={"after": done["added"][0] - 1}).json()["trials"]
    assert [(row["decision"]["order"], row["value"]) for row in rows] == [(0.4, 1.5), (0.3, 2.0)]
    assert [(row["note"], row["tags"]) for row in rows] == [("as usual", []), (None, ["wet", "cold"])]


@pytest.mark.parametrize(
    ("csv", "more", "says"),
    [
        ("order,value\n1,2\n", {}, "there is no column 'demand'"),
        ("order,demand,value,x\n1,1,2,3\n", {}, 'Leave it out with "ignore": ["x"], or say what it is with "columns"'),
        ("order,demand,value\n1,1,2\n", {"columns": {"y": "value"}}, "\"columns\" names 'y', which is no column"),
        ("order,order,value\n1,1,2\n", {}, "the heading 'order' is there twice"),
        ('order,demand,value\n"1,1,2\n', {}, "cannot be read as CSV"),
        ("\n", {}, "the file is empty"),
        (",".join(f"c{n}" for n in range(1001)) + "\n1\n", {}, "it has 1001 columns; at most 1000 can be read"),
        ("order,demand,value\n" + "\n" * 20_001, {}, "more than 20000 lines"),
        ("order,demand,value\n" + "1,1,1\n" * 10_001, {"again": True}, "one upload takes 10000 rows"),
    ],
)
def test_files_that_are_no_history_are_refused(client, shop, url, csv, more, says):
    name, _ = shop
    before = len(log(url, name))
    answer = history(client, name, csv, **more)
    assert answer.status_code == 422 and says in answer.json()["error"]
    assert len(log(url, name)) == before


def test_a_file_with_half_a_character_is_refused(client, shop):
    name, _ = shop
    body = b'{"csv": "order,demand,value,\\ud800\\n1,1,1,1\\n", "preview": true}'
    answer = client.post(f"/api/studies/{name}/history", content=body)
    assert answer.status_code == 422 and "csv" in answer.json()["error"]


def test_notes_and_one_trial_in_full(client, shop):
    name, tokens = shop
    base = f"/api/studies/{name}"
    noted = client.post(f"{base}/trials/0/note", json={"note": "rained", "tags": ["wet"]}).json()
    assert (noted["note"], noted["tags"]) == ("rained", ["wet"])
    assert client.post(f"{base}/trials/0/note", json={"tags": []}).json()["note"] == "rained"
    assert client.post(f"{base}/trials/0/note", json={}).status_code == 422
    assert client.post(f"{base}/trials/0/note", json={"tags": ["a;b"]}).status_code == 422
    assert client.post(f"{base}/trials/9/note", json={"note": "x"}).status_code == 404
    full = client.get(f"{base}/trials/0", headers=bearer(tokens["read"])).json()
    assert full["value"] == 1.5 and full["story"][-1]["words"] == "Noted: rained"
    assert [row["id"] for row in client.get(f"{base}/trials", params={"text": "RAIN"}).json()["trials"]] == [0]
    found = client.get(f"{base}/trials", params={"standing": "pending", "sort": "id", "descending": True, "limit": 1})
    assert [row["id"] for row in found.json()["trials"]] == [2] and found.json()["matching"] == 2
    assert client.get(f"{base}/trials", params={"sort": "colour"}).status_code == 422
    assert client.get(f"{base}/trials", params={"standing": "gone"}).status_code == 422


def test_a_reading_token_changes_nothing(client, shop, url):
    name, tokens = shop
    before, reader = len(log(url, name)), bearer(tokens["read"])
    for path, body in (("history", {"csv": FILE}), ("trials/0/note", {"note": "x"})):
        assert client.post(f"/api/studies/{name}/{path}", json=body, headers=reader).status_code == 403
    assert client.delete(f"/api/studies/{name}?typed={name}", headers=bearer(tokens["write"])).status_code == 403
    assert len(log(url, name)) == before


def test_a_study_is_deleted_by_its_typed_name(client, shop):
    name, tokens = shop
    base = f"/api/studies/{name}"
    assert client.delete(base).status_code == 422
    refused = client.delete(base, params={"typed": "Shop"})
    assert refused.status_code == 422 and "Nothing was deleted" in refused.json()["error"]
    assert client.get(base).status_code == 200
    assert client.delete(base, params={"typed": name}).json() == {"study": name, "deleted": True, "revoked": 2}
    assert client.get(base).status_code == 404
    assert client.get(base, headers=bearer(tokens["write"])).status_code == 401
    assert client.delete(base, params={"typed": name}).status_code == 404
    assert client.post("/api/studies", json={**SHOP, "name": name}).status_code == 201
    assert client.get(base, headers=bearer(tokens["write"])).status_code == 401


def test_a_forecast_in_a_file(client, shop):
    name, _ = shop
    base = f"/api/studies/{name}"
    asked = client.post(f"{base}/ask", json={"forecast_csv": "quantile;demand\n0,1;0,2\n0,9;0,6\n"})
    assert asked.status_code == 201, asked.text
    trial = client.get(f"{base}/trials/{asked.json()['id']}").json()
    assert trial["forecast"] == [{"names": ["demand"], "quantiles": [[0.1, 0.2], [0.9, 0.6]]}]
    both = client.post(f"{base}/ask", json={"context": {"demand": 0.5}, "forecast_csv": "demand\n0.2\n"})
    assert both.status_code == 422 and "'demand' stands in the file too" in both.json()["error"]
    wrong = client.post(f"{base}/ask", json={"forecast_csv": "demand\n0.2\nmuch\n"})
    assert wrong.status_code == 422 and "line 3" in wrong.json()["error"]
