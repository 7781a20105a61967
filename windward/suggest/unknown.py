"""What is unknown behind a decision's value: f, its hyper-parameters, and the contexts' distribution, drawn once for all.

The value of a decision is V(x) = R[f(x, .), p]: an objective R of f over the true distribution of contexts p. Unknown are

    theta    the hyper-parameters, the mean and the amplitude of f       `surrogate.nearby`
    p        the contexts' distribution                                  `Contexts.redrawn`
    f        given theta                                                 its posterior

Draws of theta and p are made once, so that two decisions are compared on the same ones. For an expectation V given theta
and p is normal, in closed form; for every other objective f is drawn too, and the objective is bound to each p.

Objectives other than an expectation look at the extremes of f, where it was seen least and a stationary model is most
wrong: there its deviations are taken to be `EXTREMES` times as large, or `BALLS` times where the extremes are an adversary's:
he can move only as much of the mass as the ball allows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from windward.basics import streams
from windward.beliefs.scores import length
from windward.contexts import Contexts
from windward.objectives.protocol import Around, Averaging, Bound, Objective, Reduction, Rowwise
from windward.objectives.situation import Situation
from windward.suggest.judging import Bindings, InRows, Judge
from windward.surrogate import Averaged, Believed, Doubting, Posterior, Surrogate, Widening

# Draws of the hyper-parameters; of more observations than `SMALL` fewer, down to a half: their posterior is narrow then, and
# each takes n^3. Six were too few, and sixteen gave the same coverage as more when they were tried.
THETAS, SMALL = 32, 50
# Distributions of contexts: of all draws of the hyper-parameters together, where V is in closed form; where f is drawn too;
# where an adversary's answer must be found for each; and where that takes a search.
DISTRIBUTIONS, FEW, SLOW, SEARCHED = 512, 128, 32, 16
# How many times as large deviations of f are taken to be where an objective looks at its extremes, and where these are an
# adversary's within a ball.
EXTREMES, BALLS = 1.6, 1.2
# Draws of f, altogether; where each of them is a problem to solve, fewer; of functions, where slopes are needed, fewer too:
# each holds a large table.
FUNCTIONS, SOLVED = 1024, 256
PATHS = 128
# Values of several decisions that are drawn together; of more, functions are drawn, so many altogether.
JOINTLY, MORE_PATHS = 1024, 256
# Normal quantiles that stand for a normal distribution: with 512 components their mixture is smooth.
QUANTILES = 16
# Functions whose worst cases are solved at every decision, and decisions that they leave to the others.
LOOKED, PROMISING = 12, 48
# Decisions by distributions by observations at once (64 MiB).
BLOCK = 2**23


@dataclass(frozen=True)
class Unknowns:
    """Draws of what is unknown. `contexts` are those that decisions are judged on; `seeds` start the draws of f.

    `widened` says how many times as large deviations of f were made for an objective that looks at its extremes.
    """

    situation: Situation
    objective: Objective
    posteriors: tuple[Posterior, ...]
    contexts: Contexts
    weights: Tensor  # "p s n", the distributions that go with each posterior
    seeds: tuple[int, ...]  # "p"
    widened: float = 1.0

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

    def assessed(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return `values` of decisions `"m d"`, and their deviations that come from f and from the contexts, `"m"` each."""
        with torch.no_grad():
            if self.closed or self._slopes:
                draws = self.values(x)
                return draws, _split(draws, self._context_variances(x))
            drawn, variances = zip(*(self._alone(row) for row in x), strict=True)
            draws = torch.stack(drawn, dim=1)
            return draws, _split(draws, torch.stack(variances))

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
    def solving(self) -> bool:
        """Whether a problem is solved for each draw, which takes long: ask for few decisions at a time."""
        return not self.closed and _slow(self._reductions[0][0])

    @property
    def _together(self) -> int:
        size = max(1, self.posteriors[0].size) * (self.weights.shape[1] if self.closed else len(self.contexts))
        return max(1, BLOCK // size)

    def _values(self, x: Tensor) -> Tensor:
        if not self.closed and self._slopes:
            return torch.cat(list(self._sampled(x)))
        if not self.closed:
            return torch.stack([self._alone(row)[0] for row in x], dim=1)
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
        """Yield the mean `"m"` and covariance `"m m"` of the averages at decisions, for each theta and some distributions."""
        for posterior, weights in zip(self._cycled, self.weights, strict=True):
            assert isinstance(posterior, Averaged)
            means, covariances = posterior.averages(x, self.contexts.points, weights[: self._each(THETAS)])
            yield from zip(means, covariances, strict=True)

    def first_and_best(self, x: Tensor, count: int) -> Tensor:
        """Return the objective of sampled functions at the first decision and the highest of all `"m d"`; `"s 2"`.

        A worst case that takes long is solved at every decision for some functions, and then where it was high for one.
        """
        found: list[Tensor] = []
        rows = torch.arange(len(x), device=self.contexts.points.device)
        for reduction, values, extra in self._along_paths(x, count):
            if len(found) == LOOKED and _slow(reduction):
                heights = torch.stack(found)
                above = (heights - heights[:, :1]).max(0).values
                rows = torch.cat([rows[:1], 1 + above[1:].argsort(descending=True)[:PROMISING]])
            found.append(reduction(values[rows], None if extra is None else extra[rows]))
        return torch.stack([torch.stack([one[0], one.max()]) for one in found])

    def _along_paths(self, x: Tensor, count: int) -> Iterator[tuple[Reduction, Tensor, Tensor | None]]:
        """Yield what each sampled function gives a reduction to reduce, `count` of them altogether."""
        points = self.contexts.points
        parts = torch.split(x, max(1, BLOCK // (len(points) * max(1, self.posteriors[0].size))))
        for reductions, posterior, seed in zip(self._reductions, self._cycled, self.seeds, strict=True):
            generator = streams.repeated(seed)
            for place in range(self._each(count)):
                reduction, path = reductions[place % len(reductions)], posterior.path(generator)
                values = torch.cat([path(some, points) for some in parts])
                extra = values if reduction.extra == "lower" else None
                if reduction.extra == "slopes":
                    extra = torch.cat([length(path.context_gradient(some, points), self.contexts) for some in parts])
                yield reduction, values, extra

    def _alone(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return draws of the value of one decision `"d"`, and the variance of it that comes from the contexts; `"s"`, `""`."""
        known = self.situation.posterior.means(x[None], self.contexts.points)[0]
        judged = [judge.with_known(drawn, known) for judge, drawn in self._drawn(x)]
        draws = torch.cat([drawn for drawn, _ in judged])
        if self.contexts.unknown is None:
            return draws, draws.new_zeros(())
        return draws, torch.cat([at_known for _, at_known in judged]).var(0, correction=0)

    def _sampled(self, x: Tensor) -> Iterator[Tensor]:
        """Yield draws of the values at decisions `"m d"` with each theta and distribution; `"s m"` each."""
        # A slope needs a function, not values at points; of many values together a function is the cheaper sample.
        if self._slopes or len(x) * len(self.contexts) > JOINTLY:
            functions = self._along_paths(x, PATHS if self._slopes else MORE_PATHS)
            yield torch.stack([reduction(values, extra) for reduction, values, extra in functions])
            return
        for judge, drawn in self._drawn(x):
            yield judge(drawn)

    def _drawn(self, x: Tensor) -> Iterator[tuple[Judge, Tensor]]:
        """Yield draws of f at `x` with each theta, and what judges them: of `"d"` they are `"s n"`, of `"m d"` `"s m n"`.

        One decision is drawn as such: with many contexts its covariance is kept as a product of low rank.
        """
        solved = self._by_rows is None and self._solving(self._reductions[0][0])
        count = self._each(SOLVED if solved else FUNCTIONS)
        for judge, posterior, seed in zip(self._judges, self._cycled, self.seeds, strict=True):
            yield judge, posterior.sample(x, self.contexts.points, count, streams.repeated(seed))

    @property
    def _slopes(self) -> bool:
        return self._by_rows is None and self._reductions[0][0].extra == "slopes"

    @property
    def _by_rows(self) -> Callable[[Tensor, Tensor], Tensor] | None:
        return self.objective.by_rows if isinstance(self.objective, Rowwise) else None

    @cached_property
    def _judges(self) -> tuple[Judge, ...]:
        """The objective under the first few distributions that go with each posterior."""
        if self._by_rows is not None:
            return tuple(InRows(self._by_rows, weights[: self._each(FEW)]) for weights in self.weights)
        return tuple(Bindings(reductions) for reductions in self._reductions)

    @cached_property
    def _reductions(self) -> tuple[tuple[Reduction, ...], ...]:
        """The objective bound to the first few distributions that go with each posterior."""
        return tuple(
            self._bound(posterior, weights) for posterior, weights in zip(self._cycled, self.weights, strict=True)
        )

    def _bound(self, posterior: Posterior, weights: Tensor) -> tuple[Reduction, ...]:
        found: list[Reduction] = []
        for each in weights[: self._each(FEW)]:
            contexts = Contexts(self.contexts.points, each)
            found.append(self.objective.bind(replace(self.situation, contexts=contexts, believed=Believed(posterior))))
            searched = isinstance(found[0], Bound) and found[0].searched
            if self._solving(found[0]) and len(found) == self._each(SEARCHED if searched else SLOW):
                break
        return tuple(found)

    def _solving(self, reduction: Reduction) -> bool:
        """Whether each value is the answer of an adversary, which takes long."""
        return isinstance(self.objective, Around) or _slow(reduction)

    def _each(self, altogether: int) -> int:
        """Return how many fall to each row of distributions, of so many altogether or a few more."""
        return -(-altogether // len(self.weights))

    @property
    def _cycled(self) -> tuple[Posterior, ...]:
        """A posterior for each row of distributions: where there are fewer, they come again."""
        return tuple(self.posteriors[place % len(self.posteriors)] for place in range(len(self.weights)))

    def _context_variances(self, x: Tensor) -> Tensor:
        """Return the variance of the values of decisions `"m d"` that comes from the distribution of contexts alone; `"m"`."""
        points, posterior = self.contexts.points, self.situation.posterior
        if self.contexts.unknown is None:
            return torch.zeros(len(x), dtype=torch.float64)
        if self.closed:
            means = torch.stack([p.means(x, points) for p in self._cycled])  # "p m n"
            return (self.weights @ means.mT).var(dim=1, correction=0).mean(0)
        means, slopes = (
            posterior.means(x, points),
            length(posterior.context_slopes(x, points).mean_gradient, self.contexts),
        )
        every = itertools.chain.from_iterable(self._reductions)
        return torch.stack([reduction(means, slopes) for reduction in every]).var(0, correction=0)


def _split(draws: Tensor, by_contexts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the deviation of draws `"s m"` that comes from f, and that of these variances `"m"`, which come from contexts."""
    by_contexts = by_contexts.to(draws)
    return (draws.var(0, correction=0) - by_contexts).clamp_min(0.0).sqrt(), by_contexts.sqrt()


def _slow(reduction: Reduction) -> bool:
    """Whether it solves a problem for each draw, which takes long."""
    return isinstance(reduction, Bound) and (reduction.ceiling is not None or reduction.searched)


def unknowns(
    situation: Situation, objective: Objective, surrogate: Surrogate, contexts: Contexts, generator: torch.Generator
) -> Unknowns:
    """Return draws of what is unknown in a situation; `contexts` are those that decisions are judged on."""
    posterior = situation.posterior
    posteriors: tuple[Posterior, ...] = (posterior,)
    widened = 1.0
    if isinstance(surrogate, Doubting):
        count = max(THETAS // 2, THETAS * SMALL // max(SMALL, posterior.size))
        posteriors = surrogate.nearby(situation.trials.dataset, posterior, count, generator)
        able = posteriors[0] is not posterior and not isinstance(objective, Averaging)
        times = BALLS if isinstance(objective, Around) else EXTREMES
        wider = [p.wider(times) for p in posteriors if able and isinstance(p, Widening)]
        if len(wider) == len(posteriors):
            posteriors, widened = tuple(wider), times
    rows = len(posteriors) if len(posteriors) > 1 else THETAS
    draws = contexts.redrawn(DISTRIBUTIONS // rows * rows, generator).reshape(rows, -1, len(contexts))
    seeds = torch.randint(2**62, (rows,), generator=generator).tolist()
    return Unknowns(situation, objective, posteriors, contexts, draws, tuple(seeds), widened)


def _mixture(means: Tensor, deviations: Tensor) -> Tensor:
    """Return numbers spread as a mixture of normals `"c *m"`: the quantiles of each, one after the other; `"c*q *m"`."""
    levels = (torch.arange(QUANTILES, dtype=means.dtype, device=means.device) + 0.5) / QUANTILES
    normal = torch.special.ndtri(levels)
    normal = normal / normal.square().mean().sqrt()  # a few quantiles have too small a deviation
    spread = normal.reshape(-1, *(1,) * means.ndim)
    drawn: Tensor = means + spread * deviations
    return drawn.flatten(0, 1)
