"""What a study hands out and takes in: `Suggestion`, `Outcome`, `Recommendation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windward.parameters import Value


@dataclass(frozen=True)
class Suggestion:
    """A decision to try. `context` is what is known of it already: given at `ask`, or chosen by the policy's rule."""

    id: int
    decision: Mapping[str, Value]
    context: Mapping[str, Value] | None = None


@dataclass(frozen=True)
class Outcome:
    """What an evaluation returns when it is more than a number: see `Study.tell` for the fields."""

    value: float
    context: Mapping[str, Value] | None = None
    noise: float | None = None
    decision: Mapping[str, Value] | None = None


@dataclass(frozen=True)
class Recommendation:
    """A decision with its value by the objective, an interval, and what it is guarded against.

    The interval holds the objective's value with 90 % probability given the contexts' distribution as it is estimated
    now: it speaks of what is not known of f, not of how far that estimate is from the truth.

    `contexts` are the context points it was judged on, `reference` their weights by the context model, `adversary` the
    weights it is guarded against: for an expectation or a worst case (`Expected`, `Robust`, `CVaR`, `Minimum`) the value
    is the expectation under them; for `Satisficing` they are those of the worst case at its radius; for an objective that
    no single distribution attains (`Tradeoff`, `Sensitivity`), or a missed target, they are the reference.
    """

    decision: Mapping[str, Value]
    value: float
    interval: tuple[float, float]
    contexts: tuple[Mapping[str, Value], ...] = field(default=(), repr=False)
    reference: tuple[float, ...] = field(default=(), repr=False)
    adversary: tuple[float, ...] = field(default=(), repr=False)
