"""The policy of a study that names none."""

from __future__ import annotations

from dataclasses import replace

from windward import papers
from windward.policy import Policy, Report
from windward.space import Space


def default_policy(space: Space) -> Policy:
    """Return the policy of a study that names none: SBO-KDE, or GP-UCB without contexts, with a careful report on history.

    The published methods report by the posterior mean alone. On imported history that recommends what nobody has tried.
    """
    policy = papers.sbo_kde() if space.context else papers.gp_ucb()
    return replace(policy, report=Report(caution="history"))
