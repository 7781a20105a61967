"""MMD by the kernel of the fitted process: in a study, against the same matrix given, and where there is no process."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from helpers import SHOP

import windward as ww
from windward import papers
from windward.suggest.prepare import Request, arrived_only, prepare
from windward.surrogate import kernel_of_contexts

QUICK = ww.MultiStart(screen=32, starts=2, evaluations=8)


def studied(policy, rounds=9):
    study = ww.Study(SHOP, policy, seed=3)
    for turn in range(rounds):
        asked = study.ask()
        study.reveal(asked.id, {"demand": 0.2 + 0.07 * turn})
        study.tell(asked.id, -((asked.decision["order"] - 0.2 - 0.07 * turn) ** 2))
    return study


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
def test_the_ball_is_that_of_the_process_kernel(kernel):
    base = papers.drbo_mmd(length_scale="fitted", points=12)
    policy = replace(base, surrogate=replace(base.surrogate, kernel=kernel), maximize=QUICK, design=ww.Sobol(4))
    study = studied(policy)
    assert study.replay(8).decision == study.trials.rows[8].decision
    ready = prepare(policy, study.trials, Request(), torch.Generator().manual_seed(0))
    situation = arrived_only(ready)
    matrix = kernel_of_contexts(situation.posterior, situation.contexts.points)
    assert matrix.diagonal().numpy() == pytest.approx(situation.posterior.hyperparameters.amplitude)
    # By hand: one length-scale for the one context, whose bounds are 0 and 1.
    gaps = (
        situation.contexts.points - situation.contexts.points.T
    ) / situation.posterior.hyperparameters.length_scales[1]
    root = 5**0.5 * gaps.abs()
    by_hand = {
        "squared_exponential": torch.exp(-0.5 * gaps**2),
        "matern52": (1 + root + root**2 / 3) * torch.exp(-root),
    }
    assert (matrix - by_hand[kernel]).abs().max() < 1e-9
    values = torch.linspace(-1.0, 1.0, len(situation.contexts), dtype=torch.float64).sin()[None]
    ours = ww.Robust(ww.MMD("fitted", tolerance=1e-6), 0.1).bind(situation)(values)
    same = ww.Robust(ww.MMD(matrix=matrix.tolist(), tolerance=1e-6), 0.1).bind(situation)(values)
    other = ww.Robust(ww.MMD(0.05, tolerance=1e-6), 0.1).bind(situation)(values)
    assert float(ours) == pytest.approx(float(same), abs=2e-6) and abs(float(ours) - float(other)) > 1e-3


def test_it_survives_json_and_a_recommendation():
    policy = replace(papers.drbo_mmd(length_scale="fitted", points=8), maximize=QUICK, design=ww.Sobol(3))
    assert ww.from_json(ww.to_json(policy)) == policy
    found = studied(policy, rounds=6).recommend()
    assert math.isfinite(found.value)


def test_a_surrogate_that_states_no_kernel_is_refused():
    from windward.objectives.situation import Situation
    from windward.surrogate import Believed

    contexts = ww.Contexts.uniform(torch.tensor([[0.0], [1.0]]))
    situation = Situation(contexts, believed=Believed(object()))
    with pytest.raises(ww.IncompatibleError, match="does not say its kernel of contexts"):
        ww.Robust(ww.MMD("fitted"), 0.1).bind(situation)
    with pytest.raises(ww.IncompatibleError, match="no posterior"):
        ww.Robust(ww.MMD("fitted"), 0.1).bind(Situation(contexts))


@pytest.mark.parametrize("amplitude", [1e-40, 1.0, 1e40])
def test_a_nugget_beside_a_fitted_kernel_is_a_share_of_it(amplitude):
    # Two contexts in one place: without a nugget that counts, the kernel cannot be inverted.
    contexts = ww.Contexts.uniform(torch.tensor([[0.0], [0.0], [1.0]], dtype=torch.float64))
    values = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
    plain = ww.MMD(0.5, 1e-6)
    ball = ww.MMD("fitted", 1e-6).on(contexts, lambda _: amplitude * plain.kernel(contexts))
    radius = 0.3
    same = plain.worst_case(values, contexts, radius)
    torch.testing.assert_close(ball(values, radius * amplitude**0.5).value, same.value, rtol=1e-6, atol=0.0)
    # At radius 0 the multiplier is minus the slope: per unit of distance, which has the root of the kernel's units.
    slope = ball(values, 0.0).multiplier * amplitude**0.5
    torch.testing.assert_close(slope, plain.worst_case(values, contexts, 0.0).multiplier, rtol=1e-6, atol=0.0)
