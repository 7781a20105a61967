"""Change the world around a problem and leave its function alone: `Noisy(0.1)(problem)` is a problem again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.bench.problem import Problem
from windward.contexts import Contexts


@dataclass(frozen=True)
class Noisy:
    """Values are seen with normal noise of this standard deviation, on top of what noise there is.

    >>> from windward.bench.problems import problem
    >>> Noisy(0.1)(problem("three-humps")).noise
    0.1
    """

    sd: float

    def __post_init__(self) -> None:
        arguments.number("Noisy", "sd", self.sd, low=0.0)

    def __call__(self, problem: Problem) -> Problem:
        sd = (problem.noise**2 + self.sd**2) ** 0.5
        return replace(problem, name=f"{problem.name}+noisy({self.sd:g})", noise=sd)


@dataclass(frozen=True)
class Delayed:
    """Values come after `delay(generator)` rounds, never where it is None; in place of the problem's own delay."""

    delay: Callable[[torch.Generator], int | None]

    def __post_init__(self) -> None:
        if not callable(self.delay):
            raise ArgumentError(f"Delayed(delay={self.delay!r}): give a function of a generator, such as Poisson(10).")

    def __call__(self, problem: Problem) -> Problem:
        return replace(problem, name=f"{problem.name}+delayed({self.delay!r})", delay=self.delay)


@dataclass(frozen=True)
class Shifted:
    """The true contexts are moved, by `by` in every round and by `per_round` more with each; the reference is not.

    One number for each context, in its own units; contexts stay within their bounds. A learner that was told nothing is told
    the distribution before the shift. Decisions are judged by the shifted truth: `truth` at round 0, `truth_at(round)` later.
    """

    by: Sequence[float] = ()
    per_round: Sequence[float] = ()

    def __post_init__(self) -> None:
        for name in ("by", "per_round"):
            numbers = getattr(self, name)
            if isinstance(numbers, str) or not isinstance(numbers, Sequence):
                raise ArgumentError(f"Shifted({name}={numbers!r}): give a list of numbers, one for each context.")
            object.__setattr__(self, name, tuple(arguments.number("Shifted", name, number) for number in numbers))
        if not self.by and not self.per_round:
            raise ArgumentError("Shifted(): give by, per_round or both.")

    def __call__(self, problem: Problem) -> Problem:
        low, high, names = self._bounds(problem)

        def moved(points: Tensor, round: int) -> Tensor:
            offset = torch.zeros(len(names), dtype=torch.float64)
            for step, times in ((self.by, 1), (self.per_round, round)):
                offset = offset + times * torch.tensor(step or (0.0,) * len(names), dtype=torch.float64)
            return (points + offset).clamp(low, high)

        def truth_at(round: int) -> Contexts:
            before = problem.truth_at(round)
            return Contexts(moved(before.points, round), before.weights)

        return replace(
            problem,
            name=f"{problem.name}+shifted({list(self.by)}, {list(self.per_round)})",
            truth=truth_at(0),
            draw=lambda turn, generator: moved(problem.draw(turn, generator), turn),
            reference=problem.truth if problem.reference is None else problem.reference,
            best=None,  # it was that of the truth before
            drift=truth_at if self.per_round or problem.drift is not None else None,
        )

    def _bounds(self, problem: Problem) -> tuple[Tensor, Tensor, list[str]]:
        names = list(problem.space.context)
        for field, step in (("by", self.by), ("per_round", self.per_round)):
            if step and len(step) != len(names):
                raise ArgumentError(
                    f"Shifted({field}={list(step)}): problem {problem.name!r} has {len(names)} contexts, {names}; give one "
                    "number for each."
                )
        chosen = [name for name in names if problem.space.context[name].choices]
        if chosen or not names:
            what = f"context {chosen[0]!r} is categorical" if chosen else "it has no contexts"
            raise ArgumentError(f"Shifted(...): problem {problem.name!r} cannot be shifted, {what}.")
        # Points are in natural units, so are these bounds; a context may have none.
        pairs = [problem.space.context[name] for name in names]
        low = [-torch.inf if p.low is None else p.low for p in pairs]
        high = [torch.inf if p.high is None else p.high for p in pairs]
        return torch.tensor(low, dtype=torch.float64), torch.tensor(high, dtype=torch.float64), names
