"""The portfolio of Huang2024 and Micheli2025: a Gaussian process' posterior mean over 3000 simulated portfolios.

Matern-5/2 with the published hyper-parameters on standardised values; the data hold a loss, and its negative is maximised.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from windward.bench import laws
from windward.bench.problem import Problem
from windward.bench.problems.registry import Data, register
from windward.space.parameters import Real
from windward.space.space import Space

LENGTH_SCALES = (0.220874, 7.134504, 0.252325, 0.536833, 2.511442)
OUTPUT_SCALE, NOISE, MEAN = 4.451771, 0.01376948, -0.532998
DECISIONS = ("risk_aversion", "trade_aversion", "holding_cost")
CONTEXTS = ("bid_ask_spread", "borrow_cost")
# Decision-context pairs whose kernel against all rows is made at once: 3 MB, which stay in a processor's cache.
PAIRS = 128


@dataclass(frozen=True, eq=False)
class Surface:
    """The posterior mean: rows `"m 5"` in units of the length-scales, their coefficients `"m"`, and the value's units."""

    rows: Tensor
    coefficients: Tensor
    centre: float
    scale: float

    def __call__(self, x: Tensor, c: Tensor) -> Tensor:
        """Return minus the loss; decisions and contexts broadcast."""
        unit = torch.tensor(LENGTH_SCALES, dtype=torch.float64)
        x, c = x / unit[:3], c / unit[3:]
        shape = torch.broadcast_shapes(x.shape[:-1], c.shape[:-1])  # type: ignore[no-untyped-call]
        x, c = x.expand(*shape, 3).reshape(-1, 3), c.expand(*shape, 2).reshape(-1, 2)
        parts = torch.split(torch.cat([x, c], -1), PAIRS)
        if torch.is_grad_enabled() and x.requires_grad:
            means = torch.cat([self._mean(part) for part in parts])
        else:
            # Into one tensor: thousands of small results between the large intermediates would tear the memory to pieces.
            means = x.new_empty(len(x))
            for part, mean in zip(parts, torch.split(means, PAIRS), strict=True):
                mean.copy_(self._mean(part))
        return -(self.centre + self.scale * means).reshape(shape)

    def _mean(self, z: Tensor) -> Tensor:
        return MEAN + matern(z, self.rows) @ self.coefficients


def matern(z: Tensor, rows: Tensor) -> Tensor:
    """Return the Matern-5/2 kernel with the output scale; `"n m"`."""
    squares = torch.addmm(rows.square().sum(-1) + z.square().sum(-1, keepdim=True), z, rows.T, alpha=-2.0)
    # 1e-24: the root of zero has no gradient; the kernel is flat there.
    distance = (5.0 * squares).clamp_min(1e-24).sqrt()
    return (1.0 + distance * (1.0 + distance / 3.0)) * torch.exp(-distance) * OUTPUT_SCALE


def surface(file: Path) -> Surface:
    """Return the posterior mean of the rows of portfolio.csv."""
    table = torch.from_numpy(np.loadtxt(file, delimiter=",", skiprows=1))
    rows = table[:, :5] / torch.tensor(LENGTH_SCALES, dtype=torch.float64)
    centre, scale = float(table[:, 5].mean()), float(table[:, 5].std())
    covariance = matern(rows, rows) + NOISE * torch.eye(len(rows), dtype=torch.float64)
    residual = (table[:, 5] - centre) / scale - MEAN
    coefficients = torch.cholesky_solve(residual[:, None], torch.linalg.cholesky(covariance))[:, 0]
    return Surface(rows, coefficients, centre, scale)


def portfolio(name: str, data: Data, law: laws.Law) -> Problem:
    """Return the portfolio with both contexts independent and of one law, clipped to [0, 1]."""
    # Each value sums 3000 kernels, so the contexts are few: Gauss points of the clipped law. The process varies slowly in
    # the contexts, with length-scales 0.54 and 2.5; the error of an expectation is below 1e-5 of values near 20.
    fine = laws.rule(law, 0.0, 1.0, 32)
    rules = [laws.gauss(fine, 16), laws.gauss(fine, 4)]
    return Problem(
        name=name,
        space=Space(decision={n: Real(0, 1) for n in DECISIONS}, context={n: Real(0, 1) for n in CONTEXTS}),
        value=surface(data.file("portfolio.csv")),
        truth=laws.every(rules),
        draw=laws.clipped_draw([law] * 2, 0.0, 1.0),
    )


@register("portfolio-normal", files=("portfolio.csv",), substitute="portfolio-simulated")
def _portfolio_normal(seed: int, data: Data) -> Problem:
    return portfolio("portfolio-normal", data, laws.normal(0.5, 0.1))


@register("portfolio-normal-wide", files=("portfolio.csv",), substitute="portfolio-simulated")
def _portfolio_normal_wide(seed: int, data: Data) -> Problem:
    return portfolio("portfolio-normal-wide", data, laws.normal(0.5, 0.2))


@register("portfolio-uniform", files=("portfolio.csv",), substitute="portfolio-simulated-uniform")
def _portfolio_uniform(seed: int, data: Data) -> Problem:
    return portfolio("portfolio-uniform", data, laws.uniform(0.0, 1.0))
