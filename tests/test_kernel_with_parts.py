"""The kernel with a part in decisions alone and one in contexts alone: GPyTorch's answers, gradients, paths, its use."""

from __future__ import annotations

import re
from dataclasses import replace

import gpytorch
import numpy as np
import pytest
import torch
from helpers import random_dataset

import windward as ww
from windward.contexts import Contexts
from windward.surrogate import GaussianProcess, Hyperparameters
from windward.surrogate.crowd import crowd

PARTS = GaussianProcess(parts=True)
HELD = Hyperparameters(0.2, (0.4, 0.9, 0.6, 1.1), 1.3, 1e-3, (0.3, 0.15))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def data():
    return random_dataset(25, 2, 2)


def places():
    drawn = torch.rand(9, 4, generator=generator(3), dtype=torch.float64)
    return drawn[:4, :2], torch.rand(30, 2, generator=generator(4), dtype=torch.float64)


class Peer(gpytorch.models.ExactGP):
    """The same kernel out of GPyTorch's own."""

    def __init__(self, x, y, likelihood, held):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        plain = [gpytorch.kernels.RBFKernel(ard_num_dims=2, active_dims=columns) for columns in ((0, 1), (2, 3))]
        scaled, constant = (
            [gpytorch.kernels.ScaleKernel(one) for one in plain],
            [gpytorch.kernels.ConstantKernel() for _ in plain],
        )
        first, second = (one + other for one, other in zip(scaled, constant, strict=True))
        self.covar_module = gpytorch.kernels.ScaleKernel(first * second)
        self.double()
        self.mean_module.constant.data.fill_(held.mean)
        scales = torch.tensor(held.length_scales, dtype=torch.float64).reshape(2, 1, 2)
        for place, share in enumerate(torch.tensor(held.shares, dtype=torch.float64)):
            plain[place].lengthscale, scaled[place].outputscale, constant[place].constant = (
                scales[place],
                1.0 - share,
                share,
            )
        self.covar_module.outputscale = torch.tensor(held.amplitude, dtype=torch.float64)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_it_answers_as_gpytorch_does():
    rows, (x, points) = data(), places()
    posterior = replace(PARTS, fixed=HELD).at(rows, HELD)
    noise = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-6))
    y = (rows.y - posterior.shift) / posterior.scale
    # Contexts have units of their own: the peer sees what the kernel sees.
    rates = torch.cat([posterior.inputs.x_rates, posterior.inputs.c_rates]) * torch.tensor(
        HELD.length_scales, dtype=torch.float64
    )
    seen = torch.cat([rows.x, rows.c], 1) * rates
    peer = Peer(seen, y, noise, HELD)
    noise.noise = torch.tensor(HELD.noise, dtype=torch.float64)
    peer.eval()
    at = torch.cat([x[:, None].expand(-1, len(points), -1), points.expand(len(x), -1, -1)], -1).reshape(-1, 4) * rates
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        answer = peer(at)
        mean, std = posterior.marginals(x, points)
    scale, shift = posterior.scale, posterior.shift
    assert torch.allclose(mean.flatten(), answer.mean * scale + shift, rtol=0, atol=1e-8)
    assert torch.allclose(std.flatten(), answer.variance.sqrt() * scale, rtol=0, atol=1e-8)
    # By the answer at each context, the average is known too, as are several averages at once.
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        blocks = [peer(at[30 * place : 30 * place + 30]).covariance_matrix.mean().sqrt() for place in range(4)]
    average, deviation = posterior.average(x, Contexts.uniform(points))
    assert torch.allclose(average, mean.mean(1), rtol=0, atol=1e-9)
    assert torch.allclose(deviation, torch.stack(blocks) * scale, rtol=0, atol=1e-8)
    weights = torch.full((1, 30), 1 / 30, dtype=torch.float64)
    together = posterior.averages(x, points, weights)[1][0].diagonal().sqrt()
    assert torch.allclose(together, deviation) and torch.allclose(posterior.means(x, points), mean)
    assert torch.allclose(posterior.weighted_deviation(x, points, weights.expand(4, -1)), deviation)


def test_the_densitys_gradient_is_right():
    problem = PARTS.likelihood(data())
    thetas = np.array([[0.1, -0.3, 0.5, 0.2, -1.0, 0.5, -4.0], [0.3, 0.1, 0.0, 0.0, -2.0, -2.0, -3.0]])
    _, gradient, curvature, _ = problem.values_and_gradients(thetas)
    for entry in range(7):
        step = np.eye(7)[entry] * 1e-5
        upper, lower = (problem.values_and_gradients(thetas + sign * step)[0] for sign in (1, -1))
        assert np.allclose((upper - lower) / 2e-5, gradient[:, entry], atol=1e-6)
    assert (np.linalg.eigvalsh(curvature) > 0).all()
    # With shares of nothing it is the plain kernel.
    plain, scaled = GaussianProcess().likelihood(data()), problem.inputs_in_units[None]
    assert torch.allclose(problem.values(scaled, np.zeros((1, 2))), plain.values(scaled, np.zeros((1, 0))))


def test_gradients_in_the_decision_are_right():
    posterior, (x, points) = PARTS.fit(data()), places()
    x = x.clone().requires_grad_()
    assert min(posterior.hyperparameters.shares) > 0
    for at in (posterior, posterior.draft()):  # a draft splits the contexts, so does an evaluation that repays it
        assert torch.autograd.gradcheck(lambda z, at=at: at.marginals(z, points), x, atol=1e-6)
    assert torch.autograd.gradcheck(lambda z: posterior.context_slopes(z, points), x, atol=1e-6)
    path = posterior.path(generator())
    assert torch.autograd.gradcheck(lambda z: path(z, points), x, atol=1e-6)


def test_slopes_in_the_context_are_those_of_the_values():
    posterior, (x, points) = PARTS.fit(data()), places()
    path = posterior.path(generator())
    posterior.marginals(torch.rand(500, 2, dtype=torch.float64, generator=generator()), points)  # from here on split
    for at in (posterior, posterior.draft()):
        slopes = at.context_slopes(x, points)
        for column in range(2):
            step = torch.eye(2, dtype=torch.float64)[column] * 1e-6
            above, below = (posterior.marginals(x, points + sign * step) for sign in (1, -1))
            within = 1e-6 if at is posterior else 2e-2
            assert torch.allclose((above[0] - below[0]) / 2e-6, slopes.mean_gradient[..., column], atol=within)
            assert torch.allclose((above[1] - below[1]) / 2e-6, slopes.std_gradient[..., column], atol=within)
            above, below = (path(x, points + sign * step) for sign in (1, -1))
            assert torch.allclose((above - below) / 2e-6, path.context_gradient(x, points)[..., column], atol=1e-6)


def test_paths_and_samples_have_the_posteriors_moments():
    posterior, (x, points) = PARTS.at(data(), HELD), places()
    mean, std = posterior.marginals(x, points[:5])
    paths = [posterior.path(generator(seed)) for seed in range(400)]
    drawn = torch.stack([path(x, points[:5]) for path in paths])
    assert ((drawn.mean(0) - mean) / std).abs().max() < 0.25 and (drawn.std(0) / std - 1).abs().max() < 0.2
    assert torch.allclose(paths[0].sketch()(x, points), paths[0](x, points), atol=1e-4)
    prior = torch.stack([path.prior_at_pairs(posterior.zx, posterior.zc) for path in paths])
    wanted = posterior.covariance(posterior.zx, posterior.zc, posterior.zx, posterior.zc)
    assert (prior.T @ prior / 400 - wanted).abs().max() < 0.4
    sampled = posterior.sample(x[0], points[:5], 4000, generator())
    assert ((sampled.mean(0) - mean[0]) / std[0]).abs().max() < 0.1


def test_posteriors_together_answer_as_each_alone():
    rows, (x, points) = data(), places()
    some = PARTS.nearby(rows, PARTS.fit(rows), 8, generator())
    assert len({one.hyperparameters.shares for one in some}) > 4
    contexts = Contexts.uniform(points)
    together = crowd(some, contexts)
    means, variances = together.averages(x)
    each = [one.average(x, contexts) for one in some]
    assert torch.allclose(means, torch.stack([mean for mean, _ in each]))
    assert torch.allclose(variances, torch.stack([std.square() for _, std in each]))
    alone = PARTS.at(rows, some[3].hyperparameters)
    assert torch.allclose(alone.marginals(x, points)[1], some[3].marginals(x, points)[1])


def test_what_moves_every_decision_alike_is_no_noise():
    """f = g(x) + h(c): few results far apart in x say what the context does to all of them."""
    x, c = torch.rand(2, 16, 1, generator=generator(5), dtype=torch.float64)
    y = torch.sin(9 * x[:, 0]) + 3 * torch.sin(6 * c[:, 0])
    rows = replace(random_dataset(16, 1, 1), x=x, c=c, y=y)
    at, points = torch.rand(2, 40, 1, generator=generator(6), dtype=torch.float64)
    truth = torch.sin(9 * at) + 3 * torch.sin(6 * points[:, 0])
    errors = [
        (surrogate.fit(rows).means(at, points) - truth).square().mean() for surrogate in (GaussianProcess(), PARTS)
    ]
    assert errors[1] < 0.7 * errors[0]


def test_without_contexts_or_parts_nothing_changes():
    rows = random_dataset(12, 3, 0)
    assert PARTS.fit(rows).hyperparameters == GaussianProcess().fit(rows).hyperparameters
    assert GaussianProcess().fit(data()).hyperparameters.shares == ()


def test_a_study_takes_it_and_replays():
    space = ww.Space(decision={"x": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})
    policy = replace(ww.auto(), surrogate=PARTS)
    study = ww.Study(space, policy, seed=2)
    for place in range(9):
        s = study.ask()
        study.tell(s.id, s.decision["x"] - place % 3, context={"c": 0.1 * place})
    assert all(study.replay(trial.id).decision == trial.decision for trial in study.trials)
    assert 0.0 <= study.recommend().decision["x"] <= 1.0


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GaussianProcess("matern52", parts=True), 'use kernel="squared_exponential"'),
        (lambda: GaussianProcess(parts=1), "parts"),
        (lambda: GaussianProcess(fixed=replace(HELD, shares=(0.5,))), "give two numbers"),
        (lambda: GaussianProcess(fixed=replace(HELD, shares=(0.5, 1.5))), "shares"),
        (lambda: GaussianProcess("matern52", fixed=HELD), "a kernel has shares where"),
    ],
)
def test_wrong_settings_say_what_to_do(make, said):
    with pytest.raises(ww.ArgumentError, match=re.escape(said)):
        make()
