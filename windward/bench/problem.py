"""What a benchmark problem is: a function, the truth about its contexts, and what a learner is told.

Numbers are natural units in the space's order of names, decisions `"*b d"` and contexts `"*b k"` (a categorical one as the
index of its category); higher values are better. A problem that is itself random, such as a draw of a Gaussian process, is
made anew for each seed: the registry holds functions `(seed, data) -> Problem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from windward.contexts import Contexts
from windward.objectives import Objective
from windward.space import Space


@dataclass(frozen=True)
class Optimum:
    """The best decision `"d"` by an objective under the truth, and its value."""

    value: float
    decision: Tensor


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem: `value(decisions, contexts)` without noise, and how the world around it behaves.

    `truth` is the distribution of contexts by which decisions are judged, as points and weights (a quadrature where it is
    continuous); `draw` makes one context of it for the round (rounds count from 0: a truth may drift). `reference` is what
    the learner is told of the distribution, where it is told. `decisions` lists a finite set of decisions. `delay` draws the
    rounds after which a value comes, None where it never does. With `context_first` the context is known at the ask.
    """

    name: str
    space: Space
    value: Callable[[Tensor, Tensor], Tensor]
    truth: Contexts
    draw: Callable[[int, torch.Generator], Tensor]
    reference: Contexts | None = None
    decisions: Tensor | None = None
    noise: float = 0.0
    delay: Callable[[torch.Generator], int | None] | None = None
    context_first: bool = False

    def worth(self, objective: Objective, decisions: Tensor, contexts: Contexts | None = None) -> Tensor:
        """Return the objective at decisions `"*b d"` over `contexts` (left out: the truth); `"*b"`."""
        raise NotImplementedError

    def optimum(self, objective: Objective, contexts: Contexts | None = None) -> Optimum:
        """Return the best decision by the objective over `contexts` (left out: the truth)."""
        raise NotImplementedError
