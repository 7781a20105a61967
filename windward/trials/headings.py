"""Headings with units, and values between steps, in a file of history."""

from __future__ import annotations

from collections.abc import Callable

from windward.basics.errors import ArgumentError
from windward.space.outcomes import Outcome, measure_of, on_own_steps
from windward.space.parameters import Parameter, Value
from windward.space.space import Space

# Columns besides the outcome's own that are in its unit.
AMOUNTS = ("value", "noise", "set_aside")


def without_unit(heading: str, space: Space, outcome: Outcome, rename: Callable[[str, str], str]) -> str:
    """Return a heading without the unit in brackets after it, as `windward trials --csv` writes it; another unit is refused.

    `rename` is how a person says what such a column holds all the same.
    """
    name, bracket, rest = heading.rpartition(" [")
    if not bracket or not rest.endswith("]"):
        return heading
    plain = name.partition(".")[2] if name.startswith(("decision.", "context.")) else name
    if plain in space.decision or plain in space.context:
        unit = space.measure(plain).unit
    elif plain == outcome.name or plain in AMOUNTS:
        unit = outcome.unit
    else:
        return heading
    if rest[:-1] != unit:
        counted = f"counts {plain} in {unit}" if unit else f"has no unit for {plain}"
        raise ArgumentError(
            f"column {heading!r} is in {rest[:-1]}, and the study {counted}; convert it, or if the numbers are right as "
            f"they are say so with {rename(heading, plain)}."
        )
    return name


def between_steps(name: str, parameter: Parameter, kept: Value) -> list[str]:
    """Return a note where a value lies between the steps of its decision: what was done stays what it was."""
    if not on_own_steps(parameter) or parameter.low is None or parameter.high is None:
        return []
    nearest = parameter.from_unit(parameter.to_unit([kept])[0])
    measure = measure_of(parameter)
    if measure.text(nearest) == measure.text(kept) or not parameter.low <= float(kept) <= parameter.high:
        return []
    said = f"{name} = {measure.text(kept)} lies between its steps of {measure.text(parameter.step)}"
    return [f"{said}; it is kept as it is, and suggestions lie on the steps."]
