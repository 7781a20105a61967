"""Posterior samples as functions: a random Fourier prior plus the exact pathwise correction (Wilson et al. 2020).

    prior(x, c) = sqrt(2 amplitude / F) sum_j w_j cos(a_j.x + b_j.c + phase_j),   w_j ~ N(0, 1)
    path(x, c)  = m + prior(x, c) + k((x, c), X)' (K + N)^-1 (y - m - prior(X) - noise)

The correction is exact; only the prior is approximate, with an error that falls like 1 / sqrt(F). The cosine of a sum splits
into products, and so does the squared exponential: what depends on the contexts alone is a table, made once for the contexts
of a suggestion, and the decisions' features times it are the values of the path on the whole grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from windward.surrogate.drift import disturbed
from windward.surrogate.kernel import kernel_value, slope_value, squared_distances
from windward.surrogate.marginals import BLOCK, LARGE_BLOCK

if TYPE_CHECKING:
    from windward.surrogate.posterior import GaussianPosterior

# Fourier features of a path, each a cosine and a sine.
FEATURES = 1024
# Numbers of a table made at once (64 MiB): with more contexts its intermediates would take as much as the table itself.
TABLE = 2**23


@dataclass(frozen=True)
class Path:
    """One sample of f; call it with decisions `"*b d"` and contexts `"n k"` for values `"*b n"`."""

    posterior: GaussianPosterior
    x_frequencies: Tensor  # "F d"
    c_frequencies: Tensor  # "F k"
    phases: Tensor  # "F"
    weights: Tensor  # "F", with the amplitude folded in
    correction: Tensor  # "n"
    _tables: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, x: Tensor, points: Tensor) -> Tensor:
        zx, table = self.posterior.inputs.x(x), self.table(points)
        rows = zx.reshape(-1, zx.shape[-1])
        size = _together(rows, table)
        if rows.requires_grad or len(rows) <= size:
            centred = self._features(rows) @ table
        else:
            centred = torch.cat([self._features(some) @ table for some in torch.split(rows, size)])
        return self.correct(centred.reshape(*x.shape[:-1], len(points)), zx, points)

    @property
    def factorises(self) -> bool:
        """Whether the correction is a product of decisions' features with a table, as the prior is."""
        return self.posterior.kernel == "squared_exponential"

    def _features(self, rows: Tensor) -> Tensor:
        observed = self.posterior.zx if self.factorises else self.posterior.zx[:0]
        return _Features.apply(rows, self.x_frequencies, observed, self.posterior.hyperparameters.x_share)  # type: ignore[no-any-return, no-untyped-call]

    def table(self, points: Tensor) -> Tensor:
        """Return what each feature of a decision adds at each context; `"p n"`. The last one made is kept."""
        kept = self._tables.get("last")
        if kept is None or kept[0] is not points:
            kept = self._tables["last"] = (points, self._made(self.posterior.inputs.c(points)))
        return kept[1]

    def _made(self, zc: Tensor) -> Tensor:
        """Return the table for scaled contexts `"n k"`, made some contexts at a time: it may fill most of the memory."""
        posterior, count = self.posterior, len(self.phases)
        rows, weights = 2 * count + (posterior.size if self.factorises else 0), self.weights[:, None]
        table = zc.new_empty(rows, len(zc))
        size = max(1, TABLE // rows)
        for start in range(0, len(zc), size):
            some, block = zc[start : start + size], table[:, start : start + size]
            angles = (self.c_frequencies @ some.T).add_(self.phases[:, None])
            torch.mul(weights, angles.cos(), out=block[:count])
            torch.mul(-weights, angles.sin(), out=block[count : 2 * count])
            if self.factorises:
                kc = posterior.over_c(squared_distances(posterior.zc, some))
                torch.mul((posterior.hyperparameters.amplitude * self.correction)[:, None], kc, out=block[2 * count :])
        return table

    def sketch(self) -> PathSketch:
        """Return a quicker form of this path, to rank decisions by."""
        return PathSketch(self)

    def correct(self, centred: Tensor, zx: Tensor, points: Tensor) -> Tensor:
        """Return the path in the outcome's units, given its prior, and its correction where that factorises."""
        posterior = self.posterior
        if not self.factorises:
            centred = centred + posterior.cross(zx, posterior.inputs.c(points), self.correction)
        return (centred + posterior.hyperparameters.mean) * posterior.scale + posterior.shift

    def context_gradient(self, x: Tensor, points: Tensor) -> Tensor:
        """Return the gradient in the context at every decision `"*b d"` and context `"n k"`; `"*b n k"`."""
        size = max(1, TABLE // (2 * len(self.phases)))
        if len(points) > size:
            return torch.cat([self.context_gradient(x, some) for some in torch.split(points, size)], dim=-2)
        posterior = self.posterior
        zx, zc = posterior.inputs.x(x), posterior.inputs.c(points)
        angles = zx @ self.x_frequencies.T
        cos, sin = angles.cos() * self.weights, angles.sin() * self.weights
        ac = zc @ self.c_frequencies.T + self.phases
        cos_c, sin_c = ac.cos(), ac.sin()
        sx, sc = squared_distances(zx, posterior.zx), squared_distances(zc, posterior.zc)
        amplitude, columns = posterior.hyperparameters.amplitude, []
        if self.factorises:  # k' = -k / 2, and k is a product
            kx = posterior.over_x(sx) * self.correction
            kc = (1.0 - posterior.hyperparameters.c_share) * kernel_value(posterior.kernel, sc)
        else:
            steep = 2.0 * amplitude * slope_value(posterior.kernel, sx[..., None, :] + sc)
        for column, rate in enumerate(posterior.inputs.c_rates):
            turn, gaps = self.c_frequencies[:, column], zc[:, None, column] - posterior.zc[:, column]
            prior = -cos @ (sin_c * turn).T - sin @ (cos_c * turn).T
            pull = -amplitude * kx @ (kc * gaps).T if self.factorises else (steep * gaps) @ self.correction
            columns.append((prior + pull) * rate * posterior.scale)
        return torch.stack(columns, -1) if columns else x.new_zeros(*x.shape[:-1], len(points), 0)

    def prior_at_pairs(self, zx: Tensor, zc: Tensor) -> Tensor:
        """Return the prior sample at pairs of scaled inputs; `"n"`."""
        return (zx @ self.x_frequencies.T + zc @ self.c_frequencies.T + self.phases).cos() @ self.weights


@dataclass(frozen=True)
class PathSketch:
    """A path with its prior in single precision, in half the time, to rank decisions by.

    It is within 1e-4 of the prior's deviation at every length-scale that a fit can return; at shorter ones angles lose digits.
    """

    path: Path

    def __call__(self, x: Tensor, points: Tensor) -> Tensor:
        path, count = self.path, 2 * len(self.path.x_frequencies)
        zx, table = path.posterior.inputs.x(x), path.table(points)
        rows = zx.reshape(-1, zx.shape[-1])
        frequencies, prior = path.x_frequencies.T.float(), table[:count].float()
        parts = [rows.new_zeros(0, len(points))]
        for some in torch.split(rows, 2 * _together(rows, table)):
            angles = some.float() @ frequencies
            parts.append((torch.cat([angles.cos(), angles.sin()], dim=1) @ prior).to(rows))
        centred = torch.cat(parts)
        if path.factorises:  # it cancels against large weights, so it stays in double
            centred += path.posterior.over_x(squared_distances(rows, path.posterior.zx)) @ table[count:]
        return path.correct(centred.reshape(*x.shape[:-1], len(points)), zx, points)

    def context_gradient(self, x: Tensor, points: Tensor) -> Tensor:
        """Return the path's gradient in the context; `"*b n k"`."""
        return self.path.context_gradient(x, points)


def _together(rows: Tensor, table: Tensor) -> int:
    """Return how many decisions to work on at once.

    Block by block the features stay in the cache; with many contexts the table must be read again for each.
    """
    if rows.device.type == "cpu":
        return max(1, BLOCK // len(table), table.shape[1] // 2)
    return max(1, LARGE_BLOCK // len(table))


class _Features(torch.autograd.Function):
    """cos(a_j.x), sin(a_j.x) and, against observed decisions `"n d"`, the squared exponential; `"b, 2 F + n"`.

    The gradient is written out: autograd would make six more passes over the largest arrays.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, frequencies: Tensor, observed: Tensor, share: float) -> Tensor:
        angles, count = rows @ frequencies.T, len(frequencies)
        features = rows.new_empty(len(rows), 2 * count + len(observed))
        torch.cos(angles, out=features[:, :count])
        torch.sin(angles, out=features[:, count : 2 * count])
        if len(observed):
            torch.exp(squared_distances(rows, observed).mul_(-0.5), out=features[:, 2 * count :])
            if share:
                features[:, 2 * count :].mul_(1.0 - share).add_(share)
        ctx.share = share
        ctx.save_for_backward(rows, frequencies, observed, features)
        return features

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        rows, frequencies, observed, features = ctx.saved_tensors
        count = len(frequencies)
        turned = features[:, :count] * upstream[:, count : 2 * count]
        turned.addcmul_(features[:, count : 2 * count], upstream[:, :count], value=-1.0)
        gradient = turned @ frequencies
        if len(observed):
            steep = features[:, 2 * count :]
            pull = (steep - ctx.share if ctx.share else steep) * upstream[:, 2 * count :]
            gradient = gradient + pull @ observed - pull.sum(-1, keepdim=True) * rows
        return gradient, None, None, None


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
    for columns, share in zip((slice(d), slice(d, d + k)), posterior.hyperparameters.shares, strict=False):
        # The spectrum of s + (1 - s) k: frequency zero with probability s.
        kept = torch.rand(features, 1, generator=generator, dtype=torch.float64) >= share
        frequencies[:, columns] *= kept.to(frequencies)
    phases = 2.0 * math.pi * torch.rand(features, generator=generator, dtype=torch.float64).to(device)
    amplitude = posterior.hyperparameters.amplitude
    weights = normal(features) * math.sqrt(2.0 * amplitude / features)
    path = Path(posterior, frequencies[:, :d], frequencies[:, d:], phases, weights, posterior.alpha)
    noise = disturbed(posterior, normal(posterior.size))
    whitened = posterior.inverse @ (path.prior_at_pairs(posterior.zx, posterior.zc) + noise)
    correction = posterior.alpha - posterior.inverse.T @ whitened
    return Path(posterior, path.x_frequencies, path.c_frequencies, phases, weights, correction)
