"""What an exact process allocates, counted by its sizes; the factors are measured (tests/test_budget.py)."""

from __future__ import annotations

from windward.basics.budget import BLOCK, CLIMBED, Need, Sizes
from windward.surrogate.kernel import KernelName
from windward.surrogate.paths import FEATURES, TABLE
from windward.surrogate.posterior import JOINT

# Columns of the low rank that the joint covariance of many contexts usually has.
USUAL_RANK = 128


# Decisions that climb at once, as a rule.
STARTS = 8
# Copies of decisions by contexts by observations behind a gradient: written out for one kernel, kept by autograd for the other.
COPIES: dict[KernelName, int] = {"squared_exponential": 1, "matern52": 15}


# Matrices of observations by observations that a fit holds, one by a kernel with parts, and what a drift adds.
MATRICES, WITH_PARTS, WITH_DRIFT = 7, 21, 9


def posterior_needs(kernel: KernelName, sizes: Sizes, *, parts: bool = False, drift: bool = False) -> list[Need]:
    """Return what a fit, its predictions at every context and, where they are drawn, its paths and samples take."""
    held = (WITH_PARTS if parts else MATRICES) + WITH_DRIFT * drift
    n, points, observations = sizes.observations, f"{sizes.points:,} contexts", f"{sizes.observations:,} observations"
    rows = 1 + (sizes.columns if sizes.slopes else 0)
    needs = [
        Need("the covariance of the observations", held * n**2, f"{held} x {n:,} x {observations}", by="observations"),
        Need(
            "the kernel between contexts and observations",
            5 * rows * sizes.points * n,
            f"{5 * rows} x {points} x {observations}",
        ),
    ]
    factorised = sizes.draws and not sizes.samples and kernel == "squared_exponential"  # a path then needs no solves
    if not factorised:
        one, copies = rows * sizes.points * max(1, n), COPIES[kernel]
        together = min(STARTS * one, max(one, CLIMBED))
        needs.append(
            Need(
                "the gradient of a search", copies * together, f"{copies * together // one} x {points} x {observations}"
            )
        )
    if sizes.draws:
        needs.append(_drawn(sizes))
    if sizes.samples and not sizes.slopes:  # an interval of slopes is made of paths
        needs.append(_sampled(sizes))
    return needs


def _drawn(sizes: Sizes) -> Need:
    """Return what the table of a path takes, and the part of it that is being made.

    A screen has half of it once more in single precision. A climb by slopes keeps two factors for each column.
    """
    features = 2 * FEATURES + sizes.observations
    if not sizes.samples:
        features += FEATURES + (2 * sizes.columns * FEATURES if sizes.slopes else 0)
    table = features * sizes.points
    return Need(
        "a posterior sample", table + 2 * min(table, TABLE), f"{features:,} features x {sizes.points:,} contexts"
    )


def _sampled(sizes: Sizes) -> Need:
    n, what = sizes.points, "the samples of an interval"
    values = 3 * max(n, min(sizes.samples * n, BLOCK))
    if n <= JOINT:
        return Need(what, values + 6 * n**2, f"6 x {n:,} x {n:,} contexts")
    numbers = (USUAL_RANK + sizes.observations) * n
    return Need(what, values + numbers, f"{numbers // n:,} columns x {n:,} contexts")
