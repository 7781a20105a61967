"""Two decisions side by side, on the same draws of what is unknown.

The difference d of the two is drawn with f, its hyper-parameters and the contexts' distribution. Two things change how far the
draws lie from their mean:

    d' = mean + (1 + BOLD (1 - k)) / widened * (d - mean)

`widened` is by how much deviations of f were made larger for an objective that looks at its extremes: what is doubted there
moves both decisions alike. Where one of the two is the recommended decision it was chosen because it looked best, so the
difference is less sure. That holds where the choice was bold: a decision that was picked with a caution k of 1 or more is the
best even if what is unknown turns out against it.

The posterior of f takes any two decisions to be as likely to be the better one before there are results. But the recommended
decision is the best of all that could be found, and what it is set beside is one that somebody chose. So draws in which the
recommended one is better count `ODDS` times in the probability. The difference and its interval stay those of the two values,
which are shown beside them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from windward.objectives.protocol import Displaying
from windward.suggest.assess import Assessment
from windward.suggest.recommend import LEVELS, recommendation
from windward.trials.records import Comparison
from windward.trials.trials import Trials

# By how much less sure the difference is where a decision was chosen boldly: chosen on invented problems (docs/trust.md).
BOLD = 0.25
# The odds, before any results, that the recommended decision is better than one that somebody chose. On invented problems it
# was in nine of ten; 2 makes the probabilities true (docs/trust.md).
ODDS = 2.0
# Decisions nearer than this in every column of the cube are one.
SAME = 1e-6


def compared(first: Assessment, second: Assessment, best: Assessment, trials: Trials) -> Comparison:
    """Return by how much `second` is worth more than `first`; `best` is the recommended decision."""
    apart, shown = _differences(first, second)
    # Typed by a person, a recommended decision may differ in its last digit.
    chosen = [torch.allclose(one.x, best.x, rtol=0.0, atol=SAME) for one in (first, second)]
    bold = 1.0 - min(1.0, best.policy.report.caution_in(best.situation.trials))
    corrected = chosen[0] != chosen[1] and bold > 0.0
    times = 1.0 + BOLD * bold if corrected else 1.0
    if not isinstance(best.policy.reported, Displaying):
        times /= best.base.unknowns.widened
    apart, shown = _spread(apart, times), _spread(shown, times)
    count = torch.ones_like(apart)
    if chosen[0] != chosen[1]:
        count = torch.where((apart > 0) if chosen[1] else (apart < 0), ODDS, count)
    draws, share = trials.sign * shown, count / count.sum()
    found = draws.quantile(torch.tensor(LEVELS, dtype=draws.dtype, device=draws.device)).tolist()
    return Comparison(
        recommendation(first, trials),
        recommendation(second, trials),
        difference=float(draws.mean()),
        interval=(found[9], found[189]),
        probability=float(((apart > 0).double() + 0.5 * (apart == 0).double()) @ share),
        corrected=corrected,
        quantiles=tuple(found),
    )


def _spread(draws: Tensor, times: float) -> Tensor:
    """Return draws that lie `times` as far from their mean."""
    mean = draws.mean()
    return draws if times == 1.0 else mean + times * (draws - mean)


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
