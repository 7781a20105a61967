"""Every experiment: its parts fit together, and it runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import windward as ww
from windward.bench import play, runner
from windward.bench.experiments import experiment, experiments

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
    problem = play.make_problem(case, found.seeds[0], DATA)
    rounds = int(found.methods[method](problem).design.rounds(problem.space))
    return rounds + (2 if problem.delay is None else 15)
