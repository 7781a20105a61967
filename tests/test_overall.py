"""A belief over the objective itself, against the joint normal of f over all contexts under each posterior."""

from __future__ import annotations

import math

import pytest
import torch

import windward as ww
from windward.beliefs.overall import EVERY
from windward.objectives.protocol import Aim
from windward.objectives.situation import Believed, Situation
from windward.search.acquisition import value_and_gradient
from windward.suggest.doubted import doubted
from windward.trials.records import Trial
from windward.trials.trials import Trials

SPACE = ww.Space({"x": ww.Real(0, 1), "y": ww.Real(1, 100, log=True)}, {"c": ww.Real(0, 1), "d": ww.Real(0, 5)})
WIDTH = 0.7
# The adversary's weights of a worst case move with the decision, which the gradient leaves out: so much of it, at most.
OBJECTIVES = {
    "expected": (ww.Expected(), 1e-6),
    "a tail": (ww.CVaR(0.3), 1e-6),
    "a worst case": (ww.Robust(ww.ChiSquare(), 0.3), 0.05),
    "no bound": (ww.MeanVariance(1.0), 0.05),
}


def situation(objective, kernel, generator, size=8):
    rows = torch.rand(size, 4, generator=generator, dtype=torch.float64).tolist()
    trials = Trials(
        SPACE,
        tuple(
            Trial(i, {"x": x, "y": 1 + 99 * y}, context={"c": c, "d": 5 * d}, value=1e3 * (x * c - (y - 0.4) ** 2))
            for i, (x, y, c, d) in enumerate(rows)
        ),
    )
    policy = ww.Policy(
        context_model=ww.KernelDensity(20),
        objective=objective,
        belief=ww.OverallConfidence(WIDTH),
        surrogate=ww.GaussianProcess(kernel),
    )
    contexts = ww.Contexts.uniform(torch.rand(20, 2, generator=generator, dtype=torch.float64))
    posterior = policy.surrogate.fit(trials.dataset)
    bare = Situation(contexts=contexts, trials=trials, believed=Believed(posterior, arrived=posterior))
    reduction = objective.bind(bare)
    ready = doubted(policy, Situation(**{**vars(bare), "aim": Aim(objective, reduction)}), generator)
    return ready, reduction, policy.belief(ready, reduction, generator)


def by_the_joint_normal(x, situation, reduction, posteriors):
    """Return the bound at one decision from whole covariance matrices."""
    points = situation.contexts.points
    each = torch.stack([posterior.marginals(x[None], points)[0][0] for posterior in posteriors])
    mean = each.mean(0).requires_grad_()
    value = reduction(mean[None])[0]
    (pull,) = torch.autograd.grad(value, mean)
    value, mean = value.detach(), mean.detach()
    values, variances = [], []
    for posterior, found in zip(posteriors, each, strict=True):
        zx, zc = posterior.inputs.x(x[None]).expand(len(points), -1), posterior.inputs.c(points)
        across = posterior.covariance(zx, zc, posterior.zx, posterior.zc)
        white = across @ posterior.inverse.T
        covariance = (posterior.covariance(zx, zc, zx, zc) - white @ white.T) * posterior.scale**2
        values.append(float(value + pull @ (found - mean)))
        variances.append(float(pull @ covariance @ pull))
    values, variances = (torch.tensor(part, dtype=torch.float64) for part in (values, variances))
    return float(values.mean()) + WIDTH * math.sqrt(float(variances.mean() + values.var(correction=0)))


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_bound_is_that_of_the_joint_normal(name, kernel, generator):
    objective, _ = OBJECTIVES[name]
    ready, reduction, acquisition = situation(objective, kernel, generator)
    assert len(ready.plausible) == 16
    posteriors = ready.plausible if kernel == "squared_exponential" else ready.plausible[::EVERY]
    x = torch.rand(4, 2, generator=generator, dtype=torch.float64)
    expected = [by_the_joint_normal(row, ready, reduction, posteriors) for row in x]
    assert acquisition(x).tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_gradient_is_the_finite_difference(name, generator):
    objective, off = OBJECTIVES[name]
    _, _, acquisition = situation(objective, "squared_exponential", generator)
    x = torch.rand(4, 2, generator=generator, dtype=torch.float64)
    _, gradient = value_and_gradient(acquisition.value, x)
    moves = 1e-5 * torch.eye(2, dtype=torch.float64)
    differences = torch.stack([(acquisition(x + move) - acquisition(x - move)) / 2e-5 for move in moves], 1)
    assert float((torch.from_numpy(gradient) - differences).abs().max()) <= off * float(differences.abs().max())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_no_decisions_have_no_values(name, generator):
    """A search may ask for none; torch would warn of a variance over nothing."""
    _, _, acquisition = situation(OBJECTIVES[name][0], "squared_exponential", generator)
    assert acquisition(torch.zeros(0, 2, dtype=torch.float64)).shape == (0,)
