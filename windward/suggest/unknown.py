"""What is unknown behind a decision's value: f, its hyper-parameters, and the contexts' distribution, drawn once for all.

The value of a decision is V(x) = R[f(x, .), p]: an objective R of f over the true distribution of contexts p. Unknown are

    theta    the hyper-parameters, the mean and the amplitude of f       `surrogate.nearby`
    p        the contexts' distribution                                  `Contexts.redrawn`
    f        given theta                                                 its posterior

Draws of theta and p are made once, so that two decisions are compared on the same ones. For an expectation V given theta
and p is normal, in closed form; for every other objective f is drawn too, and the objective is bound to each p.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from windward.basics import streams
from windward.beliefs.scores import length
from windward.contexts import Contexts
from windward.objectives.protocol import Averaging, Bound, Objective, Reduction
from windward.objectives.situation import Situation
from windward.surrogate import Averaged, Believed, Doubting, Posterior, Surrogate

# Draws of the hyper-parameters; six were too few, and sixteen gave the same coverage as more when they were tried.
THETAS = 32
# Distributions of contexts for each of them, where V is in closed form; else one each: a ball must be bound to it.
DISTRIBUTIONS = 16
# Draws of f for each pair; of functions, where slopes are needed, fewer: each holds a large table.
FUNCTIONS = 32
PATHS = 4
# Values of several decisions that are drawn together; of more, functions are drawn, so many with each pair.
JOINTLY, MORE_PATHS = 1024, 8
# Normal quantiles that stand for a normal distribution: with 512 components their mixture is smooth.
QUANTILES = 16
# Functions whose worst cases are solved at every decision, and decisions that they leave to the others.
LOOKED, PROMISING = 12, 48
# Decisions by distributions by observations at once (64 MiB).
BLOCK = 2**23


@dataclass(frozen=True)
class Unknowns:
    """Draws of what is unknown. `contexts` are those that decisions are judged on; `seeds` start the draws of f."""

    situation: Situation
    objective: Objective
    posteriors: tuple[Posterior, ...]
    contexts: Contexts
    weights: Tensor  # "p s n", the distributions that go with each posterior
    seeds: tuple[int, ...]  # "p"

    def values(self, x: Tensor) -> Tensor:
        """Return draws of what decisions `"m d"` are worth, oriented; `"s m"`. Each has the same draws of theta, p and f."""
        with torch.no_grad():
            return torch.cat([self._values(rows) for rows in torch.split(x, self._together)], dim=1)

    def differences(self, x: Tensor, other: Tensor) -> Tensor:
        """Return draws of by how much the decision `other` `"d"` is worth more than `x` `"d"`; `"s"`."""
        if not self.closed:
            drawn = self.pairs(x, other)
            return drawn[:, 1] - drawn[:, 0]
        with torch.no_grad():
            means, covariances = self._averages(torch.stack([x, other]))
            variance = covariances[:, 0, 0] + covariances[:, 1, 1] - 2.0 * covariances[:, 0, 1]
            return _mixture(means[:, 1] - means[:, 0], variance.clamp_min(0.0).sqrt())

    def pairs(self, x: Tensor, other: Tensor) -> Tensor:
        """Return draws of what two decisions `"d"` are worth, each draw with one f for both; `"s 2"`."""
        turned = x.tolist() > other.tolist()  # drawn in one order: whichever is named first, the draws are the same
        pair = torch.stack([other, x] if turned else [x, other])
        with torch.no_grad():
            drawn = torch.cat(list(self._sampled(pair)))
        return drawn.flip(-1) if turned else drawn

    def shares(self, x: Tensor, draws: Tensor | None = None) -> tuple[float, float]:
        """Return the deviation of the value of a decision `"d"` that comes from f, and that which comes from the contexts.

        `draws` are those of its value, where they are at hand.
        """
        with torch.no_grad():
            total = float((self.values(x[None])[:, 0] if draws is None else draws).var(correction=0))
            by_contexts = self._context_variance(x[None])
        return math.sqrt(max(total - by_contexts, 0.0)), math.sqrt(by_contexts)

    def expectation(self, x: Tensor) -> float:
        """Return the posterior mean of the plain expectation of a decision `"d"`, oriented."""
        with torch.no_grad():
            points, weights = self.contexts.points, self.contexts.weights
            return float(torch.stack([p.means(x[None], points)[0] @ weights for p in self.posteriors]).mean())

    @cached_property
    def closed(self) -> bool:
        """Whether values are normal in closed form, given theta and p."""
        return isinstance(self.objective, Averaging) and all(isinstance(p, Averaged) for p in self.posteriors)

    @property
    def _together(self) -> int:
        size = max(1, self.posteriors[0].size) * (self.weights.shape[1] if self.closed else len(self.contexts))
        return max(1, BLOCK // size)

    def _values(self, x: Tensor) -> Tensor:
        if not self.closed:
            return torch.cat([torch.cat(list(self._sampled(row[None]))) for row in x], dim=1)
        means, deviations = [], []
        for posterior, weights in zip(self._cycled, self.weights, strict=True):
            assert isinstance(posterior, Averaged)
            mean, deviation = posterior.average_marginals(x, self.contexts.points, weights)
            means.append(mean)
            deviations.append(deviation)
        return _mixture(torch.cat(means), torch.cat(deviations))

    def _averages(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return means `"s m"` and covariances `"s m m"` of the values at decisions, for each theta and distribution."""
        found = []
        for posterior, weights in zip(self._cycled, self.weights, strict=True):
            assert isinstance(posterior, Averaged)
            found.append(posterior.averages(x, self.contexts.points, weights))
        means, covariances = zip(*found, strict=True)
        return torch.cat(means), torch.cat(covariances)

    def joint_averages(self, x: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the mean `"m"` and covariance `"m m"` of the averages at decisions, for each theta and one distribution."""
        for posterior, weights in zip(self._cycled, self.weights, strict=True):
            assert isinstance(posterior, Averaged)
            mean, covariance = posterior.averages(x, self.contexts.points, weights[:1])
            yield mean[0], covariance[0]

    def first_and_best(self, x: Tensor, count: int) -> Tensor:
        """Return the objective of sampled functions at the first decision and the highest of all `"m d"`; `"s 2"`.

        A worst case that takes long is solved at every decision for some functions, and then where it was high for one.
        """
        found: list[Tensor] = []
        rows = torch.arange(len(x), device=self.contexts.points.device)
        for reduction, values, extra in self._along_paths(x, count):
            if len(found) == LOOKED and isinstance(reduction, Bound) and reduction.ceiling is not None:
                heights = torch.stack(found)
                above = (heights - heights[:, :1]).max(0).values
                rows = torch.cat([rows[:1], 1 + above[1:].argsort(descending=True)[:PROMISING]])
            found.append(reduction(values[rows], None if extra is None else extra[rows]))
        return torch.stack([torch.stack([one[0], one.max()]) for one in found])

    def _along_paths(self, x: Tensor, count: int) -> Iterator[tuple[Reduction, Tensor, Tensor | None]]:
        """Yield what each sampled function gives a reduction to reduce, `count` for each theta and distribution."""
        points = self.contexts.points
        parts = torch.split(x, max(1, BLOCK // (len(points) * max(1, self.posteriors[0].size))))
        for reduction, posterior, seed in zip(self._reductions, self._cycled, self.seeds, strict=True):
            generator = streams.repeated(seed)
            for _ in range(count):
                path = posterior.path(generator)
                values = torch.cat([path(some, points) for some in parts])
                extra = values if reduction.extra == "lower" else None
                if reduction.extra == "slopes":
                    extra = torch.cat([length(path.context_gradient(some, points), self.contexts) for some in parts])
                yield reduction, values, extra

    def _sampled(self, x: Tensor) -> Iterator[Tensor]:
        """Yield draws of the values at decisions `"m d"` with each theta and distribution; `"s m"` each."""
        # A slope needs a function, not values at points; of many values together a function is the cheaper sample.
        slopes, many = self._reductions[0].extra == "slopes", len(x) > 1 and len(x) * len(self.contexts) > JOINTLY
        if slopes or many:
            functions = self._along_paths(x, PATHS if slopes else MORE_PATHS)
            yield torch.stack([reduction(values, extra) for reduction, values, extra in functions])
            return
        points = self.contexts.points
        for reduction, posterior, seed in zip(self._reductions, self._cycled, self.seeds, strict=True):
            generator = streams.repeated(seed)
            # One decision is drawn as such: with many contexts its covariance is kept as a product of low rank.
            drawn = posterior.sample(x[0] if len(x) == 1 else x, points, FUNCTIONS, generator)
            drawn = drawn[:, None] if len(x) == 1 else drawn
            yield reduction(drawn, drawn if reduction.extra == "lower" else None)

    @cached_property
    def _reductions(self) -> tuple[Reduction, ...]:
        """The objective bound to the first distribution that goes with each posterior."""
        return tuple(
            self.objective.bind(
                replace(
                    self.situation,
                    contexts=Contexts(self.contexts.points, weights[0]),
                    believed=Believed(posterior),
                )
            )
            for posterior, weights in zip(self._cycled, self.weights, strict=True)
        )

    @property
    def _cycled(self) -> tuple[Posterior, ...]:
        """A posterior for each row of distributions: where there are fewer, they come again."""
        return tuple(self.posteriors[place % len(self.posteriors)] for place in range(len(self.weights)))

    def _context_variance(self, x: Tensor) -> float:
        """Return the variance of the value of a decision `"1 d"` that comes from the distribution of contexts alone."""
        points, posterior = self.contexts.points, self.situation.posterior
        if self.contexts.unknown is None:
            return 0.0
        if self.closed:
            mean = torch.stack([p.means(x, points)[0] for p in self._cycled])  # "p n"
            return float((self.weights @ mean[:, :, None])[..., 0].var(dim=1, correction=0).mean())
        means = posterior.means(x, points)
        found = []
        for reduction in self._reductions:
            extra = means if reduction.extra == "lower" else None
            if reduction.extra == "slopes":
                extra = length(posterior.context_slopes(x, points).mean_gradient, self.contexts)
            found.append(reduction(means, extra))
        return float(torch.cat(found).var(correction=0))


def unknowns(
    situation: Situation, objective: Objective, surrogate: Surrogate, contexts: Contexts, generator: torch.Generator
) -> Unknowns:
    """Return draws of what is unknown in a situation; `contexts` are those that decisions are judged on."""
    posterior = situation.posterior
    posteriors: tuple[Posterior, ...] = (posterior,)
    if isinstance(surrogate, Doubting):
        posteriors = surrogate.nearby(situation.trials.dataset, posterior, THETAS, generator)
    draws = contexts.redrawn(THETAS * DISTRIBUTIONS, generator).reshape(THETAS, DISTRIBUTIONS, len(contexts))
    seeds = torch.randint(2**62, (THETAS,), generator=generator).tolist()
    return Unknowns(situation, objective, posteriors, contexts, draws, tuple(seeds))


def _mixture(means: Tensor, deviations: Tensor) -> Tensor:
    """Return numbers spread as a mixture of normals `"c *m"`: the quantiles of each, one after the other; `"c*q *m"`."""
    levels = (torch.arange(QUANTILES, dtype=means.dtype, device=means.device) + 0.5) / QUANTILES
    normal = torch.special.ndtri(levels)
    normal = normal / normal.square().mean().sqrt()  # a few quantiles have too small a deviation
    spread = normal.reshape(-1, *(1,) * means.ndim)
    drawn: Tensor = means + spread * deviations
    return drawn.flatten(0, 1)
