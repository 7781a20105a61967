"""The benchmark of `Confidence`: its runs against a slow computation of their own, and its tables of made-up runs."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from oracles import worst_value
from scipy.optimize import minimize_scalar

import windward as ww

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
bench = importlib.import_module("confidence")


def bound_by_hand(world, situation, seen):
    """The best average decision among many, and the quantile of its average, with other draws and other candidates."""
    n, judged = len(seen), situation.judged
    width = len(world.space.decision)
    unit = torch.rand(10_000, width, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    x = torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None] if width == 1 else unit
    at = np.concatenate([world.value(some, seen).numpy() for some in torch.split(x, 500)])
    totals = at.sum(1)
    best = int(totals.argmax())
    judged_by = np.array([at[(totals - at[:, i]).argmax(), i] for i in range(n)])
    places = judged.unknown.places[-judged.unknown.unseen :]
    elsewhere = world.value(x[best : best + 1], judged.points[places])[0].numpy()
    elsewhere = np.minimum(elsewhere, judged_by.mean())
    # The seen contexts are worth four fewer than they are, those elsewhere one together.
    mass = np.concatenate([np.full(n, max(n - 4.0, n / 3.0) / n), np.full(len(elsewhere), 1.0 / len(elsewhere))])
    shares = np.random.default_rng(1).dirichlet(mass, 20_000)
    averages = shares @ np.concatenate([judged_by, elsewhere])
    return totals[best] / n, float(np.quantile(averages, 0.1)), float(averages.std())


def worst_by_hand(divergence, values, contexts, radius):
    """The worst average: a convex programme, and of transport the maximum of its dual in one number."""
    if radius == 0:
        return float(contexts.weights @ values)
    if not isinstance(divergence, ww.Wasserstein):
        return worst_value(divergence, values, contexts, radius)
    p, f, points = contexts.weights.numpy(), values.numpy(), contexts.points.numpy()
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)

    def dual(level):
        return level * radius - p @ (f[None] + level * gaps).min(1)

    steepest = (f.max() - f.min()) / gaps[gaps > 0].min()
    tried = [
        minimize_scalar(dual, bounds=(0.0, high), method="bounded", options={"xatol": 1e-9 * high})
        for high in np.geomspace(1e-3, 1.0, 12) * steepest
    ]
    return -min(float(found.fun) for found in tried)


def check(name, n, seed, others, kinds=tuple(bench.DIVERGENCES)):
    """Compare a run with what is computed here."""
    world = bench.WORLDS[name]
    truth = world.draw(bench.MANY, torch.Generator().manual_seed(7))
    found = bench.one_run(world, kinds, n, "density", seed, truth)
    seen = world.draw(n, torch.Generator().manual_seed(1_000_003 * seed + n))
    situation = bench.situation_of(world, seen, bench.MODELS["density"], seed)
    average, least, deviation = bound_by_hand(world, situation, seen)
    x0, bound = ww.Confidence(bench.LEVEL).bound(situation, situation.judged)
    size = abs(average) + deviation
    assert float(world.value(x0[None], seen).mean()) >= average - 1e-3 * size
    # Of 4096 draws the quantile is off by a thirtieth of a deviation.
    assert bound == pytest.approx(least, abs=0.1 * deviation + 1e-3 * size)
    contexts, x = situation.contexts, bench.decisions(world)
    values, at_best = world.value(x, contexts.points), world.value(x0[None], contexts.points)[0]
    for kind in kinds:
        run, divergence = found[kind], bench.DIVERGENCES[kind]
        near = 3e-4 * float(at_best.max() - at_best.min()) + 1e-6 * size  # MMD's tolerance is 1e-4
        if run["how"] == "root" and run["radius"] > 0:
            assert worst_by_hand(divergence, at_best, contexts, run["radius"]) == pytest.approx(bound, abs=near)
        some = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))[:others].tolist()
        worst = {place: worst_by_hand(divergence, values[place], contexts, run["radius"]) for place in some}
        assert max(worst.values()) <= run["robust"] + near
        chosen = [
            place for place in range(len(x)) if float(world.value(x[place : place + 1], truth).mean()) == run["true"]
        ]
        assert any(
            worst_by_hand(divergence, values[place], contexts, run["radius"]) == pytest.approx(run["robust"], abs=near)
            for place in chosen[:2]
        )


def test_a_run_against_a_slow_computation():
    check("dose", 30, 3, others=1)


def test_runs_go_on_and_are_counted(tmp_path, capsys):
    folder, kept = tmp_path / "runs", tmp_path / "kept.json"
    words = ["run", str(folder), "--worlds", "shop", "--seen", "10", "--divergences", "tv", "chi2"]
    bench.main([*words, "--seeds", "0", "2"])
    (path,) = folder.glob("*.jsonl")
    first = path.read_text()
    path.write_text(first + '{"cut')
    bench.main([*words, "--seeds", "0", "3"])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert path.read_text().startswith(first) and [row["seed"] for row in rows] == [0, 1, 2]
    for row, true in zip(rows, (1.0, 2.0, 3.0), strict=True):
        row["plain"], row["tv"] = 4.0, row["tv"] | {"true": true, "robust": 2.0, "how": "root"}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bench.main(["keep", str(folder), "--out", str(kept)])
    bench.main(["show", str(kept)])
    text = capsys.readouterr().out
    cell = json.loads(kept.read_text())["cells"][0]
    assert (cell["runs"], cell["broken"], cell["true"], cell["plain"]) == (3, 1, 2.0, 4.0)
    assert "Runs of each: 3" in text and "| shop | 10 | 33.3 % |" in text
    share = 100 * 2.0 / bench.best_of(bench.WORLDS["shop"])
    assert f"| shop | 10 | {share:.1f} % |" in text
