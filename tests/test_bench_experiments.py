"""Every experiment: its parts fit together, and it runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import windward as ww
from windward.bench import play, runner
from windward.bench.experiments import experiment, experiments
from windward.bench.problems import problem
from windward.bench.problems.nguyen import expected_logistic

DATA = Path(os.environ.get("WINDWARD_DATA", "no-folder-named"))


def test_experiments_are_consistent():
    for found in experiments().values():
        panels = {panel.title: panel for panel in found.panels}
        assert len(panels) == len(found.panels)
        recorded = {metric.name for metric in found.metrics}
        for panel in found.panels:
            for curve in panel.curves:
                assert curve.method in found.runs_on(found.case(curve.case)), (found.name, curve)
                assert (curve.series or panel.metric.name) in recorded, (found.name, curve)
        assert found.hyperparameters, f"{found.name}: say how its hyper-parameters are found"
        for claim in found.claims:
            labels = {curve.label for curve in panels[claim.panel].curves}
            assert {claim.first, claim.second} <= labels, (found.name, claim)
        for entry in found.published:
            assert entry.curve in {curve.label for curve in panels[entry.panel].curves}
            assert set(entry.values) <= set(panels[entry.panel].marks)
        chosen, jobs = runner.sized(found, runner.RunSettings(out=Path("x"), quick=True))
        assert jobs and chosen.name == found.name


def test_worlds_that_are_shared_record_the_same():
    worlds: dict[str, tuple] = {}
    for found in experiments().values():
        names = tuple(metric.name for metric in found.metrics), tuple(found.reports), found.own
        assert worlds.setdefault(found.world, names) == names, found.name


@pytest.mark.parametrize("name", list(experiments()))
def test_every_experiment_runs(name):
    found = experiment(name)
    case = found.cases[0]
    method = min(found.runs_on(case), key=lambda m: (not m.startswith(("DRBQO", "TS-BOCU", "GP-UCB-SDF")), m))
    try:
        rounds = 10 if found.own else _past_the_design(found, case, method)
        record = play.run_one(found, case.name, method, found.seeds[0], rounds, DATA)
    except ww.MissingData as error:
        pytest.skip(str(error))
    for metric in found.metrics:
        series = record["series"][metric.name]
        assert len(series) == len(record.get("at") or range(rounds)) and series[-1] is not None


def _past_the_design(found, case, method):
    """Two rounds more than the design lasts, and than the first late values take."""
    made = play.make_problem(case, found.seeds[0], DATA)
    rounds = int(found.methods[method](made).design.rounds(made.space))
    return rounds + (2 if made.delay is None else 15)


def test_a_distribution_and_a_radius_come_with_each_ask():
    found = experiment("micheli2025-fig1")
    task = play.make_problem(found.case("General setting, told at each ask"), 0, None)
    wary, plain = (found.methods[name](task) for name in ("WDRBO at asks", "ERBO at asks"))
    forecast, radius = play.foretold_at(task, wary, 0)
    values = torch.tensor([sample["c"] for sample in forecast.samples], dtype=torch.float64)
    weights = torch.tensor(forecast.shares, dtype=torch.float64)
    mean = float(weights @ values)
    assert mean == pytest.approx(0.5, abs=1e-3) and radius == 0.1 and len(values) <= 256
    assert float((weights @ (values - mean).square()).sqrt()) == pytest.approx(0.1, abs=2e-3)
    assert play.foretold_at(task, plain, 0)[1] is None  # an expectation has no ball
    assert play.foretold_at(play.make_problem(found.cases[0], 0, None), wary, 0) == (None, None)
    seen = []
    play.play(
        task,
        wary,
        11,
        world="w",
        case="c",
        seed=0,
        after=lambda turn, study: seen.append(study.trials.rows[-1].forecast),
    )
    assert len(seen) == 11 and all("c" in each for each in seen)


def test_both_readings_of_x_plus_w():
    own, unit = (problem(name, seed=3) for name in ("beale", "beale-unit"))
    w = own.truth.points[:3]
    assert torch.equal(w, unit.truth.points[:3])
    x = torch.tensor([[0.2, 0.7]], dtype=torch.float64)
    # At w = 0 both are the function itself; elsewhere w is nine times as long in the unit cube.
    nothing = torch.zeros(1, 1, dtype=torch.float64)
    assert torch.allclose(own.value(-4.5 + 9.0 * x, nothing), unit.value(x, nothing))
    assert torch.allclose(own.value(-4.5 + 9.0 * x, 9.0 * w), unit.value(x, w))


def test_the_expected_logistic_is_the_mean_over_many_draws():
    x = torch.tensor([[0.3, -0.8], [0.0, 0.0]], dtype=torch.float64)
    w = torch.randn(200_000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    draws = problem("logistic", seed=0).value(x[:, None, :], w)
    error = 5.0 * draws.std(1) / len(w) ** 0.5 + 1e-12
    assert bool(((draws.mean(1) - expected_logistic(x)).abs() <= error).all())


def test_fixed_delays_have_the_patience_of_a_batch():
    found = experiment("verma2022-fig1")
    for name, m in (("Poisson(10)", 20), ("fixed 10", 10)):
        policy = found.methods["GP-UCB-SDF"](play.make_problem(found.case(name), 0, None))
        # A delay is one ask less here than in the paper: see `Sooner`.
        assert policy.feedback.patience == m - 1 and policy.belief.width.terms == m
        assert policy.surrogate.priors is None and policy.feedback.learn_from == "arrived"
    assert found.rounds == 105 and found.panels[2].marks == (25, 35, 55, 105)
