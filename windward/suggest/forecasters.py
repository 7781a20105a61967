"""How good the forecasts of each context were, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import torch

from windward.basics import cards
from windward.basics.speech import and_list, counted, number, percent
from windward.contexts.forecast import (
    FEWEST,
    PastForecasts,
    correction,
    past_forecasts,
    scores,
    shares,
    weighted_quantiles,
)
from windward.space import measure_of
from windward.trials.trials import Trials

# The range that outcomes are counted in.
RANGE = 0.8
# So rare a count, where the ranges are right, is called too narrow or too wide; so rare a mean error, too high or too low.
RARE = 0.02
# Shares of what is made of a forecast that are told.
TOLD = 0.05


@dataclass(frozen=True)
class Forecaster:
    """How good past forecasts of one context were, those of points apart from all others.

    `inside` of the `judged` outcomes fell into the 80 % range of their forecast, `expected` were expected to; for a category
    `inside` counts how often the most probable choice came; for points, which have no range, both are None. `bias` is by how
    much outcomes lay above their forecasts on average, None for a category. `score` is the mean CRPS (for a category the Brier
    score) of the forecasts, `usual_score` that of what usually comes; lower is better. `shares` say what the next forecast
    is made of: `given`, `corrected` and `usual`.
    """

    context: str
    kind: Literal["number", "category", "point"]
    judged: int
    inside: int | None
    expected: float | None
    bias: float | None
    score: float | None
    usual_score: float | None
    shares: dict[str, float]
    sentences: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the sentences."""
        return cards.card(f"Forecasts of {self.context}", cards.lines(self.sentences))


def forecasters(trials: Trials) -> tuple[Forecaster, ...]:
    """Return how good the forecasts of each context were that have been followed by what came."""
    found = []
    for name in trials.space.context:
        for pointed in (False, True):
            past = past_forecasts(trials.space, trials, name, pointed=pointed)
            if len(past):
                found.append(_judged(name, past))
    return tuple(found)


def _judged(name: str, past: PastForecasts) -> Forecaster:
    category = bool(past.parameter.choices)
    inside, expected = (None, None) if past.pointed else _chosen(past) if category else _in_range(past)
    bias = None if category else _bias(past)
    enough = len(past) >= FEWEST
    means = scores(past).mean(-1).tolist() if enough else None
    used = shares(past).tolist()
    candidates = ("given", "usual") if past.pointed else ("given", "corrected", "usual")
    taken = {"given": 0.0, "corrected": 0.0, "usual": 0.0} | dict(zip(candidates, used, strict=True))
    kind: Literal["number", "category", "point"] = "point" if past.pointed else "category" if category else "number"
    numbers = (inside, expected, None if bias is None else bias[0])
    score, usual = (None, None) if means is None else (means[0], means[-1])
    said = _said(name, past, numbers, bias is not None and bias[1], (score, usual), taken)
    return Forecaster(name, kind, len(past), *numbers, score, usual, taken, said)


def _in_range(past: PastForecasts) -> tuple[int, float]:
    at = torch.tensor([0.5 - RANGE / 2, 0.5 + RANGE / 2], dtype=torch.float64)
    even = torch.full((past.said.shape[1],), 1.0 / past.said.shape[1], dtype=torch.float64)
    ends = torch.stack([weighted_quantiles(table, even, at) for table in past.said])
    return int(((past.came >= ends[:, 0]) & (past.came <= ends[:, 1])).sum()), RANGE * len(past)


def _chosen(past: PastForecasts) -> tuple[int, float]:
    most = past.said.argmax(-1)
    return int((most == past.came.argmax(-1)).sum()), float(past.said.amax(-1).sum())


def _bias(past: PastForecasts) -> tuple[float, bool]:
    """Return the mean error in the user's units (of a context on a log scale, as a factor less one), and whether it is rare."""
    errors = past.came - (past.said if past.pointed else past.said.mean(-1))
    mean, count = float(errors.mean()), len(errors)
    deviation = float(errors.std(correction=1)) if count > 1 else 0.0
    edge = NormalDist().inv_cdf(1.0 - RARE / 2) * deviation / math.sqrt(count)
    return math.expm1(mean) if past.parameter.log else mean, count >= FEWEST and abs(mean) > edge


def _said(
    name: str,
    past: PastForecasts,
    numbers: tuple[int | None, float | None, float | None],
    off: bool,
    means: tuple[float | None, float | None],
    taken: dict[str, float],
) -> tuple[str, ...]:
    inside, expected, bias = numbers
    said = [_counted(name, past, inside, expected)]
    if bias is not None and off:
        by = percent(abs(bias)) if past.parameter.log else measure_of(past.parameter).text(abs(bias))
        said.append(f"They were {by} too {'low' if bias > 0 else 'high'} on average.")
    score, usual = means
    if score is not None and usual is not None and usual > 0.0:
        better = (
            f"{percent(1.0 - score / usual)} less than"
            if score < usual
            else f"{percent(score / usual - 1.0)} more than"
        )
        said.append(f"They missed by {better} what usually comes would have.")
    said.append(_used(past, taken))
    return tuple(said)


def _counted(name: str, past: PastForecasts, inside: int | None, expected: float | None) -> str:
    count = len(past)
    if inside is None or expected is None:
        return (
            f"Forecasts of {name}: {counted(count, 'point')} {'was' if count == 1 else 'were'} followed by what came."
        )
    if past.parameter.choices:
        came = f"Forecasts of {name}: the most probable choice came {inside} of {counted(count, 'time')}"
        return f"{came}; {_expected(expected)}."
    fell = f"Forecasts of {name}: {inside} of {counted(count, 'outcome')} fell into the 80 % range"
    said = f"{fell}; {_expected(expected)}"
    few, many = _chances(inside, count)
    if count >= FEWEST and few < RARE:
        # Errors of one size speak of the place of the ranges, not of their width: the correction moves and narrows them.
        how = "are too narrow" if float(correction(past).stretch) > 1.0 else "lie in the wrong place"
        return f"{said}, so the ranges {how}."
    return f"{said}, so the ranges are too wide." if count >= FEWEST and many < RARE else f"{said}."


def _expected(count: float) -> str:
    return f"{count:.0f} {'was' if round(count) == 1 else 'were'} expected"


def _chances(inside: int, count: int) -> tuple[float, float]:
    """Return the probabilities of so few in the range, and of so many, where the ranges are right."""
    mass = [math.comb(count, i) * RANGE**i * (1.0 - RANGE) ** (count - i) for i in range(count + 1)]
    return math.fsum(mass[: inside + 1]), math.fsum(mass[inside:])


def _used(past: PastForecasts, taken: dict[str, float]) -> str:
    """Return what becomes of the next forecast."""
    if len(past) < FEWEST:
        rest = FEWEST - len(past)
        if past.pointed:
            return (
                f"How far they miss is learnt once {FEWEST} outcomes have come, {rest} more than now; until then they are "
                "taken to miss by as much as the context usually varies."
            )
        return f"They are judged once {FEWEST} outcomes have come, {rest} more than now; until then they are used as given."
    words = {"given": "as it is given", "usual": "by what usually comes"}
    if past.pointed:
        words["given"] = "with the errors of those before"
    else:
        words["corrected"] = _correction(past)
    ranked = sorted(((share, words[candidate]) for candidate, share in taken.items() if share >= TOLD), reverse=True)
    used = ranked[0][1] if len(ranked) == 1 else and_list([f"{how} ({percent(share)})" for share, how in ranked])
    return f"The next one is used {used}."


def _correction(past: PastForecasts) -> str:
    if past.parameter.choices:
        return "with its chances corrected"
    made = correction(past)
    wider = f"{number(float(f'{float(made.stretch):.2g}'))} times as wide"
    if past.parameter.log:
        return f"times {number(math.exp(float(made.shift)))}, {wider}"
    moved = float(f"{float(made.shift):.3g}")
    return f"{measure_of(past.parameter).text(abs(moved))} {'higher' if moved > 0 else 'lower'}, {wider}"
