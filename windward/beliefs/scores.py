"""What a decision is worth by a posterior: a reduction at its confidence bounds, or at one sample of f."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from windward.basics import streams
from windward.basics.budget import BLOCK as LARGE_BLOCK
from windward.basics.budget import CLIMBED
from windward.contexts import Contexts
from windward.objectives.protocol import Bound, Reduction
from windward.search.acquisition import Acquisition, Function
from windward.surrogate import Drafting, Posterior, SampledFunction, Sketching

# Values at once (1 MiB of them): of a screen they stay in the cache, where its passes are many times as fast.
BLOCK = 2**17
# Points up to which a screen looks at all of them; beyond so many, what a posterior keeps of them serves its means as well.
MANY, KEPT = 128, 1024

Score: TypeAlias = Callable[[Reduction, Tensor], Tensor]
"""`score(reduction, x)`: the acquisition at decisions `"*b d"`; `"*b"`."""


def improvement(mean: Tensor, std: Tensor, best: Tensor) -> Tensor:
    """Return E max(0, N(mean, std^2) - best), elementwise."""
    z = (mean - best) / std
    density = torch.exp(-0.5 * z.square()) / math.sqrt(2.0 * math.pi)
    # erfc keeps its digits in the tail, where the normal distribution function cancels.
    return std * (density + 0.5 * z * torch.erfc(-z / math.sqrt(2.0)))


def length(gradient: Tensor, contexts: Contexts) -> Tensor:
    """Return the Euclidean norm of context gradients `"*b n k"`, over the columns in which contexts can differ at all.

    A context that is given cannot be moved, so its slope does not count. The root has a finite slope where it is zero.
    """
    movable = contexts.points.amax(0) > contexts.points.amin(0)
    size: Tensor = ((gradient.square() * movable).sum(-1) + 1e-30).sqrt()
    return size


def in_parts(score: Callable[[Tensor], Tensor], x: Tensor, size: int, size_with_gradient: int) -> Tensor:
    """Return the score of decisions `"b d"`, at most `size` of them at once: their intermediates may fill the memory."""
    climbed = x.requires_grad and torch.is_grad_enabled()
    if len(x) <= (size_with_gradient if climbed else size):
        return score(x)
    if climbed:
        found: Tensor = _PartByPart.apply(x, score, size_with_gradient)  # type: ignore[no-untyped-call]
        return found
    # Written to one place: a list of small results, each made after large ones, would leave holes that cannot be used again.
    values = x.new_empty(len(x))
    for some, part in zip(torch.split(x, size), torch.split(values, size), strict=True):
        part.copy_(score(some))
    return values


class _PartByPart(torch.autograd.Function):
    """A score of independent rows whose gradient is taken along with it, so that nothing of one part waits for the next."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, score: Callable[[Tensor], Tensor], size: int) -> Tensor:
        values, gradient = x.new_empty(len(x)), torch.empty_like(x)
        for start in range(0, len(x), size):
            rows = x.detach()[start : start + size].clone().requires_grad_()
            with torch.enable_grad():
                value = score(rows)
                gradient[start : start + size] = torch.autograd.grad(value.sum(), rows)[0]
            values[start : start + size] = value.detach()
        ctx.save_for_backward(gradient)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return upstream[:, None] * gradient, None, None


@dataclass(frozen=True)
class ConfidenceScore:
    """A reduction at mean + `width` * standard deviation."""

    posterior: Posterior
    contexts: Contexts
    width: float

    def __call__(self, reduction: Reduction, x: Tensor) -> Tensor:
        values = len(self.contexts) * (1 + (self.contexts.points.shape[1] if reduction.extra == "slopes" else 0))
        size = max(1, BLOCK // values)
        if x.ndim > 1 and x.device.type == "cpu":
            return in_parts(
                partial(self._of, reduction), x, size, max(1, CLIMBED // max(1, values * self.posterior.size))
            )
        return self._of(reduction, x)

    def _of(self, reduction: Reduction, x: Tensor) -> Tensor:
        width, points = self.width, self.contexts.points
        if reduction.extra == "slopes":
            at = self.posterior.context_slopes(x, points)
            slopes = length(at.mean_gradient + width * at.std_gradient, self.contexts)
            return reduction(at.mean + width * at.std, slopes)
        mean, std = self.posterior.marginals(x, points)
        if reduction.extra == "lower":
            return reduction(torch.add(mean, std, alpha=width), torch.add(mean, std, alpha=-width))
        return reduction(torch.add(mean, std, alpha=width))

    def thinned(self) -> ConfidenceScore:
        """Score a random subset of the points where there are many: accurate enough to rank a minimum."""
        points = self.contexts.points
        if len(points) < 2 * MANY:
            return self
        # Scattered: every tenth point of a grid, say, would leave out levels of its last axes.
        some = torch.randperm(len(points), generator=streams.fixed())[:MANY].sort().values
        return replace(self, contexts=Contexts.uniform(points[some.to(points.device)]).to(points.device))

    def draft(self) -> ConfidenceScore:
        """Return the score by a draft of the posterior, where it makes one."""
        draft = self.posterior.draft() if isinstance(self.posterior, Drafting) else self.posterior
        return self if draft is self.posterior else replace(self, posterior=draft)


@dataclass(frozen=True)
class MeanScore(ConfidenceScore):
    """A reduction at the mean. Deviations, which are most of the work, are left out; the last digits may differ by that."""

    def _of(self, reduction: Reduction, x: Tensor) -> Tensor:
        if reduction.extra == "slopes" or len(self.contexts) > KEPT:
            return super()._of(reduction, x)
        mean = self.posterior.means(x, self.contexts.points)
        return reduction(mean, mean if reduction.extra == "lower" else None)

    def draft(self) -> ConfidenceScore:
        """Return itself where there are no deviations, which a draft saves work on."""
        return super().draft() if len(self.contexts) > KEPT else self


@dataclass(frozen=True)
class PathScore:
    """A reduction at one sample of f, its deviation from the mean times `width`."""

    posterior: Posterior
    path: SampledFunction
    contexts: Contexts
    width: float

    def __call__(self, reduction: Reduction, x: Tensor) -> Tensor:
        if x.ndim > 1 and x.device.type == "cpu":
            values = len(self.contexts) * (1 + (self.contexts.points.shape[1] if reduction.extra == "slopes" else 0))
            most = max(1, CLIMBED // max(1, values * self.posterior.size))
            return in_parts(partial(self._of, reduction), x, max(1, LARGE_BLOCK // values), most)
        return self._of(reduction, x)

    def _of(self, reduction: Reduction, x: Tensor) -> Tensor:
        width, points = self.width, self.contexts.points
        values = self.path(x, points)
        if width != 1.0:
            mean = self.posterior.means(x, points)
            values = mean + width * (values - mean)
        if reduction.extra is None:
            return reduction(values)
        if reduction.extra == "lower":
            return reduction(values, values)  # one function is its own bound
        gradient = self.path.context_gradient(x, points)
        if width != 1.0:
            mean_gradient = self.posterior.context_slopes(x, points).mean_gradient
            gradient = mean_gradient + width * (gradient - mean_gradient)
        return reduction(values, length(gradient, self.contexts))

    def sketch(self) -> PathScore:
        """Return the score by a quicker form of the sample, where it has one."""
        return replace(self, path=self.path.sketch()) if isinstance(self.path, Sketching) else self


def acquisition(score: Score, reduction: Reduction, device: torch.device) -> Acquisition:
    """Return the score of a decision by the reduction, with what is cheaper beside it: see docs/drafts.md.

    Decisions are searched on the processor; what they are worth is computed on the device.
    """

    def scored(by: Score, what: Reduction) -> Function:
        return lambda x: by(what, x.to(device)).to(x.device)

    def bounded(by: Score, what: Reduction) -> Function | None:
        bound = what.ceiling if isinstance(what, Bound) else None
        return None if bound is None else scored(by, Bound(bound, what.extra))

    value, ceiling = scored(score, reduction), bounded(score, reduction)
    rough = score.draft() if isinstance(score, ConfidenceScore) else score
    simpler = reduction.draft if isinstance(reduction, Bound) and reduction.draft is not None else reduction
    if rough is score and simpler is reduction:
        quick = score.sketch() if isinstance(score, PathScore) else score
        return Acquisition(
            value, rank=ceiling or (None if quick is score else scored(quick, reduction)), ceiling=ceiling
        )
    rougher = rough.draft() if isinstance(rough, ConfidenceScore) and rough is not score else rough
    if isinstance(rougher, ConfidenceScore) and isinstance(simpler, Bound) and simpler.fewer:
        rougher = rougher.thinned()
    rank = bounded(rougher, simpler) or (None if rougher is rough else scored(rougher, simpler))
    return Acquisition(value, scored(rough, simpler), rank, ceiling)
