"""Tay2024's optimal values over its grids, to the digits that are published (see docs/methods.md)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

import windward as ww
from windward.contexts import Contexts

DATA = Path(os.environ.get("WINDWARD_DATA", "no-folder-named"))


def grid_contexts():
    """64 contexts in [0, 1], p a normal of variance 0.2 around 0.5 on them, the truth uniform."""
    c = torch.linspace(0, 1, 64, dtype=torch.float64)
    weights = torch.exp(-0.5 * (c - 0.5).square() / 0.2)
    return Contexts(c[:, None], weights / weights.sum())


def hartmann():
    """Hartmann-3 on 32 x 32 decisions and 64 contexts; `"1024 64"`."""
    a = torch.tensor([[3.0, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]], dtype=torch.float64)
    p = 1e-4 * torch.tensor(
        [[3689.0, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]], dtype=torch.float64
    )
    heights = torch.tensor([1.0, 1.2, 3.0, 3.2], dtype=torch.float64)
    axis, c = torch.linspace(0, 1, 32, dtype=torch.float64), torch.linspace(0, 1, 64, dtype=torch.float64)
    x = torch.cartesian_prod(axis, axis)
    z = torch.cat([x[:, None, :].expand(-1, 64, -1), c[None, :, None].expand(1024, -1, -1)], dim=-1)
    return (heights * torch.exp(-(a * (z[..., None, :] - p).square()).sum(-1))).sum(-1)


def plant():
    """The leaf-area model on 1024 decisions (pH) and 64 contexts (ammonium)."""
    file = DATA / "plant.npz"
    if not file.exists():
        pytest.skip(f"needs plant.npz in the folder named by WINDWARD_DATA (it is {DATA})")
    model = np.load(file)
    ph = 2.5 + 4.0 * np.linspace(0, 1, 1024)[:, None]
    ammonium = 30000.0 * np.linspace(0, 1, 64)[None, :]
    inputs = np.stack(np.broadcast_arrays(ammonium, ph), axis=-1)[..., None, :]
    squares = ((inputs - model["points"]) / model["lengthscales"]) ** 2
    values = model["variance"] * np.exp(-0.5 * squares.sum(-1)) @ model["alpha"].reshape(-1)
    return torch.from_numpy(values)


@pytest.mark.parametrize(
    ("problem", "divergence", "radius", "optima"),
    [
        (hartmann, ww.TotalVariation(), 0.157617, (1.398094, -0.116540, 0.128177)),
        (hartmann, ww.MMD(0.1, nugget=1e-6), 0.072243, (1.415563, -0.244390, -0.083129)),
        (plant, ww.TotalVariation(), 0.157617, (0.190072, -0.596059, -0.515930)),
    ],
    ids=["hartmann-tv", "hartmann-mmd", "plant-tv"],
)
def test_optimal_values(problem, divergence, radius, optima):
    f, contexts = problem(), grid_contexts()
    truth = torch.full((64,), 1 / 64, dtype=torch.float64)
    assert float(divergence.distance(truth, contexts)) == pytest.approx(radius, abs=5e-7)
    radius = float(divergence.distance(truth, contexts))
    objectives = (
        ww.Robust(divergence, radius),
        ww.Sensitivity(divergence),
        ww.Tradeoff(divergence, radius, 1.0, 1.0),
    )
    for objective, want in zip(objectives, optima, strict=True):
        assert float(objective.bind(ww.Situation(contexts))(f).max()) == pytest.approx(want, abs=6e-7)
