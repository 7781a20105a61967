"""The laws of a parameter: values go to columns and back, whatever way they came."""

from __future__ import annotations

import math

import numpy as np
import torch

from windward.basics.errors import SpaceError
from windward.space import Circular, Parameter, Real, Space, Value, on_own_steps
from windward.space.parameters import Array
from windward.testing.holding import even, require, require_error, require_json

# Rounding of a value on its way to a column and back.
ROUNDING = 1e-9
# How many options are asked for, and how many points of the cube are moved to valid ones.
OPTIONS, POINTS = 7, 16
# What no parameter takes for a value.
NO_VALUES = (None, object(), [1.0], math.nan, math.inf)


def check_parameter(parameter: Parameter, *, seed: int = 0) -> None:
    """Hold a parameter to its laws, as a decision and as a context; a number needs both bounds.

    A number has one column and no choices, a category one column for each choice. What comes round, with a `period`, has two
    columns and is only a context. `options` are points of the unit cube; of a
    number there are no more than asked for. Each stands for a value that is accepted. That value comes back from the unit
    cube, from its own units and from the text that a person types. `snap` moves a point of the cube to where its value is.
    What is no value is refused, and so is a number beyond the bounds. It goes to JSON and back.

    >>> import windward as ww
    >>> check_parameter(ww.Integer(1, 5))
    """
    require_json(parameter)
    category, bounds, circle = bool(parameter.choices), parameter.own_bounds(), isinstance(parameter, Circular)
    # What lies on steps of its own is chosen, never only seen.
    Space({"it": Real(0, 1) if circle else parameter}, {} if on_own_steps(parameter) else {"seen": parameter})
    columns = len(parameter.choices) if category else 2 if circle else 1
    said = f"{parameter!r}: a {'category' if category else 'number'} of {columns} columns"
    require(parameter.width == columns, f"{said} has width {parameter.width!r}.")
    require(len(bounds) == columns, f"{said} has {len(bounds)} own_bounds.")
    require(bool(parameter.in_words()), f"{parameter!r}: in_words says nothing.")
    options = parameter.options(OPTIONS)
    require(
        options.ndim == 2 and options.shape[1] == columns and len(options) > 0,
        f"{parameter!r}: options have the shape {options.shape}; they need a row each and {columns} columns.",
    )
    require(
        category or len(options) <= OPTIONS, f"{parameter!r}: {OPTIONS} options were asked for, {len(options)} came."
    )
    for row in options:
        _check_value(parameter, row)
    _check_snap(parameter, even(torch.Generator().manual_seed(seed), POINTS, columns).numpy())
    _check_refused(parameter)


def _check_value(parameter: Parameter, row: Array) -> None:
    value = parameter.from_unit(row)
    said = f"{parameter!r}: the value {value!r}"
    require(
        _same(parameter, parameter.accepted("it", value, strict=True), value), f"{said} is accepted as another one."
    )
    back = parameter.to_unit([value])
    near = back.shape == (1, parameter.width) and bool(np.allclose(back[0], row, rtol=0.0, atol=ROUNDING))
    require(near, f"{said} is at {row.tolist()} of the unit cube, and to_unit says {back.tolist()}.")
    own = parameter.to_own([value])[0]
    within = all(
        low - ROUNDING <= one <= high + ROUNDING for one, (low, high) in zip(own, parameter.own_bounds(), strict=True)
    )
    require(within, f"{said} is at {own.tolist()} in own units, outside own_bounds {parameter.own_bounds()}.")
    require(
        _same(parameter, parameter.from_own(own), value), f"{said} is {parameter.from_own(own)!r} from its own units."
    )
    typed = parameter.accepted("it", parameter.read("it", str(value)), strict=True)
    require(_same(parameter, typed, value), f"{said} is {typed!r} when it is typed.")
    kept = parameter.kept_outside().accepted("it", value, strict=False)
    require(_same(parameter, kept, value), f"{said} is {kept!r} for kept_outside().")


def _check_snap(parameter: Parameter, unit: Array) -> None:
    snapped = parameter.snap(unit)
    require(snapped.shape == unit.shape, f"{parameter!r}: snap changes the shape {unit.shape} to {snapped.shape}.")
    inside = bool(((snapped >= 0.0) & (snapped <= 1.0)).all())
    require(inside, f"{parameter!r}: snap leaves the unit cube.")
    there = parameter.to_unit([parameter.from_unit(row) for row in unit])
    require(
        np.allclose(there, snapped, rtol=0.0, atol=ROUNDING),
        f"{parameter!r}: snap does not move a point to the value that from_unit gives for the point.",
    )
    if parameter.continuous and not isinstance(parameter, Circular):
        require(np.array_equal(snapped, unit), f"{parameter!r} is continuous, and snap moves a point inside the cube.")


def _check_refused(parameter: Parameter) -> None:
    for wrong in NO_VALUES:
        _refused(parameter, wrong)
    if parameter.low is not None and parameter.high is not None and not parameter.log:
        _refused(parameter, parameter.low - 1)
        _refused(parameter, parameter.high + 1)


def _refused(parameter: Parameter, wrong: object) -> None:
    require_error(
        lambda: parameter.accepted("it", wrong, strict=True), SpaceError, f"{parameter!r}: {wrong!r} must be refused"
    )


def _same(parameter: Parameter, one: Value, other: Value) -> bool:
    if parameter.continuous:
        return math.isclose(float(one), float(other), rel_tol=ROUNDING, abs_tol=ROUNDING)
    return one == other and type(one) is type(other)
