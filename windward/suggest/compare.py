"""Two decisions side by side, on the same draws of what is unknown.

A decision that was recommended was chosen because it looked best, and so it looks better than it is. Where one of the two is
the recommended decision, their difference is taken to be less sure, and smaller:

    d' = mean - SHIFT s + WIDER (d - mean),    s the deviation of the draws d, counted in favour of the recommended decision
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.objectives.protocol import Displaying
from windward.suggest.assess import Assessment
from windward.suggest.recommend import LEVELS, recommendation
from windward.trials.records import Comparison
from windward.trials.trials import Trials

# By how much a recommended decision is flattered: chosen on invented problems (docs/trust.md), confirmed on others.
SHIFT, WIDER = 0.25, 1.25
# Decisions nearer than this in every column of the cube are one.
SAME = 1e-6


def compared(first: Assessment, second: Assessment, best: Assessment, trials: Trials) -> Comparison:
    """Return by how much `second` is worth more than `first`; `best` is the recommended decision."""
    draws = _differences(first, second)
    # Typed by a person, a recommended decision may differ in its last digit.
    chosen = [torch.allclose(one.x, best.x, rtol=0.0, atol=SAME) for one in (first, second)]
    corrected = chosen[0] != chosen[1]
    if corrected:
        draws = _less_flattered(draws, 1.0 if chosen[1] else -1.0)
    shown = trials.sign * draws
    found = shown.quantile(torch.tensor(LEVELS, dtype=draws.dtype, device=draws.device)).tolist()
    return Comparison(
        recommendation(first, trials),
        recommendation(second, trials),
        difference=float(shown.mean()),
        interval=(found[9], found[189]),
        probability=float(((draws > 0).double() + 0.5 * (draws == 0).double()).mean()),
        corrected=corrected,
        quantiles=tuple(found),
    )


def _less_flattered(draws: Tensor, toward: float) -> Tensor:
    """Return draws of a difference as they are believed where the choice flatters one side: the second with `toward` 1."""
    mean, deviation = draws.mean(), draws.std(correction=0)
    return mean - toward * SHIFT * deviation + WIDER * (draws - mean)


def _differences(first: Assessment, second: Assessment) -> Tensor:
    """Return draws of by how much the second is worth more, oriented, as a person sees values; `"s"`."""
    base = first.base
    if isinstance(base.policy.reported, Displaying):  # a score is turned into what is shown before it is subtracted
        return second.draws - first.draws
    return base.unknowns.differences(first.x, second.x)
