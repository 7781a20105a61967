"""Two tests by ranks: whether a quantity goes up or down with a number, and whether it differs between groups."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Groups with fewer members say nothing of how much their members vary.
LEAST_IN_GROUP = 3


def ranks(values: Array) -> Array:
    """Return the rank of each value, from 1; equal values share the mean of theirs.

    >>> ranks(np.array([30.0, 10.0, 30.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - 0.5 * (counts - 1))[place]


def by_number(values: Array, numbers: Array) -> tuple[float, float]:
    """Return Spearman's rank correlation of two columns and the probability of so large a one by chance.

    Where either is constant there is none: 0 and 1.
    """
    from scipy.special import stdtr

    a, b = ranks(values), ranks(numbers)
    if len(a) < 3 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return 0.0, 1.0
    rho = float(np.corrcoef(a, b)[0, 1])
    t = rho * math.sqrt((len(a) - 2) / max(1.0 - rho * rho, 1e-300))
    return rho, 2.0 * float(stdtr(len(a) - 2, -abs(t)))


def by_group(values: Array, groups: NDArray[np.int64]) -> tuple[int | None, float]:
    """Return the group with the highest ranks, and the probability of such differences by chance (Kruskal and Wallis).

    Groups of one or two are left out; with fewer than two groups there is none, and the probability is 1.
    """
    from scipy.special import chdtrc

    names, counts = np.unique(groups, return_counts=True)
    large = names[counts >= LEAST_IN_GROUP]
    kept = np.isin(groups, large)
    if len(large) < 2:
        return None, 1.0
    rank, member = ranks(values[kept]), groups[kept]
    n = len(rank)
    means = np.array([rank[member == group].mean() for group in large])
    sizes = np.array([(member == group).sum() for group in large])
    spread = float(np.square(rank - 0.5 * (n + 1)).sum()) / (n - 1)
    if spread == 0.0:
        return None, 1.0
    statistic = float((sizes * np.square(means - 0.5 * (n + 1))).sum()) / spread
    return int(large[means.argmax()]), float(chdtrc(len(large) - 1, statistic))
