"""Decisions far from all that were tried: where they lie, what limits them, what the log says of them."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pydantic
import pytest
import torch
from click.testing import CliRunner
from helpers import FAST, SHOP, policy, quadratic

import windward as ww
from windward.cli.main import main
from windward.service import bodies, jobs
from windward.service.shelf import Shelf

PLANE = ww.Space({"a": ww.Real(0, 10), "b": ww.Real(1, 100, log=True)})


def study_of(space, rows, **changes):
    """A study of history, with a design of one."""
    study = ww.Study(space, replace(policy(design=ww.Sobol(1)), **changes), seed=3)
    study.add_many([ww.Past(decision, value) for decision, value in rows])
    return study


def distance(study, decision):
    """From the nearest decision before it, in the unit cube."""
    here = study.space.encode_decisions([decision])
    others = [t.decision for t in study.trials if t.state != "lost" and dict(t.decision) != dict(decision)]
    return float(torch.cdist(here, study.space.encode_decisions(others)).min())


def test_it_is_the_corner_that_is_farthest():
    study = study_of(PLANE, [({"a": 2.0, "b": 2.0}, 1.0), ({"a": 8.0, "b": 3.0}, 2.0), ({"a": 1.0, "b": 60.0}, 0.0)])
    found = study.ask(far=True)
    assert found.decision == pytest.approx({"a": 10.0, "b": 100.0})
    assert found.reason.kind == "far" and found.sentences[0].startswith("It lies far from every decision")
    assert study.trials[found.id].far and not study.trials[0].far


def test_nothing_lies_farther(generator):
    study = study_of(PLANE, [({"a": 5.0, "b": 10.0}, 1.0), ({"a": 4.0, "b": 12.0}, 1.2)])
    for _ in range(6):  # those that are pending count as tried
        before = study.trials
        found = study.ask(far=True)
        tried = study.space.encode_decisions([trial.decision for trial in before])
        anywhere = torch.rand(20_000, 2, generator=generator, dtype=torch.float64)
        farthest = float(torch.cdist(anywhere, tried).amin(1).max())
        assert distance(study, found.decision) >= farthest - 0.01


@pytest.mark.parametrize("seed", range(3))
def test_no_corner_of_many_lies_farther(seed):
    space = ww.Space({name: ww.Real(0, 1) for name in "abcdef"})
    rows = torch.rand(20, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    study = ww.Study(space, replace(ww.auto(), design=ww.Sobol(1)), seed=seed)
    study.add_many([ww.Past(dict(zip("abcdef", row.tolist(), strict=True)), float(row.sum())) for row in rows])
    corners = torch.tensor(list(itertools.product([0.0, 1.0], repeat=6)), dtype=torch.float64)
    for _ in range(3):
        tried = space.encode_decisions([trial.decision for trial in study.trials])
        farthest = float(torch.cdist(corners, tried).amin(1).max())
        assert distance(study, study.ask(far=True).decision) >= farthest - 1e-6


def test_choices_whole_numbers_and_steps():
    space = ww.Space({"kind": ww.Categorical(["u", "v", "w"]), "n": ww.Integer(0, 4), "d": ww.Real(0, 1, step=0.25)})
    rows = [({"kind": kind, "n": 2, "d": 0.5}, 1.0 + place) for place, kind in enumerate(["u", "v"])]
    study = study_of(space, rows)
    decisions = [study.ask(far=True).decision for _ in range(4)]
    assert {decision["kind"] for decision in decisions} >= {"w"}
    corners = {(decision["n"], decision["d"]) for decision in decisions[1:]}
    assert corners <= set(itertools.product([0, 4], [0.0, 1.0])) and len(corners) == 3


def test_guards_constraints_and_what_is_fixed_hold():
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, constraints=[ww.Linear({"a": 1.0, "b": 1.0}, upper=1.2)])
    study = ww.Study(space, policy(design=ww.Sobol(1), guard=ww.LargestStep(0.3)), status_quo={"a": 0.5, "b": 0.4})
    for _ in range(5):
        asked = study.ask(far=len(study.trials) > 1)
        study.tell(asked.id, asked.decision["a"])
        assert abs(asked.decision["a"] - 0.5) <= 0.3 + 1e-9 and abs(asked.decision["b"] - 0.4) <= 0.3 + 1e-9
        assert asked.decision["a"] + asked.decision["b"] <= 1.2 + 1e-9
    assert study.ask(far=True, fix={"a": 0.6}).decision["a"] == 0.6


def test_a_method_that_stays_near_the_best_goes_far_too():
    study = ww.Study(ww.Space({"a": ww.Real(0, 1)}), ww.auto(), seed=0)
    study.add_many([ww.Past({"a": a}, -((a - 0.2) ** 2)) for a in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)])
    assert study.ask(far=True).decision["a"] == 1.0
    assert study.ask().decision["a"] < 0.7


def test_what_failed_is_not_asked_again_beside_it():
    study = study_of(PLANE, [({"a": 2.0, "b": 2.0}, 1.0), ({"a": 8.0, "b": 3.0}, 2.0), ({"a": 1.0, "b": 60.0}, 0.0)])
    lost = study.ask(far=True)
    study.lose(lost.id, "it broke")
    here, there = study.space.encode_decisions([lost.decision, study.ask(far=True).decision])
    assert float((here - there).norm()) > 0.2


@pytest.mark.parametrize("objective", [ww.CVaR(0.3), ww.Robust(ww.TotalVariation(), 0.2)], ids=repr)
def test_every_objective(objective):
    study = ww.Study(SHOP, policy(objective=objective), seed=1)
    study.run(quadratic, 6, progress=False)
    found = study.ask(far=True)
    assert found.reason.kind == "far" and distance(study, found.decision) > 0.05


def test_the_design_comes_first():
    one, other = (ww.Study(SHOP, policy(), seed=5) for _ in range(2))
    assert one.ask(far=True).decision == other.ask().decision


def test_it_is_in_the_log_and_replays(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    study = ww.Study(SHOP, policy(), journal=url, name="shop", seed=2)
    study.run(quadratic, 5, progress=False)
    found = study.ask(far=True, key="look")
    assert study.replay(found.id) == found and study.replay(found.id).reason == found.reason
    again = ww.Study.open("shop", journal=url)
    assert again.trials[found.id].far and again.ask(far=True, key="look") == found
    with pytest.raises(ww.TrialError, match="this key was used for another call"):
        again.ask(key="look")


def test_an_ask_of_before_was_not_far(tmp_path):
    import sqlite3

    url = f"sqlite:///{tmp_path}/study.db"
    study = ww.Study(SHOP, policy(), journal=url, name="shop", seed=2)
    study.run(quadratic, 6, progress=False)
    last = study.ask(key="again")
    with sqlite3.connect(tmp_path / "study.db") as file:
        for seq, body in file.execute("SELECT seq, body FROM events WHERE kind = 'asked'").fetchall():
            older = {name: entry for name, entry in json.loads(body).items() if name != "far"}
            file.execute("UPDATE events SET body = ? WHERE seq = ?", (json.dumps(older), seq))
    again = ww.Study.open("shop", journal=url)
    assert not any(trial.far for trial in again.trials)
    assert again.replay(last.id) == last and again.ask(key="again") == last


@pytest.mark.parametrize("far", [None, 1, "yes"])
def test_a_flag_is_true_or_false(far):
    with pytest.raises(ww.ArgumentError, match=r"study.ask\(far="):
        ww.Study(SHOP).ask(far=far)


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///shop.db"
    study = ww.Study(SHOP, policy(), journal=url, name="shop", seed=2)
    study.run(quadratic, 5, progress=False)
    done = CliRunner().invoke(main, ["ask", "shop", "--far", "--journal", url])
    assert done.exit_code == 0 and "It lies far from every decision that was tried" in done.output
    study.sync()
    assert study.trials[5].far


def test_over_http(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    ww.Study(SHOP, policy(), journal=url, name="shop", seed=2).run(quadratic, 5, progress=False)
    said = jobs.ask(Shelf(url, 2**30, plugins=False), "shop", bodies.Ask(far=True).model_dump(), None)
    assert said["sentences"][0].startswith("It lies far") and said["reason"]["kind"] == "far"
    with pytest.raises(pydantic.ValidationError, match="far"):
        bodies.Ask(far="often")


# -- runs that check before they stop ------------------------------------------------------------------------------------


def settling(monkeypatch, answers):
    """A study whose probabilities are these, one for each look."""
    left = iter(answers)
    monkeypatch.setattr(ww.Study, "settled", lambda self, delta: next(left))
    return ww.Study(SHOP, replace(policy(), belief=ww.PosteriorMean(), maximize=FAST), seed=1)


def far_in(study):
    return [trial.id for trial in study.trials if trial.far]


def test_a_run_looks_far_before_it_stops(monkeypatch):
    study = settling(monkeypatch, [0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    study.run(quadratic, 30, until=ww.Settled(0.1, checks=3), progress=False)
    assert far_in(study) == [7, 8, 9] and len(study.trials) == 10  # 4 of the design, 3 looks, 3 checks


def test_a_check_that_changes_its_mind_is_followed(monkeypatch):
    study = settling(monkeypatch, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    study.run(quadratic, 30, until=ww.Settled(0.1, checks=2), progress=False)
    assert far_in(study) == [6, 9] and len(study.trials) == 10


def test_checks_of_before_count_and_those_that_were_lost_do_not(monkeypatch):
    study = settling(monkeypatch, [1.0] * 30)
    study.run(quadratic, 5, progress=False)
    study.tell(study.ask(far=True).id, 0.5, context={"demand": 0.4})
    study.lose(study.ask(far=True).id, "broken")
    study.run(quadratic, 30, until=ww.Settled(0.1, looks=1, checks=2), progress=False)
    assert far_in(study) == [5, 6, 7] and len(study.trials) == 8


def test_a_run_waits_for_a_check_that_is_pending(monkeypatch):
    study = settling(monkeypatch, [1.0] * 30)
    study.run(quadratic, 5, progress=False)
    study.ask(far=True)  # it never comes back
    study.run(quadratic, 6, until=ww.Settled(0.1, looks=1, checks=1), progress=False)
    assert far_in(study) == [5] and len(study.trials) == 12


def test_a_guard_that_leaves_nothing_else_does_not_keep_a_run_from_stopping(monkeypatch):
    study = settling(monkeypatch, [1.0] * 60)
    study.declare(status_quo={"order": 0.5})
    study.use(replace(study.policy, guard=ww.Floor(1000.0)))
    study.run(quadratic, 40, until=ww.Settled(0.1, checks=2), progress=False)
    assert len(study.trials) < 12 and len(far_in(study)) == 2
