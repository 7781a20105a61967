"""The Gaussian process equals GPyTorch and BoTorch with the same hyper-parameters to 1e-8."""

from __future__ import annotations

import math

import gpytorch
import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize as BotorchStandardize
from botorch.models.utils.gpytorch_modules import (
    get_covar_module_with_dim_scaled_prior,
    get_gaussian_likelihood_with_lognormal_prior,
)
from gpytorch.mlls import ExactMarginalLogLikelihood
from helpers import random_dataset

import windward as ww
from windward.contexts import Contexts
from windward.surrogate import GaussianProcess, Hyperparameters, Standardize, Unscaled
from windward.surrogate.kernel import kernel_value
from windward.surrogate.priors import NOISE_PRIOR, length_scale_prior

CASES = [
    ("squared_exponential", 40, 2, 1, 1e-4),
    ("squared_exponential", 60, 3, 2, 1e-2),
    ("squared_exponential", 30, 5, 0, 0.1),
    ("squared_exponential", 1, 1, 1, 1e-2),
    ("matern52", 40, 2, 1, 1e-4),
    ("matern52", 25, 1, 3, 0.3),
    ("matern52", 30, 4, 0, 1e-3),
]

pytestmark = pytest.mark.usefixtures("both_ways")


def peer(kernel, data, hyperparameters):
    """The same model in BoTorch, with its default priors."""
    width = data.x.shape[1] + data.c.shape[1]
    model = SingleTaskGP(
        torch.cat([data.x, data.c], 1),
        data.y[:, None],
        covar_module=get_covar_module_with_dim_scaled_prior(
            ard_num_dims=width, use_rbf_kernel=kernel == "squared_exponential"
        ),
        likelihood=get_gaussian_likelihood_with_lognormal_prior(),
        outcome_transform=BotorchStandardize(m=1) if len(data.y) > 1 else None,
    )
    model.covar_module.lengthscale = torch.tensor(hyperparameters.length_scales, dtype=torch.float64)
    model.mean_module.constant.data.fill_(hyperparameters.mean)
    model.likelihood.noise = torch.tensor([hyperparameters.noise], dtype=torch.float64)
    return model


def hyperparameters_for(width, noise, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scales = (0.2 + torch.rand(width, generator=generator, dtype=torch.float64)).tolist()
    return Hyperparameters(0.3, tuple(scales), 1.0, noise)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize(("kernel", "n", "d", "k", "noise"), CASES)
@pytest.mark.parametrize("m", [1, 7, 64])
def test_marginals_match_oracle(kernel, n, d, k, noise, m):
    data = random_dataset(n, d, k)
    hyperparameters = hyperparameters_for(d + k, noise)
    # One outcome alone has no standard deviation: that case is compared unscaled.
    outcome = Standardize() if n > 1 else Unscaled()
    posterior = GaussianProcess(kernel, outcome=outcome).at(data, hyperparameters)
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(9, d, generator=generator, dtype=torch.float64)
    points = torch.rand(m, k, generator=generator, dtype=torch.float64)
    mean, std = posterior.marginals(x, points)
    model = peer(kernel, data, hyperparameters).eval()
    joined = torch.cat([x[:, None, :].expand(9, m, d), points[None].expand(9, m, k)], -1)
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        answer = model.posterior(joined.reshape(-1, 1, d + k))
    assert torch.allclose(mean, answer.mean.reshape(9, m), rtol=0, atol=1e-8)
    assert torch.allclose(std.square(), answer.variance.reshape(9, m), rtol=0, atol=1e-8)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
@pytest.mark.parametrize(("kernel", "n", "d", "k", "noise"), [case for case in CASES if case[1] > 1])
def test_likelihood_and_gradient_match_oracle(kernel, n, d, k, noise):
    data = random_dataset(n, d, k)
    likelihood = GaussianProcess(kernel).likelihood(data)
    start = hyperparameters_for(d + k, noise)
    theta = np.log([*start.length_scales, start.noise])
    value, gradient, _, mean = (row[0] for row in likelihood.values_and_gradients(theta[None]))
    model = peer(kernel, data, Hyperparameters(mean, start.length_scales, 1.0, noise)).train()
    with gpytorch.settings.fast_computations(False, False, False):
        total = ExactMarginalLogLikelihood(model.likelihood, model)(model(*model.train_inputs), model.train_targets) * n
        total.backward()
    assert value == pytest.approx(float(total.detach()), abs=1e-8 * max(1.0, abs(value)))
    want = torch.cat([model.covar_module.raw_lengthscale.grad[0], model.likelihood.raw_noise.grad.reshape(1)])
    want = want * torch.tensor(
        [*start.length_scales, noise], dtype=torch.float64
    )  # theirs is in the value, ours in its logarithm
    # Relative to the largest entry: at noise 1e-4 the gradient's own conditioning is 1e4.
    assert np.abs(gradient - want.numpy()).max() <= 1e-8 * max(1.0, float(want.abs().max()))
    assert abs(float(model.mean_module.raw_constant.grad)) <= 1e-6 * n / noise**0.5  # the profiled mean is stationary


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
def test_likelihoods_together_are_those_one_by_one(kernel):
    likelihood = GaussianProcess(kernel).likelihood(random_dataset(25, 2, 1))
    thetas = np.log([[0.3, 0.7, 0.5, 0.05], [2.0, 0.1, 9.0, 1e-4], [1.0, 1.0, 1.0, 1.0]])
    together = likelihood.values_and_gradients(thetas)
    for row, theta in enumerate(thetas):
        for all_rows, alone in zip(together, likelihood.values_and_gradients(theta[None]), strict=True):
            assert all_rows[row] == pytest.approx(alone[0], rel=1e-9)


def test_a_likelihood_without_a_factor_is_nan_and_leaves_the_others_alone():
    data = random_dataset(6, 2, 1)
    likelihood = GaussianProcess().likelihood(data)
    thetas = np.log([[1e9, 1e9, 1e9, 1e-300], [0.3, 0.7, 0.5, 0.05]])  # six rows all but equal, no noise: singular
    values, gradients, *_ = likelihood.values_and_gradients(thetas)
    assert np.isnan(values[0]) and np.isfinite(gradients[1]).all()
    assert values[1] == likelihood.values_and_gradients(thetas[1:])[0][0]


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
def test_curvature_is_the_average_information_with_the_priors(kernel):
    """1/2 (A_i a)' A^-1 (A_j a), every matrix written out; a category's columns share a length-scale, one noise is given."""
    space = ww.Space({"x": ww.Real(0, 1), "way": ww.Categorical(["a", "b", "c"])}, {"c": ww.Real(0, 1)})
    generator = torch.Generator().manual_seed(0)
    n, points = 12, torch.rand(12, 3, generator=generator, dtype=torch.float64)
    trials = [
        ww.Trial(
            i,
            {"x": a, "way": "abc"[int(3 * b)]},
            context={"c": c},
            context_source="revealed",
            value=math.sin(5 * a) + b + c,
            noise=0.3 if i == 4 else None,
        )
        for i, (a, b, c) in enumerate(points.tolist())
    ]
    likelihood = GaussianProcess(kernel).likelihood(ww.Trials(space, trials).dataset)
    theta = np.log([0.3, 0.7, 0.5, 0.05])
    _, _, curvature, mean = (row[0] for row in likelihood.values_and_gradients(theta[None]))

    def covariance(theta):
        z = likelihood.inputs_in_units * theta[:-1].neg().exp()[likelihood.groups]
        s = (z[:, None] - z).square().sum(-1)
        k = kernel_value(kernel, s)
        return k + torch.where(likelihood.given_noise.isnan(), theta[-1].exp(), likelihood.given_noise).diag()

    at = torch.from_numpy(theta)
    parts = torch.autograd.functional.jacobian(covariance, at).movedim(-1, 0)  # "t n n"
    precision = covariance(at).inverse()
    pulled = parts @ (precision @ (likelihood.y - mean))
    want = 0.5 * pulled @ precision @ pulled.T + torch.tensor([1 / 3] * 3 + [1.0], dtype=torch.float64).diag()
    assert len(likelihood.groups) == 5 and int(likelihood.given_noise.isnan().sum()) == n - 1
    assert np.allclose(curvature, want.numpy(), rtol=1e-9, atol=1e-9)


def test_gradient_by_differences():
    likelihood = GaussianProcess("matern52").likelihood(random_dataset(25, 2, 1))
    theta = np.log([0.3, 0.7, 0.5, 0.05])
    gradient = likelihood.values_and_gradients(theta[None])[1][0]
    for i in range(4):
        step = np.eye(4)[i] * 1e-5
        after, before = likelihood.values_and_gradients(np.stack([theta + step, theta - step]))[0]
        slope = (after - before) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_fit_is_no_worse_than_botorch_oracle():
    from botorch.fit import fit_gpytorch_mll

    data = random_dataset(40, 2, 1)
    fitted = GaussianProcess().fitted(data)
    likelihood = GaussianProcess().likelihood(data)
    model = peer("squared_exponential", data, hyperparameters_for(3, 0.1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    theirs = model.covar_module.lengthscale[0].tolist(), float(model.likelihood.noise.detach())
    thetas = np.log([[*fitted.length_scales, fitted.noise], [*theirs[0], theirs[1]]])
    ours, botorch = likelihood.values_and_gradients(thetas)[0]
    assert ours >= botorch - 1e-5


def test_priors_are_botorch_defaults_oracle():
    kernel = get_covar_module_with_dim_scaled_prior(ard_num_dims=7)
    prior = length_scale_prior(7)
    assert prior.mean == pytest.approx(float(kernel.lengthscale_prior.loc))
    assert prior.deviation == pytest.approx(float(kernel.lengthscale_prior.scale))
    assert prior.mode == pytest.approx(float(kernel.lengthscale[0, 0].detach()))
    noise = get_gaussian_likelihood_with_lognormal_prior()
    assert NOISE_PRIOR.mode == pytest.approx(float(noise.noise.detach()))
    prior = noise.noise_covar.noise_prior
    assert (NOISE_PRIOR.mean, NOISE_PRIOR.deviation) == pytest.approx((float(prior.loc), float(prior.scale)))


def test_average_is_the_integral_of_the_joint_posterior():
    data = random_dataset(30, 2, 1)
    hyperparameters = hyperparameters_for(3, 1e-2)
    generator = torch.Generator().manual_seed(3)
    points = torch.rand(12, 1, generator=generator, dtype=torch.float64)
    weights = torch.rand(12, generator=generator, dtype=torch.float64)
    contexts = Contexts(points, weights / weights.sum())
    x = torch.rand(5, 2, generator=generator, dtype=torch.float64)
    for kernel in ("squared_exponential", "matern52"):
        posterior = GaussianProcess(kernel).at(data, hyperparameters)
        mean, std = posterior.average(x, contexts)
        for row in range(5):
            zx = posterior.inputs.x(x[row].repeat(12, 1))
            zc = posterior.inputs.c(points)
            cross = posterior.covariance(zx, zc, posterior.zx, posterior.zc) @ posterior.inverse.T
            joint = posterior.covariance(zx, zc, zx, zc) - cross @ cross.T
            want = float(contexts.weights @ joint @ contexts.weights) ** 0.5 * posterior.scale
            assert float(std[row]) == pytest.approx(want, rel=1e-9)
            marginal = posterior.marginals(x[row][None], points)[0][0]
            assert float(mean[row]) == pytest.approx(float(marginal @ contexts.weights), rel=1e-12)


def test_matern_formula():
    """k(r) = (1 + sqrt5 r + 5 r^2 / 3) exp(-sqrt5 r), written out again."""
    data = random_dataset(1, 1, 0)
    posterior = GaussianProcess("matern52").at(data, Hyperparameters(0.0, (0.5,), 1.0, 0.1))
    r = abs(0.9 - 0.2) / 0.5
    want = (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r)
    z = posterior.inputs.x(torch.tensor([[0.9], [0.2]], dtype=torch.float64))
    empty = torch.zeros(1, 0, dtype=torch.float64)
    assert float(posterior.covariance(z[:1], empty, z[1:], empty)) == pytest.approx(want, rel=1e-12)
