"""An experiment small enough for tests, and its runs and records."""

from __future__ import annotations

import sys
from dataclasses import replace

import torch

import windward as ww
from windward.bench import metrics, records, runner
from windward.bench.experiment import Case, Claim, Experiment, Quick, panel_per_case
from windward.bench.experiments import experiment
from windward.bench.problem import Problem


def toy(seed=0, data=None):
    """-(x - c)^2 with c at 0.25 or 0.75; the expectation is best at x = 0.5, where it is -1/16."""
    truth = ww.Contexts.uniform(torch.tensor([[0.25], [0.75]]))
    return Problem(
        name="toy",
        space=ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)}),
        value=lambda x, c: -(x[..., 0] - c[..., 0]).square(),
        truth=truth,
        draw=lambda turn, generator: truth.draw(generator),
        reference=truth,
    )


def late_toy(seed=0, data=None):
    return replace(toy(), delay=lambda generator: 2, noise=0.5)


METHODS = {
    "SBO-KDE": lambda problem: replace(ww.papers.sbo_kde(samples=16), design=ww.Sobol(3)),
    "Random": lambda problem: ww.papers.random(),
}
CASES = (Case(name="toy", problem=toy), Case(name="late", problem=late_toy))
TOY = Experiment(
    name="toy-experiment",
    source="nowhere",
    shows="a parabola",
    cases=CASES,
    methods=METHODS,
    seeds=(0, 1, 2),
    rounds=6,
    metrics=(metrics.CUMULATIVE_REGRET, metrics.REGRET),
    panels=panel_per_case(CASES, METHODS, metrics.CUMULATIVE_REGRET, (3, 6)),
    claims=(Claim("toy", "SBO-KDE", "Random"),),
    quick=Quick(1, 4),
)


class Silent:
    def __init__(self):
        self.finish, self.fail, self.start = [], [], None

    def begin(self, total, skipped, workers):
        self.start = (total, skipped, workers)

    def finished(self, record, left):
        self.finish.append((record, left))

    def failed(self, failure):
        self.fail.append(failure)


def run(found, out, **settings):
    watching = Silent()
    outcome = runner.run_experiment(found, runner.RunSettings(out=out, workers=1, **settings), watching)
    return outcome, watching


def read(out):
    return records.read(out / records.FILE)[0]


def command(*arguments):
    return [sys.executable, "-m", "windward", "bench", *map(str, arguments)]


def made_record(method, seed, series, rounds=2, problem="toy"):
    return {
        "format": 1,
        "experiment": "toy-experiment",
        "world": "toy-experiment",
        "problem": problem,
        "method": method,
        "seed": seed,
        "rounds": rounds,
        "began": "2030-01-02T03:04:05+00:00",
        "versions": {"windward": "0", "torch": "0"},
        "seconds": 1.0,
        "series": {"cumulative_regret": series},
    }


VERSIONS = {"windward": "0.1.0", "python": "3.11.7", "torch": "2.0.0", "numpy": "2.0.0", "scipy": "1.0.0"}
OLD = "2026-01-02T03:04:05+00:00"  # before every change


def made(
    name: str,
    problem: str,
    method: str,
    seed: int,
    last: float,
    *,
    rounds: int = 105,
    series: str = "",
    began: str = OLD,
) -> dict:
    """Return a record whose every metric (or the one named) is constant at `last`."""
    found = experiment(name)
    names = [series] if series else [metric.name for metric in found.metrics]
    return {
        "format": 1,
        "experiment": name,
        "world": found.world,
        "problem": problem,
        "method": method,
        "seed": seed,
        "rounds": rounds,
        "stand_in": None,
        "versions": VERSIONS,
        "threads": 1,
        "began": began,
        "series": {metric: [last] * rounds for metric in names},
        "seconds": 36.0,
    }
