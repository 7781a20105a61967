"""What an objective is: it binds to contexts and becomes a reduction over the last axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import torch
from torch import Tensor

from windward.basics.speech import number
from windward.divergences import Divergence
from windward.objectives.situation import Situation
from windward.space import Outcome, Value

Extra: TypeAlias = Literal["slopes", "lower"]
Part = TypeVar("Part")


@runtime_checkable
class Reduction(Protocol):
    """Reduce values over contexts. Where `extra` is "slopes" the belief also supplies |grad_c f| `"*b n"`, where it is
    "lower" a lower confidence bound of the values.
    """  # noqa: D205

    @property
    def extra(self) -> Extra | None: ...

    def __call__(self, values: Tensor, extra: Tensor | None = None) -> Tensor: ...


@runtime_checkable
class Objective(Protocol):
    """Bind to a situation and become a reduction; `monotone` in f, its bound is itself at the upper confidence bound.

    What else an objective may be asked is in `Turning`, `Speaking`, `Displaying` and `Averaging`.
    """

    @property
    def monotone(self) -> bool: ...

    def bind(self, situation: Situation) -> Reduction: ...


@dataclass(frozen=True)
class Aim:
    """An objective, and what it became in a situation."""

    objective: Objective
    reduction: Reduction


@runtime_checkable
class Settling(Protocol):
    """An objective that may hold a radius which the data decide: `open` says so, `settled` solves it, once for an ask."""

    @property
    def open(self) -> bool: ...

    def settled(self, situation: Situation) -> Any: ...


@runtime_checkable
class Targeting(Protocol):
    """An objective with a target in the outcome's units: its value is a score, not a value in those units."""

    @property
    def target(self) -> float: ...


@runtime_checkable
class Turning(Protocol):
    """A part with its outcome quantities (a target, a worst value) times `sign`: studies that minimize need it."""

    def oriented(self, sign: float) -> Any: ...


@runtime_checkable
class Around(Protocol):
    """An objective with a divergence from the reference."""

    @property
    def divergence(self) -> Divergence: ...


@runtime_checkable
class Within(Protocol):
    """An objective with a ball around the reference: a divergence and a radius."""

    @property
    def divergence(self) -> Divergence: ...

    @property
    def radius(self) -> Any: ...


@runtime_checkable
class Radial(Protocol):
    """An objective with a radius, which an ask may replace."""

    @property
    def radius(self) -> Any: ...


@runtime_checkable
class Shifting(Protocol):
    """An objective whose value is an average under a shift of the contexts, and says so."""

    @property
    def shifts(self) -> Literal[True]: ...


@runtime_checkable
class Averaging(Protocol):
    """An objective that is the plain expectation under the contexts' weights, and says so."""

    @property
    def averages(self) -> Literal[True]: ...


@runtime_checkable
class Rowwise(Protocol):
    """An objective that can take a distribution of contexts for each row of values, which is faster than to bind it to each.

    `by_rows` takes values and distributions, `"b n"` each, and returns `"b"`; None where it cannot.
    """

    @property
    def by_rows(self) -> Callable[[Tensor, Tensor], Tensor] | None: ...


@runtime_checkable
class Displaying(Protocol):
    """An objective whose values are changed before a person sees them; oriented values `"*b"` in and out."""

    def displayed(self, values: Tensor) -> Tensor: ...


@runtime_checkable
class Speaking(Protocol):
    """An objective in words: what it looks at, what a value means, and what may happen that it guards against.

    `unprotected` is the sentence for one that guards against nothing; None where it does.
    """

    @property
    def title(self) -> str: ...

    @property
    def unprotected(self) -> str | None: ...

    def sentence(self, value: float, speech: Speech) -> str: ...

    def ambiguity(self, situation: Situation) -> str | None: ...


@dataclass(frozen=True)
class Speech:
    """What a sentence needs to know: the situation, and which way is better."""

    situation: Situation
    sign: float = 1.0  # -1 where the study minimizes
    forecast: tuple[str, ...] = ()  # contexts that were forecast
    outcome: Outcome = Outcome()  # noqa: RUF009 - immutable; what the value is, with its unit

    def text(self, value: float) -> str:
        """Return a value with its unit."""
        return self.outcome.text(value)

    def named(self, name: str, value: Value) -> str:
        """Return a value of a decision or a context with its unit."""
        return self.situation.trials.space.said(name, value)

    @property
    def estimated(self) -> str:
        """The words before a value."""
        return f"Its estimated {self.outcome.name} is"

    @property
    def better(self) -> str:
        """The words after a value that is a bound."""
        return "or more" if self.sign > 0 else "or less"

    @property
    def least(self) -> str:
        """The words before a value that is a bound."""
        return "at least" if self.sign > 0 else "at most"


def unturned(self: Part, sign: float) -> Part:
    """Return the part itself: it has no outcome quantities."""
    return self


def no_ambiguity(self: object, situation: Situation) -> str | None:
    """Return None: the part has no ball around the reference."""
    return None


def scored(title: str, value: float, speech: Speech | None = None) -> str:
    """Return the sentence for a value that is in no unit a person knows."""
    title = title if speech is None else speech.outcome.titled(title)
    return f"It scores {number(value)} ({title}). This is a score, not a value in your units."


@dataclass(frozen=True)
class Bound:
    """A bound objective: a function of values, and of an extra where it needs one.

    `ceiling` takes the same arguments, is never below the function and costs far less. `draft` is near the function and costs
    less. Both may be missing. `fewer` says that values on some of the points will do for a draft, `searched` that each value is
    the end of a search of its own.
    """

    function: Callable[..., Tensor]
    extra: Extra | None = None
    ceiling: Callable[..., Tensor] | None = None
    draft: Bound | None = None
    fewer: bool = False
    searched: bool = False

    def __call__(self, values: Tensor, extra: Tensor | None = None) -> Tensor:
        values = values.to(torch.float64)
        return self.function(values) if self.extra is None else self.function(values, extra)
