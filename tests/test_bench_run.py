"""One run of the bench: what its record says, the world every method meets, delays, listed decisions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from bench_helpers import METHODS, TOY, late_toy, read, run, toy

import windward as ww
from windward.bench import listed, play


def test_a_record_says_what_happened(tmp_path):
    outcome, watching = run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    assert (outcome.done, outcome.skipped, outcome.failures) == (2, 0, [])
    assert watching.start == (2, 0, 1) and watching.finish[-1][1] == 0.0
    for record in read(tmp_path):
        assert (record["problem"], record["seed"], record["rounds"], record["threads"]) == ("toy", 0, 6, 1)
        x, c = np.array(record["decisions"])[:, 0], np.array(record["contexts"])[:, 0]
        assert set(c) <= {0.25, 0.75}
        assert record["values"] == pytest.approx(-((x - c) ** 2), rel=1e-5, abs=1e-7)
        by_hand = np.cumsum(-1 / 16 - (-((x - 0.25) ** 2) - (x - 0.75) ** 2) / 2)
        assert record["series"]["cumulative_regret"] == pytest.approx(by_hand, rel=1e-5, abs=1e-6)
        assert len(record["ask_seconds"]) == 6 and record["seconds"] >= record["ask_total"] > 0
        assert record["versions"]["windward"] == ww.__version__ and {"torch", "python"} <= set(record["versions"])


def test_methods_meet_the_same_world(tmp_path):
    run(TOY, tmp_path)
    found = {(r["problem"], r["method"], r["seed"]): r for r in read(tmp_path)}
    assert len(found) == 12
    for case in ("toy", "late"):
        for seed in (0, 1, 2):
            one, other = found[case, "SBO-KDE", seed], found[case, "Random", seed]
            assert one["contexts"] == other["contexts"] and one["decisions"] != other["decisions"]
            if case == "late":
                noise = [np.subtract(r["received"], r["values"]) for r in (one, other)]
                np.testing.assert_allclose(*noise, atol=1e-6)
    assert found["toy", "Random", 0]["contexts"] != found["toy", "Random", 1]["contexts"]
    again = play.run_one(TOY, "late", "SBO-KDE", 2, 6, None)
    assert again["decisions"] == found["late", "SBO-KDE", 2]["decisions"]


def test_values_come_after_the_ask_at_which_they_are_due():
    """Delay 2: the value of ask 0 is told after ask 2, so three asks go by on the design alone."""
    seen = []
    policy = replace(METHODS["SBO-KDE"](None), design=ww.Sobol(0))

    def value(x, c):
        seen.append(float(x[0, 0]))
        return -x[..., 0]

    problem = replace(late_toy(), value=value)
    trace, _ = play.play(problem, policy, 6, world="w", case="c", seed=0)
    assert trace.arrived.tolist() == [2, 3, 4, 5, -1, -1]
    assert trace.decisions[:, 0].tolist() == seen
    lost = replace(problem, delay=lambda generator: None)
    assert play.play(lost, policy, 3, world="w", case="c", seed=0)[0].arrived.tolist() == [-1, -1, -1]


def test_a_context_known_before_is_given_at_the_ask():
    policy = ww.Policy(context_model=ww.Empirical(), belief=ww.PosteriorMean(), design=ww.Sobol(6))
    trace, _ = play.play(replace(toy(), context_first=True), policy, 16, world="w", case="c", seed=3)
    late = trace.decisions[10:, 0] - trace.contexts[10:, 0]
    assert float(late.abs().max()) < 0.1  # it decides for the context it was shown


def test_a_rule_chooses_contexts_and_reports_are_recommendations():
    problem = toy()
    samples = ww.Known({"c": [0.25, 0.75]})
    policy = replace(ww.papers.drbqo(samples, 1.0), design=ww.Sobol(4))
    objectives = {"robust": ww.Robust(ww.ChiSquare(), 1.0), "expected": ww.Expected()}
    trace, seconds = play.play(problem, policy, 8, world="w", case="c", seed=0, reports=objectives)
    assert set(trace.contexts[:, 0].tolist()) == {0.25, 0.75} and seconds > 0
    study = ww.Study(problem.space, policy)
    for x, c, y in zip(
        trace.decisions[:, 0].tolist(), trace.contexts[:, 0].tolist(), trace.values.tolist(), strict=True
    ):
        study.add({"x": x}, y, context={"c": c})
    assert float(trace.reports["robust"][-1, 0]) == study.recommend().decision["x"]
    study.use(replace(policy, report=ww.Report(ww.Expected(), "evaluated")))
    assert float(trace.reports["expected"][-1, 0]) == study.recommend().decision["x"]


def test_a_finite_set_of_decisions_is_all_there_is():
    few = torch.tensor([[0.1], [0.35], [0.5], [0.9]], dtype=torch.float64)
    problem = replace(toy(), decisions=few)
    traces = [
        play.play(problem, METHODS[name](problem), 9, world="w", case="c", seed=1)[0] for name in ("SBO-KDE", "Random")
    ]
    for trace in traces:
        assert set(trace.decisions[:, 0].tolist()) <= {0.1, 0.35, 0.5, 0.9}
    assert traces[0].decisions[:3].equal(traces[1].decisions[:3])  # the same design
    assert len(set(traces[1].decisions[:, 0].tolist())) > 1
    assert float(traces[0].decisions[-1, 0]) == 0.5  # learnt: the best of the four


def test_listed_decisions_in_their_own_units():
    space = ww.Space({"rate": ww.Real(1e-4, 1, log=True), "size": ww.Integer(1, 5)})
    problem = replace(toy(), space=space, decisions=torch.tensor([[1e-2, 5.0], [1.0, 1.0]], dtype=torch.float64))
    policy = listed.among_listed(ww.papers.random(), problem)
    np.testing.assert_allclose(policy.maximize.points, [[0.5, 1.0], [1.0, 0.0]])
    assert math.isinf(policy.design.rounds(space)) and ww.papers.random().design != policy.design
    assert listed.among_listed(policy, replace(problem, decisions=None)) is policy


def test_whole_numbers_and_categories_go_both_ways():
    parameters = {"n": ww.Integer(1, 5), "k": ww.Categorical(["a", "b"]), "r": ww.Real(0, 1)}
    row = torch.tensor([3.0, 1.0, 0.5], dtype=torch.float64)
    values = play.values_of(parameters, row)
    assert values == {"n": 3, "k": "b", "r": 0.5}
    assert play.numbers_of(parameters, values).equal(row)
    with pytest.raises(ww.ArgumentError, match="gave 1 numbers for"):
        play.values_of(parameters, row[:1])
