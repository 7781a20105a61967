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

from windward.basics.errors import ArgumentError, IncompatibleError
from windward.bench.optima import Optimum, searched
from windward.contexts import Contexts
from windward.objectives.protocol import Objective
from windward.objectives.situation import Situation
from windward.space.space import Space

# Decision-context pairs whose values are held at once: 8 MB for each intermediate of the function.
PAIRS = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """One problem: `value(decisions, contexts)` without noise, and how the world around it behaves.

    `value` broadcasts the leading axes of decisions and contexts. `truth` is the distribution of contexts by which decisions
    are judged, as points and weights (a quadrature where it is continuous); `draw` makes one context of it for the round
    (rounds count from 0: a truth may drift). `reference` is what the learner is told of the distribution, where it is told.
    `decisions` lists a finite set of decisions. `delay` draws the rounds after which a value comes, None where it never does.
    With `context_first` the context is known at the ask.

    `best` stands for the optimum where a search would take too long. `test` is the score of decisions `"*b d"` on data that
    no value shows, for problems that are judged by it. `drift` gives the truth at a round; `truth` is then that of round 0.
    `noise` is the standard deviation of normal noise, or with `tail`, of Student's with so many degrees of freedom (3 or more).
    `foretold` gives the distribution and the radius that a learner is told at the ask of a round, in place of a reference.
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
    best: Callable[[Objective, Contexts], Optimum] | None = None
    test: Callable[[Tensor], Tensor] | None = None
    drift: Callable[[int], Contexts] | None = None
    tail: int | None = None
    foretold: Callable[[int], tuple[Contexts, float]] | None = None

    def worth(self, objective: Objective, decisions: Tensor, contexts: Contexts | None = None) -> Tensor:
        """Return the objective at decisions `"*b d"` over `contexts` (left out: the truth); `"*b"`."""
        contexts = self.truth if contexts is None else contexts
        self._check(decisions, contexts)
        reduction = objective.bind(Situation(contexts))
        if reduction.extra is not None:
            raise IncompatibleError(
                f"problem {self.name!r}: {objective!r} needs {reduction.extra}, which belong to a belief, not to a function; "
                "judge by Robust(...) or Expected()."
            )
        rows = decisions.to(torch.float64).reshape(-1, decisions.shape[-1])
        step = max(1, PAIRS // len(contexts))
        parts = [reduction(self.value(part[:, None, :], contexts.points)) for part in torch.split(rows, step)]
        return torch.cat(parts).reshape(decisions.shape[:-1])

    def optimum(self, objective: Objective, contexts: Contexts | None = None) -> Optimum:
        """Return the best decision by the objective over `contexts` (left out: the truth).

        Over a finite set every decision is tried; otherwise many starts are refined (`windward.bench.optima`). The answer is
        kept for the life of the process.
        """
        contexts = self.truth if contexts is None else contexts
        if self.best is not None:
            return self.best(objective, contexts)
        key = (self.value, self.space, self.decisions, objective, contexts)
        if key not in _FOUND:
            if len(_FOUND) >= KEPT:
                _FOUND.pop(next(iter(_FOUND)))
            _FOUND[key] = searched(self.name, lambda x: self.worth(objective, x, contexts), self.space, self.decisions)
        return _FOUND[key]

    def truth_at(self, round: int) -> Contexts:
        """Return the distribution of contexts at a round."""
        return self.truth if self.drift is None else self.drift(round)

    def _check(self, decisions: Tensor, contexts: Contexts) -> None:
        if decisions.ndim == 0 or decisions.shape[-1] != len(self.space.decision):
            raise ArgumentError(
                f"problem {self.name!r}: decisions must be '*b {len(self.space.decision)}', one column for each of "
                f"{list(self.space.decision)}, got shape {tuple(decisions.shape)}."
            )
        if contexts.points.shape[1] != len(self.space.context):
            raise ArgumentError(
                f"problem {self.name!r}: context points must be 'n {len(self.space.context)}', one column for each of "
                f"{list(self.space.context)}, got shape {tuple(contexts.points.shape)}."
            )


# Optima found in this process, by the objects they depend on: a wrapper that leaves the function and its contexts alone
# finds the optimum of the problem it wraps. The oldest leaves first; problems hold tensors, so not all are kept.
KEPT = 256
_FOUND: dict[tuple[object, ...], Optimum] = {}
