"""The laws of a guard: limits inside the cube, a margin that can be asked anywhere, before and after there is a model."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from windward.feedback import Hallucinate
from windward.objectives import CVaR, Expected, Objective
from windward.objectives.protocol import Aim, Speech
from windward.objectives.situation import Situation
from windward.rules.guards import Guard, each_of
from windward.search.limits import Limits
from windward.space import Space
from windward.testing.holding import even, require, require_json, require_own_randomness, require_turning
from windward.testing.situations import SPACE, situation_of

# An average, and one that rests on some of the contexts.
OBJECTIVES: tuple[Objective, ...] = (Expected(), CVaR(0.3))
STATUS_QUO = {"a": 0.4, "b": 0.6}
# Rounding of sums that are made in another order.
GAP = 1e-9


def check_guard(guard: Guard, *, seed: int = 0) -> None:
    """Hold a guard to its laws in a small study with a status quo, with and without a model.

    Its box lies inside the cube and is not empty. Its margin, if there is one, gives decisions `"b d"` finite numbers
    `"b"`, one in a batch as alone. The same situation gives the same limits, and nothing is drawn from torch's global
    generator. It says itself in a sentence, goes to JSON and back, and turned twice it is itself. Where it says that it
    needs no status quo, it does without.

    >>> import windward as ww
    >>> check_guard(ww.LargestStep(0.1))
    """
    require_json(guard)
    require_turning(guard)
    require(isinstance(guard.title, str) and guard.title, f"{guard!r}: title is {guard.title!r}; give a few words.")
    require(isinstance(guard.needs_status_quo, bool), f"{guard!r}: needs_status_quo must be True or False.")
    for one in each_of(guard):
        require(isinstance(one, Guard), f"{guard!r} holds {one!r}, which is no guard.")
    for objective in OBJECTIVES:
        for sign in (1.0, -1.0):
            guard.check(objective, SPACE, sign)
        for situation in _situations(objective, seed, without=not guard.needs_status_quo):
            _check_limits(guard, situation, seed)
            for sign in (1.0, -1.0):
                said = guard.sentence(Speech(situation, sign))
                require(isinstance(said, str) and said.endswith("."), f"{guard!r}: its sentence is {said!r}.")


def _situations(objective: Objective, seed: int, *, without: bool) -> list[Situation]:
    fitted = situation_of(Hallucinate(), seed)
    fitted = replace(fitted, status_quo=STATUS_QUO, aim=Aim(objective, objective.bind(fitted)))
    found = [replace(fitted, believed=None, aim=None), fitted]
    return found + [replace(each, status_quo=None) for each in found if without]


def _check_limits(guard: Guard, situation: Situation, seed: int) -> None:
    found: Limits = require_own_randomness(guard, lambda: guard(situation))
    again = guard(situation)
    space: Space = situation.trials.space
    for name in ("low", "high"):
        bound: Tensor = getattr(found, name)
        said = f"{guard!r}: {name} is {bound!r}"
        require(bound.shape == (space.decision_width,), f"{said}; give one number for each column.")
        require(((bound >= 0.0) & (bound <= 1.0)).all(), f"{said}; it must lie in the unit cube.")
        require(torch.equal(bound, getattr(again, name)), f"{said}, and another time something else.")
    require((found.low <= found.high).all(), f"{guard!r}: the box from {found.low!r} to {found.high!r} is empty.")
    if found.margin is None:
        return
    points = even(torch.Generator().manual_seed(seed), 7, space.decision_width)
    values = found.margin(points)
    require(values.shape == (7,) and values.dtype == torch.float64, f"{guard!r}: its margin gives {values!r}.")
    require(torch.isfinite(values).all(), f"{guard!r}: its margin is not finite: {values!r}.")
    alone = torch.cat([found.margin(point[None]) for point in points])
    require((values - alone).abs().max() <= GAP, f"{guard!r}: its margin in a batch differs from that alone.")
