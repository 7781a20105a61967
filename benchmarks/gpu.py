"""The same work on a CUDA device and on one and several cores: seconds, and the share of what the device can do.

    TS-BOCU                65,536 decisions x 1024 contexts, 100 observations, robust in total variation, nothing fitted
    worst cases            one million rows of 64 values: total variation, chi-square, MMD
    a suggestion at n      SBO-KDE with 10,000 observations, hyper-parameters kept: factor, inverse and search

The fractions: bytes that must move at least once (each value read, each weight written) over seconds, to the measured
bandwidth of a copy; or operations counted by the formula printed, to the measured rate of a float64 matrix product.

    python benchmarks/gpu.py [--small] [--where cuda cores core] [--cpu-rows 65536] [--out ...]

Without a CUDA device only the processor's column is measured. `--small` divides every size by 64, to try it out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from machine import described

import windward as ww
from windward.contexts import Contexts
from windward.divergences import Divergence
from windward.suggest.prepare import Request
from windward.suggest.suggest import suggest
from windward.surrogate import Start

SPACE = ww.Space(decision={"x1": ww.Real(0, 1), "x2": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})
HYPERPARAMETERS = ww.Hyperparameters(0.0, (0.3, 0.3, 0.3), 1.0, 1e-3)


def seconds_of(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Return the least seconds of several runs after a first one, the device waited for."""
    times = []
    work()  # compiles, allocates, warms up
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return min(times)


def ceilings(device: torch.device) -> tuple[float, float]:
    """Return GB/s of a copy (read and written) and GFLOP/s of a float64 matrix product."""
    elements = 2**27 if device.type == "cuda" else 2**24
    source = torch.zeros(elements, dtype=torch.float64, device=device)
    target = torch.empty_like(source)
    copy = seconds_of(lambda: target.copy_(source), device, 5)
    size = 8192 if device.type == "cuda" else 1024
    a = torch.rand(size, size, dtype=torch.float64, device=device)
    product = seconds_of(lambda: a @ a, device, 3)
    return 16.0 * elements / copy / 1e9, 2.0 * size**3 / product / 1e9


def observed(n: int, device: torch.device) -> ww.Trials:
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(n, 3, generator=generator, dtype=torch.float64)
    values = torch.sin(6 * points[:, 0] + 3 * points[:, 2]) + points[:, 1]
    rows = [
        ww.Trial(i, {"x1": a, "x2": b}, context={"c": c}, context_source="revealed", value=v)
        for i, ((a, b, c), v) in enumerate(zip(points.tolist(), values.tolist(), strict=True))
    ]
    return ww.Trials(SPACE, rows, device=device)


def ts_bocu(device: torch.device, per_parameter: int, contexts: int) -> Callable[[], object]:
    policy = ww.papers.ts_bocu(
        ww.Known({"c": [i / (contexts - 1) for i in range(contexts)]}),
        ww.Robust(ww.TotalVariation(), 0.2),
        surrogate=ww.GaussianProcess(outcome=ww.Unscaled(), fixed=ww.Hyperparameters(0.0, (0.1,), 1.0, 1e-4)),
        maximize=ww.OverGrid(per_parameter),
    )
    trials = observed(100, device)
    return lambda: suggest(policy, trials, Request(), torch.Generator().manual_seed(0))


def worst_cases(device: torch.device, rows: int, divergence: Divergence, radius: float) -> Callable[[], object]:
    c = torch.linspace(0, 1, 64, dtype=torch.float64)
    weights = torch.exp(-0.5 * (c - 0.5).square() / 0.2)
    contexts = Contexts(c[:, None], weights / weights.sum()).to(device)
    generator = torch.Generator().manual_seed(0)
    speed, phase = (6 * torch.rand(rows, 1, generator=generator, dtype=torch.float64).to(device) for _ in range(2))
    values = torch.sin(2 * speed * contexts.points[:, 0] + phase)
    ball = divergence.on(contexts)
    return lambda: ball(values, radius)


def large_suggestion(device: torch.device, n: int) -> Callable[[], object]:
    trials = observed(n, device)
    start = Start(HYPERPARAMETERS, keep=True)
    return lambda: suggest(ww.papers.sbo_kde(), trials, Request(start=start), torch.Generator().manual_seed(0))


def jobs(device: torch.device, small: bool, rows: int) -> dict[str, tuple[Callable[[], object], float, str]]:
    """Return name -> (work, count, unit): GB that must move, or GFLOP."""
    side, contexts, n = (32, 64, 1000) if small else (256, 1024, 10_000)
    decisions = side * side
    # Prior features and correction: two products of (decisions x F) by (F x contexts) and one over the observations.
    path = 2.0 * decisions * contexts * (2 * 1024 + 100) / 1e9
    # Cholesky n^3 / 3 and the inverse of its factor n^3 by a triangular solve; the search comes on top.
    factor = (1 / 3 + 1) * n**3 / 1e9
    moved = 2.0 * 8 * 64 * rows / 1e9
    return {
        f"TS-BOCU, {decisions} x {contexts}": (ts_bocu(device, side, contexts), path, "GFLOP"),
        f"total variation, {rows} x 64": (worst_cases(device, rows, ww.TotalVariation(), 0.157617), moved, "GB"),
        f"chi-square, {rows} x 64": (worst_cases(device, rows, ww.ChiSquare(), 0.3), moved, "GB"),
        f"MMD, {rows} x 64": (worst_cases(device, rows, ww.MMD(0.1, nugget=1e-6), 0.072243), moved, "GB"),
        f"SBO-KDE at n = {n}": (large_suggestion(device, n), factor, "GFLOP"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--where", nargs="+", choices=["cuda", "cores", "core"], default=["cuda", "cores", "core"])
    parser.add_argument(
        "--cpu-rows", type=int, default=65_536, help="worst cases on the processor, scaled up in the table"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    arguments = parser.parse_args()
    rows = 16_384 if arguments.small else 1_000_000
    devices, cores = [], os.cpu_count() or 1
    if "cuda" in arguments.where and torch.cuda.is_available():
        devices.append((torch.cuda.get_device_name(), torch.device("cuda"), 1))
    if "cores" in arguments.where and cores > 1:
        devices.append((f"{cores} cores", torch.device("cpu"), cores))
    if "core" in arguments.where:
        devices.append(("one core", torch.device("cpu"), 1))
    table = []
    for label, device, threads in devices:
        torch.set_num_threads(threads)
        bandwidth, rate = ceilings(device)
        print(f"\n{label}: copy {bandwidth:.0f} GB/s, float64 product {rate:.0f} GFLOP/s", flush=True)
        mine = rows if device.type == "cuda" else min(rows, arguments.cpu_rows)
        for name, (work, count, unit) in jobs(device, arguments.small, mine).items():
            seconds = seconds_of(work, device, 3 if device.type == "cuda" else 1)
            share = count / seconds / (rate if unit == "GFLOP" else bandwidth)
            row = {"where": label, "work": name, "seconds": seconds, "count": count, "unit": unit, "share": share}
            table.append(row)
            print(f"{name:>32} {seconds:>10.4f} s   {count:>9.2f} {unit:<5} {share:>7.1%}", flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"machine": described(), "rows": table}, indent=1) + "\n")
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
