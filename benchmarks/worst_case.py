"""Microseconds per worst case beside CVXPY with Clarabel, and the largest difference in value over the range of values.

For each divergence, contexts on a grid of n points in [0, 1] (n = 64 and 1024, as far as the general solver goes), a
batch of 1024 value vectors: half smooth, half rough. CVXPY's problem is parametrised and built once; it is timed on a few
of the same vectors, one by one, which is how it solves them. One thread each.

    python benchmarks/worst_case.py [--threads 1] [--out benchmarks/results/worst_case.json]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import cvxpy as cp
import numpy as np
import torch
from machine import described

from windward.contexts import Contexts
from windward.divergences import MMD, ChiSquare, Divergence, KullbackLeibler, TotalVariation, Wasserstein

BATCH = 1024
# The least of this many is taken: a neighbour on the machine only ever adds.
REPEATS = 15
# name: (divergence, radius, context sizes, the ratio to reach at least, solves timed by CVXPY per size)
CASES: dict[str, tuple[Divergence, float, dict[int, int], float]] = {
    "total variation": (TotalVariation(), 0.157617, {64: 40, 1024: 10}, 500),
    "chi-square": (ChiSquare(), 0.3, {64: 40, 1024: 10}, 500),
    "Kullback-Leibler": (KullbackLeibler(), 0.3, {64: 40, 1024: 10}, 200),
    "MMD": (MMD(0.1), 0.072243, {64: 40, 1024: 3}, 15),
    "Wasserstein": (Wasserstein(), 0.05, {64: 15, 256: 2}, 100),
}


def contexts_of(n: int) -> Contexts:
    c = torch.linspace(0, 1, n, dtype=torch.float64)
    weights = torch.exp(-0.5 * (c - 0.5).square() / 0.2)
    return Contexts(c[:, None], weights / weights.sum())


def values_of(contexts: Contexts) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    n, half = len(contexts), BATCH // 2
    speed, phase = (6 * torch.rand(half, 1, generator=generator, dtype=torch.float64) for _ in range(2))
    smooth = torch.sin(speed * 2 * contexts.points[:, 0] + phase)
    rough = torch.randn(half, n, generator=generator, dtype=torch.float64)
    return torch.stack([smooth, rough], dim=1).reshape(BATCH, n)


def programme(divergence: Divergence, contexts: Contexts, radius: float) -> tuple[cp.Problem, cp.Parameter]:
    n, p = len(contexts), contexts.weights.numpy()
    q, f = cp.Variable(n, nonneg=True), cp.Parameter(n)
    constraints = [cp.sum(q) == 1]
    if isinstance(divergence, TotalVariation):
        constraints.append(cp.norm1(q - p) <= radius)
    elif isinstance(divergence, ChiSquare):
        constraints.append(0.5 * cp.sum_squares(cp.multiply(q - p, p**-0.5)) <= radius)
    elif isinstance(divergence, KullbackLeibler):
        constraints.append(cp.sum(cp.kl_div(q, p)) <= radius)
    elif isinstance(divergence, MMD):
        eigenvalues, vectors = np.linalg.eigh(divergence.kernel(contexts).numpy())
        root = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))).T
        constraints.append(cp.norm2(root @ (q - p)) <= radius)
    else:
        plan = cp.Variable((n, n), nonneg=True)
        cost = np.abs(contexts.points.numpy() - contexts.points.numpy().T)
        constraints += [cp.sum(plan, axis=1) == p, cp.sum(plan, axis=0) == q, cp.sum(cp.multiply(plan, cost)) <= radius]
    return cp.Problem(cp.Minimize(f @ q), constraints), f


def measured(name: str, n: int, solves: int) -> dict[str, float | str | int]:
    divergence, radius, _, wanted = CASES[name]
    contexts = contexts_of(n)
    values = values_of(contexts)
    ball = divergence.on(contexts)
    ball(values[:32], radius)
    ours = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        worst = ball(values, radius)
        ours.append(time.perf_counter() - began)
    problem, f = programme(divergence, contexts, radius)
    peer, gaps = [], []
    for row in range(solves):
        f.value = values[row].numpy()
        began = time.perf_counter()
        problem.solve(solver=cp.CLARABEL)
        peer.append(time.perf_counter() - began)
        spread = float(values[row].max() - values[row].min())
        gaps.append(abs(float(problem.value) - float(worst.value[row])) / spread)
    # The first solve compiles the parametrised problem.
    theirs = min(peer[1:])
    return {
        "divergence": name,
        "contexts": n,
        "windward_microseconds": min(ours) / BATCH * 1e6,
        "cvxpy_microseconds": theirs * 1e6,
        "ratio": theirs / (min(ours) / BATCH),
        "wanted": wanted,
        "largest_difference": max(gaps),
        "solves": solves,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "worst_case.json")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")  # CVXPY's about the size of a parametrised problem
    machine = described() | {"cvxpy": cp.__version__}
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    print(
        f"{'divergence':>18} {'n':>5} {'windward us':>12} {'cvxpy us':>11} {'ratio':>8} {'wanted':>7} {'difference':>11}"
    )
    rows = []
    for name, (_, _, sizes, _) in CASES.items():
        for n, solves in sizes.items():
            row = measured(name, n, solves)
            rows.append(row)
            print(
                f"{name:>18} {n:>5} {row['windward_microseconds']:>12.1f} {row['cvxpy_microseconds']:>11.0f} "
                f"{row['ratio']:>8.0f} {row['wanted']:>7.0f} {row['largest_difference']:>11.1e}",
                flush=True,
            )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
