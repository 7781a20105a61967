"""Two decisions side by side, on the same draws of what is unknown."""

from __future__ import annotations

import torch
from torch import Tensor

from windward.objectives.protocol import Displaying
from windward.suggest.assess import Assessment
from windward.suggest.recommend import LEVELS, recommendation
from windward.trials.records import Comparison
from windward.trials.trials import Trials


def compared(first: Assessment, second: Assessment, best: Assessment, trials: Trials) -> Comparison:
    """Return by how much `second` is worth more than `first`; `best` is the recommended decision."""
    draws = trials.sign * _differences(first, second)
    found = draws.quantile(torch.tensor(LEVELS, dtype=draws.dtype, device=draws.device)).tolist()
    better = float(((trials.sign * draws > 0).double() + 0.5 * (draws == 0).double()).mean())
    return Comparison(
        recommendation(first, trials),
        recommendation(second, trials),
        difference=float(draws.mean()),
        interval=(found[9], found[189]),
        probability=better,
        quantiles=tuple(found),
    )


def _differences(first: Assessment, second: Assessment) -> Tensor:
    """Return draws of by how much the second is worth more, oriented, as a person sees values; `"s"`."""
    base = first.base
    if isinstance(base.policy.reported, Displaying):  # what is shown is no plain value: the draws must be turned first
        return base.displayed(second.draws) - base.displayed(first.draws)
    return base.unknowns.differences(first.x, second.x)
