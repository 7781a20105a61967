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
    apart, shown = _differences(first, second)
    # Typed by a person, a recommended decision may differ in its last digit.
    chosen = [torch.allclose(one.x, best.x, rtol=0.0, atol=SAME) for one in (first, second)]
    corrected = chosen[0] != chosen[1]
    if corrected:
        toward = 1.0 if chosen[1] else -1.0
        apart, shown = _less_flattered(apart, toward), _less_flattered(shown, toward)
    draws = trials.sign * shown
    found = draws.quantile(torch.tensor(LEVELS, dtype=draws.dtype, device=draws.device)).tolist()
    return Comparison(
        recommendation(first, trials),
        recommendation(second, trials),
        difference=float(draws.mean()),
        interval=(found[9], found[189]),
        probability=float(((apart > 0).double() + 0.5 * (apart == 0).double()).mean()),
        corrected=corrected,
        quantiles=tuple(found),
    )


def _less_flattered(draws: Tensor, toward: float) -> Tensor:
    """Return draws of a difference as they are believed where the choice flatters one side: the second with `toward` 1."""
    mean, deviation = draws.mean(), draws.std(correction=0)
    return mean - toward * SHIFT * deviation + WIDER * (draws - mean)


def _differences(first: Assessment, second: Assessment) -> tuple[Tensor, Tensor]:
    """Return draws of by how much the second is worth more, as it is judged and as a person sees values, oriented; `"s"` each.

    The two differ where what is shown is no plain value, such as a missed target's shortfall.
    """
    base = first.base
    if torch.equal(first.x, second.x):
        return (torch.zeros_like(first.draws),) * 2
    if not isinstance(base.policy.reported, Displaying):
        return (base.unknowns.differences(first.x, second.x),) * 2
    pair = base.unknowns.pairs(first.x, second.x)
    shown = base.displayed(pair)
    return pair[:, 1] - pair[:, 0], shown[:, 1] - shown[:, 0]
