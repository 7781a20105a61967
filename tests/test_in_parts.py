"""What is worked on in parts, so that many contexts fit the memory, is what it is as a whole."""

from __future__ import annotations

import pytest
import torch
from helpers import random_dataset
from torch.testing import assert_close

import windward as ww
from windward import contexts, divergences
from windward.beliefs import scores
from windward.beliefs.scores import ConfidenceScore, PathScore
from windward.contexts import density, models
from windward.divergences import _interior_point, wasserstein
from windward.search.region import Region
from windward.space.space import Space
from windward.surrogate import paths, posterior, sampling
from windward.surrogate.sampling import low_rank_root
from windward.trials.records import Trial
from windward.trials.trials import Trials

KERNELS = ("squared_exponential", "matern52")
HELD = ww.Hyperparameters(0.0, (0.4, 0.4, 0.4), 1.0, 1e-2)
POINTS = torch.rand(40, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
SOME = ww.Contexts.uniform(POINTS)
X = torch.rand(7, 1, generator=torch.Generator().manual_seed(6), dtype=torch.float64)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def fitted(kernel="squared_exponential"):
    return ww.GaussianProcess(kernel, fixed=HELD).fit(random_dataset(12, 1, 2))


def scored(score, objective):
    """Return the scores and their gradient."""
    reduction = objective.bind(ww.Situation(SOME, 5))
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(score(reduction, x).sum(), x)
    with torch.no_grad():
        return score(reduction, X), gradient


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("objective", [ww.Expected(), ww.CVaR(0.3), ww.LipschitzRobust(0.1)], ids=repr)
@pytest.mark.parametrize("kind", ["confidence", "path"])
def test_scores_and_their_gradients(kernel, objective, kind, monkeypatch):
    def made():
        believed = fitted(kernel)
        if kind == "confidence":
            return ConfidenceScore(believed, SOME, 1.5)
        return PathScore(believed, believed.path(generator()), SOME, 1.5)

    whole = scored(made(), objective)
    sizes = []
    of = type(made())._of
    monkeypatch.setattr(type(made()), "_of", lambda self, reduction, x: sizes.append(len(x)) or of(self, reduction, x))
    monkeypatch.setattr(scores, "CLIMBED", 3 * 12 * 40 * (3 if isinstance(objective, ww.LipschitzRobust) else 1))
    for name in ("BLOCK", "LARGE_BLOCK"):
        monkeypatch.setattr(scores, name, 4 * 40 * (3 if isinstance(objective, ww.LipschitzRobust) else 1))
    parts = scored(made(), objective)
    assert sizes == [3, 3, 1, 4, 3]
    assert_close(parts[0], whole[0], rtol=1e-9, atol=1e-12)
    assert_close(parts[1], whole[1], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_paths_and_their_context_gradients(kernel, monkeypatch):
    def made():
        path = fitted(kernel).path(generator())
        return path(X, POINTS), path.context_gradient(X, POINTS), path.sketch()(X, POINTS)

    whole = made()
    monkeypatch.setattr(paths, "TABLE", 2 * paths.FEATURES * 7)
    monkeypatch.setattr(posterior, "PAIRED", 1)
    for part, all_at_once in zip(made(), whole, strict=True):
        assert_close(part, all_at_once, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_average_over_many_contexts(kernel, monkeypatch):
    whole = fitted(kernel).average(X, SOME)
    monkeypatch.setattr(posterior, "JOINT", 6)
    believed = fitted(kernel)
    other = ww.Contexts(POINTS, torch.arange(40) / torch.arange(40).sum())
    for _ in range(2):  # the second is kept
        assert_close(believed.average(X, SOME), whole, rtol=1e-12, atol=0.0)
    assert not torch.allclose(believed.average(X, other)[0], whole[0])  # by other weights on the same points
    assert_close(believed.average(X, other), fitted(kernel).average(X, other), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_samples_at_many_contexts_have_the_moments_of_the_exact_ones(kernel, monkeypatch):
    believed, count = fitted(kernel), 40_000
    exact = believed.sample(X[0], POINTS, count, generator(1))
    monkeypatch.setattr(posterior, "JOINT", 20)
    found = believed.sample(X[0], POINTS, count, generator(2))
    assert found.shape == exact.shape
    spread = float(exact.std(0).max())
    assert_close(found.mean(0), exact.mean(0), rtol=0.0, atol=0.03 * spread)
    assert_close(found.T.cov(), exact.T.cov(), rtol=0.0, atol=0.05 * spread**2)
    elsewhere = believed.sample(X[1], POINTS, count, generator(2))  # what is kept is of another decision
    assert_close(elsewhere.mean(0), believed.means(X[1:2], POINTS)[0], rtol=0.0, atol=0.03 * spread)


def test_a_low_rank_keeps_every_variance(monkeypatch):
    gaps = torch.cdist(POINTS, POINTS)
    covariance = torch.exp(-0.5 * (gaps / 0.3).square())
    close = low_rank_root(lambda place: covariance[place], covariance.diagonal(), 1e-6)
    assert len(close.factor) < 40 and float(close.rest.max()) == 0.0
    assert_close(close.factor.T @ close.factor, covariance, rtol=0.0, atol=1e-6)
    monkeypatch.setattr(sampling, "MOST_RANK", 5)
    rough = low_rank_root(lambda place: covariance[place], covariance.diagonal(), 1e-6)
    assert len(rough.factor) == 5 and float(rough.rest.max()) > 1e-3
    variances = (rough.factor.T @ rough.factor).diagonal() + rough.rest
    assert_close(variances, covariance.diagonal(), rtol=0.0, atol=1e-12)


def test_the_density_and_the_grid_of_seen_contexts(monkeypatch):
    space = Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)})
    rows = [Trial(i, {"x": 0.5}, context={"c": float(c)}, value=1.0) for i, c in enumerate(POINTS[:, 0])]
    trials = Trials(space, tuple(rows))
    nothing = space.encode_given(None)

    def made():
        return [model(space, trials, nothing, generator()) for model in (ww.KernelDensity(200), ww.Grid(50))]

    whole = made()
    monkeypatch.setattr(density, "BLOCK", 40 * 30)
    monkeypatch.setattr(models, "BLOCK", 50 * 7)
    for part, all_at_once in zip(made(), whole, strict=True):
        assert_close(part.points, all_at_once.points, rtol=0.0, atol=1e-12)
        assert torch.equal(part.weights, all_at_once.weights)


@pytest.mark.parametrize("width", [1, 2])
def test_worst_cases_by_transport(width, monkeypatch):
    points = torch.cat([POINTS, POINTS[:5]])[:, :width]  # some in one place
    values = torch.randn(9, 45, generator=generator(3), dtype=torch.float64).round(decimals=1)  # some alike

    def made():
        return divergences.Wasserstein().worst_case(values, contexts.Contexts.uniform(points), 0.2)

    whole = made()
    monkeypatch.setattr(wasserstein, "BLOCK", 2 * 45 * 45)
    assert all(torch.equal(part, all_at_once) for part, all_at_once in zip(made(), whole, strict=True))


def test_worst_cases_by_mmd(monkeypatch):
    values = torch.randn(40, 40, generator=generator(3), dtype=torch.float64)

    def made():
        return divergences.MMD(0.2).worst_case(values, SOME, 0.2)

    whole = made()
    monkeypatch.setattr(_interior_point, "MOST", 3 * 40**2)
    found = made()
    assert_close(found.value, whole.value, rtol=0.0, atol=1e-7)
    assert_close(found.weights, whole.weights, rtol=0.0, atol=1e-3)


def test_distances_from_pending_decisions(monkeypatch):
    space = Space({"x": ww.Real(0, 1)}, {})
    region = Region(space, avoid=torch.tensor([[0.2], [0.7]], dtype=torch.float64), apart=0.1)
    whole = region.clear(X)
    monkeypatch.setattr("windward.search.region.BLOCK", 4)
    assert torch.equal(region.clear(X), whole) and 0 < int(whole.sum()) < len(X)
