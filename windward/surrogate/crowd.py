"""The average of f over weighted contexts under several posteriors of the same data at once.

A guard asks it at every point of a search, under each draw of the hyper-parameters. One after the other these are hundreds
of small operations; stacked they are a few. The formulas are those of `jointly.py`, with one more axis in front, `T`
posteriors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.surrogate.averages import LEAST_VARIANCE
from windward.surrogate.kernel import KernelName, kernel_value, lifted
from windward.surrogate.posterior import GaussianPosterior

# Numbers in one block of a kernel that does not factorise (32 MiB).
BLOCK = 2**22
# Contexts that are looked at under every posterior; where the kernel does not factorise fewer, and every so many posteriors.
CONTEXTS, FEW, EVERY = 128, 24, 4


@dataclass(frozen=True)
class Crowd:
    """Posteriors of the same data, stacked, with what they share for one set of weights `"n"` over contexts."""

    kernel: KernelName
    rates: Tensor  # "T 1 d"
    zx: Tensor  # "T N d"
    zc: Tensor  # "T N k"
    at: Tensor  # "T n k", the contexts
    weights: Tensor  # "n"
    inverse: Tensor  # "T N N"
    alpha: Tensor  # "T N 1"
    mean: Tensor  # "T 1", as are those below
    amplitude: Tensor
    shift: Tensor
    scale: Tensor
    shares: tuple[Tensor, ...] = ()  # "T 1 1" of the decisions' factor and of the contexts', where the kernel has parts

    def _over_x(self, sx: Tensor) -> Tensor:
        """Return the decisions' factor of the kernel; `"T ..."`."""
        k = kernel_value(self.kernel, sx)
        return lifted(k, self.shares[0]) if self.shares else k

    def _over_c(self, sc: Tensor) -> Tensor:
        """Return the contexts' factor of the kernel; `"T ..."`."""
        k = kernel_value(self.kernel, sc)
        return lifted(k, self.shares[1]) if self.shares else k

    @cached_property
    def _shared(self) -> Tensor:
        """The kernel between the weighted contexts and the observations' contexts; `"T N"`."""
        return self.amplitude * (self.weights @ self._over_c(_distances(self.at, self.zc)))

    @cached_property
    def _within(self) -> Tensor:
        """The prior variance of the average; `"T 1"`."""
        kernels = self._over_c(_distances(self.at, self.at))
        return self.amplitude * ((self.weights @ kernels) @ self.weights)[:, None]

    def blended(self, x: Tensor) -> Tensor:
        """Return the prior covariance of the averages at decisions `"b d"` with the observations; `"T b N"`."""
        sx = _distances(x * self.rates, self.zx)
        if self.kernel == "squared_exponential":
            return self._over_x(sx) * self._shared[:, None, :]
        sc = _distances(self.at, self.zc)  # "T n N"
        found, size = torch.empty_like(sx), max(1, BLOCK // sc[0].numel())
        for one, (by_x, by_c) in enumerate(zip(sx, sc, strict=True)):
            for some in torch.split(torch.arange(len(x)), size):
                found[one, some] = self.weights @ kernel_value(self.kernel, by_x[some, None, :] + by_c)
        return self.amplitude[:, :, None] * found

    def prior(self, apart: Tensor) -> Tensor:
        """Return the prior covariance of two averages whose decisions are `apart` in squared length-scales; `"T b"`."""
        if self.kernel == "squared_exponential" or not bool(apart.any()):
            return self._over_x(apart[:, None])[:, 0] * self._within
        sc = _distances(self.at, self.at)
        found = torch.empty_like(apart)
        for one, (row, by_c) in enumerate(zip(apart, sc, strict=True)):
            distinct, place = torch.unique(row, return_inverse=True)
            size = max(1, BLOCK // by_c.numel())
            each = [
                (kernel_value(self.kernel, some[:, None, None] + by_c) @ self.weights) @ self.weights
                for some in torch.split(distinct, size)
            ]
            found[one] = torch.cat(each)[place]
        return self.amplitude * found

    @cached_property
    def _kernels(self) -> tuple[Tensor, Tensor]:
        """The kernel between contexts and the observations' contexts, `"T n N"`, and among contexts, `"T n n"`."""
        return tuple(self._over_c(_distances(self.at, there)) for there in (self.zc, self.at))  # type: ignore[return-value]

    def means(self, x: Tensor) -> Tensor:
        """Return the mean of f at decisions `"b d"` and every context; `"T b n"`. For kernels that factorise."""
        kx = self._over_x(_distances(x * self.rates, self.zx)) * self.alpha.mT
        found = self.amplitude[..., None] * (kx @ self._kernels[0].mT) + self.mean[..., None]
        return found * self.scale[..., None] + self.shift[..., None]

    def weighted_variances(self, x: Tensor, pull: Tensor) -> Tensor:
        """Return the variance of sum_i q_i f(x, c_i) at decisions `"b d"`, each with weights of its own `"b n"`; `"T b"`.

        It is differentiable in the decisions; the weights are held. Factorising kernels alone.
        """
        to_seen, within = self._kernels
        kx = self._over_x(_distances(x * self.rates, self.zx))
        white = (kx * (pull @ to_seen)) @ self.inverse.mT
        prior = self.amplitude * ((pull @ within) * pull).sum(-1)
        variance = prior - (self.amplitude[..., None] * white).square().sum(-1)
        return variance.clamp_min(LEAST_VARIANCE * self.amplitude) * self.scale * self.scale

    def averages(self, x: Tensor, other: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return means and variances of the averages at decisions `"b d"`, less the average at `other` `"d"`; `"T b"` each."""
        x = x.to(self.rates.device)
        blended = self.blended(x)
        white = blended @ self.inverse.mT
        mean = (blended @ self.alpha)[..., 0]
        zero = torch.zeros_like(mean[:, :1])
        variance = self.prior(zero) - white.square().sum(-1)
        if other is None:
            return (self.mean + mean) * self.scale + self.shift, variance.clamp_min(0.0) * self.scale * self.scale
        beside = self.blended(other[None].to(x))
        white_beside = beside @ self.inverse.mT
        apart = ((x - other.to(x)) * self.rates).square().sum(-1)
        between = self.prior(apart) - (white * white_beside).sum(-1)
        own = self.prior(zero) - white_beside.square().sum(-1)
        gap = mean - (beside @ self.alpha)[..., 0]
        return gap * self.scale, (variance + own - 2.0 * between).clamp_min(0.0) * self.scale * self.scale


def crowd(posteriors: Sequence[object], contexts: Contexts, *, exact: bool = False) -> Crowd | None:
    """Return the posteriors stacked; None where they are not Gaussian processes of the same data.

    Where there are many contexts, some of them stand for all. Where that will not do (`exact`) all are kept, and a kernel that
    does not factorise gives None.
    """
    first = posteriors[0]
    factorises = isinstance(first, GaussianPosterior) and first.separable
    if exact and not factorises:
        return None
    if isinstance(first, GaussianPosterior) and not factorises:
        posteriors, contexts = posteriors[::EVERY], contexts.fewer(FEW)
    contexts = contexts if exact else contexts.fewer(CONTEXTS)
    some = [one for one in posteriors if isinstance(one, GaussianPosterior)]
    if not isinstance(first, GaussianPosterior) or len(some) < len(posteriors):
        return None
    if any(one.size != first.size or one.kernel != first.kernel for one in some):
        return None

    def numbers(values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, device=first.zx.device)[:, None]

    return Crowd(
        first.kernel,
        torch.stack([one.inputs.x_rates for one in some])[:, None, :],
        torch.stack([one.zx for one in some]),
        torch.stack([one.zc for one in some]),
        torch.stack([one.inputs.c(contexts.points) for one in some]),
        contexts.weights.to(first.zx.device),
        torch.stack([one.inverse for one in some]),
        torch.stack([one.alpha for one in some])[..., None],
        numbers([one.hyperparameters.mean for one in some]),
        numbers([one.hyperparameters.amplitude for one in some]),
        numbers([one.shift for one in some]),
        numbers([one.scale for one in some]),
        shares=tuple(
            numbers(each)[..., None] for each in zip(*(one.hyperparameters.shares for one in some), strict=True)
        ),
    )


def _distances(a: Tensor, b: Tensor) -> Tensor:
    """Return squared distances between rows, `"T a d"` against `"T b d"`; `"T a b"`."""
    cross = a @ b.mT  # in place from here on: with many posteriors each copy counts
    cross.mul_(-2.0).add_(a.square().sum(-1)[..., :, None]).add_(b.square().sum(-1)[..., None, :])
    return cross.clamp_min_(0.0)
