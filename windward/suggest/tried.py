"""Whether a decision lies far from all that was tried, and the best of those that were."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from windward.space import Value
from windward.suggest.assess import Assessment, assess, best_of
from windward.trials.records import Beyond
from windward.trials.trials import Trials

# A number counts as beyond what was tried where it is farther out than this share of its range.
OUTSIDE = 0.025
# A decision counts as far from all tried ones beyond this share of the cube's diagonal.
FAR = 0.2


def beyond_tried(x: Tensor, trials: Trials) -> tuple[Beyond, ...]:
    """Return in what a decision `"d"` lies far from all those whose values have arrived; nothing where it is near."""
    tried = trials.decisions(trials.arrived)
    if len(tried) == 0:
        return ()
    found = []
    for name, parameter in trials.space.decision.items():
        columns = trials.space.decision_columns[name]
        mine, theirs = x[columns], tried[:, columns]
        if parameter.choices:
            if not bool((theirs == mine).all(-1).any()):
                found.append(Beyond("choice", name, trials.space.decode_decision(x)[name]))
            continue
        low, high = float(theirs.min()), float(theirs.max())
        if float(mine) > high + OUTSIDE:
            found.append(Beyond("above", name, max(t.decision[name] for t in trials.arrived)))
        elif float(mine) < low - OUTSIDE:
            found.append(Beyond("below", name, min(t.decision[name] for t in trials.arrived)))
    nearest = float(torch.cdist(x[None], tried).min())
    if not found and nearest > FAR * math.sqrt(len(x)):
        found.append(Beyond("together"))
    return tuple(found)


def best_tried(found: Assessment) -> tuple[Assessment, Mapping[str, Value] | None]:
    """Return the best of the decisions whose values have arrived, by what the recommendation was chosen by.

    Where decisions have steps it comes with what was really done, which may lie between them; None elsewhere.
    """
    best, trials = best_of(found.base, found.policy.among_evaluated), found.situation.trials
    if not trials.space.stepped:
        return best, None
    tried = trials.decisions(trials.arrived)
    place = int(torch.cdist(best.x[None], tried).argmin())
    return assess(found.base, tried[place]), trials.arrived[place].decision
