"""An exact Gaussian process conditioned on data, decisions and contexts kept apart until the kernel.

    k((x, c), (x', c')) = amplitude * kernel(|x - x'|^2 / l_x^2 + |c - c'|^2 / l_c^2)
                        = amplitude * (s_x + (1 - s_x) kernel(|x - x'|^2 / l_x^2)) (s_c + (1 - s_c) kernel(|c - c'|^2 / l_c^2))
    mean(x, c)  = m + k(.)' (K + N)^-1 (y - m)          var(x, c) = amplitude - k(.)' (K + N)^-1 k(.)

The second line is the kernel with `shares`: its product holds a part in x alone and one in c alone. Everything inside is in
standardised outcomes; `shift` and `scale` bring results back to the user's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, cast

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.surrogate.averages import average_marginals, averages, weighted_deviation
from windward.surrogate.drift import Fading
from windward.surrogate.factors import extend_factor
from windward.surrogate.hyperparameters import Hyperparameters, Inputs
from windward.surrogate.jointly import covariance_of_averages
from windward.surrogate.kernel import KernelName, kernel_value, lifted, product_value, squared_distances
from windward.surrogate.left_out import LeftOut, leave_out
from windward.surrogate.marginals import LARGE, Observations, blocks, product_marginals
from windward.surrogate.paths import FEATURES, Path, draw_path
from windward.surrogate.sampling import sample_jointly, sample_many
from windward.surrogate.slopes import ContextSlopes, SlopedContexts, context_slopes
from windward.surrogate.splits import SPLIT_RESIDUAL, Split, rough_split, split
from windward.trials.drifts import Drift
from windward.trials.trials import Ages

Prepared = TypeVar("Prepared")

# A variance below this share of the amplitude is rounding; its square root keeps a finite slope.
LEAST_VARIANCE = 1e-14
# The least share of noise in the variance with which a draft may save digits: K^-1 has one over it for its largest entries.
STURDY = 1e-5
# Decisions times observations up to which a split that is not there yet would cost more than it saves.
FEW = 8192
# What the pivots of a draft leave of a context's own kernel, times the deviation of the noise.
DRAFT_RESIDUAL = 3e-5
# The same of a draft's draft: it need only tell which decisions are worth the draft.
SKETCH_RESIDUAL = 1e-2
# Contexts up to which their joint covariance is made whole (32 MiB each of a few copies).
JOINT = 2048
# Decisions by contexts by observations, up to which a kernel that does not factorise is worked on at once (128 MiB).
PAIRED = 2**24


@dataclass(frozen=True)
class GaussianPosterior:
    """A fitted process; immutable. `marginals`, `average`, `path` and `condition` are what a policy uses."""

    kernel: KernelName
    hyperparameters: Hyperparameters
    inputs: Inputs
    zx: Tensor  # "n d" scaled decisions observed
    zc: Tensor  # "n k" scaled contexts observed
    factor: Tensor  # "n n" lower Cholesky factor of K + N
    inverse: Tensor  # "n n" its inverse
    alpha: Tensor  # "n", (K + N)^-1 (y - m)
    noise: Tensor  # "n" noise variances
    shift: float
    scale: float
    base: int  # rows that were factorised at once; the others came row by row
    drafted: int = 0  # 1 for a draft, 2 for a draft's draft
    held: bool = False  # whether the mean was given, not fitted
    fading: Fading | None = None  # how f changes; observations then stand divided as `drift.py` says
    _prepared: dict[str, tuple[Tensor, object]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def size(self) -> int:
        """Number of observations, imagined ones included."""
        return int(self.zx.shape[0])

    @property
    def drift(self) -> Drift | None:
        """Whether f changes with time; None where nobody asked."""
        held = self.hyperparameters
        return Drift.of(held.drift, "trials" if self.fading is None else self.fading.unit, held.still)

    def log_determinant(self) -> float:
        """Return the log determinant of K + N over the observations, standardised."""
        divided = 0.0 if self.fading is None else 2.0 * float(self.fading.ages.sum())
        return 2.0 * float(self.factor.diagonal().log().sum()) - divided

    def marginals(self, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of f at every decision `"*b d"` and context `"n k"`; `"*b n"` each."""
        rows = x.reshape(-1, x.shape[-1]).to(self.zx.device)
        if self.kernel == "squared_exponential":
            mean, std = product_marginals(rows, self._observations, self._split(points, len(rows)))
        else:
            mean, variance = self._direct_marginals(rows, points)
            std = variance.clamp_min(LEAST_VARIANCE * self.hyperparameters.amplitude).sqrt() * self.scale
            mean = (mean + self.hyperparameters.mean) * self.scale + self.shift
        if x.ndim == 2:
            return mean, std
        shape = (*x.shape[:-1], len(points))
        return mean.reshape(shape), std.reshape(shape)

    @cached_property
    def _observations(self) -> Observations:
        amplitude, scale = self.hyperparameters.amplitude, self.scale
        sturdy = self.drafted > 0 and float(self.noise.min()) >= STURDY * amplitude
        return Observations(
            self.zx,
            self.inputs.x_rates,
            self.inverse,
            self.alpha,
            amplitude,
            origin=self.hyperparameters.mean * scale + self.shift,
            scale=scale,
            least=LEAST_VARIANCE * amplitude,
            rough=sturdy and self.drafted > 0,
            single=sturdy and self.drafted > 1,
            share=self.hyperparameters.x_share,
        )

    def means(self, x: Tensor, points: Tensor) -> Tensor:
        """Return the mean of f at every decision `"b d"` and context `"n k"`, without the deviation's solves; `"b n"`."""
        sx = squared_distances(self.inputs.x(x.to(self.zx.device)), self.zx)
        sc = squared_distances(self.inputs.c(points), self.zc)
        if self.kernel == "squared_exponential":
            mean = (self.over_x(sx) * self.alpha) @ self.over_c(sc).T
        else:
            parts = blocks(len(x), len(points), self.size, sx.device)
            each = (kernel_value(self.kernel, sx[some, None, :] + sc) @ self.alpha for some in parts)
            mean = torch.cat([sx.new_zeros(0, len(points)), *each])
        return (self.hyperparameters.amplitude * mean + self.hyperparameters.mean) * self.scale + self.shift

    def context_slopes(self, x: Tensor, points: Tensor) -> ContextSlopes:
        """Return mean and deviation `"*b n"` with their gradients in the context `"*b n k"`, differentiable in x."""
        rows = x.reshape(-1, x.shape[-1]).to(self.zx.device)
        found = context_slopes(self, rows, points, self._observations)
        if x.ndim == 2:
            return found
        shape = (*x.shape[:-1], len(points))
        mean, std, *gradients = found
        return ContextSlopes(mean.reshape(shape), std.reshape(shape), *(g.reshape(*shape, -1) for g in gradients))

    def average(self, x: Tensor, contexts: Contexts) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of sum_i w_i f(x, c_i), exactly; `"*b"` each."""
        zc, amplitude = self.inputs.c(contexts.points), self.hyperparameters.amplitude
        blended = amplitude * self._blend(self.inputs.x(x), zc, contexts.weights)  # "*b n"
        mean = self.hyperparameters.mean + blended @ self.alpha
        prior = amplitude * self._within(zc, contexts)
        variance = prior - (blended @ self.inverse.T).square().sum(-1)
        std = variance.clamp_min(LEAST_VARIANCE * amplitude).sqrt()
        return mean * self.scale + self.shift, std * self.scale

    @property
    def separable(self) -> bool:
        """Whether the kernel is a product over decisions and contexts: averages at many decisions then cost little."""
        return self.kernel == "squared_exponential"

    def averages(self, x: Tensor, points: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return means `"s m"` and covariances `"s m m"` of averages over contexts at decisions `"m d"`, weights `"s n"`."""
        return averages(self, x, points, weights)

    def average_marginals(self, x: Tensor, points: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return means and deviations of averages over contexts at decisions `"m d"` by weights `"s n"`; `"s m"` each."""
        return average_marginals(self, x, points, weights)

    def weighted_deviation(self, x: Tensor, points: Tensor, weights: Tensor) -> Tensor:
        """Return the deviation of an average at decisions `"b d"`, each with weights of its own `"b n"`; `"b"`."""
        return weighted_deviation(self, x, points, weights)

    def averages_covary(self, points: Tensor, one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> Tensor:
        """Return the covariance of averages at pairs of decisions, each pair with weights of its own: see `jointly.py`."""
        return covariance_of_averages(self, points, one, other)

    def _within(self, zc: Tensor, contexts: Contexts) -> Tensor:
        """Return the mean of the kernel between two contexts drawn by the weights."""
        weights = contexts.weights
        if len(zc) <= JOINT:
            return weights @ self.over_c(squared_distances(zc, zc)) @ weights

        def summed() -> tuple[Tensor, Tensor]:  # a search asks for it again and again, and it takes seconds
            size = max(1, JOINT**2 // len(zc))
            parts = zip(torch.split(zc, size), torch.split(weights, size), strict=True)
            total = zc.new_zeros(())
            for some, shares in parts:
                total += shares @ (self.over_c(squared_distances(some, zc)) @ weights)
            return weights, total

        kept = self.once("within", contexts.points, summed)
        return kept[1] if kept[0] is weights else summed()[1]

    def sample(self, x: Tensor, points: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Return `count` joint samples of f at one decision `"d"`, or some `"m d"`, and every context; `"count (m) n"`.

        They are exact up to `JOINT` contexts. Beyond, for one decision, the covariance is kept as a product of low rank (see
        `sampling.py`).
        """
        if x.ndim == 1 and len(points) > JOINT:
            return sample_many(self, x, points, count, generator)
        return sample_jointly(self, x, points, count, generator)

    def path(self, generator: torch.Generator, *, features: int = FEATURES) -> Path:
        """Return one posterior sample as a deterministic, differentiable function of (x, points)."""
        return draw_path(self, generator, features)

    def condition(self, x: Tensor, c: Tensor, y: Tensor | None = None) -> GaussianPosterior:
        """Return the posterior after `"q"` more observations, nothing refitted; `y=None` imagines them at the mean.

        Imagined values change no mean (their entries of alpha are zero) and shrink the variance.
        """
        return self._conditioned(x, c, y, None if self.fading is None else self.zx.new_zeros(len(x)))

    def condition_at(self, x: Tensor, c: Tensor, ages: Ages, y: Tensor | None = None) -> GaussianPosterior:
        """Return the same where the observations belong to earlier rounds; those too old to count are left out."""
        if self.fading is None:
            return self._conditioned(x, c, y, None)
        own, kept = self.fading.near(ages.to(x.device))
        return self._conditioned(x[kept], c[kept], None if y is None else y[kept], own.to(self.zx.device))

    def _conditioned(self, x: Tensor, c: Tensor, y: Tensor | None, ages: Tensor | None) -> GaussianPosterior:
        if len(x) == 0:
            return self
        grown = self.with_rows(self.inputs.x(x), self.inputs.c(c), ages)
        if y is None:
            return grown
        seen = self.factor @ (self.factor.T @ self.alpha)
        new = (y - self.shift) / self.scale - self.hyperparameters.mean
        centred = torch.cat([seen, new if ages is None else new * ages.exp()])
        return grown.with_values(centred, self.shift, self.scale)

    def wider(self, times: float) -> GaussianPosterior:
        """Return the posterior with deviations of f, and of the noise, `times` as large; the mean stays."""
        square, held = times * times, self.hyperparameters
        return replace(
            self,
            hyperparameters=replace(held, amplitude=held.amplitude * square, noise=held.noise * square),
            factor=self.factor * times,
            inverse=self.inverse / times,
            alpha=self.alpha / square,
            noise=self.noise * square,
            _prepared={},
        )

    def left_out(self) -> LeftOut:
        """Return every observation beside its prediction from the others, with the hyper-parameters of all."""
        centred, inverse = self.factor @ (self.factor.T @ self.alpha), self.inverse
        if self.fading is not None:  # back to the observations as they came, each predicted in its own round
            centred, inverse = centred * self.fading.seen, inverse / self.fading.seen
        origin = self.hyperparameters.mean * self.scale + self.shift
        return leave_out(inverse, centred, held=self.held, shift=origin, scale=self.scale)

    def holds(
        self, kernel: KernelName, hyperparameters: Hyperparameters, base: int, inputs: Inputs, zx: Tensor, zc: Tensor
    ) -> bool:
        """Whether this is what these scaled inputs give with these hyper-parameters, as far as its rows go."""
        same = (self.inputs.x_rates, inputs.x_rates), (self.inputs.c_rates, inputs.c_rates)
        return (
            (self.kernel, self.hyperparameters, self.base) == (kernel, hyperparameters, base)
            and all(torch.equal(mine, its) for mine, its in (*same, (self.inputs.c_origin, inputs.c_origin)))
            and torch.equal(self.zx, zx[: self.size])
            and torch.equal(self.zc, zc[: self.size])
        )

    def with_rows(self, zx: Tensor, zc: Tensor, ages: Tensor | None = None) -> GaussianPosterior:
        """Return the posterior with more rows of scaled inputs `"q d"`, `"q k"`, imagined at the mean; `ages` in lengths."""
        noise = torch.full((len(zx),), self.hyperparameters.noise, dtype=zx.dtype, device=zx.device)
        between, within, fading = (
            self.covariance(zx, zc, self.zx, self.zc),
            self.covariance(zx, zc, zx, zc),
            self.fading,
        )
        if fading is not None and ages is not None:
            between, within, noise, fading = fading.extended(ages, between, within, noise)
        factor, inverse = extend_factor(self.factor, self.inverse, between, within + noise.diag())
        return replace(
            self,
            zx=torch.cat([self.zx, zx]),
            zc=torch.cat([self.zc, zc]),
            factor=factor,
            inverse=inverse,
            noise=torch.cat([self.noise, noise]),
            alpha=torch.cat([self.alpha, torch.zeros_like(noise)]),
            fading=fading,
            _prepared={},
        )

    def with_values(self, centred: Tensor, shift: float, scale: float) -> GaussianPosterior:
        """Return the posterior of these standardised values less the mean, one for each row."""
        alpha = self.inverse.T @ (self.inverse @ centred)
        return replace(self, alpha=alpha, shift=shift, scale=scale, _prepared={})

    def covariance(self, zx: Tensor, zc: Tensor, zx_other: Tensor, zc_other: Tensor) -> Tensor:
        """Return prior covariances between scaled inputs, pair by pair; `"a b"`."""
        sx, sc = squared_distances(zx, zx_other), squared_distances(zc, zc_other)
        return self.hyperparameters.amplitude * product_value(self.kernel, sx, sc, self.hyperparameters.shares)

    def over_x(self, sx: Tensor) -> Tensor:
        """Return the decisions' factor of the kernel."""
        return lifted(kernel_value(self.kernel, sx), self.hyperparameters.x_share)

    def over_c(self, sc: Tensor) -> Tensor:
        """Return the contexts' factor of the kernel."""
        return lifted(kernel_value(self.kernel, sc), self.hyperparameters.c_share)

    def cross(self, zx: Tensor, zc: Tensor, weights: Tensor) -> Tensor:
        """Return sum_i weights_i k((x, c), observation i) for every x `"*b d"` and c `"m k"`; `"*b m"`."""
        amplitude = self.hyperparameters.amplitude
        sx, sc = squared_distances(zx, self.zx), squared_distances(zc, self.zc)
        if self.kernel == "squared_exponential":
            return amplitude * (self.over_x(sx) * weights) @ self.over_c(sc).T
        if sx.ndim != 2 or sx.requires_grad or sx.numel() * len(sc) <= PAIRED:
            return amplitude * (kernel_value(self.kernel, sx[..., None, :] + sc) @ weights)
        found = sx.new_empty(len(sx), len(sc))
        for row, values in zip(sx, found, strict=True):
            torch.mul(kernel_value(self.kernel, row + sc) @ weights, amplitude, out=values)
        return found

    def _blend(self, zx: Tensor, zc: Tensor, weights: Tensor) -> Tensor:
        sx, sc = squared_distances(zx, self.zx), squared_distances(zc, self.zc)
        if self.kernel == "squared_exponential":
            return self.over_x(sx) * (weights @ self.over_c(sc))
        return (kernel_value(self.kernel, sx[..., None, :] + sc) * weights[:, None]).sum(-2)

    def _direct_marginals(self, x: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        amplitude = self.hyperparameters.amplitude
        sx, sc = squared_distances(self.inputs.x(x), self.zx), squared_distances(self.inputs.c(points), self.zc)
        means, variances = [sx.new_zeros(0, len(points))], [sx.new_zeros(0, len(points))]
        for block in blocks(len(x), len(points), self.size, x.device):
            k = amplitude * kernel_value(self.kernel, sx[block, None, :] + sc)  # "b m n"
            means.append(k @ self.alpha)
            variances.append(amplitude - (k @ self.inverse.T).square().sum(-1))
        return torch.cat(means), torch.cat(variances)

    def draft(self) -> GaussianPosterior:
        """Return this posterior with contexts split less finely: cheaper, and accurate enough to find hills.

        In practice the deviation is off by far less than the root of what the splits leave; for contexts beyond all those
        observed by up to ten times that. A draft's draft is cheaper still, and from 512 observations on solves in single
        precision where no gradient is asked for. Where neither is cheaper, this posterior itself.
        """
        most = 2 if self.zc.shape[1] > 1 or self.size >= LARGE else 1  # a small draft with one context is cheap enough
        if self.kernel != "squared_exponential" or self.drafted >= most:
            return self
        return replace(self, drafted=self.drafted + 1, _prepared={})

    @cached_property
    def residual(self) -> float:
        """What the splits of contexts leave: of the kernel's entries, for a draft of the prior variance of the pivoted side."""
        if self.drafted == 0:
            return SPLIT_RESIDUAL
        share = math.sqrt(float(self.noise.min()) / self.hyperparameters.amplitude)
        left = DRAFT_RESIDUAL if self.drafted == 1 else SKETCH_RESIDUAL
        return max(SPLIT_RESIDUAL, left * min(1.0, share))

    def sloped(self, points: Tensor) -> SlopedContexts:
        """Return what every decision shares when slopes at these contexts are asked for."""
        of, share = self.inputs, self.hyperparameters.c_share
        return self.once(
            "slopes", points, lambda: SlopedContexts.of(of.c(points), self.zc, of.c_rates, self.residual, share)
        )

    def splits(self, points: Tensor, count: int, what: str) -> bool:
        """Whether to split the contexts: once enough decisions have been evaluated to repay it.

        A draft always splits them: it is made for a search, and its splits cost little.
        """
        if self.drafted or (what in self._prepared and self._prepared[what][0] is points):
            return True
        kept = self._prepared.get(f"asked {what}")
        asked = count + (cast(int, kept[1]) if kept is not None and kept[0] is points else 0)
        self._prepared[f"asked {what}"] = (points, asked)
        return asked * self.size > FEW

    def _split(self, points: Tensor, count: int) -> Split:
        def factors(z: Tensor) -> Tensor:
            return self.over_c(squared_distances(self.inputs.c(points), z))

        if not self.splits(points, count, "split"):
            kc = factors(self.zc)
            return Split(kc, None, kc)
        if self.drafted:
            return self.once(
                "split",
                points,
                lambda: rough_split(
                    factors, self.inputs.c(points), self.zc, self.residual, self.hyperparameters.c_share
                ),
            )
        return self.once("split", points, lambda: split(factors(self.zc), self.residual))

    def once(self, what: str, points: Tensor, prepare: Callable[[], Prepared]) -> Prepared:
        """Return what was last prepared for these contexts, by identity: one suggestion asks for it hundreds of times."""
        kept = self._prepared.get(what)
        if kept is None or kept[0] is not points:
            kept = self._prepared[what] = (points, prepare())
        return kept[1]  # type: ignore[return-value]
