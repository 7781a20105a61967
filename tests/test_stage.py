"""Where a study stands: what is said before there is enough to go on, and on every surface the same."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from helpers import FAST, SHOP, policy, quadratic

import windward as ww
from windward import plots
from windward.cli.main import main
from windward.present import records, sentences
from windward.present.report import report_html


def study(results=0, **rest):
    made = ww.Study(SHOP, policy(), seed=1, **rest)
    if results:
        made.run(quadratic, results, progress=False)
    return made


@pytest.mark.parametrize(
    ("results", "early", "next_one"),
    [
        (0, "it takes 6 results with their contexts, and none has come back.", "Design 1 of 4 comes next"),
        (1, "it takes 6 results with their contexts, and 1 has come back.", "Design 2 of 4 comes next"),
        (3, "it takes 6 results with their contexts, and 3 have come back.", "Design 4 of 4 comes next"),
        (5, "it takes 6 results with their contexts, and 5 have come back.", "The next decision is chosen by what"),
    ],
)
def test_too_early(results, early, next_one):
    found = study(results).stage()
    assert found.first_guess and found.sentences[0] == f"It is too early for advice: {early}"
    assert found.sentences[1].startswith(next_one) and found.designing == (results < 4)


def test_from_enough_results_on_it_is_advice():
    made = study(6, horizon=20)
    assert made.stage() == ww.Stage(6, 6, 4, 6, True, 20)
    assert made.stage().sentences == (
        "6 results have come back.",
        "The next decision is chosen by what is known.",
        "6 of 20 planned trials have been made.",
    )
    found = made.recommend()
    assert not found.first_guess and sentences.advice(made, found)[0].startswith("Set order to ")


@pytest.mark.parametrize(
    ("space", "design", "enough"),
    [
        (ww.Space({"a": ww.Real(0, 1)}), ww.Sobol(3), 4),
        (ww.Space({"a": ww.Real(0, 1)}), ww.Sobol(0), 4),
        (ww.Space({"a": ww.Real(0, 1)}, {"c": ww.Real(0, 1)}), ww.Sobol(10), 11),
        (ww.Space({f"a{i}": ww.Real(0, 1) for i in range(30)}), ww.Central(4), 20),
        (SHOP, ww.RandomDesign(), 6),
    ],
)
def test_how_many_results_it_takes(space, design, enough):
    assert ww.Study(space, policy(design=design)).stage().enough == enough


def test_a_policy_that_ignores_contexts_waits_for_none():
    found = ww.Study(SHOP, ww.Policy(context_model=ww.NoContext(), maximize=FAST, design=ww.Sobol(2))).stage()
    assert found.enough == 4 and found.sentences[0].endswith("it takes 4 results, and none has come back.")


def test_a_design_that_never_ends_and_one_that_is_over_too_soon():
    endless = ww.Study(SHOP, ww.papers.random())
    assert endless.stage().sentences[1] == "This method spreads out every decision: none is chosen by what is known."
    waiting = study()
    waiting.ask_many(4)
    assert waiting.stage().sentences[1] == "Until a result has come back, decisions are spread out to learn from."
    assert waiting.ask().reason.kind == "design"


def test_what_is_said_to_come_next_is_what_comes():
    made = study()
    for _ in range(7):
        stage, asked = made.stage(), made.ask()
        assert stage.designing == (asked.reason.kind == "design")
        if stage.designing:
            assert stage.sentences[1].startswith(f"Design {asked.reason.round} of {asked.reason.of} comes next")
        made.tell(asked.id, quadratic(asked).value, context=quadratic(asked).context)


def test_history_counts_as_results():
    made = study()
    made.add_many([ww.Past({"order": i / 9}, i / 9, {"demand": 0.5}) for i in range(10)])
    assert not made.stage().first_guess and not made.stage().designing


def test_nothing_shouts_after_two_results():
    made = study(2)
    said = sentences.advice(made, made.recommend())
    assert not any(line.startswith("Set ") for line in said)
    assert said[2] == f"The first guess is order {sentences.number(made.recommend().decision['order'])}."
    page = report_html(made)
    shouted = re.search(r'<section class="now early"><h2>What to do now</h2><p class="do">(.*?)</p>', page)
    assert shouted and shouted.group(1) == made.stage().sentences[0]
    assert "no decision is better than the recommended one" not in page
    assert "first guess: " in plots.landscape(made).to_json() and "recommended: " not in plots.landscape(made).to_json()
    empty = report_html(study())
    assert "There is no recommendation yet." in empty and "Design 1 of 4 comes next" in empty


def test_records_on_the_command_line(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/shop.db"
    monkeypatch.setenv("WINDWARD_JOURNAL", url)
    made = ww.Study(SHOP, policy(), journal=url, name="shop", seed=1)
    made.run(quadratic, 2, progress=False)
    stage = json.loads(CliRunner().invoke(main, ["status", "shop", "--json"]).stdout)["stage"]
    assert stage == records.stage(made.stage()) and stage["first_guess"] and stage["enough"] == 6
    said = CliRunner().invoke(main, ["recommend", "shop"]).stdout.splitlines()
    assert said[:2] == list(made.stage().sentences)
    assert json.loads(CliRunner().invoke(main, ["recommend", "shop", "--json"]).stdout)["first_guess"] is True


def test_over_http(client, shop):
    name, _ = shop
    base = f"/api/studies/{name}"
    stage = client.get(base).json()["stage"]
    assert stage["first_guess"] and stage["results"] == 1 and "too early" in stage["sentences"][0]
    found = client.get(f"{base}/recommendation").json()
    assert found["first_guess"] is True and found["sentences"][0] == client.get(base).json()["stage"]["sentences"][0]
