"""Forecasts judged by what came, and pooled with a corrected copy and with what is usual.

A forecast of a number becomes a table of its quantiles at (i + 1/2) / 128, of a category the chances of its choices. Past
forecasts are judged by the continuous ranked probability score of the tables q, for a category by the Brier score:

    CRPS(q, y) = E|Q - y| - E|Q - Q'| / 2            Brier(p, y) = sum_k (p_k - [y = k])^2

From five past forecasts on, three candidates are mixed, j: the forecast as it was given; a copy corrected for past errors; and
climatology, the contexts as they usually come. Each past score is one that did not know its own outcome.

    w_j ~ exp(-2 sum_i CRPS_ij / s),     s the median of the candidates' mean scores

The corrected copy of a number is moved by the mean error b and stretched around its mean by l, with pseudo-errors that say
that the forecast is right; that of a category is p^b, b shrunk to 1:

    b = sum_i r_i / (n + 5)        l^2 = (10 + sum_i ((r_i - b) / s_i)^2) / (10 + n)        r_i = y_i - mean_i
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from windward.basics.errors import IncompatibleError
from windward.contexts.density import mixture_quantiles
from windward.contexts.known import Distribution
from windward.space.parameters import Parameter
from windward.space.space import Space
from windward.trials.foretold import Forecast
from windward.trials.trials import Trials

# Quantiles that stand for a forecast.
LEVELS = 128
# Past forecasts from which on they are judged, and the latest that are: a forecaster may change.
FEWEST, LATEST = 5, 200
# Pseudo-errors of the mean error and of the stretch.
SHIFTS, STRETCHES = 5.0, 10.0
# Candidates with less than this share are left out: a worst case looks at every point, however small its weight.
LEAST_SHARE = 0.02
# A forecast narrower than this share of what came before counts as that wide: it could not be stretched.
NARROWEST = 1e-3
# Exponents tried for the chances of a category, and the weight of their logarithm's square against a log score.
EXPONENTS = (0.25, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0, 2.8, 4.0)
SHRUNK = 2.0
# Chances are no smaller than this where they are scored.
LEAST_CHANCE = 1e-3
# Contexts seen that climatology is scored on.
MOST_SEEN = 1000


def levels(count: int = LEVELS) -> Tensor:
    """Return the probabilities (i + 1/2) / count; `"count"`."""
    return (torch.arange(count, dtype=torch.float64) + 0.5) / count


def crps(tables: Tensor, outcomes: Tensor) -> Tensor:
    """Return the scores of tables of ascending quantiles `"t n"` at outcomes `"t"`; `"t"`."""
    return (tables - outcomes[:, None]).abs().mean(-1) - _half_spread(tables)


def _half_spread(tables: Tensor) -> Tensor:
    """Return E|Q - Q'| / 2 of each table of ascending numbers `"t n"`; `"t"`."""
    n = tables.shape[-1]
    place = 2.0 * torch.arange(1, n + 1, dtype=tables.dtype) - n - 1.0
    return tables @ place / n**2


def brier(chances: Tensor, outcomes: Tensor) -> Tensor:
    """Return the scores of chances `"t k"` at one-hot outcomes `"t k"`; `"t"`."""
    return (chances - outcomes).square().sum(-1)


def weighted_quantiles(values: Tensor, weights: Tensor, at: Tensor) -> Tensor:
    """Return the quantiles of weighted numbers `"n"` at probabilities `"m"`; `"m"`."""
    ordered, order = values.sort()
    ladder = weights[order].cumsum(0)
    place = torch.searchsorted(ladder / ladder[-1], at.contiguous()).clamp_max(len(values) - 1)
    return ordered[place]


def own(parameter: Parameter, values: Sequence[object]) -> Tensor:
    """Return values of a number in own units; `"n"`."""
    return torch.from_numpy(parameter.to_own(list(values))[:, 0])


def table(parameter: Parameter, forecast: Forecast) -> Tensor:
    """Return a forecast of a number, no point, as its quantiles; `"LEVELS"`."""
    at = levels()
    low, high = parameter.own_bounds()[0]
    if forecast.samples is not None:
        shares = torch.tensor(forecast.shares, dtype=torch.float64)
        return weighted_quantiles(own(parameter, forecast.samples), shares, at)
    if forecast.quantiles is not None:
        found = _between(own(parameter, list(forecast.quantiles.values())), list(forecast.quantiles), at)
        return found.clamp(low, high)
    named = forecast.distribution
    values = Distribution(named.name, named.parameters).quantile(at)
    if parameter.low is not None:
        values = values.clamp_min(parameter.low)
    if not bool(torch.isfinite(values).all()) or (parameter.log and float(values.min()) <= 0.0):
        raise IncompatibleError(
            f"Forecast of {named.name!r} {dict(named.parameters)}: it gives values the context cannot have (a log of zero?)."
        )
    return own(parameter, values.tolist()).clamp(low, high)


def _between(values: Tensor, given: Sequence[float], at: Tensor) -> Tensor:
    """Return quantiles at probabilities `"m"`, linear in normal scores between those given and beyond them; `"m"`."""
    z = torch.special.ndtri(torch.tensor(given, dtype=torch.float64))
    wanted = torch.special.ndtri(at)
    right = torch.searchsorted(z, wanted).clamp(1, len(z) - 1)
    slope = (values[right] - values[right - 1]) / (z[right] - z[right - 1])
    found: Tensor = values[right - 1] + slope * (wanted - z[right - 1])
    return found


def chances(parameter: Parameter, forecast: Forecast) -> Tensor:
    """Return a forecast of a category, no point, as the chances of its choices; `"k"`."""
    if forecast.samples is not None:
        return torch.from_numpy(parameter.to_own(list(forecast.samples))).T @ torch.tensor(
            forecast.shares, dtype=torch.float64
        )
    assert forecast.chances is not None
    return torch.tensor([forecast.chances.get(choice, 0.0) for choice in parameter.choices], dtype=torch.float64)


# -- past forecasts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PastForecasts:
    """Past forecasts of one context beside what came, the latest `LATEST`, in order.

    Of a number `said` are tables `"t n"`, or points `"t"`, and `came` numbers `"t"` in own units; of a category `said` are
    chances `"t k"`, or the points one-hot, and `came` is one-hot. `seen` are all contexts that came, `"s"` or `"s k"`.
    """

    parameter: Parameter
    pointed: bool
    said: Tensor
    came: Tensor
    seen: Tensor

    def __len__(self) -> int:
        return len(self.came)


def past_forecasts(space: Space, trials: Trials, name: str, *, pointed: bool) -> PastForecasts:
    """Return the past forecasts of a context beside what came: the points, or all others."""
    parameter = space.context[name]
    rows = [
        trial
        for trial in trials.rows
        if name in trial.forecast and name in trial.context and (trial.forecast[name].point is not None) == pointed
    ][-LATEST:]
    forecasts = [trial.forecast[name].column(name) for trial in rows]
    came = torch.from_numpy(parameter.to_own([trial.context[name] for trial in rows]))
    seen = trials.seen_contexts[-MOST_SEEN:, space.context_columns[name]]
    if pointed:
        said = torch.from_numpy(parameter.to_own([each.point for each in forecasts]))
    elif forecasts:
        make = chances if parameter.choices else table
        said = torch.stack([make(parameter, each) for each in forecasts])
    else:
        said = torch.zeros(0, parameter.width if parameter.choices else LEVELS, dtype=torch.float64)
    if parameter.choices:
        return PastForecasts(parameter, pointed, said, came, seen)
    return PastForecasts(parameter, pointed, said[:, 0] if pointed else said, came[:, 0], seen[:, 0])


@dataclass(frozen=True)
class Correction:
    """What past errors say of a forecast of a number: it is moved by `shift` and stretched around its mean by `stretch`."""

    shift: Tensor
    stretch: Tensor

    def of(self, tables: Tensor, parameter: Parameter) -> Tensor:
        """Return corrected tables `"*t n"`."""
        mean = tables.mean(-1, keepdim=True)
        low, high = parameter.own_bounds()[0]
        return (mean + self.shift[..., None] + self.stretch[..., None] * (tables - mean)).clamp(low, high)


def widened(tables: Tensor, past: PastForecasts) -> Tensor:
    """Return tables `"*t n"`, those without a spread with a small one that can be stretched."""
    if len(past) == 0:
        return tables
    least = NARROWEST * float(past.came.std(correction=0))
    spread = tables.std(-1, correction=0, keepdim=True)
    return torch.where(spread < least, tables.mean(-1, keepdim=True) + least * torch.special.ndtri(levels()), tables)


def correction(past: PastForecasts, *, without: bool = False) -> Correction:
    """Return what all past errors say, `""` each; or `without` each of them in turn, `"t"` each."""
    if len(past) == 0:
        return Correction(torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64))
    tables = widened(past.said, past)
    r, inverse = past.came - tables.mean(-1), tables.var(-1, correction=0).clamp_min(1e-300).reciprocal()
    n = len(past) - without
    shift = (r.sum() - (r if without else 0.0)) / (n + SHIFTS)
    terms = [
        (inverse * power).sum() - (inverse * power if without else 0.0) for power in (r.square(), r, torch.ones_like(r))
    ]
    squares = terms[0] - 2.0 * shift * terms[1] + shift.square() * terms[2]
    return Correction(shift, ((STRETCHES + squares.clamp_min(0.0)) / (STRETCHES + n)).sqrt())


def exponent(past: PastForecasts) -> float:
    """Return the exponent that would have made past chances truest, drawn to 1."""
    found, best = 1.0, -torch.inf
    for b in EXPONENTS:
        right = (sharpened(past.said, b) * past.came).sum(-1).clamp_min(LEAST_CHANCE)
        score = float(right.log().sum()) - SHRUNK * torch.tensor(b).log().square().item()
        if score > best:
            found, best = b, score
    return found


def sharpened(chances: Tensor, power: float) -> Tensor:
    """Return chances `"*t k"` to a power, summing to one."""
    raised = chances.pow(power)
    total: Tensor = raised.sum(-1, keepdim=True)
    return raised / total


def usual_scores(past: PastForecasts) -> Tensor:
    """Return the scores at each outcome of all other contexts that came, taken as a forecast; `"t"`."""
    t = max(len(past.seen) - 1, 1)
    if past.parameter.choices:
        counts = past.seen.sum(0) - past.came
        return brier(counts / counts.sum(-1, keepdim=True).clamp_min(1.0), past.came)
    apart = (past.seen[None, :] - past.came[:, None]).abs().sum(-1)
    whole_spread = 2.0 * len(past.seen) ** 2 * float(_half_spread(past.seen.sort().values))
    return apart / t - 0.5 * (whole_spread - 2.0 * apart) / t**2


def scores(past: PastForecasts) -> Tensor:
    """Return the scores of the candidates at each outcome, none of which knew it: as given, corrected, usual; `"j t"`."""
    usual, n = usual_scores(past), len(past)
    if past.pointed and past.parameter.choices:
        right = (past.said * past.came).sum(-1)
        hit = ((right.sum() - right + 1.0) / (n + 1.0))[:, None]
        others = (1.0 - past.said) / (past.parameter.width - 1)
        return torch.stack([brier(hit * past.said + (1.0 - hit) * others, past.came), usual])
    if past.pointed:
        errors = past.came - past.said
        others = torch.stack([torch.cat([errors[:i], errors[i + 1 :]]) for i in range(n)]).sort(-1).values
        return torch.stack([crps(others, errors), usual])
    if past.parameter.choices:
        return torch.stack([brier(past.said, past.came), brier(sharpened(past.said, exponent(past)), past.came), usual])
    fixed = correction(past, without=True).of(widened(past.said, past), past.parameter)
    return torch.stack([crps(past.said, past.came), crps(fixed, past.came), usual])


def shares(past: PastForecasts) -> Tensor:
    """Return how much of each candidate the pool takes; all of the forecast as given before there are enough; `"j"`."""
    count = 2 if past.pointed else 3
    if len(past) < FEWEST:
        return torch.eye(count, dtype=torch.float64)[0]
    found = scores(past)
    scale = float(found.mean(-1).median())
    if scale <= 0.0:  # exact so far: whatever never missed
        return (found.sum(-1) <= 0.0).double() / (found.sum(-1) <= 0.0).double().sum()
    pooled = torch.softmax(-2.0 * found.sum(-1) / scale, dim=0)
    pooled = pooled.where(pooled >= LEAST_SHARE, 0.0)
    return pooled / pooled.sum()


# -- one forecast -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pooled:
    """A forecast of one context as it is used: its table or chances, what it is made of, and how many were judged."""

    table: Tensor
    shares: Tensor
    judged: int


def pooled(forecast: Forecast, past: PastForecasts, usual: Tensor | None) -> Pooled:
    """Return a forecast mixed with its corrected copy and with what is usual, a table or chances, where it is known."""
    parameter, taken = past.parameter, shares(past)
    if usual is None and float(taken[-1]) > 0.0:
        taken = torch.cat([taken[:-1], torch.zeros(1, dtype=torch.float64)])
        taken = taken / taken.sum() if float(taken.sum()) > 0.0 else torch.eye(len(taken), dtype=torch.float64)[0]
    if past.pointed:
        candidates = [around_point(forecast, past, usual)]
    elif parameter.choices:
        raw = chances(parameter, forecast)
        candidates = [raw, sharpened(raw, exponent(past))]
    else:
        raw = table(parameter, forecast)
        candidates = [raw, correction(past).of(widened(raw, past), parameter)]
    candidates.append(candidates[0] if usual is None else usual)
    used = [(c, float(share)) for c, share in zip(candidates, taken, strict=True) if float(share) > 0.0]
    if parameter.choices:
        mixed = torch.stack([share * c for c, share in used]).sum(0)
    elif len(used) == 1:
        mixed = used[0][0]
    else:
        weights = torch.cat([torch.full_like(c, share) for c, share in used])
        mixed = weighted_quantiles(torch.cat([c for c, _ in used]), weights, levels())
    return Pooled(mixed, taken, len(past))


def around_point(forecast: Forecast, past: PastForecasts, usual: Tensor | None) -> Tensor:
    """Return a point with the errors of past points around it; with the usual spread while there are too few."""
    parameter = past.parameter
    at = torch.from_numpy(parameter.to_own([forecast.point]))[0]
    if parameter.choices:
        hits = float((past.said * past.came).sum())
        rest = torch.ones_like(at) if usual is None else usual
        rest = rest * (1.0 - at)
        rest = rest if float(rest.sum()) > 0.0 else 1.0 - at
        hit = (hits + 1.0) / (len(past) + 2.0)
        return hit * at + (1.0 - hit) * rest / rest.sum()
    low, high = parameter.own_bounds()[0]
    if len(past) >= FEWEST:
        errors = past.came - past.said
        width = float(errors.std(correction=0)) * (4.0 / (3.0 * len(errors))) ** 0.2
        spread = (
            mixture_quantiles(errors, torch.full_like(errors, 1.0 / len(errors)), width, LEVELS)
            if width > 0.0
            else errors[:1]
        )
    else:
        spread = torch.zeros(1, dtype=torch.float64) if usual is None else usual - usual.mean()
    return (at + spread).expand(LEVELS).clamp(low, high)
