"""The methods that `moving.py` compares, by name: a policy, and what its study is told of a round before it decides.

To compare a variant, add a line to `METHODS`, and to `MAIN` if it is played where no method is named. Some methods see a
further context, which is given at each ask: the number of the round, the day of the week, what a forecaster expects. Rows
without a study (`oracle`, `constant`) are what knowledge of the truth brings.

The published robust methods are run as their authors ran them: contexts are scaled to [0, 1] by their declared bounds,
which is where the radius of Micheli2025, 0.3 / sqrt(t), has its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
    """A policy, the contexts its study has besides the world's, what is given at an ask, and the worlds it makes sense in.

    With `scaled` the world's contexts go from 0 to 1.
    """

    policy: Callable[[], ww.Policy] | None = None
    more: More = lambda world: {}
    given: Given = lambda course, turn: {}
    suits: Callable[[World], bool] = lambda world: True
    decides: Callable[[Course, int], Tensor] | None = None  # in place of a study: "rounds d"
    scaled: bool = False

    def contexts(self, world: World) -> dict[str, ww.Real]:
        """Return the world's contexts as the study declares them."""
        return dict.fromkeys(world.contexts, ww.Real(0, 1)) if self.scaled else dict(world.contexts)

    def seen(self, course: Course, turn: int) -> dict[str, float]:
        """Return the context of a round as the study is told it."""
        told = course.contexts[turn]
        if self.scaled:
            bounds = [parameter.own_bounds()[0] for parameter in course.world.contexts.values()]
            low, high = torch.tensor(bounds, dtype=torch.float64).unbind(-1)
            told = (told - low) / (high - low)
        return dict(zip(course.world.contexts, told.tolist(), strict=True))


def learning() -> ww.Policy:
    """Return the default with a half-life that is learnt."""
    plain = ww.auto()
    assert isinstance(plain.context_model, ww.KernelDensity)
    return replace(plain, context_model=replace(plain.context_model, half_life="learnt"))


def cautious(policy: Callable[[], ww.Policy]) -> Callable[[], ww.Policy]:
    """Return a policy that goes on at half a deviation, where the default goes over to one with 30 results."""
    return lambda: replace(policy(), belief=ww.UpperConfidence(0.5))


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


def by_date(world: World) -> dict[str, Any]:
    """Return the day of the week, known from the date of a round."""
    return {"weekday": ww.calendar("weekday")}


def best_of_each(course: Course, rounds: int) -> Tensor:
    """Return the best decision of each round."""
    states, places = torch.unique(course.states[:rounds], dim=0, return_inverse=True)
    return torch.stack([course.world.best(state)[0] for state in states])[places]


def best_constant(course: Course, rounds: int) -> Tensor:
    """Return the decision that is best over all rounds, in each of them."""
    return course.constant(rounds).expand(rounds, -1)


def drifting() -> ww.Policy:
    """Return the default with a model whose outcomes may change with time."""
    plain = ww.auto()
    return replace(plain, surrogate=replace(plain.surrogate, drift="learnt"))


METHODS: Mapping[str, Method] = {
    "default": Method(ww.auto),
    "learnt half-life": Method(learning),
    "drift": Method(drifting),
    "time given": Method(
        ww.auto, more=lambda world: {"round": ww.Real(0, None)}, given=lambda course, turn: {"round": float(turn)}
    ),
    "weekday given": Method(
        ww.auto,
        more=lambda world: {"weekday": ww.Categorical(list(WEEK))},
        given=lambda course, turn: {"weekday": WEEK[turn % 7]},
        suits=has_season,
    ),
    "calendar": Method(ww.auto, more=by_date, suits=has_season),
    "calendar, learnt half-life": Method(learning, more=by_date, suits=has_season),
    "forecast as a given point": Method(
        ww.auto,
        more=lambda world: {f"{name} expected": ww.Real(None, None) for name in world.contexts},
        given=expected,
        suits=foreseen,
    ),
    "forecast": Method(ww.auto, given=samples, suits=foreseen),
    "forecast, learnt half-life": Method(learning, given=samples, suits=foreseen),
    "default, half a deviation": Method(cautious(ww.auto)),
    "learnt half-life, half a deviation": Method(cautious(learning)),
    "calendar, half a deviation": Method(cautious(ww.auto), more=by_date, suits=has_season),
    "forecast, half a deviation": Method(cautious(ww.auto), given=samples, suits=foreseen),
    "sbo_kde": Method(papers.sbo_kde, scaled=True),
    "drbo_kde": Method(papers.drbo_kde, scaled=True),
    "wdrbo": Method(papers.wdrbo, scaled=True),
    "wdrbo_exact": Method(papers.wdrbo_exact, scaled=True),
    "stable_opt": Method(papers.stable_opt, scaled=True),
    "drbo_mmd": Method(papers.drbo_mmd, suits=small, scaled=True),
    "random": Method(papers.random),
    "constant": Method(decides=best_constant),
    "oracle": Method(decides=best_of_each),
}

# What is played where no method is named: what each way to follow a world brings, beside the papers' robust methods.
MAIN = (
    "default",
    "learnt half-life",
    "learnt half-life, half a deviation",
    "drift",
    "time given",
    "weekday given",
    "calendar",
    "calendar, learnt half-life",
    "forecast as a given point",
    "forecast",
    "forecast, learnt half-life",
    "drbo_kde",
    "wdrbo",
    "constant",
    "oracle",
)
