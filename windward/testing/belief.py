"""The laws of a belief: an acquisition that the search can climb, and objectives that are refused when a policy is built."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from windward.basics.errors import IncompatibleError
from windward.beliefs.beliefs import Belief
from windward.contexts import Empirical
from windward.divergences import ChiSquare, TotalVariation
from windward.feedback import Feedback, Hallucinate
from windward.objectives import CVaR, Expected, LipschitzRobust, MeanVariance, Minimum, Objective, Robust, Tradeoff
from windward.objectives.situation import Situation
from windward.policy import Policy
from windward.search.acquisition import Acquisition
from windward.testing.holding import (
    even,
    normal,
    require,
    require_error,
    require_json,
    require_own_randomness,
    require_slope,
)
from windward.testing.situations import SPACE, situation_of

# One of each sort: averages, worst cases, with a ceiling, with slopes, not monotone.
OBJECTIVES: tuple[Objective, ...] = (
    Expected(),
    Minimum(),
    CVaR(0.3),
    Robust(TotalVariation(), 0.4),
    Robust(ChiSquare(), 0.3),
    LipschitzRobust(0.1),
    MeanVariance(),
    Tradeoff(TotalVariation(), 0.4),
)
# Rounding of sums that are made in another order.
GAP = 1e-9


def check_belief(
    belief: Belief,
    *,
    refuses: Sequence[Objective] = (),
    feedback: Feedback | None = None,
    objectives: Sequence[Objective] = OBJECTIVES,
    seed: int = 0,
) -> None:
    """Hold a belief to its laws with several objectives, under the posterior of a small study.

    `check` refuses the objectives in `refuses` with `IncompatibleError`, also when a policy is built; of `objectives` it takes
    at least one. For those that it takes, the acquisition gives decisions `"b d"` finite values `"b"` in double precision, one
    in a batch as alone, with a gradient; the ceiling, if there is one, is never below the value; the same generator gives
    the same values, and no other is drawn from. It goes to JSON and back.

    >>> import windward as ww
    >>> check_belief(ww.UpperConfidence(), refuses=[ww.MeanVariance()])
    """
    feedback = Hallucinate() if feedback is None else feedback
    require_json(belief)
    require(isinstance(belief.draws, bool), f"{belief!r}: draws is {belief.draws!r}; give True or False.")
    for objective in refuses:
        said = f"{belief!r} must refuse {objective!r}"
        require_error(partial(belief.check, objective, feedback), IncompatibleError, said)
        built = partial(Policy, context_model=Empirical(), objective=objective, belief=belief, feedback=feedback)
        require_error(built, IncompatibleError, f"{said} when a policy is built")
    taken = [objective for objective in objectives if _takes(belief, objective, feedback)]
    require(taken, f"{belief!r} refuses every objective that it was tried with.")
    situation = situation_of(feedback, seed)
    for objective in taken:
        _check_acquisition(belief, objective, situation, seed)


def _takes(belief: Belief, objective: Objective, feedback: Feedback) -> bool:
    try:
        belief.check(objective, feedback)
    except IncompatibleError:
        return False
    return True


def _check_acquisition(belief: Belief, objective: Objective, situation: Situation, seed: int) -> None:
    said = f"{belief!r} with {objective!r}"
    generator = torch.Generator().manual_seed(seed + 2)
    x, along = 0.1 + 0.8 * even(generator, 6, SPACE.decision_width), normal(generator, 6, SPACE.decision_width)
    acquisition = _made(belief, objective, situation, seed)
    value = _values(acquisition, "value", x, said)
    again = _values(_made(belief, objective, situation, seed), "value", x, said)
    require(torch.equal(value, again), f"{said}: the same generator gave other values.")
    slack = GAP * (1.0 + float(value.abs().max()))
    alone = torch.cat([_values(acquisition, "value", row[None], said) for row in x])
    off = float((alone - value).abs().max())
    require(off <= slack, f"{said}: a decision alone and in a batch differ by {off!r}.")
    for name in ("climb", "rank", "ceiling", "margin"):
        if getattr(acquisition, name) is not None:
            beside = _values(acquisition, name, x, said)
            if name == "ceiling":
                short = float((value - beside).max())
                require(short <= slack, f"{said}: the ceiling lies {short!r} below the value.")
    require_slope(acquisition.climb or acquisition.value, x, along, 100 * slack, f"{said}: the gradient is wrong")


def _made(belief: Belief, objective: Objective, situation: Situation, seed: int) -> Acquisition:
    generator = torch.Generator().manual_seed(seed + 3)
    found = require_own_randomness(belief, lambda: belief(situation, objective.bind(situation), generator))
    require(isinstance(found, Acquisition), f"{belief!r} gave {found!r}; give an Acquisition.")
    assert isinstance(found, Acquisition)
    return found


def _values(acquisition: Acquisition, name: str, x: Tensor, said: str) -> Tensor:
    with torch.no_grad():
        found: Tensor = getattr(acquisition, name)(x)
    right = found.shape == (len(x),) and found.dtype == torch.float64 and bool(torch.isfinite(found).all())
    shown = f"{tuple(found.shape)} of {found.dtype}"
    require(right, f"{said}: `{name}` gave {shown}; give a finite number in double precision for each decision.")
    return found
