"""The contexts of a forecast: each context as its pool says, dependent as ranks say, the rest drawn given these.

A pool says how one context is distributed. How several depend on each other is taken from ranks:

    u_ik = rank_ik / n,     c_ik = Q_k(u_ik),     Q_k the quantiles of the pool of context k

The ranks are those of samples that were forecast together; between separate forecasts those of past forecasts' errors, from
20 on, and before that those of contexts seen. What is neither given nor forecast comes from the context model, which is asked
once for each of some of these points as though they were given. So every context model works with a forecast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from windward.contexts.density import space_filling_order
from windward.contexts.forecast import Pooled, levels, past_forecasts, pooled, table, weighted_quantiles
from windward.contexts.judged import UNSEEN_MASS, with_unknown
from windward.contexts.weighted import ContextModel, Contexts, Foreseeing, Judging, merged, sobol, whole_where_integer
from windward.space.parameters import Parameter
from windward.space.space import Given, Space
from windward.trials.coming import Forecasts, grouped
from windward.trials.foretold import Forecast
from windward.trials.trials import Trials

# Points that stand for a forecast of the whole context; of a part, so many with some each for the rest.
POINTS, PARTS_OF, EACH = 128, 32, 4
# Past forecasts of the same contexts from which on the ranks of their errors couple separate ones.
ERRORS = 20
# Contexts seen whose ranks couple them before that.
SEEN, LATEST = 5, 500
# Past forecasts that a forecast is taken to be worth before any was judged.
WORTH = 10.0


@dataclass(frozen=True, eq=False)
class Foretold:
    """What a forecast makes of the coming context: the contexts, and the pool of each name."""

    contexts: Contexts
    pools: Mapping[str, Pooled]
    worth: float  # how many contexts seen its weights are worth

    def judged(self, usual: Contexts | None) -> Contexts:
        """Return the contexts with what is unknown of their weights; `usual` is what decisions are judged on without it.

        A forecast counts as much as the past ones that were judged, and a few before any was, but no more than its samples;
        one context's mass lies where contexts usually come.
        """
        points, mass = self.contexts.points, self.worth * self.contexts.weights
        if usual is None:
            return with_unknown(points, mass)
        possible = usual.weights > 0
        elsewhere = UNSEEN_MASS * usual.weights[possible]
        return with_unknown(torch.cat([points, usual.points[possible]]), torch.cat([mass, elsewhere]), len(elsewhere))


def made_of(
    model: ContextModel, space: Space, trials: Trials, given: Given, forecasts: Forecasts, generator: torch.Generator
) -> Foretold | None:
    """Return what a forecast makes of the coming context; None while there is nowhere to put a point."""
    usual = model(space, trials, given, generator)
    pools = {}
    for name, forecast in forecasts.items():
        alone = forecast.column(name)
        past = past_forecasts(space, trials, name, pointed=alone.point is not None)
        pools[name] = pooled(alone, past, _marginal(space, name, usual))
    made = _as_sampled(space, forecasts, pools) or _coupled(space, trials, forecasts, pools, generator)
    known = given.known.clone()
    for name in forecasts:
        known[space.context_columns[name]] = True
    made = merged(torch.where(given.known, given.values, made.points), made.weights)
    typed = [len(each.samples) for each in forecasts.values() if each.samples is not None and each.weights is None]
    worth = min([WORTH + min(pool.judged for pool in pools.values()), *typed])
    if bool(known.all()):
        return Foretold(_with_elsewhere(made, usual), pools, worth)
    if usual is None:
        return None
    order = space_filling_order(made.points)
    found = []
    for point in Contexts(made.points[order], made.weights[order]).fewer(PARTS_OF).points:
        rest = model(space, trials, Given(torch.where(known, point, 0.0), known), generator)
        assert rest is not None  # the model had somewhere to put a point with less given
        found.append(rest.fewer(EACH))
    shares = torch.cat([one.weights for one in found]) / len(found)
    return Foretold(_with_elsewhere(merged(torch.cat([one.points for one in found]), shares), usual), pools, worth)


def usually(model: ContextModel, space: Space, trials: Trials, given: Given, *, far: bool) -> Contexts | None:
    """Return the contexts that decisions are judged on without a forecast; None where the model has none of its own."""
    if far and isinstance(model, Foreseeing):
        return model.foreseen(space, trials, given)
    return model.judged(space, trials, given) if isinstance(model, Judging) else None


def _with_elsewhere(contexts: Contexts, usual: Contexts | None) -> Contexts:
    """Return the contexts and the points without weight to which an adversary may move mass."""
    if usual is None or bool((usual.weights > 0).all()):
        return contexts
    elsewhere = usual.points[usual.weights == 0]
    weights = torch.cat([contexts.weights, torch.zeros(len(elsewhere), dtype=torch.float64)])
    return Contexts(torch.cat([contexts.points, elsewhere]), weights)


def _marginal(space: Space, name: str, usual: Contexts | None) -> Tensor | None:
    """Return how a context usually comes: the quantiles of a number, the chances of a category."""
    if usual is None:
        return None
    columns = usual.points[:, space.context_columns[name]]
    if space.context[name].choices:
        return usual.weights @ columns
    return weighted_quantiles(columns[:, 0], usual.weights, levels())


def _as_sampled(space: Space, forecasts: Forecasts, pools: Mapping[str, Pooled]) -> Contexts | None:
    """Return the samples themselves, where one forecast by samples is all there is and is used as it was given."""
    ((names, forecast), *others) = grouped(forecasts)
    if others or forecast.samples is None or any(float(pool.shares[0]) < 1.0 for pool in pools.values()):
        return None
    points = torch.zeros(len(forecast.samples), space.context_width, dtype=torch.float64)
    for name in names:
        alone = forecast.column(name).samples
        assert alone is not None
        points[:, space.context_columns[name]] = torch.from_numpy(space.context[name].to_own(list(alone)))
    return Contexts(points, torch.tensor(forecast.shares, dtype=torch.float64))


def _coupled(
    space: Space, trials: Trials, forecasts: Forecasts, pools: Mapping[str, Pooled], generator: torch.Generator
) -> Contexts:
    """Return `POINTS` points with each forecast context as its pool says, dependent as ranks say; zero elsewhere."""
    names = list(forecasts)
    ranks = _ranks(space, trials, forecasts, generator)
    points = torch.zeros(POINTS, space.context_width, dtype=torch.float64)
    for place, name in enumerate(names):
        at, made = ranks[:, place], pools[name].table
        columns = space.context_columns[name]
        if space.context[name].choices:
            ladder = made.cumsum(0)
            choice = torch.searchsorted(ladder / ladder[-1], at.contiguous()).clamp_max(len(made) - 1)
            points[:, columns] = torch.nn.functional.one_hot(choice, len(made)).to(points)
        else:
            weights = torch.full_like(made, 1.0 / len(made))
            points[:, columns] = weighted_quantiles(made, weights, at)[:, None]
    return Contexts.uniform(whole_where_integer(space, points))


def _ranks(space: Space, trials: Trials, forecasts: Forecasts, generator: torch.Generator) -> Tensor:
    """Return the places of the points among those of each forecast context, even in (0, 1); `"POINTS names"`."""
    names = list(forecasts)
    if len(names) == 1:
        return levels(POINTS)[:, None]
    groups = grouped(forecasts)
    between = _even(*_template(space, trials, forecasts, generator), generator)
    found = between.clone()
    for group, forecast in groups:
        if not forecast.names:
            continue
        columns = [names.index(name) for name in group]
        # Samples that were forecast together keep their order; the group as a whole lies as the others' ranks say.
        own = _even(_numbers(space, group, forecast), torch.tensor(forecast.shares, dtype=torch.float64), generator)
        found[between[:, columns].mean(1).argsort()[:, None], torch.tensor(columns)] = own[own.mean(1).argsort()]
    return found


def _template(space: Space, trials: Trials, forecasts: Forecasts, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return rows `"r names"` whose ranks couple separate forecasts, and their weights `"r"`."""
    names = list(forecasts)
    rows = [t for t in trials.rows if all(n in t.forecast and n in t.context for n in names)][-LATEST:]
    if len(rows) >= ERRORS:
        found = torch.stack([torch.cat([_error(space, n, t.forecast[n], t.context[n]) for n in names]) for t in rows])
    elif trials.contexts_seen >= SEEN:
        found = torch.stack([_number(space, n, trials.seen_contexts[-LATEST:]) for n in names], dim=1)
    else:
        found = sobol(len(names), POINTS, generator)
    return found, torch.full((len(found),), 1.0 / len(found), dtype=torch.float64)


def _error(space: Space, name: str, forecast: Forecast, came: object) -> Tensor:
    """Return where among its forecast an outcome came, or by how much it missed a point; `"1"`."""
    parameter, alone = space.context[name], forecast.column(name)
    if parameter.choices:
        return _number(space, name, torch.from_numpy(parameter.to_own([came])), alone=True)
    outcome = torch.from_numpy(parameter.to_own([came]))[:, 0]
    if alone.point is not None:
        return outcome - torch.from_numpy(parameter.to_own([alone.point]))[:, 0]
    made = table(parameter, alone)
    return ((made < outcome).double().mean() + 0.5 * (made == outcome).double().mean())[None]


def _number(space: Space, name: str, points: Tensor, *, alone: bool = False) -> Tensor:
    """Return a context of points as one number each, a category as the place of its choice; `"n"`."""
    columns = points if alone else points[:, space.context_columns[name]]
    return columns.argmax(-1).double() if space.context[name].choices else columns[:, 0]


def _numbers(space: Space, names: Sequence[str], forecast: Forecast) -> Tensor:
    """Return the samples of a forecast of several contexts, a category as the place of its choice; `"n names"`."""
    assert forecast.samples is not None
    found = []
    for name in names:
        parameter: Parameter = space.context[name]
        values = torch.from_numpy(parameter.to_own([sample[name] for sample in forecast.samples]))
        found.append(_number(space, name, values, alone=True))
    return torch.stack(found, dim=1)


def _even(rows: Tensor, weights: Tensor, generator: torch.Generator) -> Tensor:
    """Return the ranks of weighted rows `"r m"` as `POINTS` rows of even places in (0, 1), equal numbers in random order."""
    ladder = weights.cumsum(0)
    place = torch.searchsorted(ladder / ladder[-1], levels(POINTS)).clamp_max(len(rows) - 1)
    jitter = sobol(rows.shape[1], POINTS, generator)
    dense = torch.stack([torch.unique(column, return_inverse=True)[1] for column in rows.unbind(1)], dim=1)
    return ((dense[place] + jitter).argsort(0).argsort(0).double() + 0.5) / POINTS
