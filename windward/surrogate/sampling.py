"""Joint samples of f at one decision and every context: by a Cholesky factor, or with many contexts by one of low rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from windward.basics.errors import SolverError
from windward.surrogate.kernel import squared_distances

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior

# What a low rank may leave of any variance, as a share of the prior's.
RESIDUAL = 1e-6
# Columns of a low rank at most: an interval of 1024 samples tells no more.
MOST_RANK = 512


def sample_jointly(
    posterior: GaussianPosterior, x: Tensor, points: Tensor, count: int, generator: torch.Generator
) -> Tensor:
    """Return `count` joint samples of f at one decision `"d"`, or some `"m d"`, and every context; `"count (m) n"`."""
    rows = posterior.inputs.x(x[None] if x.ndim == 1 else x)
    zc = posterior.inputs.c(points)
    zx, amplitude = rows.repeat_interleave(len(zc), 0), posterior.hyperparameters.amplitude
    all_c = zc.repeat(len(rows), 1)
    solved = posterior.covariance(zx, all_c, posterior.zx, posterior.zc) @ posterior.inverse.T
    covariance = posterior.covariance(zx, all_c, zx, all_c) - solved @ solved.T
    factor = joint_root(covariance, amplitude)
    mean = posterior.hyperparameters.mean + posterior.cross(rows, zc, posterior.alpha).flatten()
    normal = torch.randn(count, len(zx), generator=generator, dtype=torch.float64).to(mean)
    drawn = (mean + normal @ factor.T) * posterior.scale + posterior.shift
    return drawn if x.ndim == 1 else drawn.reshape(count, len(rows), len(points))


def sample_many(
    posterior: GaussianPosterior, x: Tensor, points: Tensor, count: int, generator: torch.Generator
) -> Tensor:
    """Return `count` samples of f at one decision `"d"` and many contexts `"n k"`, in memory linear in them; `"count n"`."""
    amplitude = posterior.hyperparameters.amplitude
    zx, zc = posterior.inputs.x(x)[None], posterior.inputs.c(points)

    def root() -> tuple[Tensor, LowRank]:
        solved = posterior.covariance(zx.expand(len(zc), -1), zc, posterior.zx, posterior.zc) @ posterior.inverse.T

        def column(place: int) -> Tensor:
            prior = posterior.over_c(squared_distances(zc, zc[place : place + 1]))[:, 0]
            return amplitude * prior - solved @ solved[place]

        variances = (amplitude - solved.square().sum(-1)).clamp_min_(0.0)
        return x, low_rank_root(column, variances, RESIDUAL * amplitude)

    kept = posterior.once("root", points, root)
    factor, rest = kept[1] if torch.equal(kept[0], x) else root()[1]
    normal = torch.randn(count, len(factor), generator=generator, dtype=torch.float64).to(zc)
    mean = posterior.hyperparameters.mean + posterior.cross(zx, zc, posterior.alpha)[0]
    drawn = torch.addmm(mean, normal, factor)
    if bool((rest > 0).any()):
        own = torch.randn(count, len(points), generator=generator, dtype=torch.float64).to(zc)
        drawn.addcmul_(own, rest.sqrt())
    return drawn.mul_(posterior.scale).add_(posterior.shift)


class LowRank(NamedTuple):
    """A covariance as factor' factor + diag(rest); `"r n"` and `"n"`."""

    factor: Tensor
    rest: Tensor


def low_rank_root(column: Callable[[int], Tensor], variances: Tensor, left: float) -> LowRank:
    """Return a covariance known by its columns as a product of low rank: pivoted Cholesky (Harbrecht et al. 2012).

    It stops where no point has more than `left` of its variance left over, or at `MOST_RANK` columns. What is left over is
    returned as `rest`: with it every variance is exact, and only the covariances of the leftovers are missing.
    """
    rest, rows = variances.clone(), variances.new_empty(min(MOST_RANK, len(variances)), len(variances))
    for made in range(len(rows)):
        place = int(rest.argmax())
        if float(rest[place]) <= left:
            return LowRank(rows[:made], torch.zeros_like(rest))
        row = torch.sub(column(place), rows[:made, place] @ rows[:made], out=rows[made])
        row /= rest[place].sqrt()
        rest.sub_(row.square()).clamp_min_(0.0)
        rest[place] = 0.0
    return LowRank(rows, rest)


def joint_root(covariance: Tensor, amplitude: float) -> Tensor:
    """Return a Cholesky factor of a covariance that may be singular, with the least jitter that allows one."""
    eye = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
    for exponent in range(-13, -3):
        factor, failed = torch.linalg.cholesky_ex(covariance + amplitude * 10.0**exponent * eye)
        if not int(failed):
            return torch.as_tensor(factor)
    raise SolverError(f"GaussianPosterior: the joint covariance of {len(covariance)} contexts has no Cholesky factor.")
