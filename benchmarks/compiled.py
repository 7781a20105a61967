"""What `torch.compile` would bring to the two inner loops of a suggestion.

They are written here as plain functions of tensors, in the shapes of a suggestion at n observations: a likelihood with its
gradient (two climbs of a fit), the gradient of a mean upper bound (eight decisions, a context kernel of rank 12, 128
contexts). `start-up` is the first call, which compiles; `cached` the same with what an earlier process left on disk;
`calls to pay` how many calls win the cached start-up back, were there one shape only.

    python benchmarks/compiled.py [--observations 100]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from machine import described
from torch import Tensor

COLUMNS, ROWS, CONTEXTS, RANK = 3, 8, 128, 12


def likelihood(x: Tensor, y: Tensor, logs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log marginal likelihoods of the rows of `logs` (length-scales, noise) and their gradients."""
    z = x * torch.exp(-logs[:, None, :-1])
    squares = z.square().sum(-1)
    s = (squares[:, :, None] + squares[:, None, :] - 2.0 * z @ z.mT).clamp_min(0.0)
    k = torch.exp(-0.5 * s)
    noise = torch.exp(logs[:, -1])
    eye = torch.eye(len(y), dtype=y.dtype, device=y.device)
    factor = torch.linalg.cholesky_ex(k + noise[:, None, None] * eye)[0]
    precision = torch.cholesky_inverse(factor)
    sums = precision.sum(1)
    residual = y - ((sums @ y) / sums.sum(1))[:, None]
    a = (precision @ residual[:, :, None])[:, :, 0]
    density = -0.5 * (residual * a).sum(1) - factor.diagonal(dim1=1, dim2=2).log().sum(1)
    inner = a[:, :, None] * a[:, None, :] - precision
    weighted = inner * k
    by_scale = (weighted.sum(2)[:, :, None] * z.square() - z * (weighted @ z)).sum(1)
    by_noise = 0.5 * noise * inner.diagonal(dim1=1, dim2=2).sum(1)
    return density, torch.cat([by_scale, by_noise[:, None]], dim=1)


def marginals(x: Tensor, z: Tensor, inner: Tensor, outer: Tensor, precision: Tensor, table: Tensor) -> Tensor:
    """Return the gradient of the mean upper bound in the decisions `x`; the context kernel is `outer @ inner`."""
    kx = torch.exp(-0.5 * (x.square().sum(-1, keepdim=True) - 2.0 * x @ z.T + z.square().sum(-1)).clamp_min(0.0))
    u = kx[:, None, :] * inner
    t = (u.reshape(-1, u.shape[-1]) @ precision).reshape(u.shape)
    gram = u @ t.mT
    std = (1.0 - ((outer @ gram) * outer).sum(-1)).clamp_min(1e-8).sqrt()
    pull = torch.full_like(std, 1.5 / outer.shape[0]) / std
    spread = (outer.T * pull[:, None, :]) @ outer
    grad_kx = table.mean(0) - ((spread @ t) * inner).sum(1)
    grad = grad_kx * kx
    return grad @ z - grad.sum(-1, keepdim=True) * x


def cases(n: int) -> dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]]:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    factor = draw(n, n) / n
    shared = (draw(n, 2) * 3, draw(RANK, n) / RANK, draw(CONTEXTS, RANK) / RANK, factor @ factor.T, draw(CONTEXTS, n))
    return {
        "likelihood": (likelihood, (draw(n, COLUMNS), draw(n), -draw(2, COLUMNS + 1))),
        "marginals": (marginals, (draw(ROWS, 2) * 3, *shared)),
    }


def seconds(work: Callable[..., Any], arguments: tuple[Tensor, ...], repeats: int = 2000) -> float:
    """Return the least mean of five groups of calls."""
    least = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(repeats // 5):
            work(*arguments)
        least = min(least, (time.perf_counter() - began) / (repeats // 5))
    return least


def first_calls(n: int) -> None:
    """Print the seconds of the first compiled call of each case; run in a process of its own."""
    torch.compile(lambda x: x + 1)(torch.zeros(2))  # the compiler's own import is not a case's
    for name, (work, arguments) in cases(n).items():
        began = time.perf_counter()
        torch.compile(work, dynamic=True)(*arguments)
        print(name, time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--observations", type=int, default=100)
    parser.add_argument("--first-calls", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    n = arguments.observations
    if n < 2:
        parser.error("--observations must be at least 2")
    if arguments.first_calls:
        first_calls(n)
        return
    print(", ".join(f"{key} {value}" for key, value in described().items()))
    starts: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):  # without a cache on disk, then with it
            told = subprocess.run(
                [sys.executable, __file__, "--first-calls", "--observations", str(n)],
                env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
            starts.append({name: float(value) for name, value in (line.split() for line in told.splitlines())})
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        print(
            f"{'n = ' + str(n):>12} {'eager, us':>10} {'compiled':>9} {'start-up, s':>12} {'cached':>7} {'calls to pay':>12}"
        )
        for name, (work, given) in cases(n).items():
            compiled = torch.compile(work, dynamic=True)
            torch.testing.assert_close(compiled(*given), work(*given))
            eager, fast = seconds(work, given), seconds(compiled, given)
            won = eager - fast
            fresh, cached = (start[name] for start in starts)
            pays = f"{cached / won:.0f}" if won > 0 else "never"
            print(f"{name:>12} {1e6 * eager:>10.0f} {1e6 * fast:>9.0f} {fresh:>12.1f} {cached:>7.1f} {pays:>12}")


if __name__ == "__main__":
    main()
