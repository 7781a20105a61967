"""Posterior samples as functions: a random Fourier prior plus the exact pathwise correction (Wilson et al. 2020).

    prior(x, c) = sqrt(2 amplitude / F) sum_j w_j cos(a_j.x + b_j.c + phase_j),   w_j ~ N(0, 1)
    path(x, c)  = m + prior(x, c) + k((x, c), X)' (K + N)^-1 (y - m - prior(X) - noise)

The correction is exact; only the prior is approximate, with an error that falls like 1 / sqrt(F). The cosine of a sum
splits into products, so a grid of decisions and contexts costs two matrix products.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from windward.surrogate.kernel import slope_value, squared_distances

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior


@dataclass(frozen=True)
class Path:
    """One sample of f; call it with decisions `"*b d"` and contexts `"n k"` for values `"*b n"`."""

    posterior: GaussianPosterior
    x_frequencies: Tensor  # "F d"
    c_frequencies: Tensor  # "F k"
    phases: Tensor  # "F"
    weights: Tensor  # "F", with the amplitude folded in
    correction: Tensor  # "n"

    def __call__(self, x: Tensor, points: Tensor) -> Tensor:
        posterior = self.posterior
        zx, zc = posterior.inputs.x(x), posterior.inputs.c(points)
        centred = self.prior(zx, zc) + posterior.cross(zx, zc, self.correction)
        return (centred + posterior.hyperparameters.mean) * posterior.scale + posterior.shift

    def context_gradient(self, x: Tensor, points: Tensor) -> Tensor:
        """Return the gradient in the context at every decision `"*b d"` and context `"n k"`; `"*b n k"`."""
        posterior = self.posterior
        zx, zc = posterior.inputs.x(x), posterior.inputs.c(points)
        ax, ac = zx @ self.x_frequencies.T, zc @ self.c_frequencies.T + self.phases
        sx, sc = squared_distances(zx, posterior.zx), squared_distances(zc, posterior.zc)
        steep = 2.0 * posterior.hyperparameters.amplitude * slope_value(posterior.kernel, sx[..., None, :] + sc)
        columns = []
        for column, rate in enumerate(posterior.inputs.c_rates):
            turn = self.c_frequencies[:, column]
            prior = -(ax.cos() * self.weights) @ (ac.sin() * turn).T - (ax.sin() * self.weights) @ (ac.cos() * turn).T
            gaps = zc[:, None, column] - posterior.zc[:, column]
            columns.append((prior + (steep * gaps) @ self.correction) * rate * posterior.scale)
        return torch.stack(columns, -1) if columns else x.new_zeros(*x.shape[:-1], len(points), 0)

    def prior(self, zx: Tensor, zc: Tensor) -> Tensor:
        """Return the prior sample on the product of scaled decisions and contexts; `"*b n"`."""
        ax, ac = zx @ self.x_frequencies.T, zc @ self.c_frequencies.T + self.phases
        return (ax.cos() * self.weights) @ ac.cos().T - (ax.sin() * self.weights) @ ac.sin().T

    def prior_at_pairs(self, zx: Tensor, zc: Tensor) -> Tensor:
        """Return the prior sample at pairs of scaled inputs; `"n"`."""
        return (zx @ self.x_frequencies.T + zc @ self.c_frequencies.T + self.phases).cos() @ self.weights


def draw_path(posterior: GaussianPosterior, generator: torch.Generator, features: int) -> Path:
    """Draw one path: frequencies from the kernel's spectral density, then the correction through the data."""
    d, k = posterior.zx.shape[1], posterior.zc.shape[1]
    device = posterior.zx.device

    def normal(*shape: int) -> Tensor:  # drawn on the CPU, so that a path is the same on every device
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(device)

    frequencies = normal(features, d + k)
    if posterior.kernel == "matern52":
        # Its spectral density is Student's t with 5 degrees of freedom: a normal over the root of a chi-square / 5.
        frequencies = frequencies * (5.0 / normal(features, 5).square().sum(-1, keepdim=True)).sqrt()
    phases = 2.0 * math.pi * torch.rand(features, generator=generator, dtype=torch.float64).to(device)
    amplitude = posterior.hyperparameters.amplitude
    weights = normal(features) * math.sqrt(2.0 * amplitude / features)
    path = Path(posterior, frequencies[:, :d], frequencies[:, d:], phases, weights, posterior.alpha)
    noise = normal(posterior.size) * posterior.noise.sqrt()
    disturbed = posterior.inverse @ (path.prior_at_pairs(posterior.zx, posterior.zc) + noise)
    correction = posterior.alpha - posterior.inverse.T @ disturbed
    return Path(posterior, path.x_frequencies, path.c_frequencies, phases, weights, correction)
