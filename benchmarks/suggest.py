"""Seconds per SBO-KDE suggestion beside BoTorch's version of the same acquisition, on Ackley with 2 decisions, 1 context.

Both get the same data and the same hyper-parameters (Windward's own fit; its time counts against Windward alone) and are
scored on the same 4096 fresh context samples. BoTorch runs the paper's options: 1024 KDE samples, 1024 raw points, 50
restarts. Two ratios are printed: the time of the very acquisition evaluations BoTorch made, done by each (same points,
same 1024 samples, gradients where BoTorch wanted them), and end to end.

    python benchmarks/suggest.py [--observations 30 100] [--seeds 5] [--threads 1] [--out benchmarks/results/suggest.json]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from machine import described
from peers import Counted, ExpectedUpperConfidence, botorch_model, botorch_suggestion
from torch import Tensor

import windward as ww
from windward.contexts import Contexts, bandwidths
from windward.maximize import value_and_gradient, values_of
from windward.policy import Request, suggest
from windward.surrogate import GaussianPosterior, Start

WIDTH = 1.5
SAMPLES, RAW, RESTARTS = 1024, 1024, 50
SPACE = ww.Space(decision={"x1": ww.Real(0, 1), "x2": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})


def negative_ackley(z: Tensor) -> Tensor:
    """Return minus Ackley's function on the unit cube scaled to [-32.768, 32.768]; `"n 3"` to `"n"`."""
    u = 65.536 * z - 32.768
    return (
        20.0 * torch.exp(-0.2 * u.square().mean(-1).sqrt())
        + torch.exp(torch.cos(2 * math.pi * u).mean(-1))
        - 20
        - math.e
    )


def observed(n: int, seed: int) -> ww.Trials:
    """Return n observations at Sobol decisions, contexts from N(0.5, 0.15^2) clipped to [0, 1]."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.quasirandom.SobolEngine(2, scramble=True, seed=seed).draw(n, dtype=torch.float64)
    c = (0.5 + 0.15 * torch.randn(n, 1, generator=generator, dtype=torch.float64)).clamp(0.0, 1.0)
    y = negative_ackley(torch.cat([x, c], dim=1))
    rows = [
        ww.Trial(
            i,
            {"x1": float(x[i, 0]), "x2": float(x[i, 1])},
            context={"c": float(c[i, 0])},
            context_source="revealed",
            value=v,
        )
        for i, v in enumerate(y.tolist())
    ]
    return ww.Trials(SPACE, rows)


def kde_samples(trials: ww.Trials, count: int, seed: int) -> Contexts:
    """Return independent draws from the kernel density estimate, as the paper takes them."""
    generator = torch.Generator().manual_seed(seed)
    seen = trials.seen_contexts
    centres = seen[torch.randint(len(seen), (count,), generator=generator)]
    steps = torch.randn(count, 1, generator=generator, dtype=torch.float64) * bandwidths(SPACE, seen)
    return Contexts.uniform((centres + steps).clamp(0.0, 1.0))


def acquisition(posterior: GaussianPosterior, contexts: Contexts) -> Callable[[Tensor], Tensor]:
    def value(x: Tensor) -> Tensor:
        mean, std = posterior.marginals(x, contexts.points)
        return (mean + WIDTH * std) @ contexts.weights

    return value


def repeat_evaluations(posterior: GaussianPosterior, contexts: Contexts, counted: Counted) -> float:
    """Return the seconds Windward takes for the evaluations BoTorch made."""
    score = acquisition(posterior, contexts)
    began = time.perf_counter()
    for points, wants_gradient in counted.batches:
        (value_and_gradient if wants_gradient else values_of)(score, points)
    return time.perf_counter() - began


def botorch_seconds(peer: ExpectedUpperConfidence, counted: Counted) -> float:
    """Return the seconds BoTorch takes for the same evaluations, without its optimiser."""
    began = time.perf_counter()
    for points, wants_gradient in counted.batches:
        x = points[:, None, :].clone().requires_grad_(wants_gradient)
        value = peer(x)
        if wants_gradient:
            torch.autograd.grad(value.sum(), x)
    return time.perf_counter() - began


def one_run(n: int, seed: int) -> dict[str, float]:
    trials = observed(n, seed)
    policy = ww.papers.sbo_kde()
    began = time.perf_counter()
    proposal = suggest(policy, trials, Request(seed=seed), torch.Generator().manual_seed(seed))
    ours = time.perf_counter() - began
    data = trials.dataset
    hyperparameters = proposal.hyperparameters
    assert hyperparameters is not None
    search = time.perf_counter()
    suggest(
        policy, trials, Request(seed=seed, start=Start(hyperparameters, keep=True)), torch.Generator().manual_seed(seed)
    )
    search = time.perf_counter() - search

    contexts = kde_samples(trials, SAMPLES, seed + 1000)
    peer = ExpectedUpperConfidence(botorch_model(data, hyperparameters), contexts.points, WIDTH)
    torch.manual_seed(seed)  # BoTorch draws its raw points from the global generator
    peer_x, peer_seconds = botorch_suggestion(peer, 2, raw=RAW, restarts=RESTARTS)
    counted, peer.counted = peer.counted, Counted()

    posterior = ww.GaussianProcess().at(data, hyperparameters)
    fresh = acquisition(posterior, kde_samples(trials, 4096, seed + 2000))
    score, peer_score = values_of(fresh, torch.stack([proposal.x, peer_x])).tolist()
    return {
        "observations": n,
        "seed": seed,
        "windward_seconds": ours,
        "windward_search_seconds": search,
        "botorch_seconds": peer_seconds,
        "evaluations": counted.rows,
        "windward_same_evaluations_seconds": repeat_evaluations(posterior, contexts, counted),
        "botorch_same_evaluations_seconds": botorch_seconds(peer, counted),
        "windward_score": score,
        "botorch_score": peer_score,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "suggest.json")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")  # BoTorch's about input scaling of the contexts
    machine = described()
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    suggest(ww.papers.sbo_kde(), observed(20, 99), Request(), torch.Generator().manual_seed(0))  # warm up

    runs = []
    for n in arguments.observations:
        for seed in range(arguments.seeds):
            runs.append(one_run(n, seed))
            print(json.dumps(runs[-1]), flush=True)

    heading = (
        f"{'n':>5} {'windward s':>11} {'of it search':>13} {'botorch s':>10} {'end to end':>11} {'same evals':>11}"
    )
    print(
        "\nmedian over seeds; ratios are BoTorch's time over Windward's\n"
        + heading
        + f" {'score - peer':>13} {'worst':>9}"
    )
    for n in arguments.observations:
        rows = [run for run in runs if run["observations"] == n]

        def median(name: str, rows: list[dict[str, float]] = rows) -> float:
            return statistics.median(run[name] for run in rows)

        same = median("botorch_same_evaluations_seconds") / median("windward_same_evaluations_seconds")
        gains = [run["windward_score"] - run["botorch_score"] for run in rows]
        print(
            f"{n:>5} {median('windward_seconds'):>11.4f} {median('windward_search_seconds'):>13.4f} "
            f"{median('botorch_seconds'):>10.2f} {median('botorch_seconds') / median('windward_seconds'):>11.1f} "
            f"{same:>11.1f} {statistics.median(gains):>13.2e} {min(gains):>9.1e}"
        )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"machine": machine, "runs": runs}, indent=1) + "\n")
    print(f"\nwritten to {arguments.out}")


if __name__ == "__main__":
    main()
