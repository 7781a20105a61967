"""What this machine can do, printed beside every figure."""

from __future__ import annotations

import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import torch


def dgemm_rate(size: int = 1024, repeats: int = 8) -> float:
    """Return GFLOP/s of a float64 matrix product with torch's current threads, the best of several."""
    a = torch.randn(size, size, dtype=torch.float64)
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - began)
    return 2.0 * size**3 / best / 1e9


def described() -> dict[str, object]:
    """Return processor, versions, threads, date and dgemm rate."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "processor": model,
        "threads": torch.get_num_threads(),
        "dgemm_gflops": round(dgemm_rate(), 1),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
