"""The methods that `moving.py` compares, by name: a policy, and what its study is told of a round before it decides.

To compare a variant, add a line to `METHODS`. Some methods see a further context, which is given at each ask: the number of the
round, the day of the week, what a forecaster expects. Rows without a study (`oracle`, `constant`) are what knowledge of the
truth brings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from moving_worlds import Course, World
from torch import Tensor

import windward as ww
from windward import papers

# What is declared besides the world's contexts, and what is given of a round: plain values by name.
More = Callable[[World], dict[str, Any]]
Given = Callable[[Course, int], dict[Any, Any]]

WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Method:
    """A policy, the contexts its study has besides the world's, what is given at an ask, and the worlds it makes sense in."""

    policy: Callable[[], ww.Policy] | None = None
    more: More = lambda world: {}
    given: Given = lambda course, turn: {}
    suits: Callable[[World], bool] = lambda world: True
    decides: Callable[[Course, int], Tensor] | None = None  # in place of a study: "rounds d"


def foreseen(world: World) -> bool:
    """Whether somebody forecasts in a world."""
    return world.foreseen is not None


def has_season(world: World) -> bool:
    """Whether a calendar tells something of a world."""
    return world.period is not None


def small(world: World) -> bool:
    """Whether a world is small enough for worst cases that are programmes: one decision, one context."""
    return len(world.decision) == len(world.contexts) == 1


def expected(course: Course, turn: int) -> dict[str, Any]:
    """Return the mean of the forecast, under names of its own."""
    assert course.forecasts is not None
    means = course.forecasts[turn].mean(0).tolist()
    return {f"{name} expected": mean for name, mean in zip(course.world.contexts, means, strict=True)}


def samples(course: Course, turn: int) -> dict[Any, Any]:
    """Return the forecast as it is."""
    assert course.forecasts is not None
    names = tuple(course.world.contexts)
    rows = [dict(zip(names, row, strict=True)) for row in course.forecasts[turn].tolist()]
    return {names: ww.Forecast(samples=rows)}


def best_of_each(course: Course, rounds: int) -> Tensor:
    """Return the best decision of each round."""
    states, places = torch.unique(course.states[:rounds], dim=0, return_inverse=True)
    return torch.stack([course.world.best(state)[0] for state in states])[places]


def best_constant(course: Course, rounds: int) -> Tensor:
    """Return the decision that is best over all rounds, in each of them."""
    return course.constant(rounds).expand(rounds, -1)


METHODS: Mapping[str, Method] = {
    "default": Method(ww.auto),
    "time given": Method(
        ww.auto, more=lambda world: {"round": ww.Real(0, None)}, given=lambda course, turn: {"round": float(turn)}
    ),
    "weekday given": Method(
        ww.auto,
        more=lambda world: {"weekday": ww.Categorical(list(WEEK))},
        given=lambda course, turn: {"weekday": WEEK[turn % 7]},
        suits=has_season,
    ),
    "forecast as a given point": Method(
        ww.auto,
        more=lambda world: {f"{name} expected": ww.Real(None, None) for name in world.contexts},
        given=expected,
        suits=foreseen,
    ),
    "forecast": Method(ww.auto, given=samples, suits=foreseen),
    "sbo_kde": Method(papers.sbo_kde),
    "drbo_kde": Method(papers.drbo_kde),
    "wdrbo": Method(papers.wdrbo),
    "wdrbo_exact": Method(papers.wdrbo_exact),
    "stable_opt": Method(papers.stable_opt),
    "drbo_mmd": Method(papers.drbo_mmd, suits=small),
    "random": Method(papers.random),
    "constant": Method(decides=best_constant),
    "oracle": Method(decides=best_of_each),
}
