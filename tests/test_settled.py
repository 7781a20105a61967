"""When to stop: the probability that no decision is better by more than delta, and runs that end by it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from helpers import FAST, SHOP, policy
from test_advice import FIXED, rows, shop

import windward as ww
from windward.suggest import settled
from windward.suggest.settled import SPREAD, candidates, gap_at, share_within

TV = ww.TotalVariation()
OBJECTIVES = [
    *(ww.Expected(), ww.CVaR(0.3), ww.Robust(TV, 0.2), ww.LipschitzRobust(0.1), ww.MeanRisk(TV)),
    *(ww.Robust(ww.Wasserstein(), 0.1), ww.Satisficing(TV, 0.78)),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_it_grows_with_delta_and_is_sure_of_a_huge_one(objective):
    belief = ww.PosteriorMean() if not objective.monotone else ww.UpperConfidence()
    study = shop(objective=objective, belief=belief, surrogate=ww.GaussianProcess())
    said = [study.settled(delta) for delta in (1e-9, 0.01, 0.05, 0.2, 1.0)]
    assert said == sorted(said) and said[-1] > said[0]
    if not isinstance(objective, ww.Satisficing):  # another decision may meet the target: no delta makes up for that
        assert study.settled(1e9) == 1.0
    gaps = study.snapshot().assessment("test").gaps
    assert float(gaps.min()) >= 0.0 and study.settled(0.05) == share_within(gaps, 0.05)


def test_minimizing_is_settled_alike():
    one, other = shop(surrogate=ww.GaussianProcess()), shop(-1.0, surrogate=ww.GaussianProcess())
    assert other.settled(0.05) == pytest.approx(one.settled(0.05), abs=1e-6)


def test_the_gap_is_that_of_functions_drawn_on_all_candidates(generator, monkeypatch):
    """For an expectation with known hyper-parameters: against the maximum of independent samples of f and the contexts."""
    monkeypatch.setattr(settled, "WRONG", 0.0)  # the model is taken to be right
    found = shop().snapshot().assessment("test")
    unknowns, posterior = found.base.unknowns, found.situation.posterior
    x = candidates(found, torch.Generator().manual_seed(9))
    best = []
    for weights in unknowns.contexts.redrawn(200, generator):
        f = posterior.path(generator)
        values = f(x, unknowns.contexts.points) @ weights
        best.append(float(values.max() - values[0]))
    drawn, levels = found.gaps, torch.tensor([0.5, 0.8, 0.95], dtype=torch.float64)
    wanted = torch.tensor(best, dtype=torch.float64).quantile(levels)
    torch.testing.assert_close(drawn.quantile(levels), wanted, rtol=0.25, atol=0.003)


def test_candidates_are_feasible_and_begin_with_the_recommended_one():
    space = ww.Space(
        {"a": ww.Real(0, 1), "n": ww.Integer(0, 4), "kind": ww.Categorical(["u", "v"])},
        constraints=[ww.Linear({"a": 1.0, "n": 0.25}, upper=1.0)],
    )
    study = ww.Study(space, policy(context_model=ww.NoContext()))
    study.add_many([ww.Past({"a": 0.1 * i, "n": i % 3, "kind": "uv"[i % 2]}, float(i)) for i in range(5)])
    found = study.snapshot().assessment("test")
    x = candidates(found, torch.Generator().manual_seed(0))
    assert torch.equal(x[0], found.x) and len(x) > SPREAD
    for row in x:
        space.check_decision("test", space.decode_decision(row))  # raises where it breaks the constraint
    assert 0.0 <= study.settled(0.5) <= 1.0


def test_the_least_gap_is_the_quantile():
    drawn = torch.tensor([0.4, 0.0, 0.3, 0.1, 0.2], dtype=torch.float64)
    assert [gap_at(drawn, p) for p in (0.2, 0.5, 0.8, 0.81, 1.0)] == [0.0, 0.2, 0.3, 0.4, 0.4]
    for probability in (0.5, 0.9):
        assert share_within(drawn, gap_at(drawn, probability)) >= probability


@pytest.mark.parametrize("objective", [ww.Expected(), ww.CVaR(0.3)], ids=repr)
def test_few_results_settle_nothing_however_sure_the_model_is(objective):
    """The values hardly vary around the best, and the model knows it; that the model is right is not known."""
    certain = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (2.0, 2.0), 1.0, 1e-4))
    study = shop(objective=objective, surrogate=certain, history=rows(14))
    values = [row.value for row in rows(14)]
    apart = max(values) - min(values)
    assert study.settled(0.9 * apart) <= 1.0 - 1.0 / (14 + 2)
    assert study.settled(0.9 * apart) > 0.9  # nothing else stands against it
    assert study.settled(1.5 * apart) == 1.0


def test_more_results_settle_it():
    few, many = (shop(history=rows(count, 0.0, 1.0)).settled(0.03) for count in (6, 60))
    assert many > few + 0.1


# -- runs ----------------------------------------------------------------------------------------------------------------


def evaluate(suggestion):
    demand = 0.3 + 0.05 * (suggestion.id % 7)
    return ww.Result(1.0 - (suggestion.decision["order"] - demand) ** 2, {"demand": demand})


def test_a_run_stops_by_itself():
    study = ww.Study(SHOP, policy(), seed=1)
    study.run(evaluate, until=ww.Settled(0.05, 0.9), progress=False)
    assert 4 < len(study.trials) < 60  # after the design
    assert study.settled(0.05) >= 0.9
    study.run(evaluate, until=ww.Settled(0.05, 0.9), progress=False)  # settled already: one look for each result
    assert len(study.trials) < 64


def test_rounds_end_a_run_that_is_not_settled():
    study = ww.Study(SHOP, policy())
    study.run(evaluate, 7, until=ww.Settled(1e-12, 1.0), progress=False)
    assert len(study.trials) == 7


def scripted(monkeypatch, answers):
    """A study whose probabilities are these, one for each look; the list of deltas that were asked for."""
    asked, left = [], iter(answers)
    monkeypatch.setattr(ww.Study, "settled", lambda self, delta: asked.append(delta) or next(left))
    study = ww.Study(SHOP, replace(policy(), belief=ww.PosteriorMean(), surrogate=FIXED, maximize=FAST))
    return study, asked


@pytest.mark.parametrize(("looks", "trials"), [(1, 6), (2, 9), (3, 10)])
def test_it_must_hold_in_several_looks_in_a_row(monkeypatch, looks, trials):
    # The design has 4 trials; the first look is after the fifth.
    study, asked = scripted(monkeypatch, [0.1, 0.95, 0.2, 0.97, 0.9, 0.99, 0.0])
    study.run(evaluate, 30, until=ww.Settled(0.25, 0.9, looks), progress=False)
    assert len(study.trials) == trials and set(asked) == {0.25} and len(asked) == trials - 4


def test_without_new_results_there_is_no_new_look(monkeypatch):
    study, asked = scripted(monkeypatch, [0.0] * 30)

    def failing(suggestion):
        if suggestion.id % 2:
            raise RuntimeError("the shop was closed")
        return evaluate(suggestion)

    study.run(failing, 12, until=ww.Settled(0.25), progress=False)
    assert len(study.trials) == 12 and len(asked) == 1 + len(study.trials.arrived) - 5


def test_many_workers_stop_too(monkeypatch):
    study, _ = scripted(monkeypatch, [0.0, 0.0, *[1.0] * 30])
    with ThreadPoolExecutor(3) as executor:
        study.run(evaluate, 40, until=ww.Settled(0.25, checks=1), executor=executor, workers=3, progress=False)
    assert 6 < len(study.trials) < 16 and not study.trials.pending  # what was in flight came back


def test_history_is_settled_before_the_first_ask(monkeypatch):
    study, asked = scripted(monkeypatch, [1.0] * 9)
    study.add_many(rows())
    study.run(evaluate, 5, until=ww.Settled(0.25, looks=1, checks=0), progress=False)
    assert len(study.trials) == 14 and len(asked) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"delta": 0.0}, r"Settled\(delta=0.0\): delta must be > 0"),
        ({"delta": -1}, "delta must be > 0"),
        ({"delta": "small"}, "delta='small'"),
        ({"delta": float("nan")}, "delta=nan"),
        ({"delta": 1.0, "probability": 0.0}, "probability must be"),
        ({"delta": 1.0, "probability": 1.5}, "probability must be"),
        ({"delta": 1.0, "looks": 0}, "looks must be"),
        ({"delta": 1.0, "looks": 1.5}, "looks=1.5"),
        ({"delta": 1.0, "checks": -1}, "checks must be"),
    ],
)
def test_wrong_settings_are_refused(arguments, said):
    with pytest.raises(ww.ArgumentError, match=said):
        ww.Settled(**arguments)


@pytest.mark.parametrize("delta", [0.0, -0.5, float("nan"), float("inf"), "small", None, True])
def test_a_delta_is_above_zero(delta):
    with pytest.raises(ww.ArgumentError, match=r"study.settled\(delta="):
        shop().settled(delta)


def test_a_run_needs_rounds_or_an_end():
    study = ww.Study(SHOP, policy())
    with pytest.raises(ww.ArgumentError, match=r"rounds.*until.*Settled\(delta\)"):
        study.run(evaluate, progress=False)
    with pytest.raises(ww.ArgumentError, match="until"):
        study.run(evaluate, until=ww.Settled, progress=False)
