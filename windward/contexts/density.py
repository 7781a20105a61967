"""The kernel density estimate behind the context models: bandwidths, conditional weights, even points."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from windward.basics.budget import BLOCK
from windward.contexts.circle import circle_deviation, log_wrapped_normal
from windward.space.space import Given, Space

# The quantiles of a mixture are met to this, in probability.
QUANTILE_TOLERANCE = 1e-12
# Interquartile range of a normal distribution in standard deviations.
NORMAL_QUARTILES = 1.349


def bandwidths(space: Space, seen: Tensor) -> Tensor:
    """Return Silverman's bandwidth for each column, zero for categories; `"k"`.

    h = (4 / (k + 2))^(1 / (k + 4)) * std * t^(-1 / (k + 4)), k the number of numeric contexts. Where a context has no
    declared bounds to keep an outlier in check, std is the smaller of it and the interquartile range / 1.349. Of a context
    that comes round, std is the deviation of the points of its circle from their mean; both its columns have h along it.
    """
    numeric = [name for name, parameter in space.context.items() if not parameter.choices]
    t, k = len(seen), len(numeric)
    spread = torch.zeros(seen.shape[1], dtype=torch.float64)
    for name in numeric:
        columns = space.context_columns[name]
        if name in space.circles:
            spread[columns] = circle_deviation(seen[:, columns])
            continue
        deviation = float(seen[:, columns].std(correction=0))
        low, high = space.context[name].own_bounds()[0]
        quartiles = torch.quantile(seen[:, columns], torch.tensor([0.25, 0.75], dtype=torch.float64))
        middle = float(quartiles[1] - quartiles[0]) / NORMAL_QUARTILES
        if not math.isfinite(high - low) and middle > 0.0:
            deviation = min(deviation, middle)
        spread[columns] = deviation
    factor = float((4.0 / (k + 2)) ** (1.0 / (k + 4)) * t ** (-1.0 / (k + 4)))
    return spread * factor


def conditional_weights(space: Space, seen: Tensor, given: Given, base: Tensor | None = None) -> Tensor:
    """Return the weights of the seen contexts given a part of the next one; `"t"`, summing to one.

    The conditional of the kernel density estimate: numeric parts weigh by the Gaussian kernel at Silverman's bandwidth, wrapped
    around the circle of what comes round, categories by equality. A given category never seen before tells nothing of the
    rest, so all weigh alike.
    """
    log_weights = torch.zeros(len(seen), dtype=torch.float64) if base is None else base.log()
    width = bandwidths(space, seen)
    for name, parameter in space.context.items():
        columns = space.context_columns[name]
        if not bool(given.known[columns].any()):
            continue
        gap = seen[:, columns] - given.values[columns]
        if parameter.choices:
            same = (gap == 0).all(-1)
            if bool((same & torch.isfinite(log_weights)).any()):
                log_weights = log_weights.masked_fill(~same, -torch.inf)
        elif name in space.circles:
            h = float(width[columns.start])
            if h > 0.0:
                period, centre = space.circles[name], given.values[columns]
                log_weights = log_weights + log_wrapped_normal(period, seen[:, columns], centre, h)
        elif float(width[columns]) > 0.0:
            # Clamped: squares of 1e150 and more would overflow, and are as far as anything can be.
            log_weights = log_weights - 0.5 * (gap[:, 0] / width[columns]).clamp(-1e100, 1e100).square()
    return torch.softmax(log_weights, dim=0)


def space_filling_order(points: Tensor) -> Tensor:
    """Return the order of points `"t k"` along a Morton curve through their ranks; `"t"`."""
    ranks = points.argsort(0).argsort(0)
    bits = max(1, min(16, 60 // max(points.shape[1], 1)))  # of an int64 code
    cells = ranks * 2**bits // len(points)
    code = torch.zeros(len(points), dtype=torch.int64)
    for bit in reversed(range(bits)):
        for column in range(min(points.shape[1], 60)):
            code = 2 * code + ((cells[:, column] >> bit) & 1)
    return code.argsort()


def mixture_quantiles(centres: Tensor, weights: Tensor, width: float | Tensor, count: int) -> Tensor:
    """Return the quantiles at (i + 1/2) / count of a mixture of normals of one `width`, or of one each; `"count"`.

    A table of its distribution function brackets each, Newton's method inside the bracket finds it, bisection where
    Newton would leave.
    """
    widest = float(width.max()) if isinstance(width, Tensor) else width
    nodes = torch.linspace(
        float(centres.min()) - 6.0 * widest,
        float(centres.max()) + 6.0 * widest,
        max(512, 4 * count),
        dtype=torch.float64,
    )
    # One width is divided by at the end, as ever: the last bits of recorded suggestions depend on it.
    heights, last = (weights / width, 1.0) if isinstance(width, Tensor) else (weights, width)

    def in_blocks(function: Callable[[Tensor], Tensor], c: Tensor) -> Tensor:
        return torch.cat([function(some) for some in torch.split(c, max(1, BLOCK // len(centres)))])

    def below(c: Tensor) -> Tensor:
        return in_blocks(lambda some: torch.special.ndtr((some[:, None] - centres) / width) @ weights, c)

    def density(c: Tensor) -> Tensor:
        height = in_blocks(lambda some: torch.exp(-0.5 * ((some[:, None] - centres) / width).square()) @ heights, c)
        return height / (last * math.sqrt(2.0 * math.pi))

    targets = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    table = below(nodes)
    right = torch.searchsorted(table, targets).clamp(1, len(nodes) - 1)
    low, high = nodes[right - 1].clone(), nodes[right].clone()
    rise = (table[right] - table[right - 1]).clamp_min(1e-300)
    c = low + (high - low) * ((targets - table[right - 1]) / rise).clamp(0.0, 1.0)
    rows = torch.arange(count)
    for _ in range(60):  # bisection alone would need no more
        error = below(c[rows]) - targets[rows]
        low[rows] = torch.where(error < 0, c[rows], low[rows])
        high[rows] = torch.where(error > 0, c[rows], high[rows])
        step = c[rows] - error / density(c[rows]).clamp_min(1e-300)
        inside = (step > low[rows]) & (step < high[rows])
        moved = torch.where(inside, step, 0.5 * (low[rows] + high[rows]))
        open_rows = error.abs() > QUANTILE_TOLERANCE
        c[rows[open_rows]] = moved[open_rows]
        rows = rows[open_rows]
        if len(rows) == 0:
            break
    return c
