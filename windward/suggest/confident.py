"""A radius that the data decide, solved before anything is decided by it: once for an ask, and once for a recommendation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from windward.contexts import Contexts
from windward.objectives.protocol import Objective, Settling
from windward.objectives.situation import Situation
from windward.policy import Policy


def confident(policy: Policy, situation: Situation, judged: Callable[[], Contexts | None]) -> Policy:
    """Return the policy with every radius that the data decide solved in this situation.

    The contexts `judged` decide it, those that a guard looks at, for an ask and for a recommendation alike: under a forecast
    those that it leaves open.
    """
    objective, reported = policy.objective, policy.report.objective
    if not (_open(objective) or _open(reported)) or situation.radius is not None:
        return policy
    found = judged()
    seen = replace(situation, judged=None if found is None else found.to(situation.trials.device))
    report = replace(policy.report, objective=None if reported is None else _settled(reported, seen))
    return replace(policy, objective=_settled(objective, seen), report=report)


def _open(objective: Objective | None) -> bool:
    return objective is not None and isinstance(objective, Settling) and objective.open


def _settled(objective: Objective, situation: Situation) -> Objective:
    if not isinstance(objective, Settling) or not objective.open:
        return objective
    found: Objective = objective.settled(situation)
    return found
