"""Other plausible hyper-parameters: draws from their posterior, the constant mean and the amplitude among them.

A fit takes the most probable hyper-parameters for certain, and with them the mean and the amplitude of f. Here they are drawn:

    p(theta | y)  ~  p(theta) |A|^-1/2 (1'A^-1 1)^-1/2 (nu + r'A^-1 r)^-(nu + n - 1)/2
    amplitude     =  (nu + r'A^-1 r) / chi2(nu + n - 1)
    mean          ~  N(m, amplitude / 1'A^-1 1)

A = K + noise at amplitude one, r = y - m with the profiled mean m, and nu = 4: the amplitude has a prior around one in
standardised outcomes, worth four observations. The mean has a flat prior. theta = (log length-scales, log noise) comes from
importance draws: a Student distribution around the fit with the fit's curvature, weighted and resampled. Its prior is the
log-normal of the fit, which as a density of theta has no Jacobian. Where the kernel has parts their logits are in theta too,
and where the amplitude is fitted its logarithm, with a flat prior in place of the one above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from windward.search.bfgs import Array
from windward.surrogate.drift import of_now
from windward.surrogate.hyperparameters import FARTHEST, Hyperparameters
from windward.surrogate.likelihood import Likelihood, Moments
from windward.surrogate.posterior import GaussianPosterior

# Observations that the amplitude's prior is worth.
ANCHOR = 4.0
# Deviations of f are taken to be so many times as large as the model says: no stationary process is true of what people do.
DOUBT = 1.25
# Degrees of freedom of the proposals, and by how much they are wider than the curvature says: weights stay bounded.
HEAVY = 5.0
WIDER = 1.2
# Proposals for each draw. Beyond `FEW` observations there are fewer: the posterior is narrow, and each costs n^3.
PROPOSALS = 4
FEW = 100
# Newton steps from the fit to the centre of the proposals, and the longest of them in any logarithm.
STEPS = 4
LONGEST = 0.7
# Numbers in the matrices of proposals that are worked on at once (64 MiB).
BLOCK = 2**23


def fewer(count: int, size: int) -> int:
    """Return how many draws there are for `count` that are wanted, with so many observations."""
    return count if size <= FEW else max(8, count * FEW // size)


def draws(
    problem: Likelihood, fitted: Hyperparameters, count: int, generator: torch.Generator
) -> list[Hyperparameters]:
    """Return `count` draws of the hyper-parameters, equally probable; fewer with many observations."""
    count = fewer(count, len(problem.y))
    center, root = _proposal(problem, fitted)
    proposals = _drawn(problem, center, root, PROPOSALS * count, generator)
    moments = _moments(problem, proposals.clipped)
    log_weights = _log_target(problem, proposals.clipped, moments) - proposals.log_density
    chosen = _resampled(log_weights, count, generator)
    found = moments.at(chosen)
    amplitude = _amplitudes(problem, found, generator)
    spread = (amplitude / found.ones).sqrt() if problem.centred else torch.zeros_like(amplitude)
    mean = found.mean + spread * _even_normals(count, generator)
    thetas = proposals.clipped[chosen.numpy()]
    drawn = [
        problem.layout.hyperparameters(row, float(m), float(a))
        for m, a, row in zip(mean, amplitude, thetas, strict=True)
    ]
    # How f changes is not drawn: it is the most probable one.
    return [replace(one, drift=fitted.drift, still=fitted.still) for one in drawn] if fitted.drift else drawn


def posteriors_at(problem: Likelihood, found: Sequence[Hyperparameters]) -> tuple[GaussianPosterior, ...]:
    """Return the posterior at each of these hyper-parameters: what `GaussianProcess.at` gives, worked on together."""
    size, width = len(problem.y), problem.decision_width
    inputs = [problem.inputs(one) for one in found]
    rates = torch.stack([torch.cat([one.x_rates, one.c_rates]) for one in inputs])
    z = (problem.inputs_in_units * problem.units * rates[:, None, :]).clamp_(-FARTHEST, FARTHEST)
    amplitude = torch.tensor([one.amplitude for one in found], dtype=torch.float64).to(problem.y)
    covariance = amplitude[:, None, None] * problem.values(z, np.array([one.shares for one in found]))
    noise = problem.noise(torch.tensor([[one.noise] for one in found], dtype=torch.float64).to(problem.y)).expand(
        len(found), size
    )
    covariance.diagonal(dim1=1, dim2=2).add_(noise)
    factor = torch.linalg.cholesky(covariance)  # each had one already, when its density was taken
    eye = torch.eye(size, dtype=factor.dtype, device=factor.device)
    inverse = torch.linalg.solve_triangular(factor, eye.expand_as(factor), upper=False)
    means = torch.tensor([one.mean for one in found], dtype=torch.float64).to(problem.y)
    alpha = (inverse.mT @ (inverse @ (problem.y - means[:, None])[:, :, None]))[:, :, 0]
    posteriors = (
        GaussianPosterior(
            problem.kernel,
            one,
            inputs[place],
            z[place, :, :width],
            z[place, :, width:],
            factor[place],
            inverse[place],
            alpha[place],
            noise[place],
            problem.shift,
            problem.scale,
            size,
            held=not problem.centred,
        )
        for place, one in enumerate(found)
    )
    return tuple(posteriors if problem.fading is None else (of_now(one, problem.fading) for one in posteriors))


class _Proposals(NamedTuple):
    clipped: Array  # "b t"
    log_density: Tensor  # "b"


def _proposal(problem: Likelihood, fitted: Hyperparameters) -> tuple[Array, Array]:
    """Return the centre of the proposals, near the highest density, and a root of their covariance.

    The fit holds the amplitude at one and maximizes a density of the quantities themselves. In their logarithms, with the
    amplitude integrated out, the highest point may lie elsewhere: a few Newton steps go there. The gradient with the
    amplitude integrated out is that of outcomes divided by the root of its best value; minus the logarithm of a Jacobian is
    one in each direction.
    """
    (lows, highs), theta = problem.layout.bounds, problem.layout.thetas([fitted])[0]
    for _ in range(STEPS):
        scaled = problem
        if problem.scales:
            quadratic = float(problem.moments(theta[None]).quadratic[0])
            scaled = replace(problem, y=problem.y * math.sqrt((ANCHOR + _freedom(problem)) / (ANCHOR + quadratic)))
        _, gradient, curvature, _ = scaled.values_and_gradients(theta[None])
        root = _inverse_root(curvature[0])
        step = root @ (root.T @ (gradient[0] + problem.layout.logarithms))
        theta = (theta + np.nan_to_num(step).clip(-LONGEST, LONGEST)).clip(lows, highs)
    return theta, WIDER * root


def _inverse_root(curvature: Array) -> Array:
    """Return a root of the inverse; outcomes far from one in size may leave a curvature that rounding has made indefinite.

    Where they leave none at all the root is one in each direction, about what the priors allow.
    """
    if not np.isfinite(curvature).all():
        return np.eye(len(curvature))
    try:
        root: Array = np.linalg.inv(np.linalg.cholesky(curvature)).T
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(curvature)
        root = vectors / np.sqrt(np.maximum(values, 1e-12 * max(float(values.max()), 1.0)))
    return root


def _drawn(problem: Likelihood, center: Array, root: Array, count: int, generator: torch.Generator) -> _Proposals:
    """Return Student draws around a centre, moved into the bounds, with the density where they then are."""
    width = len(center)
    normal = torch.randn(count, width, generator=generator, dtype=torch.float64).numpy()
    chi = 2.0 * torch._standard_gamma(torch.full((count, 1), HEAVY / 2.0, dtype=torch.float64), generator=generator)
    drawn = (center + (normal * np.sqrt(HEAVY / chi.numpy())) @ root.T).clip(*problem.layout.bounds)
    z = np.linalg.solve(root, (drawn - center).T)
    log_density = -0.5 * (HEAVY + width) * np.log1p(np.square(z).sum(0) / HEAVY)
    return _Proposals(drawn, torch.from_numpy(log_density))


def _moments(problem: Likelihood, thetas: Array) -> Moments:
    size = max(1, BLOCK // len(problem.y) ** 2)
    parts = [problem.moments(thetas[start : start + size]) for start in range(0, len(thetas), size)]
    return Moments(*(torch.cat(part).cpu() for part in zip(*parts, strict=True)))


def _log_target(problem: Likelihood, thetas: Array, moments: Moments) -> Tensor:
    """Return the log posterior density of theta, mean and amplitude integrated out; minus infinity where there is none."""
    density = -0.5 * moments.log_determinant + torch.from_numpy(problem.log_prior(thetas))
    if problem.centred:
        density = density - 0.5 * moments.ones.log()
    if problem.scales:
        density = density - 0.5 * (ANCHOR + _freedom(problem)) * (ANCHOR + moments.quadratic).log()
    else:
        density = density - 0.5 * moments.quadratic
    return torch.where(torch.isfinite(density), density, -torch.inf)


def _amplitudes(problem: Likelihood, found: Moments, generator: torch.Generator) -> Tensor:
    """Return a draw of the amplitude for each theta, times theta's own; one where a noise was given, in the outcome's units.

    Where the amplitude is fitted it is drawn with theta, and deviations are doubted all the same.
    """
    if not problem.scales:
        known = bool(problem.given_noise.isnan().all())
        return torch.full_like(found.mean, DOUBT**2 if known else 1.0)
    shape = torch.full_like(found.mean, 0.5 * (ANCHOR + _freedom(problem)))
    return DOUBT**2 * (ANCHOR + found.quadratic) / (2.0 * torch._standard_gamma(shape, generator=generator))


def _freedom(problem: Likelihood) -> int:
    return len(problem.y) - int(problem.centred)


def _resampled(log_weights: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return `count` places by their weights, systematically: a place of weight w comes count * w times, rounded up or down."""
    weights = torch.softmax(log_weights, 0)
    ladder = weights.cumsum(0) / weights.sum()
    steps = (torch.arange(count) + torch.rand((), generator=generator, dtype=torch.float64)) / count
    return torch.searchsorted(ladder, steps).clamp_max(len(weights) - 1)


def _even_normals(count: int, generator: torch.Generator) -> Tensor:
    """Return the normal's quantiles in random order: few draws then have the deviation that they should have."""
    levels = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    quantiles: Tensor = torch.special.ndtri(levels)
    return quantiles[torch.randperm(count, generator=generator)]
