"""Small problems and data sets that several tests use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

import windward as ww
from windward.space.space import Space
from windward.trials.records import Trial
from windward.trials.trials import Dataset, Trials

SHOP = Space(decision={"order": ww.Real(0, 1)}, context={"demand": ww.Real(0, 1)})
FAST = ww.MultiStart(screen=64, starts=2, evaluations=10)


def policy(**parts):
    """A quick policy for the shop, with these parts."""
    return ww.Policy(**{"context_model": ww.KernelDensity(32), "maximize": FAST, "design": ww.Sobol(4), **parts})


def new_study(journal=None, **changes):
    return ww.Study(SHOP, policy(), journal=journal, name="shop", **changes)


def quadratic(suggestion: ww.Suggestion) -> ww.Result:
    """A smooth toy shop: best order near the demand, which cycles."""
    demand = 0.3 + 0.05 * (suggestion.id % 7)
    return ww.Result(1.0 - (float(suggestion.decision["order"]) - demand) ** 2, context={"demand": demand})


def with_windward_on_the_path(folder: Path) -> dict[str, str]:
    """Return an environment whose `windward` command, written into the folder, is that of this checkout."""
    command = folder / "windward"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m windward "$@"\n')
    command.chmod(0o755)
    root = str(Path(__file__).parents[1])
    found = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
    found.pop("WINDWARD_JOURNAL", None)
    return found


def random_dataset(n: int, d: int, k: int, seed: int = 0, noise: float = 0.1) -> Dataset:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, d, generator=generator, dtype=torch.float64)
    c = torch.rand(n, k, generator=generator, dtype=torch.float64)
    y = torch.sin(5 * x.sum(-1)) + (c.sum(-1) if k else 0.0) * x[:, 0]
    y = y + noise * torch.randn(n, generator=generator, dtype=torch.float64)
    space = Space({f"x{i}": ww.Real(0, 1) for i in range(d)}, {f"c{i}": ww.Real(0, 1) for i in range(k)})
    return Dataset(x, c, y, torch.full((n,), float("nan"), dtype=torch.float64), space.roles)


def told(space: Space, rows: list[tuple[dict, dict, float]], **extra: object) -> Trials:
    """Return trials that have all arrived."""
    trials = [
        Trial(i, decision, context=context, context_source="revealed" if context else None, value=value)
        for i, (decision, context, value) in enumerate(rows)
    ]
    return Trials(space, tuple(trials), **extra)


def seen(space: Space, contexts: list[dict]) -> Trials:
    """Return trials whose contexts were revealed, the decisions being whatever."""
    decision = space.decode_decision(torch.full((space.decision_width,), 0.5, dtype=torch.float64))
    return told(space, [(decision, context, 0.0) for context in contexts])
