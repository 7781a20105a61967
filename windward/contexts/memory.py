"""How much older contexts count: a half-life, given or learnt.

A half-life h gives a context of age a (how many came after it, or how much time) the weight 2^(-a / h). The weights of
t contexts are then worth n = 1 / sum w^2 contexts. Silverman's bandwidth is taken at n, from the weighted deviation; that is
at least 5 % of the whole history's, so that a quiet week does not count as certainty.

Learnt: each half-life of {none, 50, 20, 10, 5} is judged by how well it would have predicted each context from those before,

    score = log(0.95 density + 0.05 broad),    broad: a normal of twice the history's deviation

and the distribution is the mixture of all five by their probabilities. Without the broad part a single outlier would
decide. A category's density is (n share + 1 / K) / (n + 1). What was given before the decision is not predicted: the rest
is, given that. The probabilities start from 0.7 for none. After each context a share of 1 % goes back to where they
started, so that a world that stood still for long may begin to move.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.contexts.circle import phases_of
from windward.contexts.density import NORMAL_QUARTILES, bandwidths, conditional_weights
from windward.contexts.weighted import LEAST_WEIGHT
from windward.space.space import Given, Space
from windward.trials.trials import Trials

# Contexts, a length of time, "learnt", or None where nothing is forgotten.
HalfLife: TypeAlias = float | timedelta | str | None

# The half-lives that are learnt from, in contexts, and what is believed of each before anything is seen.
LEARNT = (math.inf, 50.0, 20.0, 10.0, 5.0)
NEVER = 0.7
# The share of the probabilities that goes back to where they started after each context.
BACK = 0.01
# Scores begin with the fifth context, and only the last few hundred are looked at: what was before says nothing of now.
FIRST, LAST = 4, 512
# The part of a score that stands for what no half-life expects, and its deviation beside the history's.
BROAD, WIDER = 0.05, 2.0
# A bandwidth's deviation is at least this share of the whole history's.
LEAST_SPREAD = 0.05

# A thousand years, in seconds.
LONGEST = 1000 * 365.25 * 86400.0
_UNITS = {"minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 7 * 86400.0}
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(minute|hour|day|week)s?\s*")


def checked_half_life(call: str, value: object) -> HalfLife:
    """Return a half-life: contexts, a length of time, `"learnt"` or None; a text such as `"30 days"` becomes a time."""
    return checked_span(call, "half_life", value, "contexts")


def checked_span(call: str, field: str, value: object, counted: str, *, least: float = 0.0) -> HalfLife:
    """Return a number of what is `counted`, a length of time, `"learnt"` or None; `"30 days"` becomes a time."""
    if value is None or (isinstance(value, str) and value == "learnt"):
        return value
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        found = _TIME.fullmatch(value)
        if found is None:
            raise ArgumentError(
                f'{call}({field}={shown(value)}): give a number of {counted}, a time such as "30 days", "learnt" or None.'
            )
        seconds = float(found[1]) * _UNITS[found[2]]
    else:
        return arguments.number(call, field, value, low=least, open_low=least == 0.0)
    if not 1.0 <= seconds <= LONGEST:
        raise ArgumentError(f"{call}({field}={shown(value)}): a time must be at least a second, at most 1000 years.")
    return timedelta(seconds=seconds)


@dataclass(frozen=True, eq=False)
class Recall:
    """How much the seen contexts count: a row for each half-life that is believed in.

    `weights` `"h t"` sum to one altogether; `widths` `"h k"` are the bandwidths that go with each row.
    """

    weights: Tensor
    widths: Tensor

    @property
    def mixed(self) -> Tensor:
        """The weights of the seen contexts over all half-lives; `"t"`."""
        return self.weights[0] if len(self.weights) == 1 else self.weights.sum(0)


def recall(space: Space, trials: Trials, seen: Tensor, given: Given, half_life: HalfLife) -> Recall:
    """Return how much the contexts in `seen` `"t k"` count, those of `trials.seen_contexts`, given a part of the next one."""
    if len(seen) == 0:
        return Recall(torch.ones(1, 0, dtype=torch.float64), torch.zeros(1, seen.shape[1], dtype=torch.float64))
    if half_life is None or len(seen) < 2:  # one context, or none, is all there is to remember
        return Recall(conditional_weights(space, seen, given)[None], bandwidths(space, seen)[None])
    weights, shares = _remembered(space, trials, seen, half_life)
    widths = spreads(space, seen, weights) * _silverman(space, weights)[:, None]
    base = shares[:, None] * weights
    kept = torch.where(base < LEAST_WEIGHT * base.max(), torch.zeros_like(base), base)
    return Recall(_conditional(space, seen, given, kept, widths), widths)


def half_life_shares(space: Space, trials: Trials, seen: Tensor) -> Tensor:
    """Return the probability of each half-life of `LEARNT`, by how well it would have predicted so far; `"h"`."""
    return learnt_shares(scores(space, seen[_in_order(trials)], trials.seen_given[_in_order(trials)]))[-1]


def _remembered(space: Space, trials: Trials, seen: Tensor, half_life: HalfLife) -> tuple[Tensor, Tensor]:
    """Return the weights of the seen contexts by each half-life, `"h t"`, and the half-lives' probabilities, `"h"`."""
    lives: tuple[float, ...] = LEARNT
    ages, shares = trials.seen_ages, torch.ones(1, dtype=torch.float64)
    if half_life == "learnt":
        shares = half_life_shares(space, trials, seen)
    elif isinstance(half_life, timedelta):
        lives, ages = (half_life.total_seconds() / 86400.0,), trials.seen_days
    else:
        assert isinstance(half_life, float)
        lives = (half_life,)
    weights = torch.exp2(-ages / torch.tensor(lives, dtype=torch.float64)[:, None])
    return weights / weights.sum(-1, keepdim=True), shares


def _in_order(trials: Trials) -> Tensor:
    """Return the places of the seen contexts, the oldest first; `"t"`."""
    return trials.seen_ages.argsort(descending=True)


def _conditional(space: Space, seen: Tensor, given: Given, base: Tensor, widths: Tensor) -> Tensor:
    """Return weights `"h t"` given a part of the next context: each half-life's density counts with its own bandwidths."""
    log_weights = base.log()
    for name, parameter in space.context.items():
        columns = space.context_columns[name]
        if not bool(given.known[columns].any()):
            continue
        mine, width = given.values[columns][None], widths[:, columns][:, :1]
        if parameter.choices:
            same = (seen[:, columns] == mine).all(-1)
            if bool((same & torch.isfinite(log_weights)).any()):
                log_weights = log_weights.masked_fill(~same, -torch.inf)
        elif bool((width > 0.0).all()):
            log_weights = log_weights + _log_kernel(space, name, mine, seen[:, columns], width)
    return torch.softmax(log_weights.flatten(), dim=0).reshape(base.shape)


def _log_normal(gap: Tensor, width: Tensor) -> Tensor:
    """Return the logarithm of a normal density of deviation `width`; far out it is as low as can be."""
    return -0.5 * (gap / width).clamp(-1e100, 1e100).square() - width.log() - 0.5 * math.log(2.0 * math.pi)


def _log_kernel(space: Space, name: str, mine: Tensor, seen: Tensor, width: Tensor) -> Tensor:
    """Return the logarithm of the density at `mine` `"m *"` of a kernel around each seen context `"t *"`; `"m t"`.

    `width` is `"m 1"`. Around a circle the kernel is wrapped; three turns are enough, since widths are below the radius.
    """
    if name not in space.circles:
        return _log_normal(mine - seen[:, 0], width)
    period = space.circles[name]
    apart = (phases_of(period, mine)[:, None] - phases_of(period, seen) + 0.5 * period).remainder(period) - 0.5 * period
    return torch.logsumexp(torch.stack([_log_normal(apart + turn * period, width) for turn in (-1, 0, 1)]), dim=0)


def _silverman(space: Space, weights: Tensor) -> Tensor:
    """Return Silverman's factor for weights `"*b t"`, by how many contexts they are worth; `"*b"`."""
    k = sum(not parameter.choices for parameter in space.context.values())
    worth = 1.0 / weights.square().sum(-1)
    return float((4.0 / (k + 2)) ** (1.0 / (k + 4))) * worth ** (-1.0 / (k + 4))


def spreads(space: Space, seen: Tensor, weights: Tensor) -> Tensor:
    """Return the deviation of each column by weights `"*b t"`, as `bandwidths` takes it, zero for categories; `"*b k"`.

    At least 5 % of what it is by the contexts with any weight, all alike.
    """
    alike = (weights > 0).to(weights)
    whole = _spreads(space, seen, alike / alike.sum(-1, keepdim=True))
    return torch.maximum(_spreads(space, seen, weights), LEAST_SPREAD * whole)


def _spreads(space: Space, seen: Tensor, weights: Tensor) -> Tensor:
    found = torch.zeros(*weights.shape[:-1], seen.shape[1], dtype=torch.float64)
    for name, parameter in space.context.items():
        if parameter.choices:
            continue
        columns = space.context_columns[name]
        apart = seen[:, columns] - seen[:, columns].mean(0)  # squares of large numbers would cancel
        square = weights @ apart.square().sum(-1) - (weights @ apart).square().sum(-1)
        deviation = square.clamp_min(0.0).sqrt()
        low, high = parameter.own_bounds()[0]
        if not math.isfinite(high - low):
            middle = _quartiles_apart(seen[:, columns][:, 0], weights) / NORMAL_QUARTILES
            deviation = torch.where(middle > 0.0, torch.minimum(deviation, middle), deviation)
        found[..., columns] = torch.where(_differ(seen[:, columns], weights), deviation, 0.0)[..., None]
    return found


def _differ(columns: Tensor, weights: Tensor) -> Tensor:
    """Return whether contexts `"t k"` with any weight `"*b t"` differ at all; `"*b"`. Equal ones deviate by rounding alone."""
    counted = weights > 0
    ends = [
        (torch.where(counted, column, torch.inf).amin(-1), torch.where(counted, column, -torch.inf).amax(-1))
        for column in columns.unbind(1)
    ]
    return torch.stack([low < high for low, high in ends]).any(0)


def _quartiles_apart(column: Tensor, weights: Tensor) -> Tensor:
    """Return the distance between the quartiles of a column `"t"` by weights `"*b t"`; `"*b"`."""
    order = column.argsort()
    ladder = weights[..., order].cumsum(-1)
    ends = torch.tensor([0.25, 0.75], dtype=torch.float64).expand(*weights.shape[:-1], 2).contiguous()
    places = torch.searchsorted(ladder.contiguous(), ends).clamp_max(len(column) - 1)
    low, high = column[order][places].unbind(-1)
    return high - low


def scores(space: Space, seen: Tensor, given: Tensor, lives: tuple[float, ...] = LEARNT) -> Tensor:
    """Return by how much each half-life expected each of the last contexts, as logarithms; `"m h"`.

    `seen` `"t k"` are in order, the oldest first; `given` `"t k"` says what was known of each beforehand.
    """
    t = len(seen)
    first = max(FIRST, t - LAST)
    if first >= t:
        return torch.zeros(0, len(lives), dtype=torch.float64)
    before = (torch.arange(first, t)[:, None] - 1 - torch.arange(t)).to(
        seen
    )  # how many came between; negative: not yet seen
    alike = (before >= 0).to(seen)
    broad = _log_broad(space, seen, given, alike / alike.sum(-1, keepdim=True), first)
    found = []
    for life in lives:
        weights = torch.where(before >= 0, torch.exp2(-before.clamp_min(0) / life), torch.zeros_like(before))
        weights = weights / weights.sum(-1, keepdim=True)
        found.append(torch.logaddexp(math.log1p(-BROAD) + _log_density(space, seen, given, weights, first), broad))
    return torch.stack(found, dim=-1)


def _log_broad(space: Space, seen: Tensor, given: Tensor, weights: Tensor, first: int) -> Tensor:
    """Return the logarithm of the broad part of each score, what was given left out; `"m"`."""
    total = torch.full((len(weights),), math.log(BROAD), dtype=torch.float64)
    deviations = WIDER * spreads(space, seen, weights)
    for name, parameter in space.context.items():
        columns = space.context_columns[name]
        if parameter.choices:
            found = torch.full_like(total, -math.log(len(parameter.choices)))
        elif name in space.circles:
            found = torch.full_like(total, -math.log(space.circles[name]))
        else:
            deviation = deviations[:, columns][:, 0]
            gap = seen[first:, columns][:, 0] - weights @ seen[:, columns][:, 0]
            found = torch.where(deviation > 0.0, _log_normal(gap, deviation), torch.zeros_like(gap))
        total = total + found * ~given[first:, columns].any(-1)
    return total


def _log_density(space: Space, seen: Tensor, given: Tensor, weights: Tensor, first: int) -> Tensor:
    """Return the logarithm of the density that weights `"m t"` put on the last contexts, given what was given; `"m"`."""
    widths = spreads(space, seen, weights) * _silverman(space, weights)[:, None]
    worth = 1.0 / weights.square().sum(-1, keepdim=True)
    whole = weights.log()
    part = whole
    for name, parameter in space.context.items():
        columns = space.context_columns[name]
        told, mine = given[first:, columns].any(-1), seen[first:, columns]
        if parameter.choices:
            same = (mine[:, None, :] == seen[:, columns]).all(-1).to(seen)
            # n share + 1 / K over n + 1, as a kernel of each context.
            kernel = ((worth * same + 1.0 / len(parameter.choices)) / (worth + 1.0)).log()
        else:
            width = widths[:, columns][:, :1]
            varies = width > 0.0
            kernel = _log_kernel(
                space, name, mine, seen[:, columns], torch.where(varies, width, torch.ones_like(width))
            )
            kernel = torch.where(varies, kernel, torch.zeros_like(kernel))
        whole = whole + kernel
        part = part + kernel * told[:, None]
    return torch.logsumexp(whole, -1) - torch.logsumexp(part, -1)


def learnt_shares(found: Tensor) -> Tensor:
    """Return the probabilities of the half-lives before the first score and after each one; `"m+1 h"`."""
    prior = torch.full((len(LEARNT),), (1.0 - NEVER) / (len(LEARNT) - 1), dtype=torch.float64)
    prior[0] = NEVER
    shares = [prior]
    for each in found:
        after = torch.softmax(shares[-1].log() + each, dim=0)
        shares.append((1.0 - BACK) * after + BACK * prior)
    return torch.stack(shares)
