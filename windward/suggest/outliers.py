"""Results that the others do not suggest: each suspect is judged by a model that has not seen it.

A mistake hides itself: the fit takes it for noise, or for a function that turns quickly, and then finds it probable. So the
most suspicious result is taken out, the hyper-parameters are drawn again from what is left, and it is predicted by those. If
it is improbable even for the farthest of all results, and far enough to matter, it is an outlier, and the next suspect is
judged without it.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from windward.suggest.predictions import Predictions, studentized
from windward.surrogate import Aging, Doubting, LeavingOut, Posterior, Start, Surrogate
from windward.trials.trials import Dataset

# The largest share of results that can be outliers: what is more common is how results are.
MOST = 0.1
# Draws of the hyper-parameters that judge a suspect.
DRAWS = 32
# Predictions of few results have slightly thin tails. At one per cent they doubt three in a hundred sets without a mistake,
# at a fifth of that one in a hundred (benchmarks/model_check.py).
STRICTER = 5.0
# By how much of the other results' deviation a result must miss its prediction to matter.
MATTERS = 0.5


def outliers(
    surrogate: Surrogate, data: Dataset, posterior: Posterior, level: float, generator: torch.Generator
) -> Tensor:
    """Return which rows are improbable given all others, at this level for all of them together; `"n"`.

    `posterior` is that of all rows, and predicts each of them from the others.
    """
    count = len(data.y)
    far, kept, here = torch.zeros(count, dtype=torch.bool), torch.arange(count), posterior
    while int(far.sum()) < max(1, int(MOST * count)):
        assert isinstance(here, LeavingOut)
        left = here.left_out()
        residuals, freedom = studentized(left)
        place = int(residuals.abs().argmax())
        rest = torch.cat([kept[:place], kept[place + 1 :]])
        others = _rows(data, rest)
        here = surrogate.fit(others, Start(posterior.hyperparameters, keep=True))
        row = int(kept[place])
        chance = _chance(float(residuals[place]), freedom)
        nearby = surrogate.nearby(others, here, DRAWS, generator) if isinstance(surrogate, Doubting) else ()
        if len(nearby) > 1 and bool(data.noise.isnan().all()):
            chance = STRICTER * _unseen(nearby, _rows(data, kept[place : place + 1]))
        size = float(others.y.abs().max()) or 1.0  # squares of 1e200 would overflow
        missed = abs(float(left.observed[place] - left.mean[place])) / size
        if chance >= level / len(kept) or missed < MATTERS * float((others.y / size).std()):
            break
        far[row], kept = True, rest
    return far


def _unseen(posteriors: tuple[Posterior, ...], row: Dataset) -> float:
    """Return the chance of a result at least as far from the mixture of these posteriors' predictions, none of which saw it."""
    parts = []
    for each in posteriors:
        if row.ages is not None and isinstance(each, Aging):
            seeing = each.condition_at(row.x, row.c, row.ages, row.y)
        else:
            seeing = each.condition(row.x, row.c, row.y)
        assert isinstance(seeing, LeavingOut)
        left = seeing.left_out()
        parts.append(left._replace(observed=left.observed[-1:], mean=left.mean[-1:], std=left.std[-1:]))
    found = Predictions.of(parts, scaled=True, seen=False)
    return float(2.0 * torch.special.ndtr(-found.residuals.abs())[0])


def _chance(residual: float, freedom: int) -> float:
    """Return the chance of a Student variable at least as far from zero."""
    from scipy.special import stdtr

    return 2.0 * float(stdtr(freedom, -abs(residual)))


def _rows(data: Dataset, kept: Tensor) -> Dataset:
    """Return some rows of the data, to be factorised at once."""
    return replace(data, changed=None).at(kept.to(data.y.device))
