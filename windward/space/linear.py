"""`Linear` constraints over numeric decisions, and whether a decision meets them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from windward.basics.errors import SpaceError
from windward.basics.speech import shown
from windward.space.numeric import finite_number
from windward.space.parameters import Array, Parameter, Value
from windward.space.values import columns_of

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger("windward")

# Of a whole number with more steps than this, one step is less than the slack that rounding needs.
MOST_STEPS = 10**9


@dataclass(frozen=True)
class Linear:
    """A constraint lower <= sum of coefficient * value <= upper on numeric decisions without `log`, in user units.

    >>> Linear({"bonds": 1, "shares": 1}, upper=1).upper
    1.0
    """

    coefficients: Mapping[str, float]
    lower: float | None = field(default=None, kw_only=True)
    upper: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping) or not self.coefficients:
            raise SpaceError(f"Linear({shown(self.coefficients)}): give a dict from decision names to coefficients.")
        clean = {}
        for name, coefficient in self.coefficients.items():
            clean[name] = finite_number(
                f"Linear({{{shown(name)}: {shown(coefficient)}}})", "a coefficient", coefficient
            )
            if clean[name] == 0.0:
                raise SpaceError(
                    f"Linear({{{shown(name)}: 0}}): a zero coefficient has no effect; leave {shown(name)} out."
                )
        object.__setattr__(self, "coefficients", MappingProxyType(clean))
        for side in ("lower", "upper"):
            bound = getattr(self, side)
            if bound is not None:
                object.__setattr__(self, side, finite_number(f"Linear({side}={shown(bound)})", side, bound))
        if self.lower is None and self.upper is None:
            raise SpaceError("Linear(lower=None, upper=None): give at least one of lower and upper.")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise SpaceError(f"Linear(lower={self.lower:g}, upper={self.upper:g}): lower must not exceed upper.")

    def __repr__(self) -> str:
        sides = "".join(f", {n}={v:g}" for n, v in (("lower", self.lower), ("upper", self.upper)) if v is not None)
        return f"Linear({dict(self.coefficients)!r}{sides})"

    def __hash__(self) -> int:
        return hash((tuple(self.coefficients.items()), self.lower, self.upper))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and (dict(self.coefficients), self.lower, self.upper) == (
            dict(other.coefficients),
            other.lower,
            other.upper,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_linear, (dict(self.coefficients), self.lower, self.upper))

    def check(self, decision: Mapping[str, Parameter]) -> None:
        """Raise `SpaceError` unless every name is a numeric decision without `log`."""
        for name in self.coefficients:
            if name not in decision:
                raise SpaceError(f"Linear({{{shown(name)}: ...}}): the space has no decision {shown(name)}.")
            parameter = decision[name]
            if parameter.choices or parameter.log:
                raise SpaceError(
                    f"Linear({{{shown(name)}: ...}}): only Real and Integer without log can be constrained."
                )

    def check_values(
        self, call: str, decision: Mapping[str, Value], parameters: Mapping[str, Parameter], slack: float
    ) -> None:
        """Raise `SpaceError` where a decision breaks the constraint by more than rounding."""
        total = sum(coefficient * float(decision[name]) for name, coefficient in self.coefficients.items())
        sizes = [
            abs(coefficient) * max(abs(bound) for bound in parameters[name].own_bounds()[0])
            for name, coefficient in self.coefficients.items()
        ]
        room = slack * sum(sizes)
        shown = " + ".join(f"{coefficient:g} {name}" for name, coefficient in self.coefficients.items())
        if self.upper is not None and total > self.upper + room:
            raise SpaceError(f"{call}: {shown} = {total:g} must be <= {self.upper:g}.")
        if self.lower is not None and total < self.lower - room:
            raise SpaceError(f"{call}: {shown} = {total:g} must be >= {self.lower:g}.")


@lru_cache(maxsize=256)
def feasibility(
    decision: tuple[tuple[str, Parameter], ...], constraints: tuple[Linear, ...]
) -> Literal["empty", "no whole numbers", "found", "undecided"]:
    """Return whether a decision satisfies the constraints; where a second does not decide it, a note is logged."""
    # Here: it imports torch and scipy.optimize, which most spaces never need.
    from windward.space.polytope import SECONDS, Polytope

    polytope = Polytope(*constraint_rows(dict(decision), constraints))
    if polytope.interior is None:
        return "empty"
    steps = whole_steps(dict(decision), constraints)
    if not steps.any():
        return "found"
    found = polytope.on_grid(steps)
    if not found.decided:
        logger.warning(
            "Space(constraints=%s): %g s did not decide whether whole numbers satisfy them all; if none do, ask will say so.",
            shown(list(constraints)),
            SECONDS,
        )
        return "undecided"
    return "no whole numbers" if found.point is None else "found"


def constraint_rows(decision: Mapping[str, Parameter], constraints: Sequence[Linear]) -> tuple[Tensor, Tensor, Tensor]:
    """Return `(rows, lower, upper)` with lower <= rows @ x <= upper on the unit cube, each row of norm one."""
    import torch

    columns = columns_of(decision)
    rows = torch.zeros(len(constraints), sum(p.width for p in decision.values()), dtype=torch.float64)
    lower = torch.full((len(constraints),), -torch.inf, dtype=torch.float64)
    upper = torch.full_like(lower, torch.inf)
    for index, constraint in enumerate(constraints):
        offset = 0.0
        for name, coefficient in constraint.coefficients.items():
            low, high = decision[name].own_bounds()[0]
            rows[index, columns[name]] = coefficient * (high - low)
            offset += coefficient * low
        size = float(rows[index].norm())  # rows of norm one: slack then means the same for every unit
        rows[index] /= size
        lower[index] = -torch.inf if constraint.lower is None else (constraint.lower - offset) / size
        upper[index] = torch.inf if constraint.upper is None else (constraint.upper - offset) / size
    return rows, lower, upper


def whole_steps(decision: Mapping[str, Parameter], constraints: Sequence[Linear]) -> Array:
    """Return the steps of each column; what no constraint holds is left free, and so is what has too many to matter."""
    columns, named = columns_of(decision), {name for constraint in constraints for name in constraint.coefficients}
    steps = np.zeros(sum(parameter.width for parameter in decision.values()))
    for name in named:
        parameter = decision[name]
        if parameter.step is not None and parameter.low is not None and parameter.high is not None:
            count = round((parameter.high - parameter.low) / parameter.step)
            steps[columns[name]] = count if count <= MOST_STEPS else 0.0
    return steps


def _linear(coefficients: dict[str, float], lower: float | None, upper: float | None) -> Linear:
    return Linear(coefficients, lower=lower, upper=upper)
