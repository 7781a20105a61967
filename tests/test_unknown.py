"""What is unknown behind a value: averages of f in closed form, plausible hyper-parameters, distributions of contexts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import random_dataset, seen
from test_advice import rows, shop

import windward as ww
from windward.contexts import Judging
from windward.contexts import judged as judging
from windward.suggest.caution import careful
from windward.suggest.judging import InRows
from windward.surrogate import Believed, nearby

KERNELS = ("squared_exponential", "matern52")
SHOP = ww.Space({"order": ww.Real(0, 1)}, {"demand": ww.Real(0, 10), "sky": ww.Categorical(["sun", "rain", "snow"])})
ROWS = [{"demand": 1.0 + i, "sky": "sun" if i % 2 else "rain"} for i in range(8)]


def kernel(name, z, other):
    """The kernel as a textbook has it."""
    r = torch.cdist(z, other, compute_mode="donot_use_mm_for_euclid_dist")
    if name == "squared_exponential":
        return torch.exp(-(r**2) / 2)
    root = math.sqrt(5.0) * r
    return (1 + root + root**2 / 3) * torch.exp(-root)


DATA = random_dataset(14, 2, 2)


def joint(posterior, x, points):
    """Mean `"m n"` and covariance `"m n m n"` of f at decisions by contexts, from the joint normal distribution."""
    zx, zc = posterior.inputs.x(x), posterior.inputs.c(points)
    at = torch.cat([zx.repeat_interleave(len(zc), 0), zc.repeat(len(zx), 1)], 1)
    data = torch.cat([posterior.zx, posterior.zc], 1)
    hyper, name = posterior.hyperparameters, posterior.kernel
    observed = hyper.amplitude * kernel(name, data, data) + torch.diag(posterior.noise)
    cross = hyper.amplitude * kernel(name, at, data)
    outcomes = (DATA.y - posterior.shift) / posterior.scale
    mean = hyper.mean + cross @ torch.linalg.solve(observed, outcomes - hyper.mean)
    covariance = hyper.amplitude * kernel(name, at, at) - cross @ torch.linalg.solve(observed, cross.T)
    shape = (len(x), len(points))
    return (mean * posterior.scale + posterior.shift).reshape(shape), (covariance * posterior.scale**2).reshape(
        *shape, *shape
    )


@pytest.fixture(params=KERNELS)
def fitted(request, generator):
    hyper = ww.Hyperparameters(0.2, (0.4, 0.7, 0.5, 0.9), 1.3, 0.05)
    posterior = ww.GaussianProcess(kernel=request.param, fixed=hyper).fit(DATA)
    x = torch.rand(4, 2, generator=generator, dtype=torch.float64)
    points = torch.rand(5, 2, generator=generator, dtype=torch.float64)
    weights = torch.rand(3, 5, generator=generator, dtype=torch.float64)
    return posterior, x, points, weights / weights.sum(-1, keepdim=True)


def test_averages_are_those_of_the_joint_distribution(fitted):
    posterior, x, points, weights = fitted
    mean, covariance = joint(posterior, x, points)
    means, covariances = posterior.averages(x, points, weights)
    torch.testing.assert_close(means, torch.einsum("mn,sn->sm", mean, weights), rtol=1e-10, atol=1e-10)
    wanted = torch.einsum("sn,mnpq,sq->smp", weights, covariance, weights)
    torch.testing.assert_close(covariances, wanted, rtol=1e-10, atol=1e-10)
    means, deviations = posterior.average_marginals(x, points, weights)
    torch.testing.assert_close(means, torch.einsum("mn,sn->sm", mean, weights), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(deviations, wanted.diagonal(dim1=1, dim2=2).sqrt(), rtol=1e-10, atol=1e-10)


def test_each_decision_may_have_weights_of_its_own(fitted):
    posterior, x, points, weights = fitted
    _, covariance = joint(posterior, x[:3], points)
    pulls = 2.0 * weights - 0.3  # a gradient is no distribution
    found = posterior.weighted_deviation(x[:3], points, pulls)
    wanted = torch.stack([pulls[i] @ covariance[i, :, i] @ pulls[i] for i in range(3)]).sqrt()
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)
    moving = x[:3].clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda at: posterior.weighted_deviation(at, points, pulls), moving)


def test_a_wider_posterior_has_the_same_mean_and_larger_deviations(fitted):
    posterior, x, points, weights = fitted
    wide = posterior.wider(1.6)
    mean, deviation = posterior.marginals(x, points)
    torch.testing.assert_close(wide.marginals(x, points)[0], mean, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(wide.marginals(x, points)[1], 1.6 * deviation, rtol=1e-8, atol=1e-10)
    means, covariances = posterior.averages(x, points, weights)
    torch.testing.assert_close(wide.averages(x, points, weights)[0], means, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(wide.averages(x, points, weights)[1], 1.6**2 * covariances, rtol=1e-8, atol=1e-10)
    one, other = (each.sample(x[0], points, 400, torch.Generator().manual_seed(3)) for each in (posterior, wide))
    torch.testing.assert_close(other - mean[0], 1.6 * (one - mean[0]), rtol=1e-5, atol=1e-6)
    path = wide.path(torch.Generator().manual_seed(3))(x, points)
    again = posterior.path(torch.Generator().manual_seed(3))(x, points)
    torch.testing.assert_close(path - mean, 1.6 * (again - mean), rtol=1e-6, atol=1e-6)


# -- hyper-parameters ----------------------------------------------------------------------------------------------------


def brute(problem, theta):
    """Log determinant, quadratic form, 1'A^-1 1 and mean at one theta, by plain algebra."""
    z = problem.inputs_in_units * torch.exp(-torch.tensor(theta[:-1]))[problem.groups]
    a = kernel(problem.kernel, z, z) + math.exp(theta[-1]) * torch.eye(len(z), dtype=torch.float64)
    inverse, ones = torch.linalg.inv(a), torch.ones(len(z), dtype=torch.float64)
    mean = (ones @ inverse @ problem.y) / (ones @ inverse @ ones) if problem.centred else torch.tensor(0.0)
    residual = problem.y - mean
    return torch.logdet(a), residual @ inverse @ residual, ones @ inverse @ ones, mean


@pytest.mark.parametrize("name", KERNELS)
def test_moments_are_those_of_plain_algebra(name):
    problem = ww.GaussianProcess(kernel=name).likelihood(random_dataset(11, 1, 1))
    thetas = np.log([[0.3, 0.8, 0.02], [1.5, 0.4, 0.3]])
    found = problem.moments(thetas)
    for place, theta in enumerate(thetas):
        for part, wanted in zip(found, brute(problem, theta), strict=True):
            assert float(part[place]) == pytest.approx(float(wanted), rel=1e-9)


def test_a_quadratic_form_is_never_negative():
    """Large values that hardly differ: products taken apart cancel, a sum of squares does not."""
    data = random_dataset(9, 1, 1)
    data = replace(data, y=1e60 * (1.0 + 1e-13 * data.y))
    problem = ww.GaussianProcess(outcome=ww.Unscaled()).likelihood(data)
    thetas = np.log([[scale, 2.0, 1e-3] for scale in np.linspace(0.1, 3.0, 40)])
    assert bool((problem.moments(thetas).quadratic >= 0.0).all())


@pytest.mark.parametrize("curvature", [np.zeros((3, 3)), np.full((3, 3), 1e40), np.full((3, 3), math.nan)])
def test_a_curvature_without_an_inverse_has_a_root_all_the_same(curvature):
    root = nearby._inverse_root(curvature)
    assert np.isfinite(root).all() and abs(np.linalg.det(root)) > 0.0


@pytest.mark.parametrize("size", [1e-120, 1e30, 1e60])
def test_hyperparameters_are_drawn_for_values_of_any_size(size, generator):
    data = random_dataset(9, 1, 1)
    surrogate, data = ww.GaussianProcess(outcome=ww.Unscaled()), replace(data, y=size * data.y)
    found = nearby.draws(surrogate.likelihood(data), surrogate.fit(data).hyperparameters, 8, generator)
    assert all(math.isfinite(one.amplitude) and one.noise > 0.0 for one in found)


def log_target(problem, theta):
    """The density of theta that nearby.py states, with the amplitude and the mean integrated out."""
    determinant, quadratic, ones, _ = brute(problem, theta)
    degrees = nearby.ANCHOR + len(problem.y) - 1
    likelihood = -0.5 * determinant - 0.5 * ones.log() - 0.5 * degrees * (nearby.ANCHOR + quadratic).log()
    return float(likelihood) + float(problem.log_prior(np.array([theta]))[0])


def test_draws_have_the_moments_of_the_posterior(generator):
    surrogate, data = ww.GaussianProcess(), random_dataset(12, 1, 0)
    problem = surrogate.likelihood(data)
    found = nearby.draws(problem, surrogate.fit(data).hyperparameters, 600, generator)
    drawn = np.log([[one.length_scales[0], one.noise / one.amplitude] for one in found])
    axes = np.linspace(math.log(0.026), 4.5, 60), np.linspace(math.log(1.1e-4), 1.5, 50)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    density = np.array([log_target(problem, theta) for theta in grid])
    weights = np.exp(density - density.max())
    weights /= weights.sum()
    mean = weights @ grid
    deviation = np.sqrt(weights @ (grid - mean) ** 2)
    assert np.abs((drawn.mean(0) - mean) / deviation).max() < 0.15
    assert np.abs(drawn.std(0) / deviation - 1.0).max() < 0.15


def test_amplitude_and_mean_have_their_closed_distributions(generator, monkeypatch):
    """With proposals that never leave one theta, what is left to draw is known in closed form."""
    surrogate, data = ww.GaussianProcess(), random_dataset(15, 1, 1)
    problem, fitted = surrogate.likelihood(data), surrogate.fit(data).hyperparameters
    theta = np.log([*fitted.length_scales, fitted.noise])
    monkeypatch.setattr(nearby, "_proposal", lambda problem, fitted: (theta, 1e-12 * np.eye(len(theta))))
    found = nearby.draws(problem, fitted, 3000, generator)
    _, quadratic, ones, mean = (float(part) for part in brute(problem, theta))
    amplitude = np.array([one.amplitude for one in found])
    degrees = nearby.ANCHOR + len(data.y) - 1
    chi = nearby.DOUBT**2 * (nearby.ANCHOR + quadratic) / amplitude  # chi-square by construction
    assert chi.mean() == pytest.approx(degrees, rel=0.03)
    assert chi.var() == pytest.approx(2 * degrees, rel=0.12)
    z = (np.array([one.mean for one in found]) - mean) / np.sqrt(amplitude / ones)
    assert z.mean() == pytest.approx(0.0, abs=1e-6) and z.std() == pytest.approx(1.0, abs=0.02)
    assert abs(np.corrcoef(z, amplitude)[0, 1]) < 0.08
    np.testing.assert_allclose([one.noise / one.amplitude for one in found], fitted.noise, rtol=1e-6)


def test_the_true_length_scale_is_among_the_draws():
    """Data of the model itself, theta from the prior: the rank of the true length-scale is even."""
    space, surrogate = ww.Space({"x": ww.Real(0, 1)}), ww.GaussianProcess(outcome=ww.Unscaled())
    generator = torch.Generator().manual_seed(3)
    blank = random_dataset(25, 1, 0)
    problem = surrogate.likelihood(blank)
    means, deviations = problem.layout.priors
    ranks = []
    for _ in range(40):
        normal = torch.randn(2, generator=generator, dtype=torch.float64).numpy()
        theta = (means + deviations * normal).clip(*problem.layout.bounds)
        z = blank.x * math.exp(-theta[0])
        a = kernel("squared_exponential", z, z) + math.exp(theta[1]) * torch.eye(25, dtype=torch.float64)
        y = torch.linalg.cholesky(a) @ torch.randn(25, generator=generator, dtype=torch.float64)
        data = replace(blank, y=y, roles=space.roles)
        found = surrogate.nearby(data, surrogate.fit(data), 32, generator)
        lengths = np.array([one.hyperparameters.length_scales[0] for one in found])
        ranks.append(float((lengths < math.exp(theta[0])).mean()))
    # 40 even ranks have a mean within 0.5 +- 0.14 in 997 of 1000 cases; a fit alone would give ranks of 0 and 1.
    assert abs(np.mean(ranks) - 0.5) < 0.14
    assert 0.55 <= np.mean([0.1 <= rank <= 0.9 for rank in ranks]) <= 0.97


def test_fixed_hyperparameters_are_certain(generator):
    data = random_dataset(9, 1, 1)
    surrogate = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.5,), 1.0, 0.1))
    posterior = surrogate.fit(data)
    assert surrogate.nearby(data, posterior, 8, generator) == (posterior,)


def test_a_noise_that_was_given_leaves_the_amplitude_alone(generator):
    data = random_dataset(12, 1, 1)
    data = replace(data, noise=torch.full((12,), 0.1, dtype=torch.float64))
    surrogate = ww.GaussianProcess()
    found = surrogate.nearby(data, surrogate.fit(data), 6, generator)
    assert len(found) == 6 and {one.hyperparameters.amplitude for one in found} == {1.0}
    assert len({one.hyperparameters.length_scales for one in found}) > 1


def test_the_same_generator_gives_the_same_draws():
    data, surrogate = random_dataset(10, 1, 1), ww.GaussianProcess()
    posterior = surrogate.fit(data)
    one, other = (surrogate.nearby(data, posterior, 5, torch.Generator().manual_seed(4)) for _ in range(2))
    assert [each.hyperparameters for each in one] == [each.hyperparameters for each in other]


# -- contexts ------------------------------------------------------------------------------------------------------------


def test_drawn_weights_have_the_moments_of_a_dirichlet_distribution(generator):
    points = torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64)
    mass = torch.tensor([4.0, 1.0, 0.5, 2.5], dtype=torch.float64)
    contexts = ww.Contexts(
        points,
        torch.tensor([4.0, 3.5, 0.5], dtype=torch.float64) / 8.0,
        ww.Unknown(mass, torch.tensor([0, 1, 2, 1])),
    )
    drawn = contexts.redrawn(20_000, generator)
    assert drawn.shape == (20_000, 3) and float((drawn.sum(-1) - 1.0).abs().max()) < 1e-12 and float(drawn.min()) >= 0.0
    mean = contexts.weights
    wanted = (torch.diag(mean) - mean[:, None] * mean) / (8.0 + 1.0)
    torch.testing.assert_close(drawn.mean(0), mean, rtol=0.0, atol=0.005)
    torch.testing.assert_close(torch.cov(drawn.T), wanted, rtol=0.0, atol=0.001)


def test_weights_that_are_certain_are_drawn_as_they_are(generator):
    contexts = ww.Contexts.uniform(torch.zeros(3, 1))
    assert torch.equal(contexts.redrawn(5, generator), contexts.weights.expand(5, -1))


def test_a_mass_near_zero_leaves_a_distribution(generator):
    contexts = judging.with_unknown(torch.arange(3.0)[:, None].double(), torch.full((3,), 1e-6, dtype=torch.float64))
    drawn = contexts.redrawn(200, generator)
    assert bool(torch.isfinite(drawn).all()) and float((drawn.sum(-1) - 1.0).abs().max()) < 1e-9


def test_no_drawn_weight_lies_between_nothing_and_the_least(generator):
    mass = torch.tensor([1e-3, 0.02, 0.05, 0.1, 1.0, 5.0], dtype=torch.float64)
    drawn = judging.with_unknown(torch.arange(6.0)[:, None].double(), mass).redrawn(2_000, generator)
    assert float((drawn == 0.0).double().mean()) > 0.1
    assert float(drawn[drawn > 0.0].min()) >= 1e-12
    assert float((drawn.sum(-1) - 1.0).abs().max()) < 1e-12


def judged(model, rows, given=None, space=SHOP):
    return model.judged(space, seen(space, rows), space.encode_given(given))


MODELS = [ww.Empirical(), ww.Empirical(elsewhere=16), ww.KernelDensity(32), ww.KernelDensity(32, elsewhere=16)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_what_was_seen_is_judged_unsmoothed_with_a_share_for_the_rest(model):
    found = judged(model, ROWS)
    rows = SHOP.encode_contexts(ROWS)
    at = torch.cdist(rows, found.points).argmin(1)
    assert torch.equal(found.points[at], rows)  # the contexts themselves, not a density around them
    total = float(found.unknown.mass.sum())
    worth = judging.masses(torch.full((8,), 1 / 8, dtype=torch.float64))
    torch.testing.assert_close(found.weights[at], worth / total)
    assert total == pytest.approx(float(worth.sum()) + judging.UNSEEN_MASS)
    rest = torch.ones(len(found), dtype=torch.bool)
    rest[at] = False
    assert float(found.weights[rest].sum()) == pytest.approx(judging.UNSEEN_MASS / total)
    elsewhere = found.points[rest]
    assert len(elsewhere) == (model.elsewhere or judging.UNSEEN_POINTS)
    assert float(elsewhere[:, 0].min()) < 1.0 and float(elsewhere[:, 0].max()) > 8.0  # over the bounds, not the seen
    assert (elsewhere[:, 1:].sum(0) > 0).all()  # snow, too, which nobody has seen


def test_an_adversary_finds_its_places_among_those_judged(generator):
    model, trials, given = ww.Empirical(elsewhere=16), seen(SHOP, ROWS), SHOP.encode_given(None)
    places = model(SHOP, trials, given, generator).points[-16:]
    found = model.judged(SHOP, trials, given)
    assert float(torch.cdist(places, found.points).min(1).values.max()) == 0.0


@pytest.mark.parametrize("model", [*MODELS, ww.Grid(30)], ids=repr)
def test_a_context_that_is_given(model):
    whole = judged(model, ROWS, {"demand": 2.5, "sky": "snow"})
    assert whole.unknown is None and len(whole) == 1
    assert SHOP.decode_context(whole.points[0]) == {"demand": 2.5, "sky": "snow"}
    part = judged(model, ROWS, {"sky": "sun"})
    assert {SHOP.decode_context(point)["sky"] for point in part.points} == {"sun"}
    # Half of them were sunny: what is known of the rest is worth fewer contexts.
    assert float(part.unknown.mass.sum()) < float(judged(model, ROWS).unknown.mass.sum())
    new = judged(model, ROWS, {"sky": "snow"})  # never seen: it tells nothing of the demand
    assert {SHOP.decode_context(point)["sky"] for point in new.points} == {"snow"}


@pytest.mark.parametrize("model", [*MODELS, ww.Grid(30)], ids=repr)
def test_nothing_seen_is_judged_evenly(model, generator):
    found = judged(model, [])
    assert float(found.unknown.mass.sum()) == pytest.approx(judging.UNSEEN_MASS)
    share = float(found.weights @ (found.points[:, 0] > 5.0).double())
    assert share == pytest.approx(0.5, abs=0.1)
    assert bool(torch.isfinite(found.redrawn(10, generator)).all())


LOPSIDED = [{"demand": math.exp(i / 4.0), "gap": float(i % 5)} for i in range(20)]


@pytest.mark.parametrize("model", [ww.Empirical(), ww.KernelDensity(32)], ids=repr)
def test_tails_that_were_not_seen_reach_as_far_as_those_that_were_suggest(model):
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(), "gap": ww.Real(0, 4)})
    trials, given = seen(space, LOPSIDED), space.encode_given(None)
    near, far = model.judged(space, trials, given), model.foreseen(space, trials, given)
    demand = torch.tensor([row["demand"] for row in LOPSIDED], dtype=torch.float64)
    highest = float(demand.max())
    # The outermost sighting lies this far beyond a tenth of them; a long tail reaches farther than a short one.
    expected = highest + judging.FARTHER * (highest - float(demand.quantile(0.9)))
    assert float(near.points[:, 0].max()) < 1.1 * highest + 1e-9
    assert 0.9 * expected < float(far.points[:, 0].max()) <= expected
    assert float(far.points[:, 0].min()) > float(demand.min()) - 0.3 * highest  # below they are close together
    assert float(far.points[:, 1].min()) >= 0.0 and float(far.points[:, 1].max()) <= 4.0  # declared bounds stay
    # What was seen weighs the same, and so does the rest.
    at = torch.cdist(space.encode_contexts(LOPSIDED), far.points).argmin(1)
    assert torch.equal(far.points[at], space.encode_contexts(LOPSIDED))
    torch.testing.assert_close(far.unknown.mass, near.unknown.mass)


def test_where_an_adversary_has_places_they_stay():
    model, trials, given = ww.Empirical(elsewhere=16), seen(SHOP, ROWS), SHOP.encode_given(None)
    assert torch.equal(model.judged(SHOP, trials, given).points, model.foreseen(SHOP, trials, given).points)


@pytest.mark.parametrize(
    ("objective", "distributions", "draws"),
    [
        (ww.CVaR(0.3), 128, 1024),
        (ww.VaR(0.3), 128, 1024),
        (ww.Robust(ww.TotalVariation(), 0.2), 128, 1024),
        (ww.Robust(ww.KullbackLeibler(), 0.2), 32, 256),
        (ww.Robust(ww.Wasserstein(), 0.1), 32, 256),
        (ww.Satisficing(ww.TotalVariation(), 0.1), 32, 256),
    ],
    ids=repr,
)
def test_many_distributions_stand_behind_an_objective_that_is_cheap(objective, distributions, draws):
    found = shop(objective=objective, surrogate=ww.GaussianProcess()).snapshot().assessment("test")
    unknowns = found.base.unknowns
    counts = [len(each.weights if isinstance(each, InRows) else each.reductions) for each in unknowns._judges]
    assert sum(counts) == distributions
    assert len(found.draws) == draws


@pytest.mark.parametrize(
    ("objective", "times"),
    [(ww.Expected(), 1.0), (ww.CVaR(0.3), 1.6), (ww.Robust(ww.TotalVariation(), 0.2), 1.2)],
    ids=repr,
)
def test_deviations_are_larger_where_extremes_count(objective, times):
    study = shop(objective=objective, surrogate=ww.GaussianProcess())
    unknowns = study.snapshot().assessment("test").base.unknowns
    data, fitted = study.trials.dataset, unknowns.situation.posterior
    amplitudes = [p.hyperparameters.amplitude for p in unknowns.posteriors]
    plain = ww.GaussianProcess().nearby(data, fitted, len(amplitudes), torch.Generator().manual_seed(0))
    assert unknowns.widened == times
    assert np.median(amplitudes) == pytest.approx(
        times**2 * np.median([p.hyperparameters.amplitude for p in plain]), rel=0.5
    )
    # A fit that is held is certain, whatever the objective.
    assert shop(objective=objective).snapshot().assessment("test").base.unknowns.widened == 1.0


def test_many_results_are_judged_with_fewer_draws_of_the_hyperparameters():
    few, many = (
        shop(surrogate=ww.GaussianProcess(), history=rows(count)).snapshot().assessment("test").base.unknowns
        for count in (20, 100)
    )
    assert (len(few.posteriors), len(many.posteriors)) == (32, 16)
    assert few.weights.shape[:2] == (32, 16) and many.weights.shape[:2] == (16, 32)


def test_without_bounds_and_without_contexts_there_is_nowhere_to_judge():
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real()})
    assert judged(ww.Empirical(), [], space=space) is None
    found = judged(ww.Empirical(), [{"demand": 3.0}, {"demand": 5.0}], space=space)
    assert 2.5 < float(found.points.min()) <= 3.0 and 5.0 <= float(found.points.max()) < 5.5


def test_a_grid_is_judged_on_itself():
    found = judged(ww.Grid(30), ROWS)
    assert torch.equal(found.points, torch.unique(ww.Grid(30).points(SHOP), dim=0))
    total = float(judging.masses(torch.full((8,), 1 / 8, dtype=torch.float64)).sum()) + judging.UNSEEN_MASS
    assert float(found.unknown.mass.sum()) == pytest.approx(total)
    assert float(found.weights.min()) == pytest.approx(judging.UNSEEN_MASS / len(found) / total)


def test_a_context_that_comes_often_weighs_more():
    found = judged(ww.Empirical(), [{"demand": 2.0, "sky": "sun"}] * 6 + [{"demand": 7.0, "sky": "sun"}] * 3)
    two, seven = (float(found.weights[found.points[:, 0] == at].sum()) for at in (2.0, 7.0))
    assert two == pytest.approx(2.0 * seven)


def test_thousands_of_contexts_are_judged_on_some_of_them():
    generator = torch.Generator().manual_seed(0)
    rows = 10.0 * torch.rand(3000, 1, generator=generator, dtype=torch.float64) ** 2
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 10)})
    found = judging.seen_and_unseen(space, rows, space.encode_given(None))
    assert len(found) <= judging.MOST_SEEN + judging.UNSEEN_POINTS
    assert float(found.weights @ found.points[:, 0]) == pytest.approx(float(rows.mean()), rel=0.01)
    assert float(found.unknown.mass.sum()) == pytest.approx(
        float(judging.masses(torch.full((3000,), 1 / 3000, dtype=torch.float64)).sum()) + judging.UNSEEN_MASS
    )


@pytest.mark.parametrize("model", [ww.Known({"demand": [1.0, 2.0], "sky": ["sun", "rain"]}), ww.Box(), ww.NoContext()])
def test_what_is_declared_or_ignored_is_certain(model):
    assert not isinstance(model, Judging)


def test_contexts_that_the_policy_chose_are_not_judged_on():
    space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 10)})
    study = ww.Study(space, ww.Policy(context_model=ww.Empirical(), context_rule=ww.Uniform()))
    asked = study.ask()
    study.tell(asked.id, 1.0)
    study.add({"x": 0.5}, 1.0, context={"demand": 4.0})
    found = ww.Empirical().judged(space, study.trials, space.encode_given(None))
    assert float(found.weights[found.points[:, 0] == 4.0].sum()) > 0.2
    assert not bool((found.points[:, 0] == asked.context["demand"]).any())


def test_a_careful_report_needs_a_posterior_that_weighs():
    situation = ww.Situation(ww.Contexts.uniform(torch.zeros(1, 1)), believed=Believed(object()))
    with pytest.raises(ww.IncompatibleError, match=r"Report\(caution=1\).*use Report\(caution=0\)"):
        careful(1.0, ww.CVaR(0.3), situation, ww.CVaR(0.3).bind(situation))
