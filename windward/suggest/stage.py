"""Where a study stands: in its design, too early for advice, or past both; nothing is fitted for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from windward.basics.speech import counted
from windward.policy import Policy
from windward.trials.trials import Trials

# Results for each parameter that a fit needs before it can tell a length-scale from noise, and the most that are waited
# for: with as many a check of the model is no longer rough, however many parameters there are.
PER_PARAMETER, MOST = 2, 20


@dataclass(frozen=True)
class Stage:
    """How far a study is. `trials` counts all that was asked or added, `results` those that came back with their context.

    `design` is how many decisions are spread out to learn from before one is chosen by what is known; None for a design that
    does not end. `enough` is how many results it takes before advice is more than a first guess: more than the design has
    decisions, and more than two for each decision and context, 20 at most. `horizon` is how many trials were declared.

    >>> Stage(trials=2, results=2, design=10, enough=11).first_guess
    True
    """

    trials: int
    results: int
    design: int | None
    enough: int
    with_contexts: bool = False
    horizon: int | None = None

    @property
    def first_guess(self) -> bool:
        """Whether so few results have come back that advice is a first guess."""
        return self.results < self.enough

    @property
    def designing(self) -> bool:
        """Whether the next decision is spread out to learn from."""
        return self.design is None or self.trials < self.design or not self.results

    @property
    def sentences(self) -> tuple[str, ...]:
        """Where the study stands, and why the next decision is what it is, in words."""
        said = [self._results(), self._next()]
        if self.horizon is not None:
            said.append(f"{self.trials} of {counted(self.horizon, 'planned trial')} {_have(self.trials)} been made.")
        return tuple(said)

    def _results(self) -> str:
        if not self.first_guess:
            return f"{counted(self.results, 'result')} {_have(self.results)} come back."
        wanted = counted(self.enough, "result")
        if self.with_contexts:
            wanted += f" with {'its context' if self.enough == 1 else 'their contexts'}"
        come = f"{self.results or 'none'} {'has' if self.results < 2 else 'have'} come back"
        return f"It is too early for advice: it takes {wanted}, and {come}."

    def _next(self) -> str:
        if self.design is None:
            return "This method spreads out every decision: none is chosen by what is known."
        if self.trials < self.design:
            return f"Design {self.trials + 1} of {self.design} comes next: the first decisions are spread out to learn from."
        if not self.results:
            return "Until a result has come back, decisions are spread out to learn from."
        return "The next decision is chosen by what is known."


def stage_of(policy: Policy, trials: Trials, horizon: int | None = None) -> Stage:
    """Return where a study with these trials stands."""
    seen = policy.view(trials)
    rounds, parameters = policy.design.rounds(seen.space), len(seen.space.decision) + len(seen.space.context)
    design = math.ceil(rounds) if math.isfinite(rounds) else None
    enough = max(design or 1, min(MOST - 1, PER_PARAMETER * parameters + 1)) + 1
    return Stage(len(trials), len(seen.arrived), design, enough, bool(seen.space.context), horizon)


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
