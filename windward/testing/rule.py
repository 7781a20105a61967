"""The laws of a context rule: one of the context points, or nothing where nature shows the context."""

from __future__ import annotations

import torch
from torch import Tensor

from windward.feedback import Hallucinate
from windward.rules.contexts import ContextRule
from windward.testing.holding import even, require, require_json, require_own_randomness
from windward.testing.situations import SPACE, situation_of

# How many contexts there are to choose from.
COUNTS = (1, 2, 12)


def check_context_rule(rule: ContextRule, *, seed: int = 0) -> None:
    """Hold a context rule to its laws under the posterior of a small study.

    It returns one of the context points where it `chooses`, and None where it does not; the same generator gives the same
    point, and no other is drawn from. It goes to JSON and back.

    >>> import windward as ww
    >>> check_context_rule(ww.MostUncertain())
    """
    require_json(rule)
    require(isinstance(rule.chooses, bool), f"{rule!r}: chooses is {rule.chooses!r}; give True or False.")
    for count in COUNTS:
        situation = situation_of(Hallucinate(), seed, points=count)
        decisions = even(torch.Generator().manual_seed(seed + count), 3, SPACE.decision_width)
        for x in decisions:

            def chosen(x: Tensor = x) -> Tensor | None:
                generator = torch.Generator().manual_seed(seed)
                found: Tensor | None = require_own_randomness(rule, lambda: rule(x, situation, generator))  # noqa: B023
                return found

            found, again = chosen(), chosen()
            said = f"{rule!r}: chooses is {rule.chooses}, and it gave {found!r}"
            require((found is not None) == rule.chooses, f"{said}.")
            if found is None or again is None:
                continue
            points = situation.contexts.points
            one = found.shape == points.shape[1:] and bool((points == found).all(-1).any())
            require(one, f"{said}, which is none of the context points.")
            require(torch.equal(found, again), f"{rule!r}: the same generator gave two contexts.")
