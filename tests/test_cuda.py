"""The same numbers on an accelerator as on the processor; skipped where there is none."""

from __future__ import annotations

import pytest
import torch

import windward as ww
from windward.contexts import Contexts

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")

SPACE = ww.Space(decision={"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})
KNOWN = ww.Known({"c": [i / 15 for i in range(16)]})
DIVERGENCES = {
    "total_variation": (ww.TotalVariation(), 0.3),
    "chi_square": (ww.ChiSquare(), 0.3),
    "kullback_leibler": (ww.KullbackLeibler(), 0.3),
    "mmd": (ww.MMD(0.2, nugget=1e-6), 0.1),
    "wasserstein": (ww.Wasserstein(), 0.05),
}
METHODS = {
    "gp_ucb": ww.papers.gp_ucb(),
    "sbo_kde": ww.papers.sbo_kde(),
    "drbo_kde": ww.papers.drbo_kde(),
    "drbo_mmd": ww.papers.drbo_mmd(points=20),
    "stable_opt": ww.papers.stable_opt(points=64),
    "wdrbo": ww.papers.wdrbo(),
    "wdrbo_exact": ww.papers.wdrbo_exact(),
    "ts_bocu": ww.papers.ts_bocu(KNOWN, ww.Robust(ww.MMD(0.1, nugget=1e-6), 0.07), maximize=ww.OverGrid(8)),
    "sensitivity": ww.papers.ts_bocu(KNOWN, ww.Sensitivity(ww.MMD(0.1, nugget=1e-6)), maximize=ww.OverGrid(8)),
    "drbqo": ww.papers.drbqo(KNOWN, 1.0),
    "mtbo": ww.papers.mtbo(KNOWN),
    "gp_ucb_sdf": ww.papers.gp_ucb_sdf(-2.0, 3),
    "gp_bucb": ww.papers.gp_bucb(),
}


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("n", [7, 300])
def test_worst_cases_agree(name, n):
    divergence, radius = DIVERGENCES[name]
    generator = torch.Generator().manual_seed(n)
    weights = torch.rand(n, generator=generator, dtype=torch.float64)
    points = torch.rand(n, 1, generator=generator, dtype=torch.float64)
    values = torch.randn(9, n, generator=generator, dtype=torch.float64)
    here = Contexts(points, weights / weights.sum())
    there = here.to(torch.device("cuda"))
    ours, theirs = divergence.worst_case(values, here, radius), divergence.worst_case(values.cuda(), there, radius)
    assert theirs.value.is_cuda and theirs.weights.is_cuda
    assert torch.allclose(ours.value, theirs.value.cpu(), rtol=0, atol=1e-7)
    assert torch.allclose(divergence.distance(theirs.weights, there).cpu(), torch.tensor(radius).double(), atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_a_study_runs_and_agrees(name):
    def outcome(suggestion):
        context = suggestion.context or {"c": 0.1 * (suggestion.id % 10)}
        value = -((suggestion.decision["a"] - context["c"]) ** 2) + 0.3 * suggestion.decision["b"]
        return ww.Result(value, None if suggestion.context else context)

    here = ww.Study(SPACE, METHODS[name], seed=1)
    here.run(outcome, 16, progress=False)
    there = ww.Study(SPACE, METHODS[name], seed=1, device="cuda")
    there.run(outcome, 16, progress=False)
    assert there.journal.read("study")[-3].kind in ("asked", "context_seen", "told")
    asked = [event.body for event in there.journal.read("study") if event.kind == "asked"]
    assert all(body["device"] == torch.cuda.get_device_name() for body in asked)
    # The first suggestion of the model is computed from the same data; later ones may part by rounding.
    first = next(i for i, body in enumerate(asked) if body["fit"] is not None)
    for label, value in here.trials[first].decision.items():
        assert there.trials[first].decision[label] == pytest.approx(value, abs=2e-3)
    found, expected = there.recommend(), here.assess(there.recommend().decision)
    assert found.interval[0] <= found.interval[1] and expected.value == pytest.approx(found.value, abs=0.3)
