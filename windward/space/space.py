"""Declared decision and context parameters: the only place where user values and tensors meet.

Decisions live in the unit cube: a `Real` or `Integer` is one column, (t(v) - t(low)) / (t(high) - t(low)) with
t = log where `log=True`, a `Categorical` is one one-hot column per choice. Contexts keep their own units
(log parameters in log units, categories one-hot), so that a Wasserstein radius or an MMD length-scale means what
the user thinks it means; a surrogate scales columns for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from windward.basics import arguments
from windward.basics.errors import SpaceError
from windward.basics.speech import Measure, and_list, shown
from windward.space.cyclic import Circular, Dated
from windward.space.linear import Linear, constraint_rows, feasibility, whole_steps
from windward.space.outcomes import measure_of, on_own_steps
from windward.space.parameters import Array, Parameter, Value
from windward.space.values import check_values, columns_of, few

if TYPE_CHECKING:
    from torch import Tensor

# Torch is imported where tensors are made: declaring a space and checking values needs none.

Values = Mapping[str, Value]

# What a decision and what a context may be.
KINDS = {
    "decision": "Real, an Integer or a Categorical",
    "context": "Real, an Integer, a Categorical, a Cyclic or a calendar",
}
# How far, relative to the largest sizes of its terms, a decision may break a linear constraint: rounding of sums alone.
CONSTRAINT_SLACK = 1e-9

# Whether the space being made was accepted before: see `accepted_before`.
_accepted_before: ContextVar[bool] = ContextVar("accepted_before", default=False)


@dataclass(frozen=True)
class Given:
    """A context as far as it is known: `values[k]` where `known[k]`, zero elsewhere."""

    values: Tensor
    known: Tensor

    @property
    def complete(self) -> bool:
        """Whether every column is known (also when there is no column at all)."""
        return bool(self.known.all())


@dataclass(frozen=True)
class Roles:
    """What a surrogate needs to know of columns: which share a length-scale, and what one unit is (None: ask the data)."""

    x_groups: tuple[int, ...]
    x_scales: tuple[float, ...]
    c_groups: tuple[int, ...]
    c_scales: tuple[float | None, ...]


@dataclass(frozen=True)
class Space:
    """Decision parameters, context parameters and linear constraints on decisions.

    >>> from windward import Real
    >>> space = Space(decision={"order": Real(0, 10)}, context={"demand": Real()})
    >>> space.encode_decisions([{"order": 2.5}])
    tensor([[0.2500]], dtype=torch.float64)
    """

    decision: Mapping[str, Parameter]
    context: Mapping[str, Parameter] = field(default_factory=dict)
    constraints: Sequence[Linear] = ()

    def __post_init__(self) -> None:
        for role in ("decision", "context"):
            object.__setattr__(self, role, MappingProxyType(_checked(role, getattr(self, role))))
        if not self.decision:
            raise SpaceError("Space(decision={}): a space needs at least one decision parameter.")
        for name, parameter in self.context.items():
            if on_own_steps(parameter):
                raise SpaceError(
                    f"Space(context={{{shown(name)}: {shown(parameter)}}}): steps are for what you choose; leave step out of a "
                    "context, whose values count as they come."
                )
        shared = sorted(set(self.decision) & set(self.context))
        if shared:
            raise SpaceError(f"Space: {shared} name both a decision and a context; give one of them another name.")
        for name, parameter in self.decision.items():
            if not all(math.isfinite(low) and math.isfinite(high) for low, high in parameter.own_bounds()):
                raise SpaceError(
                    f"Space(decision={{{shown(name)}: {shown(parameter)}}}): a decision needs both bounds."
                )
            if isinstance(parameter, Circular):
                raise SpaceError(
                    f"Space(decision={{{shown(name)}: {shown(parameter)}}}): what comes round can only be a context; declare "
                    "a decision as Real or Integer."
                )
        constraints = tuple(self.constraints) if isinstance(self.constraints, Iterable) else (None,)
        if not all(isinstance(constraint, Linear) for constraint in constraints):
            raise SpaceError(f"Space(constraints={shown(self.constraints)}): give a list of Linear(...).")
        object.__setattr__(self, "constraints", constraints)
        for constraint in self.constraints:
            constraint.check(self.decision)
        if self.constraints and not _accepted_before.get():
            self._check_feasible()

    def __repr__(self) -> str:
        rest = f", constraints={list(self.constraints)!r}" if self.constraints else ""
        return f"Space(decision={dict(self.decision)!r}, context={dict(self.context)!r}{rest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and (dict(self.decision), dict(self.context), self.constraints) == (
            dict(other.decision),
            dict(other.context),
            other.constraints,
        )

    def __hash__(self) -> int:
        return hash((tuple(self.decision.items()), tuple(self.context.items()), self.constraints))

    def __reduce__(self) -> tuple[Any, ...]:  # a mappingproxy does not pickle; process pools need spaces that do
        return (_accepted, (dict(self.decision), dict(self.context), self.constraints))

    # -- columns ---------------------------------------------------------------------------------------------------

    @cached_property
    def decision_width(self) -> int:
        """Number of decision columns, d."""
        return sum(parameter.width for parameter in self.decision.values())

    @cached_property
    def context_width(self) -> int:
        """Number of context columns, k."""
        return sum(parameter.width for parameter in self.context.values())

    @cached_property
    def decision_columns(self) -> Mapping[str, slice]:
        """Where each decision parameter's columns are."""
        return columns_of(self.decision)

    @cached_property
    def context_columns(self) -> Mapping[str, slice]:
        """Where each context parameter's columns are."""
        return columns_of(self.context)

    @cached_property
    def context_bounds(self) -> tuple[Tensor, Tensor]:
        """Declared bounds of the context columns, infinite where a bound is missing; `"k"` each."""
        import torch

        pairs = [pair for parameter in self.context.values() for pair in parameter.own_bounds()]
        table = torch.tensor(pairs, dtype=torch.float64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    @cached_property
    def circles(self) -> Mapping[str, float]:
        """The periods of the contexts that come round: their two columns are points of a circle of this circumference."""
        return {name: parameter.period for name, parameter in self.context.items() if isinstance(parameter, Circular)}

    @cached_property
    def dated(self) -> Mapping[str, Dated]:
        """The contexts that are known from the time of a trial."""
        return {name: parameter for name, parameter in self.context.items() if isinstance(parameter, Dated)}

    @cached_property
    def roles(self) -> Roles:
        """Column groups and scales for a surrogate; a one-hot step counts as one unit, and so does a circle's diameter."""
        x_groups, c_groups, x_scales, c_scales = [], [], [], []
        for index, parameter in enumerate(self.decision.values()):
            x_groups += [index] * parameter.width
            x_scales += [2**0.5 if parameter.choices else 1.0] * parameter.width
        for index, parameter in enumerate(self.context.values(), start=len(self.decision)):
            c_groups += [index] * parameter.width
            spans = [high - low for low, high in parameter.own_bounds()]
            c_scales += [2**0.5 if parameter.choices else _finite(span) for span in spans]
        return Roles(tuple(x_groups), tuple(x_scales), tuple(c_groups), tuple(c_scales))

    def without_context(self) -> Space:
        """Return the same decisions with no context at all."""
        return _accepted(self.decision, {}, self.constraints)

    def measure(self, name: str) -> Measure:
        """Return how the numbers of a decision or a context are written for people; those of other names plainly."""
        parameter = self.decision.get(name) or self.context.get(name)
        return Measure() if parameter is None else measure_of(parameter)

    def said(self, name: str, value: object) -> str:
        """Return a value of a decision or a context as a person reads it, with its unit."""
        return self.measure(name).text(value)

    def named(self, values: Values) -> str:
        """Return values in words: `price 2.50 EUR and route rail`."""
        return and_list([f"{name} {self.said(name, value)}" for name, value in values.items()])

    def headed(self, name: str) -> str:
        """Return the heading of a column, or the title of an axis, for a decision or a context: with its unit."""
        return self.measure(name).headed(name)

    @cached_property
    def stepped(self) -> tuple[str, ...]:
        """The decisions that lie on steps of their own: searched as any number, then put on the steps."""
        return tuple(name for name, parameter in self.decision.items() if on_own_steps(parameter))

    # -- user values to tensors and back ---------------------------------------------------------------------------

    def encode_decisions(self, decisions: Sequence[Values]) -> Tensor:
        """Return `"n d"` in the unit cube (outside it for values that were kept although outside their bounds)."""
        import torch

        blocks = [
            parameter.to_unit([decision[name] for decision in decisions]) for name, parameter in self.decision.items()
        ]
        return torch.from_numpy(np.concatenate(blocks, axis=1))

    def decode_decision(self, x: Tensor) -> dict[str, Value]:
        """Return the user values at one point `"d"` of the unit cube, rounded and clamped to what is valid."""
        row = x.detach().cpu().numpy()
        return {
            name: parameter.from_unit(row[self.decision_columns[name]]) for name, parameter in self.decision.items()
        }

    def on_steps(self, x: Tensor) -> Tensor:
        """Return `x` `"n d"` with the decisions that have steps moved to the nearest ones, all else as it is."""
        import torch

        result = x.clone() if self.stepped else x
        for name in self.stepped:
            columns = self.decision_columns[name]
            moved = self.decision[name].snap(x[:, columns].detach().cpu().numpy())
            result[:, columns] = torch.from_numpy(moved).to(x)
        return result

    def snap(self, x: Tensor) -> Tensor:
        """Return `x` `"n d"` moved to the nearest valid decisions: integers rounded, categories one-hot."""
        import torch

        result = x.clamp(0.0, 1.0)
        for name, parameter in self.decision.items():
            if not parameter.continuous:
                columns = self.decision_columns[name]
                result[:, columns] = torch.from_numpy(parameter.snap(x[:, columns].detach().cpu().numpy())).to(x)
        return result

    def encode_contexts(self, contexts: Sequence[Values]) -> Tensor:
        """Return `"n k"` in the contexts' own units."""
        import torch

        if not self.context:
            return torch.zeros(len(contexts), 0, dtype=torch.float64)
        blocks = [parameter.to_own([context[name] for context in contexts]) for name, parameter in self.context.items()]
        return torch.from_numpy(np.concatenate(blocks, axis=1))

    def decode_context(self, c: Tensor) -> dict[str, Value]:
        """Return the user values of one context `"k"`."""
        row = c.detach().cpu().numpy()
        return {name: parameter.from_own(row[self.context_columns[name]]) for name, parameter in self.context.items()}

    def encode_given(self, context: Values | None) -> Given:
        """Return a partly known context, checked by `check_context(..., partial=True)` before."""
        import torch

        values = torch.zeros(self.context_width, dtype=torch.float64)
        known = torch.zeros(self.context_width, dtype=torch.bool)
        for name, value in (context or {}).items():
            columns = self.context_columns[name]
            values[columns] = torch.from_numpy(self.context[name].to_own([value])[0])
            known[columns] = True
        return Given(values, known)

    # -- checks ----------------------------------------------------------------------------------------------------

    def check_decision(
        self, call: str, decision: object, *, partial: bool = False, planned: bool = True
    ) -> dict[str, Value]:
        """Return a clean copy of a decision; `planned` ones obey bounds and constraints, done ones follow `outside`."""
        clean = check_values(call, "decision", self.decision, decision, partial=partial, strict=planned)
        if planned and not partial:
            for constraint in self.constraints:
                constraint.check_values(call, clean, self.decision, CONSTRAINT_SLACK)
        return clean

    def check_fixed(self, call: str, fixed: object) -> dict[str, Value]:
        """Return a clean copy of decisions that are held for a suggestion: a suggestion lies on the steps, so these do."""
        clean = self.check_decision(call, fixed, partial=True)
        for name in self.stepped:
            if name in clean:
                parameter, measure = self.decision[name], self.measure(name)
                nearest = parameter.from_unit(parameter.to_unit([clean[name]])[0])
                if measure.text(nearest) != measure.text(clean[name]):
                    raise SpaceError(
                        f"{call}: decision {shown(name)} must lie on its steps of {measure.text(parameter.step)}, got "
                        f"{shown(clean[name])}; the nearest is {measure.text(nearest)}."
                    )
                clean[name] = nearest
        return clean

    def check_context(self, call: str, context: object, *, partial: bool = False) -> dict[str, Value]:
        """Return a clean copy of a context; values outside their bounds follow the parameter's `outside`."""
        return check_values(call, "context", self.context, context, partial=partial, strict=False)

    def constraint_rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return `(rows, lower, upper)` with lower <= rows @ x <= upper on the unit cube, each row of norm one."""
        return constraint_rows(self.decision, self.constraints)

    @cached_property
    def whole_steps(self) -> Array:
        """How many steps of one each column has from 0 to 1, 0 for those that are no constrained whole numbers; `"d"`."""
        return whole_steps(self.decision, self.constraints)

    def constrained_wholes(self) -> list[str]:
        """Return the names of the whole numbers that a constraint holds."""
        named = {name for constraint in self.constraints for name in constraint.coefficients}
        return [name for name, parameter in self.decision.items() if name in named and parameter.step is not None]

    def must_be(self, names: Sequence[str]) -> str:
        """Return what whole numbers and steps forbid, for a message that goes on with `would`."""
        if any(name in self.stepped for name in names):
            return (
                f"{few(names)} must lie on {'its' if len(names) == 1 else 'their'} steps; there are values between that"
            )
        return f"{few(names)} must be whole; there are fractions that"

    def _check_feasible(self) -> None:
        state = feasibility(tuple(self.decision.items()), tuple(self.constraints))
        if state == "empty":
            raise SpaceError(f"Space(constraints={shown(list(self.constraints))}): no decision satisfies them all.")
        if state == "no whole numbers":
            names = self.constrained_wholes()
            raise SpaceError(
                f"Space(constraints={shown(list(self.constraints))}): no decision satisfies them all, because "
                f"{self.must_be(names)} would. Widen the constraints, or declare Real(...) where fractions make sense."
            )


@contextmanager
def accepted_before() -> Iterator[None]:
    """Make spaces that were accepted when they were first made: whether a decision meets their constraints is not asked again.

    An older Windward accepted constraints that no whole numbers meet; what its logs hold must stay readable.
    """
    token = _accepted_before.set(True)
    try:
        yield
    finally:
        _accepted_before.reset(token)


def _accepted(
    decision: Mapping[str, Parameter], context: Mapping[str, Parameter], constraints: Sequence[Linear]
) -> Space:
    with accepted_before():
        return Space(decision, context, constraints)


def _checked(role: str, parameters: object) -> dict[str, Parameter]:
    if not isinstance(parameters, Mapping):
        raise SpaceError(f"Space({role}={shown(parameters)}): give a dict from names to Real, Integer or Categorical.")
    for name, parameter in parameters.items():
        if not isinstance(name, str) or not name:
            raise SpaceError(f"Space({role}={{{shown(name)}: ...}}): a parameter's name must be a non-empty string.")
        if not arguments.is_text(name):
            raise SpaceError(f"Space({role}={{{shown(name)}: ...}}): a parameter's name must be writable as UTF-8.")
        if isinstance(parameter, type) or not isinstance(parameter, Parameter):
            raise SpaceError(f"Space({role}={{{shown(name)}: {shown(parameter)}}}): give a {KINDS[role]}.")
    return dict(parameters)


def _finite(span: float) -> float | None:
    return span if np.isfinite(span) else None
