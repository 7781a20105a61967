"""The status quo and the horizon of a study: where they are declared, what refuses them, what they change."""

from __future__ import annotations

import json

import pytest
import torch
from click.testing import CliRunner
from helpers import SHOP, new_study, policy, quadratic
from service_helpers import SHOP as SHOP_BODY

import windward as ww
from windward.cli.main import main
from windward.study.declare import declared
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest

MIXED = ww.Space(
    {"order": ww.Real(0, 10), "boxes": ww.Integer(1, 6), "route": ww.Categorical(["rail", "road"])},
    {"demand": ww.Real(0, 1)},
    [ww.Linear({"order": 1.0, "boxes": 1.0}, upper=12.0)],
)


def test_it_is_in_the_log_from_the_first_event_on(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    made = new_study(url, status_quo={"order": 0.25}, horizon=60)
    again = ww.Study.open("shop", journal=url)
    assert made.status_quo == again.status_quo == {"order": 0.25} and made.horizon == again.horizon == 60
    (created,) = again.journal.read("shop")
    assert created.body["status_quo"] == {"order": 0.25} and created.body["horizon"] == 60
    assert new_study().status_quo is None and new_study().horizon is None
    made.status_quo["order"] = 0.9  # a copy
    assert made.status_quo == {"order": 0.25}


@pytest.mark.parametrize(
    ("status_quo", "said"),
    [
        ({"order": 11.0, "boxes": 2, "route": "rail"}, r"\[0, 10\], got 11.0"),
        ({"order": 4.0, "route": "rail"}, "lacks 'boxes'; it needs 'order', 'boxes' and 'route'|lacks 'boxes'"),
        ({"order": 4.0, "boxes": 2.5, "route": "rail"}, "whole number, got 2.5"),
        ({"order": 4.0, "boxes": 2, "route": "sea"}, "one of .*'rail', 'road'"),
        ({"order": 9.0, "boxes": 6, "route": "rail"}, "order.*boxes|constraint"),
        ({"order": 4.0, "boxes": 2, "route": "rail", "prize": 1}, "unknown decision 'prize'"),
        ([4.0, 2, "rail"], "must be a dict"),
    ],
)
def test_what_is_no_decision_is_refused(status_quo, said):
    with pytest.raises(ww.SpaceError, match=said) as refused:
        ww.Study(MIXED, status_quo=status_quo)
    assert str(refused.value).startswith("Study(status_quo=...)")
    study = ww.Study(MIXED)
    with pytest.raises(ww.SpaceError, match=said):
        study.declare(status_quo=status_quo)
    assert study.revision == 1 and study.status_quo is None


@pytest.mark.parametrize("horizon", [0, -3, 1.5, True, "many"])
def test_a_horizon_is_a_whole_number(horizon):
    with pytest.raises(ww.ArgumentError, match=r"Study\(horizon="):
        new_study(horizon=horizon)
    with pytest.raises(ww.ArgumentError, match=r"study.declare\(horizon="):
        new_study().declare(horizon=horizon)


def test_it_can_be_declared_later_and_again():
    study = new_study()
    with pytest.raises(ww.ArgumentError, match="give a status_quo, such as"):
        study.declare()
    study.declare(status_quo={"order": 0.5})
    study.declare(horizon=40)
    assert study.status_quo == {"order": 0.5} and study.horizon == 40 and study.revision == 3
    study.declare(status_quo={"order": 0.5}, horizon=40)  # as it is already: no event
    assert study.revision == 3
    study.declare(status_quo={"order": 0.6})
    assert study.status_quo == {"order": 0.6} and study.horizon == 40


def test_a_study_without_one_asks_as_before_and_one_with_it_begins_there():
    plain, begun = new_study(seed=3), new_study(seed=3, status_quo={"order": 0.31})
    plain.run(quadratic, 5, progress=False)
    begun.run(quadratic, 5, progress=False)
    assert begun.trials[0].decision == {"order": 0.31}
    assert plain.trials[0].decision != begun.trials[0].decision
    # The rest of the design is what it would have been.
    assert [t.decision for t in plain.trials.rows[1:4]] == [t.decision for t in begun.trials.rows[1:4]]


def test_the_design_does_not_try_it_again():
    study = new_study(status_quo={"order": 0.31})
    study.add({"order": 0.31}, 0.5, context={"demand": 0.4})
    assert study.ask().decision != {"order": 0.31}
    study = new_study(status_quo={"order": 0.31})
    study.lose(study.ask().id, "the shop was closed")
    assert study.ask().decision == {"order": 0.31}
    assert study.ask().decision != {"order": 0.31}  # it is pending
    study = new_study(status_quo={"order": 0.31})
    assert study.ask(fix={"order": 0.8}).decision == {"order": 0.8}


def test_a_replay_goes_by_the_status_quo_of_its_time():
    study = new_study(status_quo={"order": 0.31})
    study.run(quadratic, 6, progress=False)
    before = study.ask()
    study.declare(status_quo={"order": 0.9})
    after = study.ask()
    assert before.reason.status_quo.decision == {"order": 0.31} and after.reason.status_quo.decision == {"order": 0.9}
    for suggestion in (before, after):
        again = study.replay(suggestion.id)
        assert again == suggestion and again.reason == suggestion.reason
    assert study.replay(0).decision == {"order": 0.31}


def test_parts_are_told_of_it():
    seen = []

    def radius(situation):
        seen.append((situation.status_quo, situation.horizon))
        return 0.1

    study = ww.Study(SHOP, policy(), status_quo={"order": 0.2}, horizon=9)
    snapshot = study.snapshot()
    assert snapshot.status_quo == {"order": 0.2} and snapshot.horizon == 9
    study.run(quadratic, 5, progress=False)
    own = policy(objective=ww.Robust(ww.TotalVariation(), radius))
    suggest(own, study.trials, Request(horizon=9, status_quo={"order": 0.2}), torch.Generator().manual_seed(0))
    assert ({"order": 0.2}, 9) in seen


def test_a_declaration_has_both():
    data = {**SHOP_BODY, "status_quo": {"order": 0.4}, "horizon": 30}
    found = declared(data)
    study = found.create(ww.MemoryJournal())
    assert study.status_quo == {"order": 0.4} and study.horizon == 30
    with pytest.raises(ww.SpaceError, match=r"declaration\(status_quo=...\)"):
        declared({**data, "status_quo": {"order": 7}})
    with pytest.raises(ww.ArgumentError, match="horizon"):
        declared({**data, "horizon": 0})


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setenv("WINDWARD_JOURNAL", f"sqlite:///{tmp_path}/log.db")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.toml").write_text(
        'name = "shop"\nhorizon = 30\n[decision.order]\npart = "Real"\nlow = 0\nhigh = 1\n'
        '[status_quo]\norder = 0.4\n[policy]\nmethod = "gp_ucb"\n'
    )

    def run(*words):
        return CliRunner().invoke(main, list(words), catch_exceptions=False)

    assert run("new", "shop.toml").exit_code == 0
    assert "status quo order=0.4; horizon 30 trials" in run("status", "shop").stdout
    asked = run("ask", "shop")
    assert "order=0.4" in asked.stdout and "Design 1 of 10: it begins with the status quo." in asked.stdout
    data = json.loads(run("ask", "shop", "--json").stdout)
    assert data["reason"]["kind"] == "design" and data["reason"]["round"] == 2 and data["reason"]["guards"] == []
    said = run("declare", "shop", "--status-quo", "order=0.5", "--horizon", "40")
    assert said.exit_code == 0 and said.stdout == "shop: status quo order=0.5; horizon 40 trials\n"
    told = json.loads(run("declare", "shop", "-s", "order=0.6", "--json").stdout)
    assert told == {"study": "shop", "status_quo": {"order": 0.6}, "horizon": 40}
    wrong = run("declare", "shop", "--status-quo", "order=7")
    assert wrong.exit_code == 1 and "windward declare" in wrong.stderr and "[0, 1]" in wrong.stderr
    assert json.loads(run("status", "shop", "--json").stdout)["status_quo"] == {"order": 0.6}


def test_over_http(client, shop):
    name, _ = shop
    base = f"/api/studies/{name}"
    assert client.get(base).json()["status_quo"] is None
    answer = client.post(f"{base}/declare", json={"status_quo": {"order": 0.4}, "horizon": 20})
    assert answer.status_code == 200 and answer.json()["status_quo"] == {"order": 0.4}
    assert client.get(base).json()["horizon"] == 20
    assert client.post(f"{base}/declare", json={"status_quo": {"order": 4}}).status_code == 422
    assert client.post(f"{base}/declare", json={}).status_code == 422
    asked = client.post(f"{base}/ask").json()
    assert asked["reason"]["status_quo"]["decision"] == {"order": 0.4} and "order 0.4, brings" in asked["sentences"][1]
    begun = {**SHOP_BODY, "name": f"{name} begun", "status_quo": {"order": 0.1}, "horizon": 5}
    made = client.post("/api/studies", json=begun)
    assert made.status_code == 201 and made.json()["status_quo"] == {"order": 0.1} and made.json()["horizon"] == 5
    asked = client.post(f"/api/studies/{name} begun/ask").json()
    assert asked["decision"] == {"order": 0.1} and asked["sentences"] == [
        "Design 1 of 3: it begins with the status quo."
    ]
