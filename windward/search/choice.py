"""The best of many decisions by an acquisition, clear of those that are pending."""

from __future__ import annotations

import torch
from torch import Tensor

from windward.basics.errors import SolverError
from windward.search.acquisition import Acquisition, limited, values_of
from windward.search.region import Region

# Decisions evaluated at once where a cheap bound decides how many need it.
SCREENED = 64


def best_of(acquisition: Acquisition, points: Tensor, region: Region) -> Tensor:
    """Return the best of all points `"n d"`; of an acquisition with a ceiling, those that cannot be it go unevaluated."""
    acquisition = limited(acquisition)
    if acquisition.ceiling is None:
        return best(points, values_of(acquisition.value, points), region)
    clear = region.clear(points)
    values = torch.full((len(points),), -torch.inf, dtype=torch.float64, device=points.device)
    with torch.no_grad():
        ceilings = acquisition.ceiling(points).nan_to_num(torch.inf)
    for group in (clear, ~clear):  # those too near a pending decision count only where no other is left
        ranked = group.nonzero()[:, 0]
        ranked = ranked[ceilings[ranked].argsort(descending=True)]
        for start in range(0, len(ranked), SCREENED):
            some = ranked[start : start + SCREENED]
            if bool(ceilings[some[0]] < values.max()):
                break
            values[some] = values_of(acquisition.value, points[some])
        if bool(torch.isfinite(values).any()):
            break
    return best(points, values, region)


def best(points: Tensor, values: Tensor, region: Region) -> Tensor:
    """Return the best point that keeps its distance from pending ones; the best of all where none does."""
    return points[_ranked(points, values, region)[0]]


def _ranked(points: Tensor, values: Tensor, region: Region) -> Tensor:
    usable = torch.isfinite(values)
    if not bool(usable.any()):
        raise SolverError(f"the acquisition is not finite at any of {len(points)} decisions.")
    clear = usable & region.clear(points)
    allowed = clear if bool(clear.any()) else usable
    ranked = values.masked_fill(~allowed, -torch.inf).argsort(descending=True)
    return ranked[: int(allowed.sum())]
