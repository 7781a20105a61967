"""How often each warning of `study.check` comes where nothing is wrong, and where something is.

Draws of Gaussian processes with two decisions and a context. "right" has length-scales from 0.2 to 1 and a share of noise
from 0.01 to 0.3, as the model assumes. The other kinds are the same with one thing changed:

    few        more noise than signal                       noise      nothing but noise
    mistake    one result moved by four deviations          typo       one result ten times too large
    rising     noise that grows sixteenfold with the price  sure       hyper-parameters that are fixed, with too little noise

The problems are functions without noise that are no Gaussian processes, at random decisions. docs/trust.md has the figures.

    python benchmarks/model_check.py [--sets 300] [--kinds right noise ...] [--sizes 30 60]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np
import torch
from machine import described
from torch import Tensor

import windward as ww
from windward.bench.problems import problem
from windward.suggest.checked import LITTLE, ModelCheck
from windward.suggest.model_check import model_check
from windward.trials.records import Trial
from windward.trials.trials import Trials

SPACE = ww.Space({"price": ww.Real(0, 1), "size": ww.Real(0, 1)}, {"demand": ww.Real(0, 1)})
POLICY = ww.Policy(context_model=ww.Empirical())
SURE = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.5,), 1.0, 1e-3))
FRESH = 500
# What a model explains of fresh results where it was wrong to say that it explains little.
MUCH = 0.3
# Where the planted mistake is.
PLANTED = 7
PROBLEMS = ("newsvendor", "ackley-2-1", "branin-2-2", "hartmann-5-1")

Made = tuple[Tensor, Tensor]  # inputs "n 3", results "n"


def drawn(count: int, noise: Callable[[Tensor], Tensor], length: float, generator: torch.Generator) -> Made:
    """Return results of one function, whose variance is one less that of the noise where it is least."""
    z = torch.rand(count, 3, generator=generator, dtype=torch.float64)
    deviation = noise(z)
    signal = max(0.0, 1.0 - float(deviation.min()) ** 2)
    k = signal * torch.exp(-0.5 * torch.cdist(z / length, z / length).square()) + 1e-8 * torch.eye(count).double()
    f = torch.linalg.cholesky(k) @ torch.randn(count, generator=generator, dtype=torch.float64)
    return z, f + deviation * torch.randn(count, generator=generator, dtype=torch.float64)


def made(kind: str, count: int, generator: torch.Generator) -> Made:
    """Return a data set of a kind, with fresh results at its end."""
    length = 0.2 * 5.0 ** float(torch.rand((), generator=generator))
    share = 0.01 * 30.0 ** float(torch.rand((), generator=generator))
    flat = {"noise": 1.0, "few": 0.6}.get(kind, share)
    spread: Callable[[Tensor], Tensor] = lambda z: torch.full((len(z),), math.sqrt(flat)).double()  # noqa: E731
    if kind == "rising":  # the deviation of the noise grows sixteenfold over the price
        spread = lambda z: 0.05 * 16.0 ** z[:, 0]  # noqa: E731
    z, y = drawn(count + FRESH, spread, length, generator)
    if kind in ("mistake", "typo"):  # by four deviations of the results, or a factor of ten of what a shop counts
        y[PLANTED] += 4.0 * y.std() if kind == "mistake" else 9.0 * (10.0 * y.std() + y[PLANTED])
    return z, y


def trials_of(space: ww.Space, z: Tensor, y: Tensor) -> Trials:
    width, rows = len(space.decision), []
    for id, (row, value) in enumerate(zip(z.tolist(), y.tolist(), strict=True)):
        context = dict(zip(space.context, row[width:], strict=True))
        rows.append(
            Trial(id, dict(zip(space.decision, row, strict=False)), context=context, value=value, changed=id + 1)
        )
    return Trials(space, tuple(rows))


def one(kind: str, count: int, seed: int) -> tuple[ModelCheck, float]:
    """Return a check, and the share of fresh results' variation that the posterior explains."""
    generator = torch.Generator().manual_seed(1000 * seed + count)
    if kind in PROBLEMS:
        world = problem(kind)
        z = torch.rand(count + FRESH, len(world.space.decision), generator=generator, dtype=torch.float64)
        z = torch.cat([z, torch.stack([world.draw(turn, generator) for turn in range(count + FRESH)])], dim=1)
        space, y = world.space, world.value(z[:, : len(world.space.decision)], z[:, len(world.space.decision) :])
    else:
        space, (z, y) = SPACE, made(kind, count, generator)
    policy = POLICY if kind != "sure" else ww.Policy(context_model=ww.Empirical(), surrogate=SURE)
    trials = trials_of(space, z[:count], y[:count])
    posterior = policy.surrogate.fit(trials.dataset)
    found = model_check(policy, trials, posterior, generator)
    width = len(space.decision)
    pairs = [posterior.inputs.x(z[count:, :width]), posterior.inputs.c(z[count:, width:])]
    mean = posterior.hyperparameters.mean + posterior.covariance(*pairs, posterior.zx, posterior.zc) @ posterior.alpha
    fresh = y[count:]
    errors = (fresh - mean * posterior.scale - posterior.shift).square().mean() / (
        fresh - y[:count].mean()
    ).square().mean()
    return found, 1.0 - float(errors)


def _little(found: ModelCheck) -> bool:
    return found.explained < LITTLE or not found.surely


def report(kind: str, count: int, rows: list[tuple[ModelCheck, float]], seconds: float) -> None:
    checks = [found for found, _ in rows]

    def share(test: Callable[[ModelCheck], bool]) -> str:
        return f"{100.0 * float(np.mean([test(found) for found in checks])):8.1f}"

    said, true = np.array([found.explained for found in checks]), np.array([fresh for _, fresh in rows])
    columns = [
        share(_little),
        f"{100.0 * float(np.mean([is_ >= MUCH and _little(found) for found, is_ in rows])):8.1f}",
        share(lambda found: any("too sure" in text for text in found.warnings)),
        share(lambda found: any("surer than" in text for text in found.sentences)),
        share(lambda found: bool(found.outliers)),
        share(lambda found: bool(found.noise_depends_on)),
        share(lambda found: found.log_score_linear > found.log_score),
        f"{100 * np.median(said):8.0f}",
        f"{100 * np.median(true):8.0f}",
        f"{100 * np.mean([found.coverage[-1].inside / count for found in checks]):8.1f}",
        f"{1000 * seconds:8.0f}",
    ]
    more = ""
    if kind in ("mistake", "typo"):
        more = f"  it was trial {PLANTED}, and no other: {share(lambda found: found.outliers == (PLANTED,)).strip()}"
    if kind == "rising":
        more = f"  price, high: {share(lambda found: dict(found.noise_depends_on) == {'price': 'high'}).strip()}"
    print(f"{kind:>13} {count:4}", *columns, more, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = ("right", "few", "noise", "mistake", "typo", "rising", "sure", *PROBLEMS)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--kinds", nargs="+", default=every, choices=every)
    parser.add_argument("--sizes", nargs="+", type=int, default=[30, 60])
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(described())
    print(
        "shares of sets in per cent: warnings; then medians of what is said to be explained, and of what is, of fresh results"
    )
    heads = ("little", "wrongly", "too sure", "surer", "outlier", "noise", "line wins", "said", "is", "in 90 %", "ms")
    print(f"{'kind':>13} {'n':>4}", *(f"{head:>8}" for head in heads))
    for kind in given.kinds:
        for count in given.sizes:
            began = time.perf_counter()
            rows = [one(kind, count, seed) for seed in range(given.sets)]
            report(kind, count, rows, (time.perf_counter() - began) / given.sets)


if __name__ == "__main__":
    main()
