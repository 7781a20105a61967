"""Advice on every surface: sentences, the command line, HTTP and the report say the same of the same numbers."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from helpers import SHOP, policy
from test_advice import TV, mixed, rising, rows, shop

import windward as ww
from windward.cli.main import main
from windward.present import records, sentences
from windward.present.report import report_html

FOUND = ww.Recommendation({"order": 0.5}, 2.0, (1.0, 3.0))


def beside(probability=0.8, difference=0.25, corrected=False, first=0.3, second=0.5):
    quo = ww.Recommendation({"order": first}, 1.75, (0.5, 2.5))
    other = ww.Recommendation({"order": second}, 2.0, (1.0, 3.0))
    return ww.Comparison(quo, other, difference, (-0.125, 0.5), probability, corrected)


# -- sentences -----------------------------------------------------------------------------------------------------------


def test_what_nobody_has_tried_comes_right_after_the_decision():
    study = rising()
    found = study.recommend()
    said = sentences.advice(study, found)
    assert said[0].startswith("Set order to ") and said[1] == "No order above 0.5 has been tried."
    assert said[2].startswith("The best of the decisions that were tried is order 0.5: ")
    assert said[2].endswith("with 90 % probability).")


@pytest.mark.parametrize(
    ("beyond", "said"),
    [
        (ww.Beyond("below", "price", 3.5), "No price below 3.5 has been tried."),
        (ww.Beyond("choice", "route", "sea"), "route = sea has not been tried."),
        (ww.Beyond("together"), "Nothing near this combination has been tried."),
    ],
)
def test_each_way_of_being_far_has_a_sentence(beyond, said):
    assert sentences.warnings(mixed(), ww.Recommendation({"order": 0.5}, 2.0, (1.0, 3.0), beyond=(beyond,))) == [said]


def test_a_category_that_was_never_seen_is_named():
    study = mixed()
    assert "sky = snow has not been seen yet, so the value there is a guess." in sentences.advice(
        study, study.recommend()
    )
    two = ww.Recommendation({"order": 0.5}, 2.0, (1.0, 3.0), unseen={"sky": ("snow", "hail")})
    assert sentences.warnings(study, two) == [
        "sky = snow and sky = hail have not been seen yet, so the value there is a guess."
    ]


@pytest.mark.parametrize(
    ("function", "contexts", "said"),
    [
        (1.0, 0.1, "mostly because the results near this decision are few or noisy."),
        (1.0, 0.7, "few or noisy, and because the 14 contexts seen so far may not be typical."),
        (0.5, 0.7, "mostly because the 14 contexts seen so far may not be typical."),
        (0.5, 0.0, "between 1 and 3."),
    ],
)
def test_an_interval_says_where_it_comes_from(function, contexts, said):
    found = ww.Recommendation(
        {"order": 0.5}, 2.0, (1.0, 3.0), unknown_function=function, unknown_contexts=contexts, reference=(1.0,)
    )
    line = sentences.advised(shop(), found).interval
    assert line.startswith("With 90 % probability that figure lies between 1 and 3.") and line.endswith(said)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_average_without_the_shift(sign):
    study = shop(sign, objective=ww.Robust(TV, 0.3))
    found = study.assess({"order": 0.4})
    plain = shop(sign).assess({"order": 0.4}).value
    line = sentences.advised(study, found).interval
    stated = float(line.rsplit("estimated at ", 1)[1].rstrip("."))
    assert stated == pytest.approx(plain, abs=0.02) and sign * stated > sign * found.value


def test_the_status_quo_in_sentences():
    study = shop(status_quo={"order": 0.3})
    with_quo = ww.Recommendation({"order": 0.5}, 2.0, (1.0, 3.0), beside_status_quo=beside())
    assert sentences.advised(study, with_quo).beside == (
        "It is better than the status quo, order 0.3, with 80 % probability. Its value is expected to be 0.25 higher. "
        "With 90 % probability the difference lies between -0.125 and 0.5."
    )
    worse = beside(0.3, -0.25, corrected=True)
    line = sentences.advised(study, ww.Recommendation({"order": 0.5}, 2.0, (1.0, 3.0), beside_status_quo=worse)).beside
    assert "picked because it looked best" in line and "By this the status quo is at least as good." in line
    assert "0.25 lower" in line
    torn = beside(0.55, -0.25)  # the mean and the middle say different things
    line = sentences.advised(study, ww.Recommendation({"order": 0.5}, 2.0, (1.0, 3.0), beside_status_quo=torn)).beside
    assert line.startswith(
        "It is not clear whether it is better than the status quo, order 0.3: it is with 55 % probability, but its value is "
        "expected to be 0.25 lower. "
    )
    same = sentences.advised(study, ww.Recommendation({"order": 0.3}, 2.0, (1.0, 3.0))).beside
    assert same == "This is the status quo: nothing else looks better."
    assert sentences.advised(shop(), FOUND).beside is None


def test_a_comparison_in_sentences():
    said = sentences.compared(shop(), beside())
    assert said == [
        "The value of order 0.5 is expected to be 0.25 higher than that of order 0.3.",
        "With 90 % probability the difference lies between -0.125 and 0.5.",
        "Order 0.5 is better than order 0.3 with 80 % probability.",
    ]
    assert sentences.compared(shop(), beside(second=0.3)) == ["Both decisions are order 0.3."]
    # A fragility and a shortfall are not subtracted.
    target = shop(objective=ww.Satisficing(TV, 0.5))
    assert sentences.compared(target, beside()) == ["Order 0.5 is better than order 0.3 with 80 % probability."]
    found = ww.Recommendation({"order": 0.5}, -2.0, (-3.0, -1.0), beside_status_quo=beside())
    assert "Its value is expected" not in sentences.advised(target, found).beside


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.5, "50 %"), (0.991, "more than 99 %"), (1.0, "more than 99 %"), (0.0, "less than 1 %"), (0.99, "99 %")],
)
def test_a_probability_by_draws_is_never_certain(share, said):
    assert sentences.chance(share) == said


def test_whether_it_is_settled_in_a_sentence():
    assert sentences.settled(0.5, 0.93) == (
        "With 93 % probability no decision is better than the recommended one by more than 0.5."
    )
    assert "reaches the target" in sentences.settled(None, 0.9)


# -- records -------------------------------------------------------------------------------------------------------------


def test_records_carry_everything():
    study = rising(status_quo={"order": 0.25})
    found = study.recommend()
    data = json.loads(json.dumps(records.recommendation(found), allow_nan=False))
    assert data["interval"] == list(found.interval) and data["unknown_contexts"] == found.unknown_contexts
    assert data["unknown_function"] == found.unknown_function and data["allowed_shift"] is None
    assert data["beyond"] == [{"kind": "above", "name": "order", "limit": pytest.approx(0.5)}]
    assert data["best_tried"]["decision"] == {"order": pytest.approx(0.5)} and data["unseen"] == {}
    beside = data["beside_status_quo"]
    assert beside["first"]["decision"] == {"order": 0.25} and beside["second"]["decision"] == data["decision"]
    assert beside["probability"] == found.beside_status_quo.probability and beside["corrected"] is True
    assert records.recommendation(mixed().recommend())["unseen"] == {"sky": ["snow"]}


def test_no_difference_in_units_is_null():
    """In a third of the draws another decision meets the target and the recommended one misses it: no delta makes up."""
    history = [ww.Past({"order": o}, 0.5 + d, {"demand": d}) for o in (0.0, 0.25, 0.5, 0.75, 1.0) for d in (0.1, 0.9)]
    rough = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.1, 1.0), 1.0, 0.5))
    study = shop(
        history=history,
        objective=ww.Satisficing(TV, 1.0),
        surrogate=rough,
        context_model=ww.Known({"demand": [0.1, 0.9]}),
    )
    assert study.settled(1e9) < 0.9
    found = records.settled(study.snapshot(), None, None)
    assert found == {"delta": None, "probability": 0.9}
    json.dumps(found, allow_nan=False)
    assert sentences.settled(**found).startswith("With more than 10 % probability another decision reaches the target")


# -- the command line ----------------------------------------------------------------------------------------------------


@pytest.fixture
def journal_url(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/shop.db"
    monkeypatch.setenv("WINDWARD_JOURNAL", url)
    study = ww.Study(SHOP, policy(), journal=url, name="shop")
    study.add_many(rows())
    return url


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_compare_on_the_command_line(journal_url):
    done = run("compare", "shop", "--first", "order=0.3", "--second", "order=0.6")
    study = ww.Study.open("shop", journal=journal_url)
    found = study.compare({"order": 0.3}, {"order": 0.6})
    assert done.exit_code == 0 and done.stdout.splitlines() == sentences.compared(study, found)
    as_json = run("compare", "shop", "--first", "order=0.3", "--second", "order=0.6", "--json")
    assert json.loads(as_json.stdout) == json.loads(json.dumps(records.comparison(found)))
    given = json.loads(run("compare", "shop", "--first", "order=0.3", "-c", "demand=0.4", "--json").stdout)
    wanted = study.compare({"order": 0.3}, context={"demand": 0.4})
    assert given["difference"] == wanted.difference and given["corrected"] is True
    assert run("declare", "shop", "-s", "order=0.3").exit_code == 0
    study.sync()
    beside = run("compare", "shop")
    assert beside.stdout.splitlines() == sentences.compared(study, study.compare())
    assert "the status quo, order 0.3" in run("recommend", "shop").stdout


def test_settled_on_the_command_line(journal_url):
    study = ww.Study.open("shop", journal=journal_url)
    assert run("settled", "shop", "--delta", 0.05).stdout.strip() == sentences.settled(0.05, study.settled(0.05))
    found = json.loads(run("settled", "shop", "--json").stdout)
    assert found["probability"] == 0.9 and study.settled(found["delta"]) >= 0.9 > study.settled(0.99 * found["delta"])
    assert run("settled", "shop").stdout.strip() == sentences.settled(found["delta"], 0.9)
    assert json.loads(run("settled", "shop", "--delta", 0.05, "-c", "demand=0.4", "--json").stdout) == {
        "delta": 0.05,
        "probability": study.settled(0.05, context={"demand": 0.4}),
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "shop"], "no status quo.*windward declare shop --status-quo NAME=VALUE"),
        (["compare", "shop", "--first", "ordr=0.3"], "unknown decision 'ordr'; the study has 'order'"),
        (["compare", "shop", "--first", "order=1.5"], r"windward compare: .*\[0, 1\], got 1.5"),
        (["compare", "shop", "--first", "0.3"], "write NAME=VALUE, such as order=1.5"),
        (["compare", "shop", "--first", "order=0.3", "-c", "rain=1"], "unknown context 'rain'"),
        (["settled", "shop", "--delta", "0"], r"windward settled\(delta=0.0\): delta must be > 0"),
        (["settled", "shop", "--delta", "-1"], "delta must be > 0"),
        (["settled", "nothing"], "no study named 'nothing'"),
    ],
)
def test_wrong_words_on_the_command_line(journal_url, words, said):
    done = run(*words)
    assert done.exit_code == 1
    assert re.search(said, done.stderr), done.stderr


@pytest.mark.parametrize("command", [["compare", "empty", "--first", "order=0.3"], ["settled", "empty"]])
def test_nothing_has_arrived(journal_url, command):
    ww.Study(SHOP, policy(), journal=journal_url, name="empty")
    done = run(*command)
    assert done.exit_code == 1
    assert done.stderr.strip() == (
        f"windward: windward {command[0]}: nothing has arrived yet; tell a value (and its context) first."
    )


# -- HTTP ----------------------------------------------------------------------------------------------------------------


def test_compare_and_settled_over_http(client, shop):
    name, tokens = shop
    base = f"/api/studies/{name}"
    client.post(f"{base}/trials/1/tell", json={"value": 0.5, "context": {"demand": 0.8}})
    pair = {"first": '{"order": 0.3}', "second": '{"order": 0.6}'}
    found = client.get(f"{base}/comparison", params=pair).json()
    assert found["first"]["decision"] == {"order": 0.3} and found["second"]["decision"] == {"order": 0.6}
    low, high = found["interval"]
    assert low <= found["difference"] <= high and 0.0 <= found["probability"] <= 1.0 and found["corrected"] is False
    assert len(found["sentences"]) == 3 and found["revision"] == client.get(base).json()["revision"]
    given = client.get(f"{base}/comparison", params={**pair, "context": '{"demand": 0.4}'}).json()
    assert given["difference"] != found["difference"]
    refused = client.get(f"{base}/comparison")
    assert refused.status_code == 422 and "POST /api/studies/" in refused.json()["error"]
    assert client.post(f"{base}/declare", json={"status_quo": {"order": 0.3}}).status_code == 200
    beside = client.get(f"{base}/comparison").json()
    advised = client.get(f"{base}/recommendation").json()
    assert advised["beside_status_quo"]["difference"] == beside["difference"]
    assert {"unknown_function", "unknown_contexts", "allowed_shift", "beyond", "best_tried", "unseen"} <= set(advised)

    said = client.get(f"{base}/settled", params={"delta": 0.05}).json()
    assert said["delta"] == 0.05 and 0.0 <= said["probability"] <= 1.0
    assert said["sentences"] == [sentences.settled(0.05, said["probability"])]
    plain = client.get(f"{base}/settled").json()
    assert plain["probability"] == 0.9 and plain["delta"] > 0.0
    reader = {"authorization": f"Bearer {tokens['read']}"}
    assert client.get(f"{base}/settled", headers=reader).json() == plain  # reading is enough, and it is kept


@pytest.mark.parametrize(
    ("path", "params", "status", "said"),
    [
        ("comparison", {"first": "0.3"}, 422, "first: give a JSON object"),
        ("comparison", {"first": "{"}, 400, "first: not JSON"),
        ("comparison", {"first": '{"ordr": 0.3}'}, 422, "compare: unknown decision 'ordr'"),
        ("comparison", {"first": '{"order": 0.3}', "second": '{"order": 7}'}, 422, "must lie in"),
        ("comparison", {"first": '{"order": 0.3}', "context": '{"rain": 1}'}, 422, "unknown context 'rain'"),
        ("settled", {"delta": "0"}, 422, "delta"),
        ("settled", {"delta": "nan"}, 422, "delta"),
        ("settled", {"delta": "small"}, 422, "delta"),
        ("settled", {"context": "[]"}, 422, "context: give a JSON object"),
    ],
)
def test_wrong_requests_say_what_is_needed(client, shop, path, params, status, said):
    name, _ = shop
    answer = client.get(f"/api/studies/{name}/{path}", params=params)
    assert answer.status_code == status and said in answer.json()["error"], answer.text


def test_the_openapi_document_has_them(client):
    paths = client.get("/openapi.json").json()["paths"]
    for path, takes in (
        ("comparison", {"first", "second", "context", "when"}),
        ("settled", {"delta", "context", "when"}),
    ):
        described = paths[f"/api/studies/{{name}}/{path}"]["get"]
        assert {each["name"] for each in described["parameters"]} - {"name", "authorization"} == takes
        assert described["description"] or described["summary"]


# -- the report ----------------------------------------------------------------------------------------------------------


def test_the_report_says_how_sure_it_is():
    study = rising(status_quo={"order": 0.25}, design=ww.Sobol(3))
    page = report_html(study)
    found = study.recommend()
    said = sentences.advised(study, found)
    for line in said.warnings:
        assert f'<p class="warning">{line}</p>' in page
    assert f"<p>{said.beside}</p>" in page
    least = records.settled(study.snapshot(), None, None)
    assert f"<p>{sentences.settled(least['delta'], 0.9)}</p>" in page
    early = report_html(rising(design=ww.Sobol(20)))  # more results are to be spread out: nothing is settled yet
    assert "no decision is better than the recommended one by more than" not in early
