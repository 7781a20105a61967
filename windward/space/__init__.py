"""Declared decision and context parameters: the only place where user values and tensors meet."""

from windward.space.cyclic import Calendar, Circular, Cyclic, Dated, calendar, sectioned
from windward.space.linear import Linear
from windward.space.outcomes import Maximize, Measured, Minimize, Outcome, measure_of, on_own_steps
from windward.space.parameters import Categorical, Integer, Parameter, Real, Value
from windward.space.space import Given, Roles, Space, accepted_before
from windward.space.values import few

# The kinds of parameters that a declaration can name.
PARAMETERS: tuple[type, ...] = (Real, Integer, Categorical, Cyclic, Calendar)

# The parts of this room.
PARTS: tuple[type, ...] = (*PARAMETERS, Linear, Space)

__all__ = [
    "PARAMETERS",
    "PARTS",
    "Calendar",
    "Categorical",
    "Circular",
    "Cyclic",
    "Dated",
    "Given",
    "Integer",
    "Linear",
    "Maximize",
    "Measured",
    "Minimize",
    "Outcome",
    "Parameter",
    "Real",
    "Roles",
    "Space",
    "Value",
    "accepted_before",
    "calendar",
    "few",
    "measure_of",
    "on_own_steps",
    "sectioned",
]
