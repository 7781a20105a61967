"""Late and lost results: censoring, widths and imagined values against numpy; parallel runs; every method under every delay."""

from __future__ import annotations

import math
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import torch
from helpers import SHOP, quadratic

import windward as ww
from windward import papers
from windward.feedback import Censor
from windward.surrogate import Start
from windward.trials.records import Trial
from windward.trials.trials import Trials

LINE = ww.Space({"x": ww.Real(0, 1)})
NOW = datetime(2026, 3, 1, tzinfo=UTC)
HYPER = ww.Hyperparameters(0.0, (0.3,), 1.0, 1e-2)
FAST = ww.MultiStart(screen=32, starts=2, evaluations=8)


def history(sign=1.0):
    """Seven asks an hour apart: told at once, late, very late, lost, pending, pending, told; and one from elsewhere."""
    rows = [
        {"x": 0.1, "value": 0.5, "delay": 0, "told": 0},
        {"x": 0.3, "value": 0.7, "delay": 3, "told": 3},
        {"x": 0.5, "value": 0.9, "delay": 5, "told": 5},
        {"x": 0.6, "lost": "crashed"},
        {"x": 0.8},
        {"x": 0.9},
        {"x": 0.2, "value": 0.6, "delay": 0, "told": 0},
    ]
    trials = [
        Trial(
            i,
            {"x": row["x"]},
            value=row.get("value"),
            lost=row.get("lost"),
            asked_at=NOW + timedelta(hours=i),
            told_at=NOW + timedelta(hours=i + row["told"]) if "told" in row else None,
            turn=i,
            delay=row.get("delay"),
        )
        for i, row in enumerate(rows)
    ]
    trials.append(Trial(7, {"x": 0.45}, value=0.85, told_at=NOW))
    return Trials(LINE, tuple(trials), sign)


# worst 0.1: what each trial counts as, by patience and what becomes of late values
@pytest.mark.parametrize(
    ("patience", "late", "values"),
    [
        (3, "drop", [0.5, 0.7, 0.1, 0.1, 0.1, 0.1, 0.6, 0.85]),
        (2, "drop", [0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.6, 0.85]),
        (2, "use", [0.5, 0.7, 0.9, 0.1, 0.1, 0.1, 0.6, 0.85]),
        (timedelta(hours=3), "drop", [0.5, 0.7, 0.1, 0.1, 0.1, 0.1, 0.6, 0.85]),
        (timedelta(hours=1), "use", [0.5, 0.7, 0.9, 0.1, 0.1, 0.1, 0.6, 0.85]),
    ],
)
def test_censored_values_by_hand(patience, late, values):
    data = Censor(0.1, patience, late).dataset(history())
    assert data.y.tolist() == values and data.floor == 0.1
    assert data.x[:, 0].tolist() == [0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 0.2, 0.45]


def test_censored_posterior_and_width_against_numpy():
    """A zero-mean process of (y - worst) over its root mean square; nu = B sum sigma(x_s) + beta over the last m."""
    surrogate = ww.GaussianProcess(fixed=HYPER)
    believed = Censor(0.1, 3, "drop")(history(), surrogate, NOW + timedelta(hours=8), Start())
    y = np.array([0.5, 0.7, 0.1, 0.1, 0.1, 0.1, 0.6, 0.85]) - 0.1
    scale = math.sqrt(np.mean(y[y != 0] ** 2))
    x = np.array([0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 0.2, 0.45])

    def kernel(a, b):
        return np.exp(-0.5 * ((a[:, None] - b) / 0.3) ** 2)

    precision = np.linalg.inv(kernel(x, x) + 1e-2 * np.eye(8))
    query = np.linspace(0, 1, 5)
    mean = 0.1 + kernel(query, x) @ precision @ y
    sigma = np.sqrt(1 - np.einsum("qi,ij,qj->q", kernel(query, x), precision, kernel(query, x)))
    found = believed.posterior.marginals(torch.from_numpy(query)[:, None], torch.zeros(1, 0, dtype=torch.float64))
    assert np.abs(found[0][:, 0].numpy() - mean).max() < 1e-9
    assert np.abs(found[1][:, 0].numpy() - sigma * scale).max() < 1e-9
    last = np.array([0.8, 0.9, 0.2])  # the last three asks
    at = np.sqrt(1 - np.einsum("qi,ij,qj->q", kernel(last, x), precision, kernel(last, x)))
    nowhere = ww.Contexts.uniform(torch.zeros(1, 0, dtype=torch.float64))
    situation = ww.Situation(nowhere, trials=history(), believed=believed)
    assert ww.delayed_width(1.5, 0.7)(situation) == pytest.approx(1.5 * at.sum() + 0.7, rel=1e-9)
    asked = history().asked
    more = np.array([trial.decision["x"] for trial in asked[-5:]])
    at = np.sqrt(1 - np.einsum("qi,ij,qj->q", kernel(more, x), precision, kernel(more, x)))
    assert ww.delayed_width(1.5, 0.7, terms=5)(situation) == pytest.approx(1.5 * at.sum() + 0.7, rel=1e-9)
    by_theory = ww.VermaWidth()
    wanted = 1.5 * at.sum() + by_theory(situation)
    assert ww.delayed_width(1.5, by_theory, 5)(situation) == pytest.approx(wanted, rel=1e-9)


def test_window_by_time():
    window = Censor(0.1, timedelta(hours=2)).window(history(), NOW + timedelta(hours=6))
    assert [trial.id for trial in window] == [4, 5, 6]


@pytest.mark.parametrize("printed", [False, True])
def test_censored_data_round_by_round_by_both_indicators(printed):
    """Ours: y_s counts when choosing x_t if d_s <= m and d_s < t - s. Printed: if d_s <= min(m, t - s).

    The printed one has every value an ask earlier than a real batch can: told so, with a patience of m - 1 asks, the study
    reproduces it.
    """
    delays, m = [2, 1, 3, 1, 6, 4, 1, 9, 2, 1], 4
    study = ww.Study(LINE, papers.gp_ucb_sdf(-1.0, m - 1 if printed else m))
    for t in range(10):
        if printed:  # what is due at t comes before x_t is chosen
            for s in range(t):
                if s + delays[s] == t:
                    study.tell(s, 1.0 + s)
        counts = study.policy.feedback.dataset(study.trials).y.tolist()
        if printed:
            want = [1.0 + s if delays[s] <= min(m, t - s) else -1.0 for s in range(t)]
        else:
            want = [1.0 + s if delays[s] <= m and delays[s] < t - s else -1.0 for s in range(t)]
        assert counts == want
        study.ask()
        if not printed:  # after x_t was asked
            for s in range(t + 1):
                if s + delays[s] == t:
                    study.tell(s, 1.0 + s)


def test_delays_are_counted_in_asks():
    study = ww.Study(LINE, papers.gp_ucb_sdf(0.0, 2))
    study.ask_many(4)
    study.add({"x": 0.5}, 1.0)
    study.tell(0, 1.0)
    study.tell(3, 1.0)
    assert [t.delay for t in study.trials] == [3, None, None, 0, None]
    assert [t.turn for t in study.trials] == [0, 1, 2, 3, None]
    assert study.policy.feedback.dataset(study.trials).y.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]


def test_imagined_values_are_the_mean_of_what_arrived():
    trials = history()
    surrogate = ww.GaussianProcess(fixed=HYPER)
    plain = ww.Ignore()(trials, surrogate, NOW, Start()).posterior
    dreamt = ww.Hallucinate()(trials, surrogate, NOW, Start()).posterior
    query, empty = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None], torch.zeros(1, 0, dtype=torch.float64)
    a, b = plain.marginals(query, empty), dreamt.marginals(query, empty)
    assert torch.allclose(a[0], b[0], atol=1e-12) and (b[1] <= a[1] + 1e-12).all()
    assert dreamt.size == plain.size + 3  # lost and pending


def test_a_worst_value_is_in_the_users_units():
    up, down = (
        ww.Study(LINE, papers.gp_ucb_sdf(-1.0, 3)),
        ww.Study(LINE, papers.gp_ucb_sdf(1.0, 3), direction="minimize"),
    )
    for _ in range(9):
        a, b = up.ask(), down.ask()
        assert a == b
        if a.id % 3:
            up.tell(a.id, -((a.decision["x"] - 0.4) ** 2))
            down.tell(b.id, (b.decision["x"] - 0.4) ** 2)


def test_censoring_all_arrived_data_is_no_censoring():
    """Nothing late or pending: the three feedbacks see the same observations."""
    trials = history()
    told = replace(trials, rows=tuple(t for t in trials.rows if t.value is not None))
    data = Censor(-5.0, 10**6, "drop").dataset(told)
    assert torch.equal(data.x, told.dataset.x) and torch.equal(data.y, told.dataset.y)


def test_delayed_width_needs_a_patience():
    with pytest.raises(ww.IncompatibleError, match=r"use feedback=Censor\(worst, patience\)"):
        ww.Policy(context_model=ww.Empirical(), belief=ww.UpperConfidence(ww.delayed_width()))


@pytest.mark.parametrize("feedback", [ww.Ignore(), ww.Hallucinate(), Censor(0.0, 20), Censor(0.0, 4, "drop")], ids=repr)
def test_asks_without_tells_stay_apart(feedback):
    plane = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)})
    study = ww.Study(plane, ww.Policy(context_model=ww.NoContext(), feedback=feedback))
    study.run(lambda s: 1 - (s.decision["a"] - 0.3) ** 2 - (s.decision["b"] - 0.6) ** 2, 15, progress=False)
    points = torch.tensor([list(s.decision.values()) for s in study.ask_many(8)], dtype=torch.float64)
    assert float(torch.pdist(points).min()) >= 0.01 * math.sqrt(2)


# -- every method under every kind of delay ------------------------------------------------------------------------------

KNOWN = ww.Known({"demand": [0.2, 0.4, 0.6]})
METHODS = {
    "random": papers.random(),
    "ucb_so": papers.ucb_so(KNOWN),
    "ucb_ro": papers.ucb_ro(KNOWN),
    "emp_drbqo": papers.emp_drbqo(KNOWN, 0.5),
    "bqo_ucb": papers.bqo_ucb(KNOWN),
    "bqo_ts": papers.bqo_ts(KNOWN),
    "maximin_bqo_ts": papers.maximin_bqo_ts(KNOWN, 0.5),
    "maximin_bqo_ei": papers.maximin_bqo_ei(KNOWN, 0.5),
    "drbqo_rand_w": papers.drbqo_rand_w(KNOWN, 0.5),
    "bqo_ts_rand_w": papers.bqo_ts_rand_w(KNOWN),
    "bqo_ei_rand_w": papers.bqo_ei_rand_w(KNOWN),
    "gp_ucb": papers.gp_ucb(),
    "sbo_kde": papers.sbo_kde(),
    "drbo_kde": papers.drbo_kde(),
    "drbo_mmd": papers.drbo_mmd(points=10),
    "drbo_mmd_minimax": papers.drbo_mmd_minimax(points=10),
    "stable_opt": papers.stable_opt(points=32),
    "erbo": papers.erbo(),
    "wdrbo": papers.wdrbo(),
    "wdrbo_exact": papers.wdrbo_exact(),
    "ts_bocu": papers.ts_bocu(KNOWN, ww.Tradeoff(ww.TotalVariation(), 0.3)),
    "ucb_bocu_1": papers.ucb_bocu_1(KNOWN, ww.TotalVariation(), 0.3),
    "ucb_bocu_2": papers.ucb_bocu_2(KNOWN, ww.TotalVariation(), 0.3),
    "drbqo": papers.drbqo(KNOWN, 0.5),
    "bqo_ei": papers.bqo_ei(KNOWN),
    "mtbo": papers.mtbo(KNOWN),
    "gp_ucb_sdf": papers.gp_ucb_sdf(0.0, 5),
    "gp_ts_sdf": papers.gp_ts_sdf(0.0, 5),
    "gp_bucb": papers.gp_bucb(),
    "gp_bts": papers.gp_bts(),
    "asy_ts": papers.asy_ts(),
    "robust_sdf": papers.gp_ucb_sdf(
        0.0, 5, context_model=ww.KernelDensity(32), objective=ww.Robust(ww.TotalVariation(), 0.2)
    ),
}
DELAYS = {
    "immediate": lambda trial: 0,
    "poisson": lambda trial: int(np.random.default_rng(trial).poisson(2)),
    "fixed": lambda trial: 3,
    "out of order": lambda trial: (5, 0, 3)[trial % 3],
    "never": lambda trial: 10**6 if trial % 4 == 3 else 1,
}


def test_every_published_method_is_in_the_table():
    assert set(papers.__all__) <= set(METHODS)


# Every method meets all kinds of delay in one study. Those that deal with them differently meet some by themselves, and each
# kind meets methods that ignore, imagine and censor.
MIXED = "all kinds"
ALONE = {
    "gp_ucb": ("poisson", "never"),
    "drbo_kde": ("fixed", "out of order"),
    "gp_ucb_sdf": ("immediate", "poisson", "fixed", "out of order", "never"),
    "gp_ts_sdf": ("poisson", "out of order"),
    "asy_ts": ("immediate", "fixed", "never"),
    "robust_sdf": ("immediate", "never"),
}


@pytest.mark.parametrize(
    ("name", "delay"),
    [*((name, MIXED) for name in METHODS), *((name, delay) for name in ALONE for delay in ALONE[name])],
)
def test_every_method_under_every_delay(name, delay):
    design = METHODS[name].design if name == "random" else ww.Sobol(4)
    study = ww.Study(SHOP, replace(METHODS[name], maximize=FAST, design=design), seed=2)
    for turn in range(10):  # the longest delay, 5, twice
        suggestion = study.ask()
        if suggestion.context is None:
            study.reveal(suggestion.id, {"demand": 0.3 + 0.05 * (suggestion.id % 7)})
        for id in range(turn + 1):
            late = list(DELAYS.values())[id % len(DELAYS)] if delay == MIXED else DELAYS[delay]
            if id + late(id) == turn:
                trial = study.trials[id]
                study.tell(id, 1 - (trial.decision["order"] - trial.context["demand"]) ** 2)
    assert len({tuple(t.decision.values()) for t in study.trials}) >= 8
    assert 0.0 <= study.recommend().decision["order"] <= 1.0
    assert study.replay(9).decision == study.trials[9].decision


@pytest.mark.parametrize("name", ["gp_ucb_sdf", "gp_ts_sdf", "gp_bucb", "gp_bts", "asy_ts"])
def test_contexts_given_before_the_decision(name):
    """CGB-SDF: with the demand known, the order follows it."""
    study = ww.Study(SHOP, METHODS[name], seed=0)
    for turn in range(20):
        demand = (0.2, 0.8)[turn % 2]
        suggestion = study.ask(context={"demand": demand})
        if turn >= 1:
            before = study.trials[turn - 1]
            study.tell(before.id, 1 - 4 * (before.decision["order"] - before.context["demand"]) ** 2)
    low, high = (study.recommend(context={"demand": d}).decision["order"] for d in (0.2, 0.8))
    assert low == pytest.approx(0.2, abs=0.1) and high == pytest.approx(0.8, abs=0.1)
    assert suggestion.context == {"demand": 0.8}


# -- parallel runs -------------------------------------------------------------------------------------------------------


def slow(suggestion):
    time.sleep(0.01 * (1 + suggestion.id % 3))
    return quadratic(suggestion)


def sometimes(suggestion):
    if suggestion.id % 4 == 1:
        raise ValueError(f"shop {suggestion.id} is closed")
    return quadratic(suggestion)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_several_in_flight(kind):
    policy = ww.Policy(context_model=ww.Empirical(), maximize=FAST, design=ww.Sobol(4))
    study, most = ww.Study(SHOP, policy), []
    with kind(3) as executor:
        original = study.tell

        def tell(*arguments, **named):
            most.append(len(study.trials.pending))
            original(*arguments, **named)

        study.tell = tell
        study.run(slow, 12, executor=executor, workers=3, progress=False)
    assert len(study.trials.arrived) == 12 and max(most) == 3


def test_failures_are_lost_and_the_rest_goes_on():
    study = ww.Study(SHOP, ww.Policy(context_model=ww.Empirical(), maximize=FAST, design=ww.Sobol(20)))
    with ThreadPoolExecutor(2) as executor:
        study.run(sometimes, 12, executor=executor, workers=2, progress=False)
    states = [trial.state for trial in study.trials]
    assert states.count("lost") == 3 and states.count("told") == 9
    assert study.trials[1].lost == "ValueError: shop 1 is closed"


def test_interrupted_run_keeps_what_was_told_and_is_taken_up_again(caplog):
    study = ww.Study(SHOP, ww.Policy(context_model=ww.Empirical(), maximize=FAST, design=ww.Sobol(20)))
    finished = []

    def interrupted(suggestion):
        if suggestion.id == 5:
            raise KeyboardInterrupt
        finished.append(suggestion.id)
        return quadratic(suggestion)

    with ThreadPoolExecutor(2) as executor, pytest.raises(KeyboardInterrupt):
        study.run(interrupted, 12, executor=executor, workers=2, progress=False)
    told = {trial.id for trial in study.trials.arrived}
    assert told and 5 not in told
    left = [trial.id for trial in study.pending()]
    assert 5 in left
    again = ww.Study.open("study", journal=study.journal)
    again.run(quadratic, 1, progress=False)
    assert "pending from before" in caplog.text and str(left[0]) in caplog.text
    again.run(quadratic, 0, leftover="retry", progress=False)
    assert (
        again.pending() == [] and again.trials[5].value == quadratic(ww.Suggestion(5, again.trials[5].decision)).value
    )
    again.ask()
    again.run(quadratic, 1, leftover="lose", progress=False)
    assert again.pending() == [] and again.trials.rows[-2].lost == "left pending by an earlier run"


# -- corners that were once wrong --------------------------------------------------------------------------------------


def test_a_late_value_without_any_context_waits():
    space = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real()})
    study = ww.Study(space, replace(papers.gp_ucb_sdf(0.0, 2), design=ww.Sobol(2)))
    study.ask_many(5)
    study.tell(0, 1.0)
    study.tell(4, 0.5, context={"c": 0.4})
    assert study.ask().id == 5


def test_soft_clip_leaves_censored_values_at_the_prior_mean():
    y = torch.tensor([0.0, 0.0, 0.62, 0.65, 0.66, 0.64, 0.63, 9.0], dtype=torch.float64)
    scaled = ww.SoftClip().scaled(y, 0.0)
    assert scaled.values[:2].tolist() == [0.0, 0.0] and scaled.shift == 0.0
    assert 0.5 < float(scaled.values[2]) < 1.5


def test_lost_decisions_are_not_asked_again_at_once():
    for feedback in (ww.Ignore(), ww.Hallucinate(), Censor(0.0, 5)):
        study = ww.Study(SHOP, ww.Policy(context_model=ww.Empirical(), feedback=feedback))
        study.run(quadratic, 8, progress=False)
        orders = []
        for _ in range(5):
            suggestion = study.ask()
            orders.append(suggestion.decision["order"])
            study.lose(suggestion.id, "crashed")
        assert np.diff(np.sort(orders)).min() >= 0.0125


def die(suggestion):
    import os

    if suggestion.id == 3:
        os._exit(1)
    return quadratic(suggestion)


def test_a_broken_pool_loses_nothing():
    from concurrent.futures.process import BrokenProcessPool

    study = ww.Study(SHOP, ww.Policy(context_model=ww.Empirical(), maximize=FAST, design=ww.Sobol(20)))
    with ProcessPoolExecutor(2) as executor, pytest.raises(BrokenProcessPool):
        study.run(die, 4, executor=executor, workers=2, progress=False)
    assert 3 in [trial.id for trial in study.pending()]
    assert all("Broken" not in (trial.lost or "") for trial in study.trials if trial.id < 4)


def test_the_first_error_is_the_one_raised():
    study = ww.Study(SHOP, ww.Policy(context_model=ww.Empirical(), maximize=FAST, design=ww.Sobol(20)))

    def told_already(suggestion):
        study.tell(suggestion.id, 1.0, context={"demand": 0.3})
        raise ValueError("boom")

    study.run(told_already, 2, progress=False)
    assert [trial.value for trial in study.trials] == [1.0, 1.0]
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        study.run(quadratic, 2, executor=closed, workers=1, progress=False)
    assert study.trials[2].lost.startswith("not evaluated")


def test_an_executor_that_takes_no_more_work_by_an_error_of_its_own_is_named():
    """A cluster's client that was closed raises neither RuntimeError nor BrokenExecutor."""

    class Closed(ThreadPoolExecutor):
        def submit(self, *arguments):
            raise OSError("the client is closed")

    study = ww.Study(SHOP)
    with (
        Closed(2) as executor,
        pytest.raises(BrokenExecutor, match=r"takes no more work \(OSError: the client is closed"),
    ):
        study.run(quadratic, 4, executor=executor, workers=2, progress=False)
    assert study.trials[0].lost.startswith("not evaluated")


def test_numpy_numbers_make_a_censor():
    policy = papers.gp_ucb_sdf(np.float32(0.5), np.int64(4))
    assert ww.from_json(ww.to_json(policy)) == policy
