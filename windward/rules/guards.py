"""Guards: where the next decision may be, so that trying it costs no more than was agreed.

    NoGuard()                        everywhere
    LargestStep(step, of)            near the status quo, or near the last decision
    Floor(value, slack, confidence)  where the objective's value is at least so much, with so much probability: `floor.py`
    Guards((one, other, ...))        where each of several allows it

A guard turns a `Situation` into `Limits`. Where nothing qualifies the status quo is asked. Guards hold for `ask`; a
recommendation is not tried, and not guarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor

from windward.basics import arguments
from windward.basics.errors import ArgumentError, IncompatibleError, did_you_mean
from windward.basics.speech import and_list, percent, shown
from windward.objectives.protocol import Objective, Speech, Turning, unturned
from windward.objectives.situation import Situation
from windward.search.limits import Limits, together
from windward.space import Space, Value
from windward.space.parameters import Parameter
from windward.trials.trials import Trials


@runtime_checkable
class Guard(Protocol):
    """Say where the next decision may be.

    `title` is the guard in a few words. `needs_status_quo` where it cannot do without one. `check` refuses a space that it
    does not go with, and an objective that it contradicts; `sign` is -1 where the study minimizes. `sentence` says the rule
    to a person.
    """

    @property
    def title(self) -> str: ...

    @property
    def needs_status_quo(self) -> bool: ...

    def check(self, objective: Objective, space: Space, sign: float) -> None: ...

    def __call__(self, situation: Situation) -> Limits: ...

    def sentence(self, speech: Speech) -> str: ...


@runtime_checkable
class Wary(Protocol):
    """A guard that looks at what is unknown of the model and of the contexts: `situation.plausible` and `situation.judged`."""

    @property
    def wary(self) -> Literal[True]: ...


@runtime_checkable
class Several(Protocol):
    """A guard that is made of others, of none perhaps."""

    @property
    def guards(self) -> Sequence[Guard]: ...


def each_of(guard: Guard) -> tuple[Guard, ...]:
    """Return the single guards that a guard is made of; none for `NoGuard`."""
    if not isinstance(guard, Several):
        return (guard,)
    return tuple(single for one in guard.guards for single in each_of(one))


def check_status_quo(call: str, guard: Guard, status_quo: object) -> None:
    """Raise `IncompatibleError` where a guard needs a status quo and there is none."""
    if status_quo is None and guard.needs_status_quo:
        raise IncompatibleError(
            f"{call}: the guard {shown(guard)} needs a status quo, a decision that is known to be safe; give "
            "status_quo={...} when the study is made, or study.declare(status_quo={...})."
        )


@dataclass(frozen=True)
class NoGuard:
    """Everything may be asked."""

    title: ClassVar[str] = "no guard"
    needs_status_quo: ClassVar[bool] = False
    guards: ClassVar[tuple[Guard, ...]] = ()

    oriented = unturned

    def check(self, objective: Objective, space: Space, sign: float) -> None:
        """Take everything."""

    def __call__(self, situation: Situation) -> Limits:
        return Limits.anywhere(situation.trials.space)

    def sentence(self, speech: Speech) -> str:
        """Return the rule in words."""
        return "Every decision may be asked."


@dataclass(frozen=True)
class LargestStep:
    """No parameter moves farther than `step` from the status quo, or from the last decision.

    `step` is a share of each range (of the logarithms' where a parameter has `log`), or a dict from names to steps in the
    parameters' own units; what it does not name is free. A category may change, unless the dict names it with 0.
    The last decision is the last that was asked and not lost; before the first, the last that was added, or the status quo.

    >>> LargestStep({"price": 0.5}).of
    'status_quo'
    """

    step: float | Mapping[str, float]
    of: Literal["status_quo", "last"] = "status_quo"
    title: ClassVar[str] = "largest step"
    needs_status_quo: ClassVar[bool] = True

    def __post_init__(self) -> None:
        arguments.choice("LargestStep", "of", self.of, ("status_quo", "last"))
        if not isinstance(self.step, Mapping):
            share = arguments.number("LargestStep", "step", self.step, low=0.0, high=1.0, open_low=True)
            object.__setattr__(self, "step", share)
            return
        if not self.step:
            raise ArgumentError("LargestStep(step={}): name at least one decision, such as {'price': 0.5}.")
        steps = {
            name: arguments.number("LargestStep", f"step[{name!r}]", size, low=0.0) for name, size in self.step.items()
        }
        object.__setattr__(self, "step", steps)

    def __hash__(self) -> int:
        step = tuple(sorted(self.step.items())) if isinstance(self.step, Mapping) else self.step
        return hash((step, self.of))

    oriented = unturned

    def check(self, objective: Objective, space: Space, sign: float) -> None:
        """Refuse a step of what the space has not, and a category that is to move by a number."""
        if not isinstance(self.step, Mapping):
            return
        for name, size in self.step.items():
            if name not in space.decision:
                near = did_you_mean(name, space.decision)
                known = ", ".join(repr(each) for each in space.decision)
                raise IncompatibleError(f"{shown(self)}: unknown decision {shown(name)}{near}; the space has {known}.")
            if space.decision[name].choices and size != 0.0:
                raise IncompatibleError(
                    f"{shown(self)}: {name!r} is a category and has no distances; give {name!r}: 0 to keep it as it is, or "
                    "leave it out to let it change."
                )

    def __call__(self, situation: Situation) -> Limits:
        space = situation.trials.space
        origin = situation.status_quo if self.of == "status_quo" else _last(situation)
        assert origin is not None  # a guard that needs a status quo is not called without
        limits = Limits.anywhere(space)
        for name, parameter in space.decision.items():
            columns = space.decision_columns[name]
            edges = self._edges(name, parameter, origin[name])
            if edges is not None:
                limits.low[columns], limits.high[columns] = edges
        return limits

    def _edges(self, name: str, parameter: Parameter, value: Value) -> tuple[Tensor, Tensor] | None:
        """Return how far the columns of a parameter may go, None where it is free."""
        unit = torch.from_numpy(parameter.to_unit([value])[0])
        if isinstance(self.step, Mapping):
            size = self.step.get(name)
            if size is None:
                return None
            if parameter.choices:
                return unit, unit
            below = float(value) - size
            low = 0.0 if parameter.log and below <= 0.0 else float(parameter.to_unit([below])[0, 0])
            high = float(parameter.to_unit([float(value) + size])[0, 0])
            # What was done outside the bounds is not where a step begins.
            return unit.new_tensor([low]).clamp(0.0, 1.0), unit.new_tensor([high]).clamp(0.0, 1.0)
        if parameter.choices:
            return None
        return (unit - self.step).clamp(0.0, 1.0), (unit + self.step).clamp(0.0, 1.0)

    def sentence(self, speech: Speech) -> str:
        """Return the rule in words."""
        origin = "the status quo" if self.of == "status_quo" else "the last decision"
        if not isinstance(self.step, Mapping):
            return f"No number moves by more than {percent(self.step)} of its range from {origin}."
        moves = [f"{name} by more than {speech.named(name, size)}" for name, size in self.step.items() if size > 0.0]
        still = [name for name, size in self.step.items() if size == 0.0]
        said = [f"No step from {origin} moves {' or '.join(moves)}."] if moves else []
        if still:
            said.append(f"{and_list(still).capitalize()} {'stay' if len(still) > 1 else 'stays'} as in {origin}.")
        return " ".join(said)


@dataclass(frozen=True)
class Guards:
    """Several guards: a decision must be allowed by each.

    >>> Guards((LargestStep(0.1), LargestStep({"price": 1.0}, "last"))).title
    'largest step and largest step'
    """

    guards: Sequence[Guard]

    def __post_init__(self) -> None:
        if not isinstance(self.guards, Sequence) or not self.guards:
            raise ArgumentError(
                f"Guards({shown(self.guards)}): give several guards, such as (LargestStep(0.1), Floor(5.0))."
            )
        for one in self.guards:
            if isinstance(one, type) or not isinstance(one, Guard):
                raise ArgumentError(
                    f"Guards({shown(self.guards)}): {shown(one)} is no guard; give one such as LargestStep(0.1)."
                )
        object.__setattr__(self, "guards", tuple(self.guards))

    @property
    def title(self) -> str:
        """The guards in a few words."""
        return and_list([one.title for one in self.guards])

    @property
    def needs_status_quo(self) -> bool:
        """Whether one of them cannot do without a status quo."""
        return any(one.needs_status_quo for one in self.guards)

    def oriented(self, sign: float) -> Guards:
        """Return them with their outcome quantities times `sign`."""
        return Guards(tuple(_turned(one, sign) for one in self.guards))

    def check(self, objective: Objective, space: Space, sign: float) -> None:
        """Refuse what one of them refuses."""
        for one in self.guards:
            one.check(objective, space, sign)

    def __call__(self, situation: Situation) -> Limits:
        return together(situation.trials.space, [one(situation) for one in self.guards])

    def sentence(self, speech: Speech) -> str:
        """Return the rules in words."""
        return " ".join(one.sentence(speech) for one in self.guards)


def around(space: Space, decision: Mapping[str, Value], share: float) -> Limits:
    """Return limits that let numbers move by a share of their range from a decision, and no category change."""
    limits = Limits.anywhere(space)
    for name, parameter in space.decision.items():
        columns = space.decision_columns[name]
        unit = torch.from_numpy(parameter.to_unit([decision[name]])[0])
        reach = 0.0 if parameter.choices else share
        limits.low[columns], limits.high[columns] = (unit - reach).clamp(0.0, 1.0), (unit + reach).clamp(0.0, 1.0)
    return limits


def _last(situation: Situation) -> Mapping[str, Value]:
    trials: Trials = situation.trials
    asked = [trial for trial in trials.rows if trial.asked_at is not None and trial.lost is None]
    if asked:
        return asked[-1].decision
    added = [trial for trial in trials.rows if trial.asked_at is None and trial.told_at is not None]
    if added:
        return max(added, key=lambda trial: (trial.told_at, trial.id)).decision
    assert situation.status_quo is not None
    return situation.status_quo


def _turned(guard: Any, sign: float) -> Any:
    if not isinstance(guard, Turning):
        raise IncompatibleError(
            f"{shown(guard)}: a study that minimizes must know how this guard turns; give it a method oriented(self, sign) "
            "that returns it with its outcome quantities times sign (itself, where it has none)."
        )
    return guard.oriented(sign)
