"""What comes back: one outcome with a name, a goal and a unit; and how the numbers of a study are written for people."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from windward.basics import arguments
from windward.basics.arguments import is_text
from windward.basics.errors import ArgumentError
from windward.basics.speech import Measure, shown
from windward.space.numeric import wrong_unit
from windward.space.parameters import Parameter

Goal: TypeAlias = Literal["maximize", "minimize"]
# What is told, in a study that does not name it.
VALUE = "value"
LONGEST_NAME = 60
# What stands beside an outcome in tables and files has these names.
TAKEN = frozenset(
    (
        *("id", "state", "noise", "set_aside", "lost", "delay", "context_source"),
        *("when", "asked_at", "context_at", "told_at", "note", "tags", "decision", "context"),
    )
)


@runtime_checkable
class Measured(Protocol):
    """A parameter that says in which unit its numbers are; one that does not has none."""

    @property
    def unit(self) -> str | None: ...


@runtime_checkable
class Graded(Protocol):
    """A number that may lie on steps of its own, and says so: it is searched as any number, then put on its steps."""

    @property
    def graded(self) -> bool: ...


def on_own_steps(parameter: Parameter) -> bool:
    """Return whether a parameter lies on steps of its own; plain whole numbers do not."""
    return isinstance(parameter, Graded) and parameter.graded


def measure_of(parameter: Parameter) -> Measure:
    """Return how the numbers of a parameter are written."""
    return Measure(parameter.unit if isinstance(parameter, Measured) else None, parameter.step)


@dataclass(frozen=True)
class Maximize:
    """An outcome of which more is better, with the unit that it is counted in: `outcomes={"profit": Maximize(unit="EUR")}`.

    >>> Maximize(unit="EUR").goal
    'maximize'
    """

    unit: str | None = field(default=None, kw_only=True)

    goal: ClassVar[Goal] = "maximize"

    def __post_init__(self) -> None:
        _check_unit(self)


@dataclass(frozen=True)
class Minimize:
    """An outcome of which less is better, with the unit that it is counted in: `outcomes={"cost": Minimize(unit="EUR")}`.

    >>> Minimize(unit="EUR").goal
    'minimize'
    """

    unit: str | None = field(default=None, kw_only=True)

    goal: ClassVar[Goal] = "minimize"

    def __post_init__(self) -> None:
        _check_unit(self)


GOALS: tuple[type[Maximize], type[Minimize]] = (Maximize, Minimize)


@dataclass(frozen=True)
class Outcome:
    """What a study is told, as people read it: its name, which way is better, its unit.

    >>> profit = Outcome("profit", "maximize", "EUR")
    >>> profit.text(193.5), profit.titled("average value")
    ('193.5 EUR', 'average profit')
    """

    name: str = VALUE
    goal: Goal = "maximize"
    unit: str | None = None

    @property
    def plain(self) -> bool:
        """Whether nobody gave it a name or a unit."""
        return self.name == VALUE and self.unit is None

    @property
    def measure(self) -> Measure:
        """How its numbers are written."""
        return Measure(self.unit)

    def text(self, value: object) -> str:
        """Return a number with its unit."""
        return self.measure.text(value)

    def span(self, low: object, high: object, between: str = "and") -> str:
        """Return two numbers, the unit after the second alone."""
        return self.measure.span(low, high, between)

    def titled(self, title: str) -> str:
        """Return the title of an objective with the outcome's name in place of `value`."""
        return re.sub(r"\bvalue\b", lambda _: self.name, title)

    @property
    def head(self) -> str:
        """The heading of a column, or the title of an axis, with the unit."""
        return self.measure.headed(self.name)

    def axis(self, title: str) -> str:
        """Return the title of an axis that shows it, with the unit."""
        return self.measure.headed(self.titled(title))

    @property
    def declared(self) -> Maximize | Minimize:
        """The same as it is declared."""
        return Maximize(unit=self.unit) if self.goal == "maximize" else Minimize(unit=self.unit)


def checked_outcome(call: str, outcomes: object, direction: object, taken: Collection[str] = ()) -> Outcome:
    """Return the one outcome that is declared, by its name or by its direction alone, or raise `ArgumentError`.

    `taken` are the names of decisions and contexts.
    """
    if direction is not None:
        arguments.choice(call, "direction", direction, ("maximize", "minimize"))
    if outcomes is None:
        return Outcome(goal="maximize" if direction is None else direction)  # type: ignore[arg-type]
    if not isinstance(outcomes, Mapping) or not outcomes:
        raise ArgumentError(
            f"{call}(outcomes={shown(outcomes)}): give a dict from the name of what comes back to its goal, such as "
            '{"profit": Maximize(unit="EUR")}.'
        )
    if len(outcomes) > 1:
        names = ", ".join(shown(name, 60) for name in outcomes)
        raise ArgumentError(
            f"{call}(outcomes=...): a study has one outcome, got {len(outcomes)} ({names}); combine them into one number, "
            "such as the profit after all costs, or make a study of each."
        )
    ((name, goal),) = outcomes.items()
    wrong = not isinstance(name, str) or not name.strip() or name != name.strip() or len(name) > LONGEST_NAME
    if wrong or not name.isprintable() or not is_text(name) or set("[]") & set(name):
        raise ArgumentError(
            f"{call}(outcomes={{{shown(name, 80)}: ...}}): an outcome's name must be one line of 1 to {LONGEST_NAME} plain "
            "characters without square brackets."
        )
    if name in TAKEN or name in taken:
        whose = "a decision or a context has that name" if name in taken else "a column of every table has that name"
        raise ArgumentError(f"{call}(outcomes={{{shown(name)}: ...}}): {whose}; give the outcome another one.")
    if isinstance(goal, type) or not isinstance(goal, GOALS):
        raise ArgumentError(
            f"{call}(outcomes={{{shown(name)}: {shown(goal, 60)}}}): give a Maximize() or a Minimize()."
        )
    if direction is not None and direction != goal.goal:
        raise ArgumentError(
            f"{call}(outcomes={{{shown(name)}: {shown(goal)}}}, direction={shown(direction)}): these contradict each other; "
            "leave direction out."
        )
    return Outcome(name, goal.goal, goal.unit)


def logged(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a log holds it."""
    return {outcome.name: {"goal": outcome.goal, "unit": outcome.unit}}


def _check_unit(goal: Maximize | Minimize) -> None:
    problem = wrong_unit(goal.unit)
    if problem is not None:
        raise ArgumentError(f"{type(goal).__name__}(unit={shown(goal.unit)}): {problem}")
