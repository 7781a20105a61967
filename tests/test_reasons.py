"""An ask explains itself: the kinds of reasons, their numbers against a second way to compute them, their sentences."""

from __future__ import annotations

import math
from dataclasses import replace

import old_logs
import pytest
import torch
from helpers import new_study, policy, quadratic

import windward as ww
from windward.beliefs.outlook import outlook, probability_below
from windward.journal.keys import suggested
from windward.objectives.protocol import Aim
from windward.present.reasons import because
from windward.present.records import suggestion as record
from windward.surrogate import Believed, Start
from windward.testing.situations import situation_of
from windward.trials.reasons import Beside, Held, Reason, reason_of

TV = ww.TotalVariation()


def played(rounds=9, *, objective=None, direction="maximize", sign=1.0, **changes):
    study = ww.Study(
        new_study().space,
        policy(objective=objective or ww.Expected(), context_model=ww.Empirical()),
        direction=direction,
        status_quo={"order": 0.2},
        **changes,
    )
    for _ in range(rounds):
        one = study.ask()
        came = quadratic(one)
        study.tell(one.id, sign * came.value, context=came.context)
    return study


def test_the_design_says_which_it_is():
    study = new_study()
    found = [study.ask() for _ in range(6)]
    assert [one.reason.kind for one in found] == ["design"] * 6
    assert [(one.reason.round, one.reason.of) for one in found] == [(turn, 4) for turn in range(1, 7)]
    assert because(found[3]) == ["Design 4 of 4: the first decisions are spread out to learn from."]
    assert because(found[5]) == [
        "Too little has come back to fit a model: decisions are still spread out to learn from."
    ]
    study = new_study()
    study.use(policy(design=ww.RandomDesign()))
    assert study.ask().reason == Reason("design", 1, None)


@pytest.mark.parametrize(
    "objective", [ww.Expected(), ww.CVaR(0.4), ww.Robust(TV, 0.3), ww.LipschitzRobust(0.1)], ids=repr
)
def test_its_numbers_are_those_of_the_posterior(objective):
    study = played(objective=objective)
    one = study.ask()
    reason = one.reason
    posterior = study.policy.surrogate.fit(study.trials.dataset, Start(replay_fit(study, one.id), keep=True))
    space, trials = study.space, study.trials
    contexts = study.policy.context_model(
        space, ww.Trials(space, trials.rows[: one.id]), space.encode_given(None), torch.Generator()
    )
    x = space.encode_decisions([one.decision])
    drawn = posterior.sample(x[0], contexts.points, 200_000, torch.Generator().manual_seed(0))
    situation = ww.Situation(contexts, trials=trials, believed=Believed(posterior))
    if not isinstance(objective, ww.LipschitzRobust):  # that one needs slopes of functions
        values = objective.bind(situation)(drawn)
        # To first order; an expectation is exact, up to the draws.
        exact = isinstance(objective, ww.Expected)
        assert reason.deviation == pytest.approx(float(values.std()), rel=0.01 if exact else 0.4)
    if isinstance(objective, ww.Expected):
        mean, deviation = posterior.average(x, contexts)
        assert reason.value == pytest.approx(float(mean)) and reason.deviation == pytest.approx(float(deviation))
        other = posterior.average(space.encode_decisions([{"order": 0.2}]), contexts)
        assert reason.status_quo.value == pytest.approx(float(other[0]))
        assert reason.status_quo.deviation == pytest.approx(float(other[1]))
    assert reason.status_quo.difference == pytest.approx(reason.value - reason.status_quo.value)


def replay_fit(study, id):
    events = study.journal.read(study.name)
    body = next(event.body for event in events if event.kind == "asked" and event.trial == id)
    fit = {name: entry for name, entry in body["fit"].items() if name != "part"}
    return ww.Hyperparameters(**{**fit, "length_scales": tuple(fit["length_scales"])})


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
def test_the_chance_of_being_worse_is_that_of_joint_samples(kernel):
    situation = situation_of(ww.Ignore(), 3)
    posterior = ww.GaussianProcess(kernel).fit(situation.trials.dataset)
    expected = ww.Expected()
    aim, pair = Aim(expected, expected.bind(situation)), torch.tensor([[0.3, 0.4], [0.45, 0.5]]).double()
    one, other = (outlook(x[None], situation, aim, posterior) for x in pair)
    gap, deviation = float(one.value - other.value), math.sqrt(float(one.variance_beside(other)))
    drawn = posterior.sample(pair, situation.contexts.points, 200_000, torch.Generator().manual_seed(1))
    differences = (drawn[:, 0] - drawn[:, 1]) @ situation.contexts.weights
    assert float(differences.mean()) == pytest.approx(gap, abs=4 * deviation / 400)
    assert float(differences.std()) == pytest.approx(deviation, rel=0.02)
    assert float((differences < 0).double().mean()) == pytest.approx(probability_below(gap, deviation), abs=0.01)


def test_many_contexts_are_not_compared_pair_by_pair():
    situation = situation_of(ww.Ignore(), 3, points=4000)
    expected, average = ww.Expected(), ww.CVaR(0.9)
    x = torch.tensor([[0.3, 0.4]]).double()
    exact = situation.posterior.average(x, situation.contexts)
    found = outlook(x, situation, Aim(expected, expected.bind(situation)), situation.posterior)
    assert float(found.value) == pytest.approx(float(exact[0]), rel=0.01)
    assert float(found.deviation) == pytest.approx(float(exact[1]), rel=0.05)
    bounded = outlook(x, situation, Aim(average, average.bind(situation)), situation.posterior)
    assert float(bounded.deviation) > float(exact[1]) and bounded.variance_beside(bounded) is None


def test_minimizing_turns_the_numbers_and_not_the_sense():
    up, down = played(), played(direction="minimize", sign=-1.0)
    one, other = up.ask().reason, down.ask().reason
    assert (one.kind, one.deviation) == (other.kind, other.deviation)
    assert one.value == -other.value and one.status_quo.difference == -other.status_quo.difference
    assert one.status_quo.worse == other.status_quo.worse


def test_what_looks_best_and_what_would_teach():
    study = played()
    study.use(policy(belief=ww.PosteriorMean(), context_model=ww.Empirical()))
    assert study.ask().reason.kind == "best"
    study.use(policy(belief=ww.UpperConfidence(50.0), context_model=ww.Empirical()))
    assert study.ask().reason.kind == "learn"


def test_it_is_in_the_log_and_comes_again(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    study = new_study(url, status_quo={"order": 0.2})
    study.run(quadratic, 6, progress=False)
    one = study.ask(key="monday")
    assert ww.Study.open("shop", journal=url).ask(key="monday").reason == one.reason
    event = study.journal.read("shop")[-1]
    assert reason_of(event.body["reason"], event.body["guards"]) == one.reason == study.replay(one.id).reason
    assert record(one)["reason"]["value"] == one.reason.value
    assert "reason" not in repr(one) and one == replace(one, reason=None)


def test_old_logs_have_no_reason(tmp_path):
    name = old_logs.NAMES[0]
    study = ww.Study.open(name, journal=old_logs.placed(name, tmp_path))
    assert study.status_quo is None and study.policy.guard == ww.NoGuard()
    body = {"decision": {"order": 1.0}, "chosen": None, "given": {}, "reason": None, "guards": [], "when": None}
    assert suggested(0, body).reason is None and because(suggested(0, body)) == []
    assert record(suggested(0, body))["reason"] is None


def test_a_reason_that_is_none_is_refused():
    with pytest.raises(ValueError, match="is no kind of reason"):
        reason_of({**Reason("design").data(), "kind": "whim"})


def said(*reason, decision=None, now=None, **fields):
    return because(ww.Suggestion(0, decision or {"price": 4.2}, None, Reason(*reason, **fields)), now)


def test_sentences():
    beside = Beside({"price": 3.8}, 12.0, 0.4, -0.9, 0.81)
    assert said("best", value=12.4, deviation=0.8) == [
        "It looks best by what is known.",
        "It is expected to bring 12.4, give or take 0.8.",
    ]
    assert said("learn", value=11.1, deviation=1.2, status_quo=beside)[1] == (
        "It is expected to bring 11.1, give or take 1.2, which is 0.9 less than the status quo, price 3.8, brings; it is "
        "worse with 81 % probability."
    )
    more = replace(beside, difference=2.0, worse=0.001)
    assert said("best", value=14.0, deviation=1.0, status_quo=more)[1].endswith(
        "which is 2 more than the status quo, price 3.8, brings; it is better with more than 99 % probability."
    )
    assert said("best", value=14.0, deviation=1.0, status_quo=replace(more, worse=None))[1].endswith("brings.")
    itself = replace(beside, difference=0.0, worse=0.0)
    assert said("best", value=12.0, deviation=0.4, status_quo=itself)[1].endswith(
        "give or take 0.4. This is the status quo."
    )
    dust = replace(beside, difference=3.9e-06, worse=0.5)
    assert said("best", value=12.0, deviation=0.4, status_quo=dust)[1].endswith(
        "which is as much as the status quo, price 3.8, brings; it is better with 50 % probability."
    )
    held = (Held("largest step", True), Held("floor", False))
    assert said("design", 2, 5, guards=held)[1] == "The largest step limits where it may be."
    assert said("best", guards=held)[1] == "The largest step binds it: without, another decision would be preferred."
    assert said("learn", guards=held[1:]) == ["It would teach most.", "The floor does not bind it."]
    assert said("status_quo", value=12.0, deviation=0.4, guards=held) == [
        "No other decision qualifies under the guards, so the status quo is asked.",
        "It is expected to bring 12, give or take 0.4.",
    ]
    assert said("design", 1, 5, decision={"price": 3.8}, now={"price": 3.8}) == [
        "Design 1 of 5: it begins with the status quo."
    ]
