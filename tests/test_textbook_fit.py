"""Hyper-parameters of most likelihood, without priors and with a fitted amplitude: equal to GPyTorch's, and what they bring."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import gpytorch
import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize as BotorchStandardize
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from helpers import random_dataset

import windward as ww
from windward.papers.settings import TEXTBOOK
from windward.surrogate import GaussianProcess, Hyperparameters, Start
from windward.surrogate.likelihood import Likelihood
from windward.surrogate.priors import LEAST_LENGTH_SCALE, least_scales
from windward.trials.trials import Dataset

KERNELS = ["squared_exponential", "matern52"]


def process(kernel="squared_exponential", **more):
    return GaussianProcess(kernel, priors=None, amplitude="fitted", **more)


def peer(kernel, data, hyperparameters):
    """The same model in BoTorch: a scaled kernel, no priors, parameters that are not transformed."""
    width = data.x.shape[1] + data.c.shape[1]
    free = {"lengthscale_constraint": GreaterThan(1e-6, transform=None, initial_value=0.5)}
    inner = (
        RBFKernel(ard_num_dims=width, **free)
        if kernel == "squared_exponential"
        else MaternKernel(2.5, ard_num_dims=width, **free)
    )
    model = SingleTaskGP(
        torch.cat([data.x, data.c], 1),
        data.y[:, None],
        covar_module=ScaleKernel(
            inner, outputscale_constraint=GreaterThan(1e-6, transform=None, initial_value=1.0)
        ).double(),
        likelihood=GaussianLikelihood(noise_constraint=GreaterThan(1e-9, transform=None, initial_value=0.1)).double(),
        outcome_transform=BotorchStandardize(m=1),
    )
    inner.lengthscale = torch.tensor(hyperparameters.length_scales, dtype=torch.float64)
    model.covar_module.outputscale = torch.tensor(hyperparameters.amplitude, dtype=torch.float64)
    model.mean_module.constant.data.fill_(hyperparameters.mean)
    model.likelihood.noise = torch.tensor([hyperparameters.noise], dtype=torch.float64)
    return model


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "k", "amplitude", "noise"), [(40, 2, 1, 3.0, 1e-2), (25, 3, 0, 0.2, 1e-3)])
def test_likelihood_and_gradient_match_oracle(kernel, n, d, k, amplitude, noise):
    data = random_dataset(n, d, k)
    scales = tuple((0.2 + torch.rand(d + k, generator=torch.Generator().manual_seed(0)).double()).tolist())
    likelihood = process(kernel).likelihood(data)
    theta = np.log([*scales, amplitude, noise])
    value, gradient, _, mean = (row[0] for row in likelihood.values_and_gradients(theta[None]))
    model = peer(kernel, data, Hyperparameters(mean, scales, amplitude, noise)).train()
    with gpytorch.settings.fast_computations(False, False, False):
        total = ExactMarginalLogLikelihood(model.likelihood, model)(model(*model.train_inputs), model.train_targets) * n
        total.backward()
    assert value == pytest.approx(float(total.detach()), abs=1e-8 * max(1.0, abs(value)))
    by_noise = (
        float(model.likelihood.noise_covar.raw_noise.grad) * noise
    )  # theirs is in the value, ours in its logarithm
    by_amplitude = float(model.covar_module.raw_outputscale.grad) * amplitude
    by_scale = model.covar_module.base_kernel.raw_lengthscale.grad[0].numpy() * np.array(scales)
    want = np.array([*by_scale, by_amplitude, by_noise])
    assert np.abs(gradient - want).max() <= 1e-8 * max(1.0, np.abs(want).max())


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_fitted_posterior_matches_oracle(kernel):
    data = random_dataset(30, 2, 1)
    posterior = process(kernel).fit(data)
    assert posterior.hyperparameters.amplitude != 1.0
    generator = torch.Generator().manual_seed(1)
    x, points = (torch.rand(rows, width, generator=generator, dtype=torch.float64) for rows, width in ((9, 2), (12, 1)))
    mean, std = posterior.marginals(x, points)
    model = peer(kernel, data, posterior.hyperparameters).eval()
    joined = torch.cat([x[:, None, :].expand(9, 12, 2), points[None].expand(9, 12, 1)], -1)
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        answer = model.posterior(joined.reshape(-1, 1, 3))
    assert torch.allclose(mean, answer.mean.reshape(9, 12), rtol=0, atol=1e-8)
    assert torch.allclose(std.square(), answer.variance.reshape(9, 12), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradchecks_with_a_fitted_amplitude(kernel, generator):
    posterior = process(kernel).fit(random_dataset(20, 2, 1))
    points, path = torch.rand(5, 1, generator=generator, dtype=torch.float64), posterior.path(generator)
    contexts = ww.Contexts.uniform(points)
    x = torch.rand(3, 2, generator=generator, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: posterior.marginals(x, points), (x,), atol=1e-6)
    assert torch.autograd.gradcheck(lambda x: posterior.average(x, contexts), (x,), atol=1e-6)
    assert torch.autograd.gradcheck(lambda x: path(x, points), (x,), atol=1e-6)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(
    "surrogate",
    [process("matern52"), process(parts=True), process(drift=20), GaussianProcess(amplitude="fitted", parts=True)],
    ids=repr,
)
def test_gradient_by_differences(surrogate, given):
    trials = told(12, given)
    likelihood = surrogate.likelihood(trials.dataset, 20.0 if surrogate.drift else None)
    logits = [0.3, -1.0] if surrogate.parts else []
    theta = np.array([*np.log([0.3, 0.7]), *logits, *np.log([2.5, 0.05])])
    gradient = likelihood.values_and_gradients(theta[None])[1][0]
    for i in range(len(theta)):
        step = np.eye(len(theta))[i] * 1e-5
        after, before = likelihood.values_and_gradients(np.stack([theta + step, theta - step]))[0]
        assert gradient[i] == pytest.approx((after - before) / 2e-5, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("given", [False, True])
def test_moments_are_those_of_the_density(given):
    likelihood = process().likelihood(told(12, given).dataset)
    theta = np.log([[0.3, 0.7, 2.5, 0.05]])
    found = likelihood.moments(theta)
    density = -0.5 * (float(found.quadratic) + float(found.log_determinant) + 12 * math.log(2.0 * math.pi))
    assert density == pytest.approx(float(likelihood.values_and_gradients(theta)[0][0]), rel=1e-9)


def told(n, given=False):
    space = ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)})
    points = torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rows = [
        ww.Trial(
            i,
            {"x": a},
            context={"c": c},
            context_source="revealed",
            value=3.0 * math.sin(5 * a) + c,
            noise=0.3 if given and i % 3 == 0 else None,
        )
        for i, (a, c) in enumerate(points.tolist())
    ]
    return ww.Trials(space, rows)


def rough(n, length=0.02, seed=0):
    """Noiseless values of a draw with a short length-scale."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 1, generator=generator, dtype=torch.float64)
    k = torch.exp(-0.5 * ((x - x.T) / length).square()) + 1e-8 * torch.eye(n, dtype=torch.float64)
    y = torch.linalg.cholesky(k) @ torch.randn(n, generator=generator, dtype=torch.float64)
    none = torch.full((n,), math.nan, dtype=torch.float64)
    return Dataset(x, torch.zeros(n, 0, dtype=torch.float64), y, none, ww.Space({"x": ww.Real(0, 1)}).roles)


def test_a_short_length_scale_is_found_where_the_usual_fit_stops_at_its_bound():
    data = rough(80, 0.012)
    found = process().fitted(data)
    assert 0.009 < found.length_scales[0] < 0.015
    assert found.noise < 0.01 * found.amplitude
    assert GaussianProcess().fitted(data).length_scales[0] == pytest.approx(LEAST_LENGTH_SCALE)


def test_the_least_length_scale_is_a_share_of_the_usual_gap():
    column = np.array([0.0, 0.003, 0.003, 0.006, 0.2])
    assert least_scales(column[:, None], np.array([0]), 1) == pytest.approx((0.001,))
    # Never above the usual bound, and that where a column has one value, or there are none.
    assert least_scales(np.array([[0.1, 0.5], [0.9, 0.5]]), np.array([0, 1]), 2) == (LEAST_LENGTH_SCALE,) * 2
    assert least_scales(np.zeros((0, 1)), np.array([0]), 1) == (LEAST_LENGTH_SCALE,)


def test_the_fit_is_no_worse_than_from_any_start():
    data = random_dataset(25, 1, 1)
    likelihood = process().likelihood(data)
    best = likelihood.density(process().fitted(data))
    generator = torch.Generator().manual_seed(3)
    for row in torch.rand(10, 3, generator=generator, dtype=torch.float64).tolist():
        start = Hyperparameters(0.0, (0.05 + row[0], 0.05 + row[1]), 0.5 + row[2], 0.05)
        assert likelihood.density(likelihood.search([start])) <= best + 1e-4


def test_other_plausible_hyper_parameters_are_drawn(generator):
    data = random_dataset(20, 2, 1)
    surrogate = process()
    posteriors = surrogate.nearby(data, surrogate.fit(data), 16, generator)
    amplitudes = {one.hyperparameters.amplitude for one in posteriors}
    assert len(posteriors) == 16 and len(amplitudes) > 4
    x, points = torch.rand(4, 2, generator=generator).double(), torch.rand(3, 1, generator=generator).double()
    for one in posteriors:
        mean, std = one.marginals(x, points)
        assert bool(torch.isfinite(mean).all()) and bool((std > 0).all())


def test_no_priors_can_be_said_in_a_file():
    assert GaussianProcess(priors="none") == GaussianProcess(priors=None)
    assert ww.from_json(ww.to_json(TEXTBOOK)) == TEXTBOOK


def test_a_study_with_late_values_and_without_priors():
    space = ww.Space({"x": ww.Real(0, 1)})
    study = ww.Study(space, ww.papers.gp_ucb_sdf(0.0, 3, surrogate=TEXTBOOK), seed=0)
    for turn in range(10):
        asked = study.ask()
        if turn % 2:
            study.tell(asked.id, math.sin(6 * asked.decision["x"]) ** 2)
    assert 0.0 <= study.recommend().decision["x"] <= 1.0


def test_worst_values_are_not_taken_for_noise_where_hyper_parameters_are_learnt_from_what_has_arrived():
    x = torch.linspace(0.0, 1.0, 24, dtype=torch.float64).tolist()
    space, now = ww.Space({"x": ww.Real(0, 1)}), datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        ww.Trial(i, {"x": a}, asked_at=now, value=None if i % 3 == 1 else 2.0 + math.sin(9 * a))
        for i, a in enumerate(x)
    ]
    trials, shares = ww.Trials(space, rows), []
    for learn_from in ("all", "arrived"):
        believed = ww.Censor(0.0, 30, learn_from=learn_from)(trials, TEXTBOOK, now, Start())
        found = believed.posterior.hyperparameters
        assert believed.posterior.size == 24  # the worst values count either way
        shares.append(found.noise / found.amplitude)
    assert shares[1] < 1e-3 < 0.05 < shares[0]
    data = ww.Censor(0.0, 30, learn_from="arrived").dataset(trials)
    arrived = data.at((data.y > 0).nonzero()[:, 0])
    assert found == TEXTBOOK.fitted(replace(arrived, told=None))


@pytest.mark.parametrize("drift", [None, 1.0])
@pytest.mark.parametrize("told", [0, 3])
def test_hyper_parameters_are_drawn_by_what_has_arrived_however_long_ago(told, drift):
    space, now = ww.Space({"x": ww.Real(0, 1)}), datetime(2026, 1, 1, tzinfo=UTC)
    rows = [ww.Trial(i, {"x": i / 40}, asked_at=now, value=math.sin(i) if i < told else None) for i in range(40)]
    trials, surrogate = ww.Trials(space, rows), GaussianProcess(drift=drift)
    feedback = ww.Censor(0.0, 0, learn_from="arrived")
    posterior = feedback(trials, surrogate, now, Start()).posterior
    found = surrogate.nearby(feedback.dataset(trials), posterior, 4, torch.Generator().manual_seed(0))
    assert found == (posterior,) if told == 0 else len(found) == 4


def test_the_default_likelihood_has_no_new_entry():
    problem = GaussianProcess().likelihood(random_dataset(10, 2, 1))
    assert isinstance(problem, Likelihood) and problem.layout.width == 4
    assert not problem.flat and not problem.amplitude
