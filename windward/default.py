"""Windward's own policy, which a study has that names none."""

from __future__ import annotations

from windward.beliefs.beliefs import Belief, UpperConfidence
from windward.beliefs.overall import OverallConfidence
from windward.beliefs.widths import Wider
from windward.contexts import KernelDensity
from windward.objectives import Expected, Objective
from windward.objectives.protocol import Around
from windward.policy import Policy, Report, check_part
from windward.search.design import Central
from windward.search.near import NearBest

# Deviations that are added to the mean; the papers have 1.5. On the problems that this was chosen on 0.5 lost least, and 1.0
# from 30 results on spared runs that would have stayed on a lower hill (docs/default.md).
WIDTH = Wider(0.5, 1.0, 30)
# Points of the contexts' density, and of those the adversary of a worst case may go to besides.
POINTS, FEWER, ELSEWHERE = 128, 64, 64


def auto(objective: Objective | None = None) -> Policy:
    """Return the policy of a study that names none: Windward's own, for any objective; the average where none is given.

    It begins in the middle of the space and stays in the inner part for four decisions, because the ends of what was declared
    are seldom good. Then it models the outcome and asks for what promises most at half a deviation above the mean, on the
    distribution of the contexts seen so far. Until 30 results are in it moves by at most a quarter of each range from the
    best decisions, because a model with few results promises most where it knows least. After that it searches the whole
    space, at one deviation. Its advice is careful in proportion to the results that were added rather than asked for. See
    docs/default.md.

    >>> auto().design
    Central(count=4, share=0.6)
    """
    objective = Expected() if objective is None else objective
    check_part("auto", "objective", objective)
    model = KernelDensity(FEWER, ELSEWHERE) if isinstance(objective, Around) else KernelDensity(POINTS)
    belief: Belief = UpperConfidence(WIDTH) if objective.monotone else OverallConfidence(WIDTH)
    return Policy(
        context_model=model,
        objective=objective,
        belief=belief,
        design=Central(),
        maximize=NearBest(),
        report=Report(caution="history"),
    )
