"""Variances at listed decisions that are kept from ask to ask equal those computed anew."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import windward as ww
from windward.bench import gridded, listed
from windward.bench.experiments import experiment
from windward.bench.gridded import Gridded, OnGrid, quick_on_list
from windward.bench.play import play
from windward.bench.problems import problem
from windward.surrogate import GaussianProcess, Hyperparameters, Start, Unscaled
from windward.trials.trials import Dataset

FIXED = Hyperparameters(0.0, (0.1,), 1.0, 1e-4)
PROCESS = GaussianProcess(outcome=Unscaled(), fixed=FIXED)
LADDER = torch.linspace(0.0, 1.0, 9, dtype=torch.float64)
POINTS = tuple((float(a), float(b)) for a in LADDER for b in LADDER)
CONTEXTS = torch.linspace(0.0, 1.0, 6, dtype=torch.float64)[:, None]
SPACE = ww.Space({"x1": ww.Real(0, 1), "x2": ww.Real(0, 1)}, {"c": ww.Real(0, 1)})


def rows(n):
    generator = torch.Generator().manual_seed(0)
    x, c = torch.rand(n, 2, generator=generator).double(), torch.rand(n, 1, generator=generator).double()
    x[: n // 2] = torch.tensor(POINTS, dtype=torch.float64)[torch.arange(n // 2) % 3]  # a few places again and again
    noise = torch.full((n,), float("nan"), dtype=torch.float64)
    return Dataset(x, c, torch.sin(7 * x[:, 0]) + c[:, 0], noise, SPACE.roles, changed=tuple(range(n)))


@pytest.mark.parametrize("process", [PROCESS, replace(PROCESS, fixed=replace(FIXED, amplitude=2.5, shares=(0.2, 0.1)))])
def test_kept_variances_equal_those_computed_anew(process):
    data, surrogate, before = rows(70), Gridded(process, POINTS), None
    x = torch.tensor(POINTS, dtype=torch.float64)
    for count, fitted in (
        (5, 4),
        (6, 4),
        (9, 4),
        (30, 4),
        (31, 30),
        (32, 30),
        (70, 30),
    ):  # at 31 the factor is made anew
        start = Start(process.fixed, keep=before is not None, fitted=fitted, previous=before)
        posterior = surrogate.fit(data.first(count), start)
        for some in (slice(None), slice(3, 20)):
            mean, std = posterior.marginals(x[some], CONTEXTS)
            wanted = process.at(data.first(count), process.fixed).marginals(x[some], CONTEXTS)
            assert torch.allclose(mean, wanted[0], rtol=0, atol=1e-8)
            assert torch.allclose(std.square(), wanted[1].square(), rtol=0, atol=1e-8)
        before = posterior


def test_only_new_rows_are_worked_on(monkeypatch):
    data, surrogate = rows(40), Gridded(PROCESS, POINTS)
    x = torch.tensor(POINTS, dtype=torch.float64)
    first = surrogate.fit(data.first(38), Start(FIXED, keep=True, fitted=30))
    first.marginals(x, CONTEXTS)
    added = []
    kept = OnGrid._variances

    def counted(self, points):
        known = self.known
        found = kept(self, points)
        added.append(self.size - (known.posterior.size if known is not None else 0))
        return found

    monkeypatch.setattr(OnGrid, "_variances", counted)
    second = surrogate.fit(data, Start(FIXED, keep=True, fitted=30, previous=first))
    second.marginals(x, CONTEXTS)
    second.marginals(x[:4], CONTEXTS)
    assert added == [2, 0]
    # Other contexts, decisions off the list and gradients are answered directly.
    direct = PROCESS.at(data, FIXED)
    moved = CONTEXTS + 0.01
    assert torch.allclose(second.marginals(x, moved)[1], direct.marginals(x, moved)[1], rtol=0, atol=1e-7)
    assert torch.equal(second.marginals(x + 0.01, CONTEXTS)[1], second.posterior.marginals(x + 0.01, CONTEXTS)[1])
    steep = x[:2].clone().requires_grad_()
    assert second.marginals(steep, CONTEXTS)[1].requires_grad
    imagined = second.condition(x[:1], CONTEXTS[:1])
    wanted = second.posterior.condition(x[:1], CONTEXTS[:1]).marginals(x, CONTEXTS)[1]
    assert torch.allclose(imagined.marginals(x, CONTEXTS)[1].square(), wanted.square(), rtol=0, atol=1e-8)
    assert second.condition(x[:0], CONTEXTS[:0]) is second


def test_what_is_fitted_or_does_not_factorise_is_left_alone():
    assert quick_on_list(PROCESS, POINTS) == Gridded(PROCESS, POINTS)
    assert quick_on_list(GaussianProcess(), POINTS) is None
    assert quick_on_list(replace(PROCESS, kernel="matern52"), POINTS) is None
    assert quick_on_list("a model", POINTS) is None


@pytest.mark.parametrize("method", ["UCB-SO", "UCB-BOCU-1 GEN TV", "UCB-BOCU-2 WCS TV", "TS-BOCU DRO TV"])
def test_runs_on_a_list_are_the_same_as_without(method, monkeypatch):
    task = problem("hartmann-2-1")
    task = replace(task, decisions=task.decisions[::31])
    policy = experiment("tay2024-fig2").methods[method](task)
    quick, _ = play(task, policy, 14, world="tay2024", case="Hartmann", seed=0)
    monkeypatch.setattr(listed, "quick_on_list", lambda surrogate, points: None)
    direct, _ = play(task, policy, 14, world="tay2024", case="Hartmann", seed=0)
    assert torch.equal(quick.decisions, direct.decisions)
    assert gridded.PARTS[0] in listed.PARTS
