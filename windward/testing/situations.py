"""A small study for suites that need one: trials in every state, contexts seen, and what is believed of f."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import torch

from windward.contexts import Contexts
from windward.feedback import Feedback
from windward.objectives.situation import Moment, Situation
from windward.space import Real, Space
from windward.surrogate import GaussianProcess, Start
from windward.testing.holding import even
from windward.trials.records import Trial
from windward.trials.trials import Trials

SPACE = Space({"a": Real(0, 1), "b": Real(0, 1)}, {"demand": Real(0, 1)})
# The first trial is asked then, the others a day after each other.
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = BEGUN + timedelta(days=30)


def trials_of(seed: int, *, sign: float = 1.0, arrived: int = 8) -> Trials:
    """Return trials: the first have arrived, one after a long wait, then two pending, one lost, one without its context."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for id in range(arrived + 4):
        a, b, demand = even(generator, 3).tolist()
        kind = "arrived" if id < arrived else ("pending", "pending", "lost", "value alone")[id - arrived]
        seen, told = kind in ("arrived", "lost"), kind in ("arrived", "value alone")
        asked = BEGUN + timedelta(days=id)
        delay = 3 if id == 1 else 0
        rows.append(
            Trial(
                id,
                {"a": a, "b": b},
                context={"demand": demand} if seen else {},
                context_seen=frozenset({"demand"} if seen else ()),
                context_source="revealed" if seen else None,
                stand_in={"demand": demand},
                value=sign * (math.sin(4.0 * a) + b * demand) if told else None,
                lost="the till was broken" if kind == "lost" else None,
                asked_at=asked,
                context_at=asked if seen else None,
                told_at=asked + timedelta(days=delay) if told else None,
                turn=id,
                delay=delay if told else None,
                changed=id + 2,
            )
        )
    return Trials(SPACE, tuple(rows), sign)


def situation_of(feedback: Feedback, seed: int, *, points: int = 12) -> Situation:
    """Return a situation with a fitted posterior and weighted contexts."""
    trials, generator = trials_of(seed), torch.Generator().manual_seed(seed + 1)
    weights = 0.05 + even(generator, points)
    return Situation(
        contexts=Contexts(even(generator, points, 1), weights / weights.sum()),
        seen=trials.contexts_seen,
        trials=trials,
        believed=feedback(trials, GaussianProcess(), NOW, Start()),
        moment=Moment(NOW),
    )
