"""A radius that the contexts seen decide: what it solves, where it ends, and what is said of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from helpers import SHOP, policy, quadratic

import windward as ww
from windward.basics import streams
from windward.objectives.confidence import DRAWS, lower_bound, root
from windward.objectives.radii import solved_of
from windward.present import records
from windward.present.sentences import advice

DIVERGENCES = (ww.TotalVariation(), ww.ChiSquare(), ww.KullbackLeibler(), ww.MMD(0.3, 1e-6), ww.Wasserstein())
POINTS = torch.tensor([[0.0], [0.3], [0.5], [0.9]], dtype=torch.float64)
CONTEXTS = ww.Contexts(POINTS, torch.tensor([0.4, 0.3, 0.3, 0.0], dtype=torch.float64))
F = torch.tensor([3.0, 2.0, 4.0, 1.0], dtype=torch.float64)


@pytest.mark.parametrize("divergence", DIVERGENCES, ids=repr)
def test_the_root_is_where_the_worst_case_is_the_bound(divergence):
    mean = float(CONTEXTS.weights @ F)
    for least in (mean - 0.01, mean - 0.5):
        radius, how = root(divergence.on(CONTEXTS), F, CONTEXTS.weights, least)
        assert how == "root" and radius > 0
        assert float(divergence.worst_case(F, CONTEXTS, radius).value) == pytest.approx(least, abs=1e-5)
    # Nothing to guard against: the bound is above the average, or the values are all the same.
    assert root(divergence.on(CONTEXTS), F, CONTEXTS.weights, mean + 0.1) == (0.0, "root")
    assert root(divergence.on(CONTEXTS), torch.full_like(F, 3.0), CONTEXTS.weights, 2.0) == (0.0, "constant")


@pytest.mark.parametrize("divergence", DIVERGENCES, ids=repr)
def test_without_a_root_it_is_the_least_radius_of_the_minimum(divergence):
    radius, how = root(divergence.on(CONTEXTS), F, CONTEXTS.weights, 0.5)
    low = 2.0 if divergence.steep else 1.0  # these two never leave the contexts seen
    assert how == "minimum"
    assert float(divergence.worst_case(F, CONTEXTS, radius).value) == pytest.approx(low, abs=1e-5)
    assert float(divergence.worst_case(F, CONTEXTS, 0.9 * radius).value) > low + 1e-3


def test_the_bound_leaves_each_context_out_of_the_choice_that_it_judges():
    generator = torch.Generator().manual_seed(0)
    values = torch.rand(7, 6, generator=generator, dtype=torch.float64)
    mass, places = torch.tensor([0.8, 0.8, 0.8, 0.8, 0.5, 0.5]).double(), torch.tensor([0, 1, 1, 2, 4, 5])
    best, least = lower_bound(values, ww.Unknown(mass, places, unseen=2), 0.9)
    judged = []
    for left in range(4):
        others = [row for row in range(4) if row != left]
        scores = [sum(float(values[x, places[row]]) for row in others) for x in range(7)]
        judged.append(float(values[scores.index(max(scores)), places[left]]))
    totals = values[:, places[:4]].sum(1)
    assert best == int(totals.argmax())
    average = sum(judged) / 4
    every = [*judged, *(min(float(values[best, place]), average) for place in (4, 5))]
    shares = torch._standard_gamma(mass.expand(DRAWS, -1).contiguous(), generator=streams.fixed())
    drawn = (shares / shares.sum(1, keepdim=True)) @ torch.tensor(every, dtype=torch.float64)
    assert least == pytest.approx(float(drawn.quantile(0.1)))
    assert least < float(values[best, places[:4]].mean())
    # What a single context says of others is nothing.
    assert lower_bound(values, ww.Unknown(mass[:1], places[:1]), 0.9)[1] == -math.inf


def shop(divergence=DIVERGENCES[0], level=0.9, *, rounds=9, **parts):
    robust = policy(
        context_model=ww.KernelDensity(16, 8), objective=ww.Robust(divergence, ww.Confidence(level)), **parts
    )
    study = ww.Study(SHOP, replace(robust, objective=ww.Expected()), name="shop")
    study.run(quadratic, rounds, progress=False)  # what the results were asked for does not matter
    study.use(robust)
    return study


@pytest.mark.parametrize("divergence", [*DIVERGENCES, ww.MMD("fitted")], ids=repr)
def test_one_radius_for_the_ask_and_the_recommendation(divergence, monkeypatch):
    study, solved = shop(divergence), []
    solve = ww.Confidence.solved
    monkeypatch.setattr(ww.Confidence, "solved", lambda *given: solved.append(solve(*given)) or solved[-1])
    study.ask()
    found = study.recommend()
    assert len(solved) == 2  # each fits anew: the ask from the last fit, the recommendation from nothing
    assert solved[0].radius == pytest.approx(solved[1].radius, rel=1e-3)
    assert found.radius.value == solved[1].radius > 0 and found.radius.contexts == 9
    assert records.recommendation(found)["radius"]["confidence"] == 0.9
    fixed = replace(study.policy, objective=ww.Robust(divergence, found.radius.value))
    study.use(fixed)
    assert study.recommend().value == pytest.approx(found.value) and study.recommend().radius is None


def test_more_contexts_leave_less_open_and_more_confidence_more():
    radii = [shop(rounds=rounds).recommend().radius.value for rounds in (6, 40)]
    assert radii[1] < 0.5 * radii[0]
    assert shop(level=0.99).recommend().radius.value > shop(level=0.6).recommend().radius.value


def test_it_is_said_in_words_and_goes_to_the_log_and_back():
    study = shop()
    said = " ".join(advice(study, study.recommend()))
    assert "even if the contexts are as bad as the 9 values of demand seen leave open, with 90 % confidence" in said
    again = ww.from_json(ww.to_json(study.policy))
    assert again == study.policy and again.objective.radius == ww.Confidence(0.9)
    assert study.replay(study.ask().id)


def test_under_a_forecast_it_is_what_the_forecast_leaves_open():
    objective = ww.Robust(ww.TotalVariation(), ww.Confidence(0.9))
    study = ww.Study(SHOP, policy(context_model=ww.Empirical(20), objective=objective), name="shop")
    for id in range(24):  # the higher the demand the worse, whatever the order
        demand, order = (7 * id % 24 + 0.5) / 24, (5 * id % 24) / 24
        study.add({"order": order}, -10 * demand - (order - 0.5) ** 2, context={"demand": demand})

    def found(low, high):
        return study.recommend(context={"demand": ww.Forecast(quantiles={0.1: low, 0.9: high})})

    # A good or a bad forecast is no reason for a larger or a smaller ball: how far it may be wrong is.
    calm, good, bad = study.recommend(), found(0.05, 0.15), found(0.85, 0.95)
    assert {one.radius.how for one in (calm, good, bad)} == {"root"}
    assert 0.05 < bad.radius.value < 0.4 and 0.05 < good.radius.value < 0.4
    assert bad.value < calm.value < good.value
    asked = study.ask(context={"demand": ww.Forecast(quantiles={0.1: 0.85, 0.9: 0.95})})
    assert study.replay(asked.id).decision == asked.decision


def test_what_has_no_root_is_said():
    class Flat:
        def __call__(self, suggestion):
            return ww.Result(float(suggestion.decision["order"]), context={"demand": 0.1 * suggestion.id})

    study = ww.Study(SHOP, policy(context_model=ww.Empirical(4), objective=shop().policy.objective), name="flat")
    for id in range(8):
        study.add({"order": id / 8}, 1.0, context={"demand": 0.1 * id})
    found = study.recommend()
    assert found.radius.how == "constant" and found.radius.value == 0.0
    assert "The contexts make no difference to the best average decision" in " ".join(advice(study, found))
    study = ww.Study(SHOP, policy(context_model=ww.Empirical(4), objective=shop().policy.objective), name="one")
    for id in range(3):
        study.add({"order": 0.2 + 0.3 * id}, 1.0 - (0.2 + 0.3 * id - 0.4) ** 2, context={"demand": 0.4})
    study.add({"order": 0.4}, 0.2, context={"demand": 0.8})
    assert study.recommend(context={"demand": 0.4}).radius.how == "known"


def test_a_radius_that_cannot_be_solved_is_refused():
    robust = ww.Robust(ww.TotalVariation(), ww.Confidence(0.9))
    for model in (ww.NoContext(), ww.Known({"demand": [0.1, 0.9]}), ww.Box()):
        with pytest.raises(ww.IncompatibleError, match=r"solved from the contexts seen.*KernelDensity\(\)"):
            ww.Study(SHOP, policy(context_model=model, objective=robust))
    with pytest.raises(ww.IncompatibleError, match="and the space has none; declare a context"):
        ww.Study(ww.Space({"order": ww.Real(0, 1)}), policy(objective=robust))
    with pytest.raises(ww.IncompatibleError, match="none are learnt from"):
        ww.Study(SHOP, policy(context_model=ww.Box(), report=ww.Report(robust)))
    with pytest.raises(ww.ArgumentError, match=r"MidpointRobust\(radius=Confidence\(level=0.9\)\)"):
        ww.MidpointRobust(ww.MMD(0.3, 1e-6), ww.Confidence(0.9))
    with pytest.raises(ww.IncompatibleError, match="solved for a divergence"):
        robust.bind(ww.Situation(CONTEXTS, believed=object()))


def test_it_stands_in_a_tradeoff_and_in_a_report():
    tradeoff = ww.Tradeoff(ww.TotalVariation(), ww.Confidence(0.8))
    study = ww.Study(SHOP, policy(objective=tradeoff, belief=ww.Thompson()), name="trade")
    study.run(quadratic, 7, progress=False)
    assert study.recommend().radius.confidence == 0.8
    study.use(policy(report=ww.Report(objective=ww.Robust(ww.Wasserstein(), ww.Confidence(0.7)))))
    found = study.snapshot().assessment("study.recommend")
    assert solved_of(found.policy.reported).confidence.level == 0.7 and study.ask()
