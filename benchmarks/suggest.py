"""Seconds per suggestion for every method, beside BoTorch, Optuna and the arithmetic; and how good the suggestion is.

Methods: every method of `windward.papers` on Ackley 2+1, Branin 2+2 and Hartmann 5+1 (`windward.bench.problems`) with n
observations at Sobol decisions. `refit` is a suggestion that searches hyper-parameters from the last fit, `kept` one
between two searches, its factor extended by a row; `fit`, `contexts`, `search` say where the time goes (fit = refit - kept).
Next to them the floor: values and gradients of 512 decisions x 128 contexts, 4 n^2 operations each pair, at the measured
dgemm rate; and Optuna's GPSampler on the same decisions and values, contexts left out.

Peers: the same acquisitions as BoTorch functions, by `optimize_acqf` with the paper's options (1024 KDE samples, 1024 raw
points, 50 restarts; `sbo_kde_small`: Windward's 128 points, 512 raw points, 8 restarts), the same data and hyper-parameters,
in the batches that are fastest for it (`peers.py`). Windward's time has its fit from cold in it, BoTorch's none. Both
suggestions are scored by one evaluation (SBO-KDE: 4096 fresh context samples; ERBO and WDRBO: their own contexts, which are
given): `score - peer` is not to be below 0 by more than the climb's tolerance.
Ten seeds take minutes with 30 and 100 observations, hours with 1000.

    python benchmarks/suggest.py methods [--observations 30 100 300 1000] [--threads 1 2] [--problems ...] [--repeats 5]
    python benchmarks/suggest.py peers [--observations 30 100 300 1000] [--seeds 10] [--problems ...] [--device cuda]

Rows go into benchmarks/results/suggest.json (--out) as they are measured, in place of those of the same name, size and threads.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from duels import DUELS, Save, duel, peer_table
from machine import described
from observations import PROBLEMS, TV, known, methods, observed
from peers import optuna_seconds

import windward as ww
from windward.suggest.prepare import Request
from windward.suggest.suggest import Proposal, suggest
from windward.surrogate import Start

# 0.1 s on a core of 59 GFLOP/s, for every method but those of MMD.
TARGET, TARGET_RATE = 0.1, 59.0
REFITTED = 300


def timed(work: Callable[[int], Any], repeats: int) -> tuple[float, Any]:
    """Return the least seconds of several runs, each with a seed of its own, and the last result."""
    seconds, result = [], None
    for repeat in range(repeats):
        began = time.perf_counter()
        result = work(repeat)
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


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
    # Beyond REFITTED a search for hyper-parameters takes many times the rest; the schedule makes it rare.
    refit = timed(ask(Start(fit)), repeats)[0] if n <= REFITTED else None
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
        **({} if refit is None else {"refit": refit, "fit": max(0.0, refit - kept)}),
        "kept": kept,
        "contexts": contexts,
        "factor": factor,
        "search": max(0.0, kept - contexts - factor),
    }


def method_table(names: list[str], sizes: list[int], repeats: int, only: list[str] | None, save: Save) -> None:
    """Print a row for each method as it is done, and save those of each problem and size."""
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
            rows = [
                {**common, "method": "floor", "kept": floor, "dgemm_gflops": rate},
                {**common, "method": "optuna GPSampler", "refit": rival},
            ]
            for label, policy in methods(name).items():
                if only and label not in only:
                    continue
                row = method_row(name, label, policy, n, repeats)
                rows.append(row)
                parts = " ".join(f"{row.get(part, math.nan):>8.4f}" for part in ("refit", "kept", "fit"))
                rest = f"{row['contexts']:>9.4f} {row['factor']:>8.4f} {row['search']:>8.4f}"
                print(f"{label:>18} {parts} {rest}", flush=True)
            save(rows)


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


KEY = ("problem", "method", "observations", "threads")


def keep(out: Path, table: str, machine: dict[str, object], rows: list[dict[str, Any]]) -> None:
    """Write rows into their table of the file at once, in place of what was measured of the same before."""
    written = json.loads(out.read_text()) if out.exists() else {}
    before = written.get(table, {"rows": []})["rows"]
    fresh = {tuple(row.get(part) for part in KEY) for row in rows}
    kept = [row for row in before if tuple(row.get(part) for part in KEY) not in fresh]
    written[table] = {"machine": machine, "rows": kept + rows}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(written, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["methods", "peers"])
    parser.add_argument("--observations", type=int, nargs="+")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--only", nargs="+", help="these methods alone")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="of peers")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "suggest.json")
    arguments = parser.parse_args()
    timed_methods = list(DUELS) if arguments.table == "peers" else list(methods(PROBLEMS[0]))
    if unknown := sorted(set(arguments.only or ()) - set(timed_methods)):
        parser.error(f"--only {' '.join(unknown)}: {arguments.table} has {', '.join(timed_methods)}")
    if arguments.seeds < 1 or arguments.repeats < 1:
        parser.error("--seeds and --repeats must be at least 1")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no CUDA device here")
    warnings.simplefilter("ignore")  # BoTorch's about input scaling of the contexts, Optuna's about its own experiments
    torch.set_num_threads(arguments.threads[0])
    machine = described()
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    suggest(ww.papers.sbo_kde(), observed("ackley-2-1", 20, 99), Request(), torch.Generator().manual_seed(0))  # warm up

    table, on = arguments.table, arguments.device
    if on != "cpu":
        table, machine["device"] = f"{table}_{on}", torch.cuda.get_device_name()

    def save(rows: list[dict[str, Any]]) -> None:
        keep(arguments.out, table, machine, rows)

    if arguments.table == "peers":
        for label in DUELS:
            duel("ackley-2-1", label, 20, 99, on)  # warms up
        peer_table(arguments.problems, arguments.observations or [30, 100], arguments.seeds, arguments.only, on, save)
        return
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        sizes = arguments.observations or [30, 100, 300, 1000]
        method_table(arguments.problems, sizes, arguments.repeats, arguments.only, save)
    torch.set_num_threads(1)
    save(tay_grid(arguments.repeats))


if __name__ == "__main__":
    main()
