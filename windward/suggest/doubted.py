"""Other posteriors that the data allow, for a belief that does not take the fit for certain."""

from __future__ import annotations

from dataclasses import replace

import torch

from windward.beliefs.beliefs import Doubtful
from windward.objectives.situation import Situation
from windward.policy import Policy
from windward.surrogate import Doubting, Posterior, imagining


def doubted(policy: Policy, situation: Situation, generator: torch.Generator) -> Situation:
    """Return the situation with as many plausible posteriors as the belief looks at; as it is, where it looks at none.

    What the feedback imagined of values that have not arrived is imagined under each of them.
    """
    believed = situation.believed
    assert believed is not None
    if (
        not isinstance(policy.belief, Doubtful)
        or not policy.belief.doubts
        or not isinstance(policy.surrogate, Doubting)
    ):
        return situation
    fitted = believed.posterior if believed.arrived is None else believed.arrived
    data = policy.feedback.dataset(situation.trials)
    plausible: tuple[Posterior, ...] = policy.surrogate.nearby(data, fitted, policy.belief.doubts, generator)
    if believed.imagined is not None:
        plausible = tuple(imagining(one, believed.imagined, believed.imagined_ages) for one in plausible)
    return replace(situation, plausible=plausible)
