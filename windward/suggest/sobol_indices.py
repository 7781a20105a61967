"""How much of the variation of f each decision and context accounts for: Sobol indices from tables of f.

    first_k = Var(E[f | z_k]) / Var(f)                what is known once z_k is known
    total_k = E[Var(f | all but z_k)] / Var(f)        what is left once all but z_k is known
    pair_jk = Var(E[f | z_j, z_k]) / Var(f) - first_j - first_k

z are the decisions, even over their ranges, and the contexts as they come. For each input f is looked at on a table of some
levels of it times the same points of all others, so that an input without influence has none. Levels of a range are
the nodes of Gauss and Legendre; those of contexts are drawn from the contexts that advice is judged on. Contexts that come
together are one input: of what they share nobody can say which of them it is due to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.contexts.density import space_filling_order
from windward.contexts.weighted import sobol
from windward.search.region import Region
from windward.space import Space, Value

# Levels of a range, and of contexts.
NODES, LEVELS = 10, 16
# Points of all decisions and of all contexts that each level meets; together no fewer than this, and decisions
# behind the variance.
DECISIONS, CONTEXTS, TOGETHER, SPREAD = 32, 24, 256, 512
# Contexts whose ranks, or shares, depend on each other by more than this are one input (a correlation, or its like).
DEPENDENT = 0.5
# Times as many decisions are drawn where constraints forbid some.
MORE = 8

Function = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Input:
    """A decision, or contexts that come together: which columns, their levels `"g w"`, and how likely each is `"g"`."""

    names: tuple[str, ...]
    role: str
    columns: Tensor
    levels: Tensor
    weights: Tensor

    @property
    def decides(self) -> bool:
        """Whether it is chosen rather than met."""
        return self.role == "decision"


@dataclass(frozen=True)
class Setting:
    """The inputs, and the points of decisions `"m d"` and weighted contexts at which each level of one is looked at.

    `spread` are more decisions `"s d"`, for the variance; `unknown` is how many contexts the weights are worth, None where they
    are certain.
    """

    inputs: tuple[Input, ...]
    x: Tensor
    contexts: Contexts
    spread: Tensor
    unknown: float | None = None

    def redrawn(self, generator: torch.Generator) -> Setting:
        """Return the same with a draw of how often contexts may come; itself where that is certain."""
        unknown = self.unknown
        if unknown is None:
            return self
        met = Contexts(self.contexts.points, _redrawn(self.contexts.weights, unknown, generator))
        inputs = [
            one if one.decides else replace(one, weights=_redrawn(one.weights, unknown, generator))
            for one in self.inputs
        ]
        return replace(self, inputs=tuple(inputs), contexts=met)


@dataclass(frozen=True)
class Shares:
    """Indices of one function: `first` and `total` of each input `"u"`, and its mean at each level `"g"`."""

    first: Tensor
    total: Tensor
    effects: tuple[Tensor, ...]  # "g" each
    decisions: float  # of all decisions together, by themselves
    contexts: float
    deviation: float  # of f


def setting(space: Space, contexts: Contexts, given: Sequence[str], generator: torch.Generator) -> Setting:
    """Return where f is looked at; contexts that are given do not vary."""
    open_names = [name for name in space.context if name not in given]
    met = contexts
    if len(contexts) > CONTEXTS:
        met = Contexts.uniform(_spaced(contexts, CONTEXTS))
    count = max(DECISIONS, TOGETHER // len(met))
    inputs = [_decision(space, name) for name in space.decision]
    spread = _spread(space, inputs, max(SPREAD, count), generator).to(met.points)
    inputs += [_contexts(space, names, contexts) for names in _together(space, open_names, contexts)]
    worth = None if contexts.unknown is None else float(contexts.unknown.mass.sum())
    return Setting(tuple(each for each in inputs if len(each.levels) > 1), spread[:count], met, spread, worth)


def _decision(space: Space, name: str) -> Input:
    parameter, columns = space.decision[name], space.decision_columns[name]
    if parameter.continuous:
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        levels = torch.from_numpy(0.5 * (nodes + 1.0))[:, None]
        return Input((name,), "decision", _columns(columns), levels, torch.from_numpy(0.5 * weights))
    levels = torch.from_numpy(np.ascontiguousarray(parameter.options(LEVELS)))
    return Input((name,), "decision", _columns(columns), levels, torch.full((len(levels),), 1.0 / len(levels)).double())


def _spread(space: Space, decisions: Sequence[Input], count: int, generator: torch.Generator) -> Tensor:
    """Return decisions evenly over their ranges, each choice and whole number as often as another, within the constraints."""
    region = Region(space)
    u = sobol(len(decisions), count if not space.constraints else MORE * count, generator)
    x = torch.zeros(len(u), space.decision_width, dtype=torch.float64)
    for place, one in enumerate(decisions):
        if space.decision[one.names[0]].continuous:
            x[:, one.columns] = u[:, place, None]
        else:
            level = (u[:, place] * len(one.levels)).long().clamp_max(len(one.levels) - 1)
            x[:, one.columns] = one.levels[level]
    x = x[region.feasible(x)][:count] if space.constraints else x
    return x if len(x) >= count // 2 else region.points(count, generator)


def _contexts(space: Space, names: tuple[str, ...], contexts: Contexts) -> Input:
    columns = torch.cat([_columns(space.context_columns[name]) for name in names])
    own, places = torch.unique(contexts.points[:, columns.to(contexts.points.device)], dim=0, return_inverse=True)
    weights = torch.zeros(len(own), dtype=torch.float64, device=own.device).index_add_(0, places, contexts.weights)
    if len(own) > LEVELS:
        if len(names) > 1:
            own = _spaced(Contexts(own, weights), 2 * LEVELS)
        else:  # the middles of parts that are as likely
            steps = (torch.arange(LEVELS, dtype=torch.float64, device=own.device) + 0.5) / LEVELS
            own = own[torch.searchsorted(weights.cumsum(0), steps).clamp_max(len(own) - 1)]
        weights = torch.full((len(own),), 1.0 / len(own), dtype=torch.float64, device=own.device)
    return Input(names, "context", columns, own, weights)


def _spaced(contexts: Contexts, count: int) -> Tensor:
    """Return points by their weights, evenly along a curve through all of them; `"count k"`."""
    order = space_filling_order(contexts.points.cpu()).to(contexts.points.device)
    return Contexts(contexts.points[order], contexts.weights[order]).fewer(count).points


def _redrawn(weights: Tensor, worth: float, generator: torch.Generator) -> Tensor:
    """Return weights drawn about these, as sure of them as so many contexts are."""
    drawn = torch._standard_gamma(worth * weights.cpu(), generator=generator).clamp_min(torch.finfo(torch.float64).tiny)
    return (drawn / drawn.sum()).to(weights)


def _columns(where: slice) -> Tensor:
    return torch.arange(where.start, where.stop)


def shares_of(f: Function, at: Setting) -> Shares:
    """Return the indices of one function."""
    firsts, totals, effects = [], [], []
    with torch.no_grad():
        for one in at.inputs:
            effect, total = _varied(f, at, one)
            effects.append(effect)
            firsts.append(one.weights.to(effect) @ (effect - one.weights.to(effect) @ effect).square())
            totals.append(total)
        table = f(at.spread, at.contexts.points)
    by_decisions, by_contexts, whole = _two_ways(table, at.contexts.weights)
    scale = max(whole, torch.finfo(torch.float64).tiny)
    first, total = ((torch.stack(each) / scale).clamp(0.0, 1.0) for each in (firsts, totals))
    return Shares(first, total, tuple(effects), by_decisions / scale, by_contexts / scale, math.sqrt(scale))


def _two_ways(table: Tensor, weights: Tensor) -> tuple[float, float, float]:
    """Return the variance of the means of rows of a table `"m n"`, that of its weighted columns, and that of all."""
    rows, columns = table @ weights, table.mean(0)
    mean = rows.mean()
    rest = float((table - rows[:, None] - columns + mean).square().mean(0) @ weights)
    by_rows, by_columns = float(rows.var(correction=0)), float(weights @ (columns - mean).square())
    return by_rows, by_columns, by_rows + by_columns + rest


def pair_variance(f: Function, at: Setting, one: Input, other: Input) -> Tensor:
    """Return the variance that two inputs account for together, beyond what each does by itself."""
    with torch.no_grad():
        table = _table(f, at, (one, other))
    averaged = table.mean(-2) @ at.contexts.weights
    p, q = one.weights.to(averaged), other.weights.to(averaged)
    left, right = averaged @ q, p @ averaged
    beyond = averaged - left[:, None] - right + p @ left
    return p @ beyond.square() @ q


def _varied(f: Function, at: Setting, one: Input) -> tuple[Tensor, Tensor]:
    """Return the mean of f at each level of an input `"g"`, and E[Var(f | the others)]."""
    table = _table(f, at, (one,))
    p = one.weights.to(table)
    spread = torch.einsum("g,gmn->mn", p, (table - torch.einsum("g,gmn->mn", p, table)).square())
    return table.mean(-2) @ at.contexts.weights, spread.mean(0) @ at.contexts.weights


def _table(f: Function, at: Setting, varied: tuple[Input, ...]) -> Tensor:
    """Return f at every combination of the levels of some inputs, with every point of the others; `"*g m n"`."""
    x, points = at.x[None], at.contexts.points[None]
    sizes: list[tuple[bool, int]] = []
    for one in varied:
        sizes.append((one.decides, len(one.levels)))
        if one.decides:
            x = _replaced(x, one)
        else:
            points = _replaced(points, one)
    values = f(x.flatten(0, -2), points.flatten(0, -2))
    decided = [size for decides, size in sizes if decides]
    met = [size for decides, size in sizes if not decides]
    table = values.reshape(*decided, len(at.x), *met, len(at.contexts))
    front = [len(decided) + 1 + place for place in range(len(met))]
    order = {True: list(range(len(decided))), False: front}
    places = [order[decides].pop(0) for decides, _ in sizes]
    return table.permute(*places, len(decided), table.ndim - 1)


def _replaced(rows: Tensor, one: Input) -> Tensor:
    """Return rows `"*g m w"` with some columns at each level: `"*g h m w"`."""
    rows = rows[0] if rows.shape[0] == 1 and rows.ndim == 3 else rows
    wide = rows[..., None, :, :].expand(*rows.shape[:-2], len(one.levels), *rows.shape[-2:]).clone()
    wide[..., one.columns.to(rows.device)] = one.levels.to(rows)[:, None]
    return wide


def _together(space: Space, names: Sequence[str], contexts: Contexts) -> list[tuple[str, ...]]:
    """Return the contexts in groups that do not depend strongly on each other."""
    groups = [{name} for name in names]
    for one, other in itertools.combinations(names, 2):
        if dependence(space, one, other, contexts) > DEPENDENT:
            first, second = (next(group for group in groups if name in group) for name in (one, other))
            if first is not second:
                first |= second
                groups.remove(second)
    return [tuple(name for name in names if name in group) for group in groups]


def dependence(space: Space, one: str, other: str, contexts: Contexts) -> float:
    """Return how strongly two contexts depend on each other, 0 to 1: the largest correlation between their columns.

    Numbers count by their ranks, what comes round by sine and cosine, categories by which choice it is.
    """
    weights = contexts.weights.cpu()
    if float(1.0 / weights.square().sum()) < 8:  # so few contexts always seem to depend on each other
        return 0.0
    first, second = (_standardized(_features(space, name, contexts), weights) for name in (one, other))
    # The largest canonical correlation: 1 where a column of the one is a sum of columns of the other.
    within = [_root(each.T @ (weights[:, None] * each)) for each in (first, second)]
    cross = within[0] @ (first.T @ (weights[:, None] * second)) @ within[1].T
    return float(torch.linalg.svdvals(cross).max().clamp_max(1.0)) if cross.numel() else 0.0


def _features(space: Space, name: str, contexts: Contexts) -> Tensor:
    columns = contexts.points[:, space.context_columns[name]].cpu()
    if space.context[name].choices:
        return columns[:, 1:]
    if name in space.circles:
        angle = 2.0 * math.pi * columns / space.circles[name]
        return torch.cat([angle.sin(), angle.cos()], dim=1)
    order = columns[:, 0].argsort()
    ranks = torch.empty(len(columns), dtype=torch.float64)
    mass = contexts.weights.cpu()[order].cumsum(0)
    _, places = torch.unique(columns[order, 0], return_inverse=True)
    last = torch.zeros(int(places.max()) + 1, dtype=torch.float64).scatter_reduce(0, places, mass, "amax")
    ranks[order] = last[places]
    return ranks[:, None]


def _standardized(columns: Tensor, weights: Tensor) -> Tensor:
    centred = columns - weights @ columns
    spread = (weights @ centred.square()).sqrt()
    return (centred / spread.clamp_min(1e-12))[:, spread > 1e-9]


def _root(covariance: Tensor) -> Tensor:
    """Return a root of the inverse of a covariance `"w w"`; directions without spread are left out."""
    values, vectors = torch.linalg.eigh(covariance)
    kept = values > 1e-9
    root: Tensor = (vectors[:, kept] / values[kept].sqrt()).T
    return root


def values_of(space: Space, one: Input) -> tuple[Value, ...]:
    """Return the levels of a single decision or context in the user's units; none of contexts together."""
    if len(one.names) > 1:
        return ()
    parameter = (space.decision if one.decides else space.context)[one.names[0]]
    turned = parameter.from_unit if one.decides else parameter.from_own
    return tuple(turned(level.cpu().numpy()) for level in one.levels)
