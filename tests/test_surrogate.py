"""What the surrogate promises on its own: gradients, paths, conditioning, and that nothing breaks it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import random_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

import windward as ww
from windward import surrogate
from windward.contexts import Contexts
from windward.policy import Policy
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import GaussianProcess, Hyperparameters, Likelihood
from windward.surrogate.splits import SPLIT_RESIDUAL, split
from windward.testing import check_surrogate
from windward.trials.records import Trial
from windward.trials.trials import Dataset, Trials

FIXED = Hyperparameters(0.1, (0.4, 0.7, 0.5), 1.0, 1e-2)

pytestmark = pytest.mark.usefixtures("both_ways")


def posterior_for(kernel="squared_exponential", n=20, hyperparameters=FIXED):
    return GaussianProcess(kernel).at(random_dataset(n, 2, 1), hyperparameters)


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
@pytest.mark.parametrize("m", [1, 3, 40])  # below and above where the context kernel is split
def test_marginals_gradcheck(kernel, m, generator):
    posterior = posterior_for(kernel)
    points = torch.rand(m, 1, generator=generator, dtype=torch.float64)
    x = torch.rand(4, 2, generator=generator, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: posterior.marginals(x, points), (x,), atol=1e-6)


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
def test_average_and_path_gradcheck(kernel, generator):
    posterior = posterior_for(kernel)
    points = torch.rand(5, 1, generator=generator, dtype=torch.float64)
    contexts, path = Contexts.uniform(points), posterior.path(generator)
    x = torch.rand(3, 2, generator=generator, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: posterior.average(x, contexts), (x,), atol=1e-6)
    assert torch.autograd.gradcheck(lambda x: path(x, points), (x,), atol=1e-6)


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.02, 5.0), st.integers(0, 3))
def test_split_is_exact(m, n, length_scale, seed):
    generator = torch.Generator().manual_seed(seed)
    a = torch.rand(m, 1, generator=generator, dtype=torch.float64) / length_scale
    b = torch.rand(n, 1, generator=generator, dtype=torch.float64) / length_scale
    kernel = torch.exp(-0.5 * torch.cdist(a, b).square())
    parts = split(kernel)
    if parts.outer is None:
        assert parts.inner is kernel
    else:
        assert float((parts.outer @ parts.inner - kernel).abs().max()) <= 10 * SPLIT_RESIDUAL
        assert parts.rank < min(m, n)


def test_split_and_direct_variances_agree(generator):
    posterior = posterior_for(n=50)
    points = torch.rand(200, 1, generator=generator, dtype=torch.float64)
    x = torch.rand(6, 2, generator=generator, dtype=torch.float64)
    assert posterior._split(points, 10_000).outer is not None
    many = posterior.marginals(x, points)
    one_by_one = [posterior.marginals(x, points[i : i + 1].clone()) for i in range(0, 200, 20)]
    for column, (mean, std) in zip(range(0, 200, 20), one_by_one, strict=True):
        assert torch.allclose(many[0][:, column], mean[:, 0], atol=1e-12)
        assert torch.allclose(many[1][:, column] ** 2, std[:, 0] ** 2, atol=1e-11)


def test_leading_shapes(generator):
    posterior = posterior_for()
    points = torch.rand(4, 1, generator=generator, dtype=torch.float64)
    x = torch.rand(3, 5, 2, generator=generator, dtype=torch.float64)
    mean, std = posterior.marginals(x, points)
    assert mean.shape == std.shape == (3, 5, 4)
    flat = posterior.marginals(x.reshape(15, 2), points)
    assert torch.equal(mean.reshape(15, 4), flat[0])
    assert posterior.average(x, Contexts.uniform(points))[0].shape == (3, 5)
    assert posterior.path(generator)(x, points).shape == (3, 5, 4)


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
@pytest.mark.parametrize("fixed", [FIXED, None], ids=["fixed", "fitted"])
def test_laws(kernel, fixed):
    """Marginals, means, samples, paths, averages, derivatives and conditioning tell of one posterior."""
    check_surrogate(GaussianProcess(kernel, fixed=fixed))


def test_no_surrogate_is_left_out():
    assert {kind for kind in surrogate.PARTS if "due" in dir(kind)} == {GaussianProcess}


def test_path_is_one_function(generator):
    path = posterior_for().path(generator)
    x = torch.rand(6, 2, generator=generator, dtype=torch.float64)
    points = torch.rand(3, 1, generator=generator, dtype=torch.float64)
    assert torch.equal(path(x, points), path(x, points))
    assert torch.allclose(path(x[2:3], points[1:2])[0, 0], path(x, points)[2, 1], atol=1e-12)


def test_condition_equals_all_data_at_once(generator):
    data = random_dataset(20, 2, 1)
    first = Dataset(data.x[:15], data.c[:15], data.y[:15], data.noise[:15], data.roles)
    surrogate = GaussianProcess(outcome=ww.Unscaled(), fixed=FIXED)
    grown = surrogate.at(first, FIXED).condition(data.x[15:], data.c[15:], data.y[15:])
    whole = surrogate.at(data, FIXED)
    points = torch.rand(4, 1, generator=generator, dtype=torch.float64)
    x = torch.rand(3, 2, generator=generator, dtype=torch.float64)
    for a, b in zip(grown.marginals(x, points), whole.marginals(x, points), strict=True):
        assert torch.allclose(a, b, atol=1e-11)
    assert torch.allclose(grown.factor, whole.factor, atol=1e-12)


def test_imagined_values_leave_the_mean_and_shrink_the_variance(generator):
    posterior = posterior_for()
    x = torch.rand(5, 2, generator=generator, dtype=torch.float64)
    c = torch.rand(5, 1, generator=generator, dtype=torch.float64)
    imagined = posterior.condition(x, c)
    points = torch.rand(6, 1, generator=generator, dtype=torch.float64)
    before, after = posterior.marginals(x, points), imagined.marginals(x, points)
    assert torch.allclose(before[0], after[0], atol=1e-12)
    assert (after[1] <= before[1] + 1e-12).all()
    assert float(imagined.marginals(x[:1], c[:1])[1]) < 0.5 * float(posterior.marginals(x[:1], c[:1])[1])


def test_given_noise_is_used():
    data = random_dataset(12, 2, 1)
    exact = Dataset(data.x, data.c, data.y, torch.full_like(data.y, 1e-3), data.roles)
    loose = Dataset(data.x, data.c, data.y, torch.full_like(data.y, 3.0), data.roles)
    at = [GaussianProcess().at(each, FIXED).marginals(data.x[:1], data.c[:1]) for each in (exact, loose)]
    assert float(at[0][0]) == pytest.approx(float(data.y[0]), abs=0.02)
    assert float(at[1][1]) > 5 * float(at[0][1])


# -- nothing breaks it ---------------------------------------------------------------------------------------------


def suggestion_for(x, c, y, *, decisions, contexts):
    names = [f"x{i}" for i in range(decisions)]
    context_names = [f"c{i}" for i in range(contexts)]
    space = ww.Space({n: ww.Real(0, 1) for n in names}, {n: ww.Real(0, 1) for n in context_names})
    rows = [
        Trial(
            i,
            dict(zip(names, x[i].tolist(), strict=True)),
            context=dict(zip(context_names, c[i].tolist(), strict=True)),
            context_source="revealed" if contexts else None,
            value=float(y[i]),
        )
        for i in range(len(y))
    ]
    model = ww.KernelDensity() if contexts else ww.NoContext()
    policy = Policy(context_model=model, design=ww.Sobol(0))
    return suggest(policy, Trials(space, tuple(rows)), Request(), torch.Generator().manual_seed(0)).x


KINDS = ["smooth", "constant", "tiny", "huge", "offset", "outlier", "duplicates"]


# Without results all kinds are one, and one result has no duplicate.
@pytest.mark.parametrize(
    ("n", "kind"),
    [(0, "smooth"), *((1, kind) for kind in KINDS[:-1]), *((n, kind) for n in (2, 15) for kind in KINDS)],
)
@pytest.mark.parametrize(("decisions", "contexts"), [(1, 0), (1, 1), (20, 0), (20, 2)])
def test_always_a_finite_suggestion(n, decisions, contexts, kind, generator):
    x = torch.rand(n, decisions, generator=generator, dtype=torch.float64)
    c = torch.rand(n, contexts, generator=generator, dtype=torch.float64)
    y = torch.sin(x.sum(-1) * 3)
    if kind == "constant":
        y = torch.full_like(y, 7.0)
    elif kind == "tiny":
        y = y * 1e-9
    elif kind == "huge":
        y = y * 1e9
    elif kind == "offset":
        y = y + 1e9
    elif kind == "outlier" and n:
        y[0] = 1e200
    elif kind == "duplicates" and n:
        x, c = x[:1].repeat(n, 1), c[:1].repeat(n, 1)
    found = suggestion_for(x, c, y, decisions=decisions, contexts=contexts)
    assert torch.isfinite(found).all() and (found >= 0).all() and (found <= 1).all()


def test_the_suggestion_does_not_depend_on_units():
    """Standardised outcomes: another unit for y changes nothing but rounding."""
    data = random_dataset(12, 1, 1)
    base = suggestion_for(data.x, data.c, data.y, decisions=1, contexts=1)

    @settings(max_examples=25)
    @given(st.floats(1e-9, 1e9), st.floats(-1e9, 1e9))
    def check(scale, offset):
        if abs(offset) > 1e6 * scale:
            offset = 0.0  # the differences would drown in rounding
        other = suggestion_for(data.x, data.c, data.y * scale + offset, decisions=1, contexts=1)
        assert torch.allclose(base, other, atol=1e-3)

    check()


def test_soft_clip_bends_only_the_tail():
    y = torch.cat([torch.linspace(-1, 1, 41), torch.tensor([1e6])]).double()
    scaled = ww.SoftClip(3.0).scaled(y, None)
    back = scaled.values * scaled.scale + scaled.shift
    assert torch.allclose(back[:-1], y[:-1], atol=1e-9)
    assert 1.0 < float(back[-1]) < 20.0
    assert torch.equal(back.argsort(), y.argsort())


def test_soft_clip_saves_a_fit_from_an_outlier():
    data = random_dataset(30, 1, 0, noise=0.01)
    y = data.y.clone()
    y[3] = -1e4
    spoiled = Dataset(data.x, data.c, y, data.noise, data.roles)
    clean = GaussianProcess().fit(data).marginals(data.x, data.c[:1])[0][:, 0]
    plain = GaussianProcess().fit(spoiled).marginals(data.x, data.c[:1])[0][:, 0]
    saved = GaussianProcess(outcome=ww.SoftClip()).fit(spoiled).marginals(data.x, data.c[:1])[0][:, 0]
    rest = torch.arange(30) != 3
    assert (saved - clean)[rest].abs().mean() < 0.5 * (plain - clean)[rest].abs().mean()


def test_a_floor_shifts_and_never_centres():
    data = random_dataset(10, 1, 0)
    floored = Dataset(data.x, data.c, data.y + 5.0, data.noise, data.roles, floor=2.0)
    posterior = GaussianProcess().fit(floored)
    assert posterior.shift == 2.0 and posterior.hyperparameters.mean == 0.0
    far = GaussianProcess(fixed=Hyperparameters(0.0, (0.01,), 1.0, 1e-2)).at(floored, FIXED_SHORT)
    mean = far.marginals(torch.tensor([[0.999]], dtype=torch.float64) * 100, data.c[:1])[0]
    assert float(mean) == pytest.approx(2.0)


FIXED_SHORT = Hyperparameters(0.0, (0.01,), 1.0, 1e-2)


def test_fixed_hyperparameters_are_kept():
    surrogate = GaussianProcess(fixed=Hyperparameters(0.0, (0.1,), 1.0, 1e-4), outcome=ww.Unscaled())
    posterior = surrogate.fit(random_dataset(8, 2, 1))
    assert posterior.hyperparameters is surrogate.fixed
    assert posterior.scale == 1.0 and posterior.shift == 0.0
    assert torch.allclose(posterior.inputs.x_rates, torch.full((2,), 10.0, dtype=torch.float64))


def test_warm_start_is_no_worse_than_cold():
    data = random_dataset(40, 2, 1)
    surrogate = GaussianProcess()
    cold = surrogate.fitted(data)
    warm = surrogate.fitted(data, Hyperparameters(0.0, (5.0, 5.0, 5.0), 1.0, 1.0))
    thetas = np.log([[*found.length_scales, found.noise] for found in (cold, warm)])
    values = surrogate.likelihood(data).values_and_gradients(thetas)[0]
    assert values[1] >= values[0] - 1e-6


def test_a_fit_is_the_best_of_all_it_tried_with_its_mean(monkeypatch):
    evaluate, tried = Likelihood.values_and_gradients, []

    def recorded(self, thetas):
        found = evaluate(self, thetas)
        tried.extend(zip(found[0].tolist(), found[3].tolist(), strict=True))
        return found

    monkeypatch.setattr(Likelihood, "values_and_gradients", recorded)
    last_is_best = 0
    for seed in range(6):
        data = random_dataset(25, 2, 1, seed=seed)
        tried.clear()
        found = GaussianProcess().fitted(data, Hyperparameters(0.0, (0.1, 3.0, 0.5), 1.0, 0.5))
        best, mean = max(tried)
        last_is_best += tried[-1][0] == best
        theta = np.log([[*found.length_scales, found.noise]])
        value, _, _, means = evaluate(GaussianProcess().likelihood(data), theta)
        assert value[0] == pytest.approx(best, abs=1e-9) and found.mean == mean == pytest.approx(means[0], abs=1e-9)
    assert last_is_best < 6


@pytest.mark.parametrize(
    "both_ways", ["split"], indirect=True
)  # hyper-parameters are sought before there is a posterior
@pytest.mark.parametrize("size", [1e8, 1e9, 1e30])
def test_unscaled_outcomes_of_any_size_are_fitted(size):
    """Their information drowns the priors': with fewer observations than hyper-parameters it is singular to the last bit."""
    for seed in range(10):
        data = random_dataset(3, 4, 0, seed=seed)
        fitted = GaussianProcess(outcome=ww.Unscaled()).fitted(replace(data, y=size * data.y))
        assert all(math.isfinite(value) for value in (fitted.mean, fitted.noise, *fitted.length_scales))


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
def test_joint_samples_have_the_joint_moments(kernel):
    posterior = posterior_for(kernel)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(2, generator=generator, dtype=torch.float64)
    contexts = Contexts.uniform(torch.rand(6, 1, generator=generator, dtype=torch.float64))
    draws = posterior.sample(x, contexts.points, 4000, generator)
    mean, std = posterior.marginals(x[None], contexts.points)
    assert ((draws.mean(0) - mean[0]).abs() <= 5 * std[0] / math.sqrt(4000)).all()
    assert ((draws.std(0) / std[0] - 1).abs() <= 5 / math.sqrt(8000)).all()
    average = posterior.average(x[None], contexts)[1]
    assert abs(float(draws.mean(1).std() / average) - 1) <= 5 / math.sqrt(8000)


@pytest.mark.parametrize("offset", [0.0, 1e3, 2e4, 1.7e9])
def test_contexts_far_from_zero_keep_their_meaning(offset):
    data = random_dataset(30, 1, 1)
    space = ww.Space({"x0": ww.Real(0, 1)}, {"c0": ww.Real(offset, offset + 1)})
    moved = Dataset(data.x, data.c + offset, data.y, data.noise, space.roles)
    points = torch.linspace(0, 1, 9, dtype=torch.float64)[:, None]
    x = torch.tensor([[0.5]], dtype=torch.float64)
    base, other = GaussianProcess().fit(data), GaussianProcess().fit(moved)
    for a, b in zip(base.marginals(x, points), other.marginals(x, points + offset), strict=True):
        assert torch.allclose(a, b, atol=1e-6 if offset < 1e6 else 1e-4)  # a double has 2e-7 left at 1.7e9


def test_one_outlier_leaves_an_unbounded_context_its_resolution():
    data = random_dataset(60, 1, 1, noise=0.001)
    space = ww.Space({"x0": ww.Real(0, 1)}, {"c0": ww.Real()})
    c = data.c.clone()
    c[0] = 1e4
    posterior = GaussianProcess().fit(Dataset(data.x, c, data.y, data.noise, space.roles))
    fitted = torch.cat([posterior.marginals(data.x[i : i + 1], c[i : i + 1])[0][0] for i in range(1, 60)])
    assert float((fitted - data.y[1:]).abs().max()) < 0.1


def test_soft_clip_mirrors_and_meets_any_outlier():
    y = torch.tensor([0.0, 1.0, 2.0, 50.0], dtype=torch.float64)
    assert torch.allclose(ww.SoftClip().scaled(y).values, -ww.SoftClip().scaled(-y).values, atol=1e-12)
    normal = torch.randn(30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for size in (1e6, 1e13, 1e60):
        assert (
            float(
                ww.SoftClip().scaled(torch.cat([normal, torch.tensor([size], dtype=torch.float64)])).values[:-1].std()
            )
            > 0.02
        )


def test_too_little_noise_is_a_solver_error():
    fixed = Hyperparameters(0.0, (1.0, 1.0, 1.0), 1.0, 1e-18)
    data = random_dataset(3, 2, 1)
    posterior = GaussianProcess(fixed=fixed).at(data, fixed)
    with pytest.raises(ww.SolverError, match="larger noise"):
        posterior.condition(data.x[:1].repeat(3, 1), data.c[:1].repeat(3, 1))


def test_blocks_do_not_change_anything(monkeypatch, generator):
    import windward.surrogate.marginals as module

    points = torch.rand(30, 1, generator=generator, dtype=torch.float64)
    x = torch.rand(17, 2, generator=generator, dtype=torch.float64)
    for kernel in ("squared_exponential", "matern52"):
        whole = posterior_for(kernel).marginals(x, points)
        monkeypatch.setattr(module, "BLOCK", 100)
        monkeypatch.setattr(module, "ROWS", 1)
        parts = posterior_for(kernel).marginals(x, points)
        monkeypatch.undo()
        for a, b in zip(whole, parts, strict=True):
            assert torch.allclose(a, b, atol=1e-13)
