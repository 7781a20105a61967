"""Seconds per SBO-KDE suggestion beside BoTorch's version of the same acquisition, on Ackley with 2 decisions, 1 context.

Both get the same data and the same hyper-parameters (Windward's own fit; its time counts against Windward alone) and are
scored on the same 4096 fresh context samples. BoTorch runs the paper's options: 1024 KDE samples, 1024 raw points, 50
restarts. Two ratios are printed: the time of the very acquisition evaluations BoTorch made, done by each (same points,
same 1024 samples, gradients where BoTorch wanted them), and end to end.

A second table has every method of `papers.py` on the same data, as a ratio to SBO-KDE in the same run, and TS-BOCU on
Tay2024's grid of 1024 decisions and 64 contexts.

    python benchmarks/suggest.py [--observations 30 100] [--seeds 5] [--threads 1] [--out benchmarks/results/suggest.json]
    python benchmarks/suggest.py --methods        the second table alone
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


KNOWN = ww.Known({"c": [i / 63 for i in range(64)]})
FOLDS = ww.Known({"c": [0.2, 0.3, 0.35, 0.45, 0.5, 0.55, 0.6, 0.7, 0.75, 0.9]})
TV = ww.TotalVariation()
METHODS: dict[str, ww.Policy] = {
    "sbo_kde": ww.papers.sbo_kde(),
    "gp_ucb": ww.papers.gp_ucb(),
    "erbo": ww.papers.erbo(),
    "stable_opt": ww.papers.stable_opt(),
    "drbo_kde": ww.papers.drbo_kde(),
    "wdrbo": ww.papers.wdrbo(),
    "wdrbo_exact": ww.papers.wdrbo_exact(),
    "drbo_mmd": ww.papers.drbo_mmd(),
    "drbo_mmd_minimax": ww.papers.drbo_mmd_minimax(),
    "ts_bocu (DRO, TV)": ww.papers.ts_bocu(KNOWN, ww.Robust(TV, 0.157617)),
    "ucb_bocu_1": ww.papers.ucb_bocu_1(KNOWN, TV, 0.157617),
    "ucb_bocu_2": ww.papers.ucb_bocu_2(KNOWN, TV, 0.157617),
    "ucb_so": ww.papers.ucb_so(KNOWN),
    "ucb_ro": ww.papers.ucb_ro(KNOWN),
    "drbqo": ww.papers.drbqo(FOLDS, 1.0),
    "bqo_ts": ww.papers.bqo_ts(FOLDS),
    "bqo_ei": ww.papers.bqo_ei(FOLDS),
    "mtbo": ww.papers.mtbo(FOLDS),
}
# At most this many times SBO-KDE's time.
WANTED = {"drbo_kde": 2.5, "wdrbo": 2.5, "drbo_mmd": 10.0}


def suggestion_seconds(policy: ww.Policy, trials: ww.Trials, seeds: int) -> float:
    """Return the median seconds of a suggestion, refitted from the fit before, as in a running study."""
    first = suggest(policy, trials, Request(), torch.Generator().manual_seed(0))
    seconds = []
    for seed in range(seeds):
        began = time.perf_counter()
        suggest(policy, trials, Request(start=Start(first.hyperparameters)), torch.Generator().manual_seed(seed))
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def tay_grid_seconds(objective: ww.Robust | ww.Tradeoff | ww.Sensitivity, seeds: int) -> float:
    """Return seconds of a TS-BOCU suggestion on 32 x 32 decisions and 64 contexts, 100 observations, nothing fitted."""
    fixed = ww.Hyperparameters(0.0, (0.1,), 1.0, 1e-4)
    policy = ww.papers.ts_bocu(
        KNOWN,
        objective,
        surrogate=ww.GaussianProcess(outcome=ww.Unscaled(), fixed=fixed),
        maximize=ww.OverGrid(32),
    )
    return suggestion_seconds(policy, observed(100, 0), seeds)


def method_table(observations: list[int], seeds: int) -> list[dict[str, float | str]]:
    rows: list[dict[str, float | str]] = []
    print(
        f"\n{'method':>18} "
        + " ".join(f"{'s at n=' + str(n):>12} {'/ SBO-KDE':>10}" for n in observations)
        + "  wanted"
    )
    base: dict[int, float] = {}
    for name, policy in METHODS.items():
        line = f"{name:>18} "
        for n in observations:
            seconds = suggestion_seconds(policy, observed(n, 0), seeds)
            base.setdefault(n, seconds)
            rows.append({"method": name, "observations": n, "seconds": seconds, "ratio": seconds / base[n]})
            line += f"{seconds:>12.4f} {seconds / base[n]:>10.2f} "
        print(line + (f"  <= {WANTED[name]:g}" if name in WANTED else ""), flush=True)
    mmd = ww.MMD(0.1, nugget=1e-6)
    for label, objective in (
        ("DRO, TV", ww.Robust(TV, 0.157617)),
        ("GEN, TV", ww.Tradeoff(TV, 0.157617)),
        ("WCS, MMD", ww.Sensitivity(mmd)),
        ("DRO, MMD", ww.Robust(mmd, 0.072243)),
        ("GEN, MMD", ww.Tradeoff(mmd, 0.072243)),
    ):
        seconds = tay_grid_seconds(objective, seeds)
        rows.append({"method": f"ts_bocu on the 1024 x 64 grid ({label})", "observations": 100, "seconds": seconds})
        print(f"ts_bocu on the 1024 x 64 grid ({label}): {seconds:.3f} s (wanted below 0.2)", flush=True)
    return rows


def peer_table(observations: list[int], seeds: int) -> list[dict[str, float]]:
    runs = []
    for n in observations:
        for seed in range(seeds):
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
    for n in observations:
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
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=int, nargs="+", default=[30, 100])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--methods", action="store_true", help="only the table of methods")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "suggest.json")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")  # BoTorch's about input scaling of the contexts
    machine = described()
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    suggest(ww.papers.sbo_kde(), observed(20, 99), Request(), torch.Generator().manual_seed(0))  # warm up

    runs = [] if arguments.methods else peer_table(arguments.observations, arguments.seeds)
    methods = method_table(arguments.observations, arguments.seeds)
    if arguments.methods and arguments.out.exists():
        runs = json.loads(arguments.out.read_text())["runs"]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"machine": machine, "runs": runs, "methods": methods}, indent=1) + "\n")
    print(f"\nwritten to {arguments.out}")


if __name__ == "__main__":
    main()
