"""Seconds per suggestion for every method, beside BoTorch, Optuna and the arithmetic; and how good the suggestion is.

Methods: every method of `papers.py` on Ackley 2+1, Branin 2+2 and Hartmann 5+1 (`windward.bench.problems`) with n
observations at Sobol decisions. `refit` is a suggestion that searches hyper-parameters from the last fit, `kept` one
between two searches, its factor extended by a row; `fit`, `contexts`, `search` say where the time goes (fit = refit - kept).
Next to them the floor: values and gradients of 512 decisions x 128 contexts, 4 n^2 operations each pair, at the measured
dgemm rate; and Optuna's GPSampler on the same decisions and values, contexts left out.

Peers: the same acquisitions as BoTorch functions, by `optimize_acqf` with the paper's options (1024 KDE samples, 1024 raw
points, 50 restarts), the same data and hyper-parameters. Windward's time has its fit from cold in it, BoTorch's none.
Both suggestions are scored by one independent evaluation (SBO-KDE: 4096 fresh context samples; ERBO and WDRBO: their
own contexts, which are given): `score - peer` is to be >= 0.

    python benchmarks/suggest.py methods [--observations 30 100 300 1000] [--threads 1 2] [--problems ...] [--repeats 3]
    python benchmarks/suggest.py peers [--observations 30 100] [--seeds 10] [--problems ...]

Each writes its part of benchmarks/results/suggest.json (--out).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from machine import described
from peers import (
    Counted,
    ExpectedUpperConfidence,
    LipschitzUpperConfidence,
    botorch_model,
    botorch_seconds,
    botorch_suggestion,
    optuna_seconds,
)
from torch import Tensor

import windward as ww
from windward.bench.problems import problem
from windward.contexts import Contexts, bandwidths
from windward.maximize import value_and_gradient, values_of
from windward.policy import Proposal, Request, suggest
from windward.surrogate import GaussianPosterior, Start

PROBLEMS = ("ackley-2-1", "branin-2-2", "hartmann-5-1")
WIDTH = 1.5
SAMPLES, RAW, RESTARTS, FRESH = 1024, 1024, 50, 4096
TV = ww.TotalVariation()
# 0.1 s on a core of 59 GFLOP/s, for every method but those of MMD.
TARGET, TARGET_RATE = 0.1, 59.0


@cache
def observed(name: str, n: int, seed: int) -> ww.Trials:
    """Return n observations at Sobol decisions, contexts drawn from the truth."""
    world = problem(name)
    generator = torch.Generator().manual_seed(seed)
    engine = torch.quasirandom.SobolEngine(len(world.space.decision), scramble=True, seed=seed)
    x = engine.draw(n, dtype=torch.float64)
    c = torch.stack([world.draw(turn, generator) for turn in range(n)])
    y = world.value(x, c).tolist()
    rows = [
        ww.Trial(
            i,
            dict(zip(world.space.decision, x[i].tolist(), strict=True)),
            context=dict(zip(world.space.context, c[i].tolist(), strict=True)),
            context_source="revealed",
            value=y[i],
            changed=i,
        )
        for i in range(n)
    ]
    return ww.Trials(world.space, rows)


def known(name: str, count: int) -> ww.Known:
    """Return even contexts over the unit cube, as a reference that is given."""
    labels = list(problem(name).space.context)
    side = max(2, round(count ** (1 / len(labels))))
    axes = torch.meshgrid(*[torch.linspace(0, 1, side, dtype=torch.float64)] * len(labels), indexing="ij")
    return ww.Known({label: axis.flatten().tolist() for label, axis in zip(labels, axes, strict=True)})


def methods(name: str) -> dict[str, ww.Policy]:
    """Return every method of the papers, for a problem."""
    reference, folds = known(name, 64), known(name, 10)
    paper = ww.papers
    return {
        "sbo_kde": paper.sbo_kde(),
        "gp_ucb": paper.gp_ucb(),
        "erbo": paper.erbo(),
        "stable_opt": paper.stable_opt(),
        "drbo_kde": paper.drbo_kde(),
        "wdrbo": paper.wdrbo(),
        "wdrbo_exact": paper.wdrbo_exact(),
        "drbo_mmd": paper.drbo_mmd(),
        "drbo_mmd_minimax": paper.drbo_mmd_minimax(),
        "ts_bocu": paper.ts_bocu(reference, ww.Robust(TV, 0.157617)),
        "ucb_bocu_1": paper.ucb_bocu_1(reference, TV, 0.157617),
        "ucb_bocu_2": paper.ucb_bocu_2(reference, TV, 0.157617),
        "ucb_so": paper.ucb_so(reference),
        "ucb_ro": paper.ucb_ro(reference),
        "drbqo": paper.drbqo(folds, 1.0),
        "emp_drbqo": paper.emp_drbqo(folds, 1.0),
        "drbqo_rand_w": paper.drbqo_rand_w(folds, 1.0),
        "bqo_ts": paper.bqo_ts(folds),
        "bqo_ts_rand_w": paper.bqo_ts_rand_w(folds),
        "maximin_bqo_ts": paper.maximin_bqo_ts(folds, 1.0),
        "bqo_ei": paper.bqo_ei(folds),
        "bqo_ei_rand_w": paper.bqo_ei_rand_w(folds),
        "maximin_bqo_ei": paper.maximin_bqo_ei(folds, 1.0),
        "mtbo": paper.mtbo(folds),
        "gp_ucb_sdf": paper.gp_ucb_sdf(-30.0, 20),
        "gp_ts_sdf": paper.gp_ts_sdf(-30.0, 20),
        "gp_bucb": paper.gp_bucb(),
        "gp_bts": paper.gp_bts(),
        "asy_ts": paper.asy_ts(),
    }


# At most this many times SBO-KDE's refitted suggestion at n = 100.
WANTED = {"drbo_kde": 2.5, "wdrbo": 2.5, "drbo_mmd": 10.0}


def timed(work: Callable[[int], Any], repeats: int) -> tuple[float, Any]:
    """Return the median seconds of several runs and the last result."""
    seconds, result = [], None
    for repeat in range(repeats):
        began = time.perf_counter()
        result = work(repeat)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), result


@cache
def first_fit(name: str, n: int, surrogate: ww.GaussianProcess, blind: bool, floor: float | None) -> ww.Hyperparameters:
    """Return the hyper-parameters a running study would have had one observation ago: one fit for all methods alike."""
    trials = observed(name, n - 1, 0)
    data = (trials.blind() if blind else trials).dataset
    return surrogate.fitted(data if floor is None else _floored(data, floor))


def _floored(data: Any, floor: float) -> Any:
    from dataclasses import replace

    return replace(data, floor=floor)


def method_row(name: str, label: str, policy: ww.Policy, n: int, repeats: int) -> dict[str, Any]:
    """Return seconds of a suggestion by one method, and where they go."""
    assert isinstance(policy.surrogate, ww.GaussianProcess)
    trials = observed(name, n, 0)
    blind = isinstance(policy.context_model, ww.NoContext)
    floor = policy.feedback.worst if isinstance(policy.feedback, ww.Censor) else None
    fit = first_fit(name, n, policy.surrogate, blind, floor)

    def ask(start: Start) -> Callable[[int], Proposal]:
        return lambda seed: suggest(policy, trials, Request(start=start), torch.Generator().manual_seed(seed))

    # A running study holds the posterior of its last ask, one observation ago.
    before = suggest(
        policy,
        observed(name, n - 1, 0),
        Request(start=Start(fit, keep=True, fitted=n - 2)),
        torch.Generator().manual_seed(0),
    )
    keep = Start(fit, keep=True, fitted=n - 2, previous=before.posterior)
    kept, _ = timed(ask(keep), repeats)
    refit, _ = timed(ask(Start(fit)), max(1, repeats if n <= 300 else 1))
    view = policy.view(trials)
    given = view.space.encode_given(None)
    contexts, _ = timed(
        lambda seed: policy.context_model(view.space, view, given, torch.Generator().manual_seed(seed)), repeats
    )
    factor, _ = timed(lambda _: policy.feedback(view, policy.surrogate, Request().now, keep), repeats)
    return {
        "problem": name,
        "method": label,
        "observations": n,
        "threads": torch.get_num_threads(),
        "refit": refit,
        "kept": kept,
        "fit": max(0.0, refit - kept),
        "contexts": contexts,
        "factor": factor,
        "search": max(0.0, kept - contexts - factor),
    }


def method_table(names: list[str], sizes: list[int], repeats: int, only: list[str] | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    rate = float(described()["dgemm_gflops"])  # type: ignore[arg-type]
    threads = torch.get_num_threads()
    for name in names:
        for n in sizes:
            floor = 512 * 128 * 4.0 * n**2 / rate / 1e9
            rival = optuna_seconds(observed(name, n, 0))
            print(
                f"\n{name}, n = {n}, {threads} thread(s), dgemm {rate:.0f} GFLOP/s: floor {floor:.4f} s, "
                f"Optuna GPSampler {rival:.3f} s, target {TARGET * TARGET_RATE / rate:.3f} s"
            )
            print(f"{'method':>18} {'refit':>8} {'kept':>8} {'fit':>8} {'contexts':>9} {'factor':>8} {'search':>8}")
            common = {"problem": name, "observations": n, "threads": threads}
            rows.append({**common, "method": "floor", "kept": floor, "dgemm_gflops": rate})
            rows.append({**common, "method": "optuna GPSampler", "refit": rival})
            for label, policy in methods(name).items():
                if only and label not in only:
                    continue
                row = method_row(name, label, policy, n, repeats)
                rows.append(row)
                parts = " ".join(f"{row[part]:>8.4f}" for part in ("refit", "kept", "fit"))
                rest = f"{row['contexts']:>9.4f} {row['factor']:>8.4f} {row['search']:>8.4f}"
                print(f"{label:>18} {parts} {rest}", flush=True)
    return rows


def tay_grid(repeats: int) -> list[dict[str, Any]]:
    """Return seconds of TS-BOCU on 32 x 32 decisions and 64 contexts, 100 observations, nothing fitted."""
    mmd, reference = ww.MMD(0.1, nugget=1e-6), known("ackley-2-1", 64)
    rows = []
    for label, objective in {
        "DRO, TV": ww.Robust(TV, 0.157617),
        "GEN, TV": ww.Tradeoff(TV, 0.157617),
        "WCS, MMD": ww.Sensitivity(mmd),
        "DRO, MMD": ww.Robust(mmd, 0.072243),
        "GEN, MMD": ww.Tradeoff(mmd, 0.072243),
    }.items():
        surrogate = ww.GaussianProcess(outcome=ww.Unscaled(), fixed=ww.Hyperparameters(0.0, (0.1,), 1.0, 1e-4))
        policy = ww.papers.ts_bocu(reference, objective, surrogate=surrogate, maximize=ww.OverGrid(32))
        trials = observed("ackley-2-1", 100, 0)
        seconds, _ = timed(
            lambda seed, p=policy, t=trials: suggest(p, t, Request(), torch.Generator().manual_seed(seed)),
            max(5, repeats),
        )
        rows.append({"method": f"ts_bocu on the 1024 x 64 grid ({label})", "observations": 100, "kept": seconds})
        print(f"ts_bocu on the 1024 x 64 grid ({label}): {seconds:.3f} s (wanted below 0.2)", flush=True)
    return rows


# -- peers ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Duel:
    """An acquisition both can maximise: the policy, the peer's function, and the score that judges both."""

    policy: ww.Policy
    peer: Callable[[Any, ww.Trials, int], Any]
    score: Callable[[GaussianPosterior, ww.Trials, int], Callable[[Tensor], Tensor]]


def kde_samples(trials: ww.Trials, count: int, seed: int) -> Contexts:
    """Return independent draws from the kernel density estimate, as the paper takes them."""
    generator = torch.Generator().manual_seed(seed)
    seen = trials.seen_contexts
    centres = seen[torch.randint(len(seen), (count,), generator=generator)]
    steps = torch.randn(count, seen.shape[1], generator=generator, dtype=torch.float64) * bandwidths(trials.space, seen)
    return Contexts.uniform((centres + steps).clamp(0.0, 1.0))


def lipschitz_contexts(trials: ww.Trials) -> Contexts:
    """Return what WDRBO takes: the contexts seen, and 100 points of weight zero."""
    policy = ww.papers.wdrbo()
    found = policy.context_model(trials.space, trials, trials.space.encode_given(None), torch.Generator())
    assert found is not None
    return found


def by_reduction(policy: ww.Policy, contexts: Contexts, posterior: GaussianPosterior, seen: int) -> Any:
    """Return the policy's acquisition over given contexts."""
    from windward.surrogate import Believed

    reduction = policy.objective.bind(contexts, seen)
    score = policy.belief(Believed(posterior), ww.Trials(problem("ackley-2-1").space), contexts, torch.Generator())
    return lambda x: score(reduction, x)


def radius_now(trials: ww.Trials) -> float:
    return 0.3 / trials.contexts_seen**0.5


DUELS = {
    "sbo_kde": Duel(
        ww.papers.sbo_kde(),
        lambda model, trials, seed: ExpectedUpperConfidence(
            model, kde_samples(trials, SAMPLES, seed + 1000).points, WIDTH
        ),
        lambda posterior, trials, seed: by_reduction(
            ww.papers.sbo_kde(), kde_samples(trials, FRESH, seed + 2000), posterior, trials.contexts_seen
        ),
    ),
    "erbo": Duel(
        ww.papers.erbo(),
        lambda model, trials, seed: ExpectedUpperConfidence(model, trials.seen_contexts, WIDTH),
        lambda posterior, trials, seed: by_reduction(
            ww.papers.erbo(), Contexts.uniform(trials.seen_contexts), posterior, trials.contexts_seen
        ),
    ),
    "wdrbo": Duel(
        ww.papers.wdrbo(),
        lambda model, trials, seed: LipschitzUpperConfidence(
            model, lipschitz_contexts(trials), WIDTH, radius_now(trials)
        ),
        lambda posterior, trials, seed: by_reduction(
            ww.papers.wdrbo(), lipschitz_contexts(trials), posterior, trials.contexts_seen
        ),
    ),
}


def duel(name: str, label: str, n: int, seed: int) -> dict[str, Any]:
    trials, rules = observed(name, n, seed), DUELS[label]
    began = time.perf_counter()
    proposal = suggest(rules.policy, trials, Request(seed=seed), torch.Generator().manual_seed(seed))
    ours = time.perf_counter() - began
    fit = proposal.hyperparameters
    assert fit is not None
    began = time.perf_counter()
    start = Start(fit, keep=True, fitted=n)
    suggest(rules.policy, trials, Request(seed=seed, start=start), torch.Generator().manual_seed(seed))
    search = time.perf_counter() - began

    peer = rules.peer(botorch_model(trials.dataset, fit), trials, seed)
    torch.manual_seed(seed)  # BoTorch draws its raw points from the global generator
    peer_x, peer_seconds = botorch_suggestion(peer, len(trials.space.decision), raw=RAW, restarts=RESTARTS)
    counted, peer.counted = peer.counted, Counted()
    posterior = ww.GaussianProcess().at(trials.dataset, fit)
    judge = rules.score(posterior, trials, seed)
    score, peer_score = values_of(judge, torch.stack([proposal.x, peer_x])).tolist()
    row = {
        "problem": name,
        "method": label,
        "observations": n,
        "seed": seed,
        "windward_seconds": ours,
        "windward_search_seconds": search,
        "botorch_seconds": peer_seconds,
        "evaluations": counted.rows,
        "windward_score": score,
        "botorch_score": peer_score,
    }
    if label != "wdrbo":  # its evaluations by BoTorch take minutes again
        own = by_reduction(rules.policy, Contexts.uniform(peer.contexts), posterior, trials.contexts_seen)
        began = time.perf_counter()
        for points, wants_gradient in counted.batches:
            (value_and_gradient if wants_gradient else values_of)(own, points)
        row["windward_same_evaluations_seconds"] = time.perf_counter() - began
        row["botorch_same_evaluations_seconds"] = botorch_seconds(peer, counted)
    return row


def peer_table(names: list[str], sizes: list[int], seeds: int, only: list[str] | None) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    print("median over seeds; ratios are BoTorch's time over Windward's")
    print(
        f"{'problem':>14} {'method':>8} {'n':>5} {'windward s':>11} {'of it search':>13} {'botorch s':>10} "
        f"{'end to end':>11} {'same evals':>11} {'score - peer':>13} {'least':>9}"
    )
    for name in names:
        for n in sizes:
            for label in DUELS:
                if only and label not in only:
                    continue
                rows = [duel(name, label, n, seed) for seed in range(seeds)]
                runs += rows

                def median(part: str, rows: list[dict[str, Any]] = rows) -> float:
                    return statistics.median(row[part] for row in rows)

                same = (
                    f"{median('botorch_same_evaluations_seconds') / median('windward_same_evaluations_seconds'):.0f}"
                    if "botorch_same_evaluations_seconds" in rows[0]
                    else "-"
                )
                gains = [row["windward_score"] - row["botorch_score"] for row in rows]
                print(
                    f"{name:>14} {label:>8} {n:>5} {median('windward_seconds'):>11.4f} "
                    f"{median('windward_search_seconds'):>13.4f} {median('botorch_seconds'):>10.2f} "
                    f"{median('botorch_seconds') / median('windward_seconds'):>11.0f} {same:>11} "
                    f"{statistics.median(gains):>13.1e} {min(gains):>9.1e}",
                    flush=True,
                )
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["methods", "peers"])
    parser.add_argument("--observations", type=int, nargs="+")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--only", nargs="+", help="these methods alone")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "suggest.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # BoTorch's about input scaling of the contexts, Optuna's about its own experiments
    torch.set_num_threads(arguments.threads[0])
    machine = described()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    suggest(ww.papers.sbo_kde(), observed("ackley-2-1", 20, 99), Request(), torch.Generator().manual_seed(0))  # warm up
    if arguments.table == "peers":
        found = peer_table(arguments.problems, arguments.observations or [30, 100], arguments.seeds, arguments.only)
    else:
        found = []
        for threads in arguments.threads:
            torch.set_num_threads(threads)
            sizes = arguments.observations or [30, 100, 300, 1000]
            found += method_table(arguments.problems, sizes, arguments.repeats, arguments.only)
        torch.set_num_threads(1)
        found += tay_grid(arguments.repeats)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    written = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    written = {key: written[key] for key in ("methods", "peers") if key in written}
    written[arguments.table] = {"machine": machine, "rows": found}
    arguments.out.write_text(json.dumps(written, indent=1) + "\n")
    print(f"\nwritten to {arguments.out}")


if __name__ == "__main__":
    main()
