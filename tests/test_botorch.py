"""BoTorch both ways: objectives as acquisition functions, models as posteriors; values against independent computations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.ensemble import EnsembleModel
from botorch.models.model import Model
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from helpers import SHOP, quadratic, random_dataset

import windward as ww
from windward.integrations import botorch as integration
from windward.integrations.botorch import (
    PARTS,
    BotorchSurrogate,
    ContextualAcquisition,
    ModelPosterior,
    ModelState,
    SingleTask,
)
from windward.suggest import settled

CONTEXTS = ww.Contexts(
    torch.tensor([[0.1], [0.4], [0.9]], dtype=torch.float64), torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
)
BOUNDS = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
QUICK = ww.MultiStart(screen=16, starts=1, evaluations=5)


class Members(EnsembleModel):
    """Three functions of (x0, x1, c)."""

    _num_outputs = 1

    def forward(self, X):
        values = [X.sum(-1), (X.square()).sum(-1), torch.sin(X).sum(-1)]
        return torch.stack(values, -2).unsqueeze(-1)


def observed(n=14, seed=0):
    data = random_dataset(n, 2, 1, seed=seed, noise=0.05)
    return torch.cat([data.x, data.c], 1), data.y[:, None]


def single_task():
    inputs, values = observed()
    model = SingleTaskGP(inputs, values, input_transform=Normalize(3), outcome_transform=Standardize(1))
    model.likelihood.noise = 1e-2
    return model.eval().requires_grad_(False)


def fixed_noise():
    inputs, values = observed()
    model = SingleTaskGP(inputs, values, torch.full_like(values, 1e-3), outcome_transform=Standardize(1))
    return model.eval().requires_grad_(False)


class Mixture(Model):
    """Processes with several length-scales, equally likely: what a fully Bayesian model's posterior looks like."""

    num_outputs = 1

    def __init__(self):
        super().__init__()
        self.members = torch.nn.ModuleList([single_task() for _ in range(3)])
        for index, member in enumerate(self.members):
            member.covar_module.lengthscale = 0.3 * (index + 1)

    def posterior(self, X, output_indices=None, observation_noise=False, posterior_transform=None):
        each = [member.posterior(X).distribution for member in self.members]
        means = torch.stack([one.mean for one in each], -2)  # members before the rows: BoTorch's place for them
        return GaussianMixturePosterior(
            MultivariateNormal(means, torch.stack([one.covariance_matrix for one in each], -3))
        )


MODELS = {"single": single_task, "fixed": fixed_noise, "mixture": Mixture, "ensemble": Members}


@pytest.fixture(params=sorted(MODELS))
def model(request):
    return MODELS[request.param]()


# -- objectives as acquisition functions --------------------------------------------------------------------------------


def by_hand(model, x, width, reduce):
    """The acquisition at one decision, context by context through the model's own posterior."""
    upper = []
    for point in CONTEXTS.points:
        posterior = model.posterior(torch.cat([x, point])[None, :])
        mean = getattr(posterior, "mixture_mean", posterior.mean).reshape(())
        variance = getattr(posterior, "mixture_variance", posterior.variance).reshape(())
        upper.append(mean + width * variance.sqrt())
    return reduce(torch.stack(upper))


def worst_by_total_variation(values, radius=0.4):
    """Move half the radius of mass from the best contexts to the worst."""
    weights, spare = CONTEXTS.weights.clone(), radius / 2
    for index in values.argsort(descending=True).tolist():
        moved = min(spare, float(weights[index]))
        weights[index] -= moved
        spare -= moved
        weights[values.argmin()] += moved
    return weights @ values


@pytest.mark.parametrize(
    ("objective", "reduce"),
    [
        (ww.Expected(), lambda values: CONTEXTS.weights @ values),
        (ww.Minimum(), lambda values: values.min()),
        (ww.Robust(ww.TotalVariation(), 0.4), worst_by_total_variation),
    ],
)
def test_the_acquisition_is_the_objective_of_the_upper_bound(model, objective, reduce):
    acquisition = ContextualAcquisition(model, objective, CONTEXTS, belief=ww.UpperConfidence(0.7))
    x = torch.rand(5, 1, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = torch.stack([by_hand(model, row[0], 0.7, reduce) for row in x])
    torch.testing.assert_close(acquisition(x), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("objective", "belief"),
    [
        (ww.Robust(ww.TotalVariation(), 0.4), ww.UpperConfidence(0.7)),
        (ww.CVaR(0.3), ww.PosteriorMean()),
        (ww.MeanRisk(ww.TotalVariation(), 0.2), ww.Thompson()),
        (ww.LipschitzRobust(0.1), ww.UpperConfidence(0.5)),
    ],
)
def test_optimize_acqf_finds_what_a_grid_finds(model, objective, belief):
    if isinstance(belief, ww.Thompson) and isinstance(model, Mixture):
        pytest.skip("a mixture has no paths")
    acquisition = ContextualAcquisition(model, objective, CONTEXTS, belief=belief, seed=4)
    with torch.random.fork_rng(devices=[]):  # optimize_acqf draws its own starts
        torch.manual_seed(0)
        x, value = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=8, raw_samples=128)
    axis = torch.linspace(0, 1, 15, dtype=torch.float64)
    with torch.no_grad():
        grid = acquisition(torch.cartesian_prod(axis, axis)[:, None, :])
    assert x.shape == (1, 2) and bool(((x >= 0) & (x <= 1)).all())
    assert float(value) >= float(grid.max()) - 1e-3 * float(grid.max() - grid.min())


def test_a_gradient_that_is_the_finite_difference(model):
    acquisition = ContextualAcquisition(model, ww.LipschitzRobust(0.1), CONTEXTS, belief=ww.UpperConfidence(0.5))
    x = torch.tensor([[[0.31, 0.62]]], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(acquisition(x).sum(), x)
    for column in range(2):
        step = torch.zeros_like(x)
        step[..., column] = 1e-5
        with torch.no_grad():
            difference = float(acquisition(x + step) - acquisition(x - step)) / 2e-5
        assert float(gradient[..., column]) == pytest.approx(difference, rel=2e-4, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"objective": ww.Expected}, ww.ArgumentError, "give an objective"),
        ({"contexts": CONTEXTS.points}, ww.ArgumentError, "give Contexts"),
        ({"belief": ww.ExpectedImprovement()}, ww.IncompatibleError, "ExpectedImprovement"),
        ({"belief": ww.UpperConfidence(ww.HuangWidth(2))}, ww.IncompatibleError, "with a number"),
        ({"objective": ww.MeanRisk(ww.TotalVariation(), 0.2)}, ww.IncompatibleError, r"belief=Thompson\(\)"),
        ({"seen": -1}, ww.ArgumentError, "seen=-1"),
        ({"seed": 0.5}, ww.ArgumentError, "seed=0.5"),
        ({"model": GenericDeterministicModel(lambda X: X, num_outputs=3)}, ww.IncompatibleError, "one outcome"),
    ],
)
def test_wrong_arguments_of_the_acquisition(change, error, says):
    arguments = {"model": single_task(), "objective": ww.Expected(), "contexts": CONTEXTS} | change
    with pytest.raises(error, match=says):
        ContextualAcquisition(**arguments)


def test_more_than_one_decision_at_once_is_refused():
    acquisition = ContextualAcquisition(single_task(), ww.Expected(), CONTEXTS)
    with pytest.raises(AssertionError, match="q=1"):
        acquisition(torch.rand(3, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64))


# -- models as posteriors -----------------------------------------------------------------------------------------------


def test_samples_paths_and_averages_agree_with_the_marginals(model):
    posterior, generator = ModelPosterior(model), torch.Generator().manual_seed(0)
    x = torch.tensor([0.3, 0.6], dtype=torch.float64)
    with torch.no_grad():
        mean, std = posterior.marginals(x, CONTEXTS.points)
        samples = posterior.sample(x, CONTEXTS.points, 4000, generator)
        average = posterior.average(x, CONTEXTS)
    assert samples.shape == (4000, 3)
    # BoTorch's variance of an ensemble divides by one less than its members.
    true = std * (2 / 3) ** 0.5 if isinstance(model, Members) else std
    torch.testing.assert_close(samples.mean(0), mean, rtol=0, atol=5 * float(std.max()) / 4000**0.5 + 1e-9)
    torch.testing.assert_close(samples.std(0), true, rtol=0.08, atol=1e-3)
    blended = samples @ CONTEXTS.weights
    assert float(average[0]) == pytest.approx(float(mean @ CONTEXTS.weights))
    assert float(average[0]) == pytest.approx(float(blended.mean()), abs=5 * float(blended.std()) / 4000**0.5)
    share = (2 / 3) ** 0.5 if isinstance(model, Members) else 1.0
    assert share * float(average[1]) == pytest.approx(float(blended.std()), rel=0.08, abs=1e-3)


@pytest.mark.parametrize("make", [single_task, Members])
def test_paths_have_the_posteriors_moments(make):
    posterior, generator = ModelPosterior(make()), torch.Generator().manual_seed(0)
    x = torch.tensor([0.3, 0.6], dtype=torch.float64)
    with torch.no_grad():
        mean, std = posterior.marginals(x, CONTEXTS.points)
        paths = torch.stack([posterior.path(generator)(x[None], CONTEXTS.points)[0] for _ in range(80)])
    torch.testing.assert_close(paths.mean(0), mean, rtol=0, atol=4 * float(std.max()) / 80**0.5)
    torch.testing.assert_close(paths.std(0), std, rtol=0.35, atol=1e-3)


@pytest.mark.parametrize("make", [single_task, fixed_noise, Members])
def test_a_path_is_one_function(make):
    posterior = ModelPosterior(make())
    x = torch.rand(4, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    path = posterior.path(torch.Generator().manual_seed(3))
    same = posterior.path(torch.Generator().manual_seed(3))
    torch.testing.assert_close(path(x, CONTEXTS.points), same(x, CONTEXTS.points))
    torch.testing.assert_close(path(x, CONTEXTS.points)[1], path(x[1], CONTEXTS.points))
    step = 1e-5
    difference = (path(x, CONTEXTS.points + step) - path(x, CONTEXTS.points - step)) / (2 * step)
    torch.testing.assert_close(path.context_gradient(x, CONTEXTS.points)[..., 0], difference, rtol=1e-4, atol=1e-6)


def test_context_slopes_are_finite_differences(model):
    posterior = ModelPosterior(model)
    x = torch.rand(4, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    slopes = posterior.context_slopes(x, CONTEXTS.points)
    above, below = (posterior.marginals(x, CONTEXTS.points + step) for step in (1e-5, -1e-5))
    torch.testing.assert_close(slopes.mean_gradient[..., 0], (above[0] - below[0]) / 2e-5, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(slopes.std_gradient[..., 0], (above[1] - below[1]) / 2e-5, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("make", [single_task, fixed_noise])
def test_imagined_values_keep_the_mean_and_shrink_the_deviation(make):
    posterior = ModelPosterior(make())
    x = torch.tensor([[0.3, 0.6], [0.8, 0.1]], dtype=torch.float64)
    c = torch.tensor([[0.4], [0.9]], dtype=torch.float64)
    grown = posterior.condition(x, c)
    with torch.no_grad():
        before, after = posterior.marginals(x, CONTEXTS.points), grown.marginals(x, CONTEXTS.points)
    torch.testing.assert_close(after[0], before[0], rtol=1e-4, atol=1e-4)
    assert bool((after[1] <= before[1] + 1e-9).all()) and float(after[1][0, 1]) < 0.7 * float(before[1][0, 1])
    told = posterior.condition(x, c, torch.tensor([3.0, -3.0], dtype=torch.float64))
    assert float(told.marginals(x[:1], c[:1])[0]) > float(before[0][0, 1]) + 0.5
    assert posterior.condition(x[:0], c[:0]) is posterior


def test_what_a_model_cannot_do_is_said():
    ensemble = ModelPosterior(Members())
    one = torch.zeros(1, 2, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    with pytest.raises(ww.IncompatibleError, match=r"Members has no conditioning.*feedback=Ignore\(\)"):
        ensemble.condition(*one)
    with pytest.raises(ww.IncompatibleError, match=r"belief=UpperConfidence\(\)"):
        ModelPosterior(Mixture()).path(torch.Generator())
    with pytest.raises(ww.IncompatibleError, match="use a number for the width"):
        ensemble.log_determinant()
    with pytest.raises(ww.IncompatibleError, match="use a number for the width"):
        ModelState().noise  # noqa: B018


# -- inside a policy ----------------------------------------------------------------------------------------------------


def test_a_default_model_agrees_with_windwards_own():
    """At the same data both find the same function: means within a twentieth of the outcome's deviation."""
    data = random_dataset(30, 2, 1, noise=0.02)
    own, other = ww.GaussianProcess().fit(data), BotorchSurrogate().fit(data)
    x = torch.rand(20, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    with torch.no_grad():
        difference = own.marginals(x, CONTEXTS.points)[0] - other.marginals(x, CONTEXTS.points)[0]
    assert float(difference.abs().mean()) < 0.05 * other.scale


@pytest.mark.parametrize(
    ("belief", "feedback"),
    [
        (ww.UpperConfidence(), ww.Hallucinate()),
        (ww.Thompson(), ww.Ignore()),
        (ww.ExpectedImprovement(), ww.Hallucinate()),
    ],
)
def test_a_study_with_a_model_of_botorch(tmp_path, belief, feedback):
    policy = ww.Policy(
        context_model=ww.Empirical(),
        belief=belief,
        feedback=feedback,
        surrogate=BotorchSurrogate(),
        design=ww.Sobol(4),
        maximize=QUICK,
    )
    url = f"sqlite:///{tmp_path}/shop.db"
    study = ww.Study(SHOP, policy, journal=url, name="shop", parts=PARTS)
    study.run(quadratic, 5, progress=False)
    waiting = study.ask()  # pending, and its context not known
    study.run(quadratic, 2, progress=False)
    again = ww.Study.open("shop", journal=url, parts=PARTS)
    assert again.policy == policy and again.trials.rows == study.trials.rows
    assert again.replay(7).decision == study.trials[7].decision
    study.lose(waiting.id, "not needed")
    found = study.recommend()
    assert found.decision["order"] == pytest.approx(0.45, abs=0.15)  # the demands' mean
    with pytest.raises(ww.JournalError, match="unknown part 'BotorchSurrogate'"):
        ww.Study.open("shop", journal=url)


@pytest.mark.parametrize("objective", [ww.Expected(), ww.CVaR(0.3), ww.Robust(ww.TotalVariation(), 0.2)], ids=repr)
def test_a_model_of_botorch_is_asked_for_advice(objective, monkeypatch):
    """Its fit counts as certain: what is unknown is f, given it, and the contexts."""
    monkeypatch.setattr(settled, "SPREAD", 8)  # its sampled functions take long at hundreds of decisions
    monkeypatch.setattr(settled, "AROUND", 4)
    monkeypatch.setattr(settled, "FUNCTIONS", 8)
    policy = ww.Policy(
        context_model=ww.KernelDensity(16),
        objective=objective,
        surrogate=BotorchSurrogate(),
        design=ww.Sobol(4),
        maximize=QUICK,
    )
    study = ww.Study(SHOP, policy, parts=PARTS, status_quo={"order": 0.8})
    study.run(quadratic, 8, progress=False)
    found = study.recommend()
    low, high = found.interval
    assert low < found.value < high and found.unknown_function > 0.0 and found.unknown_contexts > 0.0
    beside = found.beside_status_quo
    assert beside.difference > 0.0 and beside.probability > 0.5 and beside == study.compare()
    if isinstance(objective, ww.CVaR):
        assert 0.0 <= study.settled(1e-3) <= study.settled(10.0) == 1.0
    careful = replace(policy, report=ww.Report(caution=1.0))
    study.use(careful)
    if isinstance(objective, ww.Expected):
        assert 0.0 <= study.recommend().decision["order"] <= 1.0
    else:  # the deviation of a worst case needs a posterior that weighs
        with pytest.raises(ww.IncompatibleError, match=r"use Report\(caution=0\)"):
            study.recommend()


def test_kept_parameters_are_set_not_fitted():
    data = random_dataset(12, 2, 1)
    surrogate = BotorchSurrogate()
    fitted = surrogate.fit(data)
    kept = surrogate.at(data, fitted.hyperparameters)
    x = torch.tensor([[0.2, 0.7]], dtype=torch.float64)
    with torch.no_grad():
        for one, other in zip(fitted.marginals(x, CONTEXTS.points), kept.marginals(x, CONTEXTS.points), strict=True):
            torch.testing.assert_close(one, other)
    assert ww.from_json(ww.to_json(fitted.hyperparameters), parts=PARTS).parameters.keys() == {
        name for name, _ in fitted.model.named_parameters()
    }


@dataclass(frozen=True)
class Sampled:
    """A model whose parameters are made while it is fitted, by chance."""

    def build(self, inputs, values, noise):
        return SingleTaskGP(inputs, values, outcome_transform=Standardize(1))

    def fit(self, model):
        model.extra = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        model.covar_module.lengthscale = float(0.2 + torch.rand(()))


def test_a_model_that_makes_its_parameters_while_fitting_is_fitted_again_the_same():
    data, surrogate = random_dataset(12, 2, 1), BotorchSurrogate(Sampled())
    fitted = surrogate.fit(data)
    assert fitted.hyperparameters == ModelState()
    again = surrogate.at(data, fitted.hyperparameters)
    x = torch.tensor([[0.2, 0.7]], dtype=torch.float64)
    torch.testing.assert_close(fitted.marginals(x, CONTEXTS.points), again.marginals(x, CONTEXTS.points))


def test_wrong_uses_of_the_surrogate():
    with pytest.raises(ww.ArgumentError, match="give a recipe with build and fit"):
        BotorchSurrogate(SingleTask)
    data = random_dataset(4, 2, 1)
    data.noise[0] = 0.1
    with pytest.raises(ww.IncompatibleError, match="1 of 4 values came with a noise"):
        BotorchSurrogate().fit(data)
    study = ww.Study(
        SHOP,
        ww.Policy(
            context_model=ww.Empirical(), feedback=ww.Censor(0.0, 3), surrogate=BotorchSurrogate(), design=ww.Sobol(1)
        ),
        parts=PARTS,
    )
    study.run(quadratic, 1, progress=False)
    with pytest.raises(ww.IncompatibleError, match=r"Censor\(\) needs a prior mean"):
        study.ask()


def test_noise_that_is_known_reaches_the_model():
    data = random_dataset(6, 2, 1)
    data.noise[:] = 0.3
    model = BotorchSurrogate().fit(data).model
    variance = float(data.y.var())
    torch.testing.assert_close(model.likelihood.noise, torch.full((6,), 0.09 / variance, dtype=torch.float64))
    assert integration.PARTS == PARTS


@pytest.mark.parametrize("name", ["single", "fixed"])
def test_left_out_is_the_model_without_the_row(name):
    """The covariance written out, in the model's own outcomes, the constant mean by least squares; then in the user's."""
    model = MODELS[name]()
    left = ModelPosterior(model).left_out()
    _, y = observed()
    mean, deviation = float(y.mean()), float(y.std())
    scaled, rows = (y[:, 0] - mean) / deviation, model.train_inputs[0]
    noise = model.likelihood.noise.expand(len(y)) if name == "single" else torch.full((len(y),), 1e-3) / deviation**2
    covariance = model.covar_module(rows).to_dense() + noise.double().diag()
    assert torch.allclose(left.observed, y[:, 0])
    for row in range(len(y)):
        kept = [other for other in range(len(y)) if other != row]
        a, k, ones = covariance[kept][:, kept], covariance[kept, row], torch.ones(len(kept)).double()
        weight = ones @ torch.linalg.solve(a, ones)
        center = (ones @ torch.linalg.solve(a, scaled[kept])) / weight
        want = center + k @ torch.linalg.solve(a, scaled[kept] - center)
        variance = (
            covariance[row, row] - k @ torch.linalg.solve(a, k) + (1 - k @ torch.linalg.solve(a, ones)) ** 2 / weight
        )
        assert float(left.mean[row]) == pytest.approx(float(want) * deviation + mean, abs=1e-6)
        assert float(left.std[row]) == pytest.approx(float(variance.sqrt()) * deviation, abs=1e-6)


@pytest.mark.parametrize("name", ["mixture", "ensemble"])
def test_a_model_that_cannot_be_left_out_says_so(name):
    with pytest.raises(ww.IncompatibleError, match="has no predictions of its own observations; use surrogate=Gauss"):
        ModelPosterior(MODELS[name]()).left_out()


def test_a_study_with_a_botorch_model_is_checked():
    policy = ww.Policy(context_model=ww.Empirical(), surrogate=BotorchSurrogate(), maximize=QUICK, design=ww.Sobol(4))
    study = ww.Study(SHOP, policy, parts=PARTS)
    rows = [(place / 19, place * 7 % 20 / 19) for place in range(20)]
    study.add_many([ww.Past({"order": a}, 1.0 - (a - b) ** 2, {"demand": b}) for a, b in rows])
    assert study.check().explained > 0.8
    study.add({"order": 0.5}, 30.0, context={"demand": 0.5})
    assert study.check().outliers == (20,)


def test_a_belief_over_the_objective_takes_an_average_alone():
    """The model has no covariance between contexts: a worst case is refused in the words of the policy."""

    def asked(objective):
        policy = ww.Policy(
            context_model=ww.KernelDensity(8),
            objective=objective,
            belief=ww.OverallConfidence(),
            design=ww.Central(1),
            surrogate=BotorchSurrogate(),
        )
        study = ww.Study(ww.Space({"x": ww.Real(0, 1)}, {"c": ww.Real(0, 1)}), policy, parts=integration.PARTS)
        for value, c in ((1.0, 0.2), (2.0, 0.6)):
            study.tell(study.ask().id, value, context={"c": c})
        return study.ask()

    assert 0.0 <= asked(ww.Expected()).decision["x"] <= 1.0
    with pytest.raises(ww.IncompatibleError, match=r"objective=CVaR\(tail=0.3\)\): the surrogate's posterior"):
        asked(ww.CVaR(0.3))
