"""Contexts divided into cells: each choice of a category, each section of a circle, parts of a number's range."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from windward.basics.speech import Measure
from windward.contexts import Contexts
from windward.space import Space, Value, sectioned
from windward.space.parameters import Parameter

# From which value, left out, to which value, included; None where it is open.
Part: TypeAlias = tuple[float | None, float | None]
# Contexts seen for each part of a number's range, the fewest parts and the most; of two contexts together fewer parts.
SEEN_EACH, FEWEST, MOST = 8, 3, 8
# Whole numbers with no more values than this have a cell each.
FEW_VALUES = 7
# Ends of parts are rounded to about this share of the range that they divide.
ROUNDING = 0.02


@dataclass(frozen=True)
class Division:
    """One context divided into cells; `where` says of each what belongs to it, `labels` in words."""

    name: str
    where: tuple[Value | Part, ...]
    labels: tuple[str, ...]
    parameter: Parameter
    period: float | None = None

    def places(self, values: Sequence[Value]) -> list[int]:
        """Return in which cell each value is."""
        if self.period is not None:
            return sectioned(self.parameter, self.period, values)[1]
        if self.parameter.choices:
            place = {choice: at for at, choice in enumerate(self.where)}
            return [place[value] for value in values]
        ends = [part[1] for part in self.where if isinstance(part, tuple) and part[1] is not None]
        return [sum(float(value) > end for end in ends) for value in values]


def divided(space: Space, name: str, contexts: Contexts, seen: int, *, together: int = 1) -> Division:
    """Return a context divided into cells, `together` of them at once; numbers by where weighted `contexts` lie."""
    parameter, period = space.context[name], space.circles.get(name)
    if period is not None:
        sections, _ = sectioned(parameter, period, [])
        return Division(name, tuple(sections), tuple(str(each) for each in sections), parameter, period)
    if parameter.choices:
        labels = tuple(space.said(name, each) for each in parameter.choices)
        return Division(name, tuple(parameter.choices), labels, parameter)
    values = [float(space.decode_context(point)[name]) for point in contexts.points]
    ends = _ends(values, contexts.weights, max(FEWEST, min(MOST, seen // SEEN_EACH) // together), parameter.step)
    bounds = [None, *ends, None]
    parts = tuple(itertools.pairwise(bounds))
    return Division(name, parts, tuple(_said(part, parameter.step, space.measure(name)) for part in parts), parameter)


def _ends(values: Sequence[float], weights: Tensor, count: int, step: float | None) -> list[float]:
    """Return where a number's range is divided: into parts that are as likely, at values that can be read."""
    low, high = min(values), max(values)
    if step and (high - low) / step < FEW_VALUES:
        return sorted(set(values))[:-1]
    order = torch.tensor(values, dtype=torch.float64).argsort()
    mass, ranked = weights.cpu()[order].cumsum(0), [values[place] for place in order.tolist()]
    places = torch.searchsorted(mass, torch.arange(1, count, dtype=torch.float64) / count).clamp_max(len(values) - 1)
    inner = [ranked[place] for place in places.tolist()]
    unit = 10.0 ** math.floor(math.log10(ROUNDING * (inner[-1] - inner[0]))) if inner[-1] > inner[0] else 0.0
    unit = max(unit, float(step or 0))
    rounded = [round(round(end / unit) * unit, 12) if unit else end for end in inner]
    return [end for end in dict.fromkeys(rounded) if low <= end < high]


def _said(part: Part, step: float | None, measure: Measure) -> str:
    low, high = part
    if step and low is not None:
        low += step  # what is left out is the last of the part before
    if low is None and high is None:
        return "any"
    if low is None:
        return f"up to {measure.text(_plain(high))}"
    if high is None:
        return f"{'from' if step else 'above'} {measure.text(_plain(low))}"
    return measure.text(_plain(low)) if low == high else measure.span(_plain(low), _plain(high))


def _plain(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


def cell_of_each(divisions: Sequence[Division], contexts: Sequence[Mapping[str, Value]]) -> list[tuple[int, ...]]:
    """Return in which cell of the divisions together each context is."""
    places = [one.places([context[one.name] for context in contexts]) for one in divisions]
    return list(zip(*places, strict=True))
