"""The values of several parameters, checked together, and their names in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windward.basics.errors import SpaceError
from windward.basics.speech import shown
from windward.space.parameters import Parameter, Value


def check_values(
    call: str, role: str, parameters: Mapping[str, Parameter], values: object, *, partial: bool, strict: bool
) -> dict[str, Value]:
    """Return a clean copy of the values of some parameters, or raise `SpaceError`."""
    if not isinstance(values, Mapping):
        raise SpaceError(f"{call}: {role} must be a dict like {_example(parameters)}, got {shown(values)}.")
    unknown = [name for name in values if name not in parameters]
    if unknown:
        raise SpaceError(f"{call}: unknown {role} {shown(unknown[0])}; the space has {_names(parameters)}.")
    missing = [name for name in parameters if name not in values]
    if missing and not partial:
        raise SpaceError(f"{call}: {role} lacks {shown(missing[0])}; it needs {_names(parameters)}.")
    return {
        name: parameters[name].accepted(f"{call}: {role} {shown(name)}", values[name], strict=strict)
        for name in parameters
        if name in values
    }


def few(names: Iterable[str]) -> str:
    """Return some names for a message, and how many more there are.

    >>> few(["a", "b"]), few("abcdefg")
    ("'a' and 'b'", "'a', 'b', 'c', 'd' and 3 more")
    """
    every = [shown(name, 60) for name in names]
    parts = every if len(every) <= 5 else [*every[:4], f"{len(every) - 4} more"]
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def _names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names) or "none (declare it in Space)"


def _example(parameters: Mapping[str, Parameter]) -> str:
    return "{" + ", ".join(f"{shown(name)}: ..." for name in parameters) + "}"


def columns_of(parameters: Mapping[str, Parameter]) -> dict[str, slice]:
    """Return where each parameter's columns are."""
    result, start = {}, 0
    for name, parameter in parameters.items():
        result[name] = slice(start, start + parameter.width)
        start += parameter.width
    return result
