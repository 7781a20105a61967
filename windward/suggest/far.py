"""How far a decision lies from all that were tried: what `ask(far=True)` climbs instead of the policy's belief.

A model that has seen nothing of a corner may be sure of it all the same. Only a result from there can say that it is wrong.
Distances are those of the unit cube: every number counts by its range, and another choice as the root of two ranges.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.search.acquisition import Acquisition
from windward.trials.trials import Trials


def farthest(trials: Trials) -> Acquisition:
    """Return the distance to the nearest decision that was asked or added and not given up, as something to climb."""
    tried = trials.decisions([trial for trial in trials.rows if trial.state != "lost"])

    def distance(x: Tensor) -> Tensor:
        return torch.cdist(x, tried.to(x)).amin(-1)

    return Acquisition(distance)
