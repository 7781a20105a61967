"""One invented problem of `coverage.py`: an exact f, how contexts come, the noise, how people have decided so far.

The truth of a decision is its objective, by Windward's own reduction, on a large quasi-random sample of the true contexts with
the exact f. A robust objective also gets the same reach points as the study (`elsewhere` of its context model, over the same
declared bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import special, stats

import windward as ww
from windward.contexts.weighted import with_elsewhere

Array = NDArray[Any]
Columns = dict[str, Array]
Values = Mapping[str, Any]

# Quasi-random contexts behind the truth: of plain objectives; of balls solved by sorting; of transport and MMD, over all pairs.
PLAIN, SORTED, MOVED = 2**14, 2**12, 2**10
# Of the search for the best decision: decisions screened, contexts they are screened on, climbers, rounds, steps in a round.
SEARCH, PAIRS_SEARCH = (1024, 512, 6, 24, 24), (128, 96, 2, 12, 8)


@dataclass(frozen=True)
class Habit:
    """How decisions were made before: near the status quo, in clumps, now and then farther away, some with the context.

    `spread` and `wander` are shares of each decision's range: of most choices, and of the share `restless` that went farther.
    `step` rounds a decision to price points. `follows` moves a decision by so much of its range for each standard deviation
    of a context. `stay` is how often a category stays with the status quo.
    """

    spread: float = 0.06
    wander: float = 0.3
    restless: float = 0.15
    step: Mapping[str, float] = field(default_factory=dict)
    follows: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    stay: float = 0.6

    def __call__(self, problem: Problem, contexts: Columns, chance: np.random.Generator) -> Columns:
        """Return as many decisions as there are contexts."""
        count, found = len(next(iter(contexts.values()))), {}
        for name, parameter in problem.space.decision.items():
            usual = problem.status_quo[name]
            if parameter.choices:
                other = chance.choice(np.array(parameter.choices), count)
                found[name] = np.where(chance.random(count) < self.stay, usual, other)
                continue
            unit = np.full(count, float(parameter.to_unit([usual])[0, 0]))
            wide = chance.random(count) < self.restless
            unit = unit + np.where(wide, self.wander, self.spread) * chance.standard_normal(count)
            if name in self.follows:
                context, share = self.follows[name]
                column = contexts[context].astype(float)
                unit = unit + share * np.clip((column - column.mean()) / (column.std() + 1e-12), -2.0, 2.0)
            chosen = np.array([parameter.from_unit(np.array([u])) for u in np.clip(unit, 0.0, 1.0)], dtype=float)
            if name in self.step:
                chosen = np.clip(np.round(chosen / self.step[name]) * self.step[name], parameter.low, parameter.high)
            found[name] = chosen
        return found


@dataclass(frozen=True)
class Noise:
    """What is added to f: `level`, and `share` of |f|; `tail` degrees of freedom of a Student, scaled to the same deviation."""

    level: float
    share: float = 0.0
    tail: float | None = None

    def __call__(self, values: Array, chance: np.random.Generator) -> Array:
        """Return noise for these values."""
        unit = chance.standard_normal(values.shape)
        if self.tail is not None:
            unit = chance.standard_t(self.tail, values.shape) / np.sqrt(self.tail / (self.tail - 2.0))
        return (self.level + self.share * np.abs(values)) * unit


@dataclass(frozen=True)
class Problem:
    """`f` takes columns of decisions and of contexts that broadcast; `nature` makes contexts of uniform numbers `"n width"`.

    What is `given` at `recommend` stands first in `nature`, so that to fix it is to condition on it.
    """

    name: str
    space: ww.Space
    f: Callable[[Columns, Columns], Array]
    nature: Callable[[Array, Values], Columns]
    noise: Noise
    status_quo: Values
    habit: Habit = field(default_factory=Habit)
    objective: Any = field(default_factory=ww.Expected)
    model: Any = field(default_factory=ww.KernelDensity)
    given: Values = field(default_factory=dict)
    direction: str = "maximize"
    width: int = 4  # uniform numbers that `nature` takes
    tags: frozenset[str] = frozenset()

    @property
    def sign(self) -> float:
        """-1 where less is better."""
        return 1.0 if self.direction == "maximize" else -1.0

    @property
    def kind(self) -> str:
        """The objective's name."""
        return type(self.objective).__name__

    @property
    def policy(self) -> ww.Policy:
        """SBO-KDE, or the same with this problem's objective and context model; reported as the default policy does."""
        # A version of before has no caution.
        report = ww.Report(caution="history") if "caution" in ww.Report.__dataclass_fields__ else ww.Report()
        if self.kind == "Expected":
            return replace(ww.papers.sbo_kde(), report=report)
        return ww.Policy(
            context_model=self.model,
            objective=self.objective,
            belief=ww.UpperConfidence(1.5),
            maximize=ww.MultiStart(starts=5),
            design=ww.Sobol(10),
            report=report,
        )

    def contexts(self, count: int, chance: np.random.Generator, given: Values | None = None) -> Columns:
        """Return independent true contexts."""
        return self.nature(chance.random((count, self.width)), given or {})

    def rows(self, columns: Columns) -> list[dict[str, Any]]:
        """Return columns as one dict of plain values for each row; whole numbers where the space has them."""
        parameters = {**self.space.decision, **self.space.context}
        plain = {
            name: [int(value) for value in column] if parameters[name].step is not None else column.tolist()
            for name, column in columns.items()
        }
        return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]

    def sobol_decisions(self, count: int, seed: int = 0) -> list[dict[str, Any]]:
        """Return decisions spread evenly over the box."""
        engine = torch.quasirandom.SobolEngine(self.space.decision_width, scramble=True, seed=seed)  # type: ignore[no-untyped-call]
        return [self.space.decode_decision(x) for x in engine.draw(count, dtype=torch.float64)]

    @property
    def takes_pairs(self) -> bool:
        """Whether its objective looks at all pairs of contexts, so that its cost grows with their square."""
        return self.kind == "Robust" and isinstance(self.objective.divergence, ww.Wasserstein | ww.MMD)

    @cached_property
    def truth(self) -> Truth:
        """The truth of decisions under what is given."""
        plain = self.kind in ("Expected", "CVaR")
        return Truth.of(self, PLAIN if plain else MOVED if self.takes_pairs else SORTED)

    @cached_property
    def best(self) -> tuple[dict[str, Any], float, float]:
        """The best decision, its true value, and how far above the average decision it lies."""
        return best_decision(self)


@dataclass(frozen=True, eq=False)
class Truth:
    """True contexts as columns, and the objective bound to them."""

    problem: Problem
    columns: Columns
    reduction: Callable[[torch.Tensor], torch.Tensor]

    @staticmethod
    def of(problem: Problem, count: int) -> Truth:
        """Return the truth on `count` quasi-random contexts, and the reach points of the problem's context model."""
        space = problem.space
        u = torch.quasirandom.SobolEngine(problem.width, scramble=True, seed=1).draw(count, dtype=torch.float64)  # type: ignore[no-untyped-call]
        columns = problem.nature(np.clip(u.numpy(), 1e-7, 1.0 - 1e-7), problem.given)
        points = encoded(space, columns)
        contexts = ww.Contexts(points, torch.full((count,), 1.0 / count, dtype=torch.float64))
        reach = elsewhere(problem)
        if reach:
            none = torch.zeros(0, space.context_width, dtype=torch.float64)
            contexts = with_elsewhere(contexts, space, none, space.encode_given(dict(problem.given)), reach)
            columns = join([columns, decoded(space, contexts.points[count:])])
        return Truth(problem, columns, problem.objective.bind(ww.Situation(contexts)))

    def f(self, decisions: Sequence[Values]) -> Array:
        """Return f of each decision on each context; `"m n"`."""
        return np.asarray(self.problem.f(upright(decisions), self.columns), dtype=float)

    def values(self, decisions: Sequence[Values], block: int = 64) -> Array:
        """Return the true objective of each decision, in the problem's own direction; `"m"`."""
        sign = self.problem.sign
        parts = [
            sign * self.reduction(torch.from_numpy(sign * self.f(decisions[i : i + block]))).numpy()
            for i in range(0, len(decisions), block)
        ]
        return np.concatenate(parts)

    def value(self, decision: Values) -> float:
        """Return the true objective of one decision."""
        return float(self.values([decision])[0])


def elsewhere(problem: Problem) -> int:
    """Return how many reach points of weight zero the problem's context model has."""
    return int(problem.model.elsewhere) if problem.kind not in ("Expected", "CVaR") else 0


def best_decision(problem: Problem) -> tuple[dict[str, Any], float, float]:
    """Return the best decision found, its true value, and its distance to the mean over the box.

    Sobol points are ranked with few contexts; the best of them climb by random steps that shrink, all with the full truth at
    the end.
    """
    screened, roughly, climbers, rounds, steps = PAIRS_SEARCH if problem.takes_pairs else SEARCH
    chance, sign, space = np.random.default_rng(0), problem.sign, problem.space
    rough = Truth.of(problem, roughly)
    decisions = problem.sobol_decisions(screened)
    values = sign * rough.values(decisions)
    average = float(values.mean())
    leaders = [decisions[i] for i in np.argsort(-values)[:climbers]]
    ends = []
    for leader in leaders:
        here, height, size = leader, -np.inf, 0.1
        for _ in range(rounds):
            x = space.encode_decisions([here])
            moved = x + size * torch.from_numpy(chance.standard_normal((steps, x.shape[1])))
            nearby = [here, *(space.decode_decision(row) for row in space.snap(moved))]
            found = sign * rough.values(nearby)
            place = int(found.argmax())
            size = size * (1.3 if found[place] > height + 1e-12 and place else 0.7)
            here, height = nearby[place], float(found[place])
        ends.append(here)
    true = sign * problem.truth.values(ends)
    place = int(true.argmax())
    return ends[place], sign * float(true[place]), abs(float(true[place]) - average)


def upright(decisions: Sequence[Values]) -> Columns:
    """Return decisions as columns `"m 1"`, to broadcast against contexts."""
    return {name: np.array([decision[name] for decision in decisions])[:, None] for name in decisions[0]}


def join(parts: Sequence[Columns]) -> Columns:
    """Return columns one below the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def encoded(space: ww.Space, columns: Columns) -> torch.Tensor:
    """Return contexts as the library's points; `"n k"`."""
    blocks = [parameter.to_own(columns[name].tolist()) for name, parameter in space.context.items()]
    return torch.from_numpy(np.concatenate(blocks, axis=1))


def decoded(space: ww.Space, points: torch.Tensor) -> Columns:
    """Return the library's points as columns of contexts."""
    rows = [space.decode_context(point) for point in points]
    return {name: np.array([row[name] for row in rows]) for name in space.context}


# -- what contexts are made of: quantile functions of uniform numbers -------------------------------------------------


def fixed(given: Values, name: str, column: Array) -> Array:
    """Return the column, or what is given of it in each row."""
    return np.full(len(column), given[name]) if name in given else column


def normal(u: Array, mean: float = 0.0, deviation: float = 1.0) -> Array:
    """Return normal quantiles."""
    return mean + deviation * special.ndtri(u)


def lognormal(u: Array, median: float, deviation: float) -> Array:
    """Return lognormal quantiles."""
    return median * np.exp(deviation * special.ndtri(u))


def gamma(u: Array, shape: float, mean: float) -> Array:
    """Return gamma quantiles."""
    return special.gammaincinv(shape, u) * mean / shape


def student(u: Array, tail: float, middle: float, scale: float) -> Array:
    """Return Student quantiles."""
    return middle + scale * stats.t.ppf(u, tail)


def heavy(u: Array, tail: float, median: float, scale: float) -> Array:
    """Return log-Student quantiles: far tails, cut at exp(4) times the median."""
    return median * np.exp(np.clip(student(u, tail, 0.0, scale), -4.0, 4.0))


def poisson(u: Array, mean: float) -> Array:
    """Return Poisson quantiles, as whole numbers."""
    return stats.poisson.ppf(u, mean).astype(int)


def two_humps(u: Array, share: float, one: tuple[float, float], other: tuple[float, float]) -> Array:
    """Return normal contexts around one place in a `share` of the cases and around another in the rest."""
    first = u < share
    inside = np.clip(np.where(first, u / share, (u - share) / (1.0 - share)), 1e-9, 1.0 - 1e-9)
    return np.where(first, normal(inside, *one), normal(inside, *other))


def category(u: Array, shares: Mapping[str, float]) -> Array:
    """Return categories with these shares."""
    names = np.array(list(shares))
    return names[np.searchsorted(np.cumsum(list(shares.values()))[:-1], u, side="right")]


def by(column: Array, table: Mapping[str, float]) -> Array:
    """Return a number for each category, in the column's shape."""
    found = np.zeros(column.shape)
    for name, number in table.items():
        found = np.where(column == name, number, found)
    return found


def logistic(z: Array) -> Array:
    """Return 1 / (1 + exp(-z))."""
    return special.expit(z)
