"""Radii that change with the situation, which a schedule is called with: t are the contexts seen, k their columns.

Decay(scale, power)      scale * t^(-power)                      Micheli2025: Decay(0.3, 0.5)
KernelRate(scale)        scale * t^(-2 / (4 + k))                Huang2024: the rate of the density estimate
KirschnerRate(risk)      (2 + sqrt(2 log(1 / risk))) / sqrt(t)   Kirschner2020, Lemma 3: MMD of an empirical measure
Confidence(level)        as far as the contexts seen leave open  see `confidence.py`
"""

from __future__ import annotations

import math
import numbers
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import torch

from windward.basics import arguments
from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.contexts import Contexts
from windward.divergences import Divergence, in_words
from windward.objectives.confidence import Confidence, Solved
from windward.objectives.protocol import Within
from windward.objectives.situation import Situation


@runtime_checkable
class Schedule(Protocol):
    """A radius that depends on the situation."""

    def __call__(self, situation: Situation) -> float: ...


@runtime_checkable
class Quantity(Protocol):
    """A radius or a width that says which it is."""

    @property
    def of(self) -> str: ...


Radius: TypeAlias = float | Schedule


@dataclass(frozen=True)
class Decay:
    """A radius that shrinks as contexts are seen: scale * t^(-power).

    >>> Decay(0.3, 0.5).at(9, 1)
    0.09999999999999999
    """

    scale: float
    power: float = 0.5

    def __post_init__(self) -> None:
        arguments.number("Decay", "scale", self.scale, low=0.0)
        arguments.number("Decay", "power", self.power, low=0.0)

    of: ClassVar[str] = "radius"

    def __call__(self, situation: Situation) -> float:
        return self.at(max(situation.seen, 1), situation.columns)

    def at(self, t: int, k: int) -> float:
        """Return the radius after t contexts of k columns."""
        return self.scale * math.pow(t, -self.power)


@dataclass(frozen=True)
class KernelRate:
    """A radius that shrinks as fast as a density estimate gets better: scale * t^(-2 / (4 + k)) (Huang2024, Sec. 3.2)."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        arguments.number("KernelRate", "scale", self.scale, low=0.0)

    of: ClassVar[str] = "radius"

    def __call__(self, situation: Situation) -> float:
        return self.at(max(situation.seen, 1), situation.columns)

    def at(self, t: int, k: int) -> float:
        """Return the radius after t contexts of k columns."""
        return self.scale * math.pow(t, -2.0 / (4.0 + k))


@dataclass(frozen=True)
class KirschnerRate:
    """An MMD radius that holds the truth but for `risk`: (2 + sqrt(2 log(1 / risk))) / sqrt(t) (Kirschner2020)."""

    risk: float = 0.1

    def __post_init__(self) -> None:
        arguments.number("KirschnerRate", "risk", self.risk, low=0.0, high=1.0, open_low=True)

    of: ClassVar[str] = "radius"

    def __call__(self, situation: Situation) -> float:
        return self.at(max(situation.seen, 1), situation.columns)

    def at(self, t: int, k: int) -> float:
        """Return the radius after t contexts of k columns."""
        return (2.0 + math.sqrt(2.0 * math.log(1.0 / self.risk))) / math.sqrt(t)


@dataclass(frozen=True)
class MicheliRate:
    """A Wasserstein radius that holds the truth for all decisions at once, but for `risk`.

    sqrt(2 D_C^2 (log(1 / risk) + d log(1 + 2 t D_X) + log_covering) / t), Micheli2025, Lemma 18.

    Eq. 16 prints the factor 2 D_C^2 with the first term alone; its proof has it with all three. D_C is
    `context_diameter`, d `decisions`, D_X `decision_diameter`, `log_covering` the log covering number of the upper
    confidence functions, which the theory bounds and practice leaves at 0.
    """

    context_diameter: float
    decisions: int
    decision_diameter: float = 1.0
    log_covering: float = 0.0
    risk: float = 0.1

    def __post_init__(self) -> None:
        arguments.number("MicheliRate", "context_diameter", self.context_diameter, low=0.0)
        arguments.whole("MicheliRate", "decisions", self.decisions, low=1)
        arguments.number("MicheliRate", "decision_diameter", self.decision_diameter, low=0.0)
        arguments.number("MicheliRate", "log_covering", self.log_covering, low=0.0)
        arguments.number("MicheliRate", "risk", self.risk, low=0.0, high=1.0, open_low=True)

    of: ClassVar[str] = "radius"

    def __call__(self, situation: Situation) -> float:
        return self.at(max(situation.seen, 1), situation.columns)

    def at(self, t: int, k: int) -> float:
        """Return the radius after t contexts of k columns."""
        spread = self.decisions * math.log(1.0 + 2.0 * t * self.decision_diameter)
        inside = math.log(1.0 / self.risk) + spread + self.log_covering
        return math.sqrt(2.0 * self.context_diameter**2 * inside / t)


def check_radius(call: str, radius: object, *, solves: bool = False) -> None:
    """Raise `ArgumentError` unless `radius` is a number >= 0 or a schedule; `solves` where it may be a `Confidence`."""
    if isinstance(radius, Confidence) and not solves:
        raise ArgumentError(
            f"{call}(radius={shown(radius)}): a confidence is solved for a worst case over a ball; use it in "
            f"Robust(divergence, {shown(radius)}), or give a number or a schedule here."
        )
    if isinstance(radius, type) or not callable(radius):
        arguments.number(call, "radius", radius, low=0.0)
        return
    check_called(call, "radius", radius)


def check_called(call: str, name: str, part: Any) -> None:
    """Raise `ArgumentError` where a radius or a width is of another kind, or cannot be called with a situation.

    It is tried in a situation without trials; what it makes of that is asked only when it is used.
    """
    if isinstance(part, Quantity) and part.of != name:
        raise ArgumentError(f"{call}({name}={shown(part)}): this is a {part.of}, not a {name}.")
    try:
        value = part(_TRIAL)
    except Exception as error:
        # Raised by the call itself: another number of arguments. What its own lines raise may be for want of trials.
        if isinstance(error, TypeError) and (error.__traceback__ is None or error.__traceback__.tb_next is None):
            raise ArgumentError(
                f"{call}({name}={shown(part)}): a schedule is called with a situation: {error}."
            ) from error
        return
    if name == "radius":
        _checked(call, part, value, _TRIAL)


def resolved(call: str, radius: Radius, situation: Situation) -> float:
    """Return the radius in a situation: the one given with the ask, else this one."""
    if situation.radius is not None:
        return situation.radius
    return _called(call, radius, situation) if callable(radius) else float(radius)


def is_open(radius: Radius) -> bool:
    """Whether a radius is still to be solved from the data."""
    return isinstance(radius, Confidence)


def settled(radius: Radius, divergence: Divergence, situation: Situation) -> Radius:
    """Return the radius with what the data decide solved; one that was given with the ask stands in its place."""
    if not isinstance(radius, Confidence) or situation.radius is not None:
        return radius
    return radius.solved(divergence, situation)


def known_number(radius: Radius) -> float | None:
    """Return a radius that is the same in every situation; None for a schedule."""
    if isinstance(radius, Solved):
        return radius.radius
    return float(radius) if isinstance(radius, int | float) else None


def solved_of(objective: object) -> Solved | None:
    """Return the radius of an objective where it was solved from the data."""
    found = objective.radius if isinstance(objective, Within) else None
    return found if isinstance(found, Solved) else None


def ambiguity(call: str, divergence: Divergence, radius: Radius, situation: Situation) -> str:
    """Return what may happen within a ball, as a clause."""
    if situation.radius is None and isinstance(radius, Confidence | Solved):
        return (radius if isinstance(radius, Confidence) else radius.confidence).says(situation)
    return in_words(divergence, resolved(call, radius, situation))


def _called(call: str, radius: Schedule, situation: Situation) -> float:
    return _checked(call, radius, radius(situation), situation)


def _checked(call: str, radius: object, value: object, situation: Situation) -> float:
    number = _number(value)
    if not 0.0 <= number <= sys.float_info.max:
        raise ArgumentError(
            f"{call}(radius={shown(radius)}): the schedule gave {shown(value)} for t={max(situation.seen, 1)}; it must be "
            "a number >= 0."
        )
    return number


def _number(value: object) -> float:
    """Return a number as a float; NaN for what is none, infinity for a whole number beyond the floats."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


# What a schedule is tried in when a part is built.
_TRIAL = Situation(Contexts.uniform(torch.zeros(1, 1, dtype=torch.float64)), seen=1)
