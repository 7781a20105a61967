"""Metrics of a run, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from bench_helpers import toy

import windward as ww
from windward.bench import metrics
from windward.bench.metrics import Goal, Trace


def trace_of(x, c, values, arrived, reports=None):
    def column(numbers):
        return torch.tensor(numbers, dtype=torch.float64)

    return Trace(
        decisions=column(x)[:, None],
        contexts=column(c)[:, None],
        values=column(values),
        received=column(values),
        arrived=torch.tensor(arrived),
        seconds=column([0.5] * len(x)),
        reports={} if reports is None else {"r": column(reports)[:, None]},
    )


def test_metrics_by_hand():
    """x = 0, 0.5, 1: expectations -5/16, -1/16, -5/16; regrets 1/4, 0, 1/4."""
    trace = trace_of([0.0, 0.5, 1.0], [0.25, 0.75, 0.25], [-1 / 16, -1 / 16, -9 / 16], [1, 2, -1], [math.nan, 0.0, 0.5])
    problem = toy()

    def series(function):
        return function(problem, trace).tolist()

    assert series(metrics.regret()) == pytest.approx([0.25, 0.0, 0.25])
    assert series(metrics.summed_regret()) == pytest.approx([0.25, 0.25, 0.5])
    assert series(metrics.summed_regret(start=1)) == pytest.approx([0.0, 0.0, 0.25])
    assert series(metrics.summed_reward) == pytest.approx([-1 / 16, -2 / 16, -11 / 16])
    # Nothing is received after round 0; the best received is -1/16, the optimum -1/16.
    assert series(metrics.received_gap) == pytest.approx([math.nan, 0.0, 0.0], nan_ok=True)
    assert series(metrics.received_percent) == pytest.approx([math.nan, 106.25, 106.25], nan_ok=True)
    # The best decision for each context is the context itself, with value 0.
    assert series(metrics.summed_contextual) == pytest.approx([1 / 16, 2 / 16, 11 / 16])
    goal = Goal(over="reference")
    assert series(metrics.reported(goal, "r")) == pytest.approx([math.nan, -5 / 16, -1 / 16], nan_ok=True)
    assert series(metrics.best_reported(goal, "r")) == pytest.approx([math.nan, 0.25, 0.0], nan_ok=True)
    # The worst of the two contexts: -9/16 at x = 0, -1/16 at its optimum x = 0.5.
    robust = Goal(lambda problem: ww.Minimum(), "reference")
    assert series(metrics.best_reported(robust, "r")) == pytest.approx([math.nan, 0.5, 0.0], nan_ok=True)
    assert series(metrics.summed_seconds) == [0.5, 1.0, 1.5]


def test_the_best_so_far_never_rises():
    trace = trace_of([0.0] * 3, [0.25] * 3, [0.0] * 3, [0, 1, 2], [0.0, 0.5, 0.0])
    assert metrics.best_reported(Goal(), "r")(toy(), trace).tolist() == pytest.approx([0.25, 0.0, 0.0])


def test_error_on_test_data():
    trace = trace_of([0.0, 1.0], [0.25] * 2, [0.0] * 2, [0, 1], [0.25, 0.75])
    problem = replace(toy(), test=lambda x: x[..., 0])
    assert metrics.error_on_test("r")(problem, trace).tolist() == pytest.approx([75.0, 25.0])
    assert metrics.error_on_test("r", last=True)(problem, trace).tolist() == pytest.approx(
        [math.nan, 25.0], nan_ok=True
    )
    with pytest.raises(ww.ArgumentError, match="no test data"):
        metrics.error_on_test("r")(toy(), trace)
    with pytest.raises(ww.ArgumentError, match="no reference"):
        Goal(over="reference").best(replace(toy(), reference=None))


def test_the_density_estimate_against_scipy():
    """Huang2024's Eq. 2 for one context is scipy's estimate with a bandwidth of (4/3)^(1/5) t^(-1/5) times the deviation."""
    from scipy.integrate import quad
    from scipy.stats import gaussian_kde, norm

    from windward.bench.experiments.huang import LAWS, distance_to_truth

    seen = torch.linspace(0.3, 0.7, 12, dtype=torch.float64)
    factor = (4 / 3) ** 0.2 * 12 ** (-0.2) * float(seen.std(correction=0) / seen.std())
    estimate = gaussian_kde(seen.numpy(), factor)
    by_scipy = quad(lambda c: abs(estimate(c)[0] - norm(0.5, 0.1).pdf(c)), -0.5, 1.5, limit=400)[0]
    assert distance_to_truth(seen, LAWS["Normal"]) == pytest.approx(by_scipy, abs=2e-4)
    far = torch.full((3,), 50.0, dtype=torch.float64) + torch.tensor([0.0, 0.1, 0.2])
    assert distance_to_truth(far, LAWS["Normal"]) == pytest.approx(2.0, abs=1e-6)  # nothing in common
